"""The `discover` command: everything that a notebook does at length, with the same result."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, ParamSpec, TypeVar

import typer

from discover_lib.app.cli import audit as cli_audit
from discover_lib.app.cli import evaluate as cli_evaluate
from discover_lib.app.cli import paper as cli_miniature
from discover_lib.app.cli import train as cli_train
from discover_lib.base.paths import outputs_folder

if TYPE_CHECKING:
    from rich.console import Console

    from discover_lib.core.conversation import Artifact, Conversation, Turn
    from discover_lib.core.intents import IntentTree
    from discover_lib.core.rules import Rules
    from discover_lib.dataset.export import RowSet
    from discover_lib.engines.llm.calls.client import ClientSettings
    from discover_lib.metrics.summary import Summary
    from discover_lib.runs.options import LaidOut, RunOptions
    from discover_lib.runs.plan import Length, Plan, Span
    from discover_lib.runs.runner import Progress as RunProgress
    from discover_lib.runs.runner import Report, Snapshot
    from discover_lib.runs.store import Spent

P = ParamSpec("P")
T = TypeVar("T")

app = typer.Typer(
    name="discover",
    help="See, run and train intent discovery.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

USAGE_ERROR = 2
DEFAULT_IN_FLIGHT = 64  # conversations with language models at a time


class SplitName(StrEnum):
    """Which of the generated artifacts."""

    train = "train"
    eval = "eval"


class PlannedFor(StrEnum):
    """Commands whose runs can be planned."""

    simulate = "simulate"
    synthesize = "synthesize"
    evaluate = "evaluate"


class Usage(Exception):
    """What was asked for cannot be done as asked; the message is the one line that the person sees."""


class RulesName(StrEnum):
    """Rules that a command can be run under."""

    paper = "paper"
    authors = "authors"


def main() -> None:
    """Entry point."""
    app()


def one_line_errors(command: Callable[P, T]) -> Callable[P, T]:
    """Turn the errors that a person can mend into one line and exit code 2."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        from discover_lib.app.serve import ServeError
        from discover_lib.core.intents import TreeError
        from discover_lib.core.roles import BuildError
        from discover_lib.dataset.formats import FormatError
        from discover_lib.dataset.pairs import DatasetError
        from discover_lib.engines.llm.calls.prices import PriceFileError
        from discover_lib.engines.llm.prompting import PromptError
        from discover_lib.engines.miniature.lexicon import LexiconError
        from discover_lib.runs.files import ArtifactFileError
        from discover_lib.runs.options import RunOptionsError
        from discover_lib.runs.runner import RunError
        from discover_lib.runs.store import StoreError

        inputs = (
            Usage,
            ArtifactFileError,
            FormatError,
            TreeError,
            LexiconError,
            BuildError,
            PriceFileError,
            PromptError,
        )
        try:
            return command(*args, **kwargs)
        except (
            *inputs,
            cli_audit.AuditUsage,
            cli_train.JobError,
            cli_miniature.MiniatureUsage,
            RunOptionsError,
            RunError,
            StoreError,
            DatasetError,
            ServeError,
        ) as error:
            fail(str(error))
        except KeyboardInterrupt:
            typer.echo("stopped", err=True)
            raise typer.Exit(130) from None

    return run


def fail(message: str) -> NoReturn:
    typer.echo(f"discover: {' '.join(message.split())}", err=True)
    raise typer.Exit(USAGE_ERROR)


Seed = Annotated[int, typer.Option(help="Same seed, same result.")]
Domain = Annotated[
    str,
    typer.Option(
        help="svg_drawing, creative_writing, technical_writing; unseen by every setting: travel_plan, dataviz_code, "
        "paper_abstract, image_prompt, web_component."
    ),
]

# What `simulate`, `synthesize` and `plan` share.
Assistants = Annotated[
    list[str], typer.Option(help="A scripted assistant, or a LiteLLM model as MODEL or MODEL+STYLE; repeatable.")
]
OfDomain = Annotated[str | None, typer.Option(help="Generated artifacts of this domain.")]
Trees = Annotated[Path | None, typer.Option(help="A folder of trees (JSON), instead of generated ones.")]
WhoPlays = Annotated[str, typer.Option(help="Who judges and speaks for the user: miniature, or a LiteLLM model.")]
WhoElse = Annotated[str | None, typer.Option(help="Another than the engine for this role.")]
Artifacts = Annotated[int, typer.Option(min=1, help="How many artifacts.")]
Trials = Annotated[int, typer.Option(min=1, help="Conversations per assistant and artifact.")]
Turns = Annotated[int, typer.Option(min=1, max=50)]
Candidates = Annotated[
    int | None, typer.Option(min=1, help="All assistants answer every turn, each so often; the best goes on.")
]
LookAheadTurns = Annotated[
    int, typer.Option(min=0, max=20, help="Reward candidates for so many turns more, played by --reward-assistant.")
]
RewardAssistant = Annotated[str, typer.Option(help="The assistant that plays the look-ahead.")]
OfSplit = Annotated[SplitName, typer.Option(help="Generated artifacts to train on, or those kept to evaluate on.")]
Prompts = Annotated[Path | None, typer.Option(help="A folder of prompts in place of ours.")]
Concurrency = Annotated[
    int | None, typer.Option(min=1, help="Processes (miniature, default 1), or conversations in flight (default 64).")
]
ApiBase = Annotated[str | None, typer.Option(help="An OpenAI-compatible server, for models named openai/NAME.")]
KeyVariable = Annotated[str | None, typer.Option(help="Environment variable that holds the key for --api-base.")]
PerMinute = Annotated[float | None, typer.Option(min=1, help="A limit per provider; calls queue for it.")]
Prices = Annotated[Path | None, typer.Option(help="Own prices (YAML), before LiteLLM's table.")]


