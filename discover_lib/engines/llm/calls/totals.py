"""What one piece of work took of a client that others use, too."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from discover_lib.base.words import counted, price_line
from discover_lib.engines.llm.calls.exchange import Answered, Completion, Request
from discover_lib.engines.llm.calls.structured import Asks


@dataclass(frozen=True)
class CallTotals:
    """Calls that some work rests on, whether they were paid for now or had been before.

    Attributes:
        asked_again: answers that were asked for more than once.
        dollars: of the known prices; `unpriced` counts the calls of unknown price.
    """

    calls: int = 0
    asked_again: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    dollars: float = 0.0
    unpriced: int = 0

    def __add__(self, other: CallTotals) -> CallTotals:
        return CallTotals(**{name: mine + getattr(other, name) for name, mine in vars(self).items()})

    @property
    def line(self) -> str:
        again = f" ({counted(self.asked_again, 'answer')} asked for again)" if self.asked_again else ""
        tokens = f"{self.prompt_tokens:,} tokens in, {self.completion_tokens:,} out"
        return f"{counted(self.calls, 'call')}{again}, {tokens}, {price_line(self.dollars, self.unpriced, self.calls)}"


class CountingClient:
    """Asks through another client and keeps what this work took.

    Args:
        on_ask: called with the purpose of every call before it is made.
    """

    def __init__(self, client: Asks, on_ask: Callable[[str], None] = lambda _: None) -> None:
        self._client = client
        self._on_ask = on_ask
        self._lock = threading.Lock()
        self._taken: dict[str, Completion] = {}
        self._asked_again = 0

    def complete(self, request: Request) -> Completion:
        self._on_ask(request.purpose)
        completion = self._client.complete(request)
        with self._lock:
            self._taken[request.key] = completion
        return completion

    def note(self, answer: Answered) -> None:
        with self._lock:
            self._asked_again += answer.outcome in ("reasked", "failed")
        self._client.note(answer)

    @property
    def totals(self) -> CallTotals:
        taken = self._taken.values()
        return CallTotals(
            len(taken),
            self._asked_again,
            sum(each.prompt_tokens or 0 for each in taken),
            sum(each.completion_tokens or 0 for each in taken),
            sum(each.cost or 0.0 for each in taken),
            sum(each.cost is None for each in taken),
        )
