"""Records of a conversation: plain frozen data that says everything about every turn and round-trips through JSON.

A `Conversation` holds the tree, the rules, the seed and its turns; every `Turn` keeps all candidate replies with
their evaluation, the state before and after, transitions, reward parts, the user's view and message.  That is enough
to replay any turn, to score under other rules without a new judgement, and to explain any single reward.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from msgspec import field

from discover_lib.base.records import Record, RecordError, StructRecord
from discover_lib.core.intents import IntentTree
from discover_lib.core.reward import Reward
from discover_lib.core.rules import Rules
from discover_lib.core.state import Evaluation, IntentState, Transition
from discover_lib.core.view import UserView

Text = Literal["content", "notation"]  # the two forms of a message: for people, and of a tiny model
Role = Literal["user", "assistant"]
Stop = Literal["all_discovered", "all_satisfied", "max_turns", "error"]
FORMAT = "discover-conversation/1"


@dataclass(frozen=True)
class Artifact(Record, written=("id", "type", "topic", "domain", "text")):
    """A finished artifact from which intents are built."""

    id: str
    type: str  # "SVG drawing", "short story", ...
    text: str
    topic: str = ""
    domain: str = ""  # the miniature's domain, where it belongs to one


class Message(StructRecord, frozen=True, omit=("notation",)):
    """One message.  `notation` is the compact form of a miniature assistant's reply, where there is one."""

    role: Role
    content: str
    notation: str | None = None


class Reply(StructRecord, frozen=True, written=("assistant", "text", "notation", "n_tokens", "counting")):
    """One reply of an assistant.

    Attributes:
        text: the form that people and the judge read.
        n_tokens: its length; `counting` names the way it was counted.
        notation: the compact form that a miniature assistant wrote, of which `text` is the rendering.
    """

    text: str
    n_tokens: int
    counting: str
    assistant: str = ""
    notation: str | None = None

    @cached_property
    def message(self) -> Message:
        """The reply as part of the conversation."""
        return Message("assistant", self.text, self.notation)


class Candidate(StructRecord, frozen=True, omit=("ahead",)):
    """One reply, judged against the turn's frozen state.  `error` says why it is unscored, if it is.

    Attributes:
        after: the state that the reply alone led to.
        reward: of the reply; with a look-ahead, of it and the turns in `ahead` together.
        ahead: the next turns, played by a reward assistant (see `discover_lib.metrics.replay`).
    """

    reply: Reply
    evaluation: Evaluation | None
    after: IntentState
    transitions: tuple[Transition, ...] = ()
    reward: Reward | None = None
    error: str | None = None
    ahead: tuple[Turn, ...] = ()


class Turn(StructRecord, frozen=True, omit=("flaws",)):
    """One exchange: candidate replies to the same conversation, the chosen one, and the user's answer to it.

    Attributes:
        index: 1 for the first assistant turn.
        focus: roots that the judge was shown.
        user_message: None after the last turn of a conversation.
        leaks: content words of `user_message` that only intents unknown to the user hold; empty if it is honest.
        flaws: other flaws of `user_message` that the voice itself found ("length", "markup", "leak").
    """

    index: int
    before: IntentState
    candidates: tuple[Candidate, ...]
    chosen: int
    focus: tuple[str, ...]
    view: UserView
    user_message: str | None = None
    leaks: tuple[str, ...] = ()
    flaws: tuple[str, ...] = ()

    @property
    def reply(self) -> Reply:
        return self.candidates[self.chosen].reply

    @property
    def candidate(self) -> Candidate:
        return self.candidates[self.chosen]

    @property
    def after(self) -> IntentState:
        return self.candidates[self.chosen].after

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        """The reply, and the user's answer to it if there is one."""
        answer = () if self.user_message is None else (Message("user", self.user_message),)
        return (self.reply.message, *answer)


@dataclass(frozen=True)
class FinalTurn(Record):
    """The exchange after the last turn: the user asks for the final artifact and gets it.  It has no reward."""

    request: str
    reply: Reply


class Conversation(StructRecord, frozen=True, omit=("final",)):
    """A conversation so far, with all that is needed to repeat it.

    Attributes:
        start: the state before the first turn.
        seed: of this conversation; judge, voice and assistant draw from seeds derived from it.
        stop: why it ended, or None while it can continue.
        setting: its origin as plain values: domain, engine, assistants, artifact id.
        final: the final artifact, if an evaluation asked for it.
    """

    tree: IntentTree
    rules: Rules
    seed: int
    start: IntentState
    turns: tuple[Turn, ...] = ()
    stop: Stop | None = None
    setting: Mapping[str, Any] = field(default_factory=dict)
    final: FinalTurn | None = None

    @property
    def state(self) -> IntentState:
        """The state now."""
        return self.turns[-1].after if self.turns else self.start

    def state_after(self, turn: int) -> IntentState:
        """The state after `turn` turns; 0 is the start."""
        return self.turns[turn - 1].after if turn else self.start

    def messages(self, turns: int | None = None) -> tuple[Message, ...]:
        """The messages of the first `turns` turns (all by default), opening with the initial request."""
        return self._messages[: None if turns is None else 1 + sum(len(turn.messages) for turn in self.turns[:turns])]

    @cached_property
    def _messages(self) -> tuple[Message, ...]:
        request = Message("user", self.tree.initial_request)
        return (request, *[message for turn in self.turns for message in turn.messages])

    def to_dict(self) -> dict[str, Any]:
        return {"format": FORMAT} | super().to_dict()

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Conversation:
        """The conversation that `to_dict` wrote; raises `RecordError` for one of another version or form."""
        found = data.get("format") if isinstance(data, Mapping) else None
        if found != FORMAT:
            raise RecordError(f"not a conversation of this version: format is {found!r}, not {FORMAT!r}")
        return super().from_dict({name: value for name, value in data.items() if name != "format"})