@app.command("open")
@one_line_errors
def open_workbench(
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Port on localhost (default: a free one).")] = None,
    edit: Annotated[bool, typer.Option("--edit", help="Open for editing, behind a token.")] = False,
    browser: Annotated[bool, typer.Option(help="Open the browser too.")] = True,
) -> None:
    """Serve the notebooks on localhost."""
    from discover_lib.app.serve import choose_port, notebooks_folder, serve

    notebooks_folder()
    raise typer.Exit(serve(choose_port(port), edit=edit, browser=browser))


@app.command()
@one_line_errors
def doctor(
    engine: WhoPlays = "miniature",
    judge: WhoElse = None,
    voice: WhoElse = None,
    assistant: WhoElse = None,
    backend: Annotated[str, typer.Option(help="auto, unsloth or transformers.")] = "auto",
    api_base: ApiBase = None,
    key_variable: KeyVariable = None,
) -> None:
    """Say what this machine has, and whether what is chosen can work on it.

    Every language model that is named is asked for one word.
    """
    from rich.markup import escape
    from rich.table import Table

    from discover_lib.engines.llm.calls.client import ClientSettings
    from discover_lib.runs.doctor import examine

    try:
        settings = ClientSettings(api_base=api_base, key_variable=key_variable)
    except ValueError as error:
        raise Usage(str(error)) from None
    roles = {role: who for role, who in (("judge", judge), ("voice", voice), ("assistant", assistant)) if who}
    findings = examine(engine, backend, roles=roles, settings=settings)
    table = Table(box=None, show_header=False)
    for finding in findings:
        mark = "[bold red]✗[/]" if finding.problem else ("[green]✓[/]" if finding.present else "·")
        table.add_row(mark, finding.topic, escape(finding.text))
    _console().print(table)
    if any(finding.problem for finding in findings):
        raise typer.Exit(1)


@app.command()
@one_line_errors
def demo(
    domain: Domain = "svg_drawing",
    seed: Seed = 0,
    assistant: Annotated[str, typer.Option(help="A scripted assistant.")] = "adaptive",
    rules: RulesName = RulesName.paper,
    turns: Annotated[int, typer.Option(min=1, max=50)] = 5,
    out: Annotated[Path | None, typer.Option(help="Folder for demo.html and demo.json.")] = None,
) -> None:
    """Run one conversation end to end, print it turn by turn, and save it as a page to scrub through."""
    from discover_lib.core.rollout import run_conversation
    from discover_lib.engines.miniature import engine
    from discover_lib.engines.miniature.artifacts import SPLIT_SIZES, generate_artifact
    from discover_lib.runs.units import write_json
    from discover_lib.views.pages import demo_page

    folder = _writable(out or outputs_folder() / "demo")
    chosen = _scripted([assistant], domain)[0]
    user = engine(domain)
    artifact = generate_artifact(domain, "eval", seed % SPLIT_SIZES["eval"])
    built = user.builder.build(artifact)
    console = _console()
    _print_opening(console, artifact, built.tree)
    setting = {"engine": "miniature", "domain": domain, "artifact": artifact.id, "assistants": [assistant], "trial": 0}
    conversation = run_conversation(
        built.tree,
        user.judge,
        user.voice,
        [chosen],
        rules=_rules(rules),
        seed=seed,
        turns=turns,
        setting=setting,
        on_turn=lambda turn: _print_turn(console, built.tree, turn),
    )
    _print_ending(console, conversation)
    write_json(folder / "demo.json", {"artifact": artifact.to_dict(), "conversation": conversation.to_dict()})
    page = folder / "demo.html"
    page.write_text(demo_page(conversation, artifact), encoding="utf-8")
    console.print(f"\nsaved {folder / 'demo.json'} and {page} (opens from disk, scrub with the arrow keys)")


