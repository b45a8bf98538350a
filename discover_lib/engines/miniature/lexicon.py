"""The lexicon of a domain: dimensions, each a taxonomy of values from broad to specific.

A lexicon is a readable YAML file in `lexicons/`.  Everything the miniature knows about a domain stands there: what a
requirement is called, how a user says it, which words or drawn properties show it, and (for prose) the sentence that
realises it.  `load_lexicon` checks the file and refuses one that would let the simulated user leak.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import combinations
from pathlib import Path
from typing import Any

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import read_yaml
from discover_lib.base.words import STOP_WORDS, content_words, denies, stem, words
from discover_lib.engines.miniature.lexicon_file import problem_of

LEXICON_FOLDER = Path(__file__).parent / "lexicons"
DOMAINS = ("svg_drawing", "creative_writing", "technical_writing")
UNSEEN_DOMAINS = ("travel_plan", "dataviz_code", "paper_abstract", "image_prompt", "web_component")  # paper, section 5
SHIPPED_DOMAINS = DOMAINS + UNSEEN_DOMAINS
# A lexicon that is put into the folder is a domain; it stands after those that came with the library.
ADDED_DOMAINS = tuple(sorted({path.stem for path in LEXICON_FOLDER.glob("*.yaml")} - {*SHIPPED_DOMAINS}))
ALL_DOMAINS = SHIPPED_DOMAINS + ADDED_DOMAINS
DRAWN = "svg_drawing"  # its values are drawn, those of all others are written: a leaf has a line
MAX_CUE_WORDS = 4
_NOTHING: frozenset[str] = frozenset()
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")  # within a line
_TOKEN = re.compile(r"^[a-z][a-z0-9-]*$")


class LexiconError(DiscoverError):
    """A lexicon file that breaks one of its rules; the message names file, value and rule."""


@dataclass(frozen=True)
class Value:
    """One value of a dimension: `navy` under `blue` under `cool`."""

    id: str  # one token, unique in the domain
    dimension: str
    parent: str | None  # the broader value, None at the top
    children: tuple[str, ...]  # more specific values, in the file's order
    text: str  # the requirement that an intent tree shows
    say: str  # noun phrase in the user's mouth: "I want <say>"
    cues: tuple[str, ...]  # words and phrases that name this value in running text
    talk: tuple[str, ...]  # further ones that name it only where people talk about a piece: "funnier", "at night"
    line: str  # prose domains, leaves only: the sentence that realises it
    opening: str  # the request that a user who wants nothing else yet begins with; "" where a frame serves
    depth: int  # 1 at the top of the taxonomy
    beside: bool = False  # had together with its siblings, where these replace each other

    @property
    def is_leaf(self) -> bool:
        return not self.children


@dataclass(frozen=True)
class Dimension:
    """One independent aspect of an artifact and its taxonomy."""

    name: str  # one token, the notation's word
    aspect: str  # everyday words, with article: "the colours"
    holds: int  # how many values an artifact can have at once
    asked: bool  # an initial request may name it
    optional: bool  # a piece may do without
    part: str  # the part of the domain's form that its lines go to
    tops: tuple[str, ...]
    leaves: tuple[str, ...]


@dataclass(frozen=True)
class Part:
    """How the lines of one part of a piece are strung together."""

    joint: str  # what stands between two lines
    item: str  # one line, with $line for it and $n for its number, from 1


@dataclass(frozen=True)
class Form:
    """The make-up of a piece that is more than titled paragraphs: a program, a page, a plan by days.

    A row of `frame` that holds nothing but `$name` takes the lines of that part, indented as the row is; without
    lines the row goes.  `$title` may stand anywhere.
    """

    frame: str
    parts: Mapping[str, Part]
    language: str  # fenced as code of this language; "" for prose, which is quoted
    suffixes: tuple[str, ...]  # what files of such pieces end in


@dataclass(frozen=True)
class Lexicon:
    """A checked lexicon.  `values` maps value ids to values in the file's order."""

    domain: str
    artifact_type: str
    world: int  # raised when the values change so much that older runs cannot go on
    requests: tuple[str, ...]  # frames of the initial request, with {items}
    dimensions: dict[str, Dimension]
    values: dict[str, Value]
    form: Form | None  # None: titled paragraphs, or a drawing
    lineages: dict[str, tuple[str, ...]] = field(repr=False)  # value → itself and its ancestors, specific first
    by_text: dict[str, str] = field(repr=False)  # requirement text (normalised) → value id
    cue_index: dict[tuple[str, ...], str] = field(repr=False)  # stemmed cue → value id
    talk_index: dict[tuple[str, ...], str] = field(repr=False)  # the same, what is only said in talk included
    rank: dict[str, int] = field(repr=False)  # value id → its place in the file
    clashes: dict[str, frozenset[str]] = field(repr=False)  # leaf → the leaves that it cannot be had together with

    def covers(self, broad: str, specific: str) -> bool:
        """Whether showing `specific` shows `broad`: it is the same value or lies below it."""
        return broad in self.lineages[specific]

    def siblings(self, value_id: str) -> tuple[str, ...]:
        """The values that could stand in its place: others under the same parent, or at the top of its dimension."""
        return self._siblings[value_id]

    def fits(self, value: str, others: Collection[str]) -> bool:
        """Whether a value can be had together with `others`: none replaces it or rules it out, and there is room."""
        if not self.clashes.get(value, _NOTHING).isdisjoint(others):
            return False
        name = self.values[value].dimension
        return sum(self.values[other].dimension == name for other in others) < self.dimensions[name].holds

    def framed_request(self, value: str, draw: float = 0.0) -> str:
        """The opening request for a value in one of the frames, drawn by a number below 1."""
        return self.requests[int(draw * len(self.requests))].format(items=self.values[value].say)

    def stand_together(self, one: str, two: str) -> bool:
        """Whether some leaf below (or at) one value can be had together with some leaf below the other."""
        below = self._leaves_under[two]
        return any(not self.clashes[leaf].issuperset(below) for leaf in self._leaves_under[one])

    def that_fit(self, values: Iterable[str]) -> tuple[str, ...]:
        """As many of the values as can be had together, first come first served."""
        kept: list[str] = []
        for value in dict.fromkeys(values):
            if self.fits(value, kept):
                kept.append(value)
        return tuple(kept)

    def leaves_under(self, value_id: str) -> tuple[str, ...]:
        """Leaf values at or below `value_id`."""
        return self._leaves_under[value_id]

    @cached_property
    def additions(self) -> frozenset[str]:
        """Leaves that stand beside others rather than in their place: a scarf, beside the animals."""
        return frozenset(
            leaf for leaf in self.clashes if any(self.values[above].beside for above in self.lineages[leaf])
        )

    def additions_of(self, dimension: str) -> tuple[str, ...]:
        """`additions` of one dimension."""
        return self._additions_of[dimension]

    @cached_property
    def _additions_of(self) -> dict[str, tuple[str, ...]]:
        return {
            name: tuple(leaf for leaf in dimension.leaves if leaf in self.additions)
            for name, dimension in self.dimensions.items()
        }

    @cached_property
    def is_composed(self) -> bool:
        """Whether a piece is more than a value or so of every dimension: some are optional, some go with others."""
        return any(dimension.optional for dimension in self.dimensions.values())

    @cached_property
    def aspect_stems(self) -> dict[str, list[str]]:
        """Dimension → the stems of its everyday name, without "the"."""
        return {name: _aspect_stems(dimension) for name, dimension in self.dimensions.items()}

    @cached_property
    def _above(self) -> dict[str, tuple[str, ...]]:
        return {value_id: lineage[1:] for value_id, lineage in self.lineages.items()}

    @cached_property
    def _siblings(self) -> dict[str, tuple[str, ...]]:
        rows = {
            value.id: self.values[value.parent].children if value.parent else self.dimensions[value.dimension].tops
            for value in self.values.values()
        }
        values = self.values
        return {
            value_id: ()
            if values[value_id].beside
            else tuple(other for other in row if other != value_id and not values[other].beside)
            for value_id, row in rows.items()
        }

    @cached_property
    def _leaves_under(self) -> dict[str, tuple[str, ...]]:
        return {
            value.id: tuple(leaf for leaf in self.dimensions[value.dimension].leaves if value.id in self.lineages[leaf])
            for value in self.values.values()
        }

    def value_of_text(self, text: str) -> str | None:
        """The value whose requirement text this is (case and spacing ignored), or None."""
        return self.by_text.get(normalised(text))

    def cue_hits(self, text: str, *, talk: bool = False) -> dict[str, str]:
        """Value id → the phrase that names it in running text, in order of appearance.

        Sentences and lines are read one by one (a cue never spans two).  A value that only restates a more specific one
        found here is left out: "a navy blue boat" names `navy`, not also `blue`.

        Args:
            talk: the text talks about a piece rather than being one: "make it funnier" names humour there, while in a
                finished story "a funny smell" does not.
        """
        found: dict[str, str] = {}
        for line in text.split("\n"):
            for value_id, phrase in _line_hits(self.domain, line, talk).items():
                found.setdefault(value_id, phrase)
        return self.most_specific(found)

    def most_specific(self, named: dict[str, str]) -> dict[str, str]:
        """`found` without the values that lie above another one in it."""
        if len(named) < 2:
            return named
        above = set().union(*(self._above[value_id] for value_id in named))
        return {value_id: why for value_id, why in named.items() if value_id not in above}

    def find_cues(self, text: str, *, talk: bool = False) -> list[str]:
        """The values that `cue_hits` finds."""
        return list(self.cue_hits(text, talk=talk))

    def aspects_in(self, text: str) -> list[str]:
        """Dimensions whose everyday name occurs in `text`, in order of appearance."""
        return list(_aspects_in(self.domain, text))


