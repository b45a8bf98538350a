"""A lexicon of one's own: every slip in its file is one line that names the place."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from discover_lib.engines.miniature import lexicon as lexicons
from discover_lib.engines.miniature.lexicon import LexiconError, load_lexicon, parse_lexicon, read_yaml


def leaf(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "text": f"Is {name}", "say": name, "cues": [name], "line": f"It is {name}."} | more


BLUE = leaf("blue", text="Is blue, a glow")


def tea() -> dict[str, Any]:
    """A lexicon that holds every rule."""
    hue = {"name": "hue", "aspect": "the tint", "asked": True, "part": "body", "values": [leaf("red"), BLUE]}
    form = {"frame": "$body\n", "parts": {"body": {"joint": " "}}, "suffixes": [".txt"]}
    data = {"domain": "tea", "artifact_type": "label", "request": "write {items}", "form": form, "dimensions": [hue]}
    return copy.deepcopy(data)


HUE, RED = ("dimensions", 0), ("dimensions", 0, "values", 0)
MISSING = object()


@pytest.mark.parametrize(
    ("place", "value", "complaint"),
    [
        (("domain",), MISSING, "^lexicon: Object missing required field `domain`"),
        (("requests",), "x", "unknown field `requests`"),
        (("request",), "write something", "must be a text with {items} in it, or a list of such texts"),
        (("request",), ["write {items}", "{"], "must be a text with {items} in it"),
        (("form", "suffixes"), ".txt", r"Expected `array`, got `str` - at `\$\.form\.suffixes`"),
        (("form", "frame"), "$head\n$body\n", r"must have a row \$NAME for the lines of every part, and no other"),
        ((*HUE, "part"), "tail", "a dimension goes to a part that the form lacks"),
        ((*HUE, "values"), [], r"Expected `array` of length >= 1 - at `\$\.dimensions\[0\]\.values`"),
        ((*HUE, "asked"), MISSING, "no dimension is asked for: one that a request begins with has 'asked: true'"),
        ((*HUE, "aspect"), "the", "has no content word"),
        ((*HUE, "aspect"), "the red", "a user who names the category would leak it"),
        ((*RED, "id"), False, r"Expected `str`, got `bool` - at `\$\.dimensions\[0\]\.values\[0\]\.id`"),
        ((*RED, "id"), "hue", "'hue' must be one lower-case token, and the name of one thing"),
        ((*RED, "id"), "blue", "value id 'blue' stands twice"),
        ((*RED, "say"), "something", "say 'something' of 'red' must name it alone"),
        ((*RED, "say"), "red glow", "uses 'glow', which its own requirement lacks and the one of 'blue' holds"),
        ((*RED, "cues"), ["the"], "holds only everyday words"),
        ((*RED, "cues"), ["red", "blue"], "belongs to both"),
        ((*RED, "never_with"), ["green"], "'red' is never with 'green', which is no value"),
        ((*RED, "values"), [leaf("rose")], "'red' has a single child"),
        ((*RED, "line"), "Red. Not blue.", "'red' needs a line.* which names it alone.*: got red, blue"),
    ],
)
def test_a_slip_is_named_in_one_line(place: tuple[str | int, ...], value: Any, complaint: str) -> None:
    data = at = tea()
    assert list(parse_lexicon(data).values) == ["red", "blue"]
    for key in place[:-1]:
        at = at[key]
    if value is MISSING:
        del at[place[-1]]
    else:
        at[place[-1]] = value
    with pytest.raises(LexiconError, match=complaint) as refused:
        parse_lexicon(data)
    assert "\n" not in str(refused.value)


def test_a_dimension_stands_once() -> None:
    data = tea()
    data["dimensions"].append(data["dimensions"][0] | {"values": [leaf("green"), leaf("grey")]})
    with pytest.raises(LexiconError, match="a dimension stands twice"):
        parse_lexicon(data)


@pytest.mark.parametrize(
    ("written", "complaint"),
    [
        (b"domain: [tea\n", "tea.yaml: not YAML in UTF-8: while parsing a flow sequence"),
        ("domain: Tee für zwei\n".encode("latin-1"), "tea.yaml: not YAML in UTF-8: .utf-8. codec"),
        (b"", "tea.yaml: Expected `object`, got `null`"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path, monkeypatch, written: bytes, complaint: str) -> None:
    (tmp_path / "tea.yaml").write_bytes(written)
    monkeypatch.setattr(lexicons, "LEXICON_FOLDER", tmp_path)
    with pytest.raises(LexiconError, match=complaint) as refused:
        load_lexicon("tea")
    assert "\n" not in str(refused.value)


def test_a_file_is_called_as_its_domain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = (lexicons.LEXICON_FOLDER / "travel_plan.yaml").read_text(encoding="utf-8")
    (tmp_path / "journey.yaml").write_text(there, encoding="utf-8")
    monkeypatch.setattr(lexicons, "LEXICON_FOLDER", tmp_path)
    with pytest.raises(LexiconError, match=r"journey\.yaml: 'domain' must be 'journey', as the file is called"):
        load_lexicon("journey")


def test_yaml_of_the_library_is_kept_and_read_again_when_it_changes(tmp_path: Path, monkeypatch) -> None:
    path, kept = tmp_path / "words.yaml", tmp_path / "__pycache__" / "words.yaml.json"
    monkeypatch.setattr(lexicons.sys, "dont_write_bytecode", False)
    for text, data in (("a: [1, b]", {"a": [1, "b"]}), ("a: 2", {"a": 2})):
        path.write_text(text)
        assert read_yaml(path) == read_yaml(path) == json.loads(kept.read_text())["data"] == data
    for damaged in ("", "{}", "[]", "null"):
        kept.write_text(damaged)
        assert read_yaml(path) == {"a": 2}
    path.write_text("1: whole")  # JSON has no such key
    assert read_yaml(path) == {1: "whole"}