@app.command()
@one_line_errors
def build(
    files: Annotated[list[Path], typer.Argument(help="Artifact files.")],
    artifact_type: Annotated[str, typer.Option("--type", help="e.g. 'svg drawing', 'short story'.")],
    engine: Annotated[str, typer.Option(help="What builds: miniature, or a LiteLLM model.")] = "miniature",
    out: Annotated[Path | None, typer.Option(help="Folder for the trees (JSON).")] = None,
    prompts: Prompts = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Artifacts at a time, where a model builds.")] = 8,
    budget: Annotated[
        float | None, typer.Option(min=0, help="Dollars for all trees of the folder; stops cleanly.")
    ] = None,
    api_base: ApiBase = None,
    key_variable: KeyVariable = None,
    prices: Prices = None,
) -> None:
    """Build intent trees from artifact files; the same command again goes on, and passes over what is there."""
    from discover_lib.app.cli.build import build_and_tell
    from discover_lib.runs.building import BuildOptions

    folder = _writable(out or outputs_folder() / "trees")
    settings = _client_settings(
        {"assistant": (), "candidates": None, "requests_per_minute": None, "tokens_per_minute": None, **locals()}
    )
    options = BuildOptions(artifact_type, engine, prompts)
    raise typer.Exit(build_and_tell(files, folder, options, settings, budget, concurrency))


@app.command()
@one_line_errors
def simulate(
    run: Annotated[Path, typer.Option(help="Folder of the run; the same command again resumes it.")],
    assistant: Assistants,
    domain: OfDomain = None,
    split: OfSplit = SplitName.eval,
    trees: Trees = None,
    engine: WhoPlays = "miniature",
    judge: WhoElse = None,
    voice: WhoElse = None,
    artifacts: Artifacts = 20,
    trials: Trials = 1,
    turns: Turns = 5,
    candidates: Candidates = None,
    rules: RulesName = RulesName.paper,
    seed: Seed = 0,
    prompts: Prompts = None,
    concurrency: Concurrency = None,
    budget: Annotated[float | None, typer.Option(min=0, help="Dollars for the whole run; stops cleanly.")] = None,
    api_base: ApiBase = None,
    key_variable: KeyVariable = None,
    requests_per_minute: PerMinute = None,
    tokens_per_minute: PerMinute = None,
    prices: Prices = None,
) -> None:
    """Run assistants × artifacts × trials from identical states into a run folder, or go on where it was left."""
    _run(dict(locals()))


@app.command()
@one_line_errors
def synthesize(
    run: Annotated[Path, typer.Option(help="Folder of the run; the same command again resumes it.")],
    assistant: Assistants,
    domain: OfDomain = None,
    split: OfSplit = SplitName.train,
    trees: Trees = None,
    engine: WhoPlays = "miniature",
    judge: WhoElse = None,
    voice: WhoElse = None,
    artifacts: Artifacts = 20,
    trials: Trials = 1,
    turns: Turns = 5,
    candidates: Candidates = None,
    look_ahead: LookAheadTurns = 0,
    reward_assistant: RewardAssistant = "",
    rules: RulesName = RulesName.paper,
    seed: Seed = 0,
    prompts: Prompts = None,
    concurrency: Concurrency = None,
    budget: Annotated[float | None, typer.Option(min=0, help="Dollars for the whole run; stops cleanly.")] = None,
    api_base: ApiBase = None,
    key_variable: KeyVariable = None,
    requests_per_minute: PerMinute = None,
    tokens_per_minute: PerMinute = None,
    prices: Prices = None,
) -> None:
    """Best-of-n conversations: candidates are judged in the same state, the best goes on (options as in simulate)."""
    _run({**locals(), "candidates": _several(len(assistant), candidates)})


@app.command()
@one_line_errors
def evaluate(
    run: Annotated[Path, typer.Option(help="Folder of the run; the same command again resumes it.")],
    assistant: Assistants,
    domain: cli_evaluate.Domains = [],  # noqa: B006 (typer copies it)
    split: OfSplit = SplitName.eval,
    trees: Trees = None,
    engine: WhoPlays = "miniature",
    judge: WhoElse = None,
    voice: WhoElse = None,
    artifacts: Annotated[int, typer.Option(min=1, help="At most so many artifacts of each domain.")] = 100,
    trials: Trials = 3,
    turns: Turns = 5,
    leave_out: cli_evaluate.LeavesLeftOut = cli_evaluate.LeaveOutName.none,
    sensitivity: cli_evaluate.WithSensitivity = False,
    rules: RulesName = RulesName.paper,
    seed: Seed = 0,
    prompts: Prompts = None,
    concurrency: Concurrency = None,
    budget: Annotated[float | None, typer.Option(min=0, help="Dollars for the whole run; stops cleanly.")] = None,
    api_base: ApiBase = None,
    key_variable: KeyVariable = None,
    requests_per_minute: PerMinute = None,
    tokens_per_minute: PerMinute = None,
    prices: Prices = None,
) -> None:
    """Score assistants on artifacts × trials from identical states, with intervals and paired comparisons."""
    _evaluate({**locals(), "domain": None, "candidates": None}, tuple(domain))


