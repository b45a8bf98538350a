"""Which of several equal servers a call goes to: a conversation stays where it began, and its prefix stays warm."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Collection, Sequence

DOWN_SECONDS = 60.0  # how long a server that could not be reached is left alone, where there is another


class Servers:
    """Shares conversations out; thread-safe.

    A conversation begins at the server with the fewest calls in flight, of equals at the one that fewest conversations
    live at.  It moves only when its server cannot be reached.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._in_flight: Counter[str] = Counter()
        self._homes: dict[str, str] = {}  # conversation → address
        self._living: Counter[str] = Counter()
        self._down_until: dict[str, float] = {}

    def begin(self, session: str, addresses: Sequence[str], tried: Collection[str] = ()) -> str:
        """The address for a call of a conversation ("" for none), at least one of `addresses` being untried."""
        with self._lock:
            left = [address for address in addresses if address not in tried]
            up = [address for address in left if self._down_until.get(address, 0.0) <= time.monotonic()] or left
            home = self._homes.get(session)
            address = home if home in up else min(up, key=lambda each: (self._in_flight[each], self._living[each]))
            if session and address != home:
                if home is not None:
                    self._living[home] -= 1
                self._homes[session] = address
                self._living[address] += 1
            self._in_flight[address] += 1
            return address

    def end(self, address: str) -> None:
        """A call to this address has ended."""
        with self._lock:
            self._in_flight[address] -= 1

    def unreachable(self, address: str) -> None:
        """Leave this address alone for a while."""
        with self._lock:
            self._down_until[address] = time.monotonic() + DOWN_SECONDS


SERVERS = Servers()  # of the whole process: a run's conversations and their scores are asked for by two clients
