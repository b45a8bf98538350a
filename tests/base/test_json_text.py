"""JSON as compact text: what SQLite can hold, and the same values whichever encoder wrote it."""

import json

import pytest

from discover_lib.base.json_text import record_json, to_json, whole_characters

HALF = "cut \ud83d"  # half a surrogate pair: models cut text anywhere


@pytest.mark.parametrize("number", [0.5, 1e-05, 2.3e-06, 4e-07, 5e-10, -0.0, 123456789.25, 0.1 + 0.2])
def test_numbers_are_the_same_when_they_are_read(number):
    assert json.loads(record_json([number])) == json.loads(to_json([number])) == [number]


@pytest.mark.parametrize(
    ("value", "text"),
    [({"a": [1, None]}, '{"a":[1,null]}'), ({"é": "雪"}, '{"é":"雪"}'), ({"é": HALF}, r'{"é":"cut \ud83d"}')],
)
def test_text_stays_readable_and_half_a_character_is_escaped(value, text):
    assert to_json(value) == record_json(value).decode() == text
    assert json.loads(text) == value


def test_half_a_character_can_be_shown() -> None:
    assert whole_characters("\ud83d\ude00 \ud83d boat") == "😀 \ufffd boat"
