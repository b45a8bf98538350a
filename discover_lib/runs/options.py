"""A run from what was asked for: checked, laid out in units with their configuration, and executed into a folder.

Commands and notebooks go through `lay_out` and `execute`, so both give the same results and resume each other's runs.
"""

from __future__ import annotations

import dataclasses
import hashlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import write_encoded_lines, write_json
from discover_lib.base.json_text import to_json
from discover_lib.base.words import counted
from discover_lib.core.intents import IntentTree
from discover_lib.core.roles import JudgeError
from discover_lib.core.rollout import MAX_TURNS
from discover_lib.core.rules import Rules
from discover_lib.engines.manner import Manner
from discover_lib.engines.options import NO_OPTIONS, RoleOptions
from discover_lib.engines.spec import EDITION, MINIATURE, EngineSpec, RoleEngines, asked_assistants, local_models
from discover_lib.metrics.ceiling import mean_ceiling
from discover_lib.metrics.intervals import percent
from discover_lib.metrics.satisfaction import request_named
from discover_lib.metrics.summary import Summary, summarise
from discover_lib.runs.cluster import Cluster
from discover_lib.runs.digests import stored_scores
from discover_lib.runs.files import ArtifactFileError, domain_of_type, load_tree, tree_files
from discover_lib.runs.runner import Progress, Report, run_groups_in_processes, run_in_processes, run_in_threads
from discover_lib.runs.store import RUN_FORMAT, RunStore
from discover_lib.runs.units import Unit, plan_units

if TYPE_CHECKING:
    from discover_lib.engines.llm.calls.client import ClientSettings
    from discover_lib.engines.llm.prompting import PromptSet

LOCAL_IN_FLIGHT = 64  # conversations with models on this machine at once
APART_SECONDS = 0.01  # between the beginnings of the first conversations with language models


class RunOptionsError(DiscoverError):
    """What was asked for cannot be run; the message is one line that says what to do."""


@dataclass(frozen=True)
class RunOptions:
    """What decides the results of a run.

    Attributes:
        assistants: scripted ones by name, or LiteLLM models as MODEL or MODEL+STYLE.
        domain: generated artifacts of this domain, or of several separated by ", ", with the miniature's trees; or
        trees: a folder of tree files (JSON).
        split: which of the generated artifacts: those to train on, or the others, to evaluate on.
        engine: who judges and speaks for the user, unless `judge` or `voice` names another.
        artifacts: artifacts, at most.
        candidates: None lets every assistant have conversations of its own; a number lets all of them answer every
            turn of one conversation, this many times each; the one with the highest reward continues.
        prompts: folder of prompts in place of ours.
        leak_check: who checks the messages of a language model's voice for paraphrases: a model, "judge", or nobody.
        interactivity, final_request: the paper's scale and wording or ours, in an evaluation.
        look_ahead: reward candidates for this many turns beyond their own, played by `reward_assistant`.
        role_options: how the models are asked, where that differs from the roles' defaults.
        taste: number of the taste that generated artifacts are drawn with; 0 for none.
        manner: how the user types; None for the paper's.
    """

    assistants: tuple[str, ...]
    domain: str | None = None
    trees: Path | None = None
    engine: str = MINIATURE
    judge: str | None = None
    voice: str | None = None
    artifacts: int = 20
    trials: int = 1
    turns: int = MAX_TURNS
    candidates: int | None = None
    rules: Rules = field(default_factory=Rules.paper)
    seed: int = 0
    prompts: Path | None = None
    split: Literal["train", "eval"] = "eval"
    look_ahead: int = 0
    reward_assistant: str = ""
    leak_check: str | None = None
    interactivity: str = "ours"
    final_request: str = "ours"
    role_options: RoleOptions = NO_OPTIONS
    taste: int = 0
    manner: Manner | None = None

    @property
    def everyone(self) -> tuple[str, ...]:
        """All assistants that take part, the one that plays the look-ahead included."""
        return (*self.assistants, self.reward_assistant) if self.look_ahead else self.assistants

    @property
    def spec(self) -> EngineSpec:
        return EngineSpec(
            judge=self.judge or self.engine,
            voice=self.voice or self.engine,
            prompts=str(self.prompts) if self.prompts else None,
            leak_check=(self.judge or self.engine) if self.leak_check == "judge" else self.leak_check,
            interactivity=self.interactivity,
            options=self.role_options,
            manner=self.manner,
        )

    @classmethod
    def from_configuration(cls, configuration: Mapping[str, Any]) -> RunOptions:
        """The options that a run on generated artifacts was begun with, to go on with it.

        Those of an evaluation name no domain: its configuration lists them, separated by ", ".

        Raises:
            RunOptionsError: the run was begun with files; only the command that began it knows them.
        """
        kind, domain = configuration.get("kind"), configuration.get("domain")
        own = "artifacts" not in configuration  # conversations of people, for one
        if kind not in ("simulate", "synthesize", "evaluate") or not domain or own:
            raise RunOptionsError("this run was begun by a command with files of its own; the same command resumes it")
        # An evaluation has none of the first three; the rest is there where it is not the default.
        if_there = ("candidates", "look_ahead", "reward_assistant", "leak_check", "interactivity", "taste")
        artifacts, domains = configuration["artifacts"], domain.split(", ")
        return cls(
            tuple(configuration["assistants"]),
            domain=None if kind == "evaluate" else domain,
            split="train" if all("-train-" in artifact_id for artifact_id in artifacts) else "eval",
            judge=configuration["engine"]["judge"],
            voice=configuration["engine"]["voice"],
            artifacts=len(artifacts) // len(domains),
            rules=Rules.from_dict(configuration["rules"]),
            role_options=RoleOptions.from_dict(configuration.get("options", {})),
            manner=manner_in(configuration),
            **{name: configuration[name] for name in ("trials", "turns", "seed")},
            final_request=request_named(configuration.get("final_request")),
            **{name: configuration[name] for name in if_there if configuration.get(name) is not None},
        )


