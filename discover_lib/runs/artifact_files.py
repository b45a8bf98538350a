"""The artifacts and trees of a run, generated or read from files, and recorded conversations.

Every defect of a file is an error of one clear line.
"""

from __future__ import annotations

import codecs
import difflib
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import data_folder, read_json
from discover_lib.base.records import RecordError
from discover_lib.core.conversation import Artifact, Conversation
from discover_lib.core.intents import MAX_DEPTH, IntentTree, TreeError
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import SPLIT_SIZES, generate_artifacts
from discover_lib.engines.miniature.lexicon import ADDED_DOMAINS, load_lexicon
from discover_lib.engines.spec import MINIATURE, RunOptionsError

if TYPE_CHECKING:
    from discover_lib.runs.units import RunOptions

MAX_BYTES = 1_000_000
TREE_KEYS = ("artifact_type", "topic", "initial_request", "initially_discovered", "roots")

# Words for artifact types, by the miniature's domain.
DOMAIN_WORDS = {
    "svg_drawing": ("svg", "drawing", "icon", "logo", "illustration"),
    "technical_writing": ("technical", "article", "explainer", "report", "documentation", "guide", "news"),
    "creative_writing": ("creative", "story", "fiction", "tale", "novel", "essay", "poem"),
    "travel_plan": ("travel", "trip", "itinerary", "holiday", "vacation"),
    "dataviz_code": ("dataviz", "data-viz", "visualization", "visualisation", "chart", "plot", "plotting", "vega-lite"),
    "paper_abstract": ("abstract", "paper"),
    "image_prompt": ("prompt", "text-to-image"),
    "web_component": ("component", "widget", "web", "html"),
}


class ArtifactFileError(DiscoverError):
    """An artifact file that cannot be used.  The message names the file and the remedy."""


def domain_of_type(artifact_type: str) -> str:
    """The miniature's domain for an artifact type in people's words, e.g. "svg drawing" or "short story".

    A domain that was added goes by its name or by the very type that its lexicon gives.

    Raises:
        ArtifactFileError: no domain fits.
        LexiconError: a lexicon that was added breaks a rule.
    """
    spoken = artifact_type.lower().replace("_", " ").split()
    added = {domain: load_lexicon(domain).artifact_type for domain in ADDED_DOMAINS}
    for domain, own_type in added.items():
        if spoken in (own_type.lower().split(), domain.lower().replace("_", " ").split()):
            return domain
    for domain, known in DOMAIN_WORDS.items():
        if any(word in spoken for word in known):
            return domain
    own = "".join(f", {own_type!r}" for own_type in added.values())
    raise ArtifactFileError(
        f"the miniature has no domain for the type {artifact_type!r}; "
        "use 'svg drawing', 'short story', 'technical article', 'travel plan', 'data-viz code', 'paper abstract', "
        f"'image prompt'{own} or 'web component', or name a model with --engine"
    )


def read_artifact_file(path: Path, artifact_type: str, domain: str) -> Artifact:
    """Read one file.

    Raises:
        ArtifactFileError: missing, a folder, empty, larger than 1 MB, binary, or not UTF-8.
    """
    if path.exists() and not path.is_file():
        kind = f"a folder; name the files in it ({path}/*)" if path.is_dir() else "not a file"
        raise ArtifactFileError(f"{path}: {kind}")
    try:
        size = path.stat().st_size
        raw = path.read_bytes() if size <= MAX_BYTES else b""
    except OSError as error:
        raise ArtifactFileError(f"{path}: cannot be read ({error.strerror or error})") from None
    text = raw.decode("utf-8-sig", errors="replace")
    wrong = {
        f"{size / 1e6:.1f} MB is too large for an artifact; at most 1 MB": size > MAX_BYTES,
        "not UTF-8 text but UTF-16; save it as UTF-8": raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)),
        "compressed (gzip); unpack it first, or export it uncompressed": raw.startswith(b"\x1f\x8b"),
        "looks binary; an artifact is a text file (SVG, Markdown or plain text)": b"\0" in raw,
        "not UTF-8 text; save it as UTF-8": raw.removeprefix(codecs.BOM_UTF8) != text.encode(),
        "the file is empty": not text.strip(),
    }
    if why := next((words for words, is_so in wrong.items() if is_so), ""):
        raise ArtifactFileError(f"{path}: {why}")
    return Artifact(path.stem, artifact_type, text, domain=domain)


