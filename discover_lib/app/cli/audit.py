"""`discover audit` and `discover paper`: can a run's simulated user be trusted, and do the paper's figures follow?

Registered in `discover_lib.app.cli.main`, which turns the errors that a person can mend into one line.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discover_lib.base.errors import DiscoverError

if TYPE_CHECKING:
    from discover_lib.audit.agreement import JudgeFactory, Label, Moment
    from discover_lib.core.conversation import Conversation
    from discover_lib.engines.llm.calls.client import ClientSettings, LLMClient

FINDINGS_SHOWN = 10
JUDGED = 40  # conversations that further judges are asked about, unless told otherwise
IN_FLIGHT = 16  # conversations with language models at a time


class AuditUsage(DiscoverError):
    """What was asked for cannot be done as asked; the message is one line that says what to do."""


def audit_run(
    run: Annotated[Path | None, typer.Argument(help="A run's folder.")] = None,
    corpus: Annotated[bool, typer.Option("--corpus", help="How good the leak audit is, on planted leaks.")] = False,
    certify: Annotated[bool, typer.Option("--certify", help="Run the scripted panel with this run's user.")] = False,
    artifacts: Annotated[int | None, typer.Option(min=1, help="Artifacts for the panel.")] = None,
    seed: Annotated[int, typer.Option(help="Of the panel.")] = 0,
    judge: Annotated[
        list[str], typer.Option(help="Have the turns judged again by 'miniature' or a LiteLLM model; repeatable.")
    ] = [],  # noqa: B006 (typer copies it)
    repeats: Annotated[int, typer.Option(min=1, help="Ask each --judge so often, and count changed answers.")] = 1,
    conversations: Annotated[int, typer.Option(min=1, help="Conversations for --judge and --label-sheet.")] = JUDGED,
    labels: Annotated[list[Path], typer.Option(help="CSV of labels by people; repeatable.")] = [],  # noqa: B006
    label_sheet: Annotated[Path | None, typer.Option(help="Write a CSV for people to fill in, and stop.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write everything found as JSON.")] = None,
    budget: Annotated[float | None, typer.Option(min=0, help="Dollars; needed to call language models.")] = None,
    prompts: Annotated[Path | None, typer.Option(help="The folder of prompts that the run was made with.")] = None,
    api_base: Annotated[str | None, typer.Option(help="One's own OpenAI-compatible server.")] = None,
    key_variable: Annotated[str | None, typer.Option(help="Environment variable with that server's key.")] = None,
) -> None:
    """Leaks in a run's user turns, its certificate, and how far judges agree. Exit 1: an alarm, or not certified."""
    if run is None and not corpus:
        raise AuditUsage("give a run's folder, or --corpus")
    result: dict[str, Any] = {}
    failed = False
    if corpus:
        result["corpus"] = _print_corpus()
    if run is not None:
        talks = _read(run)
        if label_sheet is not None:
            _write_sheet(dict(itertools.islice(talks.items(), conversations)), label_sheet)
            return
        settings = _settings(api_base, key_variable)
        with _as_usage():
            result["leaks"], alarmed = _print_leaks(talks)
            result["certificate"], certified = _certificate(run, certify, artifacts, seed, prompts, settings, budget)
            if judge or labels:
                judged = dict(itertools.islice(talks.items(), conversations)) if judge else talks
                result["agreement"] = _print_agreement(judged, judge, repeats, labels, settings, budget)
        failed = alarmed or not certified
    if out is not None:
        from discover_lib.runs.units import write_json

        write_json(out, result)
    if failed:
        raise typer.Exit(1)


@contextmanager
def _as_usage() -> Iterator[None]:
    """The errors of audit, certificate and labels as the one line that the person sees."""
    from discover_lib.audit.agreement import LabelError
    from discover_lib.audit.certificate import CertificateError
    from discover_lib.engines.llm.calls.records import LLMError

    try:
        yield
    except (CertificateError, LabelError, LLMError) as error:
        raise AuditUsage(str(error)) from None


def _read(run: Path) -> dict[str, Conversation]:
    """The finished conversations of a run, named by their place."""
    from discover_lib.audit.leaks import finished_conversations
    from discover_lib.runs.store import RunStore

    with RunStore.read(run) as store:
        talks = finished_conversations(store)
    if not talks:
        raise AuditUsage(f"{run}: no finished conversation to audit")
    return talks


def _settings(api_base: str | None, key_variable: str | None) -> ClientSettings:
    from discover_lib.engines.llm.calls.client import ClientSettings

    try:
        return ClientSettings(api_base=api_base, key_variable=key_variable)
    except ValueError as error:
        raise AuditUsage(str(error)) from None


