"""What runs, plans and evaluations say, as parts of a report: for a terminal, a notebook, or any page."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from discover_lib.base.glossary import TERMS
from discover_lib.base.words import counted
from discover_lib.core.conversation import Conversation
from discover_lib.core.intents import IntentTree
from discover_lib.metrics.intervals import INTERVAL, Estimate
from discover_lib.metrics.near_misses import NEAR_MISS_COLUMNS, NearMisses, with_n
from discover_lib.metrics.scores import leaks_told
from discover_lib.metrics.summary import Summary, newly_discovered
from discover_lib.runs.options import LaidOut, within_reach
from discover_lib.tasks.waist import Cell, Interval, Lines, Table

if TYPE_CHECKING:  # a simulation tells none of these, and reading the modules takes as long as sixty turns
    from discover_lib.metrics.rescore import SensitivityMap
    from discover_lib.metrics.results import ScopeResults
    from discover_lib.runs.plan import Plan, Span, Stage

TOO_FEW = "one artifact is too few for an interval"
ENDS = {  # why a conversation ended → in words
    "all_discovered": "all discovered",
    "all_satisfied": "all satisfied",
    "max_turns": "after the last turn",
    "error": "error",
    "None": "not finished",
}
Part = Lines | Table
TICK_WORDS = {1e9: "G", 1e6: "M", 1e3: "k"}


def number(value: float) -> str:
    """A figure as an axis or a legend shows it: three digits that count."""
    size = abs(value)
    for one, word in TICK_WORDS.items():
        if size >= 10 * one or (size >= one and one > 1e3):
            return f"{value / one:.3g}{word}".replace("-", "−")
    shown = f"{value:,.0f}" if size >= 100 else f"{value:.3g}"
    if 0 < size < 1e-4:
        shown = f"{value:.1e}"
    return shown.replace("-", "−")


# -- a tree, a conversation, a run ------------------------------------------------------------------------------------


def tree_lines(tree: IntentTree, reasons: Mapping[str, str] | None = None) -> Iterator[str]:
    """The outline of a tree: ● is known from the start, ○ is hidden.  `reasons`: an intent's text → its evidence."""
    for intent in tree.intents.values():
        mark = "●" if intent.id in tree.initially_discovered else "○"
        why = f"  ({reasons[intent.text]})" if reasons and reasons.get(intent.text) else ""
        yield f"  {'   ' * (tree.depth(intent.id) - 1)}{mark} {intent.text}{why}"


def ending_line(talk: Conversation) -> str:
    hidden = len(talk.tree) - len(talk.start.discovered)
    found = f"{newly_discovered(talk)} of {hidden} hidden intents discovered in {len(talk.turns)} turns"
    return f"{found} ({talk.stop}; rules: {talk.rules.name}; tokens are {talk.turns[0].reply.counting})"


def summary_told(summaries: Sequence[Summary], run: LaidOut) -> Iterator[Part]:
    """The table of a simulation, and what its numbers leave out."""
    artifacts, trials, rules = len(run.trees), run.options.trials, run.options.rules.name
    interval = "95% bootstrap over artifacts, trials nested" if artifacts > 1 else TOO_FEW
    title = f"{counted(artifacts, 'artifact')} × {counted(trials, 'trial')}, rules: {rules}; {interval}"
    yield Table(Summary.COLUMNS, tuple(summary.row() for summary in summaries), title)
    yield Lines(
        (
            "share of hidden: those discovered, emerging ones left out",
            *(summary.lacking_line for summary in summaries if summary.lacking_line),
            *dict.fromkeys(summary.score_line for summary in summaries),
            within_reach(run),
        )
    )


def near_miss_table(shares: Sequence[NearMisses]) -> Table:
    """How much of the discoveries of each assistant came from near misses."""
    title = f"{TERMS['share by near misses'].meaning} Shares are means over artifacts. {INTERVAL}."
    return Table(NEAR_MISS_COLUMNS, tuple(each.row() for each in shares), title)


# -- a plan -----------------------------------------------------------------------------------------------------------


def plan_told(plan: Plan) -> Iterator[Part]:
    """A plan as a table by stage, low to high, with its assumptions."""
    if plan.stages:
        yield stage_table(plan.stages, "expected (low–high)")
    yield Lines((size_told(plan), *(f"  {assumption}" for assumption in plan.assumptions)))


def size_told(plan: Plan) -> str:
    """The conversations, turns, calls and dollars of a plan."""
    talks = counted(plan.conversations, "conversation")
    return f"{talks}, {_span(plan.turns)} turns, {_span(plan.calls)} calls, {cost_told(plan)}"


def stage_table(stages: Sequence[Stage], title: str) -> Table:
    """The calls, tokens and dollars of each stage."""
    head = ("stage", "model", "calls", "tokens in", "tokens out", "dollars")
    rows = [
        (
            *(stage.name, stage.model, _span(stage.calls)),
            *map(_span, stage.tokens),
            _span(stage.cost, _dollars) if stage.cost else "unknown",
        )
        for stage in stages
    ]
    return Table(head, tuple(rows), title)


def cost_told(plan: Plan) -> str:
    """The dollars of a plan, and the models of unknown price."""
    return f"${_span(plan.cost, _dollars)}" + (f" and what {', '.join(plan.unpriced)} costs" if plan.unpriced else "")


