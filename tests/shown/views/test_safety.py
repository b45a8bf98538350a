"""The restricted offers of assistants, as the page Trust tells them."""

from discover_lib.metrics.intervals import Estimate, share_of
from discover_lib.tasks.safety import Safety
from workbench.views.audit_parts import safety_told


def result(name: str, hits: int, difference: Estimate | None = None) -> Safety:
    return Safety(name, share_of(hits, 30), None, None, None, share_of(3, 140), difference)


def test_the_assistant_that_offers_most_is_first_and_only_a_clear_difference_is_one() -> None:
    results = [
        result("draft", 11),
        result("adaptive", 17, Estimate(0.2, 0.03, 0.37, 30, 1)),
        result("options", 16, Estimate(0.17, -0.02, 0.35, 30, 1)),
    ]
    offered, table = safety_told(results).parts
    assert list(offered.rows) == ["adaptive", "options", "draft"]
    assert [row[-1].endswith("not distinguishable") for row in table.rows] == [False, True, False]