@dataclass(frozen=True)
class LaidOut:
    """A run ready to be planned or executed."""

    options: RunOptions
    trees: Mapping[str, tuple[str, IntentTree]]  # artifact → (domain, tree)
    units: tuple[Unit, ...]
    configuration: Mapping[str, Any]  # what a store compares before it resumes

    @property
    def models(self) -> list[str]:
        """The language models that take part; none if everything is the miniature."""
        return self.options.spec.models(self.options.everyone)

    @property
    def local(self) -> list[str]:
        """The assistants that are models on this machine."""
        return local_models(self.options.everyone)


def lay_out(options: RunOptions) -> LaidOut:
    """Check what was asked for and lay its conversations out.  Spends nothing.

    Raises:
        RunOptionsError, DiscoverError, ArtifactFileError, TreeError, LexiconError: naming what cannot be done.
    """
    if len(domains := (options.domain or "").split(", ")) > 1:
        return lay_out_together(options, domains)
    spec = options.spec
    for role, engine in (("engine", options.engine), ("judge", spec.judge), ("voice", spec.voice)):
        if engine != MINIATURE and not is_model(engine):
            raise RunOptionsError(
                f"unknown {role} {engine!r}; give 'miniature' or a LiteLLM model name such as openai/NAME"
            )
    if spec.leak_check and (spec.voice == MINIATURE or not is_model(spec.leak_check)):
        raise RunOptionsError("a leak check is a language model's, of messages that a language model speaks")
    if options.interactivity == "paper" and spec.judge == MINIATURE:
        raise RunOptionsError("the paper's scale of interactivity is for a language model that judges; give --judge")
    spec.options.check_names(asked_assistants(options.everyone))
    trees = _generated(options) if options.domain is not None and options.trees is None else _from_folder(options)
    for domain in sorted({domain for domain, _ in trees.values()}):
        _check_assistants(options, domain)
    who = spec.judge if spec.judge == spec.voice else f"{spec.judge} (judge), {spec.voice} (voice)"
    units = plan_units(
        trees,
        options.assistants,
        trials=options.trials,
        turns=options.turns,
        rules=options.rules,
        seed=options.seed,
        engine=who,
        candidates=options.candidates,
        look_ahead=options.look_ahead,
        reward_assistant=options.reward_assistant,
        manner=options.manner,
    )
    return LaidOut(options, trees, tuple(units), _configuration(options, spec, trees))


