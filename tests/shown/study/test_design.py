"""A study file is checked whole, assignment is balanced in every block, and personal data is seen."""

from collections import Counter
from pathlib import Path

import pytest
from study_people import PAPER

from discover_lib.base.errors import DiscoverError
from workbench.study.design import hints, load_study, unfilled
from workbench.study.study_pages import personal_data


def test_every_block_holds_every_task_with_every_condition_once() -> None:
    study = load_study(PAPER)
    for block in range(40):
        cells = [study.cell(6 * block + place) for place in range(6)]
        assert set(Counter(cells).values()) == {1} and len(set(cells)) == 6
    firsts = Counter(study.cell(6 * block) for block in range(200))
    assert all(15 < count < 55 for count in firsts.values()), "the order within blocks is drawn"


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("title: Writing with an AI assistant\n", "", "missing required field `title`"),
        ("seed: 2602", "sead: 2602", "unknown field `sead`"),
        ("minimum: 8", "minimum: 80", "minimum ≤ maximum"),
        ("  base: {assistant: draft}\n", "", "at least two"),
        ("assistant: draft", "assistant: oracle", "oracle is shown intents"),
        ("domain: technical_writing", "domain: tecnical_writing", "needs a domain of the miniature"),
        ('admitted: ["yes"]', 'admitted: ["maybe"]', "admitted answers"),
        ("participants: 75", "participants: many", "Expected `int`"),
        ("name: writing", "name: [writing", "not valid YAML"),
    ],
)
def test_what_is_wrong_is_named_in_one_line(tmp_path: Path, before: str, after: str, said: str) -> None:
    file = tmp_path / "study.yaml"
    text = PAPER.read_text("utf-8")
    assert before in text
    file.write_text(text.replace(before, after), "utf-8")
    with pytest.raises(DiscoverError, match=said.replace("≤", ".")):
        load_study(file)


def test_what_the_information_sheet_must_say_is_named_until_it_is_filled_in(tmp_path: Path) -> None:
    text, file = PAPER.read_text("utf-8"), tmp_path / "study.yaml"
    assert {hint for hint in hints(load_study(PAPER)) if hint.startswith("rights.")} == {
        f"rights.{name}: to be filled in" for name in ("legal_basis", "complaints", "distress")
    }
    filled = text.replace("CHANGE-ME, such as ", "").replace("CHANGE-ME", "ABC")
    file.write_text(filled.replace("  withdraw_until: 2026-12-31\n", ""), "utf-8")
    assert [hint for hint in hints(load_study(file)) if "rights" in hint] == ["rights.withdraw_until: to be filled in"]
    assert unfilled(load_study(file))[0].startswith("rights.withdraw_until"), "it is not shown to others yet"
    file.write_text(text.replace("2026-12-31", "2031-12-31"), "utf-8")
    assert any("after data.keep_until" in hint for hint in hints(load_study(file)))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("mail kim.o-hara+x@mail.example.co.uk now", "an e-mail address"),
        ("see www.kims-site.org/me", "a web address"),
        ("call +44 20 7946 0958", "a telephone number"),
        ("call (030) 1234 5678", "a telephone number"),
        ("pay 4111 1111 1111 1111", "a card or account number"),
        ("DE89 3704 0044 0532 0130 00", "a card or account number"),
        ("I live at 12 Station Road", "a street address"),
        ("SW1A 1AA", "a postcode"),
        ("hi, my name is Kim Lee", "a name"),
        ("born on 3 May 1990", "a date of birth"),
    ],
)
def test_it_is_seen(text: str, kind: str) -> None:
    [found] = personal_data(text)
    assert found.kind == kind and found.text in text


@pytest.mark.parametrize(
    "text",
    [
        "The year was 1999, and 120 ships lay in the harbour.", "a story of 1,500 words in 3 parts, 20-30 lines each",
        "Wren walked the long road to the mill", "her name is lost", "rgb(12, 24, 36) and 10:30 am",
    ],
)  # fmt: skip
def test_stories_are_no_personal_data(text: str) -> None:
    assert personal_data(text) == []


def test_one_stretch_is_one_finding() -> None:
    assert [each.kind for each in personal_data("a@b.org and a@b.org")] == ["an e-mail address"] * 2
