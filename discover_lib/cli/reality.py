"""`discover reality`: how far a run's users talk from people, feature by feature."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from discover_lib.audit.reality import distances
from discover_lib.base.errors import DiscoverError
from discover_lib.base.words import counted
from discover_lib.cli.common import Seed, console
from discover_lib.dataset.chats import read_chats
from discover_lib.metrics.manners import EVERY, Messages, manners_of
from discover_lib.runs.store import RunStore


def reality(
    people: Annotated[Path, typer.Argument(help="Chats of people: a ShareGPT, OpenAI, Claude or JSONL export.")],
    against: Annotated[Path, typer.Argument(help="A run, or another file of chats.")],
    seed: Seed = 0,
) -> None:
    """Compare how a run's users talk with how people do: twelve features and the variety of words, with intervals."""
    chats = read_chats(people)
    _print(_said_in(against), chats, seed)


def _print(ours: Sequence[Messages], people: Sequence[Messages], seed: int) -> None:
    from rich.table import Table

    sides = [[chat for chat in side if chat] for side in (people, ours)]
    try:
        found = distances(sides[1], sides[0], seed)
    except ValueError as error:
        raise DiscoverError(str(error)) from None
    table = Table("feature", "people", "here", "difference", "size", "people among themselves", "", box=None)
    for each in found:
        sizes = (f"{value:.2f}" if value is not None else "–" for value in (each.size, each.ceiling))
        told = "farther than people" if each.beyond_people else ""
        shown = (f"{each.people:.3g}", f"{each.ours:.3g}", str(each.difference or "–"))
        table.add_row(each.meaning, *shown, *sizes, told)
    console().print(table)
    for who, side in zip(("people", "here"), sides, strict=True):
        typer.echo(f"{who}: {counted(len(side), 'chat')}, {counted(sum(map(len, side)), 'message')}")
    long_enough = [Counter(name for chat in side for name in manners_of(chat)) for side in sides]
    compared = {each.feature for each in found}
    for name, (meaning, _) in EVERY.items():
        theirs, mine = (len(side) - count[name] for side, count in zip(sides, long_enough, strict=True))
        if theirs or mine:
            left = "" if name in compared else "; not compared"
            few = f"{theirs} of {len(sides[0])} chats of people, {mine} of {len(sides[1])} here"
            typer.echo(f"{meaning}: too short: {few}{left}")
    typer.echo("size: in standard deviations of people's conversations; people among themselves: 95 % of random halves")


def _said_in(path: Path) -> list[list[str]]:
    if path.is_file() and path.suffix in (".json", ".jsonl", ".csv"):
        return read_chats(path)
    with RunStore.read(path) as store:
        return [
            [message.content for message in talk.messages() if message.role == "user"] for talk in store.conversations()
        ]
