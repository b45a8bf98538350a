"""A lexicon of one's own: every slip in its file is one line that names the place."""

import copy
from pathlib import Path
from typing import Any

import pytest

from discover_lib.engines.miniature import lexicon as lexicons
from discover_lib.engines.miniature.lexicon import ALL_DOMAINS, LexiconError, load_lexicon, parse_lexicon


def leaf(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "text": f"Is {name}", "say": name, "cues": [name], "line": f"It is {name}."} | more


def tea() -> dict[str, Any]:
    """A lexicon that holds every rule."""
    hue = {"name": "hue", "aspect": "the tint", "asked": True, "part": "body", "values": [leaf("red"), leaf("blue")]}
    form = {"frame": "$body\n", "parts": {"body": {"joint": " "}}, "suffixes": [".txt"]}
    data = {"domain": "tea", "artifact_type": "label", "request": "write {items}", "form": form, "dimensions": [hue]}
    return copy.deepcopy(data)


def test_a_lexicon_without_a_slip_is_read() -> None:
    assert list(parse_lexicon(tea()).values) == ["red", "blue"]


HUE, RED = ("dimensions", 0), ("dimensions", 0, "values", 0)
MISSING = object()


@pytest.mark.parametrize(
    ("place", "value", "complaint"),
    [
        (("domain",), MISSING, "^lexicon: it lacks 'domain'$"),
        (("dimensions",), {"hue": 1}, "dimensions: expected a list, got a mapping"),
        (("requests",), "x", "nothing is known there by the name 'requests'"),
        (("request",), "write something", "must be a text with {items} in it, or a list of such texts"),
        (("request",), "write {items} to {whom}", "must be a text with {items} in it"),
        (("request",), ["write {items}", "{"], "must be a text with {items} in it"),
        (("form",), "plain", "form: expected a mapping, got a text"),
        (("form", "suffixes"), ".txt", r"form\.suffixes: expected a list, got a text"),
        (("form", "parts", "body", "joint"), MISSING, r"form\.parts.*: it lacks 'joint'"),
        (("form", "frame"), "$head\n$body\n", r"the form's frame has a row \$head, and the form no such part"),
        ((*HUE, "name"), MISSING, r"dimensions\[0\]: it lacks 'name'"),
        ((*HUE, "values"), [], "'hue': values: expected a list of length >= 1"),
        ((*HUE, "holds"), 0, "'hue': holds: expected a whole number >= 1"),
        ((*HUE, "asked"), MISSING, "no dimension is asked for: one that a request begins with has 'asked: true'"),
        ((*RED, "say"), MISSING, "'hue': 'red': it lacks 'say'"),
        ((*RED, "id"), False, r"'hue': values\[0\]: id: expected a text, got true or false; put it in quotes"),
        ((*RED, "cue"), ["red"], "'hue': 'red': nothing is known there by the name 'cue'"),
        ((*RED, "cues"), "red", "'hue': 'red': cues: expected a list, got a text"),
        ((*RED, "values"), [leaf("rose", text=3), leaf("rust")], "'hue': 'red': 'rose': text: expected a text"),
        ((*RED, "line"), MISSING, "'red' needs a line, the sentence that a piece shows it by"),
        ((*RED, "line"), "It glows.", "the line of 'red' must name it alone, by one of its cues, got nothing"),
        ((*RED, "line"), "Red. Not blue.", "the line of 'red' must name it alone, by one of its cues, got red, blue"),
    ],
)
def test_a_slip_is_named_in_one_line(place: tuple[str | int, ...], value: Any, complaint: str) -> None:
    data = at = tea()
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
    with pytest.raises(LexiconError, match="dimension 'hue' stands twice"):
        parse_lexicon(data)


@pytest.mark.parametrize(
    ("written", "complaint"),
    [
        (b"domain: [tea\n", "tea.yaml: not valid YAML: while parsing a flow sequence"),
        ("domain: Tee für zwei\n".encode("latin-1"), "tea.yaml: not UTF-8 text; save it as UTF-8"),
        (b"", "tea.yaml: expected a mapping, got nothing"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: bytes, complaint: str
) -> None:
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


@pytest.mark.parametrize("domain", ALL_DOMAINS)
def test_every_lexicon_that_comes_along_is_free_of_slips(domain: str) -> None:
    assert load_lexicon(domain).domain == domain
