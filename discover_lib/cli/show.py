"""Print the end of a conversation and of a run, a plan, and the results of an evaluation."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import typer

from discover_lib.base.leak_words import NOT_CHECKED
from discover_lib.base.words import counted, duration, number, price_line
from discover_lib.cli.common import DONE, NO_ACCESS, UNFINISHED, code_of_halt, console, one_line
from discover_lib.core.conversation import Conversation
from discover_lib.core.intents import IntentTree
from discover_lib.metrics.intervals import INTERVAL, Estimate
from discover_lib.metrics.summary import Summary, newly_discovered
from discover_lib.runs.options import LaidOut, within_reach, write_results
from discover_lib.runs.runner import Report as EndOfRun
from discover_lib.runs.runner import Snapshot
from discover_lib.runs.store import RunStore, id_of_run
from discover_lib.tasks.waist import Lines, Report, Table

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
Part = Lines | Table


def tell(*parts: Part) -> None:
    """Print parts of a report on standard output."""
    Report(parts).print(console())


def notes(lines: Iterable[str]) -> None:
    for line in lines:
        typer.echo(f"note: {line}", err=True)


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


def progress_line(now: Snapshot) -> str:
    """The speed of a run, its cost, and its failures."""
    parts = [f"{now.turns_per_second:.3g} turns/s"] if now.turns_per_second else []
    parts += [f"{duration(now.seconds_left)} left"] if now.seconds_left else []
    parts += [price_line(now.spent.cost, now.spent.unpriced, now.spent.calls)] if now.spent.calls else []
    return ", ".join([*parts, *(counted(count, f"{role} failure") for role, count in now.failures.items())])


def print_report(report: EndOfRun, folder: Path) -> int:
    """Print the end of a run; returns the exit code."""
    counts, unreachable = report.last.counts, False
    typer.echo(f"{counts.finished} of {counts.units} conversations finished → {folder}")
    if counts.failed:
        roles = ", ".join(f"{count} by the {role}" for role, count in report.last.failures.items())
        typer.echo(f"{counts.failed} failed ({roles}); repeat the command to retry", err=True)
        with RunStore.read(folder) as store:
            failures, listing = store.failures(), store.listing()
        place, last = failures[-1]
        typer.echo(f"for example {listing[place].artifact}: {one_line(last.line)}", err=True)
        unreachable = {failure.kind for _, failure in failures if failure.ended} == {"connection"}
    if report.halted is not None:
        typer.echo(halt_line(report.halted, report.message), err=True)
        return NO_ACCESS if report.halted == "failing" and unreachable else code_of_halt(report.halted)
    if report.unscored:
        what = counted(report.unscored, "conversation")
        typer.echo(f"{what} could not be scored in full; repeat the command to retry", err=True)
        return UNFINISHED
    return NO_ACCESS if unreachable else UNFINISHED if counts.failed else DONE


def print_closing(folder: Path) -> None:
    """Print the cost of the whole run and the outcomes of its answers, if a model was asked."""
    from discover_lib.runs.outcomes import closing_lines

    with RunStore.read(folder) as store:
        tell(Lines(tuple(closing_lines(store))))


def halt_line(halt: str, message: str) -> str:
    """The reason for an early end, and how to resume."""
    if halt == "budget":
        return f"{one_line(message)}; repeat the command with a larger --budget to resume"
    reason = {"auth": "no access", "failing": "given up"}.get(halt, halt)
    return f"{reason}{f': {one_line(message)}' if message else ''}; repeat the command to resume"


def write_and_print_summary(run: LaidOut, folder: Path) -> None:
    """Write the results of a simulation beside it and print them; for best-of-n conversations the paper's Table 3."""
    from discover_lib.dataset.export import Source
    from discover_lib.dataset.lengths import table_3

    summaries = write_results(folder)
    artifacts, trials, rules = len(run.trees), run.options.trials, run.options.rules.name
    interval = "95% bootstrap over artifacts, trials nested" if artifacts > 1 else TOO_FEW
    title = f"{counted(artifacts, 'artifact')} × {counted(trials, 'trial')}, rules: {rules}; {interval}"
    tell(
        *numbers(title, Summary.COLUMNS, [summary.row() for summary in summaries], console().width),
        Lines(
            (
                "share of hidden: those discovered, emerging ones left out",
                *(summary.lacking_line for summary in summaries if summary.lacking_line),
                *dict.fromkeys(summary.score_line for summary in summaries),
                within_reach(run),
            )
        ),
    )
    if run.options.candidates is not None:
        tell(Table(("candidates", ""), tuple(table_3(Source.of_run(folder).conversations).rows())))


