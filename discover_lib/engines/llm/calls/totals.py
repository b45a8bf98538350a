"""What one piece of work took of a client that others use, too."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from discover_lib.base.words import counted
from discover_lib.engines.llm.calls.records import Completion, Request
from discover_lib.engines.llm.calls.structured import Remarks


@dataclass(frozen=True)
class CallTotals:
    """Calls that some work rests on, whether they were paid for now or had been before.

    Attributes:
        asked_again: those of the calls that named what was wrong with the answer before.
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
        again = f" ({self.asked_again} of them to ask again)" if self.asked_again else ""
        unknown = f" and {counted(self.unpriced, 'call')} of unknown price" if self.unpriced else ""
        tokens = f"{self.prompt_tokens:,} tokens in, {self.completion_tokens:,} out"
        return f"{counted(self.calls, 'call')}{again}, {tokens}, ${self.dollars:.4f}{unknown}"


class CountingClient:
    """Asks through another client and adds up what this work took."""

    def __init__(self, client: Remarks) -> None:
        self.totals = CallTotals()
        self._client = client
        self._keys: set[str] = set()
        self._lock = threading.Lock()

    def complete(self, request: Request) -> Completion:
        completion = self._client.complete(request)
        with self._lock:
            if request.key not in self._keys:
                self._keys.add(request.key)
                self.totals += CallTotals(
                    1,
                    any(message["role"] == "assistant" for message in request.messages),
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
