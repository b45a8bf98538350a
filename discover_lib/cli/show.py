"""Print the end of a conversation and of a run, a plan, and the results of an evaluation."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import typer
from rich.console import Console

from discover_lib.base.glossary import meaning
from discover_lib.base.leak_words import NOT_CHECKED
from discover_lib.base.words import counted, duration, number, price_line
from discover_lib.cli.common import DONE, NO_ACCESS, UNFINISHED, code_of_halt, console, one_line
from discover_lib.core.conversation import Conversation
from discover_lib.core.intents import IntentTree
from discover_lib.metrics.intervals import INTERVAL, Estimate
from discover_lib.metrics.summary import Summary, newly_discovered
from discover_lib.runs.options import LaidOut, Report, Snapshot, within_reach
from discover_lib.runs.store import RunStore, id_of_run
from discover_lib.tasks.waist import Table

if TYPE_CHECKING:  # a simulation prints none of these, and reading the modules takes as long as sixty turns
    from discover_lib.metrics.paired import Comparison
    from discover_lib.metrics.rescore import SensitivityMap
    from discover_lib.metrics.results import ScopeResults
    from discover_lib.metrics.satisfaction import LeaveOut
    from discover_lib.runs.plan import Plan, Span

TOO_FEW = "one artifact is too few for an interval"
ENDS = {  # why a conversation ended → in words
    "all_discovered": "with everything discovered",
    "all_satisfied": "with everything satisfied",
    "max_turns": "with the last turn",
    "error": "in an error",
}
LONGEST_NAME = 40  # letters of an assistant's name on one line of a table


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


def progress_line(now: Snapshot) -> str:
    """The speed of a run, its cost, and its failures."""
    parts = [f"{now.turns_per_second:.3g} turns/s"] if now.turns_per_second else []
    parts += [f"{duration(now.seconds_left)} left"] if now.seconds_left else []
    parts += [price_line(now.spent.cost, now.spent.unpriced, now.spent.calls)] if now.spent.calls else []
    return ", ".join([*parts, *(counted(count, f"{role} failure") for role, count in now.failures.items())])


def print_table_3(folder: Path) -> None:
    """The paper's Table 3 for a run of best-of-n conversations."""
    from discover_lib.dataset.export import Source
    from discover_lib.dataset.lengths import table_3

    Table(("candidates", ""), tuple(table_3(Source.of_run(folder).conversations).rows())).print(console())


def print_report(report: Report, folder: Path) -> int:
    """Print the end of a run; returns the exit code."""
    counts, unreachable = report.last.counts, False
    typer.echo(f"{counts.finished} of {counts.units} conversations finished → {folder}")
    if counts.failed:
        roles = ", ".join(f"{count} by the {role}" for role, count in report.last.failures.items())
        typer.echo(f"{counts.failed} failed ({roles}); {_again('retry', counts.failed)}", err=True)
        with RunStore.read(folder) as store:
            failures = store.failures()
            place, last = failures[-1]
            artifact = store.listing()[place].artifact
        typer.echo(f"for example {artifact}: {one_line(last.line)}", err=True)
        unreachable = {failure.kind for _, failure in failures if failure.ended} == {"connection"}
    if report.halted is not None:
        typer.echo(halt_line(report.halted, report.message), err=True)
        return NO_ACCESS if report.halted == "failing" and unreachable else code_of_halt(report.halted)
    if report.unscored:
        what = counted(report.unscored, "conversation")
        typer.echo(f"{what} could not be scored in full; {_again('retry', report.unscored)}", err=True)
        return UNFINISHED
    return NO_ACCESS if unreachable else UNFINISHED if counts.failed else DONE


def _again(verb: str, count: int) -> str:
    return f"repeat the command to {verb} {'it' if count == 1 else 'them'}"


def print_closing(folder: Path) -> None:
    """Print the cost of the whole run and the outcomes of its answers, if a model was asked."""
    from discover_lib.runs.outcomes import closing_lines

    with RunStore.read(folder) as store:
        for line in closing_lines(store):
            typer.echo(line)


def halt_line(halt: str, message: str) -> str:
    """The reason for an early end, and how to resume."""
    if halt == "budget":
        return f"{one_line(message)}; repeat the command with a larger --budget to resume"
    reason = {"auth": "no access", "failing": "given up"}.get(halt, halt)
    return f"{reason}{f': {one_line(message)}' if message else ''}; repeat the command to resume"