def normalised(text: str) -> str:
    return " ".join(words(text))


def _aspect_stems(dimension: Dimension) -> list[str]:
    return [stem(word) for word in words(dimension.aspect) if word != "the"]


def _find_run(haystack: list[str], needle: list[str]) -> int | None:
    if needle[0] not in haystack:  # as in most sentences, and quickly seen
        return None
    for start in range(len(haystack) - len(needle) + 1):
        if haystack[start : start + len(needle)] == needle:
            return start
    return None


@lru_cache(maxsize=16384)
def _aspects_in(domain: str, text: str) -> tuple[str, ...]:
    stems = [stem(word) for word in words(text)]
    found = []
    for name, phrase in load_lexicon(domain).aspect_stems.items():
        at = _find_run(stems, phrase)
        if at is not None:
            found.append((at, -len(phrase), name))
    return tuple(name for _, _, name in sorted(found))


@lru_cache(maxsize=8192)  # paragraphs: from draft to draft most stay as they are
def _line_hits(domain: str, line: str, talk: bool) -> dict[str, str]:
    found: dict[str, str] = {}
    for sentence in _SENTENCE_END.split(line):
        for value_id, phrase in _sentence_hits(domain, sentence, talk).items():
            found.setdefault(value_id, phrase)
    return found


@lru_cache(maxsize=16384)
def _sentence_hits(domain: str, sentence: str, talk: bool) -> dict[str, str]:
    lexicon = load_lexicon(domain)
    return _cue_hits(lexicon.talk_index if talk else lexicon.cue_index, sentence, skip_negated=talk)