def lay_out_together(options: RunOptions, domains: Sequence[str]) -> LaidOut:
    """One run over several domains, one after the other.

    Raises:
        RunOptionsError: naming what cannot be done.
    """
    if len(set(domains)) < len(domains):
        raise RunOptionsError("a domain is named twice")
    parts = [lay_out(dataclasses.replace(options, domain=domain)) for domain in domains]
    units = [unit for part in parts for unit in part.units]
    configuration = dict(parts[0].configuration) | {
        "domain": ", ".join(domains),
        "artifacts": {key: value for part in parts for key, value in part.configuration["artifacts"].items()},
    }
    if worlds := {key: value for part in parts for key, value in part.configuration.get("worlds", {}).items()}:
        configuration["worlds"] = worlds
    trees = {artifact: tree for part in parts for artifact, tree in part.trees.items()}
    placed = tuple(dataclasses.replace(unit, place=place) for place, unit in enumerate(units))
    return LaidOut(parts[0].options, trees, placed, configuration)


def manner_in(configuration: Mapping[str, Any]) -> Manner | None:
    """How the user of a stored configuration types; None for the paper's."""
    return Manner.from_dict(configuration["manner"]) if configuration.get("manner") else None


def check_access(run: LaidOut, settings: ClientSettings | None) -> None:
    """Check that the models of a run can be asked: providers are known, keys are there.  Sends nothing.

    Raises:
        RunOptionsError: naming the model and the variable that is missing.
    """
    check_models(run.models, settings)


def check_models(models: Sequence[str], settings: ClientSettings | None) -> None:
    """`check_access` of models by name."""
    if not models:
        return
    from discover_lib.engines.llm.calls.client import LLMClient, LLMError

    with LLMClient(settings) as client:
        for model in models:
            try:
                client.warm_up(model)
            except LLMError as error:
                raise RunOptionsError(str(error)) from error


def check_prices(
    models: Sequence[str], settings: ClientSettings | None, budget_dollars: float | None, *, needed: bool = False
) -> None:
    """Check that a budget can hold: that the price of every model is known.

    Args:
        needed: nothing is asked without a budget.

    Raises:
        RunOptionsError: naming those whose price is not.
    """
    if budget_dollars is not None and (unknown := unpriced(models, settings)):
        raise RunOptionsError(
            f"a budget cannot hold: the price of {', '.join(unknown)} is not known; "
            f"give it with --prices (0 for your own machine){'' if needed else ', or leave the budget out'}"
        )


def unpriced(models: Sequence[str], settings: ClientSettings | None) -> list[str]:
    """The models whose price is not known."""
    from discover_lib.engines.llm.calls.client import ClientSettings
    from discover_lib.engines.llm.calls.prices import price_of

    how = settings or ClientSettings()
    return [each for each in models if price_of(each, how.prices, how.address_of(each)) is None]


def check_spreads(run: LaidOut) -> None:
    """Check that a run can be spread over a cluster.

    Raises:
        RunOptionsError: language models take part, which are waited for, or models of this machine.
    """
    if run.models:
        raise RunOptionsError(
            f"a cluster computes, and {run.models[0]} is waited for: one machine holds thousands of calls in flight; "
            "leave --on out, raise --concurrency, and share the load with several --api-base"
        )
    if run.local:
        raise RunOptionsError(f"{run.local[0]} lies on this machine, not on a cluster's nodes; leave --on out")


