"""`discover safety`: a run of the miniature under house rules, the paper's Table 6, and benchmarks of others."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import typer

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import outputs_folder
from discover_lib.cli.common import console, with_flags
from discover_lib.dataset.benchmark_logs import Answer, read_benchmark
from discover_lib.engines.llm.calls.litellm import NO_KEY
from discover_lib.engines.miniature.lexicon import ALL_DOMAINS
from discover_lib.metrics.refusals import Phrases, RefusalJudge
from discover_lib.runs.store import RunStore
from discover_lib.tasks.benchmark_runs import OUTPUT, Asked, check_inspect, check_names, log_folders, run_benchmark
from discover_lib.tasks.benchmarks import benchmarked
from discover_lib.tasks.house_rules import DEPTH, Safety, safety_of
from discover_lib.tasks.paper_numbers import table_six
from discover_lib.tasks.playing import client_settings
from discover_lib.tasks.safety_rows import (
    HEAD,
    MEANING,
    RATE_HEAD,
    RATE_MEANING,
    SIX_HEAD,
    SIX_MEANING,
    rate_row,
    row_of,
    six_row,
)
from discover_lib.tasks.waist import Table


@dataclass(frozen=True, kw_only=True)
class SafetyFlags:
    """What `discover safety` is asked."""

    run: Annotated[
        Path | None, typer.Argument(help="Run folder of the miniature. Without it: the paper's Table 6.")
    ] = None
    depth: Annotated[int, typer.Option(min=1, max=6, help="Depth of the restricted intent in a tree; 1 is a root.")] = (
        DEPTH
    )
    seed: int = 0
    refusal_judge: Annotated[str, typer.Option(help="What detects refusals: phrases, or a LiteLLM model.")] = (
        Phrases.name
    )
    via: Annotated[
        Literal["inspect"] | None, typer.Option(help="Run an external benchmark with Inspect, in place of a run.")
    ] = None
    task: Annotated[str | None, typer.Option(help="With --via: the benchmark, as Inspect names it.")] = None
    assistant: Annotated[
        list[str], typer.Option(help="With --via: model to benchmark; repeatable, the base model first.")
    ] = field(default_factory=list)
    log: Annotated[
        list[str], typer.Option(metavar="NAME=FILE", help="With --via: read this Inspect log; repeatable.")
    ] = field(default_factory=list)
    out: Annotated[
        Path | None, typer.Option(help="With --via: folder for the logs (default: outputs/safety-inspect).")
    ] = None
    tool_arguments: Annotated[
        str, typer.Option(metavar="TEXT", help="With --via: options that are passed to Inspect unchanged.")
    ] = ""
    api_base: list[str] | None = None
    key_variable: str | None = None


@with_flags(SafetyFlags)
def safety(flags: SafetyFlags) -> None:
    """Measure how often assistants offer restricted content, and how often they refuse allowed content."""
    theirs_alone = (flags.task, flags.assistant, flags.log, flags.out, flags.tool_arguments)
    if flags.via is None and any(theirs_alone):
        raise DiscoverError("--task, --assistant, --log, --out and --tool-arguments need --via inspect")
    if flags.via is not None and flags.run is not None:
        raise DiscoverError(f"use either --via (an external benchmark) or a run folder ({flags.run}), not both")
    if flags.via is None and flags.run is None:
        _print(SIX_HEAD, map(six_row, table_six()), SIX_MEANING)
        return
    logs = _logs(flags) if flags.via else {}
    with _judge(flags.refusal_judge, flags.api_base, flags.key_variable) as judge:
        results = _results(flags.run, flags.depth, flags.seed, judge) if flags.run else []
        theirs = benchmarked(logs, judge) if logs else None
    if results:
        _print(HEAD, map(row_of, results), MEANING)
    if theirs:
        _print(RATE_HEAD, map(rate_row, theirs.rates), RATE_MEANING)
        left_out = ", ".join(f"{count} of {name}" for name, count in theirs.left_out.items())
        typer.echo(f"{theirs.prompts:,} prompts that all answered; left out: {left_out}")
    typer.echo(f"refusals are read by {judge.name}, which err")


def _logs(flags: SafetyFlags) -> dict[str, list[Answer]]:
    """Assistant → its answers: of logs that are here, then of Inspect's own runs."""
    files: dict[str, Path] = {}
    for given in flags.log:
        name, sign, file = given.partition("=")
        if not (sign and name and file) or name in files:
            raise DiscoverError(f"--log {given}: write NAME=FILE, with each name once")
        files[name] = Path(file)
    logs = {name: read_benchmark(file) for name, file in files.items()}
    models = [name for name in dict.fromkeys(flags.assistant) if name not in logs]
    if models:
        asked = _asked(flags)
        check_names(models, asked.api_base)
        check_inspect()
        folders = log_folders(models, flags.out or outputs_folder() / "safety-inspect")
        for name, folder in folders.items():
            typer.echo(f"{name}: inspect runs {asked.task}; what it says: {folder / OUTPUT}", err=True)
            logs[name] = read_benchmark(run_benchmark(asked, name, folder))
    if not logs:
        raise DiscoverError("--via needs --assistant MODEL with --task, or --log NAME=FILE")
    return logs


def _asked(flags: SafetyFlags) -> Asked:
    if not flags.task:
        raise DiscoverError("--via needs --task NAME: the benchmark to run")
    if flags.api_base and len(flags.api_base) > 1:
        raise DiscoverError("--via: give one --api-base; Inspect uses one server")
    key = os.environ.get(flags.key_variable, "") if flags.key_variable else NO_KEY
    if not key:
        raise DiscoverError(f"--key-variable: {flags.key_variable} is not set")
    try:
        more = shlex.split(flags.tool_arguments)
    except ValueError as error:
        raise DiscoverError(f"--tool-arguments: {error}") from None
    return Asked(flags.task, flags.api_base[0] if flags.api_base else None, key, more)


def _results(run: Path, depth: int, seed: int, judge: RefusalJudge) -> list[Safety]:
    with RunStore.read(run) as store:
        if "people" in store.configuration:
            raise DiscoverError(
                f"{run}: these are conversations with people, whose intent trees are built from the final text; "
                "give a run with simulated users"
            )
        known = (each for each in store.conversations() if each.setting.get("domain") in ALL_DOMAINS)
        results = safety_of(known, depth, seed, judge)
    if not results:
        raise DiscoverError(f"{run}: no finished conversation has a hidden intent at depth {depth}; try --depth 2")
    return results


@contextmanager
def _judge(name: str, api_base: list[str] | None, key_variable: str | None) -> Iterator[RefusalJudge]:
    if name == Phrases.name:
        yield Phrases()
        return
    from discover_lib.engines.llm.calls.client import LLMClient
    from discover_lib.engines.llm.refusal_words import LLMRefusalJudge

    with LLMClient(client_settings(api_base, key_variable=key_variable)) as client:
        yield LLMRefusalJudge(client, name)


def _print(head: Sequence[str], rows: Iterable[Sequence[str]], meaning: str) -> None:
    Table(tuple(head), tuple(map(tuple, rows))).print(console())
    typer.echo(meaning)
