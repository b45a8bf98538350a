"""Messages of a user that were refused and asked for again: what was tried, and why not, read from the stored calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discover_lib.base.records import Record
from discover_lib.core.conversation import Conversation
from discover_lib.engines.llm.answers import UserMessage
from discover_lib.engines.llm.asking import REASK, UnusableError, read_answer
from discover_lib.engines.llm.prompting import transcript
from discover_lib.engines.llm.voice import LEAKED, PARAPHRASED, plain
from discover_lib.runs.calls import Call
from discover_lib.runs.store import RunStore

_BEFORE, _AFTER = REASK.split("{defect}")


@dataclass(frozen=True)
class Refused(Record, derived=("line",)):
    """A message that was not used.

    Attributes:
        turn: after whose reply it was to be said, from 1.
        why: as whoever wrote it was told.
        check: "word rule", "model's check", or "form" (its length, markup, or a break of the role).
    """

    turn: int
    message: str
    why: str
    check: str

    @property
    def line(self) -> str:
        return f"turn {self.turn}, refused by the {self.check}: {self.message!r}: {self.why}"


def refusals(store: RunStore) -> list[Call]:
    """The calls that asked for a user's message once more."""
    return [each for each in store.calls.finished("voice") if str(each.messages[-1]["content"]).startswith(_BEFORE)]


def refused_in(conversation: Conversation, asked_again: Sequence[Call]) -> list[Refused]:
    """The messages that were refused in a conversation; `asked_again` is of `refusals`."""
    refused = []
    before = [
        (turn, transcript((*conversation.messages(turn.index - 1), turn.reply.message)))
        for turn in (conversation.turns if asked_again else ())
    ]
    for call in asked_again:
        prompt = "\n".join(str(each["content"]) for each in call.messages[:-2])
        for turn, heard in before:
            if heard in prompt and f"{heard}\n<user>" not in prompt:
                why = str(call.messages[-1]["content"]).removeprefix(_BEFORE).removesuffix(_AFTER)
                message = _message(str(call.messages[-2]["content"]))
                if message is not None:
                    refused.append(Refused(turn.index, message, why, _check(why)))
    return refused


def _message(answer: str) -> str | None:
    """The message of an answer; None where it could not be read at all."""
    try:
        return plain(read_answer(answer, UserMessage, lambda _: None).value.message)
    except UnusableError:
        return None


def _check(why: str) -> str:
    if why == PARAPHRASED:
        return "model's check"
    return "word rule" if LEAKED in why else "form"