def execute(
    run: LaidOut,
    folder: Path,
    *,
    concurrency: int = 1,
    settings: ClientSettings | None = None,
    budget_dollars: float | None = None,
    spread: Cluster | None = None,
    on_progress: Progress | None = None,
    stop: threading.Event | None = None,
) -> Report:
    """Run what is unfinished of a run into its folder, a new one or one that this very run was begun in.

    Args:
        concurrency: processes for the miniature, conversations in flight for language models.
        settings: how language models are reached; may differ when a run is resumed.
        budget_dollars: of the whole run, what it has already cost included; refuses models of unknown price.
        spread: run on its nodes, in place of processes on this machine; see `check_spreads`.

    Raises:
        RunOptionsError: a budget for a model of unknown price.
        StoreError: the folder holds something else, or cannot be written to.
        RunError: the run broke; what is finished is kept.
    """
    check_prices(run.models, settings, budget_dollars)
    notes = {"api_base": settings.api_base if settings else None}
    with RunStore.write(folder, run.configuration, notes) as store:
        if not run.models and not run.local:
            return run_in_processes(
                store, run.units, processes=concurrency, spread=spread, on_progress=on_progress, stop=stop
            )
        if not run.models:
            from discover_lib.engines.local.names import on_gpu

            processes = processes_for(run, concurrency)
            how: dict[str, Any] = {"on_progress": on_progress, "stop": stop}
            if processes > 1 or on_gpu():  # in a process that gives a GPU's memory back
                spec, together = run.options.spec, LOCAL_IN_FLIGHT
                return run_groups_in_processes(store, run.units, spec, processes=processes, together=together, **how)
            together = max(concurrency, LOCAL_IN_FLIGHT)  # a local model answers many conversations at once
            return run_in_threads(store, run.units, RoleEngines(run.options.spec), concurrency=together, **how)
        stop = stop or threading.Event()
        with model_engines(run, store, settings, budget_dollars, stop) as engines:
            how = {"concurrency": concurrency, "apart": APART_SECONDS, "on_progress": on_progress, "stop": stop}
            return run_in_threads(store, run.units, engines, **how)


@contextmanager
def model_engines(
    run: LaidOut, store: RunStore, settings: ClientSettings | None, budget_dollars: float | None, stop: threading.Event
) -> Iterator[RoleEngines]:
    """The roles of a run with language models, whose calls the store keeps and a budget for the whole run limits."""
    from discover_lib.engines.llm.calls.client import Budget, LLMClient

    budget = None if budget_dollars is None else Budget(budget_dollars, spent=store.calls.spent().cost)
    with LLMClient(settings, cache=store.calls, budget=budget, stop=stop) as client:
        yield RoleEngines(run.options.spec, client)


def processes_for(run: LaidOut, requested: int) -> int:
    """Processes among which the miniature and models on this machine are divided; one where a GPU holds these."""
    if not run.local:
        return requested
    from discover_lib.engines.local.names import on_gpu

    return 1 if on_gpu() else requested


def write_results(folder: Path) -> list[Summary]:
    """Write what a run has so far beside its store, for readers of files; returns the summary per assistant.

    `run.json` is the configuration, `conversations.jsonl` the finished conversations in the order of the plan,
    `summary.json` the table.  All can be made again from the store at any time.
    """
    with RunStore.read(folder) as store:
        write_json(folder / "run.json", store.configuration)
        write_encoded_lines(folder / "conversations.jsonl", store.encoded_lines())
        summaries = summarise(stored_scores(store))
    write_json(folder / "summary.json", [each.to_dict() for each in summaries])
    return summaries


def within_reach(run: LaidOut) -> str:
    """What of these users could be found at all, in words: the ceiling of every "share of hidden"."""
    options = run.options
    share = percent(mean_ceiling((tree for _, tree in run.trees.values()), options.rules, options.turns))
    return f"within reach of {options.turns} perfect turns: {share} of the hidden intents (mean over artifacts)"


