"""What has the form of personal data is seen, and what stories are made of is not."""

import pytest

from workbench.study.study_pages import personal_data


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