# -- leaks ------------------------------------------------------------------------------------------------------------


def _print_leaks(talks: Mapping[str, Conversation]) -> tuple[dict[str, Any], bool]:
    from discover_lib.audit.leaks import audit

    found = audit(talks)
    slight = len(found.findings) - len(found.alarms)
    typer.echo(f"leaks: {found.alarm_rate} user turns raise an alarm, {slight} slight findings; 95 % Wilson interval")
    for each in sorted(found.findings, key=lambda one: one.severity != "alarm")[:FINDINGS_SHOWN]:
        typer.echo(f"  {each.severity}, {each.name}, turn {each.turn}: {each.message}\n    {each.line}")
    if len(found.findings) > FINDINGS_SHOWN:
        typer.echo(f"  and {len(found.findings) - FINDINGS_SHOWN} more (--out writes all)")
    return found.to_dict(), bool(found.alarms)


def _print_corpus() -> dict[str, Any]:
    from discover_lib.audit.corpus import BEYOND, DECOYS, PLANTED, TWIN, CorpusError, load_corpus, score

    try:
        scored = score(load_corpus())
    except CorpusError as error:
        raise AuditUsage(str(error)) from None
    typer.echo(f"planted leaks: precision {scored.precision}, recall {scored.recall}; 95 % Wilson intervals")
    kinds = (*PLANTED, *BEYOND, *DECOYS, TWIN)
    _table(
        "alarms by what was put into a message",
        ("kind", "a leak?", "alarm", "any finding"),
        (
            (
                kind,
                "no" if kind not in PLANTED + BEYOND else "yes, counted apart" if kind in BEYOND else "yes",
                str(scored.alarmed((kind,))),
                str(scored.noticed((kind,))),
            )
            for kind in kinds
        ),
    )
    return {
        "precision": vars(scored.precision),
        "recall": vars(scored.recall),
        "by_kind": {kind: vars(scored.alarmed((kind,))) for kind in kinds},
    }


# -- the certificate --------------------------------------------------------------------------------------------------


def _certificate(
    run: Path,
    certify: bool,
    artifacts: int | None,
    seed: int,
    prompts: Path | None,
    settings: ClientSettings,
    budget: float | None,
) -> tuple[dict[str, Any] | None, bool]:
    """The run's certificate, made now if asked for, printed; and whether there is nothing to hold against the run."""
    from discover_lib.audit.certificate import (
        ARTIFACTS,
        certificate_warning,
        certify_run,
        lay_out_panel,
        read_certificate,
    )
    from discover_lib.runs.plan import plan_run

    if certify:
        panel = lay_out_panel(run, artifacts=artifacts or ARTIFACTS, seed=seed, prompts=prompts)
        if panel.models:
            plan = plan_run(panel, settings=settings, concurrency=IN_FLIGHT)
            unpriced = f" and what {', '.join(plan.unpriced)} costs" if plan.unpriced else ""
            typer.echo(
                f"the panel: {plan.conversations} conversations, {plan.calls.expected:,.0f} calls "
                f"({plan.calls.low:,.0f} to {plan.calls.high:,.0f}), ${plan.cost.expected:.2f} "
                f"({plan.cost.low:.2f} to {plan.cost.high:.2f}){unpriced}"
            )
            if budget is None:
                raise AuditUsage("nothing was spent; give --budget to run the panel, --artifacts for a smaller one")
        certify_run(run, panel, concurrency=IN_FLIGHT if panel.models else 1, settings=settings, budget_dollars=budget)
    warning = certificate_warning(run)
    found = None if warning and warning.startswith("No certificate") else read_certificate(run)
    if found is not None:
        rows = ((each.relation.text, each.holds, str(each.difference)) for each in found.tested)
        title = f"the panel, n = {found.artifacts} artifacts: paired differences of the share discovered"
        _table(title, ("relation", "", "difference"), rows)
    typer.echo(warning or f"certified: {found.line if found else ''}")
    return (found.to_dict() if found else None), warning is None


# -- agreement --------------------------------------------------------------------------------------------------------