@lru_cache(maxsize=16)
def load_lexicon(domain: str) -> Lexicon:
    """Read and check the lexicon of `domain`.

    Raises:
        LexiconError: unknown domain, or a file that is no YAML or breaks a rule (see `check_lexicon`).
    """
    path = LEXICON_FOLDER / f"{domain}.yaml"
    if path.name != f"{domain}.yaml" or "\0" in domain or not path.is_file():  # a link may name any place
        raise LexiconError(f"unknown domain {domain!r}; choose one of {', '.join(ALL_DOMAINS)}")
    lexicon = parse_lexicon(_read(path), path.name)
    if lexicon.domain != domain:
        raise LexiconError(f"{path.name}: 'domain' must be {domain!r}, as the file is called, got {lexicon.domain!r}")
    return lexicon


def _read(path: Path) -> Any:
    import yaml

    try:
        return read_yaml(path)
    except UnicodeDecodeError:
        raise LexiconError(f"{path.name}: not UTF-8 text; save it as UTF-8") from None
    except yaml.YAMLError as error:
        raise LexiconError(f"{path.name}: not valid YAML: {' '.join(str(error).split())}") from None


def parse_lexicon(data: Any, file: str = "lexicon") -> Lexicon:
    """Build a `Lexicon` from the parsed YAML and check it.

    Args:
        file: what the error calls it, where it does not name its domain.

    Raises:
        LexiconError: a key is missing, unknown or of another kind, or a rule is broken (see `check_lexicon`).
    """
    if problem := problem_of(data):
        raise LexiconError(f"{file}: {problem}")
    values: dict[str, Value] = {}
    dimensions: dict[str, Dimension] = {}
    for entry in data["dimensions"]:
        rows = list(_walk_values(entry["values"], entry["name"], None, 1))
        for value in rows:
            if value.id in values:
                raise LexiconError(f"{data['domain']}: value id {value.id!r} stands twice")
            values[value.id] = value
        dimensions[entry["name"]] = Dimension(
            name=entry["name"],
            aspect=entry["aspect"],
            holds=entry.get("holds", 1),
            asked=entry.get("asked", False),
            optional=entry.get("optional", False),
            part=entry.get("part", ""),
            tops=tuple(value.id for value in rows if value.parent is None),
            leaves=tuple(value.id for value in rows if value.is_leaf),
        )
    lineages = {value_id: tuple(_lineage(values, value_id)) for value_id in values}
    lexicon = Lexicon(
        domain=data["domain"],
        artifact_type=data["artifact_type"],
        world=data.get("world", 1),
        requests=(data["request"],) if isinstance(data["request"], str) else tuple(data["request"]),
        dimensions=dimensions,
        values=values,
        form=_form(data["domain"], data["form"], dimensions.values()) if "form" in data else None,
        lineages=lineages,
        by_text={normalised(value.text): value.id for value in values.values()},
        cue_index=_cue_index(data["domain"], {value.id: value.cues for value in values.values()}),
        talk_index=_cue_index(data["domain"], {value.id: value.cues + value.talk for value in values.values()}),
        rank={value_id: place for place, value_id in enumerate(values)},
        clashes=_clashes(data, values, dimensions, lineages),
    )
    check_lexicon(lexicon)
    return lexicon


