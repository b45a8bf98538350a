"""A client whose model gives scripted answers, without a server."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from discover_lib.engines.llm.calls.exchange import Answered, Completion, LLMError, Request


class Script:
    """Answers calls with these replies in order, and leak checks with `checks`; the last reply is repeated.

    A reply is a text, an object (sent as JSON), a whole completion, or an error to raise.
    """

    def __init__(self, *replies: Any, checks: Sequence[Any] = ()) -> None:
        self.replies, self.checks = list(replies), list(checks)
        self.asked: list[Request] = []
        self.notes: list[Answered] = []

    def complete(self, request: Request) -> Completion:
        self.asked.append(request)
        replies = self.checks if "leak check" in request.purpose else self.replies
        reply = replies.pop(0) if len(replies) > 1 else replies[0]
        if isinstance(reply, LLMError):
            raise reply
        if isinstance(reply, Completion):
            return reply
        return Completion(reply if isinstance(reply, str) else json.dumps(reply), 10, 9, finish_reason="stop")

    def note(self, answer: Answered) -> None:
        self.notes.append(answer)

    def prompt(self, call: int = 0, message: int = -1) -> str:
        """A message of a call, by default its last."""
        return str(self.asked[call].messages[message]["content"])

    @property
    def remarks(self) -> Counter[str]:
        return sum((Counter(dict(note.remarks)) for note in self.notes), Counter())
