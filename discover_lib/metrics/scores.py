"""An evaluation's record of one conversation: the assessment made after it, and the numbers that tables need.

A `ConversationScores` is small and plain: a thousand are read in a moment, without the conversations themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import msgspec

from discover_lib.base.leak_words import is_checkable
from discover_lib.base.records import Record
from discover_lib.core.conversation import Conversation, FinalTurn, Stop, Turn
from discover_lib.core.intents import IntentTree
from discover_lib.core.state import Discovery, IntentState
from discover_lib.core.view import hidden_texts
from discover_lib.metrics.near_misses import Steps, steps_of
from discover_lib.metrics.satisfaction import LeafScore
from discover_lib.metrics.scorer import Behaviour, InteractivityRating, TurnBehaviour, letters

VERSION = 1  # of the plain form of `ConversationScores`; another version is computed again from the conversation
EMERGING = 0.5  # value of an emerging intent (paper, eq. 4)

NOT_CHECKED = "not checked"


def leaks_told(leaks: int, unchecked: int) -> str:
    """A number of leaks in words: unchecked messages are named, so that 0 always means that all were checked."""
    if not unchecked:
        return str(leaks)
    return f"{leaks}, {unchecked} {NOT_CHECKED}" if leaks else f"{unchecked} {NOT_CHECKED}"


@dataclass(frozen=True)
class ScoringFailure(Record):
    """A part of an assessment that failed, and the answers that came back."""

    part: str  # "final", "satisfaction", "interactivity" or "behaviour"
    message: str
    came_back: tuple[str, ...] = ()


@dataclass(frozen=True)
class Assessment(Record):
    """The assessment of one finished conversation; a part that is None is unscored, and `failures` say why."""

    scorer: str
    final: FinalTurn | None = None
    satisfaction: tuple[LeafScore, ...] | None = None
    interactivity: InteractivityRating | None = None
    behaviour: tuple[TurnBehaviour, ...] | None = None
    failures: tuple[ScoringFailure, ...] = ()


@dataclass(frozen=True)
class ConversationScores(Record):
    """The numbers of one conversation.

    Attributes:
        place: of the conversation in its run.
        moves: every intent that was hidden at the start → the turns after which it was emerging or more, and
            discovered; 0 where it never was.
        rewards: per turn; None where the turn is unscored.
        tokens: per turn, of the replies that the conversation went on with.
        final_tokens: of the finished piece, where one was asked for.
        leaves: leaf → 1 to 5, or None where satisfaction is unscored.
        interactivity: 0 to 1, or None.
        behaviours: per turn, or None.
        leaks: user messages that leaked a hidden intent.
        unchecked: user messages that no check could read for leaks; they are no part of `leaks`.
        failed: parts of the assessment that failed.
        steps: see `discover_lib.metrics.near_misses`.
    """

    place: int
    domain: str
    artifact: str
    trial: int
    assistant: str
    stop: Stop | None
    moves: Mapping[str, tuple[int, int]]
    rewards: tuple[float | None, ...]
    tokens: tuple[int, ...]
    final_tokens: int | None = None
    leaves: Mapping[str, float] | None = None
    interactivity: float | None = None
    behaviours: tuple[Behaviour | None, ...] | None = None
    leaks: int = 0
    failed: tuple[str, ...] = ()
    steps: Steps = field(default=(0, 0, 0, 0), compare=False)
    unchecked: int = 0

    @property
    def known_leaks(self) -> int | None:
        """`leaks`; None if it is 0 and some messages were not checked."""
        return None if self.unchecked and not self.leaks else self.leaks

    @property
    def unit(self) -> str:
        """The user: the same artifact and trial is the same user for every assistant."""
        return f"{self.artifact}/{self.trial}"

    @property
    def turns(self) -> int:
        return len(self.tokens)

    @property
    def discovered(self) -> int:
        """Intents discovered beyond the initial ones."""
        return sum(found > 0 for _, found in self.moves.values())

    @property
    def share_discovered(self) -> float | None:
        """The headline number, as `discovery.share_discovered` counts it; None if no intent was hidden."""
        return self.discovered / len(self.moves) if self.moves else None

    def levels(self, turn: int | None = None, emerging: float = EMERGING) -> dict[str, float]:
        """Hidden intent → 0, `emerging` or 1 after this many turns (by default at the end)."""
        last = self.turns if turn is None else turn
        return {
            intent: 1.0 if 0 < found <= last else emerging if 0 < emerged <= last else 0.0
            for intent, (emerged, found) in self.moves.items()
        }

    def proportion(self, turn: int | None = None, emerging: float = EMERGING) -> float | None:
        """`share_discovered` with every emerging intent counted as `emerging`; None if no intent was hidden."""
        levels = self.levels(turn, emerging)
        return sum(levels.values()) / len(levels) if levels else None

    @property
    def reward(self) -> float | None:
        """Mean reward per turn, over the turns that have one."""
        known = [each for each in self.rewards if each is not None]
        return sum(known) / len(known) if known else None

    def to_dict(self) -> dict[str, Any]:
        """The plain form without `place`, which the run's table has; behaviors are one letter a turn."""
        data = super().to_dict()
        del data["place"], data["steps"]
        behaviours = None if self.behaviours is None else letters(self.behaviours)
        if self.domain and not self.unchecked:  # the miniature's texts are all read
            del data["unchecked"]
        return {"version": VERSION, **data, "behaviours": behaviours}

    def digest(self) -> dict[str, Any]:
        """The plain form with the steps of discovery, as a run's store keeps it."""
        return {**self.to_dict(), "steps": self.steps}

    @classmethod
    def from_json(cls, text: str, place: int) -> ConversationScores | None:
        """The scores whose `digest` was written as `text`; None if another version of the form wrote it.

        A record of a custom tree that does not say whether leaks were checked counts as another version.
        """
        try:
            plain = _PLAIN.decode(text)
        except msgspec.ValidationError:
            return None
        if plain.version != VERSION or (not plain.domain and plain.unchecked is None):
            return None
        return cls(
            place=place,
            domain=plain.domain,
            artifact=plain.artifact,
            trial=plain.trial,
            assistant=plain.assistant,
            stop=plain.stop,
            moves=_moves(bytes(plain.moves)),
            rewards=plain.rewards,
            tokens=plain.tokens,
            final_tokens=plain.final_tokens,
            leaves=plain.leaves,
            interactivity=plain.interactivity,
            behaviours=_behaviours(plain.behaviours),
            leaks=plain.leaks,
            failed=plain.failed,
            steps=plain.steps,
            unchecked=plain.unchecked or 0,
        )