def _form(domain: str, entry: dict[str, Any], dimensions: Iterable[Dimension]) -> Form:
    parts = {name: Part(part["joint"], part.get("item", "$line")) for name, part in entry["parts"].items()}
    rows = {row.strip() for row in entry["frame"].splitlines()}
    for name in parts:
        if f"${name}" not in rows:
            raise LexiconError(f"{domain}: the frame has no row ${name} for that part's lines")
    for dimension in dimensions:
        if dimension.part not in parts:
            raise LexiconError(f"{domain}: {dimension.name!r} goes to part {dimension.part!r}, which the form lacks")
    return Form(entry["frame"], parts, entry.get("language", ""), tuple(entry["suffixes"]))


def _walk_values(rows: list[dict[str, Any]], dimension: str, parent: str | None, depth: int) -> Iterator[Value]:
    for row in rows:
        below = row.get("values") or []
        yield Value(
            id=row["id"],
            dimension=dimension,
            parent=parent,
            children=tuple(child["id"] for child in below),
            text=row["text"],
            say=row["say"],
            cues=tuple(str(cue) for cue in row.get("cues") or ()),
            talk=tuple(str(cue) for cue in row.get("talk") or ()),
            line=row.get("line", ""),
            opening=row.get("opening", ""),
            depth=depth,
            beside=row.get("beside", False),
        )
        yield from _walk_values(below, dimension, row["id"], depth + 1)


