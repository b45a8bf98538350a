"""The five kinds of artifact that no setting was tuned on: every one works wherever a domain works."""

import ast
import json
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discover_lib.base.files import data_folder
from discover_lib.engines.miniature.lexicon import UNSEEN_DOMAINS, load_lexicon
from discover_lib.engines.miniature.notation import Move, in_order
from discover_lib.engines.miniature.reading import read_artifact, read_reply
from discover_lib.engines.miniature.rendering import make_reply, render_artifact
from discover_lib.runs.artifact_files import ArtifactFileError, domain_of_type

VOID_TAGS = {"input", "br", "hr", "img", "meta", "link"}
each_domain = pytest.mark.parametrize("domain", UNSEEN_DOMAINS)


class Markup(HTMLParser):
    """Reads markup; `open_tags` is empty at the end of sound markup, `addresses` holds what it would load or link."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open_tags: list[str] = []
        self.addresses: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "action", "srcset")]
        if tag not in VOID_TAGS:
            self.open_tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open_tags and self.open_tags.pop() == tag


def sound(domain: str, text: str, suffix: str = "") -> None:
    """Assert that a piece is what its kind says: a program that parses, markup that closes, a prompt, an abstract."""
    if domain == "dataviz_code":
        json.loads(text) if suffix == ".json" else ast.parse(text)
    elif domain == "web_component":
        page = Markup(text)
        assert page.open_tags == []
        assert all(address.startswith("#") for address in page.addresses), page.addresses
        assert "@import" not in text and "url(" not in text
        assert text.count("{") == text.count("}") and text.count("(") == text.count(")")
    elif domain == "image_prompt":
        assert not text.startswith("#")
    else:
        assert text.startswith("# ")


@st.composite
def pieces(draw: st.DrawFn) -> tuple[str, tuple[str, ...]]:
    lexicon = load_lexicon(draw(st.sampled_from(UNSEEN_DOMAINS)))
    names = draw(st.lists(st.sampled_from(sorted(lexicon.dimensions)), min_size=1, unique=True))
    leaves = [draw(st.sampled_from(lexicon.dimensions[name].leaves)) for name in names]
    return lexicon.domain, tuple(in_order(leaves, lexicon))


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(pieces())
def test_what_was_rendered_is_what_is_read_and_it_is_sound(case):
    domain, values = case
    lexicon = load_lexicon(domain)
    text = render_artifact(values, lexicon)
    sound(domain, text)
    assert set(read_artifact(text, domain)) == set(values)
    reply = make_reply([Move("draft", values)], lexicon, "draft")
    assert [set(option) for option in read_reply(reply.text, domain).options] == [set(values)]


@each_domain
def test_written_pieces_are_sound_and_not_assembled_from_lines(domain):
    lines = [value.line for value in load_lexicon(domain).values.values() if len(value.line) > 60]
    for path in (data_folder() / "artifacts" / domain).iterdir():
        text = path.read_text(encoding="utf-8")
        sound(domain, text, path.suffix)
        assert not any(line in text for line in lines), path


@pytest.mark.parametrize(
    ("spoken", "domain"),
    [
        ("travel plan", "travel_plan"),
        ("Itinerary", "travel_plan"),
        ("data visualization code", "dataviz_code"),
        ("text-to-image prompt", "image_prompt"),
    ],
)
def test_people_s_words_find_the_domain(spoken, domain):
    assert domain_of_type(spoken) == domain


def test_an_unknown_type_is_answered_with_all_kinds_that_there_are():
    with pytest.raises(ArtifactFileError, match="'travel plan', 'data-viz code', 'paper abstract'"):
        domain_of_type("opera")