def trees_of(options: RunOptions) -> dict[str, tuple[str, IntentTree]]:
    """The trees of a run, generated or read from its folder: artifact → (domain, tree); "" is no domain of ours.

    Raises:
        RunOptionsError: no such artifacts, or a tree that these players cannot play.
        ArtifactFileError, TreeError, LexiconError: a file, or a domain.
    """
    if (options.domain is None) == (options.trees is None):
        raise RunOptionsError("give either --domain or --trees")
    return _generated(options) if options.trees is None else _from_folder(options, options.trees)


def _generated(options: RunOptions) -> dict[str, tuple[str, IntentTree]]:
    domains = str(options.domain).split(", ")
    if len(set(domains)) < len(domains):
        raise RunOptionsError("a domain is named twice")
    size = SPLIT_SIZES[options.split]
    if options.artifacts > size:
        raise RunOptionsError(f"the {options.split} split has {size} artifacts, not {options.artifacts}")
    return {
        artifact.id: (domain, engine(domain).builder.build(artifact).tree)
        for domain in domains
        for artifact in generate_artifacts(domain, options.split, options.artifacts, options.taste)
    }


def _from_folder(options: RunOptions, folder: Path) -> dict[str, tuple[str, IntentTree]]:
    if not folder.is_dir():
        what = "a file; give its folder" if folder.is_file() else "no such folder"
        raise RunOptionsError(f"{folder}: {what}")
    trees = {}
    for path in tree_files(folder)[: options.artifacts]:
        tree = load_tree(path)
        if not tree.initial_request.strip():
            raise RunOptionsError(f"{path}: has no 'initial_request'; give the message that the user opens with")
        try:
            domain = domain_of_type(tree.artifact_type)
        except ArtifactFileError as error:  # another type of artifact, which only language models can play
            if MINIATURE in (options.judge, options.voice):
                raise RunOptionsError(f"{path}: {error}") from None
            domain = ""
        if options.judge == MINIATURE and (why := engine(domain).judge.undecidable(tree)):
            raise RunOptionsError(f"{path}: {why}")
        trees[path.stem] = (domain, tree)
    if not trees:
        raise RunOptionsError(f"{folder}: no tree files (*.json); make some with 'discover build'")
    return trees


def load_tree(path: Path | str) -> IntentTree:
    """Read one tree from a JSON file: a tree itself, or an object that holds one under 'tree'.

    Raises:
        TreeError: the file is missing, not JSON or no valid tree, or it has an unknown key that holds intents or that
            resembles one of a tree's keys.  The message names the file.
    """
    data = read_json(Path(path), TreeError)
    plain = data["tree"] if isinstance(data, dict) and "tree" in data else data
    try:
        return tree_by_hand(plain)
    except RecursionError:
        raise TreeError(f"{path}: nested too deep to be an intent tree (at most {MAX_DEPTH} levels)") from None
    except TreeError as error:
        raise TreeError(f"{path}: {error}") from None


def tree_by_hand(plain: Any) -> IntentTree:
    """A tree in the plain form that people write and change.  Every part is read or refused.

    Raises:
        TreeError: it is no valid tree, or has unread intents or an unread key.
    """
    if isinstance(plain, Mapping):
        _refuse_misspelt_keys(plain)
    tree = IntentTree.from_dict(plain)
    _refuse_lost_intents(plain["roots"])
    return tree


def tree_files(folder: Path) -> list[Path]:
    """The files of a folder of trees, by name; empty if there is no such folder."""
    return sorted(folder.glob("*.json"))


def free_tree_file(folder: Path, name: str, tree: IntentTree) -> Path:
    """A free file for a tree: this name, with a number if another tree has the name."""
    numbered = (f"{name}-{number}" if number > 1 else name for number in itertools.count(1))
    paths = (folder / f"{each}.json" for each in numbered)
    return next(path for path in paths if not path.exists() or _holds(path, tree))


