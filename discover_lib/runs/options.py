"""A run from what was asked for: checked, laid out in units with their configuration, and executed into a folder.

Commands and notebooks go through `lay_out` and `execute`, so both give the same results and resume each other's runs.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discover_lib.base.files import write_encoded_lines, write_json
from discover_lib.base.json_text import to_json
from discover_lib.base.words import counted
from discover_lib.core.intents import IntentTree
from discover_lib.core.roles import JudgeError
from discover_lib.engines.spec import EDITION, MINIATURE, EngineSpec, RoleEngines, asked_assistants, local_models
from discover_lib.metrics.ceiling import mean_ceiling
from discover_lib.metrics.intervals import percent
from discover_lib.metrics.satisfaction import FINAL_REQUEST
from discover_lib.metrics.summary import Summary, summarise
from discover_lib.runs.artifact_files import ArtifactFileError, domain_of_type, load_tree, tree_files
from discover_lib.runs.cluster import Cluster
from discover_lib.runs.digests import stored_scores
from discover_lib.runs.runner import Progress, Report, run_into
from discover_lib.runs.store import RUN_FORMAT, RunStore, StoreError
from discover_lib.runs.units import RunOptions as RunOptions
from discover_lib.runs.units import RunOptionsError as RunOptionsError
from discover_lib.runs.units import Unit, units_of
from discover_lib.runs.units import manner_in as manner_in
from discover_lib.runs.work import Alone, Processes, Threads

if TYPE_CHECKING:
    from discover_lib.engines.llm.calls.client import ClientSettings
    from discover_lib.engines.llm.prompting import PromptSet

LOCAL_IN_FLIGHT = 64  # conversations with models on this machine at once
APART_SECONDS = 0.01  # between the beginnings of the first conversations with language models


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
    def is_evaluation(self) -> bool:
        """Whether its conversations end with their scores."""
        return self.configuration.get("kind") == "evaluate"

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
    return LaidOut(options, trees, tuple(units_of(options, trees)), _configuration(options, spec, trees))


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


def check_models(models: Sequence[str], settings: ClientSettings | None) -> None:
    """Check that models can be asked: providers are known, keys are there.  Sends nothing.

    Raises:
        RunOptionsError: naming the model and the variable that is missing.
    """
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
    from discover_lib.engines.llm.calls.exchange import price_of

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
    score: bool | None = None,
    concurrency: int = 1,
    settings: ClientSettings | None = None,
    budget_dollars: float | None = None,
    spread: Cluster | None = None,
    on_progress: Progress | None = None,
    stop: threading.Event | None = None,
) -> Report:
    """Have what is left of a run in its folder, a new one or one that this very run was begun in.

    The conversations of a simulation in an evaluation's folder are the evaluation's: none is paid for twice.

    Args:
        score: ask for the finished piece of every conversation and score it, as in an evaluation, the default there.
        concurrency: processes for the miniature, conversations in flight for language models.
        settings: how language models are reached; may differ when a run is resumed.
        budget_dollars: of the whole run, what it has already cost included; refuses models of unknown price.
        spread: run on its nodes, in place of processes on this machine; see `check_spreads`.

    Raises:
        RunOptionsError: a budget for a model of unknown price.
        StoreError: the folder holds something else, or cannot be written to.
        DiscoverError: the run broke; what is finished is kept.
    """
    check_prices(run.models, settings, budget_dollars)
    if run.is_evaluation:
        _take_over(run, folder)
    how: dict[str, Any] = {"on_progress": on_progress, "stop": stop or threading.Event()}
    if run.is_evaluation if score is None else score:
        how["final_request"] = run.configuration.get("final_request", FINAL_REQUEST)
    notes = {"api_base": settings.api_base if settings else None}
    with RunStore.write(folder, run.configuration, notes) as store:
        if run.models:
            from discover_lib.engines.llm.calls.client import Budget, LLMClient

            budget = None if budget_dollars is None else Budget(budget_dollars, spent=store.calls.spent().cost)
            with LLMClient(settings, cache=store.calls, budget=budget, stop=how["stop"]) as client:
                engines = RoleEngines(run.options.spec, client)
                how |= {"engines": engines, "apart": APART_SECONDS}
                return run_into(store, run.units, Threads(min(concurrency, len(run.units))), **how)
        if run.local:
            return run_into(store, run.units, **_local(run, concurrency), **how)
        processes = min(concurrency, len(run.units))
        return run_into(store, run.units, spread or (Processes(processes) if processes > 1 else Alone()), **how)


def _local(run: LaidOut, concurrency: int) -> dict[str, Any]:
    """Where models of this machine play, many conversations at once; a GPU's memory is given back by its process."""
    from discover_lib.engines.local.names import on_gpu

    processes = 1 if on_gpu() else concurrency
    if processes > 1 or on_gpu():
        return {"on": Processes(processes, fresh=True, chunk=1), "together": LOCAL_IN_FLIGHT}
    return {"on": Threads(max(concurrency, LOCAL_IN_FLIGHT)), "engines": RoleEngines(run.options.spec)}


def _take_over(run: LaidOut, folder: Path) -> None:
    """Make the simulation in a folder this evaluation, if its conversations are the same."""
    try:
        with RunStore.read(folder) as store:
            stored = store.configuration
    except StoreError:
        return
    ours = run.configuration
    unscored = {key: value for key, value in ours.items() if key != "final_request"} | {"kind": "simulate"}
    unscored["prompts"] = {name: text for name, text in ours["prompts"].items() if name in stored.get("prompts", {})}
    if stored == json.loads(to_json(unscored)):
        with RunStore.write(folder, stored) as store:
            store.reconfigure(ours)


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
    from discover_lib.engines.llm.calls.exchange import provider_of

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
        try:
            domain = domain_of_type(tree.artifact_type)
        except ArtifactFileError as error:  # another kind of artifact, which only language models can play
            if MINIATURE in (options.spec.judge, options.spec.voice):
                raise RunOptionsError(f"{path}: {error}") from None
            domain = ""
        trees[path.stem] = (domain, tree)
        for key, unknown in _undecidable(domain, tree) if options.spec.judge == MINIATURE else ():
            raise RunOptionsError(f"{path}: intent {key!r}: {unknown}") from None
    return trees


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

    known = sorted({domain for domain, _ in trees.values()}.intersection(ALL_DOMAINS))
    where_not_the_default = {
        "look_ahead": options.look_ahead,
        "reward_assistant": options.reward_assistant if options.look_ahead else "",
        "local": _fingerprints(local_models(options.everyone)),
        "leak_check": spec.leak_check,
        "interactivity": spec.interactivity if spec.interactivity != "ours" else "",
        "taste": options.taste,
        "manner": options.manner.to_dict() if options.manner else None,
        "options": spec.options.to_store(spec.players(options.everyone)),
        "worlds": {domain: world for domain in known if (world := load_lexicon(domain).world) > 1},
    }
    return {name: value for name, value in where_not_the_default.items() if value} | {
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


def _fingerprints(local: Sequence[str]) -> dict[str, Any]:
    """What tells the weights of models on this machine apart, by name."""
    if not local:
        return {}
    from discover_lib.engines.local.names import fingerprint

    return {name: fingerprint(name) for name in local}


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
