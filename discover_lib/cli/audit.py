"""`discover audit` and `discover paper`: can a run's simulated user be trusted, and do the paper's figures follow?

Registered in `discover_lib.cli.main`, which turns the errors that a person can mend into one line.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from discover_lib.audit.agreement import (
    ENOUGH,
    Agreement,
    JudgeFactory,
    Label,
    Moment,
    agreements,
    ask_judges,
    disagreements,
    flips,
    moments_of,
    read_labels,
    recorded_labels,
    write_label_sheet,
)
from discover_lib.audit.certificate import ARTIFACTS, certificate_warning, certify_run, lay_out_panel, trust_in
from discover_lib.audit.corpus import BEYOND, DECOYS, PLANTED, TWIN, load_corpus, score
from discover_lib.audit.failures import failures_of_run, overruled_in
from discover_lib.audit.leaks import UNREAD, audit, finished_conversations
from discover_lib.audit.refused import refusals, refused_in
from discover_lib.audit.tables import CHECK_COLUMNS, derived, does_not_follow, not_at_hand, paper_checks
from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import write_json
from discover_lib.base.words import counted
from discover_lib.cli.common import (
    ALARM,
    DONE,
    UNFINISHED,
    ApiBase,
    ModelFlags,
    Prices,
    client_settings,
    console,
    one_line,
    with_flags,
    writable_file,
)
from discover_lib.core.conversation import Conversation
from discover_lib.engines.llm.calls.client import Budget, ClientSettings, LLMClient
from discover_lib.engines.options import RoleOptions
from discover_lib.engines.spec import MINIATURE, EngineSpec, RoleEngines
from discover_lib.metrics.intervals import INTERVAL
from discover_lib.metrics.near_misses import NEAR_MISS_COLUMNS, near_misses_of, suspects, worst_turns
from discover_lib.metrics.scores import leaked
from discover_lib.runs.calls import Spent
from discover_lib.runs.digests import stored_scores
from discover_lib.runs.options import check_prices, is_model, unpriced
from discover_lib.runs.outcomes import Outcomes, cost_line
from discover_lib.runs.plan import plan_run
from discover_lib.runs.store import RunStore

FINDINGS_SHOWN = 10
FARMED_SHOWN = 3
EXCERPT = 200  # characters of an answer
JUDGED = 40  # conversations that further judges are asked about, unless told otherwise
IN_FLIGHT = 16  # conversations with language models at a time


@dataclass(frozen=True, kw_only=True)
class AuditFlags(ModelFlags):
    run: Annotated[Path | None, typer.Argument(help="A run's folder.")] = None
    corpus: Annotated[bool, typer.Option("--corpus", help="How good the leak audit is, on planted leaks.")] = False
    certify: Annotated[bool, typer.Option("--certify", help="Run the scripted panel with this run's user.")] = False
    artifacts: Annotated[int | None, typer.Option(min=1, help="Artifacts for the panel.")] = None
    seed: Annotated[int, typer.Option(help="Seed of the panel.")] = 0
    judge: Annotated[
        list[str], typer.Option(help="Judge the turns again with 'miniature' or a LiteLLM model; repeatable.")
    ] = field(default_factory=list)
    repeats: Annotated[
        int, typer.Option(min=1, help="Ask each --judge this many times and count how often its answer changes.")
    ] = 1
    conversations: Annotated[int, typer.Option(min=1, help="Conversations for --judge and --label-sheet, at most.")] = (
        JUDGED
    )
    labels: Annotated[list[Path], typer.Option(help="CSV of labels by people; repeatable.")] = field(
        default_factory=list
    )
    label_sheet: Annotated[Path | None, typer.Option(help="Write a CSV for people to fill in, and stop.")] = None
    out: Annotated[Path | None, typer.Option(help="Write everything found as JSON.")] = None
    budget: Annotated[float | None, typer.Option(min=0, help="Dollars; needed to call language models.")] = None
    prompts: Annotated[Path | None, typer.Option(help="The folder of prompts that the run was made with.")] = None
    api_base: ApiBase = None
    key_variable: Annotated[str | None, typer.Option(help="Environment variable with that server's key.")] = None
    prices: Prices = None

    @property
    def settings(self) -> ClientSettings:
        return client_settings(self.api_base, self.prices, key_variable=self.key_variable)


@with_flags(AuditFlags)
def audit_run(flags: AuditFlags) -> None:
    """Leaks in a run's user turns, its certificate, and how far judges agree. Exit 1: not certified, 5: an alarm."""
    flags.role_options.check_names(())
    if flags.run is None and not flags.corpus:
        raise DiscoverError("give a run's folder, or --corpus")
    talks = _read(flags.run) if flags.run is not None else {}
    if flags.out is not None:
        writable_file(flags.out)  # before a judge is paid
    result: dict[str, Any] = {}
    code = DONE
    if flags.corpus:
        result["corpus"] = _print_corpus()
    if flags.run is not None:
        if not talks:
            result["failures"] = _print_only_failures(flags.run)
            if flags.out is not None:
                write_json(flags.out, result)
            raise typer.Exit(UNFINISHED)
        few = dict(itertools.islice(talks.items(), flags.conversations))
        if flags.label_sheet is not None:
            _write_sheet(few, flags.label_sheet)
            return
        result["leaks"], alarmed = _print_leaks(talks)
        result["refused"] = _print_refused(flags.run, talks)
        result["failures"], result["near misses"] = _print_failures(flags.run), _print_near_misses(flags.run)
        result["certificate"], certified = _certificate(flags.run, flags)
        if flags.judge or flags.labels:
            result["agreement"] = _print_agreement(flags.run, few if flags.judge else talks, flags)
        code = ALARM if alarmed else DONE if certified else UNFINISHED
    if flags.out is not None:
        write_json(flags.out, result)
    raise typer.Exit(code)


