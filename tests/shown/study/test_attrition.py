"""Who left a study on the way: counts by condition, of those who are deleted as well."""

import pytest

from discover_lib.metrics.intervals import share_of
from workbench.study.desk import Desk
from workbench.study.study_report import ATTRITION_COLUMNS, attrition


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
    before, base, tuned = (dict(zip(ATTRITION_COLUMNS, row, strict=True)) for row in attrition(left))
    assert before["condition"] == "" and before["people"] == "3"
    assert [before[name] for name in ("screened_out", "no_consent", "withdrew")] == ["1"] * 3
    assert (base["people"], base["finished"], base["lost"]) == ("12", "12", str(share_of(0, 12)))
    ends = {"people": "12", "finished": "2", "withdrew": "5", "timed_out": "4", "at_work": "1"}
    assert ends.items() <= tuned.items() and tuned["lost"] == str(share_of(9, 11))
