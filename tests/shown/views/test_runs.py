"""A run in a few lines."""

from discover_lib.runs.store import Failure
from workbench.views import audit_parts as runs


def test_what_came_back_is_text_and_the_list_has_an_end() -> None:
    assert "Nothing failed" in runs.failures([])
    failure = Failure(2, "judge", "content", "not <b>JSON</b>", ("<script>",), ended=False)
    shown = runs.failures([(7, failure)] * 31)
    assert "<script>" not in shown and "&lt;script&gt;" in shown and "<b>" not in shown
    assert "conversation 7" in shown and "one reply stays unscored" in shown and "and 1 more" in shown
