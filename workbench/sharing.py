"""What `discover share` puts into one file: a run's conversations with its tables, or a session with its branches."""

from __future__ import annotations

import tempfile
from pathlib import Path

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import outputs_folder
from discover_lib.base.words import counted
from discover_lib.runs.evaluation import evaluated
from discover_lib.runs.store import FILE, RunStore
from discover_lib.tasks.told import results_told
from discover_lib.tasks.waist import Report
from workbench.parts import report_html
from workbench.session import Session
from workbench.views.audit_parts import listing
from workbench.views.html import Markup
from workbench.views.moments import Strip
from workbench.views.saved_pages import Shared, facts
from workbench.views.score_parts import made_under

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
        parts = [("What was run", made_under(configuration)), *_told(store)]
    number = counted(len(taken), "conversation")
    told = number if len(taken) == len(rows) else f"the first {number} of {len(rows):,}"
    heading = f"{str(configuration.get('kind', 'run')).capitalize()} {folder.resolve().name}"
    return Shared(heading, told, records, listing(taken, flawed), parts, first=(taken[0].place, 0, 1))


def _told(store: RunStore) -> list[tuple[str, Markup]]:
    """How each assistant did, and which two differ."""
    found = evaluated(store)
    told = results_told(found.scopes, store.rules.name, "none", found.ceilings)
    return [("How each assistant did", report_html(Report(tuple(told))))]
