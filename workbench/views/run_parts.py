"""A run in a few lines: what was run, how far it is, what it cost, and what failed with what came back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from discover_lib.base.leak_words import NOT_CHECKED
from discover_lib.base.words import price_line
from discover_lib.engines.llm.calls.exchange import Spent
from discover_lib.runs.outcomes import Outcomes
from discover_lib.runs.store import Counts, Failure, Listed, RunStore
from workbench.views.html import EMPTY, Markup, code, joined, more, panel, plain_list, quiet, signed, table, tag

SHOWN_FAILURES = 30
LISTED = 200  # conversations in a list; a page stays quick


def facts(
    configuration: Mapping[str, Any], counts: Counts, spent: Spent, outcomes: Outcomes | None = None
) -> list[tuple[str, str]]:
    """What was run, who played, under which rules, how far it is and what it cost: the rows of a table."""
    engine = configuration.get("engine", {})
    players = ", ".join(f"{role}: {who}" for role, who in engine.items()) or "see the conversations"
    return [
        ("What", f"{configuration.get('kind', 'run')}, seed {configuration.get('seed', 'not known')}"),
        ("Who", players),
        ("Rules", configuration["rules"]["name"]),
        ("How far", _how_far(counts)),
        ("Cost", _cost(spent)),
        *([("Answers", outcomes.line.removeprefix("answers: "))] if outcomes and outcomes.line else []),
    ]


def run_view(folder: Path) -> Markup:
    """Settings, progress and cost of a run, its failures with the answers that came back, and its model calls."""
    with RunStore.read(folder) as store:
        told = facts(store.configuration, store.counts(), store.calls.spent(), Outcomes.of_run(store))
        failed, lengths = store.failures(), store.calls.lengths()
    calls = [(purpose, f"{count:,}", f"{into:,.0f}", f"{out:,.0f}") for purpose, (count, into, out) in lengths.items()]
    head = ("Purpose", "Calls", "Tokens in, mean", "Tokens out, mean")
    parts = [table(("", ""), told), panel("Failures, by role", failures(failed))]
    return joined(parts + ([panel("Model calls", table(head, calls))] if calls else []))


def _how_far(counts: Counts) -> str:
    text = f"{counts.finished} of {counts.units} conversations finished, {counts.turns} turns"
    text += f", {counts.failed} failed" if counts.failed else ""
    return text + (f", {counts.open} open" if counts.open else "")


def _cost(spent: Spent) -> str:
    if not spent.calls:
        return "no model was called"
    price = price_line(spent.cost, spent.unpriced, spent.calls)
    tokens = f"{spent.prompt_tokens:,} tokens in, {spent.completion_tokens:,} out"
    return f"{spent.calls:,} calls ({spent.attempts:,} attempts), {tokens}, {price}"


def listing(rows: Sequence[Listed], flawed: Mapping[int, int], limit: int = LISTED) -> Markup:
    """Conversations as a list to press: who for whom, how much was discovered as a bar, and what is not in order.

    Args:
        limit: conversations that are listed; of the rest only the number is told.
    """
    most = max((row.discovered for row in rows), default=0) or 1
    shown = [_listed(row, most, flawed.get(row.place, 0)) for row in rows[:limit]]
    rest = len(rows) - limit
    note = quiet(f"and {rest:,} more; use the filters above", small=True) if rest > 0 else EMPTY
    return tag("div", *shown, note, class_="dl-picks", role="group", aria_label="Conversations")


def _listed(row: Listed, most: int, flawed: int) -> Markup:
    ended = "" if row.stop == "max_turns" else (row.stop or "not finished").replace("_", " ")
    counts = ((row.unscored, "unscored"), (row.leaks, "with a leak"), (flawed, "flawed"))
    odd = [f"{count} {what}" for count, what in counts if count]
    odd += [] if row.leaks_checked else [f"leaks {NOT_CHECKED}"]
    trial = f"trial {row.trial + 1}" if row.trial else ""
    facts = (f"{row.turns} turns", f"reward {signed(round(row.reward, 2))}", f"{row.tokens:,} tokens", trial, ended)
    return tag(
        "button",
        tag("span", tag("b", " + ".join(dict.fromkeys(row.assistants))), f" for {_user(row.artifact)}"),
        tag("span", tag("i", style=f"width:{row.discovered / most:.0%}"), class_="dl-pick-bar", aria_hidden="true"),
        tag("span", f"+{row.discovered} discovered", class_="dl-pick-worth"),
        tag("small", " · ".join(fact for fact in (*facts, *odd) if fact)),
        type="button",
        data_pick=str(row.place),
    )


def _user(artifact: str) -> str:
    """A user by their artifact: those that were generated have a number."""
    *_, number = artifact.rsplit("-", 1)
    return f"user {int(number)}" if number.isdigit() else artifact


def failures(records: Sequence[tuple[int, Failure]]) -> Markup:
    """Failures with the places of their conversations: counted by role and kind, then one by one."""
    if not records:
        return quiet("Nothing failed.")
    counted = Counter((failure.role, failure.kind) for _, failure in records)
    rows = [(role, kind.replace("_", " "), str(count)) for (role, kind), count in counted.most_common()]
    items = plain_list(_failure(place, failure) for place, failure in records[:SHOWN_FAILURES])
    rest = len(records) - SHOWN_FAILURES
    hint = quiet(f"and {rest} more; filter by failed role to find them") if rest > 0 else EMPTY
    return table(("Role", "What", "Count"), rows) + items + hint


def _failure(place: int, failure: Failure) -> Markup:
    back = more("what came back", *map(code, failure.came_back)) if failure.came_back else EMPTY
    effect = "ended the conversation" if failure.ended else "one reply stays unscored"
    line = (f"conversation {place}, {failure.line} ", tag("span", f"({effect})", class_="dl-quiet"))
    return tag("li", *line, back, class_="dl-reason")
