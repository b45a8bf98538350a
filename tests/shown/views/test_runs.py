"""A run in a few lines."""

from discover_lib.runs.store import Counts, Failure, Spent
from workbench.views import runs

RULES = {"rules": {"name": "paper"}}


def test_what_is_zero_is_not_listed_and_what_is_unknown_is_said() -> None:
    quiet = dict(runs.facts(RULES, Counts(4, 4, 0, 20, 0), Spent(0, 0, 0, 0, 0.0, 0)))
    assert quiet == {
        "What": "run, seed not known",
        "Who": "see the conversations",
        "Rules": "paper",
        "How far": "4 of 4 conversations finished, 20 turns",
        "Cost": "no model was called",
    }
    engine = {"kind": "evaluate", "seed": 3, "engine": {"judge": "miniature"}}
    busy = dict(runs.facts(RULES | engine, Counts(4, 1, 2, 9, 3), Spent(5, 6, 7000, 80, 0.25, 2)))
    assert busy["How far"] == "1 of 4 conversations finished, 9 turns, 2 failed, 1 open"
    assert busy["Cost"] == "5 calls (6 attempts), 7,000 tokens in, 80 out, $0.2500 + 2 calls of unknown price"
    assert (busy["What"], busy["Who"]) == ("evaluate, seed 3", "judge: miniature")


def test_what_came_back_is_text_and_the_list_has_an_end() -> None:
    assert "Nothing failed" in runs.failures([])
    failure = Failure(2, "judge", "content", "not <b>JSON</b>", ("<script>",), ended=False)
    shown = runs.failures([(7, failure)] * 31)
    assert "<script>" not in shown and "&lt;script&gt;" in shown and "<b>" not in shown
    assert "conversation 7" in shown and "one reply stays unscored" in shown and "and 1 more" in shown
