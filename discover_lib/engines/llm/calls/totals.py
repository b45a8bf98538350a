"""What one piece of work took of a client that others use, too."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile

from discover_lib.base.words import counted, price_line
from discover_lib.engines.llm.calls.records import Completion, Request
from discover_lib.engines.llm.calls.structured import Remarks


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
    """Asks through another client and adds up what this work took.

    Args:
        on_ask: called with the purpose of every call before it is made.
    """

    def __init__(self, client: Remarks, on_ask: Callable[[str], None] = lambda _: None) -> None:
        self.totals = CallTotals()
        self._client = client
        self._on_ask = on_ask
        self._keys: dict[tuple[str, ...], set[str]] = {}  # question → calls that it took
        self._lock = threading.Lock()

    def complete(self, request: Request) -> Completion:
        self._on_ask(request.purpose)
        completion = self._client.complete(request)
        with self._lock:
            question = (
                request.purpose,
                *map(str, takewhile(lambda message: message["role"] != "assistant", request.messages)),
            )
            keys = self._keys.setdefault(question, set())
            if request.key not in keys:
                keys.add(request.key)
                self.totals += CallTotals(
                    1,
                    len(keys) == 2,
                    completion.prompt_tokens or 0,
                    completion.completion_tokens or 0,
                    completion.cost or 0.0,
                    completion.cost is None,
                )
        return completion

    def count_structured(self, purpose: str, outcome: str) -> None:
        self._client.count_structured(purpose, outcome)

    def remark(self, purpose: str, what: str, times: int = 1) -> None:
        self._client.remark(purpose, what, times)
