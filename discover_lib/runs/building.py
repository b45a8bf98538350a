"""Trees from artifact files: several at a time, nothing paid for twice, nothing finished lost.

A tree file holds the tree, the stages that led to it, what was mended, and what it was built from, so that the same
command passes it over.  Finished calls of a language model are kept in a store beside the trees (`CALLS`): killed
anywhere, the same command goes on from the call under way.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discover_lib.base.files import write_json
from discover_lib.base.json_text import to_json
from discover_lib.core.conversation import Artifact
from discover_lib.core.intents import IntentTree, TreeError
from discover_lib.core.roles import BuildError, Recognised, TreeBuilder
from discover_lib.engines.llm.calls.exchange import ENDS_THE_RUN, Spent
from discover_lib.engines.role_options import NO_OPTIONS, RoleOptions
from discover_lib.engines.spec import MINIATURE, EngineSpec, RoleEngines
from discover_lib.metrics.ceiling import ceiling
from discover_lib.runs.artifact_files import ArtifactFileError, domain_of_type, load_tree, read_artifact_file
from discover_lib.runs.database import LockedError
from discover_lib.runs.options import check_prices
from discover_lib.runs.outcomes import Outcomes
from discover_lib.runs.store import RunStore, failed_call, failure_of
from discover_lib.runs.work import Alone, Threads, Workers, work

if TYPE_CHECKING:
    from discover_lib.engines.llm.calls.client import ClientSettings, LLMClient
    from discover_lib.engines.llm.calls.exchange import CallTotals

CALLS = ".calls"  # folder of the calls' store, beside the trees
CONFIGURATION = {"format": "discover-build/1", "kind": "build"}  # any files may share the store: calls differ by key
IN_FLIGHT = 8  # artifacts at a time


@dataclass(frozen=True)
class BuildOptions:
    """What decides the trees of an artifact.

    Attributes:
        artifact_type: in people's words, e.g. "svg drawing".
        engine: "miniature", or a LiteLLM model.
        prompts: folder of prompts in place of ours.
        role_options: how the model is asked, where that differs from the builder's defaults.
    """

    artifact_type: str
    engine: str = MINIATURE
    prompts: Path | None = None
    role_options: RoleOptions = NO_OPTIONS


@dataclass(frozen=True)
class BuiltFile:
    """The tree of one artifact file.

    Attributes:
        totals: what a language model was asked for it, and at what cost, None if none was asked.
        existing: it was built before, from the same input.
        replaced: a tree of another text stood in its place, of the same file name in a folder of the same name.
    """

    source: Path
    target: Path
    tree: IntentTree
    recognised: tuple[Recognised, ...]
    notes: tuple[str, ...] = ()
    totals: CallTotals | None = None
    existing: bool = False
    replaced: bool = False

    @property
    def ceiling(self) -> float:
        return ceiling(self.tree)


@dataclass(frozen=True)
class BuildReport:
    """How building ended.

    Attributes:
        failures: one line for each artifact without a tree.
        spent: of the store of calls, over all commands; None without a model.
        outcomes: how the answers in that store came about.
        halted: "budget", "stopped" or "auth" if it ended early, with the reason in `message`.
        kinds: why artifacts have no tree: "file" for one that cannot be read, else as of `Failure`.
    """

    built: tuple[BuiltFile, ...]
    failures: tuple[str, ...] = ()
    spent: Spent | None = None
    halted: str | None = None
    message: str = ""
    outcomes: Outcomes = field(default_factory=Outcomes)
    kinds: frozenset[str] = frozenset()

    @property
    def totals(self) -> CallTotals | None:
        totals = [each.totals for each in self.built if each.totals]
        return sum(totals[1:], totals[0]) if totals else None


def build_files(
    files: Sequence[Path],
    folder: Path,
    options: BuildOptions,
    *,
    settings: ClientSettings | None = None,
    budget_dollars: float | None = None,
    concurrency: int = IN_FLIGHT,
    on_built: Callable[[BuiltFile], None] = lambda _: None,
    on_ask: Callable[[Path, str], None] = lambda *_: None,
    stop: threading.Event | None = None,
) -> BuildReport:
    """Build the trees of artifact files into a folder, and say how each came about.

    Args:
        settings: how language models are reached.
        budget_dollars: of all calls kept beside the trees, earlier commands included; refuses unknown prices.
        concurrency: artifacts at a time, where a language model builds.
        on_built: called in this thread with every tree as it is finished, or found to be there.
        on_ask: called in any thread with the artifact file and the stage that a language model is asked for.

    Raises:
        ArtifactFileError: the miniature knows no domain of this type.
        StoreError: another process builds into this folder.
        RunOptionsError: a budget for a model of unknown price.
        LLMError: the model cannot be reached at all (no key, no such provider).
    """
    options.role_options.check_names(())
    stop = stop or threading.Event()
    building = _Building(options, target_files(files, folder), on_built)
    if options.engine == MINIATURE:
        building.domain = domain_of_type(options.artifact_type)
        builder = RoleEngines(EngineSpec()).builder(building.domain)
        building.new_builder = lambda _: (builder, None)
        return building.report(Alone(), stop)
    check_prices([options.engine], settings, budget_dollars)
    with _client(folder, options, settings, budget_dollars, stop) as (building.store, client):
        from discover_lib.engines.llm.builder import PROMPT_OF, LLMBuilder
        from discover_lib.engines.llm.calls.exchange import CountingClient
        from discover_lib.engines.llm.prompting import PromptSet, default_prompts

        prompts = PromptSet(options.prompts) if options.prompts else default_prompts()
        building.hashes = {name: prompts[name].sha for name in PROMPT_OF.values()}
        how = options.role_options.of("builder")

        def new_builder(source: Path) -> tuple[TreeBuilder, CountingClient]:
            counting = CountingClient(client, lambda purpose: on_ask(source, purpose.removeprefix("builder: ")))
            return LLMBuilder(counting, options.engine, prompts=prompts, **how), counting

        building.new_builder = new_builder
        return building.report(Threads(max(1, concurrency)), stop)


@dataclass
class _Building:
    """One `build_files` under way; without a store no model is asked."""

    options: BuildOptions
    targets: Mapping[Path, Path]
    on_built: Callable[[BuiltFile], None]
    domain: str = ""
    hashes: Mapping[str, str] = field(default_factory=dict)
    new_builder: Callable[[Path], tuple[TreeBuilder, Any]] = field(init=False)
    store: RunStore | None = None
    built: dict[Path, BuiltFile] = field(default_factory=dict)
    failures: dict[Path, ArtifactFileError | BuildError] = field(default_factory=dict)

    def report(self, on: Workers, stop: threading.Event) -> BuildReport:
        from discover_lib.engines.llm.calls.exchange import LLMError

        halted: tuple[str | None, str] = (None, "")
        try:
            work(list(self.targets), self._tried, self._keep, on, stop=stop)
        except LLMError as error:
            if failed_call(error) not in ENDS_THE_RUN:
                raise
            halted = (error.kind, str(error))
        if stop.is_set() and halted[0] is None:
            halted = ("stopped", "")
        in_order = [source for source in self.targets if source in self.failures]
        report = BuildReport(
            tuple(self.built[source] for source in self.targets if source in self.built),
            tuple(_failure(source, self.failures[source]) for source in in_order),
            None,
            *halted,
            kinds=frozenset(_kind(error) if self.store else "file" for error in self.failures.values()),
        )
        if self.store is None:
            return report
        self.store.calls.put_answers()
        return replace(report, spent=self.store.calls.spent(), outcomes=Outcomes.of_run(self.store))

    def _tried(self, source: Path) -> BuiltFile | tuple[Path, ArtifactFileError | BuildError]:
        try:
            return self._build(source)
        except (ArtifactFileError, BuildError) as error:
            return source, error

    def _keep(self, result: BuiltFile | tuple[Path, ArtifactFileError | BuildError]) -> None:
        if isinstance(result, BuiltFile):
            self.built[result.source] = result
            self.on_built(result)
            return
        source, error = result
        self.failures[source] = error
        if self.store is not None and isinstance(
            error, BuildError
        ):  # what came back is of no use: asked anew next time
            self.store.calls.forget_answers(failure_of(error, 0).came_back)

    def _build(self, source: Path) -> BuiltFile:
        artifact = read_artifact_file(source, self.options.artifact_type, self.domain)
        target = self.targets[source]
        made_from = self._made_from(source, artifact)
        if self.store is not None and (existing := _existing(source, target, made_from)) is not None:
            return existing
        builder, counting = self.new_builder(source)
        built = builder.build(artifact)
        if self.store is not None:
            self.store.calls.put_answers()  # before the tree: what it rests on is not asked again
        totals = counting.totals if counting is not None else None
        data = {
            "tree": built.tree.to_dict(),
            "recognised": [asdict(each) for each in built.recognised],
            "levels": [list(level) for level in built.levels],
            "notes": list(built.notes),
            "built_from": made_from,
            "calls": asdict(totals) if totals else None,
        }
        there = _read(target)
        if _edited(there, data) and (existing := _existing(source, target, made_from)) is not None:
            return existing
        before = there.get("built_from")
        replaced = isinstance(before, dict) and before.get("artifact") != made_from["artifact"]
        write_json(target, data)
        return BuiltFile(source, target, built.tree, built.recognised, built.notes, totals, replaced=replaced)

    def _made_from(self, source: Path, artifact: Artifact) -> dict[str, Any]:
        """What decides the tree, and the file that it is of."""
        model = {} if self.options.engine == MINIATURE else {"builder": "builder"}
        changed = self.options.role_options.to_store(model)
        return ({"options": changed["builder"]} if changed else {}) | {
            "file": _label(source),
            "artifact": _digest(artifact.text),
            "artifact_type": artifact.type,
            "engine": self.options.engine,
            "prompts": _digest(to_json(dict(sorted(self.hashes.items())))) if self.hashes else "",
        }


def _failure(source: Path, error: ArtifactFileError | BuildError) -> str:
    """The line about a file without a tree; a builder knows the artifact's name alone, which several files can have."""
    said = str(error)
    return said if isinstance(error, ArtifactFileError) else f"{source}: {said.removeprefix(f'{source.stem}: ')}"


