"""The lexicon of a domain: dimensions, each a taxonomy of values from broad to specific.

A lexicon is a YAML file in `lexicons/`.  It contains the texts of intents, the words of users, the cues that show a
value, and (for prose) the sentence of each leaf.  `load_lexicon` refuses a file that would let the simulated user leak.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import combinations, product
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import parsed_yaml, write_json
from discover_lib.base.words import STOP_WORDS, content_words, denies, stem, words

LEXICON_FOLDER = Path(__file__).parent / "lexicons"
DOMAINS = ("svg_drawing", "creative_writing", "technical_writing")
UNSEEN_DOMAINS = ("travel_plan", "dataviz_code", "paper_abstract", "image_prompt", "web_component")  # paper, section 5
SHIPPED_DOMAINS = DOMAINS + UNSEEN_DOMAINS
# A lexicon that is put into the folder is a domain; it stands after those that came with the library.
ADDED_DOMAINS = tuple(sorted({path.stem for path in LEXICON_FOLDER.glob("*.yaml")} - {*SHIPPED_DOMAINS}))
ALL_DOMAINS = SHIPPED_DOMAINS + ADDED_DOMAINS
DRAWN = "svg_drawing"  # its values are drawn, those of all others are written: a leaf has a line
MAX_CUE_WORDS = 4
_SENTENCE_END = re.compile(r"[.!?]\s+")  # within a line
PRONOUN = re.compile(r"\$(theirs|their|them|they)\b")  # of a story's hero, in a line
_TOKEN = re.compile(r"^[a-z][a-z0-9-]*$")


class LexiconError(DiscoverError):
    """A lexicon file that breaks one of its rules; the message names file, value and rule."""


_Number = Annotated[int, msgspec.Meta(ge=1)]


class Layout(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arrangement of an article's lines in a reply: a list is a list, and questions have answers."""

    item: str  # one line: $line, its number $n, the next $label, the value's $term, its dimension's $question
    joint: str = "\n"  # between two items
    head: str = ""  # before the first item
    row: int = 1  # items in a row, which ends with a bar where there are several
    labels: tuple[str, ...] = ()
    sorted: bool = False  # by term


class Value(msgspec.Struct, forbid_unknown_fields=True, eq=False):
    """One value of a dimension: `navy` under `blue` under `cool`."""

    id: str  # one token, unique in the domain
    text: str  # the requirement that an intent tree shows
    say: str  # noun phrase in the user's mouth: "I want <say>"
    cues: tuple[str, ...]  # words and phrases that name this value in running text
    talk: tuple[str, ...] = ()  # further ones that name it only in talk about an artifact: "funnier", "at night"
    line: str = ""  # prose domains, leaves only: the sentence that shows it
    evidence: str = ""  # words that bear it out in a text, where those of `say` do not serve
    formerly: str = ""  # an earlier `text`, by which stored conversations are read
    count: Literal["", "one", "many", "mass", "part"] = ""  # of `say`, where its form does not tell; "part": a season
    title: str = ""  # of an artifact that shows it, where `say` does not serve; seeds depend on it
    told: str = ""  # the line as replies tell it, where that differs; worked out where the line has pronouns of a hero
    layout: Layout | None = None  # of all lines of an article that has this value
    opening: str = ""  # the request that a user who wants nothing else yet begins with; "" where a frame serves
    beside: bool = False  # had together with its siblings, where these replace each other
    never_with: tuple[str, ...] = ()  # values that it rules out
    values: tuple[Value, ...] = ()  # more specific ones, in the file's order
    # What follows is worked out from the value's place in the file.
    dimension: str = ""
    parent: str | None = None  # the broader value, None at the top
    depth: int = 1  # 1 at the top of the taxonomy

    @property
    def children(self) -> tuple[str, ...]:
        return tuple(child.id for child in self.values)

    @property
    def is_leaf(self) -> bool:
        return not self.values


