"""The four roles.  The code between them (transition, reward, rollout, pictures) knows no engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, cast

from discover_lib.base.errors import DiscoverError
from discover_lib.core.conversation import Artifact, Message, Reply
from discover_lib.core.intents import IntentTree
from discover_lib.core.rules import Rules
from discover_lib.core.state import Evaluation, IntentState
from discover_lib.core.view import UserView


class RoleError(DiscoverError):
    """A role failed.  `role` names it, and `raw` holds the answers that came back."""

    role = "role"

    def __init__(self, line: str = "", raw: tuple[str, ...] = ()) -> None:
        super().__init__(line)
        self.raw = raw


class BuildError(RoleError):
    role = "builder"


class JudgeError(RoleError):
    role = "judge"


class VoiceError(RoleError):
    role = "voice"


class AssistantError(RoleError):
    role = "assistant"


@dataclass(frozen=True)
class Recognised:
    """One intent that the builder found in an artifact, with its evidence."""

    text: str
    dimension: str
    reason: str


@dataclass(frozen=True)
class BuiltTree:
    """A tree with the stages that led to it (paper, appendix A.1)."""

    tree: IntentTree
    recognised: tuple[Recognised, ...]  # synthesis: the most specific requirements
    levels: tuple[tuple[str, ...], ...]  # abstraction: level 0 is the most specific
    notes: tuple[str, ...] = ()  # for people: repairs of a model's answers, and parts that were not read


class TreeBuilder(Protocol):
    def build(self, artifact: Artifact) -> BuiltTree:
        """Build intent trees from a finished artifact.

        Raises:
            BuildError: the build failed; the message names the stage and the missing part.
        """


class Judge(Protocol):
    def evaluate(
        self, tree: IntentTree, state: IntentState, messages: Sequence[Message], reply: Reply, rules: Rules
    ) -> Evaluation:
        """Classify the reply and give a verdict on each intent that the judge is shown (paper, appendix A.2.1).

        `messages` is the conversation before `reply`.  Must not depend on anything else, so that candidates judged
        in any order against the same state get the same verdicts.

        Raises:
            JudgeError: the judge gave no verdict; the turn is then unscored and does not count as zero.
        """


class UserVoice(Protocol):
    """The user's words.

    A voice that may return a message in spite of a flaw has a method `flaws` that takes a message, its view and the
    messages before it.  It returns the kinds of flaw, none if the message is as it should be.
    """

    def speak(self, view: UserView, messages: Sequence[Message], seed: int) -> str:
        """The user's next message, said from the filtered view alone (paper, appendix A.2.3).

        Raises:
            VoiceError: the voice gave no message.
        """


class Assistant(Protocol):
    name: str

    def reply(self, messages: Sequence[Message], seed: int) -> Reply:
        """Answer the conversation, which ends with a user message.

        Raises:
            AssistantError: the assistant gave no reply.
        """


class SeesIntents(Protocol):
    """An upper bound, not an assistant: it is shown the user's intents (the oracle)."""

    name: str

    def reply_knowing(self, tree: IntentTree, state: IntentState, messages: Sequence[Message], seed: int) -> Reply: ...


def ask(
    assistant: Assistant | SeesIntents, tree: IntentTree, state: IntentState, messages: Sequence[Message], seed: int
) -> Reply:
    """The assistant's reply to the conversation; the intents reach it only if it `SeesIntents`."""
    if hasattr(assistant, "reply_knowing"):  # `isinstance` with a protocol takes a twentieth of a turn
        return cast(SeesIntents, assistant).reply_knowing(tree, state, messages, seed)
    return assistant.reply(messages, seed)