@app.command()
@one_line_errors
def plan(
    assistant: Assistants = [],  # noqa: B006 (typer copies it)
    planned_for: Annotated[
        PlannedFor, typer.Option("--for", help="The command to plan: its options, its defaults, its calls.")
    ] = PlannedFor.simulate,
    domain: cli_evaluate.Domains = [],  # noqa: B006
    split: Annotated[SplitName | None, typer.Option(help="As of the command.")] = None,
    trees: Trees = None,
    engine: WhoPlays = "miniature",
    judge: WhoElse = None,
    voice: WhoElse = None,
    builder: Annotated[str | None, typer.Option(help="Count building the trees with this model, too.")] = None,
    paper: Annotated[bool, typer.Option("--paper", help="The paper's own cost accounting, and nothing else.")] = False,
    artifacts: Annotated[int | None, typer.Option(min=1, help="As of the command.")] = None,
    trials: Annotated[int | None, typer.Option(min=1, help="As of the command.")] = None,
    turns: Turns = 5,
    candidates: Candidates = None,
    look_ahead: LookAheadTurns = 0,
    reward_assistant: RewardAssistant = "",
    rules: RulesName = RulesName.paper,
    seed: Seed = 0,
    prompts: Prompts = None,
    concurrency: Concurrency = None,
    like: Annotated[Path | None, typer.Option(help="A run whose measured lengths and times to plan with.")] = None,
    probing: Annotated[
        int, typer.Option("--probe", min=0, help="Have so many conversations of each assistant first; this spends.")
    ] = 0,
    api_base: ApiBase = None,
    key_variable: KeyVariable = None,
    requests_per_minute: PerMinute = None,
    tokens_per_minute: PerMinute = None,
    prices: Prices = None,
) -> None:
    """Calls, tokens, dollars and minutes of a run before anything is spent: simulate's, or that of --for."""
    given = dict(locals())
    if paper:
        _print_paper_accounting()
        return
    if like and probing:
        raise Usage("give --like or --probe: a plan rests on one measurement")
    from discover_lib.runs.plan import measured_lengths, plan_run

    laid_out, settings = _planned(given, tuple(domain)), _client_settings(given)
    at_once = concurrency or (DEFAULT_IN_FLIGHT if laid_out.models else 1)
    measured = measured_lengths(like) if like else _probed(laid_out, probing, settings, at_once) if probing else None
    _print_plan(plan_run(laid_out, settings=settings, concurrency=at_once, builder=builder, measured=measured))


def _planned(given: Mapping[str, Any], domains: tuple[str, ...]) -> LaidOut:
    """The run that the command of that name would begin with these options."""
    from discover_lib.runs.evaluation import lay_out_evaluation
    from discover_lib.runs.options import lay_out

    command = given["planned_for"]
    commands: dict[str, Callable[..., None]] = {"simulate": simulate, "synthesize": synthesize, "evaluate": evaluate}
    theirs = signature(commands[command]).parameters
    given = {**given, **{name: theirs[name].default for name in ("split", "artifacts", "trials") if not given[name]}}
    if command is PlannedFor.evaluate:
        return lay_out_evaluation(_run_options({**given, "domain": None}), domains)
    if len(domains) > 1:
        raise Usage(f"{command} takes one --domain; only an evaluation takes several")
    if command is PlannedFor.synthesize:
        given["candidates"] = _several(len(given["assistant"]), given["candidates"])
    return lay_out(_run_options({**given, "domain": domains[0] if domains else None}))


def _probed(run: LaidOut, conversations: int, settings: ClientSettings, concurrency: int) -> Mapping[str, Length]:
    """What some conversations took when they were really had; says what that cost."""
    from discover_lib.runs.options import check_access
    from discover_lib.runs.plan import probe

    check_access(run, settings)
    typer.echo(f"probing: up to {conversations} conversations of each assistant are had for real", err=True)
    found = probe(run, conversations, settings=settings, concurrency=concurrency)
    typer.echo(f"{found.conversations} conversations, {found.spent.calls} calls, {_spent_line(found.spent)}", err=True)
    return found.lengths


app.command("audit")(one_line_errors(cli_audit.audit_run))
app.command("paper")(one_line_errors(cli_audit.paper))
app.command("train")(one_line_errors(cli_train.train))
app.command("merge")(one_line_errors(cli_train.merge))
app.command("miniature")(one_line_errors(cli_miniature.miniature))


class Foreign(StrEnum):
    """Formats of others that can be read: run files, and dataset rows."""

    authors = "authors"
    authors_rows = "authors-rows"


class Written(StrEnum):
    """What a run can be written as: its conversations (jsonl, parquet, authors), or rows to train on."""

    jsonl = "jsonl"
    parquet = "parquet"
    authors = "authors"
    authors_rows = "authors-rows"
    sft = "sft"
    preference = "preference"
    prompt = "prompt"