def print_summary(summaries: Sequence[Summary], run: LaidOut) -> None:
    artifacts, trials, rules = len(run.trees), run.options.trials, run.options.rules.name
    interval = "95% bootstrap over artifacts, trials nested" if artifacts > 1 else TOO_FEW
    title = f"{counted(artifacts, 'artifact')} × {counted(trials, 'trial')}, rules: {rules}; {interval}"
    print_numbers(console(), title, Summary.COLUMNS, [summary.row() for summary in summaries])
    typer.echo("share of hidden: those discovered, emerging ones left out")
    for summary in summaries:
        if summary.lacking_line:
            typer.echo(summary.lacking_line)
    for line in dict.fromkeys(summary.score_line for summary in summaries):
        typer.echo(line)
    typer.echo(within_reach(run))


def print_plan(plan: Plan) -> None:
    """A plan as a table by stage, low to high, with its assumptions."""
    rows = [
        (
            *(stage.name, stage.model, _span(stage.calls)),
            *(_span(stage.calls * stage.length.prompt), _span(stage.calls * stage.length.completion)),
            _span(stage.cost, _dollars) if stage.cost else "unknown",
        )
        for stage in plan.stages
    ]
    if rows:
        head = ("stage", "model", "calls", "tokens in", "tokens out", "dollars")
        Table(head, tuple(rows), "expected (low–high)").print(console())
    cost = f"${_span(plan.cost, _dollars)}" + (f" and what {', '.join(plan.unpriced)} costs" if plan.unpriced else "")
    talks = counted(plan.conversations, "conversation")
    typer.echo(f"{talks}, {_span(plan.turns)} turns, {_span(plan.calls)} calls, {cost}")
    for assumption in plan.assumptions:
        typer.echo(f"  {assumption}")


def print_paper_accounting() -> None:
    from discover_lib.tasks.paper_numbers import PAPER_PRINTED, paper_accounting

    plans = paper_accounting()
    for what, plan in zip(("tree", "five turns"), plans, strict=True):
        for stage in plan.stages:
            tokens = f"{stage.length.prompt.expected:,.0f} + {stage.length.completion.expected:,.0f} tokens"
            cost = stage.cost.expected if stage.cost else 0.0
            typer.echo(f"  {stage.name:26} {stage.model:24} {f'{stage.calls.expected:.0f} × {tokens}':28} ${cost:.4f}")
        typer.echo(f"{what}: ${plan.cost.expected:.3f} (the paper: ${PAPER_PRINTED[what]})")
    total, printed = sum(plan.cost.expected for plan in plans), PAPER_PRINTED["sum"]
    typer.echo(f"together: ${total:.3f} (the paper prints ${printed}, which does not follow from its parts)")
    typer.echo(plans[0].assumptions[0])


def _span(span: Span, shown: Callable[[float], str] = lambda value: number(round(value))) -> str:
    """ "12k (10k–15k)", or one number if all are equal."""
    low, expected, high = map(shown, (span.low, span.expected, span.high))
    return expected if low == high else f"{expected} ({low}–{high})"


def _dollars(value: float) -> str:
    return f"{value:.2f}" if value >= 1 else f"{value:.3g}" if value >= 0.001 or not value else f"{value:.5f}"


# -- an evaluation --------------------------------------------------------------------------------------------------


def print_results(
    results: Mapping[str, ScopeResults],
    rules: str,
    leave_out: str,
    ceilings: Mapping[str, Estimate] | None = None,
    unchanged: Mapping[str, str] | None = None,
) -> None:
    """Print every scope: its table, its ceiling if known, the comparisons in words, and omissions.

    Args:
        unchanged: assistant → another that is the same model.
    """
    for scope in results.values():
        if len(results) > 1:
            typer.echo(f"\n{scope.scope}")
        _print_table(scope, rules, unchanged or {})
        if ceilings and scope.scope in ceilings:
            typer.echo(f"  {ceiling_line(ceilings[scope.scope])}")
        for line in _comparison_lines(scope):
            typer.echo(f"  {line}")
        _print_pools(scope)
        for line in _remarks(scope, leave_out):
            typer.echo(f"  {line}")


