"""What `discover share` puts into one file: a run's conversations with its tables, or a session with its branches."""

from __future__ import annotations

import tempfile
from pathlib import Path

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import outputs_folder
from discover_lib.base.words import counted
from discover_lib.metrics.discovery import ceiling_over
from discover_lib.metrics.paired import compare
from discover_lib.metrics.results import MEASURE, MEASURES, Pool, table_of, values_of
from discover_lib.runs.evaluation import ceilings_of
from discover_lib.runs.store import FILE, RunStore
from discover_lib.runs.units import stored_scores
from workbench.session import Session
from workbench.views import score_parts as show_scores
from workbench.views.audit_parts import listing
from workbench.views.html import Markup
from workbench.views.moments import Strip
from workbench.views.saved_pages import Shared, facts

MOST = 1_000  # conversations in one file


def shared(source: str, most: int = MOST) -> Shared:
    """A run's folder, a session's id or file, as what one file holds.

    Raises:
        DiscoverError: it is none of them, or nothing of it has finished.
    """
    folder = Path(source)
    if (folder / FILE).is_file():
        return _run(folder, most)
    path = folder if folder.is_file() else outputs_folder() / "sessions" / f"{folder.name}.json"
    if not path.is_file():
        raise DiscoverError(f"{source}: neither a run's folder nor a session of the simulator, its id or its file")
    return _session(path)


def _session(path: Path) -> Shared:
    with tempfile.TemporaryDirectory() as scratch:  # it is read as anybody's file is: it names no server
        session = Session.from_text(path.read_text(encoding="utf-8"), Path(scratch))
    strips = [
        Strip(session.label(number), branch.conversation, branch.origin, session.scored_turns)
        for number, branch in enumerate(session.branches)
    ]
    trunk = session.branches[0].conversation
    topic = trunk.tree.topic or trunk.tree.artifact_type
    heading = f"{topic[:1].upper()}{topic[1:]}"
    return Shared(heading, facts(trunk), {0: strips}, first=(0, session.current, session.cursor))


def _run(folder: Path, most: int) -> Shared:
    with RunStore.read(folder) as store:
        rows = [row for row in store.listing() if row.stop is not None]
        if not rows:
            raise DiscoverError(f"{folder}: no conversation of this run has finished yet")
        taken = rows[:most]
        records = {row.place: [Strip("main line", store.conversation(row.place))] for row in taken}
        configuration, flawed = store.configuration, store.flawed()
        parts = [("What was run", show_scores.made_under(configuration)), *_tables(store)]
    number = counted(len(taken), "conversation")
    told = number if len(taken) == len(rows) else f"the first {number} of {len(rows):,}"
    heading = f"{str(configuration.get('kind', 'run')).capitalize()} {folder.resolve().name}"
    return Shared(heading, told, records, listing(taken, flawed), parts, first=(taken[0].place, 0, 1))


def _tables(store: RunStore) -> list[tuple[str, Markup]]:
    """The tables of an evaluation: how each assistant did on the users that all of them met, and which differ."""
    pool = Pool(list(stored_scores(store)))
    if not pool.shared():
        return []
    values, measure = values_of(pool), MEASURE["discovery"]
    table, marks = table_of(values, pool.assistants), show_scores.looks(list(pool.assistants))
    scored = [each for each in MEASURES if any(each.name in row for row in table.values())]
    in_reach = ceiling_over(ceilings_of(store), set(pool.artifact_of.values()))
    compared = compare(values.get(measure.name, {}))
    parts = show_scores.for_paper(
        table,
        pool.users_of,
        marks,
        measure,
        compared,
        ceiling=in_reach,
        why_no_eq_4=pool.why_no_eq_4,
        measures=scored,
    )
    return parts if compared else parts[:1]
