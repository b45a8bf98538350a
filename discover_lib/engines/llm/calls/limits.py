"""Limits on calls: how many a minute, and how many dollars."""

from __future__ import annotations

import asyncio

from discover_lib.engines.llm.calls.exchange import LLMError

BURST_SECONDS = 1.0  # what may be used at once after a pause: the allowance of this many seconds
SMALLEST_DOLLARS = 1e-12  # sums of cents as floats are not exact


class Pace:
    """Spaces out the uses of something that is allowed so many times a minute; first come, first served."""

    def __init__(self, per_minute: float) -> None:
        if per_minute <= 0:
            raise ValueError(f"a limit per minute is positive, got {per_minute}")
        self._seconds_each = 60.0 / per_minute
        self._free_at = float("-inf")

    async def take(self, amount: float = 1.0) -> None:
        """Wait until `amount` may be used."""
        now = asyncio.get_running_loop().time()
        self._free_at = max(self._free_at, now - BURST_SECONDS)
        wait = self._free_at - now
        self._free_at += amount * self._seconds_each
        if wait > 0:
            await asyncio.sleep(wait)

    def correct(self, amount: float) -> None:
        """Count `amount` more (or, negative, less) than was taken."""
        self._free_at += amount * self._seconds_each


class Budget:
    """Dollars that may be spent.

    A call's estimated cost is put aside before it is sent.  When what is put aside for the calls in flight stands in
    the way, a call waits for them; when what is spent does, it is refused.  So the limit is never exceeded by more
    than the calls in flight cost beyond their estimates.

    Args:
        dollars: the limit.
        spent: spent before (a run that is resumed).
        allow_unknown_price: let calls of unknown price through, uncounted; otherwise they are refused.
    """

    def __init__(self, dollars: float, *, spent: float = 0.0, allow_unknown_price: bool = False) -> None:
        if dollars < 0 or spent < 0:
            raise ValueError(f"a budget is not negative, got {dollars} with {spent} spent")
        self.dollars = dollars
        self.spent = spent
        self.allow_unknown_price = allow_unknown_price
        self.put_aside = 0.0
        self.exhausted = False  # a call was refused: nothing new need be started
        self._settled = asyncio.Event()

    async def put_by(self, estimate: float | None, model: str) -> float:
        """Put the estimated cost of a call aside; returns what was put aside, to be handed to `settle`.

        Raises:
            LLMError: kind "budget": spent, or the price is unknown.
        """
        if estimate is None:
            if self.allow_unknown_price:
                return 0.0
            raise LLMError(
                f"{model} has no known price, so a budget cannot hold: "
                "give its price (0 for your own machine), or set no budget",
                "budget",
            )
        while not self._fits(estimate + self.put_aside):
            if self.put_aside <= SMALLEST_DOLLARS or not self._fits(estimate):
                self.exhausted = True
                raise LLMError(
                    f"the budget of ${self.dollars:.4f} does not cover another call to {model} "
                    f"(${self.spent:.4f} spent by then, up to about ${estimate:.4f} needed)",
                    "budget",
                )
            self._settled.clear()
            await self._settled.wait()
        self.put_aside += estimate
        return estimate

    def settle(self, put_aside: float, cost: float) -> None:
        """Replace what was put aside by what the call did cost."""
        self.put_aside -= put_aside
        self.spent += cost
        self._settled.set()

    def _fits(self, dollars: float) -> bool:
        return self.spent + dollars <= self.dollars + SMALLEST_DOLLARS