def caveats(run: LaidOut) -> list[str]:
    """What a run cannot find out, worth knowing before it costs anything."""
    from discover_lib.engines.miniature.assistants import SCRIPTED

    notes = []
    if run.configuration.get("kind") == "evaluate" and len(run.options.assistants) == 1:
        notes.append("eq. 4 compares assistants: with one alone it is not defined; name a second --assistant")
    if run.options.trees is not None and (there := len(tree_files(run.options.trees))) > len(run.trees):
        notes.append(
            f"{len(run.trees)} of the {there} trees in {run.options.trees} are played; --artifacts {there} takes all"
        )
    different = len({tree.roots for _, tree in run.trees.values()})
    if different < len(run.trees):
        notes.append(
            f"only {different} of the {counted(len(run.trees), 'artifact')} differ, and intervals count each as one of "
            "its own; take fewer, or a larger lexicon"
        )
    scripted = [name for name in run.options.assistants if name in SCRIPTED]
    if scripted and run.options.trees is not None:
        hidden = unknown = 0
        for domain, tree in run.trees.values():
            hidden += len(tree) - len(tree.initially_discovered)
            unknown += sum(key not in tree.initially_discovered for key, _ in _undecidable(domain, tree))
        if unknown:
            notes.append(
                f"{unknown} of {counted(hidden, 'hidden intent')} use words that {', '.join(scripted)} do not "
                "know: scripted assistants speak the miniature's words alone; for these trees name a language model"
            )
    return notes


def is_model(name: str) -> bool:
    """Whether a name can be a LiteLLM model's: it names a provider, or LiteLLM's table knows it."""
    from discover_lib.engines.llm.assistants import STYLES
    from discover_lib.engines.llm.calls.prices import provider_of

    model, _, style = name.rpartition("+")
    model = model if style in STYLES else name
    return bool(model) and ("/" in model or provider_of(model) != model)


# -- what a run consists of ---------------------------------------------------------------------------------------


def _generated(options: RunOptions) -> dict[str, tuple[str, IntentTree]]:
    from discover_lib.engines.miniature import engine
    from discover_lib.engines.miniature.artifacts import SPLIT_SIZES, generate_artifacts

    assert options.domain is not None
    size = SPLIT_SIZES[options.split]
    if options.artifacts > size:
        raise RunOptionsError(f"the {options.split} split has {size} artifacts, not {options.artifacts}")
    builder = engine(options.domain).builder
    artifacts = generate_artifacts(options.domain, options.split, options.artifacts, options.taste)
    return {each.id: (options.domain, builder.build(each).tree) for each in artifacts}


def _from_folder(options: RunOptions) -> dict[str, tuple[str, IntentTree]]:
    folder = options.trees
    if folder is None or options.domain is not None:
        raise RunOptionsError("give either --domain or --trees")
    if not folder.is_dir():
        what = "a file; give the folder that it lies in" if folder.is_file() else "no such folder"
        raise RunOptionsError(f"{folder}: {what}")
    paths = tree_files(folder)[: options.artifacts]
    if not paths:
        raise RunOptionsError(f"{folder}: no tree files (*.json); make some with 'discover build'")
    trees = {}
    for path in paths:
        tree = load_tree(path)
        if not tree.initial_request.strip():
            raise RunOptionsError(f"{path}: has no 'initial_request'; give the message that the user opens with")
        trees[path.stem] = (_domain_of(path, tree, options), tree)
        if options.spec.judge == MINIATURE:
            _check_decidable(path, *trees[path.stem])
    return trees


def _domain_of(path: Path, tree: IntentTree, options: RunOptions) -> str:
    """The miniature domain of a tree; "" for another kind of artifact, which only language models can play."""
    try:
        return domain_of_type(tree.artifact_type)
    except ArtifactFileError as error:
        if MINIATURE in (options.spec.judge, options.spec.voice):
            raise RunOptionsError(f"{path}: {error}") from None
        return ""


def _check_decidable(path: Path, domain: str, tree: IntentTree) -> None:
    for key, error in _undecidable(domain, tree):
        raise RunOptionsError(f"{path}: intent {key!r}: {error}") from None


def _undecidable(domain: str, tree: IntentTree) -> Iterator[tuple[str, JudgeError]]:
    """The intents in whose words the miniature knows nothing, and what its judge says of each."""
    from discover_lib.engines.miniature.judge import requirement

    for intent in tree.intents.values():
        try:
            requirement(intent.text, domain)
        except JudgeError as error:
            yield intent.id, error