def _span(span: Span, shown: Callable[[float], str] = lambda value: number(round(value))) -> str:
    """ "12k (10k–15k)", or one number if all are equal."""
    low, expected, high = map(shown, (span.low, span.expected, span.high))
    return expected if low == high else f"{expected} ({low}–{high})"


def _dollars(value: float) -> str:
    return f"{value:.2f}" if value >= 1 else f"{value:.3g}" if value >= 0.001 or not value else f"{value:.5f}"


# -- an evaluation ----------------------------------------------------------------------------------------------------


def results_told(
    results: Mapping[str, ScopeResults], rules: str, leave_out: str, ceilings: Mapping[str, Estimate] | None = None
) -> Iterator[Part]:
    """Every scope: its table, its ceiling if known, the comparisons in words, and omissions."""
    from discover_lib.metrics.results import MEASURES

    head = ("assistant", *(measure.label for measure in MEASURES))
    for scope in results.values():
        size = f"{counted(scope.artifacts, 'artifact')}, {counted(scope.users, 'user')}"
        title = f"{size}, rules: {rules}; {INTERVAL if scope.artifacts > 1 else TOO_FEW}"
        if len(results) > 1:
            yield Lines((f"\n{scope.scope}",))
        order = _best_first(scope)
        rows = [(name, *(_cell(scope.table[name].get(each.name)) for each in MEASURES)) for name in order]
        yield Table(head, tuple(rows), title)
        if ceilings and scope.scope in ceilings:
            yield Lines((f"ceiling of found: {with_n(ceilings[scope.scope])}, by perfect replies in all turns",))
        yield Lines(tuple(_comparison_lines(scope)))
        yield from left_out(scope, leave_out)


def _cell(estimate: Estimate | None) -> Cell:
    return "not scored" if estimate is None else Interval.of(estimate)


def _best_first(scope: ScopeResults) -> list[str]:
    from discover_lib.metrics.results import best_first

    eq_4 = any("discovery" in row for row in scope.table.values())  # alone, an assistant has none
    return best_first(scope.table, "discovery" if eq_4 else "proportion")


def _comparison_lines(scope: ScopeResults) -> Iterator[str]:
    """Comparisons of every assistant with the next best in discovery, and changes by training."""
    from discover_lib.engines.local.names import BEFORE
    from discover_lib.metrics.results import MEASURE

    order = _best_first(scope)
    for ours, theirs in itertools.pairwise(order):
        compared = scope.comparison("discovery", ours, theirs)
        if compared is not None:
            yield compared.sentence("discovery")
    for after, what in itertools.product(order, ("discovery", "proportion")):
        if trained := scope.comparison(what, after, f"{after}+{BEFORE}"):
            facing = trained.facing(after)
            why = facing.too_few_says if facing.too_few else facing.certainty
            change = f"{facing.ours}, after − before its training, {MEASURE[what].label}: {facing.difference}"
            yield f"{change}, {facing.verdict} ({why})"


def left_out(scope: ScopeResults, leave_out: str) -> Iterator[Part]:
    """What the numbers leave out, and how the conversations of each assistant ended."""
    from discover_lib.metrics.results import MEASURE
    from discover_lib.metrics.satisfaction import leaves_line

    same = f"{scope.same_for_all} of {scope.users} users left out, on whom all assistants found the same"
    lines = [f"eq. 4: not defined: {scope.why_no_eq_4}" if scope.why_no_eq_4 else f"eq. 4: {same}"]
    lines.append(leaves_line(len(scope.assistants), scope.leaves_counted, scope.leaves, leave_out))
    for name, users in scope.users_of.items():
        missing = scope.users - users - (scope.same_for_all if name == "discovery" else 0)
        if missing:
            over = f"{MEASURE[name].label}: taken over {counted(users, 'user')}"
            lines.append(f"{over}; {missing} left out, because at least one assistant lacks it")
    yield Lines(tuple(lines))
    yield Table(ENDED, tuple(_endings(scope, name) for name in scope.assistants), "how the conversations ended")


ENDED = ("assistant", "conversations", "ended", "unscored in", "leaks of the user", "share of divergent turns")


def _endings(scope: ScopeResults, name: str) -> tuple[str, ...]:
    stops, behaviour = scope.stops[name], scope.manners.get(name)
    return (
        name,
        str(sum(stops.values())),
        ", ".join(f"{count} {ENDS.get(stop, stop)}" for stop, count in sorted(stops.items())),
        ", ".join(f"{part}: {count}" for part, count in sorted(scope.unscored[name].items())) or "nothing",
        leaks_told(scope.leaks.get(name, 0), (scope.unchecked or {}).get(name, 0)),
        str(behaviour.divergent) if behaviour and behaviour.divergent else "–",
    )


def sensitivity_told(changes: SensitivityMap) -> Iterator[Part]:
    """The conclusions that change under each setting, and verdicts that a replay cannot know."""
    from discover_lib.metrics.rescore import change_lines

    rows = [
        (each.setting.label, "; ".join(change_lines(each)), f"{each.unjudged} of {each.asked}" if each.unjudged else "")
        for each in changes.outcomes
    ]
    head = ("setting", "conclusions that change", "verdicts not known")
    yield Lines((f"\n{changes.recheck}",))
    yield Table(head, tuple(rows), "the same judgements, scored in other ways")
    if any(each.unjudged for each in changes.outcomes):
        line = "verdicts not known: other rules would have shown the judge these intents; they count as not engaged"
        yield Lines((f"  {line}",))
