"""Build trees from artifact files, several at a time.  A finished call is never paid for twice.

A tree file holds the tree, the stages that led to it, notes on repairs, and its source, so the same command skips it.
The finished calls of a language model are in a store beside the trees (`CALLS`).  After a kill, the same command
resumes from the call that was under way.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discover_lib.base.files import write_json
from discover_lib.base.json_text import to_json
from discover_lib.core.conversation import Artifact
from discover_lib.core.intents import IntentTree, TreeError
from discover_lib.core.roles import BuildError, Recognised, TreeBuilder
from discover_lib.engines.llm.calls.exchange import ENDS_THE_RUN, Spent
from discover_lib.engines.role_options import NO_OPTIONS, RoleOptions
from discover_lib.engines.spec import MINIATURE
from discover_lib.metrics.discovery import ceiling
from discover_lib.runs.artifact_files import ArtifactFileError, domain_of_type, load_tree, read_artifact_file
from discover_lib.runs.options import check_prices, client_of
from discover_lib.runs.outcomes import Outcomes
from discover_lib.runs.store import RunStore, failed_call, failure_of
from discover_lib.runs.work import Threads, Workers, work

if TYPE_CHECKING:
    from discover_lib.engines.llm.calls.client import ClientSettings

CALLS = ".calls"  # folder of the calls' store, beside the trees
CONFIGURATION = {"format": "discover-build/1", "kind": "build"}  # any files may share the store: calls differ by key
IN_FLIGHT = 8  # artifacts at a time


@dataclass(frozen=True)
class BuildOptions:
    """The options that decide the tree of an artifact.

    Attributes:
        artifact_type: in plain words, e.g. "svg drawing".
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
        existing: an earlier command built it from the same input.
    """

    source: Path
    target: Path
    tree: IntentTree
    recognised: tuple[Recognised, ...]
    notes: tuple[str, ...] = ()
    existing: bool = False

    @property
    def ceiling(self) -> float:
        return ceiling(self.tree)


@dataclass(frozen=True)
class BuildReport:
    """The end of a build.

    Attributes:
        failures: one line for each artifact without a tree.
        spent: cost of all calls in the store, over all commands; None without a model.
        outcomes: the answers in that store.
        halted: "budget", "stopped" or "auth" if it ended early, with the reason in `message`.
        kinds: reasons for missing trees: "file" for an unreadable file, else a kind of `Failure`.
    """

    built: tuple[BuiltFile, ...]
    failures: tuple[str, ...] = ()
    spent: Spent | None = None
    halted: str | None = None
    message: str = ""
    outcomes: Outcomes = field(default_factory=Outcomes)
    kinds: frozenset[str] = frozenset()


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
    """Build the trees of artifact files into a folder.

    Args:
        settings: how language models are reached.
        budget_dollars: limit for all calls in the store, earlier commands included; refuses unknown prices.
        concurrency: artifacts at a time, where a language model builds.
        on_built: called in this thread with every tree that is finished or exists.
        on_ask: called in any thread with the artifact file and the stage that a language model is asked for.

    Raises:
        ArtifactFileError: the miniature knows no domain of this type.
        StoreError: another process builds into this folder.
        RunOptionsError: a budget for a model of unknown price.
        LLMError: the model cannot be reached at all (no key, no such provider).
    """
    options.role_options.check_names(())
    stop, targets = stop or threading.Event(), target_files(files, folder)
    if options.engine == MINIATURE:
        from discover_lib.engines.miniature import engine

        domain = domain_of_type(options.artifact_type)
        builder = engine(domain).builder
        return _Building(options, targets, on_built, lambda _: builder, domain).report(Workers(), stop)
    check_prices([options.engine], settings, budget_dollars)
    from discover_lib.engines.llm.builder import PROMPT_OF, LLMBuilder
    from discover_lib.engines.llm.prompting import PromptSet

    calls = RunStore.write(folder / CALLS, CONFIGURATION)
    with calls as store, client_of(store, settings, budget_dollars, stop) as client:
        client.warm_up(options.engine)
        prompts = PromptSet(options.prompts)
        hashes = {name: prompts[name].sha for name in PROMPT_OF.values()}
        how = options.role_options.of("builder")

        def new_builder(source: Path) -> TreeBuilder:
            return LLMBuilder(client, options.engine, prompts=prompts, on_ask=partial(on_ask, source), **how)

        building = _Building(options, targets, on_built, new_builder, hashes=hashes, store=store)
        return building.report(Threads(max(1, concurrency)), stop)


@dataclass
class _Building:
    """One `build_files` under way.  It has no store if no model is asked."""

    options: BuildOptions
    targets: Mapping[Path, Path]
    on_built: Callable[[BuiltFile], None]
    new_builder: Callable[[Path], TreeBuilder]
    domain: str = ""
    hashes: Mapping[str, str] = field(default_factory=dict)
    store: RunStore | None = None
    results: dict[Path, BuiltFile | ArtifactFileError | BuildError] = field(default_factory=dict)

    def report(self, on: Workers, stop: threading.Event) -> BuildReport:
        from discover_lib.engines.llm.calls.exchange import LLMError

        halted: str | None = None
        message, calls = "", self.store.calls if self.store else None
        try:
            work(list(self.targets), self._tried, self._keep, on, stop=stop)
        except LLMError as error:
            if failed_call(error) not in ENDS_THE_RUN:
                raise
            halted, message = error.kind, str(error)
        if calls:
            calls.put_answers()
        in_order = [(source, self.results[source]) for source in self.targets if source in self.results]
        failures = [(source, result) for source, result in in_order if not isinstance(result, BuiltFile)]
        return BuildReport(
            tuple(result for _, result in in_order if isinstance(result, BuiltFile)),
            tuple(_line(source, error) for source, error in failures),
            calls.spent() if calls else None,
            halted or ("stopped" if stop.is_set() else None),
            message,
            Outcomes.of_run(self.store) if self.store else Outcomes(),
            frozenset(failure_of(e, 0).kind if calls and isinstance(e, BuildError) else "file" for _, e in failures),
        )

    def _tried(self, source: Path) -> tuple[Path, BuiltFile | ArtifactFileError | BuildError]:
        try:
            return source, self._build(source)
        except (ArtifactFileError, BuildError) as error:
            return source, error

    def _keep(self, done: tuple[Path, BuiltFile | ArtifactFileError | BuildError]) -> None:
        source, result = done
        self.results[source] = result
        if isinstance(result, BuiltFile):
            self.on_built(result)
        elif self.store is not None and isinstance(result, BuildError):
            self.store.calls.forget_answers(failure_of(result, 0).came_back)  # unusable: asked again next time

    def _build(self, source: Path) -> BuiltFile:
        artifact = read_artifact_file(source, self.options.artifact_type, self.domain)
        target, made_from = self.targets[source], self._made_from(source, artifact)
        if (existing := _existing(source, target, made_from)) is not None:
            return existing
        built = self.new_builder(source).build(artifact)
        if self.store is not None:
            self.store.calls.put_answers()  # before the tree: its calls are not asked again
        data = {
            "tree": built.tree.to_dict(),
            "recognised": [asdict(each) for each in built.recognised],
            "levels": [list(level) for level in built.levels],
            "notes": list(built.notes),
            "built_from": made_from,
        }
        write_json(target, data)
        return BuiltFile(source, target, built.tree, built.recognised, built.notes)

    def _made_from(self, source: Path, artifact: Artifact) -> dict[str, Any]:
        """The source file, and everything that decides its tree."""
        model = {} if self.options.engine == MINIATURE else {"builder": "builder"}
        changed = self.options.role_options.to_store(model)
        return ({"options": changed["builder"]} if changed else {}) | {
            "file": _label(source),
            "artifact": _digest(artifact.text),
            "artifact_type": artifact.type,
            "engine": self.options.engine,
            "prompts": _digest(to_json(dict(sorted(self.hashes.items())))) if self.hashes else "",
        }


def _line(source: Path, error: ArtifactFileError | BuildError) -> str:
    """The line about a file without a tree.  A builder knows only the artifact's name, which several files can have."""
    said = str(error)
    return said if isinstance(error, ArtifactFileError) else f"{source}: {said.removeprefix(f'{source.stem}: ')}"


