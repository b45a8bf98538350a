"""A finished piece with what was recognised in it: each requirement has a number, which stands where it was read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from discover_lib.core.conversation import Artifact
from discover_lib.core.intents import IntentTree
from discover_lib.core.roles import Recognised
from discover_lib.engines.miniature.svg.read import part_of
from workbench.views.beside import OPEN, SHUT
from workbench.views.html import EMPTY, Markup, artifact, joined, number_mark, tag
from workbench.views.located import phrases_of, where_said


def numbers_of(tree: IntentTree, requirements: Sequence[Recognised]) -> dict[str, int]:
    """Intent → number of the requirement that it is, from 1, as the piece shows it."""
    place = {each.text: number for number, each in enumerate(requirements, 1)}
    return {key: place[tree.text(key)] for key in tree.intents if tree.text(key) in place}


def read_piece(piece: Artifact, requirements: Sequence[Recognised], intents: Mapping[int, str] | None = None) -> Markup:
    """The artifact, numbered where each requirement was read; a line below for requirements that all of it shows.

    Args:
        intents: number → the intent that it became, which lights up on an intent map with the number.
    """
    ids = intents or {}
    if not any(each.reason for each in requirements):
        return artifact(piece)
    if "<svg" in piece.text:
        boxes = _boxes(piece.text, requirements)
        placed = {number for numbers in boxes.values() for number in numbers}
        frames = joined(_frame(box, numbers, ids) for box, numbers in boxes.items())
        shown = Markup(str(artifact(piece)).replace("</summary>", f"{frames}</summary>", 1))
    else:
        spans = dict(_spans(piece.text, requirements))
        placed = {number for numbers in spans.values() for number in numbers}
        shown = _marked(piece, spans, ids)
    rest = [number for number in range(1, len(requirements) + 1) if number not in placed]
    told = tag("p", "From all of it: ", *map(number_mark, rest), class_="dl-quiet dl-small") if rest else EMPTY
    return tag("div", shown, told, class_="dl-read")


def _boxes(svg: str, requirements: Sequence[Recognised]) -> dict[tuple[float, ...], list[int]]:
    """Part of the drawing → the numbers that were read there."""
    boxes: dict[tuple[float, ...], list[int]] = {}
    for number, each in enumerate(requirements, 1):
        if part := part_of(svg, each.reason):
            boxes.setdefault(part, []).append(number)
    return boxes


def _ids(numbers: Sequence[int], intents: Mapping[int, str]) -> str | None:
    """The intents of some numbers, for an intent map; None for none."""
    return " ".join(intents[number] for number in numbers if number in intents) or None


def _frame(box: Sequence[float], numbers: Sequence[int], intents: Mapping[int, str]) -> Markup:
    left, top, right, bottom = box
    place = f"left: {left:.1%}; top: {top:.1%}; width: {right - left:.1%}; height: {bottom - top:.1%}"
    return tag("span", *map(number_mark, numbers), class_="dl-part", style=place, data_ids=_ids(numbers, intents))


def _spans(text: str, requirements: Sequence[Recognised]) -> Iterator[tuple[tuple[int, int], list[int]]]:
    """Where the words that the reasons quote stand, in order and apart from each other, with the numbers read there."""
    found: dict[tuple[int, int], list[int]] = {}
    for number, each in enumerate(requirements, 1):
        for phrase in phrases_of(each.reason):
            if span := next(where_said(phrase, text), None):
                found.setdefault(span, []).append(number)
    last = 0
    for (start, end), numbers in sorted(found.items()):
        if start >= last:
            yield (start, end), numbers
            last = end


def _marked(piece: Artifact, spans: dict[tuple[int, int], list[int]], intents: Mapping[int, str]) -> Markup:
    text = piece.text.translate({ord(OPEN): "(", ord(SHUT): ")"})
    for start, end in reversed(spans):
        text = f"{text[:start]}{OPEN}{text[start:end]}{SHUT}{text[end:]}"
    shown = str(artifact(Artifact(piece.id, piece.type, text)))
    for numbers in spans.values():
        named = _ids(numbers, intents)
        shown = shown.replace(
            OPEN, f'<mark class="ds-mark" data-ids="{named}">' if named else '<mark class="ds-mark">', 1
        )
        shown = shown.replace(SHUT, f"{joined(map(number_mark, numbers))}</mark>", 1)
    return Markup(shown)
