"""Reading replies and messages: what is really in them, by parsing drawings and recognising cues in prose.

`read_reply` serves the judge, `read_user` the assistants.  Both see text alone, from whomever it comes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from discover_lib.base.svg import SvgError, drawing_spans
from discover_lib.base.words import words
from discover_lib.core.state import Kind
from discover_lib.engines.miniature.lexicon import load_lexicon
from discover_lib.engines.miniature.rendering import is_drawn
from discover_lib.metrics.satisfaction import FINAL_REQUESTS, asks_for_final

PROSE_PIECE_WORDS = 25  # unquoted statements of at least this length are a piece of writing, not talk about one

_FENCE = re.compile(r"```[^\n]*\n(.*?)```", re.DOTALL)
_QUOTE = re.compile(r"(?:^>.*(?:\n|$))+", re.MULTILINE)
_QUOTE_MARK = re.compile(r"^> ?", re.MULTILINE)
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")


@dataclass(frozen=True)
class ReplyReading:
    """What a reply holds.  Each option maps value id → the evidence for it."""

    kind: Kind
    kind_reason: str
    options: tuple[Mapping[str, str], ...]
    dimensions_asked: tuple[str, ...] = ()  # slots that the reply names without a value


def read_artifact(text: str, domain: str, name: str = "") -> dict[str, str]:
    """Value id → evidence, for one finished piece of the domain.

    Args:
        name: what the piece is filed under; a drawing that does not say what it shows may be named for it.

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
    quotes = [_QUOTE_MARK.sub("", quote) for quote in _QUOTE.findall(text)]
    if marked := _FENCE.findall(text) + quotes:
        return marked
    told = [sentence for sentence in _SENTENCE.findall(text) if not sentence.rstrip().endswith("?")]
    return [" ".join(told)] if sum(len(words(sentence)) for sentence in told) >= PROSE_PIECE_WORDS else []


def _read_piece(piece: str, domain: str) -> dict[str, str]:
    """A drawing that does not parse shows nothing; the rest of the reply still counts."""
    try:
        return read_artifact(piece, domain)
    except SvgError:
        return {}


@dataclass(frozen=True)
class UserReading:
    """What a user message says, as an assistant can understand it."""

    wanted: tuple[str, ...] = ()  # values asked for plainly
    liked: tuple[str, ...] = ()  # values found good
    hinted: tuple[str, ...] = ()  # values near which something other is wanted
    doubted: tuple[str, ...] = ()  # dimensions in which something is not right yet
    final: bool = False  # the finished piece is asked for


_CLAUSE = re.compile(r"[.;!?\n]+|,?\s+\b(?:but|though|although|however)\b\s*,?", re.IGNORECASE)
_DOUBT = re.compile(
    r"\b(?:not sure|unsure|maybe|perhaps|somehow|off|missing|not quite|not there|isn'?t right|wrong"
    r"|else|another|different)\b",
    re.IGNORECASE,
)
_ANOTHER = re.compile(r"\b(?:something different|different ones?)\b", re.IGNORECASE)  # of the kind just liked
_LIKING = re.compile(r"\b(?:like|love|keep|works?|good|great|perfect|nice|happy with)\b", re.IGNORECASE)
_WISHING = re.compile(r"\b(?:would like|i'd like|want|need|should|please|can you|could you)\b", re.IGNORECASE)


@lru_cache(maxsize=16384)
def read_user(text: str, domain: str) -> UserReading:
    """Read one user message clause by clause: wishes, likings and doubts, by the words people use for them.

    The request for the finished piece wishes for nothing: its "explanation" is no wish for one.
    """
    if text in FINAL_REQUESTS.values():
        return UserReading(final=True)
    lexicon = load_lexicon(domain)
    wanted, liked, hinted, doubted = list[str](), list[str](), list[str](), list[str]()
    for clause in _CLAUSE.split(text):
        values = lexicon.find_cues(clause, talk=True)
        if values and _WISHING.search(clause):
            wanted += values
        elif _DOUBT.search(clause):
            hinted += values
            aspects = lexicon.aspects_in(clause)
            about = values or (liked[-1:] if not aspects and _ANOTHER.search(clause) else [])
            doubted += aspects + [lexicon.values[value].dimension for value in about]
        elif _LIKING.search(clause):
            liked += values
        else:
            wanted += values
    said = [tuple(dict.fromkeys(ids)) for ids in (wanted, liked, hinted, doubted)]
    return UserReading(said[0], said[1], said[2], said[3], asks_for_final(text))
