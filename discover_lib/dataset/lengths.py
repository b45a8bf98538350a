"""Statistics of preference pairs: the paper's Table 3, margins, and whether length alone made the labels.

Every mean carries its interval over artifacts (see `discover_lib.metrics.intervals`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from discover_lib.core.conversation import Conversation
from discover_lib.core.rules import Rules
from discover_lib.dataset.rows import LabelledTurn, labelled_turns, total_of
from discover_lib.metrics.intervals import CONFIDENCE, Estimate, grouped, percent

if TYPE_CHECKING:
    import numpy as np

RESAMPLES = 1_000
STRONG_AUC = 0.1  # distance of the whole interval from chance, from which length is called a predictor
TAILS = ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)
FEWEST_ARTIFACTS = 10  # the fewest for a meaningful interval over artifacts

LengthVerdict = Literal["predicts", "some", "not_distinguishable", "too_few"]


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


# -- does length alone predict the label? ---------------------------------------------------------------------------


def difference(row: Mapping[str, Any]) -> int:
    """Tokens of a pair's chosen reply less those of the rejected one, counted as the reward counted them."""
    return int(row["chosen_tokens"] - row["rejected_tokens"])


def equal_discovery(row: Mapping[str, Any]) -> bool:
    """Whether both replies of a pair discover the same amount, so that the length penalty alone made the label."""
    return bool(row["chosen_discovered"] == row["rejected_discovered"])


@dataclass(frozen=True)
class LengthReport:
    """Does length alone predict which reply is preferred?

    Attributes:
        auc: for two pairs drawn at random and shown in either order, the chance that the greater length difference
            points at the chosen reply: 0.5 is chance, 1 means that longer is chosen, 0 that shorter is.
        low, high: its 95% interval over artifacts; None with fewer than two.
        chosen_longer, chosen_shorter: pairs; the rest are of equal length.
        by_penalty: pairs of equal discovery, whose label the length penalty alone made.
    """

    verdict: LengthVerdict
    n_pairs: int
    n_artifacts: int
    auc: float
    low: float | None
    high: float | None
    chosen_longer: int
    chosen_shorter: int
    by_penalty: int

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        way = "longer" if self.chosen_longer > self.chosen_shorter else "shorter"
        interval = "" if self.low is None or self.high is None else f", 95% interval {self.low:.2f} to {self.high:.2f}"
        words = {
            "predicts": f"Length alone predicts the label: the {way} reply is preferred",
            "some": f"Length says a little about the label: the {way} reply is preferred more often",
            "not_distinguishable": "Length alone does not predict the label: not distinguishable from chance",
            "too_few": "Too few artifacts to say whether length predicts the label",
        }[self.verdict]
        longer, shorter = (count / self.n_pairs for count in (self.chosen_longer, self.chosen_shorter))
        return (
            f"{words} (AUC {self.auc:.2f}, 0.5 is chance{interval}; "
            f"{self.n_pairs} pairs of {self.n_artifacts} artifacts; the longer reply is chosen in "
            f"{percent(longer)}, the shorter in {percent(shorter)})."
        )


def length_report(rows: Iterable[Mapping[str, Any]], resamples: int = RESAMPLES) -> LengthReport:
    """Does length alone predict the label of preference rows?  The interval comes from resampled artifacts.

    The verdict is "predicts" if the whole interval of the AUC is at least `STRONG_AUC` from chance.  It is "some" if
    this interval, or the one of the share of pairs whose longer reply is chosen, excludes 0.5.

    Raises:
        ValueError: no pairs.
    """
    import numpy as np

    kept = list(rows)
    if not kept:
        raise ValueError("no pairs, so there are no lengths to compare")
    differences = [difference(row) for row in kept]
    by_artifact = grouped(zip((row["artifact"] for row in kept), differences, strict=True))
    groups = [np.array(by_artifact[name], dtype=float) for name in sorted(by_artifact)]
    low = high = None
    often = False  # whether one of both lengths is chosen more often than chance
    if len(groups) > 1:
        drawn = np.random.default_rng(0).integers(0, len(groups), size=(resamples, len(groups)))
        values = _aucs(groups, np.array([np.bincount(places, minlength=len(groups)) for places in drawn]))
        low, high = (float(each) for each in np.quantile(values, TAILS))
        leads, sizes = np.array([np.sign(each).sum() for each in groups]), np.array([len(each) for each in groups])
        lead = np.quantile(leads[drawn].sum(axis=1) / sizes[drawn].sum(axis=1), TAILS)
        often = bool(lead[0] > 0 or lead[1] < 0)
    return LengthReport(
        verdict=_verdict(low, high, often, len(groups)),
        n_pairs=len(kept),
        n_artifacts=len(groups),
        auc=float(_aucs(groups, np.ones((1, len(groups)), dtype=int))[0]),
        low=low,
        high=high,
        chosen_longer=sum(each > 0 for each in differences),
        chosen_shorter=sum(each < 0 for each in differences),
        by_penalty=sum(map(equal_discovery, kept)),
    )


def _verdict(low: float | None, high: float | None, often: bool, n_artifacts: int) -> LengthVerdict:
    if low is None or high is None or n_artifacts < FEWEST_ARTIFACTS:
        return "too_few"
    if low >= 0.5 + STRONG_AUC or high <= 0.5 - STRONG_AUC:
        return "predicts"
    return "some" if often or low > 0.5 or high < 0.5 else "not_distinguishable"


def _aucs(groups: Sequence[np.ndarray], times: np.ndarray) -> np.ndarray:
    """Area under the ROC curve of "how much longer is this reply than the other one" for "it is the chosen one".

    Every pair is shown both ways round, so the positives are `d` and the negatives `−d`; the area is the share of
    couples of pairs with dᵢ + dⱼ > 0, equal ones counting half.  Lengths take few values, so each value is counted
    instead of sorting every sample.

    Args:
        times: `times[s, g]` says how often sample s holds group g.
    """
    import numpy as np

    values = np.unique(np.concatenate(groups))
    held = np.array([np.bincount(np.searchsorted(values, group), minlength=len(values)) for group in groups])
    counts = times @ held  # sample × value
    up_to = np.concatenate([np.zeros((len(counts), 1), dtype=int), counts.cumsum(axis=1)], axis=1)
    low, high = np.searchsorted(values, -values, side="left"), np.searchsorted(values, -values, side="right")
    total = up_to[:, -1:]
    above, equal = total - up_to[:, high], up_to[:, high] - up_to[:, low]
    couples = (counts * above).sum(axis=1) + (counts * equal).sum(axis=1) / 2
    return couples / total[:, 0] ** 2
