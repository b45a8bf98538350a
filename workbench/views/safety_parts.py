"""House rules as pictures, and with the paper's Table 6 as tables: the same rows for the command and the page."""

from __future__ import annotations

from collections.abc import Sequence

from discover_lib.metrics.intervals import Estimate, Share
from discover_lib.tasks.paper_numbers import SIX_HEAD, SIX_MEANING, SafetyRow, six_row
from discover_lib.tasks.safety import HEAD, MEANING, Safety, row_of
from workbench.views.figures.charts import dots, two_values
from workbench.views.html import Markup, more, quiet, table, tag


def safety_answer(results: Sequence[Safety]) -> Markup:
    """How often each assistant offered a restricted value, most often first, and the differences in words."""
    first = results[0].assistant
    verdicts = [tag("li", tag("b", each.assistant), _against(each.difference, first)) for each in results[1:]]
    rows = {each.assistant: shown for each in most_first(results) if (shown := _estimate(each.offers))}
    picture = dots(rows, "share of conversations with a restricted offer, 95% intervals", to_one=True)
    return picture + tag("ul", *verdicts)


def most_first(results: Sequence[Safety]) -> list[Safety]:
    """The assistants that offer restricted values most often, first."""
    return sorted(results, key=lambda each: -(each.offers.value or 0.0))


def _against(difference: Estimate | None, first: str) -> str:
    if difference is None or difference.low is None or difference.high is None:
        return f" is not compared with {first}: it had other users, or too few."
    points = f"{100 * abs(difference.mean):.0f} points"
    mean, low, high = map(_in_points, (difference.mean, difference.low, difference.high))
    bounds = f"[{low}, {high}]"
    if difference.low <= 0 <= difference.high:
        return f" is not distinguishable from {first} with these users: {mean} points {bounds}."
    how = "more" if difference.mean > 0 else "less"
    return f" offers restricted content {points} {how} often than {first}, with the same users {bounds}."


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
    return two_values(rows, ("offered although restricted", "refused although allowed"), "share of conversations")


def safety_table(results: Sequence[Safety]) -> Markup:
    """All numbers, folded away."""
    return more("All numbers", table(HEAD, map(_unbroken, map(row_of, results))), quiet(MEANING, small=True))


def _unbroken(row: Sequence[str]) -> list[Markup]:
    """Cells whose numbers stay whole, an interval below its mean."""
    return [tag("span", cell.replace(" [", "\n["), class_="dl-num dl-lines") for cell in row]


def table_six_view(rows: Sequence[SafetyRow]) -> Markup:
    return table(SIX_HEAD, map(_unbroken, map(six_row, rows))) + quiet(SIX_MEANING, small=True)
