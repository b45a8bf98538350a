"""What comes from elsewhere: icons of other people's sets, and replies as people type them."""

import pytest

from discover_lib.core.conversation import Artifact
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.reading import read_artifact, read_reply

TYPED = {
    "svg_drawing": {
        "what about a small navy boat at night?": {"far-off", "cool", "afloat", "after-dark"},
        "a tiny cat, top left": {"far-off", "cat", "on-left"},
        "a sunset behind it?": {"sunset"},
        "tall format, it's for my phone": {"phone"},
        "a red fox with a thick outline": {"warm", "fox", "bold-lines"},
        "can the fish be striped?": {"fish", "hatching"},
        "with a title at the top": {"title", "words-on-top"},
        "zoom in so it's cropped at the bottom": {"close-up"},
        "a birthday card with a fox in a scarf": {"birthday", "fox", "scarf"},
        "hmm, not sure, something else": set(),
        "which of these three directions do you like?": set(),
    },
    "creative_writing": {
        "make it funnier": {"cheerful"},
        "set it on a train": {"rail-journey"},
        "could it be by the sea in winter?": {"waterside", "winter"},
        "can the hero be a girl who mends clocks?": {"child", "clockmaker"},
        "what if her grandma came along?": {"grandmother"},
        "I'd like it cozier": {"cosy"},
        "the villain is a landlord": {"landlord"},
        "a ghost story in a museum": {"eerie", "museum"},
        "peaceful and quiet": {"gentle"},
        "hmm, not sure, something else": set(),
    },
    "technical_writing": {
        "with numbers and statistics": {"measured"},
        "make it funnier": {"humorous"},
        "less jargon": {"lay-readers"},
        "explain how heat pumps work": {"inform", "heat-pump"},
        "something about AI, for kids": {"machine-learning", "schoolchildren"},
        "compare it with the old way of doing it": {"earlier-way"},
        "how much does it cost?": {"cost"},
        "in plain English": {"lay-readers"},
        "friendlier, but still serious": {"friendly", "grave"},
        "hmm, not sure, can you make it shorter?": set(),
    },
}


@pytest.mark.parametrize("domain", TYPED)
def test_a_typed_reply_names_what_a_person_means(domain: str) -> None:
    for text, expected in TYPED[domain].items():
        reading = read_reply(text, domain)
        assert reading.kind == "dialogue_act"
        assert {value for option in reading.options for value in option} == expected, text


ICONS = {
    "a line icon, thick strokes": (
        "car-front",
        """<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24" viewBox="0 0 24 24" fill="none"
        stroke="currentColor" stroke-width="2" stroke-linecap="round"><rect x="3" y="9" width="18" height="8" rx="2"/>
        <path d="M5 9l2-5h10l2 5"/><path d="M6 17v3M18 17v3"/></svg>""",
        {"wheeled", "quiet", "outlined", "close-up", "square"},
    ),
    "a filled icon without colours of its own": (
        "store",
        """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 512"><path d="M20 20H620L600 200H40zM60 220h520
        v270H60zm60 60v120h140v-120z"/></svg>""",
        {"building", "quiet", "close-up", "wide"},
    ),
    "an emoji": (
        "fox_face",
        """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 36 36"><path fill="#E8730C" d="M2 2l8 6h16l8-6-2 22
        -14 10L4 24z"/><path fill="#FFF" d="M10 24h16l-8 8z"/><circle fill="#292F33" cx="13" cy="18" r="2"/></svg>""",
        {"fox", "warm", "close-up", "square"},
    ),
    "a flag of three stripes": (
        "xx",
        """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 480"><path fill="#0a0" d="M0 0h213v480H0z"/>
        <path fill="#fff" d="M213 0h214v480H213z"/><path fill="#e02" d="M427 0h213v480H427z"/></svg>""",
        {"bright", "close-up", "wide"},
    ),
    "a small mark in a corner": (
        "mark",
        """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 200"><rect width="200" height="200" fill="#0d0d10"/>
        <circle cx="40" cy="40" r="20" fill="#ef5da8"/></svg>""",
        {"warm", "on-left", "dark-paper", "square"},
    ),
}


@pytest.mark.parametrize("style", ICONS)
def test_an_icon_from_elsewhere_is_recognised_and_built(style: str) -> None:
    name, svg, expected = ICONS[style]
    assert set(read_artifact(svg, "svg_drawing", name)) == expected
    built = engine("svg_drawing").builder.build(Artifact(name, "SVG drawing", svg))
    assert len(built.recognised) == len(expected)


def test_the_drawing_s_own_words_count_before_the_file_s_name() -> None:
    svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><title>A whale</title><circle r="4" cx="4"/></svg>'
    found = read_artifact(svg, "svg_drawing", "train")
    assert "whale" in found and "train" not in found
    assert read_artifact(svg.replace("A whale", ""), "svg_drawing", "train")["train"] == "the file is named “train”"
