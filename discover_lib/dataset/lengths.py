"""Statistics of preference pairs: the paper's Table 3, margins, and how often the longer reply is chosen.

Every mean carries its interval over artifacts (see `discover_lib.metrics.intervals`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discover_lib.base.words import counted
from discover_lib.core.conversation import Conversation
from discover_lib.core.rules import Rules
from discover_lib.dataset.rows import LabelledTurn, labelled_turns, total_of
from discover_lib.metrics.intervals import CONFIDENCE, Estimate, bootstrap_mean, grouped, percent

RESAMPLES = 1_000
TAILS = ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)


@dataclass(frozen=True)
class Spread:
    """A mean over turns with its interval over artifacts, and the standard deviation over turns."""

    estimate: Estimate
    sd: float

    def __str__(self) -> str:
        mean, low, high = self.estimate.mean, self.estimate.low, self.estimate.high
        interval = "" if low is None or high is None else f" [{low:.2f}, {high:.2f}]"
        return f"{mean:.2f} ± {self.sd:.2f}{interval}"


# Labels of turns and wins that do not belong to one assistant.
SHARED = "highest reward shared by several assistants"
MOVED = "judge was shown another tree than these rules would show"
LEFT_OUT = {
    "one_candidate": "left out: one candidate",
    "failed_assistant": "left out: assistant failed",
    "failed_judgement": "left out: judgement failed",
}


@dataclass(frozen=True)
class Table3:
    """The paper's Table 3 for one set of conversations.

    Attributes:
        turns: turns with at least two judged candidates; the numbers below are about these.
        wins: assistant → turns in which it alone had the highest reward; with `shared` and `ties` they add up to turns.
        ties: turns in which all candidates were worth the same: no pair.
        shared: turns that make a pair, but whose highest reward several assistants share.
        others: kind → other turns: those left out, with fewer than two judged candidates, and those
            labelled under other rules whose judge was shown another tree than these rules would show.
    """

    artifacts: int
    turns: int
    chosen: Spread | None
    rejected: Spread | None
    margin: Spread | None
    wins: Mapping[str, int]
    ties: int
    shared: int
    others: Mapping[str, int]

    def rows(self) -> list[tuple[str, str]]:
        """The table as (label, figure), to be printed or shown."""

        def counted(number: int) -> str:
            return f"{number} ({percent(number / self.turns, 1)})" if self.turns else "0"

        rows = [("artifacts", str(self.artifacts)), ("turns", str(self.turns))]
        named = (("chosen reward", self.chosen), ("rejected reward", self.rejected), ("margin", self.margin))
        rows += [(name, str(spread)) for name, spread in named if spread is not None]
        rows += [(f"{name} wins", counted(count)) for name, count in self.wins.items()]
        rows.append(("ties (no pair)", counted(self.ties)))
        return rows + [(name, str(count)) for name, count in {SHARED: self.shared, **self.others}.items() if count]


def table_3(conversations: Iterable[Conversation], rules: Rules | None = None) -> Table3:
    """Turns, chosen and rejected rewards (mean ± sd), wins per assistant, ties; under `rules` or as it was run."""
    artifacts: list[str] = []
    judged: list[LabelledTurn] = []
    names: dict[str, None] = {}
    others: Counter[str] = Counter()
    for conversation in conversations:
        for each in labelled_turns(conversation, rules):
            names |= dict.fromkeys(candidate.reply.assistant for candidate in each.turn.candidates)
            others[MOVED] += not each.focus_kept
            if each.label.problem in LEFT_OUT:
                others[LEFT_OUT[each.label.problem]] += 1
                continue
            artifacts.append(str(conversation.setting.get("artifact", "")))
            judged.append(each)
    chosen, rejected = [total_of(each.best) for each in judged], [total_of(each.worst) for each in judged]
    wins = Counter(map(_winner, judged))
    ties = sum(each.label.problem == "tie" for each in judged)
    return Table3(
        artifacts=len(set(artifacts)),
        turns=len(judged),
        chosen=_spread(artifacts, chosen),
        rejected=_spread(artifacts, rejected),
        margin=_spread(artifacts, [high - low for high, low in zip(chosen, rejected, strict=True)]),
        wins={name: wins[name] for name in names},
        ties=ties,
        shared=wins[None] - ties,
        others=others,
    )


def _winner(each: LabelledTurn) -> str | None:
    """The assistant that alone has the highest reward; None in a tie, or where several share it."""
    leaders = {each.turn.candidates[place].reply.assistant for place in each.label.leaders}
    return leaders.pop() if each.label.problem is None and len(leaders) == 1 else None


def _spread(artifacts: Sequence[str], values: Sequence[float]) -> Spread | None:
    """Mean and standard deviation (n − 1) over turns; the interval resamples artifacts with all their turns."""
    import numpy as np

    if not values:
        return None
    names, places = np.unique(np.array(artifacts), return_inverse=True)
    numbers = np.array(values, dtype=float)
    sums, turns = np.bincount(places, numbers), np.bincount(places)
    mean, sd = float(numbers.mean()), float(numbers.std(ddof=1)) if len(values) > 1 else 0.0
    if len(names) == 1:
        return Spread(Estimate(mean, None, None, 1, len(values)), sd)
    drawn = np.random.default_rng(0).integers(0, len(names), size=(RESAMPLES, len(names)))
    low, high = np.quantile(sums[drawn].sum(axis=1) / turns[drawn].sum(axis=1), TAILS)
    return Spread(Estimate(mean, float(low), float(high), len(names), len(values)), sd)


# -- lengths -----------------------------------------------------------------------------------------------------------


def difference(row: Mapping[str, Any]) -> int:
    """Tokens of a pair's chosen reply less those of the rejected one, counted as the reward counted them."""
    return int(row["chosen_tokens"] - row["rejected_tokens"])


def length_line(rows: Iterable[Mapping[str, Any]]) -> str:
    """How often preference pairs, at least one, prefer the longer reply, and how many labels the penalty alone made."""
    kept = list(rows)
    longer, shorter = (
        bootstrap_mean(grouped((row["artifact"], float(sign * difference(row) > 0)) for row in kept))
        for sign in (1, -1)
    )
    equal = sum(row["chosen_discovered"] == row["rejected_discovered"] for row in kept)
    return (
        f"The longer reply is chosen in a share of {longer} of the pairs, the shorter reply in {shorter} "
        f"({counted(len(kept), 'pair')} of {counted(longer.n_artifacts, 'artifact')}). "
        f"In {counted(equal, 'pair')} both replies discover the same amount, so the length "
        "penalty alone makes the label."
    )