def _holds(path: Path, tree: IntentTree) -> bool:
    try:
        return load_tree(path) == tree
    except TreeError:
        return False


def _refuse_misspelt_keys(tree: Mapping[str, Any]) -> None:
    """Refuse an unknown key that differs from a tree's key by one letter or its case."""
    for key in tree:
        if key not in TREE_KEYS and (near := difflib.get_close_matches(key.lower(), TREE_KEYS, 1, cutoff=0.88)):
            if near[0] not in tree or near[0] == key.lower():
                raise TreeError(f"the key {key!r} is not read; write {near[0]!r}")


def _refuse_lost_intents(intents: Iterable[Mapping[str, Any]]) -> None:
    """Refuse intents under a key other than "children"."""
    for intent in intents:
        for key, below in intent.items():
            if key != "children" and isinstance(below, list) and any(isinstance(each, dict) for each in below):
                raise TreeError(f"intent {intent['id']!r} has {key!r}; write more specific intents under 'children'")
        _refuse_lost_intents(intent.get("children") or ())


# -- recorded conversations, to step through without a key ------------------------------------------------------------


class RecordedError(DiscoverError):
    """A recorded file that is missing or cannot be read.  The message names it and the remedy."""


@dataclass(frozen=True)
class Recorded:
    """One file of `data/recorded`: an artifact, the stages that led to its tree, and the sessions recorded with it.

    A capable model wrote the trees, replies and judgements.  A session has five turns with two candidate replies each.
    """

    path: Path
    domain: str
    artifact_id: str
    title: str
    topic: str
    sessions: tuple[str, ...]  # ids; empty where only the tree was recorded

    @property
    def name(self) -> str:
        """`domain/artifact id`, which `load_recorded` takes."""
        return f"{self.domain}/{self.artifact_id}"

    def artifact(self) -> Artifact:
        data = read_json(self.path, RecordedError)["artifact"]
        return Artifact(data["id"], data["type"], data["text"], data["topic"], self.domain)

    def tree(self) -> IntentTree:
        return load_tree(self.path)


def recorded_index() -> list[Recorded]:
    """What is recorded, sorted by domain and artifact; empty if the folder is not there."""
    return [_entry(path) for path in sorted((data_folder() / "recorded").glob("*/*.json"))]


def find_recorded(name: str) -> Recorded:
    """The entry called `name`: an artifact id, or `domain/artifact id`.

    Raises:
        RecordedError: no entry, or more than one, has this name.
    """
    index = recorded_index()
    entries = [entry for entry in index if name in (entry.name, entry.artifact_id)]
    if len(entries) != 1:
        choices = ", ".join(entry.artifact_id for entry in index) or "no file; is the data folder missing?"
        raise RecordedError(f"{len(entries)} recorded artifacts are called {name!r}; there is: {choices}")
    return entries[0]


def load_recorded(source: Path | str) -> list[Conversation]:
    """The conversations of one recorded file, given by path or by name; an empty list where only a tree is recorded.

    Raises:
        RecordedError: no such file or name, or a file that is not of the recorded form.
    """
    entry = _entry(source) if isinstance(source, Path) else find_recorded(source)
    try:
        return [Conversation.from_dict(session) for session in read_json(entry.path, RecordedError)["sessions"]]
    except (RecordError, TreeError) as error:
        raise RecordedError(f"{entry.path}: not a recorded session ({error})") from None


def _entry(path: Path) -> Recorded:
    data = read_json(path, RecordedError)
    try:
        artifact_id, topic = data["artifact"]["id"], data["artifact"]["topic"]
        sessions = tuple(session["setting"]["session"] for session in data["sessions"])
    except (KeyError, TypeError) as error:
        raise RecordedError(f"{path}: not a recorded artifact (missing {error})") from None
    title = artifact_id.replace("_", " ").replace("-", " ")
    return Recorded(path, path.parent.name, artifact_id, title, topic, sessions)
