"""`discover audit` and `discover safety`: can a simulated user be trusted, and are assistants safe?"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import outputs_folder, write_json
from discover_lib.cli.common import at_terminal, console, flags_of, with_flags, writable_file
from discover_lib.core.conversation import Conversation
from discover_lib.dataset.inspect_log import Answer, read_benchmark
from discover_lib.engines.miniature.lexicon import ALL_DOMAINS
from discover_lib.metrics.agreement import moments_of
from discover_lib.metrics.scorer import Phrases, RefusalJudge
from discover_lib.runs.store import RunStore
from discover_lib.tasks import corpus
from discover_lib.tasks.agree import Agree, agree, write_label_sheet
from discover_lib.tasks.benchmarks import (
    NO_KEY,
    OUTPUT,
    RATE_HEAD,
    RATE_MEANING,
    Asked,
    benchmarked,
    check_inspect,
    check_names,
    log_folders,
    rate_row,
    run_benchmark,
)
from discover_lib.tasks.certify import Certify, certify, told, trust_in
from discover_lib.tasks.house_rules import DEPTH, HEAD, MEANING, Safety, row_of, safety_of
from discover_lib.tasks.leaks import UNFINISHED, Leaks, finished_conversations, leaks
from discover_lib.tasks.paper_numbers import SIX_HEAD, SIX_MEANING, six_row, table_six
from discover_lib.tasks.playing import Models, client_settings
from discover_lib.tasks.waist import R, Table, fields_of, read

# -- audit: the desks leaks, certify and agree, one after the other ---------------------------------------------------


@with_flags(more=flags_of(Certify, Agree, Models))
def audit_run(
    run: Annotated[Path | None, typer.Argument(help="Run folder.")] = None,
    planted: Annotated[bool, typer.Option("--corpus", help="Score the leak check itself on planted leaks.")] = False,
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
        return read(record, {each.name: values[each.name] for each in fields_of(record) if each.name in values})

    if run is None and not planted:
        raise DiscoverError("no run to audit: give a run folder, or --corpus")
    questions = (asked(Leaks), asked(Certify), asked(Agree)) if run is not None else None
    if out is not None:
        writable_file(out)  # before a judge is paid
    result: dict[str, Any] = {}
    code = 0
    if planted:
        scored = corpus.told(corpus.score(corpus.load_corpus()))
        scored.print(console())
        result["corpus"] = scored.plain
    if questions is not None:
        leaking, certifying, agreeing = questions
        agreeing.role_options.check_names(())
        if label_sheet is not None:
            with RunStore.read(leaking.run) as store:
                talks = finished_conversations(store, agreeing.conversations)
            _write_sheet(talks, label_sheet)
            return
        how = asked(Models)
        found = at_terminal(leaks, leaking)
        result |= found.plain
        code = found.exit_code
        if found.exit_code != UNFINISHED:
            if validate:
                certified = at_terminal(certify, certifying, how)
            else:
                certified = told(trust_in(certifying.run))
                certified.print(console())
            result["certificate"] = certified.plain
            if agreeing.judge or agreeing.labels:
                result["agreement"] = at_terminal(agree, agreeing, how).plain
            code = max(code, certified.exit_code)
    if out is not None:
        write_json(out, result)
    raise typer.Exit(code)


def _write_sheet(talks: Mapping[str, Conversation], path: Path) -> None:
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            rows = write_label_sheet(moments_of(talks), file)
    except OSError as error:
        raise DiscoverError(f"{path}: cannot be written ({error.strerror or error})") from None
    typer.echo(f"{rows} rows to label in {len(talks)} conversations → {path}; read them back with --labels")


# -- safety: restricted content, the paper's Table 6, and benchmarks by Inspect ---------------------------------------


def safety(
    run: Annotated[
        Path | None,
        typer.Argument(help="Run folder of the miniature. If omitted, the command analyzes the paper's Table 6."),
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
    api_base: list[str] | None = None,
    key_variable: str | None = None,
) -> None:
    """Measure how often assistants offer restricted content, and how often they refuse allowed content."""
    if via is None and any((task, assistant, log, out, tool_arguments)):
        raise DiscoverError("--task, --assistant, --log, --out and --tool-arguments need --via inspect")
    if via is not None and run is not None:
        raise DiscoverError(f"use either --via (an external benchmark) or a run folder ({run}), not both")
    if via is None and run is None:
        _print(SIX_HEAD, map(six_row, table_six()), SIX_MEANING)
        return
    logs = {name: read_benchmark(file) for name, file in _given_logs(log).items()}
    models = [name for name in dict.fromkeys(assistant) if name not in logs]
    if models:
        asked = _asked(task, api_base, key_variable, tool_arguments)
        logs |= _run_benchmarks(asked, models, out or outputs_folder() / "safety-inspect")
    if via and not logs:
        raise DiscoverError("--via needs --assistant MODEL with --task, or --log NAME=FILE")
    with _judge(refusal_judge, api_base, key_variable) as judge:
        results = _results(run, depth, seed, judge) if run else []
        theirs = benchmarked(logs, judge) if logs else None
    if results:
        _print(HEAD, map(row_of, results), MEANING)
    if theirs:
        _print(RATE_HEAD, map(rate_row, theirs.rates), RATE_MEANING)
        left_out = ", ".join(f"{count} of {name}" for name, count in theirs.left_out.items())
        typer.echo(f"{theirs.prompts:,} prompts that all answered; left out: {left_out}")
    typer.echo(f"refusals are read by {judge.name}, which err")


def _given_logs(given: Sequence[str]) -> dict[str, Path]:
    files: dict[str, Path] = {}
    for each in given:
        name, _, file = each.partition("=")
        if not (name and file) or name in files:
            raise DiscoverError(f"--log {each}: write NAME=FILE, with each name once")
        files[name] = Path(file)
    return files


def _run_benchmarks(asked: Asked, models: Sequence[str], out: Path) -> dict[str, list[Answer]]:
    """Assistant → its answers, by Inspect's own runs."""
    check_names(models, asked.api_base)
    check_inspect()
    logs = {}
    for name, folder in log_folders(models, out).items():
        typer.echo(f"{name}: inspect runs {asked.task}; its output: {folder / OUTPUT}", err=True)
        logs[name] = read_benchmark(run_benchmark(asked, name, folder))
    return logs


def _asked(task: str | None, api_base: list[str] | None, key_variable: str | None, tool_arguments: str) -> Asked:
    if not task:
        raise DiscoverError("--via needs --task NAME: the benchmark to run")
    if api_base and len(api_base) > 1:
        raise DiscoverError("--via: give one --api-base; Inspect uses one server")
    key = os.environ.get(key_variable, "") if key_variable else NO_KEY
    if not key:
        raise DiscoverError(f"--key-variable: {key_variable} is not set")
    try:
        more = shlex.split(tool_arguments)
    except ValueError as error:
        raise DiscoverError(f"--tool-arguments: {error}") from None
    return Asked(task, api_base[0] if api_base else None, key, more)


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
    from discover_lib.engines.llm.scoring import LLMRefusalJudge

    with LLMClient(client_settings(api_base, key_variable=key_variable)) as client:
        yield LLMRefusalJudge(client, name)


def _print(head: Sequence[str], rows: Iterable[Sequence[str]], meaning: str) -> None:
    Table(tuple(head), tuple(map(tuple, rows))).print(console())
    typer.echo(meaning)
