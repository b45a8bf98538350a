"""Who left a study on the way: counts by condition, of those who are deleted as well."""

import pytest

from discover_lib.metrics.intervals import share_difference, share_of
from workbench.study.desk import Desk
from workbench.study.study_report import attrition, attrition_lines, flow_lines, lost


def given(desk: Desk) -> str:
    code = desk.arrive()
    assert code
    desk.add(code, "consent")
    desk.add(code, "eligibility", answers={})
    return code


def arm_of(desk: Desk, code: str) -> str:
    [arm] = desk.assign(code).arms
    return arm


@pytest.fixture
def left(desk: Desk) -> Desk:
    """24 with a condition: of `base` all finish; of `tuned` 5 withdraw, 4 time out, 2 finish, 1 is at work."""
    ends = {"base": ["done"] * 12, "tuned": ["withdraw"] * 5 + ["timed_out"] * 4 + ["done"] * 2 + ["work"]}
    codes = [given(desk) for _ in range(24)]
    arms = {code: arm_of(desk, code) for code in codes}
    for code in codes:
        desk.add(code, "topic", topic="the sea")
    for code in codes:
        end = ends[arms[code]].pop()
        if end == "withdraw":
            desk.withdraw(code)
        elif end != "work":
            desk.add(code, "closed", why=end)
    for why in ("screened_out", "no_consent"):
        code = desk.arrive()
        assert code
        desk.add(code, "closed", why=why)
    early = desk.arrive()
    assert early and desk.withdraw(early)
    return desk


def test_every_end_is_counted_by_condition(left: Desk) -> None:
    before, base, tuned = attrition(left).values()
    assert before == {"people": 3, "screened_out": 1, "no_consent": 1, "withdrew": 1, "began": 0}
    assert base == {"people": 12, "began": 12, "finished": 12} and lost(base) == share_of(0, 12)
    assert tuned == {"people": 12, "began": 12, "finished": 2, "withdrew": 5, "timed_out": 4, "at_work": 1}
    assert lost(tuned) == share_of(9, 11)
    lines = attrition_lines(left)
    assert lines[0] == "before a condition was drawn: 1 withdrew, 1 no consent, 1 screened out"
    assert lines[-1].startswith("lost, tuned − base: 0.82 [0.") and lines[-1].endswith("(n = 11 and 12)")
    assert "withdrawn and deleted: 6 (5 at chat, 1 at consent)" in flow_lines(left)


@pytest.mark.parametrize(
    ("ours", "theirs", "difference"),  # Newcombe (1998), table II, method 10
    [
        ((56, 70), (48, 80), (0.2000, 0.0524, 0.3339)),
        ((9, 10), (3, 10), (0.6000, 0.1705, 0.8090)),
        ((10, 10), (0, 20), (1.0000, 0.6791, 1.0000)),
        ((5, 56), (0, 29), (0.0893, -0.0381, 0.1926)),
    ],
)
def test_the_interval_is_the_published_one(ours: tuple, theirs: tuple, difference: tuple) -> None:
    how = share_difference(share_of(*ours), share_of(*theirs))
    assert (how.mean, how.low, how.high) == pytest.approx(difference, abs=5e-5)
    back = share_difference(share_of(*theirs), share_of(*ours))
    assert (back.low, back.high) == pytest.approx((-how.high, -how.low))
