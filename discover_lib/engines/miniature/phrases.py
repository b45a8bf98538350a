"""The phrase book: the frames of `phrases.yaml` by act and domain, and the noun phrases that fill them."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path
from string import Formatter
from typing import Any, NamedTuple

from discover_lib.base.leak_words import roots
from discover_lib.base.words import words
from discover_lib.engines.miniature.lexicon import Lexicon, Value, load_lexicon, read_yaml

FITTING, COMMON, STRANGE = 5.0, 2.0, 0.04  # weights of frames that suit the speaker, everybody, somebody else


@dataclass(frozen=True, eq=False)  # one of a kind, and quickly hashed
class Frame:
    """One wording with slots.

    Attributes:
        suits: the temperaments or assistants that it suits best; none for everybody.
        when: "first" if it makes sense only in a first reply, "later" if only after one, "" for both.
    """

    text: str
    suits: frozenset[str] = frozenset()
    when: str = ""

    @cached_property
    def slots(self) -> frozenset[str]:
        return frozenset(name for _, name, _, _ in Formatter().parse(self.text) if name)

    @cached_property
    def said(self) -> tuple[str, ...]:
        """Its own words between the slots, as `spoken`."""
        literals = (spoken(literal) for literal, _, _, _ in Formatter().parse(self.text))
        return tuple(literal for literal in literals if literal.strip())

    def is_in(self, spoken: str) -> bool:
        """Whether a text (its words, separated and surrounded by blanks) may have been made of this frame."""
        at = 0
        for literal in self.said:
            at = spoken.find(literal, at)
            if at < 0:
                return False
        return bool(self.said)


class Temperament(NamedTuple):
    """How one kind of person writes.

    Attributes:
        reacts: how often an answer to what the assistant did stands before the rest.
        loses_patience: how often they say so when nothing has been got right for long.
        capitals: whether sentences begin with capitals.
        ends: what a message may end in.
    """

    name: str
    reacts: float
    loses_patience: float
    ends: tuple[str, ...]
    capitals: bool = False


class Frames(dict[str, tuple[Frame, ...]]):
    """Frames by name, those of one name made when they are first asked for: a conversation needs few of them.

    Args:
        rows: name → rows of `phrases.yaml`.
        made: what makes frames of the rows of one name.
    """

    def __init__(self, rows: Mapping[str, Sequence[str]], made: Callable[[Sequence[str]], Iterable[Frame]]) -> None:
        super().__init__()
        self.rows = rows
        self._made = made

    def __missing__(self, name: str) -> tuple[Frame, ...]:
        # Of two threads that come here at once the first one's count, for both: a frame is known by its identity.
        return self.setdefault(name, tuple(self._made(self.rows[name])))


class PhraseBook(NamedTuple):
    """The frames that can be used in one domain.

    Attributes:
        acts: what users say, by act; under "asides" talk beside the point, for manners with longer messages.
        openings: what assistants say around what they make, by the verb of the move.
        plain: the plainest way to say an act: what assistants have to hear of all others.
        held: what the words of all requirements come from; of these a user may say only what the view allows.
    """

    acts: Frames
    openings: Frames
    plain: Mapping[str, str]
    temperaments: tuple[Temperament, ...]
    held: frozenset[str]


PHRASES = Path(__file__).with_name("phrases.yaml")


@lru_cache(maxsize=16)
def phrase_book(domain: str) -> PhraseBook:
    """The phrases of a domain, without those that its lexicon forbids.

    No frame holds a word that would be taken for a value or a category, and none of a user's a word that a requirement
    of the domain holds, in any inflection: the user could then say what they cannot know.
    """
    data, lexicon = read_yaml(PHRASES), load_lexicon(domain)
    kind = data["kinds"].get(domain, data["kinds"]["other"])
    own = kind.get("acts", {})
    acts = {act: [*rows, *own.get(act, ())] for act, rows in data["acts"].items()}
    held = frozenset().union(*(roots(value.text) for value in lexicon.values.values()))
    return PhraseBook(
        acts=Frames(acts | {"asides": data["asides"]}, partial(_frames, kind=kind, lexicon=lexicon, held=held)),
        openings=Frames(data["openings"], partial(_frames, kind=kind, lexicon=lexicon)),
        plain=data["plain"],
        temperaments=tuple(
            Temperament(name, **entry | {"ends": tuple(entry["ends"])}) for name, entry in data["temperaments"].items()
        ),
        held=held,
    )


def _frames(
    rows: Iterable[str], kind: Mapping[str, Any], lexicon: Lexicon, held: frozenset[str] = frozenset()
) -> Iterable[Frame]:
    for row in rows:
        row, _, when = row.partition(" @ ")
        text, _, suits = row.partition(" | ")
        for artifact in kind["artifact"]:
            filled = (
                text.replace("{artifact}", artifact).replace("{make}", kind["make"]).replace("{look}", kind["look"])
            )
            frame = Frame(filled, frozenset(suits.split()), when)
            if all(
                held.isdisjoint(roots(said)) and not lexicon.cue_hits(said, talk=True) and not lexicon.aspects_in(said)
                for said in frame.said
            ):
                yield frame
                break


def in_drawn_order(
    frames: tuple[Frame, ...], names: Collection[str], before: Sequence[str], rng: random.Random, speaker: str = ""
) -> Iterator[Frame]:
    """The frames that these names fill, in an order drawn by who suits them; those not used yet come first.

    Args:
        names: slots for which there is something to say.
        before: texts of the same speaker, as `spoken` gives them.
        speaker: a temperament of users, or an assistant's name.
    """
    # The greatest of r^(1/w) is a draw by weight, and the next greatest one from what is left.
    drawn = [rng.random() ** power for power in _powers(frames, speaker)]
    used = []
    for place in sorted(range(len(frames)), key=drawn.__getitem__, reverse=True):
        frame = frames[place]
        if frame.slots and not frame.slots.issubset(names):
            continue
        if any(map(frame.is_in, before)):
            used.append(frame)
        else:
            yield frame
    yield from used


@lru_cache(maxsize=4096)
def _powers(frames: tuple[Frame, ...], speaker: str) -> tuple[float, ...]:
    return tuple(
        1 / (COMMON if not frame.suits else FITTING if speaker in frame.suits else STRANGE) for frame in frames
    )


@lru_cache(maxsize=1024)  # turn after turn the same messages are looked through: those of the conversations in flight
def spoken(text: str) -> str:
    """The words of a text, as `Frame.is_in` looks for them."""
    return f" {' '.join(words(text))} "


# -- number and kind of noun phrases ----------------------------------------------------------------------------------

_DETERMINERS = ("a", "an", "one", "some")
_GERUND = re.compile(r"[a-z-]+ing(?: (?:on|out|in|from)\b.*)?")  # "eating out", which takes no article
_TAIL = re.compile(r" (?:of|with|in|on|at|from|for|to|by|about|along|over|around|that|who|where|inside|after|per)\b")


@lru_cache(maxsize=4096)
def number_of(value: Value) -> str:
    """The number of a value's `say`: "one" (an animal), "many" (cool tones), "mass" (heating) or "part" (the coast)."""
    if value.count:
        return value.count
    first = value.say.partition(" ")[0]
    if first in ("a", "an", "one"):
        return "one"
    if first == "the":
        return "part"
    head = _TAIL.split(value.say)[0]
    return "many" if re.search(r"[^s]s$", head) else "mass"


