"""What the tiny language model is pretrained on: made-up conversations, in its own words, with a draft-like assistant.

They are no conversations of the simulator: a wisher with a value in some dimensions says now and then what they want,
like or doubt, by chance and not by the rules of intent discovery.  So the base model knows the language and does what
it is told, and has never met the user that it will be trained and evaluated on.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from discover_lib.engines.local.tiny_language import transcript
from discover_lib.engines.miniature.assistants import ask, draft, final_draft, mixed, options, show
from discover_lib.engines.miniature.lexicon import Lexicon
from discover_lib.engines.miniature.notation import Move, write
from discover_lib.engines.miniature.reading import Beliefs, UserReading

Policy = Callable[[Beliefs, random.Random], list[Move]]

TURNS = 5
DIMENSIONS_WISHED = (5, 9)
WISHES_AT_ONCE = (1, 1, 2, 3, 4)  # more than a user says, so that doing what is said is practised more
FINAL_SHARE = 0.5  # of the conversations end with the finished piece being asked for
# First every way of replying is practised, samples most of all: they are short, and choosing another value than the
# one just named is the hardest thing to learn.  Then mostly drafts, so that the base behaves like `draft` and has a
# little of everything else to explore from.
Manners = tuple[tuple[Policy, float], ...]
DRILLS: Manners = ((draft, 0.32), (show, 0.48), (mixed, 0.09), (options, 0.08), (ask, 0.03))
HABITS: Manners = ((draft, 0.80), (show, 0.12), (mixed, 0.03), (options, 0.03), (ask, 0.02))


@dataclass(frozen=True)
class Exchange:
    """One message of the wisher as a transcript, and the reply to it in the notation."""

    heard: str
    reply: str


class _Wisher:
    """Wants one value in some dimensions, from its broadest form to a leaf, and says so bit by bit."""

    def __init__(self, lexicon: Lexicon, rng: random.Random) -> None:
        self.lexicon = lexicon
        self.rng = rng
        low, high = (min(number, len(lexicon.dimensions)) for number in DIMENSIONS_WISHED)
        names = rng.sample(list(lexicon.dimensions), rng.randint(low, high))
        self.chains = {
            name: tuple(reversed(lexicon.lineages[rng.choice(lexicon.dimensions[name].leaves)])) for name in names
        }
        self.said = dict.fromkeys(names, 0)  # how far down each chain they have come

    def opens(self) -> UserReading:
        asked = [name for name in self.chains if self.lexicon.dimensions[name].asked]
        others = [name for name in self.chains if name not in asked]
        names = [*asked[:1], *self.rng.sample(others, len(others))][: self.rng.choice(WISHES_AT_ONCE)]
        return UserReading(wanted=tuple(self._next(name) for name in names))

    def goes_on(self, drafted: Sequence[str]) -> UserReading:
        """Something to want, a hint, a doubt, or only that something is missing."""
        kind = self.rng.random()
        if kind < 0.45:
            names = self._open()[: self.rng.choice(WISHES_AT_ONCE)]
            return UserReading(wanted=tuple(self._next(name) for name in names))
        name = self._open()[0]
        known = self.chains[name][: self.said[name]]
        if kind < 0.60:
            return UserReading(hinted=known[-1:], doubted=(name,))
        liked = self._met(name, drafted)
        if kind < 0.80 and liked:
            return UserReading(liked=liked, doubted=(name,))
        return UserReading(liked=self._met(self.rng.choice(list(self.chains)), drafted))

    def _open(self) -> list[str]:
        """Dimensions in an order of chance, those not yet said to the end before the others."""
        names = self.rng.sample(list(self.chains), len(self.chains))
        return sorted(names, key=lambda name: self.said[name] == len(self.chains[name]))

    def _next(self, name: str) -> str:
        """A value further down a chain, by one step or several."""
        chain = self.chains[name]
        self.said[name] = min(len(chain), self.said[name] + self.rng.choice((1, 1, 2, 3)))
        return chain[self.said[name] - 1]

    def _met(self, name: str, drafted: Sequence[str]) -> tuple[str, ...]:
        """The most specific value of a chain that the draft shows."""
        met = [value for value in self.chains[name] if any(self.lexicon.covers(value, each) for each in drafted)]
        return tuple(met[-1:])


def practice_conversation(
    lexicon: Lexicon, rng: random.Random, turns: int = TURNS, manners: Manners = HABITS
) -> list[Exchange]:
    """One conversation of `turns` turns, each reply in a manner drawn anew, and often the finished piece at its end."""
    wisher, beliefs = _Wisher(lexicon, rng), Beliefs(lexicon)
    exchanges = []
    for turn in range(turns):
        reading = wisher.opens() if turn == 0 else wisher.goes_on(beliefs.draft)
        beliefs = _heard(beliefs, reading)
        policy = rng.choices([each for each, _ in manners], [share for _, share in manners])[0]
        moves = policy(beliefs, rng)
        exchanges.append(Exchange(transcript(reading, lexicon.domain), write(moves, lexicon)))
        _recall(beliefs, moves)
    if rng.random() < FINAL_SHARE:
        moves = [Move("draft", final_draft(beliefs, rng))]
        exchanges.append(Exchange(transcript(UserReading(final=True), lexicon.domain), write(moves, lexicon)))
    return exchanges


def _heard(beliefs: Beliefs, reading: UserReading) -> Beliefs:
    """Beliefs after one more message (a new record, since what is known is worked out once for each)."""
    return Beliefs(
        beliefs.lexicon,
        wanted=[*beliefs.wanted, *reading.wanted],
        liked=[*beliefs.liked, *reading.liked],
        tried=beliefs.tried,
        asked=beliefs.asked,
        explored=beliefs.explored,
        draft=beliefs.draft,
        latest=reading,
    )


def _recall(beliefs: Beliefs, moves: Sequence[Move]) -> None:
    for move in moves:
        beliefs.tried += move.values
        if move.verb == "draft":
            beliefs.draft = move.values
        elif move.verb == "ask":
            beliefs.asked.append(str(move.dimension))
        elif move.dimension:
            beliefs.explored.append(move.dimension)
