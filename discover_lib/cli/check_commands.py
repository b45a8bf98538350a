"""`discover audit` and `discover safety`: can a simulated user be trusted, and are assistants safe?"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import outputs_folder, writable_file, write_json
from discover_lib.cli.common import also, at_terminal, console, flags_of, tell
from discover_lib.dataset.inspect_log import read_benchmark
from discover_lib.engines.miniature.lexicon import ALL_DOMAINS
from discover_lib.metrics.agreement import moments_of
from discover_lib.metrics.scorer import Phrases, RefusalJudge
from discover_lib.runs.store import RunStore
from discover_lib.tasks.agree import Agree, agree, write_label_sheet
from discover_lib.tasks.certify import Certify, certify, told, trust_in
from discover_lib.tasks.leaks import UNFINISHED, Leaks, finished_conversations, leaks
from discover_lib.tasks.playing import Models, Server
from discover_lib.tasks.safety import (
    DEPTH,
    HEAD,
    MEANING,
    NO_KEY,
    RATE_HEAD,
    RATE_MEANING,
    Asked,
    Safety,
    benchmarked,
    rate_row,
    row_of,
    run_benchmarks,
    safety_of,
)
from discover_lib.tasks.waist import Lines, R, Table, read

# -- audit: the desks leaks, certify and agree, one after the other ---------------------------------------------------


@also(flags_of(Certify, Agree, Models))
def audit_run(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    validate: Annotated[
        bool, typer.Option("--certify", help="Run the reference assistants with this run's user.")
    ] = False,
    label_sheet: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a CSV for human labels, then stop.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write all results as JSON.")] = None,
    **given: Any,
) -> None:
    """Check a run's user messages for leaks, validate its simulated user, and measure judge agreement.

    Exit code 1: not validated. Exit code 5: a user message has a leak.
    """

    def asked(record: type[R]) -> R:
        values = {**given, "run": run}
        return read(record, {name: values[name] for name in record.__struct_fields__ if name in values})

    questions = asked(Leaks), asked(Certify), asked(Agree)
    if out is not None:
        writable_file(out)  # before a judge is paid
    if label_sheet is not None:
        _write_sheet(questions[2], label_sheet)
        return
    found, code = _audited(*questions, asked(Models), validate)
    if out is not None:
        write_json(out, found)
    raise typer.Exit(code)


def _audited(
    leaking: Leaks, certifying: Certify, agreeing: Agree, how: Models, validate: bool
) -> tuple[dict[str, Any], int]:
    """The results of the desks, which are printed, and the exit code."""
    found = at_terminal(leaks, leaking)
    if found.exit_code == UNFINISHED:
        return found.plain, UNFINISHED
    if validate:
        certified = at_terminal(certify, certifying, how)
    else:
        certified = told(trust_in(certifying.run))
        certified.print(console())
    result = found.plain | {"certificate": certified.plain}
    if agreeing.judge or agreeing.labels:
        result["agreement"] = at_terminal(agree, agreeing, how).plain
    return result, max(found.exit_code, certified.exit_code)


def _write_sheet(asked: Agree, path: Path) -> None:
    with RunStore.read(asked.run) as store:
        talks = finished_conversations(store, asked.conversations)
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = write_label_sheet(moments_of(talks), file)
    typer.echo(f"{rows} rows to label in {len(talks)} conversations → {path}; read them back with --labels")


# -- safety: restricted content, and benchmarks by Inspect -------------------------------------------------------------


def safety(
    how: Server,
    run: Annotated[
        Path | None,
        typer.Argument(help="Run folder of the miniature."),
    ] = None,
    depth: Annotated[int, typer.Option(min=1, max=6, help="Depth of the restricted intent in a tree; 1 is a root.")] = (
        DEPTH
    ),
    seed: int = 0,
    refusal_judge: Annotated[str, typer.Option(help="Detector of refusals: phrases, or a LiteLLM model.")] = (
        Phrases.name
    ),
    via: Annotated[
        Literal["inspect"] | None, typer.Option(help="Run an external benchmark with Inspect, in place of a run.")
    ] = None,
    task: Annotated[str | None, typer.Option(help="With --via: the benchmark, as Inspect names it.")] = None,
    assistant: Annotated[
        list[str], typer.Option(help="With --via: model to benchmark; repeatable, the base model first.")
    ] = [],  # noqa: B006
    log: Annotated[
        list[str], typer.Option(metavar="NAME=FILE", help="With --via: read this Inspect log; repeatable.")
    ] = [],  # noqa: B006
    out: Annotated[
        Path | None, typer.Option(help="With --via: folder for the logs (default: outputs/safety-inspect).")
    ] = None,
    tool_arguments: Annotated[
        str, typer.Option(metavar="TEXT", help="With --via: options that are passed to Inspect unchanged.")
    ] = "",
) -> None:
    """Measure how often assistants offer restricted content, and how often they refuse allowed content."""
    if via is None and any((task, assistant, log, out, tool_arguments)):
        raise DiscoverError("--task, --assistant, --log, --out and --tool-arguments need --via inspect")
    if via is not None and run is not None:
        raise DiscoverError(f"use either --via (an external benchmark) or a run folder ({run}), not both")
    if via is None and run is None:
        raise DiscoverError("no run to read: give a run folder, or --via inspect")
    logs = {name: read_benchmark(file) for name, file in _given_logs(log).items()}
    models = [name for name in dict.fromkeys(assistant) if name not in logs]
    if models:
        wanted, folder = _asked(task, how, tool_arguments), out or outputs_folder() / "safety-inspect"
        logs |= run_benchmarks(wanted, models, folder, partial(typer.echo, err=True))
    if via and not logs:
        raise DiscoverError("--via needs --assistant MODEL with --task, or --log NAME=FILE")
    with _judge(refusal_judge, how) as judge:
        if run is not None:
            tell([Table(HEAD, tuple(map(row_of, _results(run, depth, seed, judge)))), Lines((MEANING,))])
        else:
            theirs = benchmarked(logs, judge)
            left_out = ", ".join(f"{count} of {name}" for name, count in theirs.left_out.items())
            size = f"{theirs.prompts:,} prompts that all answered; left out: {left_out}"
            tell([Table(RATE_HEAD, tuple(map(rate_row, theirs.rates))), Lines((RATE_MEANING, size))])
        typer.echo(f"refusals are read by {judge.name}, which err")


def _given_logs(given: Sequence[str]) -> dict[str, Path]:
    files = {name: Path(file) for name, _, file in (each.partition("=") for each in given) if name and file}
    if len(files) < len(given):
        raise DiscoverError(f"--log {' --log '.join(given)}: write NAME=FILE, with each name once")
    return files


def _asked(task: str | None, how: Server, tool_arguments: str) -> Asked:
    if not task:
        raise DiscoverError("--via needs --task NAME: the benchmark to run")
    if len(how.api_base) > 1:
        raise DiscoverError("--via: give one --api-base; Inspect uses one server")
    key = os.environ.get(how.key_variable, "") if how.key_variable else NO_KEY
    if not key:
        raise DiscoverError(f"--key-variable: {how.key_variable} is not set")
    try:
        more = shlex.split(tool_arguments)
    except ValueError as error:
        raise DiscoverError(f"--tool-arguments: {error}") from None
    return Asked(task, next(iter(how.api_base), None), key, more)


def _results(run: Path, depth: int, seed: int, judge: RefusalJudge) -> list[Safety]:
    with RunStore.read(run) as store:
        known = (each for each in store.conversations() if each.setting.get("domain") in ALL_DOMAINS)
        results = safety_of(known, depth, seed, judge)
    if not results:
        raise DiscoverError(f"{run}: no finished conversation has a hidden intent at depth {depth}; try --depth 2")
    return results


@contextmanager
def _judge(name: str, how: Server) -> Iterator[RefusalJudge]:
    if name == Phrases.name:
        yield Phrases()
        return
    from discover_lib.engines.llm.calls.client import LLMClient
    from discover_lib.engines.llm.scoring import LLMRefusalJudge

    with LLMClient(how.settings) as client:
        yield LLMRefusalJudge(client, name)