def _clashes(
    data: dict[str, Any],
    values: dict[str, Value],
    dimensions: dict[str, Dimension],
    lineages: dict[str, tuple[str, ...]],
) -> dict[str, frozenset[str]]:
    """Leaf → leaves that replace it, where values say which stand beside each other, and those ruled out by name."""
    clashes: dict[str, set[str]] = {value.id: set() for value in values.values() if value.is_leaf}
    for dimension in dimensions.values():
        if any(value.beside for value in values.values() if value.dimension == dimension.name):
            for one, two in combinations(dimension.leaves, 2):
                if not _stand_beside(lineages[one], lineages[two], values):
                    clashes[one].add(two)
                    clashes[two].add(one)
    for value_id, others in _ruled_out(row for entry in data["dimensions"] for row in entry["values"]):
        for other in others:
            if other not in values:
                raise LexiconError(f"{data['domain']}: {value_id!r} is never with {other!r}, which is no value")
            for one in (leaf for leaf in clashes if value_id in lineages[leaf]):
                for two in (leaf for leaf in clashes if other in lineages[leaf]):
                    clashes[one].add(two)
                    clashes[two].add(one)
    return {value_id: frozenset(others) for value_id, others in clashes.items()}


def _stand_beside(one: tuple[str, ...], two: tuple[str, ...], values: dict[str, Value]) -> bool:
    """Whether one of the branches, where two lineages part, is `beside` the other."""
    first = next(value_id for value_id in reversed(one) if value_id not in two)
    second = next(value_id for value_id in reversed(two) if value_id not in one)
    return values[first].beside or values[second].beside


def _ruled_out(rows: Iterable[dict[str, Any]]) -> Iterator[tuple[str, list[str]]]:
    for row in rows:
        yield row["id"], row.get("never_with") or []
        yield from _ruled_out(row.get("values") or [])


def _lineage(values: dict[str, Value], value_id: str) -> Iterator[str]:
    current: str | None = value_id
    while current is not None:
        yield current
        current = values[current].parent


def _cue_index(domain: str, cues: dict[str, tuple[str, ...]]) -> dict[tuple[str, ...], str]:
    index: dict[tuple[str, ...], str] = {}
    for value_id, phrases in cues.items():
        for cue in phrases:
            key = tuple(stem(word) for word in words(cue))
            if not 1 <= len(key) <= MAX_CUE_WORDS:
                raise LexiconError(f"{domain}: cue {cue!r} of {value_id!r} must have 1 to {MAX_CUE_WORDS} words")
            if index.setdefault(key, value_id) != value_id:
                raise LexiconError(f"{domain}: cue {cue!r} belongs to both {index[key]!r} and {value_id!r}")
    return index


def check_lexicon(lexicon: Lexicon) -> None:
    """Hold the rules that keep the miniature honest; raise `LexiconError` on the first broken one.

    - ids are single tokens, no dimension shares its name with a value; texts are unique
    - a cue holds a word that is not everyday grammar; said in talk, a phrase may do without ("to the right")
    - taxonomies branch: a value has no children or at least two
    - every value's `say` names the value: it contains one of its own cues and no other value's outside its lineage
    - requirement texts use no word of hesitation or assent (`STOP_WORDS` beyond plain grammar are ignored anyway)
    - what is written has a line for every leaf, which names the leaf and nothing else: what it shows is judged by it
    - an opening names its value, alone, and holds no word of another requirement either
    - an aspect's words stand in none of the domain's requirement texts, and `say` uses no word that only other
      requirements hold: naming a category, or a thing already known, can then never name a hidden requirement
    """
    where = lexicon.domain
    if len(lexicon.by_text) != len(lexicon.values):
        raise LexiconError(f"{where}: two values share a requirement text")
    for value in lexicon.values.values():
        if not _TOKEN.match(value.id):
            raise LexiconError(f"{where}: value id {value.id!r} must be one lower-case token")
        if value.id in lexicon.dimensions:
            raise LexiconError(f"{where}: {value.id!r} names a dimension and a value")
        if len(value.children) == 1:
            raise LexiconError(f"{where}: {value.id!r} has a single child; give it a sibling or drop it")
        if not value.text.strip() or not value.say.strip() or not value.cues:
            raise LexiconError(f"{where}: {value.id!r} needs text, say and at least one cue")
        for cue in (*value.cues, *(phrase for phrase in value.talk if " " not in phrase)):
            if not any(word not in STOP_WORDS for word in words(cue)):
                raise LexiconError(f"{where}: cue {cue!r} of {value.id!r} holds only everyday words")
        for index in (lexicon.cue_index, lexicon.talk_index):
            found = _cue_hits(index, value.say)
            if value.id not in found or any(other not in lexicon.lineages[value.id] for other in found):
                raise LexiconError(f"{where}: say {value.say!r} of {value.id!r} must name it alone, got {list(found)}")
    _check_sayings(lexicon)
    if where not in SHIPPED_DOMAINS:  # of those the tests hold it, and reading every line takes time
        _check_lines(lexicon)
    for dimension in lexicon.dimensions.values():
        if not _TOKEN.match(dimension.name):
            raise LexiconError(f"{where}: dimension name {dimension.name!r} must be one lower-case token")
        _check_aspect(lexicon, dimension)