class Dimension(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """One independent aspect of an artifact and its taxonomy."""

    name: str  # one token, the notation's word
    aspect: str  # everyday words, with article: "the colors"
    values: Annotated[tuple[Value, ...], msgspec.Meta(min_length=1)]  # the broadest ones
    asked: bool = False  # an initial request may name it
    optional: bool = False  # an artifact may do without
    joined: Literal["and", "with", "in", "as", "for"] = "and"  # to a subject, by the user: "a fox with a flower crown"
    holds: _Number = 1  # how many values an artifact can have at once
    part: str = ""  # the part of the domain's form that its lines go to; of an article: lead, end or the middle
    question: str = ""  # that its lines answer, where an article is questions and answers

    @cached_property
    def tops(self) -> tuple[str, ...]:
        return tuple(value.id for value in self.values)

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        return tuple(value.id for value in _placed(self.values, self.name) if value.is_leaf)


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the lines of one part of an artifact are strung together."""

    joint: str  # what stands between two lines
    item: str = "$line"  # one line, with $line for it and $n for its number, from 1


class Form(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The make-up of an artifact that is more than titled paragraphs: a program, a page, a plan by days.

    A row of `frame` that holds nothing but `$name` takes the lines of that part, indented as the row is; without
    lines the row goes.  `$title` may stand anywhere.
    """

    frame: str
    parts: dict[str, Part]
    suffixes: tuple[str, ...]  # what files of such artifacts end in
    language: str = ""  # fenced as code of this language; "" for prose, which is quoted


class _File(msgspec.Struct, forbid_unknown_fields=True):
    """The file of a lexicon."""

    domain: str
    artifact_type: str
    request: str | tuple[str, ...]
    dimensions: Annotated[tuple[Dimension, ...], msgspec.Meta(min_length=1)]
    form: Form | None = None
    heroes: tuple[str, ...] = ()
    world: _Number = 1


msgspec.json.Decoder(_File)  # msgspec crashes if several threads are the first to look at a record

CueIndex = dict[str, dict[tuple[str, ...], str]]  # first stem → stemmed cue → value id, the longest cue first


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
    heroes: tuple[str, ...]  # of stories: name and pronoun of the main character, one of which a user gets
    lineages: dict[str, tuple[str, ...]] = field(repr=False)  # value → itself and its ancestors, specific first
    below: dict[str, tuple[str, ...]] = field(repr=False)  # value → the leaves at or below it
    by_text: dict[str, str] = field(repr=False)  # requirement text (normalised) → value id
    cue_index: CueIndex = field(repr=False)
    talk_index: CueIndex = field(repr=False)  # the same, with the phrases that name a value only in talk
    aspects: dict[str, str] = field(repr=False)  # dimension → the stems of its everyday name, see `_stems`
    rank: dict[str, int] = field(repr=False)  # value id → its place in the file
    clashes: dict[str, frozenset[str]] = field(repr=False)  # leaf → the leaves that it cannot be had together with

    def covers(self, broad: str, specific: str) -> bool:
        """Whether showing `specific` shows `broad`: it is the same value or lies below it."""
        return broad in self.lineages[specific]

    def fits(self, value: str, others: Collection[str]) -> bool:
        """Whether a value can be had together with `others`: none replaces it or rules it out, and there is room."""
        if not self.clashes.get(value, frozenset()).isdisjoint(others):
            return False
        name = self.values[value].dimension
        return sum(self.values[other].dimension == name for other in others) < self.dimensions[name].holds

    def stand_together(self, one: str, two: str) -> bool:
        """Whether some leaf below (or at) one value can be had together with some leaf below the other."""
        return any(not self.clashes[leaf].issuperset(self.below[two]) for leaf in self.below[one])

    def that_fit(self, values: Iterable[str]) -> tuple[str, ...]:
        """As many of the values as can be had together, first come first served."""
        kept: list[str] = []
        clashing: set[str] = set()
        held: dict[str, int] = {}  # dimension → how many of its values are kept
        for value in dict.fromkeys(values):
            name = self.values[value].dimension
            if value not in clashing and held.get(name, 0) < self.dimensions[name].holds:
                kept.append(value)
                clashing |= self.clashes.get(value, frozenset())
                held[name] = held.get(name, 0) + 1
        return tuple(kept)

    @cached_property
    def additions(self) -> frozenset[str]:
        """Leaves that stand beside others rather than in their place: a scarf, beside the animals."""
        return frozenset(
            leaf for leaf in self.clashes if any(self.values[above].beside for above in self.lineages[leaf])
        )

    @cached_property
    def additions_of(self) -> dict[str, tuple[str, ...]]:
        """`additions` by dimension."""
        rows = self.dimensions.items()
        return {name: tuple(leaf for leaf in row.leaves if leaf in self.additions) for name, row in rows}

    @cached_property
    def required(self) -> frozenset[str]:
        """The dimensions that every artifact has a value of."""
        return frozenset(name for name, dimension in self.dimensions.items() if not dimension.optional)

    @cached_property
    def is_composed(self) -> bool:
        """Whether artifacts are composed: some dimensions are optional, and some values exclude others."""
        return len(self.required) < len(self.dimensions)

    @cached_property
    def siblings(self) -> dict[str, tuple[str, ...]]:
        """Value → the ones that could replace it: others under the same parent, or at the top of its dimension."""
        values, siblings = self.values, dict[str, tuple[str, ...]]()
        for value in values.values():
            row = values[value.parent].children if value.parent else self.dimensions[value.dimension].tops
            others = () if value.beside else row
            siblings[value.id] = tuple(each for each in others if each != value.id and not values[each].beside)
        return siblings

    def value_of_text(self, text: str) -> str | None:
        """The value whose requirement text this is (case and spacing ignored), or None."""
        return self.by_text.get(normalised(text))

    def cue_hits(self, text: str, *, talk: bool = False) -> dict[str, str]:
        """Value id → the phrase that names it in running text, in order of appearance.

        Sentences and lines are read one by one (a cue never spans two).  A value that only restates a more specific one
        found here is left out: "a navy blue boat" names `navy`, not also `blue`.

        Args:
            talk: the text talks about an artifact.  "Make it funnier" names humor in talk; "a funny smell" in a story
                does not.
        """
        found: dict[str, str] = {}
        for line in text.split("\n"):
            for value_id, phrase in _line_hits(self.domain, line, talk).items():
                found.setdefault(value_id, phrase)
        return self.most_specific(found)

    def most_specific(self, named: dict[str, str]) -> dict[str, str]:
        """`named` without the values that lie above another one in it."""
        if named.keys() <= self.clashes.keys():  # leaves alone, as in an artifact, lie above nothing
            return named
        above = {broader for value_id in named for broader in self.lineages[value_id][1:]}
        return {value_id: why for value_id, why in named.items() if value_id not in above}

    def find_cues(self, text: str, *, talk: bool = False) -> list[str]:
        """The values that `cue_hits` finds."""
        return list(self.cue_hits(text, talk=talk))

    def aspects_in(self, text: str) -> list[str]:
        """Dimensions whose everyday name occurs in `text`, in order of appearance."""
        return list(_aspects_in(self.domain, text))


def normalised(text: str) -> str:
    return " ".join(words(text))


@lru_cache(maxsize=4096)
def _stems(text: str) -> str:
    """The stems of a text's words, separated and surrounded by blanks."""
    return f" {' '.join(map(stem, words(text)))} "


@lru_cache(maxsize=16384)
def _aspects_in(domain: str, text: str) -> tuple[str, ...]:
    said = _stems(text)
    aspects = load_lexicon(domain).aspects.items()
    found = [(said.find(phrase), -len(phrase), name) for name, phrase in aspects if phrase in said]
    return tuple(name for _, _, name in sorted(found))


@lru_cache(maxsize=4096)  # from draft to draft most paragraphs stay as they are
def _line_hits(domain: str, line: str, talk: bool) -> dict[str, str]:
    found: dict[str, str] = {}
    for sentence in _SENTENCE_END.split(line):
        for value_id, phrase in _sentence_hits(domain, sentence, talk).items():
            found.setdefault(value_id, phrase)
    return found


@lru_cache(maxsize=16384)  # and sentences go from one paragraph to another
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
    lexicon = parse_lexicon(read_yaml(path), path.name)
    if lexicon.domain != domain:
        raise LexiconError(f"{path.name}: 'domain' must be {domain!r}, as the file is called, got {lexicon.domain!r}")
    return lexicon


def read_yaml(path: Path) -> Any:
    """The data of a YAML file of the miniature.

    The data is kept as JSON among the files that Python compiles, because to read YAML takes a hundred times as long.

    Raises:
        LexiconError: the file is not YAML in UTF-8.
    """
    source, kept = path.read_bytes(), path.parent / "__pycache__" / f"{path.name}.json"
    digest = hashlib.sha256(source).hexdigest()
    with suppress(OSError, ValueError, LookupError, TypeError):
        found = json.loads(kept.read_bytes())
        if found["source"] == digest:
            return found["data"]
    import yaml

    try:
        data = parsed_yaml(source.decode())
    except (UnicodeDecodeError, yaml.YAMLError) as problem:
        raise LexiconError(f"{path.name}: not YAML in UTF-8: {' '.join(str(problem).split())}") from None
    with suppress(OSError, TypeError):  # a read-only folder, or values that JSON does not have
        whole = {"source": digest, "data": data}
        if not sys.dont_write_bytecode and json.loads(json.dumps(whole)) == whole:
            write_json(kept, whole)
    return data


def parse_lexicon(data: Any, file: str = "lexicon") -> Lexicon:
    """Build a `Lexicon` from the parsed YAML and check it.

    Args:
        file: what the error calls it, where it does not name its domain.

    Raises:
        LexiconError: a key is missing, unknown or of another kind, or a rule is broken (see `check_lexicon`).
    """
    try:
        read = msgspec.convert(data, _File)
    except msgspec.ValidationError as error:
        raise LexiconError(f"{file}: {error}") from None
    if len({each.name for each in read.dimensions}) < len(read.dimensions):
        raise LexiconError(f"{read.domain}: a dimension stands twice")
    values: dict[str, Value] = {}
    lineages: dict[str, tuple[str, ...]] = {}
    for dimension in read.dimensions:
        for value in _placed(dimension.values, dimension.name):
            if values.setdefault(value.id, value) is not value:
                raise LexiconError(f"{read.domain}: value id {value.id!r} stands twice")
            lineages[value.id] = (value.id, *(lineages[value.parent] if value.parent else ()))
    below = {
        value.id: tuple(
            leaf.id for leaf in _placed((value,), value.dimension, value.parent, value.depth) if leaf.is_leaf
        )
        for value in values.values()
    }
    lexicon = Lexicon(
        domain=read.domain,
        artifact_type=read.artifact_type,
        world=read.world,
        requests=(read.request,) if isinstance(read.request, str) else read.request,
        dimensions={each.name: each for each in read.dimensions},
        values=values,
        form=read.form,
        heroes=read.heroes,
        lineages=lineages,
        below=below,
        by_text={
            **{normalised(value.formerly): value.id for value in values.values() if value.formerly},
            **{normalised(value.text): value.id for value in values.values()},
        },
        cue_index=_cue_index(read.domain, {value.id: value.cues for value in values.values()}),
        talk_index=_cue_index(read.domain, {value.id: value.cues + value.talk for value in values.values()}),
        aspects={each.name: _stems(re.sub(r"\bthe\b", "", each.aspect)) for each in read.dimensions},
        rank={value_id: place for place, value_id in enumerate(values)},
        clashes=_clashes(read, values, lineages, below),
    )
    check_lexicon(lexicon)
    return lexicon


def _placed(rows: Iterable[Value], dimension: str, parent: str | None = None, depth: int = 1) -> Iterator[Value]:
    """Values and what lies below them, told where they stand; a broader one comes before those below it."""
    for value in rows:
        value.dimension, value.parent, value.depth = dimension, parent, depth
        if PRONOUN.search(value.line):
            value.told, value.line = value.line, PRONOUN.sub(r"\1", value.line)
        yield value
        yield from _placed(value.values, dimension, value.id, depth + 1)


def _clashes(
    file: _File, values: dict[str, Value], lineages: dict[str, tuple[str, ...]], below: dict[str, tuple[str, ...]]
) -> dict[str, frozenset[str]]:
    """Leaf → leaves that replace it, where values say which stand beside each other, and those ruled out by name."""
    pairs: list[tuple[str, str]] = []
    for dimension in file.dimensions:
        if any(value.beside for value in values.values() if value.dimension == dimension.name):
            both = combinations(dimension.leaves, 2)
            pairs += [pair for pair in both if not _stand_beside(lineages[pair[0]], lineages[pair[1]], values)]
    for value in values.values():
        for other in value.never_with:
            if other not in values:
                raise LexiconError(f"{file.domain}: {value.id!r} is never with {other!r}, which is no value")
            pairs += product(below[value.id], below[other])
    clashes: dict[str, set[str]] = {value.id: set() for value in values.values() if value.is_leaf}
    for one, two in pairs:
        clashes[one].add(two)
        clashes[two].add(one)
    return {value_id: frozenset(others) for value_id, others in clashes.items()}


def _stand_beside(one: Sequence[str], two: Sequence[str], values: Mapping[str, Value]) -> bool:
    """Whether one of the branches, where two lineages part, is `beside` the other."""
    first = next(value_id for value_id in reversed(one) if value_id not in two)
    second = next(value_id for value_id in reversed(two) if value_id not in one)
    return values[first].beside or values[second].beside


def _cue_index(domain: str, cues: dict[str, tuple[str, ...]]) -> CueIndex:
    owners: dict[tuple[str, ...], str] = {}
    for value_id, phrases in cues.items():
        for cue in phrases:
            key = tuple(_stems(cue).split())
            if not 1 <= len(key) <= MAX_CUE_WORDS:
                raise LexiconError(f"{domain}: cue {cue!r} of {value_id!r} must have 1 to {MAX_CUE_WORDS} words")
            if owners.setdefault(key, value_id) != value_id:
                raise LexiconError(f"{domain}: cue {cue!r} belongs to both {owners[key]!r} and {value_id!r}")
    index: CueIndex = {}
    for key in sorted(owners, key=len, reverse=True):
        index.setdefault(key[0], {})[key] = owners[key]
    return index


def check_lexicon(lexicon: Lexicon) -> None:
    """Hold the rules that keep the miniature honest; raise `LexiconError` on the first broken one.

    - requests have {items} in them; some dimension is asked for; the form has a row for every part and no other
    - ids are single tokens, no dimension stands twice or shares its name with a value; texts are unique
    - a cue holds a word that is not everyday grammar; said in talk, a phrase may do without ("to the right")
    - taxonomies branch: a value has no children or at least two
    - every value's `say` names the value: it contains one of its own cues and no other value's outside its lineage
    - requirement texts use no word of hesitation or assent (`STOP_WORDS` beyond plain grammar are ignored anyway)
    - what is written has a line for every leaf, which names the leaf and nothing else: what it shows is judged by it
    - an opening names its value, alone, and holds no word of another requirement either
    - an aspect's words stand in none of the domain's requirement texts, and `say` uses no word that only other
      requirements hold: naming a category, or a thing already known, can then never name a hidden requirement
    """
    for problem in _problems(lexicon):
        raise LexiconError(f"{lexicon.domain}: {problem}")


def _problems(lexicon: Lexicon) -> Iterator[str]:
    dimensions, form = lexicon.dimensions, lexicon.form
    parts = form.parts.keys() if form else {dimension.part for dimension in dimensions.values()}
    rows = {row[1:] for row in form.frame.split() if row.startswith("$")} - {"title"} if form else parts
    rules = {  # what is wrong → whether it is right
        f"'request' must be a text with {{items}} in it, or a list of such texts, got {lexicon.requests!r:.60}": bool(
            lexicon.requests and all("{items}" in request for request in lexicon.requests)
        ),
        "no dimension is asked for: one that a request begins with has 'asked: true'": any(
            dimension.asked for dimension in dimensions.values()
        ),
        "the form's frame must have a row $NAME for the lines of every part, and no other": rows == parts,
        "a dimension goes to a part that the form lacks": all(each.part in parts for each in dimensions.values()),
        "two values share a requirement text": len({normalised(value.text) for value in lexicon.values.values()})
        == len(lexicon.values),
    }
    yield from (problem for problem, is_right in rules.items() if not is_right)
    for name in (*lexicon.values, *dimensions):
        if not _TOKEN.match(name) or (name in lexicon.values and name in dimensions):
            yield f"{name!r} must be one lower-case token, and the name of one thing"
    for value in lexicon.values.values():
        yield from _problems_of(value, lexicon)
    for dimension in dimensions.values():
        yield from _problems_of_aspect(dimension, lexicon)
    framed = frozenset().union(*map(content_words, lexicon.requests))
    holders = {word: value.id for value in lexicon.values.values() for word in content_words(value.text)}
    for value in lexicon.values.values():
        own = {word for each in lexicon.lineages[value.id] for word in content_words(lexicon.values[each].text)}
        for word in sorted((content_words(value.say) | content_words(value.opening) - framed) - own):
            if word in holders:
                yield (
                    f"say {value.say!r} of {value.id!r} uses {word!r}, which its own requirement lacks and the one of "
                    f"{holders[word]!r} holds"
                )


def _problems_of(value: Value, lexicon: Lexicon) -> Iterator[str]:
    """The rules about a value by itself."""
    if len(value.values) == 1:
        yield f"{value.id!r} has a single child; give it a sibling or drop it"
    if not value.text.strip() or not value.say.strip() or not value.cues:
        yield f"{value.id!r} needs text, say and at least one cue"
    for cue in (*value.cues, *(phrase for phrase in value.talk if " " not in phrase)):
        if STOP_WORDS.issuperset(words(cue)):
            yield f"cue {cue!r} of {value.id!r} holds only everyday words"
    for index in (lexicon.cue_index, lexicon.talk_index):
        found = _cue_hits(index, value.say)
        if value.id not in found or any(other not in lexicon.lineages[value.id] for other in found):
            yield f"say {value.say!r} of {value.id!r} must name it alone, got {list(found)}"
    if value.opening and list(_cue_hits(lexicon.talk_index, value.opening)) != [value.id]:
        yield f"the opening of {value.id!r} must name it alone: {value.opening!r}"
    if value.is_leaf and lexicon.domain not in SHIPPED_DOMAINS:  # of those the tests hold it: reading lines takes time
        sentences = _SENTENCE_END.split(value.line.strip())
        named = lexicon.most_specific({found: "" for each in sentences for found in _cue_hits(lexicon.cue_index, each)})
        if list(named) != [value.id]:
            yield (
                f"{value.id!r} needs a line, the sentence that a piece shows it by, which names it alone, by one of "
                f"its cues: got {', '.join(named) or 'nothing'} in {value.line!r:.80}"
            )


def _problems_of_aspect(dimension: Dimension, lexicon: Lexicon) -> Iterator[str]:
    aspect = content_words(dimension.aspect)
    if not aspect:
        yield f"aspect {dimension.aspect!r} of {dimension.name!r} has no content word"
    for value in lexicon.values.values():
        if content_words(value.text) & aspect:
            yield (
                f"the text {value.text!r} of {value.id!r} uses the aspect {dimension.aspect!r}; "
                "a user who names the category would leak it"
            )
    cue = tuple(lexicon.aspects[dimension.name].split())
    if owner := lexicon.talk_index.get(cue[0], {}).get(cue):
        yield f"the aspect {dimension.aspect!r} is also a cue of {owner!r}"


def _cue_hits(index: CueIndex, text: str, *, skip_negated: bool = False) -> dict[str, str]:
    """Value id → the phrase that named it; the longest cue wins at each place.

    Who says "no waves" or "without a frame" offers neither: in talk such phrases are passed over.
    """
    spoken = words(text)
    stems = tuple([stem(word) for word in spoken])
    found: dict[str, str] = {}
    end = 0  # of the cue before
    for position, first in enumerate(stems):
        if position < end or first not in index:
            continue
        for cue, value_id in index[first].items():
            if stems[position : position + len(cue)] == cue:
                end = position + len(cue)
                if not (skip_negated and denies(spoken[max(0, position - 4) : position])):
                    found.setdefault(value_id, " ".join(spoken[position:end]))
                break
    return found