class _Plain(msgspec.Struct, gc=False):
    """`ConversationScores.to_dict`, as it is read."""

    version: int
    domain: str
    artifact: str
    trial: Any
    assistant: str
    stop: Stop | None
    moves: msgspec.Raw
    rewards: tuple[float | None, ...]
    tokens: tuple[int, ...]
    final_tokens: int | None
    leaves: dict[str, int | float] | None
    interactivity: float | None
    behaviours: str | None
    leaks: int
    failed: tuple[str, ...]
    steps: tuple[int, int, int, int]
    unchecked: int | None = None


_PLAIN = msgspec.json.Decoder(_Plain)
_MOVES = msgspec.json.Decoder(dict[str, tuple[int, int]])


@lru_cache(maxsize=65536)
def _moves(text: bytes) -> dict[str, tuple[int, int]]:
    """The same object for all users who discovered the same at the same turns."""
    return _MOVES.decode(text)


@lru_cache(maxsize=4096)
def _behaviours(letters: str | None) -> tuple[Behaviour | None, ...] | None:
    names: dict[str, Behaviour | None] = {"D": "divergent", "C": "convergent", "-": None}
    return None if letters is None else tuple(names[letter] for letter in letters)


def scores_of(conversation: Conversation, place: int, assessment: Assessment | None = None) -> ConversationScores:
    """The numbers of a finished conversation; without an assessment, its parts are unscored."""
    setting, turns = conversation.setting, conversation.turns
    assessed = assessment or Assessment("")
    return ConversationScores(
        place=place,
        domain=setting.get("domain") or "",
        artifact=setting["artifact"],
        trial=setting["trial"],
        assistant="+".join(setting["assistants"]),
        stop=conversation.stop,
        moves=moves_of(conversation),
        rewards=tuple(turn.candidate.reward.total if turn.candidate.reward else None for turn in turns),
        tokens=tuple(turn.reply.n_tokens for turn in turns),
        final_tokens=assessed.final.reply.n_tokens if assessed.final else None,
        leaves=None
        if assessed.satisfaction is None
        else {each.intent_id: each.score for each in assessed.satisfaction},
        interactivity=assessed.interactivity.score if assessed.interactivity else None,
        behaviours=None if assessed.behaviour is None else tuple(each.behaviour for each in assessed.behaviour),
        leaks=sum(map(leaked, turns)),
        failed=tuple(each.part for each in assessed.failures),
        steps=steps_of(conversation),
        unchecked=unchecked_messages(conversation),
    )


def leaked(turn: Turn) -> bool:
    """Whether the user's message gives a hidden intent away: by the rule about words, or by its voice's own
    check, which may ask a model for paraphrases.
    """
    return bool(turn.leaks) or "leak" in turn.flaws


def is_leak_checked(message: str, tree: IntentTree, state: IntentState) -> bool:
    """Whether the rule about words can read a user's message and the hidden texts; if not, leaks stay unknown."""
    return is_checkable(message, hidden_texts(tree, state).values())


def unchecked_messages(conversation: Conversation) -> int:
    """User messages that could not be read for leaks, and in which no other check found one."""
    # Where all intents can be read, so can those that a turn left hidden.
    all_read = is_checkable("", [each.text for each in conversation.tree.intents.values()])
    return sum(
        turn.user_message is not None
        and not leaked(turn)
        and not (
            is_checkable(turn.user_message, ())
            if all_read
            else is_leak_checked(turn.user_message, conversation.tree, turn.after)
        )
        for turn in conversation.turns
    )


def moves_of(conversation: Conversation) -> dict[str, tuple[int, int]]:
    """Hidden intent → the turns after which it was emerging or more, and discovered; 0 for never."""
    return moves_through(conversation.tree, conversation.start, [turn.after for turn in conversation.turns])


def moves_through(tree: IntentTree, start: IntentState, after: Sequence[IntentState]) -> dict[str, tuple[int, int]]:
    """As `moves_of`, through the states after each turn."""
    emerged: dict[str, int] = {}
    discovered: dict[str, int] = {}
    for number, state in enumerate(after, 1):
        for intent, level in state.discovery.items():
            if level is not Discovery.UNDISCOVERED and intent not in discovered:
                emerged.setdefault(intent, number)
                if level is Discovery.DISCOVERED:
                    discovered[intent] = number
    hidden = (intent for intent in tree.intents if intent not in start.discovered)
    return {intent: (emerged.get(intent, 0), discovered.get(intent, 0)) for intent in hidden}
