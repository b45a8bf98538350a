"""Reading replies and messages: parse drawings, find cues in prose, and gather an assistant's beliefs.

`read_reply` serves the judge and `read_user` the assistants.  Both read text only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple

from discover_lib.base.svg import SvgError, drawing_spans
from discover_lib.base.words import words
from discover_lib.core.conversation import Message
from discover_lib.core.state import Kind
from discover_lib.engines.miniature.lexicon import Lexicon, load_lexicon
from discover_lib.engines.miniature.rendering import is_drawn
from discover_lib.metrics.satisfaction import FINAL_REQUESTS, asks_for_final

PROSE_PIECE_WORDS = 25  # unquoted statements of at least this length are a piece of writing, not talk about one

_FENCE = re.compile(r"```[^\n]*\n(.*?)```", re.DOTALL)
_QUOTE = re.compile(r"(?:^>.*(?:\n|$))+", re.MULTILINE)
SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")


class ReplyReading(NamedTuple):
    """What a reply holds.  Each option maps value id → the evidence for it."""

    kind: Kind
    kind_reason: str
    options: tuple[Mapping[str, str], ...]
    dimensions_asked: tuple[str, ...] = ()  # slots that the reply names without a value


def read_artifact(text: str, domain: str, name: str = "") -> dict[str, str]:
    """Value id → evidence, for one finished piece of the domain.

    Args:
        name: what the artifact is filed under; a drawing that does not say what it shows may be named for it.

    Raises:
        SvgError: a drawing that cannot be parsed.
    """
    if is_drawn(domain):
        return dict(_read_drawing(text, name))
    hits = load_lexicon(domain).cue_hits(text)
    return {value_id: f"the text says “{phrase}”" for value_id, phrase in hits.items()}


@lru_cache(maxsize=2048)
def _read_drawing(svg: str, name: str) -> dict[str, str]:
    from discover_lib.engines.miniature.svg.read import read_svg

    return read_svg(svg, name)


@lru_cache(maxsize=2048)
def read_reply(text: str, domain: str) -> ReplyReading:
    """Classify a reply and read every option in it.

    Drafts, samples and mixed replies are artifacts: then only what was really made counts.  Otherwise the reply is a
    dialogue act, and the values that it names are what it surfaces.
    """
    pieces = pieces_of(text, domain)
    if pieces:
        count = "one finished piece" if len(pieces) == 1 else f"{len(pieces)} pieces to choose from"
        return ReplyReading("artifact", f"the reply holds {count}", tuple(_read_piece(each, domain) for each in pieces))
    lexicon = load_lexicon(domain)
    named = {value_id: f"the reply names “{phrase}”" for value_id, phrase in lexicon.cue_hits(text, talk=True).items()}
    touched = {lexicon.values[value_id].dimension for value_id in named}
    asked = tuple(name for name in lexicon.aspects_in(text) if name not in touched)
    reason = "the reply talks and asks, nothing was made"
    return ReplyReading("dialogue_act", reason, tuple({key: named[key]} for key in named), asked)


@lru_cache(maxsize=256)  # a reply is read by judge, user and assistant, and compared with the next one
def pieces_of(text: str, domain: str) -> Sequence[str]:
    """What was made in a reply, apart from what is said about it: drawings, fenced or quoted parts, or long prose."""
    if is_drawn(domain):
        return [text[start:end] for start, end in drawing_spans(text)]
    quotes = ["\n".join([row[1:].removeprefix(" ") for row in quote.split("\n")]) for quote in _QUOTE.findall(text)]
    if marked := _FENCE.findall(text) + quotes:
        return marked
    told = [sentence for sentence in SENTENCE.findall(text) if not sentence.rstrip().endswith("?")]
    return [" ".join(told)] if sum(len(words(sentence)) for sentence in told) >= PROSE_PIECE_WORDS else []


def _read_piece(piece: str, domain: str) -> dict[str, str]:
    """A drawing that does not parse shows nothing; the rest of the reply still counts."""
    try:
        return read_artifact(piece, domain)
    except SvgError:
        return {}


class UserReading(NamedTuple):
    """What a user message says, as an assistant can understand it."""

    wanted: tuple[str, ...] = ()  # values asked for plainly
    liked: tuple[str, ...] = ()  # values found good
    hinted: tuple[str, ...] = ()  # values near which something other is wanted
    doubted: tuple[str, ...] = ()  # dimensions in which something is not right yet
    final: bool = False  # the final artifact is asked for


_CLAUSE = re.compile(r"[.;!?\n]+|,?\s+\b(?:but|though|although|however)\b\s*,?", re.IGNORECASE)
_DOUBT = re.compile(
    r"\b(?:not sure|unsure|maybe|perhaps|somehow|off|missing|not quite|not there|isn'?t right|wrong"
    r"|else|another|different)\b",
    re.IGNORECASE,
)
# What is liked is to be there, but not as it is: "i like the boat, but not quite like this".
_NOT_AS_IT_IS = re.compile(
    r"\b(?:not quite|is off|another way|(?:something|a bit) different|different (?:ones?|version))\b", re.IGNORECASE
)
_LIKING = re.compile(r"\b(?:like|love|keep|works?|good|great|perfect|nice|happy with)\b", re.IGNORECASE)
_WISHING = re.compile(r"\b(?:would like|i'd like|want|need|should|please|can you|could you)\b", re.IGNORECASE)


@lru_cache(maxsize=16384)
def read_user(text: str, domain: str) -> UserReading:
    """Read one user message clause by clause: values that the user wants, likes or doubts.

    The request for the final artifact asks for no value, although it has the word "explanation".
    """
    if text in FINAL_REQUESTS.values():
        return UserReading(final=True)
    heard: dict[str, list[str]] = {"wanted": [], "liked": [], "hinted": [], "doubted": []}
    for clause in _CLAUSE.split(text):
        meant, values, aspects = _read_clause(clause, domain)
        heard[meant] += values
        if meant == "hinted":
            about = values or (heard["liked"][-1:] if not aspects and _NOT_AS_IT_IS.search(clause) else [])
            heard["doubted"] += [*aspects, *(load_lexicon(domain).values[value].dimension for value in about)]
    said = [tuple(dict.fromkeys(ids)) for ids in heard.values()]
    return UserReading(said[0], said[1], said[2], said[3], asks_for_final(text))


@lru_cache(maxsize=16384)  # messages are put together of the same clauses again and again
def _read_clause(clause: str, domain: str) -> tuple[str, Sequence[str], Sequence[str]]:
    """How a clause means the values that it names, these values, and the aspects that it doubts."""
    values = load_lexicon(domain).find_cues(clause, talk=True)
    wished = values and _WISHING.search(clause)
    if _DOUBT.search(clause) and not wished:
        return "hinted", values, load_lexicon(domain).aspects_in(clause)
    return "liked" if _LIKING.search(clause) and not wished else "wanted", values, ()


@dataclass
class Beliefs:
    """Read off the messages, oldest first, by `believe`; not changed afterwards.

    Attributes:
        wanted, liked: values asked for or found good, in order of saying.
        tried: values already drafted, shown or named by the assistant.
        asked: dimensions already asked about.
        draft: values of the last complete draft.
        latest: the last user message.
    """

    lexicon: Lexicon
    wanted: list[str] = field(default_factory=list)
    liked: list[str] = field(default_factory=list)
    tried: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    explored: list[str] = field(default_factory=list)  # dimensions in which alternatives were offered, in order
    draft: tuple[str, ...] = ()
    latest: UserReading = field(default_factory=UserReading)

    @cached_property
    def _known(self) -> dict[str, list[str]]:
        """The most specific values that the user asked for or liked, by dimension, latest last."""
        said = dict.fromkeys((*self.liked, *self.wanted))
        known: dict[str, list[str]] = {}
        for value in said:
            if not any(other != value and self.lexicon.covers(value, other) for other in said):
                known.setdefault(self.lexicon.values[value].dimension, []).append(value)
        return known

    def known_leaves(self) -> list[str]:
        """Leaf values that are agreed, at most as many a dimension as an artifact can hold."""
        return [value for leaves in self.agreed.values() for value in leaves]

    def sampled_with(self) -> list[str]:
        """What samples carry: what is agreed and, while it is open what the artifact is of, what was drafted last."""
        values, asked = self.lexicon.values, self.lexicon.dimensions
        first = next(name for name, dimension in asked.items() if dimension.asked)
        drafted = [value for value in self.draft if values[value].dimension == first and first not in self.agreed]
        return [*self.known_leaves(), *drafted[:1]]

    @cached_property
    def agreed(self) -> dict[str, list[str]]:
        """`known_leaves` by dimension, in the lexicon's order; without the dimensions that have none."""
        known, values = self._known, self.lexicon.values
        kept = {}
        for name in self.lexicon.dimensions:
            if name in known and (leaves := [value for value in known[name] if values[value].is_leaf]):
                kept[name] = [*reversed(self.lexicon.that_fit(reversed(leaves)))]
        return kept

    @cached_property
    def tried_before(self) -> frozenset[str]:
        """`tried`, to look up in."""
        return frozenset(self.tried)

    def doubted(self) -> str | None:
        """The dimension that the last message doubted, if it named one."""
        return self.latest.doubted[0] if self.latest.doubted else None

    @cached_property
    def narrowed(self) -> dict[str, str]:
        """Dimension → the value below which it is still open (hinted at just now, or known); absent if all of it is."""
        values = self.lexicon.values
        broad = {name: value for name, known in self._known.items() for value in known if not values[value].is_leaf}
        return broad | {values[value].dimension: value for value in self.latest.hinted}

    def settled(self, dimension: str) -> bool:
        """Whether a leaf (as many as an artifact holds) is agreed, and not doubted just now."""
        leaves = [value for value in self._known.get(dimension, ()) if self.lexicon.values[value].is_leaf]
        return len(leaves) >= self.lexicon.dimensions[dimension].holds and self.doubted() != dimension

    def is_touched(self, dimension: str) -> bool:
        """Whether the user has said anything of a dimension."""
        return dimension in self._known or dimension in self.latest.doubted or dimension in self.narrowed