class RowFiles(StrEnum):
    """Kinds of files that training rows can be written in."""

    jsonl = "jsonl"
    parquet = "parquet"
    datasets = "datasets"
    sharegpt = "sharegpt"


class TextForm(StrEnum):
    """What assistant turns of training rows hold."""

    content = "content"
    notation = "notation"


@app.command("import")
@one_line_errors
def import_files(
    path: Annotated[Path, typer.Argument(help="A run file, or an output folder of the authors' code.")],
    form: Annotated[Foreign, typer.Option("--format")] = Foreign.authors,
    run: Annotated[Path | None, typer.Option(help="Folder for the run that is made of it.")] = None,
) -> None:
    """Read conversations of the authors' code into a run, to browse and to export."""
    from discover_lib.dataset.authors import NO_VERDICTS, import_run
    from discover_lib.runs.options import write_results

    if form is Foreign.authors_rows:
        _import_rows(path, run or outputs_folder() / f"rows-{path.stem}")
        return
    folder = _writable(run or outputs_folder() / f"imported-{path.stem}")
    count = import_run(path, folder)
    write_results(folder)
    typer.echo(f"{count} conversations → {folder} ({NO_VERDICTS})")


@app.command("export")
@one_line_errors
def export_files(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    form: Annotated[Written, typer.Option("--format")],
    out: Annotated[Path, typer.Option(help="Folder for the files.")],
    files: Annotated[RowFiles, typer.Option(help="Of training rows: the kind of files.")] = RowFiles.jsonl,
    system: Annotated[str, typer.Option(help="Of training rows: none, collaborative, or the text itself.")] = "none",
    text: Annotated[TextForm, typer.Option(help="Of training rows: notation is for a tiny model.")] = TextForm.content,
    tau: Annotated[float | None, typer.Option(min=0, help="Of prompt rows: τ of their users (default 500).")] = None,
    min_margin: Annotated[float, typer.Option(min=0, help="Of pairs: least difference of rewards.")] = 0.0,
    max_similarity: Annotated[float, typer.Option(min=0, help="Of pairs: those at least so alike are dropped.")] = 0.9,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Of training rows: budget of the longest text.")] = None,
    base: Annotated[str | None, typer.Option(help="Count with this base model's tokenizer, if it is here.")] = None,
    leaks: Annotated[bool, typer.Option(help="Keep rows whose user said what they could not know.")] = False,
    test_share: Annotated[float, typer.Option(min=0, max=0.9, help="Artifacts kept for a test split.")] = 0.1,
    seed: Seed = 0,
) -> None:
    """Write a run as files: its conversations, or rows to train on with a card that says what was left out."""
    given = dict(locals())
    if form.value in ("sft", "preference", "prompt"):
        _export_rows(given)
    else:
        _export_conversations(run, form, out)


def _import_rows(path: Path, out: Path) -> None:
    from discover_lib.dataset.authors_rows import row_set_of
    from discover_lib.dataset.export import write_rows

    _writable(out.resolve().parent)
    rows = row_set_of(path)
    write_rows(rows, out)
    _print_rows(rows, out)


def _export_rows(given: Mapping[str, Any]) -> None:
    from discover_lib.base.token_counts import token_count
    from discover_lib.dataset.export import Source, make_rows, write_rows
    from discover_lib.dataset.filters import Filters
    from discover_lib.dataset.rows import GRPO_TAU, RowOptions

    _writable(given["out"].resolve().parent)
    tau = GRPO_TAU if given["tau"] is None else given["tau"]
    share = given["test_share"]
    rows = make_rows(
        given["form"].value,
        [Source.of_run(given["run"])],
        RowOptions(None, given["system"], given["text"].value, tau, token_count(given["base"])),
        Filters(**{name: given[name] for name in ("min_margin", "max_similarity", "max_tokens", "leaks")}),
        shares={"train": 1 - share, "test": share} if share else {"train": 1.0},
        seed=given["seed"],
    )
    write_rows(rows, given["out"], given["files"].value)
    _print_rows(rows, given["out"])


def _print_rows(rows: RowSet, out: Path) -> None:
    splits = ", ".join(f"{len(kept)} to {split}" for split, kept in rows.splits.items())
    dropped = ", ".join(f"{reason} {count}" for reason, count in rows.sieved.counts.items()) or "none"
    typer.echo(f"{len(rows.sieved.kept)} {rows.kind} rows of {rows.sieved.considered} ({splits}) → {out}")
    typer.echo(f"left out: {dropped}")
    if rows.length is not None:
        typer.echo(rows.length.sentence)


