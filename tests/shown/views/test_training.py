"""Training as pictures: what is drawn, what is said in words, and that nothing of it is written in."""

import re

from discover_lib.train.training_job import latest
from workbench.views import training as show_training
from workbench.views.html import chip


def lines(count: int, **columns: float) -> list[dict[str, float]]:
    return [{"step": step, **{name: value * step for name, value in columns.items()}} for step in range(1, count + 1)]


def test_only_what_was_logged_is_drawn() -> None:
    shown = show_training.curves(lines(3, loss=0.5))
    assert re.findall(r"<figcaption>(.*?)</figcaption>", shown) == ["Loss"] and "training <b>1.5</b>" in shown
    shown = show_training.curves(lines(3, reward=1, **{"share/broken": 0.1, "share/building": 0.2}))
    assert re.findall(r"<figcaption>(.*?)</figcaption>", shown) == ["Reward", "What the replies are"]
    assert shown.count("<polyline") == 3
    for unscored, drawn in ((0.0, False), (0.1, True)):
        shown = show_training.curves([{"step": 1, "loss": 1.0, "share/unscored": unscored}])
        assert ("could not be scored" in shown) == drawn
    assert "No step is logged yet" in show_training.curves([])
    logged = lines(3, loss=0.5, kl=0.1)
    shown = show_training.curves(logged, without=show_training.main_chart(logged))
    assert re.findall(r"<figcaption>(.*?)</figcaption>", shown) == ["Distance from the reference"]


def test_a_curve_lies_where_its_numbers_are() -> None:
    """Two points of a share on an axis of ten steps: (5, 1/4) and (10, 1) in a drawing of 100 × 100."""
    shown = show_training.curves([{"step": 5, "share/broken": 0.25}, {"step": 10, "share/broken": 1.0}], 10)
    assert 'points="50.0,75.0 50.0,75.0 100.0,0.0"' in shown
    shown = show_training.curves([{"step": 5, "share/broken": 0.25}, {"step": 10, "share/broken": 1.0}], 20)
    assert 'points="25.0,75.0 25.0,75.0 50.0,0.0"' in shown and "step 20" in shown  # the rest is still to come


def test_what_could_not_be_scored_leaves_a_gap_and_no_zero() -> None:
    logged = [{"step": 1, "reward": 2.0}, {"step": 2, "reward": None}, {"step": 3, "reward": float("nan")}]
    assert show_training.points(logged, "reward") == [(1, 2.0)]
    assert 'points="33.3,50.0 33.3,50.0"' in show_training.curves(logged), "one point is a dot"


def test_a_probe_is_drawn_with_its_interval() -> None:
    probes = [{"step": step, "probe/discovered": 3.0, "probe/discovered_low": 2.0, "probe/discovered_high": 4.0}
              for step in (0, 10)]  # fmt: skip
    shown = show_training.curves([*probes, {"step": 10, "loss": 1.0}], 10)
    assert shown.count('class="dt-interval"') == 2 and 'points="100.0,0.0 100.0,50.0"' in shown
    assert latest([{"loss": 1.0, "kl": None}, {"kl": 2.0}, {"kl": None}]) == {"loss": 1.0, "kl": 2.0}


def test_replies_stand_side_by_side_and_are_not_trusted() -> None:
    prompt = [{"role": "system", "content": "hidden"}, {"role": "user", "content": "a <b>fox</b>"}]
    replies = {"base": "", "trained": "<script>x</script>"}
    shown = show_training.exchange(prompt, replies, {"trained": chip("broken notation", "bad")})
    assert "hidden" not in shown and "<script>" not in shown and "<b>fox" not in shown
    assert "(nothing)" in shown and shown.count("broken notation") == 1