def believe(messages: Sequence[Message], lexicon: Lexicon) -> Beliefs:
    """Read the conversation."""
    beliefs = Beliefs(lexicon)
    for message in messages:
        if message.role == "user":
            beliefs.latest = read_user(message.content, lexicon.domain)
            beliefs.wanted += beliefs.latest.wanted
            beliefs.liked += beliefs.latest.liked
        else:  # an own reply as its reader sees it, whoever wrote it
            asked, tried, draft, explored = _recollection(message.content, lexicon.domain)
            beliefs.asked += asked
            beliefs.tried += tried
            beliefs.draft = draft or beliefs.draft
            beliefs.explored += explored
    return beliefs


@lru_cache(maxsize=2048)
def _recollection(text: str, domain: str) -> tuple[tuple[str, ...], ...]:
    """What one own reply adds to `Beliefs`: asked, tried, draft and explored."""
    lexicon, reading = load_lexicon(domain), read_reply(text, domain)
    wholes, samples = parts_of(text, domain)
    tried = tuple(value for option in reading.options for value in option)
    return reading.dimensions_asked, tried, tuple(wholes[-1]) if wholes else (), varied(samples, lexicon)


def varied(options: Sequence[Mapping[str, str]], lexicon: Lexicon) -> tuple[str, ...]:
    """The dimensions in which options differ; of a single one, all that it shows."""
    shared = set.intersection(*map(set, options)) if len(options) > 1 else set()
    shown = (lexicon.values[value].dimension for option in options for value in option if value not in shared)
    return tuple(dict.fromkeys(shown))


@lru_cache(maxsize=256)  # the user who points at a part, and the assistant who goes on from it
def parts_of(text: str, domain: str) -> tuple[Sequence[Mapping[str, str]], Sequence[Mapping[str, str]]]:
    """`wholes_and_samples` of a reply."""
    return wholes_and_samples(read_reply(text, domain).options, load_lexicon(domain))


def wholes_and_samples(
    options: Sequence[Mapping[str, str]], lexicon: Lexicon
) -> tuple[list[Mapping[str, str]], list[Mapping[str, str]]]:
    """The options that are complete artifacts, and the others.

    An artifact has values in most of the required dimensions.  It differs from every other option in more than one
    dimension.
    """
    values, expected = lexicon.values, lexicon.required
    wholes, samples = list[Mapping[str, str]](), list[Mapping[str, str]]()
    for option in options:
        settled = expected.intersection([values[value].dimension for value in option])
        others = () if 2 * len(settled) <= len(expected) else options
        differences = ({values[value].dimension for value in option.keys() ^ other.keys()} for other in others)
        is_whole = bool(others) and all(len(dimensions) != 1 for dimensions in differences)
        (wholes if is_whole else samples).append(option)
    return wholes, samples
