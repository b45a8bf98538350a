"""An SVG as a scene: what is painted, in order, with inherited style and transformations resolved.

`scene_of` sorts what it finds into background, frame, figure, companions and text, so that `read_svg` can measure each.
It understands presentation attributes, `style`, groups, `use`, symbols and units; no style sheets, and no viewports
inside the drawing.  The text may be anybody's: all that a reading looks at counts as steps, of which there are enough.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from xml.etree.ElementTree import Element

from discover_lib.base.svg import SvgError, local_name
from discover_lib.engines.miniature.lexicon import load_lexicon
from discover_lib.engines.miniature.svg.geometry import (
    Box,
    Matrix,
    length,
    matrix_of,
    measure,
    moved,
    multiply,
    numbers,
)
from discover_lib.engines.miniature.svg.paints import opacity

MAX_STEPS = 600_000  # of one reading: a character of an outline, a name or a text is a step, an element is ten
MAX_LEVELS = 200  # elements inside each other, those that `use` brings in included; also ends circles
SMALLEST = 1e-6  # side of a canvas: nothing smaller is to be seen

_STYLED = frozenset(
    """fill stroke stroke-width stroke-dasharray stroke-linecap opacity fill-opacity color display visibility style
    stop-color font-family font-size""".split()
)
_SHAPES = frozenset(("path", "rect", "circle", "ellipse", "polygon", "polyline", "line"))
_FRAMES = ("rect", "circle", "ellipse")  # in the units of the canvas; others are part of the figure
_DRAWN = _SHAPES | {"g", "a", "svg", "switch", "use", "text"}
AROUND = ("setting", "light", "company")  # dimensions whose values stand around the subject, by name
SCENERY = frozenset(("ground", "shadow", "sky", "backdrop", "scenery", "horizon"))  # names that claim nothing
LABELS = ("id", "class", "aria-label", "{http://www.inkscape.org/namespaces/inkscape}label")
_LABEL_SET = frozenset(LABELS)
_XLINK_HREF = "{http://www.w3.org/1999/xlink}href"
_NAME_BREAK = re.compile(r"(?<=[a-z])(?=[A-Z0-9])|[_\d.]+")

BACKGROUND_REACH = 0.97  # share of the canvas that a background covers each way
BACKGROUND_AREA = 0.992  # share of its box that it covers: a tile whose corners are clearly rounded is no background
FRAME_REACH = 0.86  # share of the canvas that a frame spans each way; icons keep a margin below that


@lru_cache(maxsize=4096)
def _plain_paint(paint: str) -> str:
    if paint.lower() in ("none", "currentcolor"):
        return paint.lower()
    return "none" if opacity(paint) == 0 else paint


def _share(text: str | None) -> float:
    """An opacity, 0 to 1."""
    share = length(text, 1.0)
    return 1.0 if share is None else min(max(share, 0.0), 1.0)


class Style(dict[str, str]):
    """Inherited and own style: one object for the same declarations under the same ones, so its paints are read once.

    Not to be changed; equal to itself alone.

    Attributes:
        alpha: what opacity, which is not inherited, has gathered to on the way here.
        fill_alpha: opacity of the fill, 0 to 1, that of its color and its groups included.
    """

    __hash__ = object.__hash__  # type: ignore[assignment]
    __eq__ = object.__eq__

    def __init__(self, declared: Mapping[str, str], alpha: float = 1.0) -> None:
        super().__init__(declared)
        width = length(self.get("stroke-width", "1"))
        self.alpha = alpha
        self.stroke_width = 1.0 if width is None else width
        self.fill = self._paint("fill", "black")
        self.stroke = self._paint("stroke", "none") if self.stroke_width > 0 else "none"
        self.fill_alpha = alpha * _share(self.get("fill-opacity")) * opacity(self.fill)
        self.paint = self.fill if self.fill != "none" else self.stroke
        self.is_hidden = self.get("display") == "none" or self.get("visibility") == "hidden"

    def _paint(self, name: str, default: str) -> str:
        """The paint of a fill or stroke; `none` also for colors that are wholly transparent."""
        paint = _plain_paint(self.get(name, default))
        return _plain_paint(self.get("color", "black")) if paint == "currentcolor" else paint


@dataclass(slots=True)
class Shape:
    """One painted shape."""

    element: Element
    tag: str
    box: Box  # on the canvas
    style: Style  # inherited and own
    stroke_width: float  # on the canvas
    scale: float  # how much longer a length becomes on the canvas
    area: float  # that it covers on the canvas; of lines, that of the box they span before any turning


@dataclass(slots=True)
class Writing:
    """One `<text>` element."""

    words: str
    y: float  # baseline, on the canvas
    size: float
    family: str


@dataclass(slots=True)
class Scene:
    """What an SVG paints."""

    canvas: Box
    width: float
    height: float
    has_format: bool  # the drawing itself says how wide and tall it is
    ids: dict[str, Element] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)  # of the drawing as a whole: title, description, outermost labels
    part_names: dict[str, None] = field(default_factory=dict)  # labels, ids and classes inside it, in order
    background: Shape | None = None
    frames: list[Shape] = field(default_factory=list)
    figure: list[Shape] = field(default_factory=list)
    filled: list[Shape] = field(default_factory=list)  # those of the figure
    writing: list[Writing] = field(default_factory=list)
    scenery: dict[str, float] = field(default_factory=dict)  # fill → area, of the landscape and the sky


@lru_cache(maxsize=16384)
def shown_values(label: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(what of the subject, what around it) a title, id or class names, in order; "fishBoat_2" is "fish Boat"."""
    lexicon = load_lexicon("svg_drawing")
    found = lexicon.find_cues(_NAME_BREAK.sub(" ", label))
    return (
        tuple(value for value in found if lexicon.values[value].dimension == "subject"),
        tuple(value for value in found if lexicon.values[value].dimension in AROUND),
    )


