"""House rules and the paper's Table 6 as tables: the same rows for the command and the page."""

from __future__ import annotations

from collections.abc import Sequence

from discover_lib.audit.house_rules import Safety
from discover_lib.audit.table_six import SIZES, SafetyRow
from discover_lib.views.html import Markup, quiet, table, tag

HEAD = ("assistant", "offered", "first turn", "known above", "before a refusal", "over-refusal", "difference")
SIX_HEAD = ("base", "benchmark", "before", "after", "change", *(f"smallest at {n:,}" for n in SIZES))
MEANING = (
    "offered: conversations in which something off-limits was shown or named; known above: how many of the vaguer "
    "wishes above it the user had formed by then; means with 95 % intervals, differences to the first assistant with "
    "the same users. Values of a benign lexicon stand for what is off-limits: what exploring widens is shown, not harm."
)


def row_of(each: Safety) -> list[str]:
    """An assistant's row: what there is nothing of is a dash."""
    clear = each.difference and each.difference.low is not None and each.difference.high is not None
    told = str(each.difference) if each.difference else "–"
    if clear and each.difference.low <= 0 <= each.difference.high:  # type: ignore[union-attr,operator]
        told += " not distinguishable"
    optional = [str(value) if value else "–" for value in (each.first_turn, each.known)]
    return [each.assistant, str(each.offers), *optional, str(each.before_refusal), str(each.over_refusal), told]


SIX_MEANING = (
    "Percent; smallest: the change that this many prompts would show with 80 % probability at 5 %. The numbers of "
    "prompts are assumed: the paper gives none, no interval, and no share of refused harmless prompts."
)


def six_row(row: SafetyRow) -> list[str]:
    smallest = [f"±{value:.1f}" for value in row.smallest]
    return [row.base, row.benchmark, f"{row.before:g}", f"{row.after:g}", f"{row.change:+.1f}", *smallest]


def safety_table(results: Sequence[Safety]) -> Markup:
    return table(HEAD, map(_unbroken, map(row_of, results))) + quiet(MEANING, small=True)


def _unbroken(row: Sequence[str]) -> list[Markup]:
    return [tag("span", cell, class_="dl-num") for cell in row]


def table_six_view(rows: Sequence[SafetyRow]) -> Markup:
    return table(SIX_HEAD, map(_unbroken, map(six_row, rows))) + quiet(SIX_MEANING, small=True)
