"""Shares of counts, with their intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass

_Z = 1.959963984540054  # the normal distribution's 97.5 % point


@dataclass(frozen=True)
class Share:
    """`hits` of `n`, with the 95 % Wilson score interval; all None where there is nothing to count."""

    hits: int
    n: int
    value: float | None
    low: float | None
    high: float | None

    def __str__(self) -> str:
        if self.value is None or self.low is None or self.high is None:
            return "nothing to count (n = 0)"
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}] ({self.hits} of {self.n:,})"


def share_of(hits: int, n: int) -> Share:
    """The share `hits / n` with its Wilson interval, which holds its level near 0 and 1, where the usual one does not.

    Raises:
        ValueError: not 0 ≤ hits ≤ n.
    """
    if not 0 <= hits <= n:
        raise ValueError(f"a share needs 0 ≤ hits ≤ n, got {hits} of {n}")
    if n == 0:
        return Share(0, 0, None, None, None)
    value, z2 = hits / n, _Z**2
    middle = (value + z2 / (2 * n)) / (1 + z2 / n)
    reach = _Z * math.sqrt(value * (1 - value) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    low = 0.0 if hits == 0 else max(0.0, middle - reach)
    high = 1.0 if hits == n else min(1.0, middle + reach)
    return Share(hits, n, value, low, high)
