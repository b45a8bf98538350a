"""Read tree and artifact files.  Every defect of a file is an error of one clear line."""

from __future__ import annotations

import codecs
import difflib
import itertools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import read_json
from discover_lib.core.conversation import Artifact
from discover_lib.core.intents import MAX_DEPTH, IntentTree, TreeError
from discover_lib.engines.miniature.lexicon import ADDED_DOMAINS, load_lexicon

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