def _is_gerund(value: Value) -> bool:
    return not value.count and bool(_GERUND.fullmatch(value.say))


@lru_cache(maxsize=4096)
def the(value: Value) -> str:
    """The value as something already there: "a heron" → "the heron"."""
    first, _, rest = value.say.partition(" ")
    if first == "someone":
        return f"the one {rest}"
    if first == "something":
        kind, _, topic = rest.partition(" ")
        if kind == "in":
            return f"the {topic.removeprefix('the ')} angle"
        return f"the {'focus' if kind == 'on' else 'thing'} {rest}"
    if first in ("a", "an", "one", "the", "some"):
        return f"the {rest}"
    is_name = any(word[0].isupper() for word in value.say.split())
    return value.say if is_name or _is_gerund(value) else f"the {value.say}"


@lru_cache(maxsize=4096)
def other_than(value: Value) -> str:
    """Another value of the kind: "an animal" → "a different animal", "made by hand" → "a different way of …"."""
    first, _, rest = value.say.partition(" ")
    if first in ("something", "someone"):
        return f"{first} else {rest}"
    bare, number = rest if first in _DETERMINERS else value.say, number_of(value)
    if number == "part" or first[0].isupper():
        return f"a different part of {value.say}"
    if first in ("two", "several"):
        return f"a different take on {value.say}"
    if number == "mass":
        return f"a different {'way' if _is_gerund(value) else 'kind'} of {bare}"
    return f"different {bare}" if number == "many" else f"a different {bare}"


# -- how a message is typed -------------------------------------------------------------------------------------------

_ARTICLE = re.compile(r"\ba (?=[aeiou])(?!us|uni|eu|one)")
_SENTENCE_START = re.compile(r"(^|[.!?]\s+)([a-z])")
_I = re.compile(r"\bi\b")


def in_hand(text: str, temperament: Temperament, rng: random.Random) -> str:
    """A message as a person of this temperament types it."""
    text = _ARTICLE.sub("an ", text)
    if temperament.capitals:
        text = _SENTENCE_START.sub(lambda found: found[1] + found[2].upper(), _I.sub("I", text))
    end = rng.choice(temperament.ends)
    if text[-1].isalnum() or (end.startswith(" ") and text[-1] in "!."):
        return text + end
    return text
