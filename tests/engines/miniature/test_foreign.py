"""What comes from elsewhere: icons of other people's sets, and replies as people type them."""

import pytest

from discover_lib.core.conversation import Artifact
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.reading import read_artifact, read_reply

# ---- replies that people type: everything that is named, and nothing else

TYPED = {
    "svg_drawing": {
        "what about a small navy boat at night?": {"far-off", "cool", "afloat", "after-dark"},
        "a tiny cat, top left": {"far-off", "cat", "on-left"},
        "a sunset behind it?": {"sunset"},
        "tall format, it's for my phone": {"phone"},
        "could you do it in pastel green": {"candy"},
        "a red fox with a thick outline": {"warm", "fox", "bold-lines"},
        "two tone, black and white": {"black-and-white"},
        "can the fish be striped?": {"fish", "hatching"},
        "three of them side by side": {"young"},
        "with a title at the top": {"title", "words-on-top"},
        "add some waves and a seagull": {"open-sea", "birds"},
        "a bicycle, or a helicopter": {"wheeled", "airborne-vehicle"},
        "a turquoise car on white": {"ocean", "wheeled", "white-paper"},
        "make the lines thinner": {"fine-lines"},
        "zoom in so it's cropped at the bottom": {"close-up"},
        "on a coloured background": {"tinted-paper"},
        "a birthday card with a fox in a scarf": {"birthday", "fox", "scarf"},
        "a lighthouse at dusk": {"lighthouse", "sunset"},
        "more like a watercolour": {"washes"},
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
        "a kid who ran away from home": {"runaway"},
        "there's an old key in it": {"key"},
        "he wants to go home": {"homeward"},
        "a forest in autumn": {"forest", "autumn"},
        "she finds out the truth": {"truth"},
        "a ghost story in a museum": {"eerie", "museum"},
        "a road trip in a camper van": {"camper-van"},
        "peaceful and quiet": {"gentle"},
        "some music in it somewhere": {"music-sound"},
        "with the smell of fresh bread": {"bread"},
        "hmm, not sure, something else": set(),
    },
    "technical_writing": {
        "with numbers and statistics": {"measured"},
        "make it funnier": {"humorous"},
        "less jargon": {"lay-readers"},
        "explain how heat pumps work": {"inform", "heat-pump"},
        "something about AI, for kids": {"machine-learning", "schoolchildren"},
        "maybe a table or a diagram": {"grid-of-values", "drawing"},
        "what are the risks?": {"harm"},
        "compare it with the old way of doing it": {"earlier-way"},
        "cite your sources": {"published"},
        "how much does it cost?": {"cost"},
        "open with a personal story": {"story-start"},
        "start with a question": {"question-start"},
        "in plain English": {"lay-readers"},
        "friendlier, but still serious": {"friendly", "grave"},
        "an example from a hospital": {"hospital"},
        "the environmental impact": {"planet-cost"},
        "for my grandparents": {"retirees"},
        "hmm, not sure, can you make it shorter?": set(),
    },
}


@pytest.mark.parametrize(
    ("domain", "text", "expected"),
    [(domain, text, expected) for domain, table in TYPED.items() for text, expected in table.items()],
)
def test_a_typed_reply_names_what_a_person_means(domain: str, text: str, expected: set[str]) -> None:
    reading = read_reply(text, domain)
    assert reading.kind == "dialogue_act"
    assert {value for option in reading.options for value in option} == expected


# ---- drawings in the manner of icon sets

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
    "a logo on a rounded tile": (
        "logo",
        """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100"><rect width="100" height="100" rx="20"
        fill="#1565c0"/><circle cx="50" cy="50" r="24" fill="#ffb300"/></svg>""",
        {"bright", "close-up", "square"},
    ),
    "an outlined emoji on a margin": (
        "turtle",
        """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 72 72"><g id="color"><path fill="#5c9e31" stroke="none"
        d="M16 46c0-16 9-24 20-24s20 8 20 24z"/></g><g id="line" fill="none" stroke="#000" stroke-width="2"><path
        d="M16 46c0-16 9-24 20-24s20 8 20 24z"/></g></svg>""",
        {"finned", "cool", "far-off", "square"},
    ),
    "a tree, which is no company when it stands alone": (
        "tree",
        """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path d="M8 1l6 12H9v2H7v-2H2z"/></svg>""",
        {"tree", "quiet", "close-up", "square"},
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