def _kind(error: ArtifactFileError | BuildError) -> str:
    return "file" if isinstance(error, ArtifactFileError) else failure_of(error, 0).kind


@contextmanager
def _client(
    folder: Path,
    options: BuildOptions,
    settings: ClientSettings | None,
    budget_dollars: float | None,
    stop: threading.Event,
) -> Iterator[tuple[RunStore, LLMClient]]:
    """The store of calls beside the trees, and a client that keeps its calls there."""
    from discover_lib.engines.llm.calls.client import Budget, LLMClient

    calls = folder / CALLS
    calls.mkdir(parents=True, exist_ok=True)
    try:
        opened = RunStore.write(calls, CONFIGURATION)
    except LockedError:
        raise LockedError(f"{folder}: another build is writing trees there; wait for it or stop it") from None
    with opened as store:
        budget = None if budget_dollars is None else Budget(budget_dollars, spent=store.calls.spent().cost)
        with LLMClient(settings, cache=store.calls, budget=budget, stop=stop) as client:
            client.warm_up(options.engine)
            yield store, client


# -- tree files ----------------------------------------------------------------------------------------------------


def distinct(files: Sequence[Path]) -> list[Path]:
    """Each file once: a file and a link to it are one."""
    return list({_resolved(file): file for file in files}.values())


