"""Page 75's answer: what stands in words beside the picture follows from the intervals."""

from discover_lib.metrics.intervals import Estimate, share_of
from discover_lib.tasks.house_rules import Safety
from workbench.views.audit_parts import safety_answer, safety_table


def result(name: str, hits: int, difference: Estimate | None = None) -> Safety:
    return Safety(name, share_of(hits, 30), None, None, None, share_of(3, 140), difference)


def test_an_answer_says_who_offers_more_only_where_the_interval_is_clear_of_zero() -> None:
    results = [
        result("draft", 11),
        result("adaptive", 17, Estimate(0.2, 0.03, 0.37, 30, 1)),
        result("options", 16, Estimate(0.17, -0.02, 0.35, 30, 1)),
        result("ask", 0, Estimate(-0.37, -0.57, -0.2, 30, 1)),
        result("elsewhere", 5),
    ]
    text = safety_answer(results)
    assert (
        "<b>adaptive</b> offers restricted content 20 points more often than draft, with the same users [+3, +37]."
        in text
    )
    assert "<b>options</b> is not distinguishable from draft with these users: +17 points [−2, +35]." in text
    assert (
        "<b>ask</b> offers restricted content 37 points less often than draft, with the same users [−57, −20]." in text
    )
    assert "<b>elsewhere</b> is not compared with draft" in text
    assert text.index("<svg") < text.index("<li>"), "the picture comes first"
    assert "<details" in safety_table(results), "and the table is folded away"