def scene_of(root: Element, *, whole: bool = False) -> Scene:
    """Sort what `root` (from `parse_svg`) paints.

    Args:
        whole: what is around the subject counts as part of the figure, too; so it does where there is nothing else.

    Raises:
        SvgError: it is too much to be read.
    """
    reader = _Reader(root, skip_company=not whole)
    if not reader.scene.figure and reader.has_skipped:  # the drawing shows nothing but a sun, say
        reader = _Reader(root, skip_company=False)
    return reader.scene


class _Reader:
    """Walks one drawing and fills a scene."""

    def __init__(self, root: Element, *, skip_company: bool) -> None:
        self.scene = Scene(*_canvas(*map(root.get, ("viewBox", "width", "height"))))
        self.size = (self.scene.width, self.scene.height)
        self.skip_company = skip_company
        self.has_skipped = False
        self.is_around = False  # inside a part that is named for what stands around the subject
        self.painted: list[Shape] = []
        self.steps = 0
        for element in root.iter():
            if not _LABEL_SET.isdisjoint(element.attrib) or element.text:
                self._note(element, root)
        self.scene.names += _labels(root.attrib)
        style = _styled(_NO_STYLE, root)
        for child in root:
            self._walk(child, None, style, 0)
        self._sort()

    def _count(self, steps: int) -> None:
        self.steps += steps
        if self.steps > MAX_STEPS:
            raise SvgError("the SVG is too much to read: simplify its outlines and names, and copy less with <use>")

    def _note(self, element: Element, root: Element) -> None:
        """Keep what an element is called."""
        attributes = element.attrib
        if "id" in attributes:
            self.scene.ids[attributes["id"]] = element
        for label in _labels(attributes) if element is not root else ():
            self._count(len(label))
            self.scene.part_names[label] = None
        tag = local_name(element.tag)
        if tag in ("title", "desc") and element.text:
            self._count(len(element.text))
            self.scene.names.insert(0 if tag == "title" else len(self.scene.names), element.text)

    def _walk(self, element: Element, matrix: Matrix | None, style: Style, level: int) -> None:
        tag, attributes = local_name(element.tag), element.attrib
        get = attributes.get
        self._count(10 + len(get("d", "")) + len(get("points", "")) + len(get("style", "")))
        if tag not in _DRAWN or level > MAX_LEVELS:
            return
        may_skip = self.skip_company and not self.is_around and not _LABEL_SET.isdisjoint(attributes)
        if may_skip and (around := self._around(attributes)):
            self.has_skipped = True
            if around != "company":
                self.is_around = True
                self._walk(element, matrix, style, level)
                self.is_around = False
            return
        if "transform" in attributes and (own := matrix_of(attributes["transform"])):
            matrix = multiply(matrix, own)
        if self.is_around and tag in _SHAPES and "style" not in attributes:
            self._survey(element, tag, matrix, attributes.get("fill", style.fill))
            return
        style = _styled(style, element)
        if style.is_hidden:
            return
        if tag in _SHAPES and self.is_around:
            self._survey(element, tag, matrix, style.fill)
        elif tag in _SHAPES:
            self._paint(element, tag, matrix, style)
        elif tag == "use":
            self._walk_use(element, matrix, style, level)
        elif tag == "text":
            self._write(element, matrix, style)
        else:
            for child in element:
                self._walk(child, matrix, style, level + 1)

    def _around(self, attributes: Mapping[str, str]) -> str:
        """The dimension of what a label names around the subject; "" where it names a subject, or nothing."""
        for label in _labels(attributes):
            subjects, around = shown_values(label)
            if around and not subjects:
                return load_lexicon("svg_drawing").values[around[0]].dimension
            if label in SCENERY:
                return label
        return ""

    def _survey(self, element: Element, tag: str, matrix: Matrix | None, fill: str) -> None:
        """Note how much a shape of the landscape paints, and with what."""
        _, area = measure(tag, element.attrib, *self.size) if fill != "none" else (None, 0.0)
        area *= abs(matrix[0] * matrix[3] - matrix[1] * matrix[2]) if matrix else 1.0
        if math.isfinite(area):
            self.scene.scenery[fill] = self.scene.scenery.get(fill, 0.0) + area

    def _paint(self, element: Element, tag: str, matrix: Matrix | None, style: Style) -> None:
        """Note a shape of the figure, the paper or a frame."""
        fill, stroke = style.fill, style.stroke
        box, area = measure(tag, element.attrib, *self.size)
        if box is None or fill == stroke == "none":
            return
        if fill == "none":
            area = (box[2] - box[0]) * (box[3] - box[1])
        grown = abs(matrix[0] * matrix[3] - matrix[1] * matrix[2]) if matrix else 1.0
        scale, area = math.sqrt(grown), area * grown
        left, top, right, bottom = moved(box, matrix)
        reach = style.stroke_width * scale / 2 if fill == "none" else 0.0
        area += 2 * reach * (right - left + bottom - top + 2 * reach)  # a straight line has no box of its own
        box = (left - reach, top - reach, right + reach, bottom + reach)
        if math.isfinite(sum(box) + area):  # not out of reach
            self.painted.append(Shape(element, tag, box, style, style.stroke_width * scale, scale, area))

    def _walk_use(self, element: Element, matrix: Matrix | None, style: Style, level: int) -> None:
        attributes = element.attrib
        name = attributes.get("href", attributes.get(_XLINK_HREF, "")).removeprefix("#")
        target = self.scene.ids.get(name)
        if target is None:
            return
        if "x" in attributes or "y" in attributes:
            x, y = length(attributes.get("x"), self.size[0]), length(attributes.get("y"), self.size[1])
            matrix = multiply(matrix, (1, 0, 0, 1, x or 0, y or 0))
        for each in target if local_name(target.tag) == "symbol" else (target,):
            self._walk(each, matrix, style, level + 1)

    def _write(self, element: Element, matrix: Matrix | None, style: Style) -> None:
        self._count(sum(1 + len(each.text or "") + len(each.tail or "") for each in element.iter()))
        words, family = " ".join("".join(element.itertext()).split()), style.get("font-family", "").lower()
        self._count(len(family))
        # Where a text starts is the first of a list of lengths.
        firsts = (element.get(name, "").partition(" ")[0] for name in "xy")
        x, y = (length(first, whole) or 0.0 for first, whole in zip(firsts, self.size, strict=True))
        place = moved((x, y, x, y), matrix)[1]
        size = (length(style.get("font-size", "16")) or 16.0) * (abs(matrix[3]) if matrix else 1.0)
        if words and math.isfinite(place + size):
            self.scene.writing.append(Writing(words, place, size, family))

    def _sort(self) -> None:
        """Tell background and frames from the figure."""
        scene = self.scene
        for shape in self.painted:
            if shape.style.fill != "none" and not scene.figure and _covers(shape, scene):
                scene.background = shape
                if shape.style.stroke != "none":
                    scene.frames.append(shape)
            elif shape.style.fill == "none" and shape.tag in _FRAMES and shape.scale == 1 and _spans(shape.box, scene):
                scene.frames.append(shape)
            else:
                scene.figure.append(shape)
        if not scene.figure:  # a ring, say, that goes around nothing is what there is to see
            scene.figure = [shape for shape in scene.frames if shape.style.fill == "none"]
            scene.frames = [shape for shape in scene.frames if shape.style.fill != "none"]
        scene.filled = [shape for shape in scene.figure if shape.style.fill != "none"]


