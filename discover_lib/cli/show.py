"""Print the progress, the results and the end of a run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from discover_lib.base.words import counted, duration, price_line
from discover_lib.cli.common import DONE, NO_ACCESS, UNFINISHED, code_of_halt, console, one_line
from discover_lib.runs.options import LaidOut, write_results
from discover_lib.runs.runner import Report as EndOfRun
from discover_lib.runs.runner import Snapshot
from discover_lib.runs.store import RunStore, id_of_run
from discover_lib.tasks import told
from discover_lib.tasks.waist import Lines, Report, Table

if TYPE_CHECKING:  # a simulation prints no such results
    from discover_lib.metrics.satisfaction import LeaveOut


def tell(parts: Iterable[Lines | Table]) -> None:
    """Print parts of a report on standard output."""
    Report(tuple(parts)).print(console())


def notes(lines: Iterable[str]) -> None:
    for line in lines:
        typer.echo(f"note: {line}", err=True)


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
        tell([Lines(tuple(closing_lines(store)))])


def halt_line(halt: str, message: str) -> str:
    """The reason for an early end, and how to resume."""
    if halt == "budget":
        return f"{one_line(message)}; repeat the command with a larger --budget to resume"
    reason = {"auth": "no access", "failing": "given up"}.get(halt, halt)
    return f"{reason}{f': {one_line(message)}' if message else ''}; repeat the command to resume"


def write_and_print_summary(run: LaidOut, folder: Path) -> None:
    """Write the results of a simulation beside it and print them; for best-of-n conversations the paper's Table 3."""
    tell(told.summary_told(write_results(folder), run))
    if run.options.candidates is not None:
        from discover_lib.dataset.export import Source
        from discover_lib.dataset.lengths import table_3

        tell([Table(("candidates", ""), tuple(table_3(Source.of_run(folder).conversations).rows()))])


def write_and_print_results(folder: Path, leave_out: LeaveOut, *, sensitivity: bool) -> None:
    """Write the results of a run beside it and print them."""
    from discover_lib.metrics.results import ALL, MEASURES, results_by_scope
    from discover_lib.metrics.satisfaction import choices_of
    from discover_lib.runs import evaluation

    scores = evaluation.write_evaluation(folder, leave_out)
    with RunStore.read(folder) as store:
        rules, ceilings, choices = store.rules.name, evaluation.ceilings_of(store), choices_of(store.configuration)
    results = results_by_scope(scores, leave_out)
    tell(told.results_told(results, rules, leave_out, evaluation.ceilings_by_scope(results, scores, ceilings)))
    typer.echo("; ".join(f"{name.lower()}: {whose}" for name, whose in choices))
    written = [evaluation.RESULTS_FILE, evaluation.SCORES_FILE]
    if sensitivity:
        tell(told.sensitivity_told(evaluation.write_sensitivity(folder)))
        written.append(evaluation.SENSITIVITY_FILE)
    first = replace(id_of_run(folder), assistants=told.best_first_of(results[ALL])[0], measure=MEASURES[0].label)
    typer.echo(f"results → {', '.join(str(folder / name) for name in written)}")
    where = f'look up its id in {evaluation.RESULTS_FILE} under "ids"'
    typer.echo(f"to trace a number, {where}, then run discover show '{first}'")
