"""The world of the drawings: generated targets and first drafts, as a renderer paints them."""

from __future__ import annotations

import pytest
from pixels import Ink, ink_of

from discover_lib.base.svg import drawing_spans
from discover_lib.core.conversation import Message
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import generate_artifact
from discover_lib.engines.miniature.assistants import scripted_assistant
from discover_lib.engines.miniature.lexicon import load_lexicon
from discover_lib.engines.miniature.svg.read import CLOSE_UP, FAR_OFF, LEFT, RIGHT, read_svg
from discover_lib.engines.miniature.svg.stock import SUBJECTS

pytestmark = pytest.mark.slow

LEXICON = load_lexicon("svg_drawing")
COUNT = 12
ROOM = 0.15


def subject_of(values: set[str]) -> str:
    return next(value for value in values if value in SUBJECTS)


def of(dimension: str, values: set[str]) -> set[str]:
    return {value for value in values if LEXICON.values[value].dimension == dimension}


@pytest.fixture(scope="module")
def targets() -> list[str]:
    return [generate_artifact("svg_drawing", "eval", index).text for index in range(COUNT)]


@pytest.fixture(scope="module")
def requests(targets: list[str]) -> list[str]:
    builder = engine("svg_drawing").builder
    made = [generate_artifact("svg_drawing", "eval", index) for index in range(COUNT)]
    return [builder.build(each).tree.initial_request for each in made]


@pytest.fixture(scope="module")
def drafts(requests: list[str]) -> list[str]:
    assistant = scripted_assistant("draft", "svg_drawing")
    texts = [assistant.reply([Message("user", request)], seed).text for seed, request in enumerate(requests)]
    return [text[slice(*drawing_spans(text)[0])] for text in texts]


def assert_the_subject_stands_well(svg: str) -> Ink:
    """Inside the canvas, over 12 to 70 % of it by its paint as well as by its box."""
    seen = ink_of(svg, subject_of(set(read_svg(svg))), room=ROOM)
    assert seen.left > 0 and seen.top > 0 and seen.right < 1 and seen.bottom < 1, seen
    assert seen.covered >= 0.12 and seen.boxed <= 0.7, seen
    return seen


def test_in_every_target_the_subject_is_inside_the_canvas_and_neither_lost_nor_crowding(targets: list[str]) -> None:
    for svg in targets:
        assert_the_subject_stands_well(svg)


def test_pixels_bear_out_where_the_subject_stands_and_how_large_it_is(targets: list[str], drafts: list[str]) -> None:
    for svg in (*targets, *drafts):
        values = set(read_svg(svg))
        seen = ink_of(svg, subject_of(values))
        expected = (
            {"on-left"} if seen.middle < LEFT else {"on-right"} if seen.middle > RIGHT
            else {"far-off"} if seen.reach < FAR_OFF else {"close-up"} if seen.reach > CLOSE_UP else set()
        )  # fmt: skip
        assert of("composition", values) == expected, (seen, values)