def _read(run: Path) -> dict[str, Conversation]:
    """The finished conversations of a run, named by their place."""
    with RunStore.read(run) as store:
        return finished_conversations(store)


def _print_only_failures(run: Path) -> dict[str, Any]:
    """What went wrong in a run of which nothing was finished.

    Raises:
        DiscoverError: nothing went wrong either.
    """
    with RunStore.read(run) as store:
        if not store.failures(retried=True):
            raise DiscoverError(f"{run}: no finished conversation to audit; resume the run first")
    typer.echo("no conversation is finished: there is nothing to audit but what went wrong")
    return _print_failures(run)


# -- leaks ------------------------------------------------------------------------------------------------------------


def _print_leaks(talks: Mapping[str, Conversation]) -> tuple[dict[str, Any], bool]:
    leaks = audit(talks)
    slight = len(leaks.findings) - len(leaks.alarms)
    if leaks.turns or not leaks.unchecked:
        typer.echo(
            f"leaks: {leaks.alarm_rate} user turns raise an alarm, {slight} slight findings; 95 % Wilson interval"
        )
    if leaks.unchecked:
        typer.echo(f"leaks: {UNREAD.format(counted(leaks.unchecked, 'user turn'))}")
    for finding in sorted(leaks.findings, key=lambda one: one.severity != "alarm")[:FINDINGS_SHOWN]:
        typer.echo(f"  {finding.severity}, {finding.name}, turn {finding.turn}: {finding.message}\n    {finding.line}")
    if len(leaks.findings) > FINDINGS_SHOWN:
        typer.echo(f"  and {len(leaks.findings) - FINDINGS_SHOWN} more (--out writes all)")
    beyond = [(name, turn) for name, talk in talks.items() for turn in talk.turns if leaked(turn) and not turn.leaks]
    if beyond:
        what = f"{counted(len(beyond), 'more message')} that the voice’s own check calls a leak, beyond words"
        typer.echo(f"  {what}: " + ", ".join(f"{name} turn {turn.index}" for name, turn in beyond[:FINDINGS_SHOWN]))
    return leaks.to_dict(), bool(leaks.alarms)


def _print_refused(run: Path, talks: Mapping[str, Conversation]) -> list[dict[str, Any]]:
    """On which checks the user's messages stand, and which were refused before they were said."""
    with RunStore.read(run) as store:
        checker, again = store.configuration.get("leak_check"), refusals(store)
    read_by = f"{checker} read each message for paraphrases, too" if checker else "no model read for paraphrases"
    typer.echo(f"  these are leaks by the rule about words; {read_by}")
    refused = {name: messages for name, talk in talks.items() if (messages := refused_in(talk, again))}
    if refused:
        checks = Counter(each.check for messages in refused.values() for each in messages)
        by_check = ", ".join(f"{check} {count}" for check, count in checks.most_common())
        typer.echo(f"{counted(checks.total(), 'message')} refused and asked for again ({by_check})")
    lines = [f"  {name}, {each.line}" for name, messages in refused.items() for each in messages]
    for line in lines[:FINDINGS_SHOWN]:
        typer.echo(line)
    return [{"conversation": name, **each.to_dict()} for name, messages in refused.items() for each in messages]