def _cue_hits(index: Mapping[tuple[str, ...], str], text: str, *, skip_negated: bool = False) -> dict[str, str]:
    """Value id → the phrase that named it; the longest cue wins at each place.

    Who says "no waves" or "without a frame" offers neither: in talk such phrases are passed over.
    """
    spoken = words(text)
    stems = [stem(word) for word in spoken]
    found: dict[str, str] = {}
    position = 0
    while position < len(stems):
        for length in range(min(MAX_CUE_WORDS, len(stems) - position), 0, -1):
            value_id = index.get(tuple(stems[position : position + length]))
            if value_id is not None:
                if not (skip_negated and denies(spoken[max(0, position - 4) : position])):
                    found.setdefault(value_id, " ".join(spoken[position : position + length]))
                position += length
                break
        else:
            position += 1
    return found


def _check_sayings(lexicon: Lexicon) -> None:
    holders: dict[str, set[str]] = {}
    for value in lexicon.values.values():
        for word in content_words(value.text):
            holders.setdefault(word, set()).add(value.id)
    for value in lexicon.values.values():
        own = {word for each in lexicon.lineages[value.id] for word in content_words(lexicon.values[each].text)}
        if value.opening and list(_cue_hits(lexicon.talk_index, value.opening)) != [value.id]:
            raise LexiconError(f"{lexicon.domain}: the opening of {value.id!r} must name it alone: {value.opening!r}")
        framed = frozenset().union(*map(content_words, lexicon.requests))
        for word in sorted((content_words(value.say) | content_words(value.opening) - framed) - own):
            if word in holders:
                raise LexiconError(
                    f"{lexicon.domain}: say {value.say!r} of {value.id!r} uses {word!r}, which its own requirement "
                    f"lacks and the one of {sorted(holders[word])[0]!r} holds"
                )


def _check_lines(lexicon: Lexicon) -> None:
    for leaf in (value for value in lexicon.values.values() if value.is_leaf):
        if not leaf.line.strip():
            raise LexiconError(f"{lexicon.domain}: {leaf.id!r} needs a line, the sentence that a piece shows it by")
        sentences = _SENTENCE_END.split(leaf.line.strip())
        hits = [_cue_hits(lexicon.cue_index, sentence) for sentence in sentences]
        named = lexicon.most_specific({value_id: phrase for found in hits for value_id, phrase in found.items()})
        if list(named) != [leaf.id]:
            raise LexiconError(
                f"{lexicon.domain}: the line of {leaf.id!r} must name it alone, by one of its cues, "
                f"got {', '.join(named) or 'nothing'}: {leaf.line!r:.80}"
            )


def _check_aspect(lexicon: Lexicon, dimension: Dimension) -> None:
    aspect = content_words(dimension.aspect)
    if not aspect:
        raise LexiconError(f"{lexicon.domain}: aspect {dimension.aspect!r} of {dimension.name!r} has no content word")
    for value in lexicon.values.values():
        if content_words(value.text) & aspect:
            raise LexiconError(
                f"{lexicon.domain}: the text {value.text!r} of {value.id!r} uses the aspect {dimension.aspect!r}; "
                "a user who names the category would leak it"
            )
    key = tuple(_aspect_stems(dimension))
    if key in lexicon.talk_index:
        raise LexiconError(
            f"{lexicon.domain}: the aspect {dimension.aspect!r} is also a cue of {lexicon.talk_index[key]!r}"
        )