def _export_conversations(run: Path, form: Written, out: Path) -> None:
    from discover_lib.dataset.authors import NOT_HELD, export_runs
    from discover_lib.dataset.formats import write_jsonl
    from discover_lib.runs.store import RunStore

    with RunStore.read(run) as store:
        folder = _writable(out)
        if form is Written.authors:
            count = export_runs(folder, store.conversations())
            typer.echo(f"{count} run files → {folder}; their format cannot hold {'; '.join(NOT_HELD)}")
            return
        if form is Written.authors_rows:
            from discover_lib.dataset.authors_rows import rows_of_conversation
            from discover_lib.runs.units import write_lines

            write_lines(
                folder / "rows.jsonl", (row for talk in store.conversations() for row in rows_of_conversation(talk))
            )
            typer.echo(f"{store.counts().finished} conversations → {folder / 'rows.jsonl'}")
            return
        path = folder / f"conversations.{form.value}"
        if form is Written.parquet:
            from discover_lib.dataset.export import write_table

            write_table(path, store.conversations())
        else:
            write_jsonl(path, store.conversations())
        typer.echo(f"{store.counts().finished} conversations → {path}")


def _run(given: Mapping[str, Any]) -> NoReturn:
    """Run what a command was given, print what came out, and leave with the exit code."""
    from discover_lib.runs.options import execute, lay_out, write_results

    options, settings = _run_options(given), _client_settings(given)
    laid_out = lay_out(options)
    folder = _run_folder(given["run"], laid_out, settings)
    with _progress_bar() as progress:
        report = execute(
            laid_out,
            folder,
            concurrency=given["concurrency"] or (DEFAULT_IN_FLIGHT if laid_out.models else 1),
            settings=settings,
            budget_dollars=given["budget"],
            progress=progress,
        )
    summaries = write_results(folder)
    if summaries:
        _print_summary(summaries, laid_out)
    if options.candidates is not None:
        _print_table_3(folder)
    raise typer.Exit(_print_report(report, folder))


def _evaluate(given: Mapping[str, Any], domains: tuple[str, ...]) -> NoReturn:
    """Run and assess what a command was given, print the results, and leave with the exit code."""
    from discover_lib.runs.evaluation import assess, lay_out_evaluation
    from discover_lib.runs.options import execute

    options, settings = _run_options(given), _client_settings(given)
    laid_out = lay_out_evaluation(options, domains)
    folder = _run_folder(given["run"], laid_out, settings)
    how: dict[str, Any] = {
        "concurrency": given["concurrency"] or (DEFAULT_IN_FLIGHT if laid_out.models else 1),
        "settings": settings,
        "budget_dollars": given["budget"],
    }
    with _progress_bar() as progress:
        report = execute(laid_out, folder, progress=progress, **how)
    code = _print_report(report, folder)
    if report.halted is None:
        with cli_evaluate.assessment_bar(_console(stderr=True)) as told:
            ended = assess(laid_out, folder, told=told, **how)
        code = max(code, cli_evaluate.report_assessment(ended))
    if report.last.counts.finished:
        cli_evaluate.report_results(_console(), folder, given["leave_out"].value, sensitivity=given["sensitivity"])
    raise typer.Exit(code)


# -- checks before work starts ------------------------------------------------------------------------------------


def _rules(name: RulesName) -> Rules:
    from discover_lib.core.rules import Rules

    return Rules.named(name.value)


def _scripted(names: Sequence[str], domain: str) -> list[Any]:
    from discover_lib.engines.miniature.assistants import scripted_assistant

    try:
        return [scripted_assistant(name, domain) for name in names]
    except ValueError as error:
        raise Usage(str(error)) from None


def _run_options(given: Mapping[str, Any]) -> RunOptions:
    """What decides a run's results, from the options of a command."""
    from discover_lib.runs.options import RunOptions

    names = ("domain", "trees", "engine", "judge", "voice", "artifacts", "trials", "turns", "candidates", "seed")
    chosen = {name: given[name] for name in (*names, "prompts")} | {"split": given["split"].value}
    chosen |= {name: given[name] for name in ("look_ahead", "reward_assistant") if name in given}
    return RunOptions(tuple(given["assistant"]), rules=_rules(given["rules"]), **chosen)


def _several(assistants: int, candidates: int | None) -> int:
    """Candidates of each assistant in a turn; without any choice there is nothing to be the best of."""
    each = candidates or 1
    if assistants * each < 2:
        raise Usage("the best of one is no choice: give a second --assistant, or --candidates 2 or more")
    return each


def _client_settings(given: Mapping[str, Any]) -> ClientSettings:
    """How language models are reached, from the options of a command."""
    from discover_lib.engines.llm.calls.client import ClientSettings
    from discover_lib.engines.llm.calls.prices import read_prices

    at_once = max(1, len(given["assistant"])) * (given["candidates"] or 1)  # candidates of one conversation
    names = ("api_base", "key_variable", "requests_per_minute", "tokens_per_minute")
    try:
        return ClientSettings(
            **{name: given[name] for name in names},
            concurrency=(given["concurrency"] or DEFAULT_IN_FLIGHT) * at_once,
            prices=read_prices(given["prices"]) if given["prices"] else {},
        )
    except ValueError as error:
        raise Usage(str(error)) from None


