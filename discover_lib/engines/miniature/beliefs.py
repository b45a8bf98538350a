"""What an assistant can believe about the user from the conversation alone.

All scripted assistants think through here, and the rendering of samples takes from here what is already agreed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from discover_lib.core.conversation import Message
from discover_lib.engines.miniature.lexicon import Lexicon, load_lexicon
from discover_lib.engines.miniature.reading import UserReading, read_reply, read_user


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
        """Leaf values that are agreed, at most as many a dimension as a piece can hold."""
        return [value for leaves in self.agreed.values() for value in leaves]

    def sampled_with(self) -> list[str]:
        """What samples carry: what is agreed and, while it is open what the piece is of, what was drafted last."""
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

    def open_wishes(self) -> tuple[str, ...]:
        """What the last message asked for plainly."""
        return self.latest.wanted

    def doubted(self) -> str | None:
        """The dimension that the last message doubted, if it named one."""
        return self.latest.doubted[0] if self.latest.doubted else None

    def within(self, dimension: str) -> str | None:
        """The value below which the dimension is still open (hinted at just now, or known), or None for all of it."""
        return self._narrowed.get(dimension)

    @cached_property
    def _narrowed(self) -> dict[str, str]:
        values = self.lexicon.values
        broad = {name: value for name, known in self._known.items() for value in known if not values[value].is_leaf}
        return broad | {values[value].dimension: value for value in self.latest.hinted}

    def settled(self, dimension: str) -> bool:
        """Whether a leaf (as many as a piece holds) is agreed, and not doubted just now."""
        leaves = [value for value in self._known.get(dimension, ()) if self.lexicon.values[value].is_leaf]
        return len(leaves) >= self.lexicon.dimensions[dimension].holds and self.doubted() != dimension

    def is_touched(self, dimension: str) -> bool:
        """Whether the user has said anything of a dimension."""
        return dimension in self._known or dimension in self.latest.doubted or self.within(dimension) is not None


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
    wholes = whole_pieces(reading.options, lexicon)
    samples = [option for option in reading.options if option not in wholes]
    shared = set.intersection(*map(set, samples)) if len(samples) > 1 else set()
    varied = [lexicon.values[value].dimension for option in samples for value in option if value not in shared]
    tried = tuple(value for option in reading.options for value in option)
    return reading.dimensions_asked, tried, tuple(wholes[-1]) if wholes else (), tuple(dict.fromkeys(varied))


def whole_pieces(options: Sequence[Mapping[str, str]], lexicon: Lexicon) -> list[Mapping[str, str]]:
    """The options that are complete pieces rather than samples.

    A piece settles most of the dimensions that none does without, and is no alternative to another option, from which
    it would differ in one dimension only.
    """
    expected = {name for name, dimension in lexicon.dimensions.items() if not dimension.optional}
    dimension_of = {value: lexicon.values[value].dimension for option in options for value in option}
    wholes = []
    for option in options:
        settled = expected & {dimension_of[value] for value in option}
        differences = ({dimension_of[value] for value in option.keys() ^ other.keys()} for other in options)
        if 2 * len(settled) > len(expected) and not any(len(dimensions) == 1 for dimensions in differences):
            wholes.append(option)
    return wholes
