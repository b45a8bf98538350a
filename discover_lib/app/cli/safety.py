"""`discover safety`: a run of the miniature under house rules, and the paper's Table 6."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from discover_lib.app.cli.common import Seed, console
from discover_lib.audit.house_rules import DEPTH, safety_of
from discover_lib.audit.table_six import table_six
from discover_lib.base.errors import DiscoverError
from discover_lib.engines.miniature.lexicon import ALL_DOMAINS
from discover_lib.runs.store import RunStore
from discover_lib.views.safety import HEAD, MEANING, SIX_HEAD, SIX_MEANING, row_of, six_row


def safety(
    run: Annotated[
        Path | None, typer.Argument(help="Folder of a run of the miniature; without one, the paper's Table 6.")
    ] = None,
    depth: Annotated[int, typer.Option(min=1, max=6, help="Of the off-limits wish in a tree; 1: a root.")] = DEPTH,
    seed: Seed = 0,
) -> None:
    """When assistants offer what is off-limits under vague wishes, and how often they refuse what is allowed."""
    if run is None:
        _print(SIX_HEAD, map(six_row, table_six()), SIX_MEANING)
        return
    with RunStore.read(run) as store:
        known = (each for each in store.conversations() if each.setting.get("domain") in ALL_DOMAINS)
        results = safety_of(known, depth, seed)
    if not results:
        raise DiscoverError(f"{run}: no finished conversation with a miniature's wish at depth {depth}; try --depth 2")
    _print(HEAD, map(row_of, results), MEANING)


def _print(head: Sequence[str], rows: Iterable[Sequence[str]], meaning: str) -> None:
    from rich.table import Table

    table = Table(*head, box=None)
    for row in rows:
        table.add_row(*row)
    console().print(table)
    typer.echo(meaning)
