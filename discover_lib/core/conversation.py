"""Records of a conversation: plain frozen data that says everything about every turn and round-trips through JSON.

A `Conversation` holds the tree, the rules, the seed and its turns; every `Turn` keeps all candidate replies with
their evaluation, the state before and after, transitions, reward parts, the user's view and message.  That is enough
to replay any turn, to score under other rules without a new judgement, and to explain any single reward.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from discover_lib.core.intents import IntentTree
from discover_lib.core.reward import Reward
from discover_lib.core.rules import Rules
from discover_lib.core.state import Evaluation, IntentState, Transition
from discover_lib.core.view import UserView

Text = Literal["content", "notation"]  # the two forms of a message: what people read, what a tiny model writes


Role = Literal["user", "assistant"]
Stop = Literal["all_discovered", "all_satisfied", "max_turns", "error"]
FORMAT = "discover-conversation/1"


@dataclass(frozen=True)
class Artifact:
    """A finished piece of work from which intents are built."""

    id: str
    type: str  # "SVG drawing", "short story", ...
    text: str
    topic: str = ""
    domain: str = ""  # the miniature's domain, where it belongs to one

    def to_dict(self) -> dict[str, Any]:
        return {"id": self.id, "type": self.type, "topic": self.topic, "domain": self.domain, "text": self.text}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Artifact:
        return cls(data["id"], data["type"], data["text"], data.get("topic", ""), data.get("domain", ""))


@dataclass(frozen=True)
class Message:
    """One message.  `notation` is the compact form of a miniature assistant's reply, where there is one."""

    role: Role
    content: str
    notation: str | None = None

    def to_dict(self) -> dict[str, Any]:
        data: dict[str, Any] = {"role": self.role, "content": self.content}
        return data | ({"notation": self.notation} if self.notation is not None else {})

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Message:
        return cls(data["role"], data["content"], data.get("notation"))


@dataclass(frozen=True)
class Reply:
    """What an assistant said.

    Attributes:
        text: what people and the judge see.
        n_tokens: its length; `counting` names the way it was counted.
        notation: the compact form that a miniature assistant wrote, of which `text` is the rendering.
    """

    text: str
    n_tokens: int
    counting: str
    assistant: str = ""
    notation: str | None = None

    def to_dict(self) -> dict[str, Any]:
        return {
            "assistant": self.assistant,
            "text": self.text,
            "notation": self.notation,
            "n_tokens": self.n_tokens,
            "counting": self.counting,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Reply:
        return cls(data["text"], data["n_tokens"], data["counting"], data["assistant"], data["notation"])


@dataclass(frozen=True)
class Candidate:
    """One reply, judged against the turn's frozen state.  `error` says why it is unscored, if it is.

    Attributes:
        after: the state that the reply alone led to.
        reward: of the reply; with a look-ahead, of it and the turns in `ahead` together.
        ahead: what would come next if a reward assistant went on (see `discover_lib.core.rollout.LookAhead`).
    """

    reply: Reply
    evaluation: Evaluation | None
    after: IntentState
    transitions: tuple[Transition, ...] = ()
    reward: Reward | None = None
    error: str | None = None
    ahead: tuple[Turn, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        data = {
            "reply": self.reply.to_dict(),
            "evaluation": self.evaluation.to_dict() if self.evaluation else None,
            "after": self.after.to_dict(),
            "transitions": [transition.to_dict() for transition in self.transitions],
            "reward": self.reward.to_dict() if self.reward else None,
            "error": self.error,
        }
        return data | ({"ahead": [turn.to_dict() for turn in self.ahead]} if self.ahead else {})

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Candidate:
        return cls(
            Reply.from_dict(data["reply"]),
            Evaluation.from_dict(data["evaluation"]) if data["evaluation"] else None,
            IntentState.from_dict(data["after"]),
            tuple(map(Transition.from_dict, data["transitions"])),
            Reward.from_dict(data["reward"]) if data["reward"] else None,
            data["error"],
            tuple(map(Turn.from_dict, data.get("ahead", ()))),
        )


@dataclass(frozen=True)
class Turn:
    """One exchange: candidate replies to the same conversation, the chosen one, and the user's answer to it.

    Attributes:
        index: 1 for the first assistant turn.
        focus: roots that the judge was shown.
        user_message: None after the last turn of a conversation.
        leaks: content words of `user_message` that only intents unknown to the user hold; empty if it is honest.
        flaws: what else is wrong with `user_message` by its voice's own check ("length", "markup", "leak").
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

    def to_dict(self) -> dict[str, Any]:
        data: dict[str, Any] = {
            "index": self.index,
            "before": self.before.to_dict(),
            "candidates": [candidate.to_dict() for candidate in self.candidates],
            "chosen": self.chosen,
            "focus": list(self.focus),
            "view": self.view.to_dict(),
            "user_message": self.user_message,
            "leaks": list(self.leaks),
        }
        return data | ({"flaws": list(self.flaws)} if self.flaws else {})

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Turn:
        return cls(
            data["index"],
            IntentState.from_dict(data["before"]),
            tuple(map(Candidate.from_dict, data["candidates"])),
            data["chosen"],
            tuple(data["focus"]),
            UserView.from_dict(data["view"]),
            data["user_message"],
            tuple(data["leaks"]),
            tuple(data.get("flaws", ())),
        )


@dataclass(frozen=True)
class FinalTurn:
    """What came after the last turn: the user asks for the finished piece, and gets it.  Not judged, no reward."""

    request: str
    reply: Reply

    def to_dict(self) -> dict[str, Any]:
        return {"request": self.request, "reply": self.reply.to_dict()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> FinalTurn:
        return cls(data["request"], Reply.from_dict(data["reply"]))


@dataclass(frozen=True)
class Conversation:
    """A conversation so far, with all that is needed to repeat it.

    Attributes:
        start: the state before the first turn.
        seed: of this conversation; judge, voice and assistant draw from seeds derived from it.
        stop: why it ended, or None while it can go on.
        setting: what else made it: domain, engine, assistants, artifact id (plain values).
        final: the finished piece, where an evaluation has asked for it.
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
        messages = [Message("user", self.tree.initial_request)]
        for turn in self.turns[: len(self.turns) if turns is None else turns]:
            messages.append(Message("assistant", turn.reply.text, turn.reply.notation))
            if turn.user_message is not None:
                messages.append(Message("user", turn.user_message))
        return tuple(messages)

    def to_dict(self) -> dict[str, Any]:
        data = {
            "format": FORMAT,
            "tree": self.tree.to_dict(),
            "rules": self.rules.to_dict(),
            "seed": self.seed,
            "start": self.start.to_dict(),
            "turns": [turn.to_dict() for turn in self.turns],
            "stop": self.stop,
            "setting": dict(self.setting),
        }
        return data | ({"final": self.final.to_dict()} if self.final else {})

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Conversation:
        if data.get("format") != FORMAT:
            raise ValueError(f"not a conversation of this version: format is {data.get('format')!r}, not {FORMAT!r}")
        return cls(
            IntentTree.from_dict(data["tree"]),
            Rules.from_dict(data["rules"]),
            data["seed"],
            IntentState.from_dict(data["start"]),
            tuple(map(Turn.from_dict, data["turns"])),
            data["stop"],
            data["setting"],
            FinalTurn.from_dict(data["final"]) if "final" in data else None,
        )