def _print_failures(run: Path) -> dict[str, Any]:
    with RunStore.read(run) as store:
        failures = failures_of_run(store)
    typer.echo(failures.line)
    if failures.outcomes.line:
        typer.echo(failures.outcomes.line)
    for each in failures.examples:
        typer.echo(f"  {each.what}, {each.where}: {one_line(each.line)}")
        for text in each.came_back[-1:]:
            typer.echo(f"    came back: {one_line(text)[:EXCERPT]}")
    return failures.to_dict()


def _print_near_misses(run: Path) -> dict[str, Any]:
    """How much of what was discovered came by near misses, by assistant, with the worst turns."""
    with RunStore.read(run) as store:
        scores = list(stored_scores(store))
        suspected = suspects(scores, FINDINGS_SHOWN)
        turns = worst_turns(((place, store.conversation(place)) for place in suspected), FARMED_SHOWN)
    shares = near_misses_of(scores)
    title = f"steps of discovery that near misses made; {INTERVAL}"
    _table(title, NEAR_MISS_COLUMNS, (each.row() for each in shares))
    for turn in turns:
        typer.echo(f"  most by near misses: {turn.line}")
    return {"assistants": [each.to_dict() for each in shares], "turns": [each.to_dict() for each in turns]}


def _print_corpus() -> dict[str, Any]:
    scored = score(load_corpus())
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


def _certificate(run: Path, flags: AuditFlags) -> tuple[dict[str, Any] | None, bool]:
    """The run's certificate, made now if asked for, printed; and whether there is nothing to hold against the run."""
    settings, budget = flags.settings, flags.budget
    if flags.certify:
        panel = lay_out_panel(run, artifacts=flags.artifacts or ARTIFACTS, seed=flags.seed, prompts=flags.prompts)
        if panel.models:
            plan = plan_run(panel, settings=settings, concurrency=IN_FLIGHT)
            cost = f"${plan.cost.expected:.2f} ({plan.cost.low:.2f} to {plan.cost.high:.2f})"
            unknown = f"what {', '.join(plan.unpriced)} costs (unknown: see --prices)" if plan.unpriced else ""
            typer.echo(
                f"the panel: {plan.conversations} conversations, {plan.calls.expected:,.0f} calls "
                f"({plan.calls.low:,.0f} to {plan.calls.high:,.0f}), "
                + " and ".join(filter(None, (cost if plan.cost.high or not unknown else "", unknown)))
            )
            if budget is None:
                how = _how_to_pay(panel.models, settings)
                raise DiscoverError(f"nothing was spent; {how} to run the panel, --artifacts for a smaller one")
            check_prices(panel.models, settings, budget, needed=True)
        certify_run(run, panel, concurrency=IN_FLIGHT if panel.models else 1, settings=settings, budget_dollars=budget)
    warning, trust = certificate_warning(run), trust_in(run)
    for certificate in trust.certificates:
        rows = (
            (each.relation.text, each.holds, "reported" if each.relation.reported else "required", str(each.difference))
            for each in (*certificate.required, *certificate.reported)
        )
        where = f" ({', '.join(certificate.domains)})" if len(trust.certificates) > 1 else ""
        title = f"the panel{where}, n = {certificate.artifacts} artifacts: paired differences of the share discovered"
        _table(title, ("relation", "", "", "difference"), rows)
    typer.echo(warning or f"certified: {trust.line}")
    made = [certificate.to_dict() for certificate in trust.certificates]
    return (made[0] if len(made) == 1 else {"certificates": made} if made else None), warning is None


# -- agreement --------------------------------------------------------------------------------------------------------


