"""The `discover evaluate` command: assistants scored with intervals, and compared."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from discover_lib.metrics.rescore import SensitivityMap
    from discover_lib.metrics.results import ScopeResults
    from discover_lib.metrics.satisfaction import LeaveOut
    from discover_lib.runs.evaluation import Assessed, Told

ROOMY = 130  # columns of a terminal on which a row of numbers fits on one line


class LeaveOutName(StrEnum):
    """Which leaves do not count for satisfaction."""

    none = "none"
    all = "all"


Domains = Annotated[list[str], typer.Option(help="Generated artifacts of this domain; repeatable.")]
LeavesLeftOut = Annotated[
    LeaveOutName, typer.Option(help="Leaves that none (or all) of the assistants satisfied do not count.")
]
WithSensitivity = Annotated[
    bool, typer.Option("--sensitivity", help="Score again under other rules, and say which conclusions change.")
]


def print_results(console: Console, results: Mapping[str, ScopeResults], rules: str, leave_out: str) -> None:
    """The table, the comparisons in words and what was left out, of every scope."""
    for scope in results.values():
        if len(results) > 1:
            console.print(f"\n[bold]{scope.scope}[/]")
        _print_table(console, scope, rules)
        _print_comparisons(console, scope)
        _print_pools(console, scope)
        for line in _remarks(scope, leave_out):
            console.print(f"  {line}", highlight=False, markup=False)


def _print_table(console: Console, scope: ScopeResults, rules: str) -> None:
    from rich.table import Table

    from discover_lib.metrics.intervals import INTERVAL
    from discover_lib.metrics.results import MEASURES

    table = Table(
        title=f"{scope.artifacts} artifacts, {scope.users} users, rules: {rules}; {INTERVAL}", title_justify="left"
    )
    table.add_column("assistant", overflow="fold")
    for measure in MEASURES:
        table.add_column(measure.label, justify="right", no_wrap=console.width >= ROOMY)
    for name in _best_first(scope):
        row = scope.table[name]
        table.add_row(name, *(str(row[each.name]) if each.name in row else "not scored" for each in MEASURES))
    console.print(table)


def _best_first(scope: ScopeResults) -> list[str]:
    def rank(name: str) -> float:
        row = scope.table[name]
        found = row.get("discovery") or row.get("proportion")
        return -found.mean if found else 0.0

    return sorted(scope.assistants, key=rank)


def _print_comparisons(console: Console, scope: ScopeResults) -> None:
    """Every assistant against the next best in discovery, and how many pairs of each measure can be told apart."""
    from discover_lib.metrics.results import MEASURES

    order = _best_first(scope)
    for ours, theirs in itertools.pairwise(order):
        compared = scope.comparison("discovery", ours, theirs)
        if compared is not None:
            console.print(f"  {compared.sentence('discovery', 0.03)}", highlight=False, markup=False)
    told = []
    for measure in MEASURES:
        pairs = scope.comparisons.get(measure.name, ())
        if pairs:
            apart = sum(each.distinguishable for each in pairs)
            told.append(f"{measure.label} {apart} of {len(pairs)}")
    if told:
        console.print(f"  pairs that can be told apart: {', '.join(told)}", highlight=False, markup=False)


def _print_pools(console: Console, scope: ScopeResults) -> None:
    """Eq. 4 under every smaller pool, beside the share that needs no pool."""
    from rich.table import Table

    if not scope.pools:
        return
    table = Table(title="eq. 4 depends on the pool: the same conversations with one assistant left out", box=None)
    for name in ("assistant", "found", "whole pool", *(f"−{each.without}" for each in scope.pools)):
        table.add_column(name, justify="left" if name == "assistant" else "right")
    for name in _best_first(scope):
        row = scope.table[name]
        means = [each.means.get(name) for each in scope.pools]
        whole = f"{row['discovery'].mean:.2f}" if "discovery" in row else ""
        cells = ["" if mean is None else f"{mean:.2f}" for mean in means]
        table.add_row(name, f"{row['proportion'].mean:.2f}" if "proportion" in row else "", whole, *cells)
    console.print(table)


def _remarks(scope: ScopeResults, leave_out: str) -> Iterator[str]:
    """What does not count, and why."""
    yield f"eq. 4: {scope.same_for_all} of {scope.users} users left out, on whom all assistants found the same"
    counted = f"{scope.leaves_counted} of {scope.leaves} leaves count"
    yield f"satisfaction: {counted}; those that {leave_out} of the assistants satisfied are left out"
    for measure, users in scope.users_of.items():
        missing = scope.users - users - (scope.same_for_all if measure == "discovery" else 0)
        if missing:
            yield f"{measure}: taken over {users} users; {missing} lack it for at least one assistant"
    for name in scope.assistants:
        ends = ", ".join(f"{count} {stop}" for stop, count in sorted(scope.stops[name].items()))
        unscored = ", ".join(f"{count} without {part}" for part, count in sorted(scope.unscored[name].items()))
        leaks = f", {scope.leaks[name]} leaks" if scope.leaks[name] else ""
        yield f"{name}: {ends}{leaks}{f'; unscored: {unscored}' if unscored else ''}"


@contextmanager
def assessment_bar(console: Console) -> Iterator[Told]:
    """Draws how far the assessment is."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    bar = Progress(BarColumn(), MofNCompleteColumn(), TextColumn("assessed"), console=console)

    def show(done: int, total: int) -> None:
        if not bar.tasks:
            bar.add_task("", total=total)
            bar.start()
        bar.update(bar.tasks[0].id, completed=done)

    try:
        yield show
    finally:
        bar.stop()


