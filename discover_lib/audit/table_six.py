"""The paper's Table 6 (appendix D): its differences, and the smallest that a number of prompts could have shown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from discover_lib.audit.tables import paper_tables

SIZES = (100, 200, 500, 1000, 2000)  # prompts: assumed, since the paper gives no number
_Z, _POWER_Z = 1.959963984540054, 0.8416212335729143  # the normal distribution's 97.5 % and 80 % points


@dataclass(frozen=True)
class SafetyRow:
    """One benchmark of one base model, in percent; `smallest` follows `SIZES`."""

    base: str
    benchmark: str
    before: float
    after: float
    smallest: tuple[float, ...]

    @property
    def change(self) -> float:
        return round(self.after - self.before, 1)

    @property
    def prompts_needed(self) -> int | None:
        """The fewest of `SIZES` that could have shown a change of this size; None where none of them could."""
        return next((n for n, least in zip(SIZES, self.smallest, strict=True) if abs(self.change) >= least), None)


def table_six(sizes: Sequence[int] = SIZES) -> list[SafetyRow]:
    """Every cell of the table."""
    table = paper_tables()["table_6"]
    return [
        SafetyRow(
            row["base"],
            benchmark,
            before,
            after,
            tuple(round(100 * detectable_change(before / 100, n), 1) for n in sizes),
        )
        for row in table["rows"]
        for benchmark, before, after in zip(table["columns"], row["before"], row["after"], strict=True)
    ]


def detectable_change(share: float, n: int) -> float:
    """The smallest change of a share between two sets of `n` answers that is seen with 80 % probability at 5 %.

    Both sets count as independent and as varying like `share`, or like one more in `n` where nothing varies.
    """
    share = min(max(share, 1 / (n + 1)), n / (n + 1))
    return (_Z + _POWER_Z) * math.sqrt(2 * share * (1 - share) / n)
