"""How users type: drawn as given, fitted to people, kept as numbers alone."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discover_lib.engines.manner import LONGEST, MANNERS, STEPS, Manner, MannerError, fit_manner, manner_named
from discover_lib.runs.options import RunOptions, lay_out

CHATS = [["an owl?", "no. make it much bigger, please!"], ["Draw me a sea.", "thanks " * 300]]


@pytest.mark.slow
@given(
    words=st.lists(st.integers(0, LONGEST), min_size=2, max_size=50).map(sorted),
    asks=st.floats(0, 1),
    seed=st.integers(),
)
def test_a_form_lies_within_the_quantiles(words: list[int], asks: float, seed: int) -> None:
    manner = Manner("x", tuple(words), asks, 0, 1)
    form = manner.form(random.Random(seed))
    assert max(1, words[0]) <= form.words <= max(1, words[-1]) and not form.exclaims
    assert form.asks if asks == 1 else not form.asks if asks == 0 else True


def test_forms_have_the_quantiles_they_are_drawn_from() -> None:
    forms = [MANNERS["terse"].form(random.Random(seed)) for seed in range(4000)]
    assert sum(form.words <= 4 for form in forms) / len(forms) == pytest.approx(0.65, abs=0.05)  # 4.5 is rounded to 4
    assert sum(form.asks for form in forms) / len(forms) == pytest.approx(0.15, abs=0.03)


def test_a_fit_by_hand() -> None:
    manner = fit_manner(CHATS, "two")
    assert (manner.name, manner.messages, len(manner.words)) == ("two", 4, STEPS + 1)
    assert (manner.words[0], manner.words[STEPS // 2], manner.longest) == (2, 6, LONGEST)  # of 2, 4, 6 and 300
    assert (manner.questions, manner.exclaims, manner.lower_case) == (0.25, 0.25, 0.75)
    with pytest.raises(ValueError, match="one chat at least"):
        fit_manner([])


def test_people_have_the_published_lengths() -> None:
    """2,231 turns of people in writing tasks: a median of 11 words, 19 % of at most five, 12 % above forty."""
    words = MANNERS["people"].words
    assert words[STEPS // 2] == 11 and words[STEPS * 5 // 40] <= 5 < words[STEPS * 8 // 40]
    assert words[-6] <= 40 < words[-4]


def test_every_chat_counts_once() -> None:
    assert fit_manner([["one"], ["one two three"] * 99]).words[STEPS // 5] == 1


def test_a_file_holds_numbers_and_comes_back(tmp_path: Path) -> None:
    manner = fit_manner(CHATS)
    manner.write(tmp_path / "us.json")
    assert manner_named(str(tmp_path / "us.json")) == manner
    text = (tmp_path / "us.json").read_text(encoding="utf-8").lower()
    assert not any(word in text for word in ("owl", "bigger", "draw", "thanks"))


@pytest.mark.parametrize(
    "text", ["{}", "[]", '{"format": "discover-manner/1"}', "x", '{"format": "discover-manner/1", "name": 3}']
)
def test_what_is_no_manner_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.json").write_text(text, encoding="utf-8")
    with pytest.raises(MannerError, match=r"bad\.json"):
        manner_named(str(tmp_path / "bad.json"))
    with pytest.raises(MannerError, match="terse, rambling, people"):
        manner_named("curt")


@pytest.mark.parametrize("share", ["questions", "exclaims", "lower_case"])
@pytest.mark.parametrize("value", [7, -0.1])
def test_shares_of_a_manner_lie_between_0_and_1(tmp_path: Path, share: str, value: float) -> None:
    replace(MANNERS["terse"], **{share: value}).write(tmp_path / "bad.json")
    with pytest.raises(MannerError, match=f"{share} is a share from 0 to 1"):
        manner_named(str(tmp_path / "bad.json"))


def test_a_run_names_its_manner_where_it_is_not_the_papers() -> None:
    plain = lay_out(RunOptions(("draft",), domain="svg_drawing", artifacts=1))
    assert "manner" not in plain.configuration and "manner" not in plain.units[0].setting
    terse = lay_out(RunOptions(("draft",), domain="svg_drawing", artifacts=1, manner=manner_named("terse")))
    assert set(terse.configuration) - set(plain.configuration) == {"manner"}
    assert terse.units[0].setting["manner"] == "terse" and terse.units[0].seed == plain.units[0].seed
    assert RunOptions.from_configuration(terse.configuration).manner == manner_named("terse")
    assert manner_named("paper") is None and RunOptions.from_configuration(plain.configuration).manner is None
