"""What an assistant can believe about the user from the conversation alone.

All scripted assistants think through here, and the rendering of samples takes from here what is already agreed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from discover_lib.core.conversation import Message
from discover_lib.engines.miniature.lexicon import Lexicon
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

    def known(self, dimension: str) -> list[str]:
        """The most specific values of a dimension that the user asked for or liked, latest last."""
        return self._known.get(dimension, [])

    @cached_property
    def _known(self) -> dict[str, list[str]]:
        said = dict.fromkeys((*self.liked, *self.wanted))
        known: dict[str, list[str]] = {}
        for value in said:
            if not any(self._below(value, other) for other in said):
                known.setdefault(self.lexicon.values[value].dimension, []).append(value)
        return known

    def known_leaves(self) -> list[str]:
        """Leaf values that are agreed, at most as many a dimension as a piece can hold."""
        kept = []
        for name, dimension in self.lexicon.dimensions.items():
            leaves = [value for value in self.known(name) if self.lexicon.values[value].is_leaf]
            kept += leaves[-dimension.holds :]
        return kept

    def open_wishes(self) -> list[str]:
        """What the last message asked for plainly."""
        return list(self.latest.wanted)

    def doubted(self) -> str | None:
        """The dimension that the last message doubted, if it named one."""
        return self.latest.doubted[0] if self.latest.doubted else None

    def within(self, dimension: str) -> str | None:
        """The value below which the dimension is still open (hinted at just now, or known), or None for all of it."""
        hinted = [value for value in self.latest.hinted if self.lexicon.values[value].dimension == dimension]
        broad = [value for value in self.known(dimension) if not self.lexicon.values[value].is_leaf]
        narrowed = hinted or broad
        return narrowed[-1] if narrowed else None

    def settled(self, dimension: str) -> bool:
        """Whether a leaf (as many as a piece holds) is agreed, and not doubted just now."""
        leaves = [value for value in self.known(dimension) if self.lexicon.values[value].is_leaf]
        return len(leaves) >= self.lexicon.dimensions[dimension].holds and self.doubted() != dimension

    def _below(self, value: str, other: str) -> bool:
        return value != other and self.lexicon.covers(value, other)


def believe(messages: Sequence[Message], lexicon: Lexicon) -> Beliefs:
    """Read the conversation."""
    beliefs = Beliefs(lexicon)
    for message in messages:
        if message.role == "user":
            _hear(beliefs, read_user(message.content, lexicon.domain))
        else:
            _recall(beliefs, message)
    return beliefs


def _hear(beliefs: Beliefs, reading: UserReading) -> None:
    beliefs.latest = reading
    beliefs.wanted += reading.wanted
    beliefs.liked += reading.liked


def _recall(beliefs: Beliefs, message: Message) -> None:
    """Remember an own reply as its reader sees it, whoever wrote it."""
    lexicon = beliefs.lexicon
    reading = read_reply(message.content, lexicon.domain)
    beliefs.asked += reading.dimensions_asked
    for option in reading.options:
        beliefs.tried += option
    wholes = [option for option in reading.options if is_whole(option, lexicon)]
    samples = [option for option in reading.options if option not in wholes]
    if wholes:
        beliefs.draft = tuple(wholes[-1])
    shared = set.intersection(*map(set, samples)) if len(samples) > 1 else set()
    varied = [value for option in samples for value in option if value not in shared]
    beliefs.explored += dict.fromkeys(lexicon.values[value].dimension for value in varied)


def is_whole(option: Collection[str], lexicon: Lexicon) -> bool:
    """Whether an option is a complete piece rather than a sample: it settles most dimensions."""
    return 2 * len({lexicon.values[value].dimension for value in option}) > len(lexicon.dimensions)