def target_files(files: Sequence[Path], folder: Path) -> dict[Path, Path]:
    """Artifact file → tree file, a file given twice once.

    A tree is named by its artifact's stem where that is free; else by the whole name, then with the folder's in front.
    A tree that is there already keeps its name, whatever else is given.
    """
    sources = distinct(files)
    claims = Counter(name for source in sources for name in set(_names(source)))
    targets: dict[Path, Path] = {}
    for source in sources:
        names = _names(source)
        mine = [name for name in names if _made_of(folder / f"{name}.json") == _label(source)]
        free = [name for name in names if claims[name] == 1 and _made_of(folder / f"{name}.json") is None]
        targets[source] = folder / f"{(*mine, *free, names[-1])[0]}.json"
    return targets


def _names(source: Path) -> tuple[str, ...]:
    place = _resolved(source)
    whole = f"{place.parent.name}.{source.name}"
    return (source.stem, source.name, whole, f"{whole}.{_digest(str(place))[:6]}")


def _label(source: Path) -> str:
    """A file as a tree's record names it: its name and its folder's, not where on this machine it lies."""
    return "/".join(_resolved(source).parts[-2:])


def _resolved(source: Path) -> Path:
    """Where a file lies; also of a link that leads nowhere or in a circle, on which `Path.resolve` may raise."""
    return Path(os.path.realpath(source))


def _made_of(target: Path) -> str | None:
    """The artifact file that a tree file says it is of; None if there is none, or it does not say."""
    made_from = _read(target).get("built_from")
    return made_from.get("file") if isinstance(made_from, dict) else None


def _existing(source: Path, target: Path, made_from: Mapping[str, Any]) -> BuiltFile | None:
    """The tree that is there already, if it is of this very input."""
    from discover_lib.engines.llm.calls.exchange import CallTotals

    data = _read(target)
    if data.get("built_from") != made_from:
        return None
    try:
        tree = load_tree(target)
        recognised = tuple(Recognised(**each) for each in data["recognised"])
        totals = CallTotals(**data["calls"]) if data["calls"] else None
        return BuiltFile(source, target, tree, recognised, tuple(data["notes"]), totals, existing=True)
    except (TreeError, KeyError, TypeError):
        return None  # somebody changed it by hand: built anew


def _edited(there: Mapping[str, Any], built: Mapping[str, Any]) -> bool:
    """Whether a tree file was changed by hand: all that led to its tree is as it is built now, the tree is not."""
    led_to_it = ("recognised", "levels", "built_from")
    return all(there.get(name) == built[name] for name in led_to_it) and there.get("tree") != built["tree"]


def _read(target: Path) -> dict[str, Any]:
    try:
        data = json.loads(target.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]
