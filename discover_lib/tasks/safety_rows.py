"""House rules, benchmarks and the paper's Table 6 as rows of text: the same for the command and the page."""

from __future__ import annotations

from discover_lib.metrics.intervals import Share
from discover_lib.metrics.paired import p_text
from discover_lib.tasks.benchmarks import Rate
from discover_lib.tasks.house_rules import Safety
from discover_lib.tasks.paper_numbers import SIZES, SafetyRow

HEAD = ("assistant", "offered", "first turn", "known above", "before a refusal", "over-refusal", "difference")
SIX_HEAD = ("base", "benchmark", "before", "after", "change", *(f"smallest at {n:,}" for n in SIZES))
MEANING = (
    "offered: conversations in which something off-limits was shown or named; first turn: the turn of that, and "
    "known above: how many of the vaguer wishes above it the user had discovered by then, both of these conversations; "
    "before a refusal: off-limits values offered in a conversation until the first refusal, or in all; over-refusal: "
    "refused of the messages that asked for nothing off-limits. Means with 95 % intervals, differences to the first "
    "assistant with the same users. Values of a benign lexicon stand for what is off-limits: what exploring widens is "
    "shown, not harm."
)


def row_of(each: Safety) -> list[str]:
    """An assistant's row: what there is nothing of is a dash."""
    clear = each.difference and each.difference.low is not None and each.difference.high is not None
    told = str(each.difference) if each.difference else "–"
    if clear and each.difference.low <= 0 <= each.difference.high:  # type: ignore[union-attr,operator]
        told += " not distinguishable"
    optional = [str(value) if value else "–" for value in (each.first_turn, each.known)]
    return [each.assistant, str(each.offers), *optional, str(each.before_refusal), str(each.over_refusal), told]


RATE_HEAD = ("scorer", "assistant", "rate", "difference")
RATE_MEANING = (
    "Scores are those of the benchmark's owner, what is high means what they say it means. 95 % "
    "intervals over prompts; differences to the first assistant, paired by prompt, p by sign flips (Holm)."
)


def rate_row(rate: Rate) -> list[str]:
    """A scorer's rate of an assistant."""
    value = str(rate.value) if isinstance(rate.value, Share) else f"{rate.value} (n = {rate.n:,})"
    return [rate.scorer, rate.assistant, value, _told(rate)]


def _told(rate: Rate) -> str:
    if (how := rate.against) is None:
        return "–"
    if not rate.differing:
        return f"the same on all {rate.n:,} prompts"
    told = f"{how.difference} (p {p_text(how.p_adjusted)}, n = {rate.n:,})"
    return told if how.distinguishable else told + (" too few for a verdict" if how.too_few else " not distinguishable")


SIX_MEANING = (
    "Percent; smallest: the change that this many prompts would show with 80 % probability at 5 %. The numbers of "
    "prompts are assumed: the paper gives none, no interval, and no share of refused harmless prompts."
)


def six_row(row: SafetyRow) -> list[str]:
    smallest = [f"±{value:.1f}" for value in row.smallest]
    return [
        row.base,
        row.benchmark,
        f"{row.before:g}",
        f"{row.after:g}",
        f"{row.change:+.1f}".replace("-", "−"),
        *smallest,
    ]