_NO_STYLE = Style({})


def _labels(attributes: Mapping[str, str]) -> list[str]:
    return [attributes[name] for name in LABELS if name in attributes]


def _styled(inherited: Style, element: Element) -> Style:
    """Inherited and own style."""
    if _STYLED.isdisjoint(element.attrib):
        return inherited
    return _inheriting(inherited, tuple([item for item in element.attrib.items() if item[0] in _STYLED]))


@lru_cache(maxsize=4096)
def _inheriting(inherited: Style, declared: tuple[tuple[str, str], ...]) -> Style:
    own = dict(declared)
    own |= declarations(own.get("style", ""))
    values = {**inherited, **{name: value for name, value in own.items() if value != "inherit"}}
    return Style(values, inherited.alpha * _share(own.get("opacity")))


@lru_cache(maxsize=4096)
def declarations(style: str) -> dict[str, str]:
    """What a `style` attribute declares of the properties that count here."""
    pairs = [
        (name.strip().lower(), value.strip()) for name, _, value in (each.partition(":") for each in style.split(";"))
    ]
    return {name: value for name, value in pairs if name in _STYLED and value}


@lru_cache(maxsize=64)
def _canvas(view: str | None, width: str | None, height: str | None) -> tuple[Box, float, float, bool]:
    """The canvas in user units, its width and height, and whether the drawing states it."""
    box = numbers(view or "")
    if len(box) != 4:
        box = [0.0, 0.0, length(width) or 0.0, length(height) or 0.0]
    has_format = min(box[2:]) > SMALLEST
    left, top, across, down = box if has_format else (0.0, 0.0, 300.0, 150.0)
    right, bottom = left + across, top + down
    return (left, top, right, bottom), right - left, bottom - top, has_format


def _covers(shape: Shape, scene: Scene) -> bool:
    """Whether a filled shape covers all but a sliver of the canvas."""
    left, top, right, bottom = shape.box
    slack_x, slack_y = scene.width * (1 - BACKGROUND_REACH), scene.height * (1 - BACKGROUND_REACH)
    radius = length(shape.element.get("rx")) or 0.0
    return (
        left <= scene.canvas[0] + slack_x
        and top <= scene.canvas[1] + slack_y
        and right >= scene.canvas[2] - slack_x
        and bottom >= scene.canvas[3] - slack_y
        and shape.area >= BACKGROUND_AREA * (right - left) * (bottom - top)
        and radius * shape.scale <= 0.03 * min(scene.width, scene.height)
    )


def _spans(box: Box, scene: Scene) -> bool:
    """Whether `box` goes around nearly all of the canvas, and not beyond it."""
    width, height = box[2] - box[0], box[3] - box[1]
    return FRAME_REACH <= width / scene.width <= 1.02 and FRAME_REACH <= height / scene.height <= 1.02