def _print_agreement(
    talks: Mapping[str, Conversation],
    names: Sequence[str],
    repeats: int,
    files: Sequence[Path],
    settings: ClientSettings,
    budget: float | None,
) -> dict[str, Any]:
    from discover_lib.audit.agreement import (
        Agreement,
        agreements,
        disagreements,
        flips,
        moments_of,
        read_labels,
        recorded_labels,
    )

    labels: list[Label] = recorded_labels(talks)
    moments = moments_of(talks)
    for path in files:
        labels += read_labels(path, moments)
    labels += _asked(talks, names, repeats, settings, budget)
    found, changed, disputed = agreements(labels), flips(labels), disagreements(labels)
    title = "agreement of first answers; 95 % intervals bootstrapped over conversations"
    _table(title, Agreement.COLUMNS, (each.row() for each in found))
    for flip in changed:
        typer.echo(f"{flip.judge}, asked {flip.repeats} times, said something else than first: {flip.share}")
    typer.echo(f"{len(disputed)} disagreements" + (", for example:" if disputed else ""))
    for each in disputed[:FINDINGS_SHOWN]:
        typer.echo(f"  {each.conversation}, turn {each.turn}, {each.line}")
    return {
        "agreement": [dict(zip(Agreement.COLUMNS, each.row(), strict=True)) for each in found],
        "flips": [{"judge": each.judge, "repeats": each.repeats, **vars(each.share)} for each in changed],
        "disagreements": [
            {
                "conversation": each.conversation,
                "turn": each.turn,
                "intent": each.intent,
                "labels": [vars(label) for label in each.labels],
            }
            for each in disputed
        ],
    }


def _asked(
    talks: Mapping[str, Conversation],
    names: Sequence[str],
    repeats: int,
    settings: ClientSettings,
    budget: float | None,
) -> list[Label]:
    """What the judges of these names say, domain by domain; models only within a budget."""
    from discover_lib.audit.agreement import ask_judges, moments_of
    from discover_lib.engines.spec import MINIATURE
    from discover_lib.runs.options import is_model

    by_domain: dict[str, list[Moment]] = {}
    for name, talk in talks.items():
        by_domain.setdefault(talk.setting.get("domain") or "", []).extend(moments_of({name: talk}))
    models = [name for name in names if name != MINIATURE]
    for name in models:
        if not is_model(name):
            raise AuditUsage(f"unknown judge {name!r}; give 'miniature' or a LiteLLM model name such as openai/NAME")
    calls = len(models) * repeats * sum(map(len, by_domain.values()))
    if models and budget is None:
        raise AuditUsage(
            f"{calls:,} calls to {', '.join(models)} would be made; give --budget to make them, "
            "--conversations for fewer"
        )
    if MINIATURE in names and "" in by_domain:
        raise AuditUsage("the miniature cannot judge artifacts outside its domains; name a model with --judge")
    with _client(settings, budget if models else None) as client:
        found: list[Label] = []
        for domain, moments in by_domain.items():
            judges = {name: _factory(name, domain, client) for name in names}
            found += ask_judges(moments, judges, repeats)
        return found


def _factory(name: str, domain: str, client: LLMClient | None) -> JudgeFactory:
    from discover_lib.engines.spec import EngineSpec, RoleEngines

    return lambda repeat: RoleEngines(EngineSpec(judge=name), client).judge(domain)


@contextmanager
def _client(settings: ClientSettings, budget: float | None) -> Iterator[LLMClient | None]:
    """A client without a cache, so that every repeat is really asked; None where nothing may be spent."""
    if budget is None:
        yield None
        return
    from discover_lib.engines.llm.calls.client import Budget, LLMClient

    with LLMClient(settings, budget=Budget(budget)) as client:
        yield client


def _write_sheet(talks: Mapping[str, Conversation], path: Path) -> None:
    from discover_lib.audit.agreement import moments_of, write_label_sheet

    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            rows = write_label_sheet(moments_of(talks), file)
    except OSError as error:
        raise AuditUsage(f"{path}: cannot be written ({error.strerror or error})") from None
    typer.echo(f"{rows} things to label in {len(talks)} conversations → {path}; read them back with --labels")


# -- the paper --------------------------------------------------------------------------------------------------------


def paper(
    everything: Annotated[
        bool, typer.Option("--all", help="The figures that follow, too, and what is derived.")
    ] = False,
) -> None:
    """The paper's printed figures, recomputed from each other: which follow and which do not."""
    from discover_lib.audit.tables import CHECK_COLUMNS, derived, does_not_follow, paper_checks

    checks = paper_checks()
    shown = [each for each in checks if everything or each.verdict != "follows"]
    _table("printed in the paper, recomputed from its other figures", CHECK_COLUMNS, (each.row() for each in shown))
    left = sum(each.verdict == "left open" for each in checks)
    bad = len(does_not_follow())
    typer.echo(f"{len(checks)} figures: {len(checks) - left - bad} follow, {bad} do not, {left} are left open")
    if everything:
        rows = (each.row() for each in derived())
        _table("what follows although it is not printed", ("table", "figure", "value", "how"), rows)


def _table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for name in head:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*row)
    # A pipe has no width of its own; tables then need room rather than the 80 columns that rich assumes.
    Console(highlight=False, width=None if sys.stdout.isatty() else 160).print(table)