def _print_agreement(run: Path, talks: Mapping[str, Conversation], flags: AuditFlags) -> dict[str, Any]:
    with RunStore.read(run) as store:
        labels: list[Label] = recorded_labels(talks, overruled=overruled_in(store))
    moments = moments_of(talks)
    for path in flags.labels:
        labels += read_labels(path, moments)
    labels += _labels_of_judges(talks, flags)
    measured, changed, disputed = agreements(labels), flips(labels), disagreements(labels)
    contradicted = [label for label in labels if label.said is not None]
    title = "agreement of first answers; 95 % intervals bootstrapped over conversations"
    _table(title, Agreement.COLUMNS, (each.row() for each in measured))
    if few := ", ".join(dict.fromkeys(f"{each.group} (n = {each.n})" for each in measured if each.too_few)):
        typer.echo(f"too few to tell how far judges agree (under {ENOUGH} things, or one conversation alone): {few}")
    if contradicted:
        typer.echo(f"{counted(len(contradicted), 'verdict')} contradicted by the same answer, not counted as said:")
    for label in contradicted[:FINDINGS_SHOWN]:
        where = f"{label.conversation}, turn {label.turn}, [{label.intent}]"
        typer.echo(f"  {where}: {label.judge} said missed ({label.said}), read as met ({label.reason})")
    for flip in changed:
        typer.echo(f"{flip.judge}, asked {flip.repeats} times, changed its first answer: {flip.share}")
    typer.echo(counted(len(disputed), "disagreement") + (", for example:" if disputed else ""))
    for dispute in disputed[:FINDINGS_SHOWN]:
        typer.echo(f"  {dispute.conversation}, turn {dispute.turn}, {dispute.line}")
    return {
        "agreement": [dict(zip(Agreement.COLUMNS, each.row(), strict=True)) for each in measured],
        "contradicted": [vars(label) for label in contradicted],
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


def _labels_of_judges(talks: Mapping[str, Conversation], flags: AuditFlags) -> list[Label]:
    """What the judges of these names say, domain by domain; models only within a budget."""
    names, repeats, budget, options = flags.judge, flags.repeats, flags.budget, flags.role_options
    by_domain: dict[str, list[Moment]] = {}
    for name, talk in talks.items():
        by_domain.setdefault(talk.setting.get("domain") or "", []).extend(moments_of({name: talk}))
    models = [name for name in names if name != MINIATURE]
    for name in models:
        if not is_model(name):
            raise DiscoverError(f"unknown judge {name!r}; give 'miniature' or a LiteLLM model name such as openai/NAME")
    calls = len(models) * repeats * sum(map(len, by_domain.values()))
    if models and budget is None:
        raise DiscoverError(
            f"{calls:,} calls to {', '.join(models)} would be made; {_how_to_pay(models, flags.settings)} "
            "to make them, --conversations for fewer"
        )
    if MINIATURE in names and "" in by_domain:
        raise DiscoverError("the miniature cannot judge artifacts outside its domains; name a model with --judge")
    check_prices(models, flags.settings, budget, needed=True)
    with _client(flags.settings, budget if models else None) as client:
        labels: list[Label] = []
        for domain, moments in by_domain.items():
            judges = {name: _factory(name, domain, client, options) for name in names}
            labels += ask_judges(moments, judges, repeats)
        if client is not None and (said := Outcomes.of_usage(client.usage)).line:
            spent = client.usage.total
            cost = Spent(
                spent.calls,
                spent.attempts,
                spent.prompt_tokens,
                spent.completion_tokens,
                spent.cost,
                spent.calls_of_unknown_price,
            )
            typer.echo(f"asked now: {cost_line(cost)}; {said.line}")
        return labels


def _how_to_pay(models: Sequence[str], settings: ClientSettings) -> str:
    """What has to be given for models to be asked."""
    unknown = ", ".join(unpriced(models, settings))
    prices = f" and --prices FILE with the price of {unknown} (0 for your own machine; docs/commands.md)"
    return f"give --budget DOLLARS{prices if unknown else ''}"


def _factory(name: str, domain: str, client: LLMClient | None, options: RoleOptions) -> JudgeFactory:
    return lambda repeat: RoleEngines(EngineSpec(judge=name, options=options), client).judge(domain)


@contextmanager
def _client(settings: ClientSettings, budget: float | None) -> Iterator[LLMClient | None]:
    """A client without a cache, so that every repeat is really asked; None where nothing may be spent."""
    if budget is None:
        yield None
        return
    with LLMClient(settings, budget=Budget(budget)) as client:
        yield client


def _write_sheet(talks: Mapping[str, Conversation], path: Path) -> None:
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            rows = write_label_sheet(moments_of(talks), file)
    except OSError as error:
        raise DiscoverError(f"{path}: cannot be written ({error.strerror or error})") from None
    typer.echo(f"{rows} things to label in {len(talks)} conversations → {path}; read them back with --labels")


# -- the paper --------------------------------------------------------------------------------------------------------


def paper(
    everything: Annotated[
        bool, typer.Option("--all", help="The figures that follow, too, and what is derived.")
    ] = False,
) -> None:
    """The paper's printed figures, recomputed from each other: which follow and which do not."""
    checks = paper_checks()
    shown = [each for each in checks if everything or each.verdict != "follows"]
    _table("printed in the paper, recomputed from its other figures", CHECK_COLUMNS, (each.row() for each in shown))
    left = sum(each.verdict == "left open" for each in checks)
    bad = len(does_not_follow())
    typer.echo(f"{len(checks)} figures: {len(checks) - left - bad} follow, {bad} do not, {left} are left open")
    for line in not_at_hand():
        typer.echo(line)
    if everything:
        rows = (each.row() for each in derived())
        _table("what follows although it is not printed", ("table", "figure", "value", "how"), rows)


def _table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    table = Table(title=title, title_justify="left")
    for name in head:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*row)
    console().print(table, highlight=False)