def _print_table(scope: ScopeResults, rules: str, unchanged: Mapping[str, str]) -> None:
    from discover_lib.metrics.results import MEASURES

    size = f"{counted(scope.artifacts, 'artifact')}, {counted(scope.users, 'user')}"
    interval = INTERVAL if scope.artifacts > 1 else TOO_FEW
    rows = []
    for name in _best_first(scope):
        row = scope.table[name]
        label = f"{name} (= {unchanged[name]})" if name in unchanged else name
        rows.append((label, *(str(row[each.name]) if each.name in row else "not scored" for each in MEASURES)))
    head = ("assistant", *(measure.label for measure in MEASURES))
    print_numbers(console(), f"{size}, rules: {rules}; {interval}", head, rows)


def print_numbers(screen: Console, title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table with a row per assistant.  If it is too wide: a column each, as many side by side as fit.

    A number and its interval are on one line.  A long name in the first cell is broken.
    """
    needed = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    needed[0] = min(needed[0], LONGEST_NAME)
    if sum(needed) + 3 * len(needed) + 1 <= screen.width:
        Table(tuple(head), tuple((fill(name, LONGEST_NAME), *cells) for name, *cells in rows), title).print(screen)
        return
    labels, width = max(map(len, head)), max((len(cell) for row in rows for cell in row[1:]), default=0)
    beside = max(1, (screen.width - labels - 4) // (width + 3))
    for start in range(0, len(rows), beside):
        names, *columns = zip(*rows[start : start + beside], strict=True)
        shown = tuple((label, *cells) for label, cells in zip(head[1:], columns, strict=True))
        Table(("", *(fill(name, width) for name in names)), shown, "" if start else title).print(screen)


def ceiling_line(ceiling: Estimate) -> str:
    """The ceiling of a share of hidden intents, in words."""
    n = f" (n = {ceiling.n_artifacts})" if ceiling.low is not None else ""  # one artifact is said in the estimate
    return f"ceiling of found: {ceiling}, by perfect replies in all turns{n}"


def _best_first(scope: ScopeResults) -> list[str]:
    from discover_lib.metrics.results import best_first

    eq_4 = any("discovery" in row for row in scope.table.values())  # alone, an assistant has none
    return best_first(scope.table, "discovery" if eq_4 else "proportion")


def training_line(compared: Comparison, what: str) -> str:
    """The change of a measure by training: the model after it minus the model before it."""
    why = compared.too_few_says if compared.too_few else compared.certainty
    return f"{compared.ours}, after − before its training, {what}: {compared.difference}, {compared.verdict} ({why})"


def _comparison_lines(scope: ScopeResults) -> Iterator[str]:
    """Comparisons of every assistant with the next best in discovery, changes by training, and the number of
    distinguishable pairs per measure.
    """
    from discover_lib.engines.local.names import BEFORE
    from discover_lib.metrics.results import MEASURE, MEASURES

    order = _best_first(scope)
    for ours, theirs in itertools.pairwise(order):
        compared = scope.comparison("discovery", ours, theirs)
        if compared is not None:
            yield compared.sentence("discovery", 0.03)
    for after in order:
        for what in ("discovery", "proportion"):
            if trained := scope.comparison(what, after, f"{after}+{BEFORE}"):
                yield training_line(trained.facing(after), MEASURE[what].label)
    apart_of = [
        f"{measure.label} {sum(pair.distinguishable for pair in pairs)} of {len(pairs)}"
        for measure in MEASURES
        if (pairs := scope.comparisons.get(measure.name, ()))
    ]
    if apart_of:
        yield f"pairs that can be told apart: {', '.join(apart_of)}"


def _print_pools(scope: ScopeResults) -> None:
    """Print eq. 4 under every smaller pool, beside the share that needs no pool."""
    if not scope.pools:
        return
    head = ("assistant", "found", "whole pool", *(f"−{each.without}" for each in scope.pools))
    rows = []
    for name in _best_first(scope):
        row = scope.table[name]
        means = [row[each].mean if each in row else None for each in ("proportion", "discovery")]
        means += [each.means.get(name) for each in scope.pools]
        rows.append((name, *("" if mean is None else f"{mean:.2f}" for mean in means)))
    title = "eq. 4 depends on the pool: the same conversations with one assistant left out"
    Table(head, tuple(rows), title).print(console())


def _remarks(scope: ScopeResults, leave_out: str) -> Iterator[str]:
    """Omissions and their reasons."""
    from discover_lib.metrics.results import MEASURE
    from discover_lib.metrics.satisfaction import leaves_line

    if why := scope.why_no_eq_4:
        yield f"eq. 4: not defined: {why}"
    else:
        yield f"eq. 4: {scope.same_for_all} of {scope.users} users left out, on whom all assistants found the same"
    yield leaves_line(len(scope.assistants), scope.leaves_counted, scope.leaves, leave_out)
    for name, users in scope.users_of.items():
        missing = scope.users - users - (scope.same_for_all if name == "discovery" else 0)
        if missing:
            lack = "lacks" if missing == 1 else "lack"
            label = MEASURE[name].label
            yield f"{label}: taken over {counted(users, 'user')}; {missing} {lack} it for at least one assistant"
    for name in scope.assistants:
        ends = ", ".join(
            f"{counted(count, 'conversation')} ended {ENDS.get(stop, stop)}"
            for stop, count in sorted(scope.stops[name].items())
        )
        unscored = ", ".join(f"{count} without {part}" for part, count in sorted(scope.unscored[name].items()))
        leaks = f", {counted(scope.leaks[name], 'leak')}" if scope.leaks.get(name) else ""
        if unread := (scope.unchecked or {}).get(name):
            leaks += f", {counted(unread, 'user message')} {NOT_CHECKED} for leaks"
        yield f"{name}: {ends}{leaks}{f'; unscored: {unscored}' if unscored else ''}"
    for name, behaviour in scope.manners.items():
        if behaviour.divergent is not None:
            families = "".join(f", {family} {share}" for family, share in behaviour.families.items())
            yield f"behaviour of {name}: share of divergent turns {behaviour.divergent}{families}"
    if any(behaviour.families for behaviour in scope.manners.values()):
        yield " ".join(f"{word}: {meaning(word)}" for word in ("CCC", "alternating"))


def print_sensitivity(changes: SensitivityMap) -> None:
    """Print the conclusions that change under each setting, and verdicts that a replay cannot know."""
    from discover_lib.metrics.rescore import change_lines

    typer.echo(f"\n{changes.recheck.sentence}")
    rows = [
        (each.setting.label, "; ".join(change_lines(each)), f"{each.unjudged} of {each.asked}" if each.unjudged else "")
        for each in changes.outcomes
    ]
    head = ("setting", "conclusions that change", "verdicts not known")
    Table(head, tuple(rows), "the same judgements, scored in other ways").print(console())
    if any(each.unjudged for each in changes.outcomes):
        typer.echo(
            "  verdicts not known: other rules would have shown the judge these intents; they count as not engaged"
        )


def write_and_print_results(folder: Path, leave_out: LeaveOut, *, sensitivity: bool) -> None:
    """Write the results of a run beside it and print them."""
    from discover_lib.metrics.results import ALL, MEASURES, results_by_scope
    from discover_lib.metrics.satisfaction import choices_of
    from discover_lib.runs.evaluation import (
        RESULTS_FILE,
        SCORES_FILE,
        SENSITIVITY_FILE,
        ceilings_by_scope,
        ceilings_of,
        write_evaluation,
        write_sensitivity,
    )

    scores = write_evaluation(folder, leave_out)
    with RunStore.read(folder) as store:
        rules, ceilings, choices = store.rules.name, ceilings_of(store), choices_of(store.configuration)
    results = results_by_scope(scores, leave_out)
    print_results(results, rules, leave_out, ceilings_by_scope(results, scores, ceilings))
    typer.echo("; ".join(f"{name.lower()}: {whose}" for name, whose in choices))
    written = [RESULTS_FILE, SCORES_FILE]
    if sensitivity:
        print_sensitivity(write_sensitivity(folder))
        written.append(SENSITIVITY_FILE)
    typer.echo(f"results → {', '.join(str(folder / name) for name in written)}")
    best = _best_first(results[ALL])[0]
    scored = next(each.label for each in MEASURES if each.name in results[ALL].table[best])  # alone it has no eq. 4
    first = replace(id_of_run(folder), assistants=best, measure=scored)
    typer.echo(f"to trace a number, look up its id in {RESULTS_FILE} under \"ids\", then run discover show '{first}'")
