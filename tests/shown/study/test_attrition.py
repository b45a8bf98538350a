"""Who left a study on the way: counts by condition, of those who are deleted as well."""

from discover_lib.metrics.intervals import share_of
from workbench.study.desk import Desk
from workbench.study.study_report import ATTRITION_COLUMNS, attrition


def test_every_end_is_counted_by_condition(desk: Desk) -> None:
    """All 12 of `base` finish; of the 12 of `tuned` 5 withdraw, 4 time out, 2 finish and 1 is at work."""
    ends = {"base": ["done"] * 12, "tuned": ["withdrew"] * 5 + ["timed_out"] * 4 + ["done"] * 2 + ["at_work"]}
    codes = [str(desk.arrive()) for _ in range(24)]
    arms = {code: desk.assign(code).arms[0] for code in codes}
    left = [(code, ends[arms[code]].pop()) for code in codes]
    left += [(str(desk.arrive()), end) for end in ("screened_out", "no_consent", "withdrew")]  # before the draw
    for code, end in left:
        if end == "withdrew":
            assert desk.withdraw(code)
        elif end != "at_work":
            desk.add(code, "closed", why=end)
    before, base, tuned = (dict(zip(ATTRITION_COLUMNS, row, strict=True)) for row in attrition(desk))
    assert before["condition"] == "" and before["people"] == "3"
    assert [before[name] for name in ("screened_out", "no_consent", "withdrew")] == ["1"] * 3
    assert (base["people"], base["finished"], base["lost"]) == ("12", "12", str(share_of(0, 12)))
    ends_of_tuned = {"people": "12", "finished": "2", "withdrew": "5", "timed_out": "4", "at_work": "1"}
    assert ends_of_tuned.items() <= tuned.items() and tuned["lost"] == str(share_of(9, 11))