def _check_assistants(options: RunOptions, domain: str) -> None:
    from discover_lib.engines.miniature.assistants import SCRIPTED, scripted_assistant

    if not options.assistants:
        raise RunOptionsError("give at least one --assistant")
    twice = [name for name in options.assistants if options.assistants.count(name) > 1]
    if twice:
        raise RunOptionsError(f"assistant {twice[0]!r} is named twice; for several samples of one use --candidates")
    if bool(options.look_ahead) != bool(options.reward_assistant):
        raise RunOptionsError("a look-ahead needs both a number of turns and the assistant that plays them")
    for name in options.everyone:
        if name in SCRIPTED and domain:
            scripted_assistant(name, domain)
        elif name in SCRIPTED:
            raise RunOptionsError(f"assistant {name!r} is scripted and knows the miniature's domains only")
        else:
            check_assistant(name, domain)


def check_assistant(name: str, domain: str = "") -> None:
    """Whether there can be such an assistant.

    Raises:
        RunOptionsError: saying which there are.
    """
    from discover_lib.engines.miniature.assistants import SCRIPTED

    if name in SCRIPTED:
        return
    if local_models([name]):
        from discover_lib.engines.local.names import LocalModelError, check_local

        try:
            check_local(name, domain)
        except LocalModelError as error:
            raise RunOptionsError(str(error)) from None
    elif not is_model(name):
        raise RunOptionsError(
            f"unknown assistant {name!r}; the scripted ones are {', '.join(SCRIPTED)}; "
            "a model on this machine is 'tiny' or hf:DIR; "
            "anything else is a LiteLLM model name such as openai/NAME"
        )


def _configuration(
    options: RunOptions, spec: EngineSpec, trees: Mapping[str, tuple[str, IntentTree]]
) -> dict[str, Any]:
    from discover_lib.base import VERSION
    from discover_lib.engines.miniature.lexicon import ALL_DOMAINS, load_lexicon

    extra: dict[str, Any] = {}
    if options.look_ahead:
        extra = {"look_ahead": options.look_ahead, "reward_assistant": options.reward_assistant}
    if local := local_models(options.everyone):
        from discover_lib.engines.local.names import fingerprint

        extra["local"] = {name: fingerprint(name) for name in local}
    if spec.leak_check:
        extra["leak_check"] = spec.leak_check
    if spec.interactivity != "ours":
        extra["interactivity"] = spec.interactivity
    if options.taste:
        extra["taste"] = options.taste
    if options.manner:
        extra["manner"] = options.manner.to_dict()
    if changed := spec.options.to_store(spec.players(options.everyone)):
        extra["options"] = changed
    known = sorted({domain for domain, _ in trees.values()}.intersection(ALL_DOMAINS))
    if worlds := {domain: load_lexicon(domain).world for domain in known if load_lexicon(domain).world > 1}:
        extra["worlds"] = worlds
    return extra | {
        "format": RUN_FORMAT,
        "code_version": VERSION,
        "kind": "simulate" if options.candidates is None else "synthesize",
        "domain": options.domain,
        "engine": {"judge": spec.judge, "voice": spec.voice},
        "assistants": list(options.assistants),
        "candidates": options.candidates,
        "trials": options.trials,
        "turns": options.turns,
        "seed": options.seed,
        "rules": options.rules.to_dict(),
        "prompts": _prompts(options).hashes(_chosen_prompts(options)) if spec.models(options.everyone) else {},
        "artifacts": {artifact_id: _fingerprint(tree) for artifact_id, (_, tree) in trees.items()},
        "edition": EDITION,
    }


def _chosen_prompts(options: RunOptions) -> set[str]:
    """Those of the prompts by choice that a run sends."""
    from discover_lib.engines.llm.assistants import STYLES, model_and_style

    styles = {model_and_style(name)[1] for name in options.everyone}
    checks = {"leak_check"} if options.leak_check else set()
    scales = {"interactivity_paper"} if options.interactivity == "paper" else set()
    manners = {"user_manner"} if options.manner else set()
    return {STYLES[style] for style in styles if style} | checks | scales | manners


def _prompts(options: RunOptions) -> PromptSet:
    from discover_lib.engines.llm.prompting import PromptSet, default_prompts

    return PromptSet(options.prompts) if options.prompts else default_prompts()


def _fingerprint(tree: IntentTree) -> str:
    return hashlib.sha256(to_json(tree.to_dict()).encode()).hexdigest()[:16]