def numbers(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> Iterator[Table]:
    """A table with a row per assistant.  If it is wider than this: a column each, as many side by side as fit.

    A number and its interval are on one line.  A long name in the first cell is broken.
    """
    needed = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    needed[0] = min(needed[0], LONGEST_NAME)
    if sum(needed) + 3 * len(needed) + 1 <= width:
        yield Table(tuple(head), tuple((fill(name, LONGEST_NAME), *cells) for name, *cells in rows), title)
        return
    labels, widest = max(map(len, head)), max((len(cell) for row in rows for cell in row[1:]), default=0)
    beside = max(1, (width - labels - 4) // (widest + 3))
    for start in range(0, len(rows), beside):
        names, *columns = zip(*rows[start : start + beside], strict=True)
        shown = tuple((label, *cells) for label, cells in zip(head[1:], columns, strict=True))
        yield Table(("", *(fill(name, widest) for name in names)), shown, "" if start else title)


# -- a plan -----------------------------------------------------------------------------------------------------------


def print_plan(plan: Plan) -> None:
    """A plan as a table by stage, low to high, with its assumptions."""
    head = ("stage", "model", "calls", "tokens in", "tokens out", "dollars")
    rows = [
        (
            *(stage.name, stage.model, _span(stage.calls)),
            *(_span(stage.calls * stage.length.prompt), _span(stage.calls * stage.length.completion)),
            _span(stage.cost, _dollars) if stage.cost else "unknown",
        )
        for stage in plan.stages
    ]
    cost = f"${_span(plan.cost, _dollars)}" + (f" and what {', '.join(plan.unpriced)} costs" if plan.unpriced else "")
    talks = counted(plan.conversations, "conversation")
    size = f"{talks}, {_span(plan.turns)} turns, {_span(plan.calls)} calls, {cost}"
    tables = [Table(head, tuple(rows), "expected (low–high)")] if rows else []
    tell(*tables, Lines((size, *(f"  {assumption}" for assumption in plan.assumptions))))


def _span(span: Span, shown: Callable[[float], str] = lambda value: number(round(value))) -> str:
    """ "12k (10k–15k)", or one number if all are equal."""
    low, expected, high = map(shown, (span.low, span.expected, span.high))
    return expected if low == high else f"{expected} ({low}–{high})"


def _dollars(value: float) -> str:
    return f"{value:.2f}" if value >= 1 else f"{value:.3g}" if value >= 0.001 or not value else f"{value:.5f}"


# -- an evaluation ----------------------------------------------------------------------------------------------------


def results_told(
    results: Mapping[str, ScopeResults],
    rules: str,
    leave_out: str,
    ceilings: Mapping[str, Estimate] | None = None,
    unchanged: Mapping[str, str] | None = None,
) -> Iterator[Part]:
    """Every scope: its table, its ceiling if known, the comparisons in words, and omissions.

    Args:
        unchanged: assistant → another that is the same model.
    """
    from discover_lib.metrics.results import MEASURES

    head = ("assistant", *(measure.label for measure in MEASURES))
    for scope in results.values():
        size = f"{counted(scope.artifacts, 'artifact')}, {counted(scope.users, 'user')}"
        title = f"{size}, rules: {rules}; {INTERVAL if scope.artifacts > 1 else TOO_FEW}"
        if len(results) > 1:
            yield Lines((f"\n{scope.scope}",))
        yield from numbers(title, head, _rows(scope, unchanged or {}), console().width)
        ceiling = [ceiling_line(ceilings[scope.scope])] if ceilings and scope.scope in ceilings else []
        lines = (*ceiling, *_comparison_lines(scope), *_remarks(scope, leave_out))
        yield Lines(tuple(f"  {line}" for line in lines))


def _rows(scope: ScopeResults, unchanged: Mapping[str, str]) -> list[tuple[str, ...]]:
    from discover_lib.metrics.results import MEASURES

    labels = {name: f"{name} (= {unchanged[name]})" if name in unchanged else name for name in _best_first(scope)}
    return [
        (label, *(str(scope.table[name].get(each.name, "not scored")) for each in MEASURES))
        for name, label in labels.items()
    ]


def ceiling_line(ceiling: Estimate) -> str:
    """The ceiling of a share of hidden intents, in words."""
    n = f" (n = {ceiling.n_artifacts})" if ceiling.low is not None else ""  # one artifact is said in the estimate
    return f"ceiling of found: {ceiling}, by perfect replies in all turns{n}"


def _best_first(scope: ScopeResults) -> list[str]:
    from discover_lib.metrics.results import best_first

    eq_4 = any("discovery" in row for row in scope.table.values())  # alone, an assistant has none
    return best_first(scope.table, "discovery" if eq_4 else "proportion")


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
    for after, what in itertools.product(order, ("discovery", "proportion")):
        if trained := scope.comparison(what, after, f"{after}+{BEFORE}"):
            yield training_line(trained.facing(after), MEASURE[what].label)
    apart_of = [
        f"{measure.label} {sum(pair.distinguishable for pair in pairs)} of {len(pairs)}"
        for measure in MEASURES
        if (pairs := scope.comparisons.get(measure.name, ()))
    ]
    if apart_of:
        yield f"pairs that can be told apart: {', '.join(apart_of)}"


def training_line(compared: Comparison, what: str) -> str:
    """The change of a measure by training: the model after it minus the model before it."""
    why = compared.too_few_says if compared.too_few else compared.certainty
    return f"{compared.ours}, after − before its training, {what}: {compared.difference}, {compared.verdict} ({why})"


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
        parts = [
            f"{counted(count, 'conversation')} ended {ENDS.get(stop, stop)}"
            for stop, count in sorted(scope.stops[name].items())
        ]
        leaks, unread = scope.leaks.get(name), (scope.unchecked or {}).get(name)
        parts += [counted(leaks, "leak")] if leaks else []
        parts += [f"{counted(unread, 'user message')} {NOT_CHECKED} for leaks"] if unread else []
        parts += [f"{count} without {part}" for part, count in sorted(scope.unscored[name].items())]
        behaviour = scope.manners.get(name)
        if behaviour is not None and behaviour.divergent is not None:
            parts.append(f"share of divergent turns {behaviour.divergent}")
        yield f"{name}: {', '.join(parts)}"


def _sensitivity_told(changes: SensitivityMap) -> Iterator[Part]:
    """The conclusions that change under each setting, and verdicts that a replay cannot know."""
    from discover_lib.metrics.rescore import change_lines

    rows = [
        (each.setting.label, "; ".join(change_lines(each)), f"{each.unjudged} of {each.asked}" if each.unjudged else "")
        for each in changes.outcomes
    ]
    head = ("setting", "conclusions that change", "verdicts not known")
    yield Lines((f"\n{changes.recheck.sentence}",))
    yield Table(head, tuple(rows), "the same judgements, scored in other ways")
    if any(each.unjudged for each in changes.outcomes):
        line = "verdicts not known: other rules would have shown the judge these intents; they count as not engaged"
        yield Lines((f"  {line}",))


def write_and_print_results(folder: Path, leave_out: LeaveOut, *, sensitivity: bool) -> None:
    """Write the results of a run beside it and print them."""
    from discover_lib.metrics.results import ALL, MEASURES, results_by_scope
    from discover_lib.metrics.satisfaction import choices_of
    from discover_lib.runs import evaluation

    scores = evaluation.write_evaluation(folder, leave_out)
    with RunStore.read(folder) as store:
        rules, ceilings, choices = store.rules.name, evaluation.ceilings_of(store), choices_of(store.configuration)
    results = results_by_scope(scores, leave_out)
    tell(
        *results_told(results, rules, leave_out, evaluation.ceilings_by_scope(results, scores, ceilings)),
        Lines(("; ".join(f"{name.lower()}: {whose}" for name, whose in choices),)),
    )
    written = [evaluation.RESULTS_FILE, evaluation.SCORES_FILE]
    if sensitivity:
        tell(*_sensitivity_told(evaluation.write_sensitivity(folder)))
        written.append(evaluation.SENSITIVITY_FILE)
    first = replace(id_of_run(folder), assistants=_best_first(results[ALL])[0], measure=MEASURES[0].label)
    typer.echo(f"results → {', '.join(str(folder / name) for name in written)}")
    where = f'look up its id in {evaluation.RESULTS_FILE} under "ids"'
    typer.echo(f"to trace a number, {where}, then run discover show '{first}'")