def _run_folder(folder: Path, run: LaidOut, settings: ClientSettings) -> Path:
    """The folder of a run.  A new one is made only once every model can be asked; what was begun may be finished."""
    from discover_lib.runs.options import check_access
    from discover_lib.runs.store import FILE

    if not (folder / FILE).exists():
        check_access(run, settings)
    return _writable(folder)


def _writable(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".write-probe"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise Usage(f"{folder}: cannot be written to ({error.strerror or error}); choose another folder") from None
    return folder


# -- printing -----------------------------------------------------------------------------------------------------


def _console(stderr: bool = False) -> Console:
    from rich.console import Console

    # A pipe has no width of its own; tables then need room rather than the 80 columns that rich assumes.
    return Console(stderr=stderr, width=None if sys.stdout.isatty() else 140)


def _print_opening(console: Console, artifact: Artifact, tree: IntentTree) -> None:
    console.print(f"[bold]{artifact.id}[/] · {tree.artifact_type} · {len(tree)} intents in {len(tree.roots)} trees")
    for intent in tree.intents.values():
        mark = "●" if intent.id in tree.initially_discovered else "○"
        console.print(f"  {'   ' * (tree.depth(intent.id) - 1)}{mark} {intent.text}", highlight=False, markup=False)
    console.print(f"\n[cyan]user[/]       {tree.initial_request}", highlight=False)


def _print_turn(console: Console, tree: IntentTree, turn: Turn) -> None:
    reply = turn.reply
    gained = turn.candidate.reward
    assert gained is not None
    console.print(f"\n[bold]turn {turn.index}[/]", highlight=False)
    console.print(f"[magenta]assistant[/]  {reply.notation or reply.text}", highlight=False)
    for transition in turn.candidate.transitions:
        if transition.moved:
            states = f"{transition.before.name.lower()} → {transition.after.name.lower()}"
            how = transition.cause + (
                "" if transition.score is None else f", {transition.score:.2f} > θ {transition.theta:.2f}"
            )
            console.print(f"           ● {tree.text(transition.intent_id)}: {states} ({how})", highlight=False)
        elif transition.satisfied:
            console.print(f"           ✓ {tree.text(transition.intent_id)}: satisfied", highlight=False)
    parts = f"{gained.discovered:+.0f} discovered, {gained.penalty:+.3f} for {gained.n_tokens} tokens"
    console.print(f"           reward {gained.total:+.3f}  ({parts})", highlight=False)
    if turn.user_message is not None:
        console.print(f"[cyan]user[/]       {turn.user_message}", highlight=False)


def _print_ending(console: Console, conversation: Conversation) -> None:
    from discover_lib.metrics.summary import newly_discovered

    hidden = len(conversation.tree) - len(conversation.start.discovered)
    console.print(
        f"\n[bold]{newly_discovered(conversation)} of {hidden}[/] hidden intents discovered in "
        f"{len(conversation.turns)} turns ({conversation.stop}; rules: {conversation.rules.name}; "
        f"tokens are {conversation.turns[0].reply.counting})",
        highlight=False,
    )


@contextmanager
def _progress_bar() -> Iterator[RunProgress]:
    """Draws a run's progress on standard error: how far, how fast, what it cost, what failed."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("conversations  {task.fields[more]}"))
    bar = Progress(*columns, console=_console(stderr=True))

    def show(now: Snapshot) -> None:
        if not bar.tasks:  # drawn only once a run has begun: what is refused before is one line of its own
            bar.add_task("", total=now.counts.units, more="")
            bar.start()
        bar.update(bar.tasks[0].id, completed=now.counts.finished, more=_progress_line(now))

    try:
        yield show
    finally:
        bar.stop()


def _progress_line(now: Snapshot) -> str:
    parts = []
    if now.turns_per_second:
        parts.append(f"{now.turns_per_second:.3g} turns/s")
    if now.seconds_left:
        parts.append(f"{_duration(now.seconds_left)} left")
    if now.spent.calls:
        parts.append(_spent_line(now.spent))
    parts += [f"{count} {role} failures" for role, count in now.failures.items()]
    return ", ".join(parts)


def _spent_line(spent: Spent) -> str:
    """What a run cost, with the calls of unknown price said aloud."""
    known = f"${spent.cost:.4f}"
    return f"{known} + {spent.unpriced} calls of unknown price" if spent.unpriced else known


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.2g} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _print_table_3(folder: Path) -> None:
    """The paper's Table 3 for a run of best-of-n conversations."""
    from rich.table import Table

    from discover_lib.dataset.export import Source
    from discover_lib.dataset.lengths import table_3

    table = Table(box=None, title="candidates", title_justify="left", show_header=False)
    for row in table_3(Source.of_run(folder).conversations).rows():
        table.add_row(*row)
    _console().print(table)


def _print_report(report: Report, folder: Path) -> int:
    """Say how a run ended; returns the exit code."""
    from discover_lib.runs.store import RunStore

    counts, spent = report.last.counts, report.last.spent
    if spent.calls:
        tokens = f"{spent.prompt_tokens:,} + {spent.completion_tokens:,} tokens"
        typer.echo(f"{spent.calls} calls, {tokens}, {_spent_line(spent)}")
    typer.echo(f"{counts.finished} of {counts.units} conversations finished → {folder}")
    if counts.failed:
        roles = ", ".join(f"{count} by the {role}" for role, count in report.last.failures.items())
        typer.echo(f"{counts.failed} failed ({roles}); the same command tries them again", err=True)
        with RunStore.read(folder) as store:
            place, last = store.failures()[-1]
            artifact = store.listing()[place].artifact
        typer.echo(f"for example {artifact}: {' '.join(last.line.split())}", err=True)
    if report.halted is not None:
        why = {"budget": "the budget is spent", "auth": "no access", "failing": "given up"}.get(
            report.halted, report.halted
        )
        detail = f": {' '.join(report.message.split())}" if report.message else ""
        typer.echo(f"{why}{detail}; the same command resumes it", err=True)
        return 130 if report.halted == "stopped" else 1
    return 1 if counts.failed else 0


def _print_summary(summaries: Sequence[Summary], run: LaidOut) -> None:
    from rich.table import Table

    from discover_lib.metrics.summary import Summary
    from discover_lib.runs.plan import within_reach

    artifacts, trials, rules = len(run.trees), run.options.trials, run.options.rules.name
    table = Table(
        title=f"{artifacts} artifacts × {trials} trials, rules: {rules}; 95 % bootstrap over artifacts, trials nested",
        title_justify="left",
    )
    for name in Summary.COLUMNS:
        table.add_column(name, justify="left" if name == "assistant" else "right")
    for each in summaries:
        table.add_row(*each.row())
    _console().print(table)
    typer.echo(within_reach(run))


def _print_plan(plan: Plan) -> None:
    """A plan as a table by stage, low to high, with what it rests on."""
    from rich.table import Table

    console = _console()
    if plan.stages:
        table = Table(title="expected (low–high)", title_justify="left")
        for name in ("stage", "model", "calls", "tokens in", "tokens out", "dollars"):
            table.add_column(name, justify="left" if name in ("stage", "model") else "right")
        for stage in plan.stages:
            into, out = stage.calls * stage.length.prompt, stage.calls * stage.length.completion
            cost = _span(stage.cost, _dollars) if stage.cost else "unknown"
            table.add_row(stage.name, stage.model, _span(stage.calls), _span(into), _span(out), cost)
        console.print(table)
    cost = f"${_span(plan.cost, _dollars)}" + (f" and what {', '.join(plan.unpriced)} costs" if plan.unpriced else "")
    typer.echo(f"{plan.conversations} conversations, {_span(plan.turns)} turns, {_span(plan.calls)} calls, {cost}")
    if plan.minutes.high:
        typer.echo(f"time: {_span(plan.minutes * 60, _duration)}")
    for assumption in plan.assumptions:
        typer.echo(f"  {assumption}")


def _print_paper_accounting() -> None:
    from discover_lib.runs.plan import PAPER_PRINTED, paper_accounting

    tree, talk = paper_accounting()
    for what, accounted in (("tree", tree), ("five turns", talk)):
        for stage in accounted.stages:
            assert stage.cost is not None
            each = f"{stage.length.prompt.expected:,.0f} + {stage.length.completion.expected:,.0f} tokens"
            call = f"{stage.calls.expected:.0f} × {each}"
            typer.echo(f"  {stage.name:26} {stage.model:24} {call:28} ${stage.cost.expected:.4f}")
        typer.echo(f"{what}: ${accounted.cost.expected:.3f} (the paper: ${PAPER_PRINTED[what]})")
    total = tree.cost.expected + talk.cost.expected
    typer.echo(
        f"together: ${total:.3f} (the paper prints ${PAPER_PRINTED['sum']}, which does not follow from its parts)"
    )
    typer.echo(tree.assumptions[0])


def _span(span: Span, shown: Callable[[float], str] | None = None) -> str:
    """ "12k (10k–15k)", or one number where there is nothing between."""
    low, expected, high = map(shown or _short_number, (span.low, span.expected, span.high))
    return expected if low == high else f"{expected} ({low}–{high})"


def _short_number(value: float) -> str:
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if value >= 10 * size or (unit == "M" and value >= size):
            return f"{value / size:.3g}{unit}"
    return f"{value:,.0f}"


def _dollars(value: float) -> str:
    return f"{value:.2f}" if value >= 1 else f"{value:.3g}"
