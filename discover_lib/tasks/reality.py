"""How far do a run's users talk from people, feature by feature?  The features are in `discover_lib.metrics.manners`.

The desk keeps no files; raising means failed, returning finished.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from discover_lib.base.errors import DiscoverError
from discover_lib.base.words import counted
from discover_lib.dataset.formats import read_chats
from discover_lib.metrics.manners import distances
from discover_lib.runs.store import RunStore
from discover_lib.tasks.waist import Asked, How, Lines, Report, Table, Tell, ask, task

COLUMNS = ("feature", "people", "here", "n", "difference", "size", "people among themselves", "")
MEANING = (
    "n: chats long enough for the feature, people / here; size: in standard deviations of people's conversations; "
    "people among themselves: 95% of random halves"
)


class Reality(Asked, frozen=True):
    people: Annotated[Path, ask("Chats by people: a ShareGPT or JSONL export.")]
    against: Annotated[Path, ask("Run folder, or another file of chats.")]
    seed: Annotated[int, ask("Random seed. The same seed gives the same results.")] = 0


@task(
    "reality",
    "Compare the messages of a run's users with messages by people, feature by feature, with intervals.",
    keeps=False,
)
def reality(asked: Reality, how: How, folder: Path, tell: Tell) -> Report:
    people = [chat for chat in read_chats(asked.people) if chat]
    ours = [chat for chat in _said_in(asked.against) if chat]
    try:
        found = distances(ours, people, asked.seed)
    except ValueError as error:
        raise DiscoverError(str(error)) from None
    rows = []
    for each in found:
        sizes = (f"{value:.2f}" if value is not None else "–" for value in (each.size, each.ceiling))
        told = "farther than people" if each.beyond_people else ""
        here, theirs = each.n
        shown = (f"{each.people:.3g}", f"{each.ours:.3g}", f"{theirs} / {here}", str(each.difference or "–"))
        rows.append((each.meaning, *shown, *sizes, told))
    lines = [
        f"{who}: {counted(len(side), 'chat')}, {counted(sum(map(len, side)), 'message')}"
        for who, side in (("people", people), ("here", ours))
    ]
    return Report((Table(COLUMNS, tuple(rows)), Lines((*lines, MEANING))), [asdict(each) for each in found])


def _said_in(path: Path) -> list[list[str]]:
    if path.is_file() and path.suffix in (".json", ".jsonl", ".csv"):
        return read_chats(path)
    with RunStore.read(path) as store:
        return [
            [message.content for message in talk.messages() if message.role == "user"] for talk in store.conversations()
        ]