def report_assessment(ended: Assessed) -> int:
    """Say what is left to do of an assessment; returns the exit code."""
    if ended.halted is not None:
        why = {"budget": "the budget is spent", "auth": "no access"}.get(ended.halted, ended.halted)
        detail = f": {' '.join(ended.message.split())}" if ended.message else ""
        typer.echo(f"assessment: {why}{detail}; the same command resumes it", err=True)
        return 130 if ended.halted == "stopped" else 1
    if ended.failed:
        said = f"{ended.failed} conversations could not be scored in full; the same command tries them again"
        typer.echo(said, err=True)
        return 1
    return 0


def print_sensitivity(console: Console, found: SensitivityMap) -> None:
    """Which conclusions change under which setting, and what a replay could not know."""
    from rich.table import Table

    from discover_lib.metrics.rescore import change_lines

    console.print(f"\n{found.recheck.sentence}", highlight=False)
    table = Table(title="the same judgements, scored in other ways", title_justify="left", box=None)
    for name in ("setting", "conclusions that change", "verdicts not known"):
        table.add_column(name, justify="right" if name == "verdicts not known" else "left")
    for each in found.outcomes:
        unknown = f"{each.unjudged} of {each.asked}" if each.unjudged else ""
        table.add_row(each.setting.label, "; ".join(change_lines(each)), unknown)
    console.print(table)
    if any(each.unjudged for each in found.outcomes):
        console.print(
            "  verdicts not known: other rules would have shown the judge these intents; they count as not engaged",
            highlight=False,
        )


def report_results(console: Console, folder: Path, leave_out: LeaveOut, *, sensitivity: bool) -> None:
    """Write the results of a run beside it and print them."""
    from discover_lib.metrics.results import results_by_scope
    from discover_lib.runs.evaluation import (
        RESULTS_FILE,
        SCORES_FILE,
        SENSITIVITY_FILE,
        write_evaluation,
        write_sensitivity,
    )
    from discover_lib.runs.store import RunStore

    scores = write_evaluation(folder, leave_out)
    with RunStore.read(folder) as store:
        rules = store.rules.name
    print_results(console, results_by_scope(scores, leave_out), rules, leave_out)
    written = [RESULTS_FILE, SCORES_FILE]
    if sensitivity:
        print_sensitivity(console, write_sensitivity(folder))
        written.append(SENSITIVITY_FILE)
    typer.echo(f"results → {', '.join(str(folder / name) for name in written)}")
