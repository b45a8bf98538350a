"""How far do a run's users talk from people, feature by feature?  The features are in `discover_lib.metrics.manners`.

The desk keeps no files; raising means failed, returning finished.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from discover_lib.base.errors import DiscoverError
from discover_lib.base.words import counted
from discover_lib.dataset.formats import read_chats
from discover_lib.metrics.manners import EVERY, Messages, distances, manners_of
from discover_lib.runs.store import RunStore
from discover_lib.tasks.waist import Asked, How, Lines, Report, Table, Tell, ask, task

COLUMNS = ("feature", "people", "here", "difference", "size", "people among themselves", "")
MEANING = "size: in standard deviations of people's conversations; people among themselves: 95% of random halves"


class Reality(Asked, frozen=True):
    people: Annotated[Path, ask("Chats by people: a ShareGPT or JSONL export.")]
    against: Annotated[Path, ask("Run folder, or another file of chats.")]
    seed: Annotated[int, ask("Random seed. The same seed gives the same results.")] = 0


@task(
    "reality",
    "Compare the messages of a run's users with messages by people: twelve features and vocabulary, with intervals.",
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
        shown = (f"{each.people:.3g}", f"{each.ours:.3g}", str(each.difference or "–"))
        rows.append((each.meaning, *shown, *sizes, told))
    lines = [
        f"{who}: {counted(len(side), 'chat')}, {counted(sum(map(len, side)), 'message')}"
        for who, side in (("people", people), ("here", ours))
    ]
    lines += _too_short(people, ours, {each.feature for each in found})
    return Report((Table(COLUMNS, tuple(rows)), Lines((*lines, MEANING))), [asdict(each) for each in found])


def _too_short(people: Sequence[Messages], ours: Sequence[Messages], compared: set[str]) -> list[str]:
    """How many chats a feature could not be read in."""
    long_enough = [Counter(name for chat in side for name in manners_of(chat)) for side in (people, ours)]
    lines = []
    for name, (meaning, _) in EVERY.items():
        theirs, mine = (len(side) - count[name] for side, count in zip((people, ours), long_enough, strict=True))
        if theirs or mine:
            few = f"{theirs} of {len(people)} chats of people, {mine} of {len(ours)} here"
            lines.append(f"{meaning}: too short: {few}{'' if name in compared else '; not compared'}")
    return lines


def _said_in(path: Path) -> list[list[str]]:
    if path.is_file() and path.suffix in (".json", ".jsonl", ".csv"):
        return read_chats(path)
    with RunStore.read(path) as store:
        return [
            [message.content for message in talk.messages() if message.role == "user"] for talk in store.conversations()
        ]
