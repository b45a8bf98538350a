"""How varied the words of a text are: three measures that do not just grow or shrink with its length.

MATTR (Covington and McFall 2010), Yule's K (1944) and HD-D (McCarthy and Jarvis 2007), as published implementations
compute them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

WINDOW = 50  # words, of MATTR
DRAWS = 42  # words, of HD-D


def mattr(words: Sequence[str], window: int = WINDOW) -> float | None:
    """The mean share of different words in every window of this many.  None for a text that is shorter."""
    if not 0 < window <= len(words):
        return None
    inside = Counter(words[:window])
    total = len(inside)
    for gone, come in zip(words, words[window:], strict=False):
        inside[gone] -= 1
        if not inside[gone]:
            del inside[gone]
        inside[come] += 1
        total += len(inside)
    return total / (len(words) - window + 1) / window


def yules_k(words: Sequence[str]) -> float | None:
    """10⁴ × (Σ i² V(i) − N) / N², where V(i) words occur i times: 0 where none is repeated.  None without a word."""
    n = len(words)
    return 1e4 * (sum(count * count for count in Counter(words).values()) - n) / n**2 if n else None


def hdd(words: Sequence[str], draws: int = DRAWS) -> float | None:
    """The expected share of different words in a random draw of this many.  None for a text that is shorter."""
    n = len(words)
    if n < draws:
        return None
    # Hypergeometric: one minus the probability that none of a word's occurrences is drawn.
    all_draws = math.comb(n, draws)
    return sum(1 - math.comb(n - count, draws) / all_draws for count in Counter(words).values()) / draws