# -- tree files ----------------------------------------------------------------------------------------------------


def distinct(files: Sequence[Path]) -> list[Path]:
    """Each file once: a file and a link to it are one."""
    return list({_resolved(file): file for file in files}.values())


def target_files(files: Sequence[Path], folder: Path) -> dict[Path, Path]:
    """Artifact file → tree file, a file given twice once.

    A tree is named by its artifact's stem if that is free, else by the whole name, then with the folder's in front.
    An existing tree keeps its name.
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
    """The name of a file in a tree's record: its name and its folder's, without the path on this machine."""
    return "/".join(_resolved(source).parts[-2:])


def _resolved(source: Path) -> Path:
    """The real path of a file.  `Path.resolve` may raise on a broken or circular link."""
    return Path(os.path.realpath(source))


def _made_of(target: Path) -> str | None:
    """The artifact file in a tree file's record, or None."""
    made_from = _read(target).get("built_from")
    return made_from.get("file") if isinstance(made_from, dict) else None


def _existing(source: Path, target: Path, made_from: Mapping[str, Any]) -> BuiltFile | None:
    """The existing tree, if it was built from this input."""
    data = _read(target)
    if data.get("built_from") != made_from:
        return None
    try:
        tree = load_tree(target)
        recognised = tuple(Recognised(**each) for each in data["recognised"])
        return BuiltFile(source, target, tree, recognised, tuple(data["notes"]), existing=True)
    except (TreeError, KeyError, TypeError):
        return None  # changed by hand, so build it again


def _read(target: Path) -> dict[str, Any]:
    try:
        data = json.loads(target.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]
