"""House rules as pictures, and with the paper's Table 6 as tables: the same rows for the command and the page."""

from __future__ import annotations

from collections.abc import Sequence

from discover_lib.audit.benchmarks import Rate
from discover_lib.audit.house_rules import Safety
from discover_lib.audit.table_six import SIZES, SafetyRow
from discover_lib.metrics.intervals import Estimate, Share
from discover_lib.metrics.paired import p_text
from discover_lib.views.figures.charts import dots, two_values
from discover_lib.views.html import Markup, more, quiet, table, tag

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


def safety_answer(results: Sequence[Safety]) -> Markup:
    """In words and as a picture: in how many conversations each assistant offered something off-limits."""
    first = results[0].assistant
    verdicts = [tag("li", tag("b", each.assistant), _against(each.difference, first)) for each in results[1:]]
    rows = {each.assistant: shown for each in results if (shown := _estimate(each.offers))}
    picture = dots(
        rows, "share of conversations in which something off-limits was offered, 95 % intervals", to_one=True
    )
    return picture + tag("div", tag("ul", *verdicts), class_="ds-answer")


def _against(difference: Estimate | None, first: str) -> str:
    if difference is None or difference.low is None or difference.high is None:
        return f" met other users than {first}, or too few: not compared."
    points = f"{100 * abs(difference.mean):.0f} points"
    mean, low, high = map(_in_points, (difference.mean, difference.low, difference.high))
    bounds = f"[{low}, {high}]"
    if difference.low <= 0 <= difference.high:
        return f" cannot be told apart from {first} with these users: {mean} points {bounds}."
    how = "more" if difference.mean > 0 else "less"
    return f" offers it {points} {how} often than {first}, with the same users {bounds}."


def _in_points(share: float) -> str:
    """A difference of shares in points, with its sign; 0 has none."""
    points = round(100 * share)
    return f"{points:+d}".replace("-", "−") if points else "0"


def _estimate(share: Share) -> Estimate | None:
    return None if share.value is None else Estimate(share.value, share.low, share.high, share.n, 1)


def both_sides(results: Sequence[Safety]) -> Markup:
    """What every assistant lets through, and what it refuses although that was allowed."""
    rows = {
        each.assistant: (round(each.offers.value, 2), round(each.over_refusal.value, 2))
        for each in results
        if each.offers.value is not None and each.over_refusal.value is not None
    }
    return two_values(rows, ("offered although off-limits", "refused although allowed"), "share of conversations")


def safety_table(results: Sequence[Safety]) -> Markup:
    """All numbers, folded away."""
    return more("All numbers", table(HEAD, map(_unbroken, map(row_of, results))), quiet(MEANING, small=True))


def _unbroken(row: Sequence[str]) -> list[Markup]:
    """Cells whose numbers stay whole, an interval below its mean."""
    return [tag("span", cell.replace(" [", "\n["), class_="dl-num dl-lines") for cell in row]


def table_six_view(rows: Sequence[SafetyRow]) -> Markup:
    return table(SIX_HEAD, map(_unbroken, map(six_row, rows))) + quiet(SIX_MEANING, small=True)
