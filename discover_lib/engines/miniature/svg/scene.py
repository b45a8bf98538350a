"""An SVG as a scene: what is painted, in order, with inherited style and transformations resolved.

`scene_of` sorts what it finds into background, frame, figure, companions and text, so that `read_svg` can measure each.
It understands presentation attributes, `style`, simple `<style>` rules, nested groups, `use`, symbols and units.
The text may be anybody's, so all that could multiply (copies by `use`, labels, styles, outlines) is bounded.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any
from xml.etree.ElementTree import Element

import tinycss2

from discover_lib.base.svg import SvgError
from discover_lib.engines.miniature.lexicon import load_lexicon
from discover_lib.engines.miniature.svg.colour import opacity
from discover_lib.engines.miniature.svg.geometry import (
    LARGEST,
    MAX_POINTS,
    Box,
    Matrix,
    length,
    matrix_of,
    measure,
    moved,
    multiply,
    numbers,
    path_points,
    polygon_points,
    union,
)

MAX_SHAPES = 4000  # shapes measured in one drawing; what lies beyond changes no verdict worth the time
MAX_USE_DEPTH = 8  # `use` of `use` of …; also ends circles
MAX_LEVELS = 200  # elements inside each other, those that `use` brings in included
MAX_STEPS = 30_000  # elements walked, each as often as it is used
MAX_OUTLINES = 400_000  # characters of path data measured, those used again included
MAX_STYLES = 50_000  # characters of style sheets, and of styles that need a parser
MAX_NAMES = 50_000  # characters of titles and labels read
MAX_CLASSES = 20  # of one element
MAX_WRITING = 200  # texts read
MAX_WORDS = 2000  # characters of one title, label or text
SMALLEST = 1e-6  # side of a canvas, and scale of a shape: nothing smaller is to be seen

_STYLED = frozenset(
    """fill stroke stroke-width stroke-dasharray stroke-linecap opacity fill-opacity stroke-opacity color display
    visibility style stop-color class font-family font-size text-transform""".split()
)
_SHAPES = frozenset(("path", "rect", "circle", "ellipse", "polygon", "polyline", "line"))
_GROUPS = frozenset(("g", "a", "svg", "switch"))
_DRAWN = _SHAPES | _GROUPS | {"use", "text"}
AROUND = ("setting", "light", "company")  # dimensions whose values stand around the subject, by name
SCENERY = frozenset(("ground", "shadow", "sky", "backdrop", "scenery", "horizon"))  # names that claim nothing
LABELS = ("id", "class", "aria-label", "data-name", "data-icon", "{http://www.inkscape.org/namespaces/inkscape}label")
_LABEL_SET = frozenset(LABELS)
_NOTED = _LABEL_SET | {"style", "clip-path"}
_SAYING = frozenset(("title", "desc", "style"))
_FILE_NAME = "{http://sodipodi.sourceforge.net/DTD/sodipodi-0.dtd}docname"
_XLINK_HREF = "{http://www.w3.org/1999/xlink}href"
# Declarations that ";" and ":" part: without escapes, comments, and strings that hold either.
_PLAIN_STYLE = re.compile(r"""(?:[^'"\\/{}\[\]@]|/(?!\*)|'[^';\\]*'|"[^";\\]*")*+""")
_EMBEDDED = re.compile(r"url\(\s*+['\"]?+data:[^)]*\)", re.IGNORECASE)
_NAME_BREAK = re.compile(r"(?<=[a-z])(?=[A-Z0-9])|[_\d.]+")

BACKGROUND_REACH = 0.97  # share of the canvas that a background covers each way
BACKGROUND_AREA = 0.992  # share of its box that it covers: a tile whose corners are clearly rounded is no background
FRAME_REACH = 0.86  # share of the canvas that a frame spans each way; icons keep a margin below that


class Style(dict[str, str]):
    """Inherited and own style: one object for the same declarations under the same ones, so its paints are read once.

    Not to be changed; equal to itself alone.
    """

    __hash__ = object.__hash__  # type: ignore[assignment]
    __eq__ = object.__eq__

    @cached_property
    def fill(self) -> str:
        return _paint(self, "fill", "black")

    @cached_property
    def stroke(self) -> str:
        """The paint of lines; `none` also where they have no width."""
        paint = _paint(self, "stroke", "none")
        if paint == "none":
            return paint
        width = length(self.get("stroke-width"), 1.0)
        return paint if width is None or width > 0 else "none"

    @cached_property
    def stroke_width(self) -> float:
        width = length(self.get("stroke-width", "1"))
        return 1.0 if width is None else width

    @cached_property
    def is_hidden(self) -> bool:
        return self.get("display") == "none" or self.get("visibility") == "hidden"


@dataclass(slots=True)
class Shape:
    """One painted shape."""

    element: Element
    tag: str
    box: Box  # on the canvas
    style: Style  # inherited and own
    matrix: Matrix | None  # None where nothing is transformed
    fill: str
    stroke: str
    area: float  # that it covers on the canvas; of lines, that of the box they span before any turning

    @property
    def scale(self) -> float:
        """How much longer a length becomes on the canvas."""
        return math.sqrt(abs(self.matrix[0] * self.matrix[3] - self.matrix[1] * self.matrix[2])) if self.matrix else 1.0

    @property
    def stroke_width(self) -> float:
        """On the canvas."""
        return self.style.stroke_width * self.scale

    @property
    def alpha(self) -> float:
        """Opacity of the fill, 0 to 1, that of its colour and its groups included."""
        return float(self.style.get("alpha", 1.0)) * _share(self.style.get("fill-opacity")) * opacity(self.fill)


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
    has_format: bool  # the drawing itself says how wide and tall it is
    is_clipped: bool  # parts are cut by clip paths, so what lies beyond the canvas may never have been meant to show
    ids: dict[str, Element]
    names: list[str]  # what the drawing as a whole is called: title, description, labels of the outermost element
    part_names: list[str]  # labels, ids and classes inside it, in order
    background: Shape | None = None
    frames: list[Shape] = field(default_factory=list)
    figure: list[Shape] = field(default_factory=list)
    copies: list[Box] = field(default_factory=list)  # of figures used again, which are not in `figure`
    writing: list[Writing] = field(default_factory=list)
    scenery: dict[str, float] = field(default_factory=dict)  # fill → area, of the landscape and the sky

    @property
    def width(self) -> float:
        return self.canvas[2] - self.canvas[0]

    @property
    def height(self) -> float:
        return self.canvas[3] - self.canvas[1]


@lru_cache(maxsize=16384)
def shown_values(label: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(what of the subject, what around it) a title, id or class names, in order; "fishBoat_2" is "fish Boat"."""
    lexicon = load_lexicon("svg_drawing")
    found = lexicon.find_cues(_NAME_BREAK.sub(" ", label))
    return (
        tuple(value for value in found if lexicon.values[value].dimension == "subject"),
        tuple(value for value in found if lexicon.values[value].dimension in AROUND),
    )


@lru_cache(maxsize=16384)
def local_name(tag: object) -> str:
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def scene_of(root: Element) -> Scene:
    """Sort what `root` (from `parse_svg`) paints.

    Raises:
        SvgError: its copies, outlines or styles are too many to be measured.
    """
    reader = _Reader(root)
    scene = reader.read(skip_company=True)
    if not scene.figure and reader.has_skipped:  # the drawing shows nothing but a sun, say
        scene = reader.read(skip_company=False)
    return scene


def whole_scene_of(root: Element) -> Scene:
    """As `scene_of`, but what is around the subject counts as part of the figure, too.

    Raises:
        SvgError: as `scene_of`.
    """
    return _Reader(root).read(skip_company=False)


class _Reader:
    """Walks one drawing.  State: the scene being filled, and the style sheet."""

    def __init__(self, root: Element) -> None:
        self.root = root
        self.ids: dict[str, Element] = {}
        self.css: dict[str, dict[str, str]] = {}
        self.titles: list[str] = []
        self.labels: dict[str, None] = {}  # of the elements below the outermost one, in order
        self.is_clipped = self.has_skipped = False
        self.style_characters = self.name_characters = 0
        labels = [root.attrib[name][:MAX_WORDS] for name in (*LABELS, _FILE_NAME) if name in root.attrib]
        for element in root.iter():
            if local_name(element.tag) in _SAYING or not _NOTED.isdisjoint(element.attrib):
                self._note(element)
        self.names = [*self.titles, *labels]

    def _note(self, element: Element) -> None:
        attributes = element.attrib
        if "id" in attributes:
            self.ids[attributes["id"]] = element
        if not _LABEL_SET.isdisjoint(attributes) and element is not self.root:
            for name in LABELS:
                if name in attributes and (label := attributes[name][:MAX_WORDS]) not in self.labels:
                    if self._count_name(label):
                        self.labels[label] = None
        self.is_clipped |= "clip-path" in attributes
        if "style" in attributes and not _PLAIN_STYLE.fullmatch(attributes["style"]):
            self._count_style(attributes["style"])
        tag = local_name(element.tag)
        if tag == "title" and element.text and self._count_name(element.text):
            self.titles.insert(0, element.text[:MAX_WORDS])
        elif tag == "desc" and element.text and self._count_name(element.text):
            self.titles.append(element.text[:MAX_WORDS])
        elif tag == "style" and element.text:
            self._read_css(element.text)

    def _count_name(self, name: str) -> bool:
        """Whether there is still room for this name."""
        self.name_characters += min(len(name), MAX_WORDS)
        return self.name_characters <= MAX_NAMES

    def _count_style(self, css: str) -> None:
        self.style_characters += len(css)
        if self.style_characters > MAX_STYLES:
            raise SvgError(f"the SVG has more than {MAX_STYLES:,} characters of style; use presentation attributes")

    def _read_css(self, css: str) -> None:
        css = _EMBEDDED.sub("none", css)
        self._count_style(css)
        try:
            rules = tinycss2.parse_stylesheet(css, skip_comments=True, skip_whitespace=True)
        except ValueError:  # an integer of more digits than Python reads
            return
        for rule in rules:
            if rule.type == "qualified-rule":
                declared = _declared(rule.content)
                for selector in tinycss2.serialize(rule.prelude).split(","):
                    self.css.setdefault(selector.strip(), {}).update(declared)

    def read(self, *, skip_company: bool) -> Scene:
        canvas, has_format = _canvas(self.root)
        self.scene = Scene(canvas, has_format, self.is_clipped, self.ids, self.names, list(self.labels))
        self.size = (self.scene.width, self.scene.height)
        self.skip_company = skip_company
        self.painted: list[Shape] = []
        self.first_use: dict[str, tuple[Matrix | None, Box | None]] = {}
        self.steps = self.outlines = self.points = 0
        self.last_matrix: Matrix | None = None
        self.last_shows = True
        self.is_around = False  # inside a part that is named for what stands around the subject
        self._walk_all()
        self._sort()
        return self.scene

    def _walk_all(self) -> None:
        matrix, style = None, self._style(_NO_STYLE, self.root)
        for child in self.root:
            self._walk(child, matrix, style, 0, 0)

    def _walk(self, element: Element, matrix: Matrix | None, style: Style, uses: int, level: int) -> None:
        tag = local_name(element.tag)
        attributes = element.attrib
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise SvgError(f"the SVG's <use> elements make more than {MAX_STEPS:,} copies; draw less often")
        if tag not in _DRAWN or level > MAX_LEVELS:
            return
        if self.skip_company and not self.is_around and not _LABEL_SET.isdisjoint(attributes):
            if around := self._around(attributes):
                self.has_skipped = True
                if around != "company":
                    self.is_around = True
                    self._walk(element, matrix, style, uses, level)
                    self.is_around = False
                return
        if "transform" in attributes:
            matrix = self._matrix(matrix, element)
        if self.is_around and tag in _SHAPES and not self.css and "style" not in attributes:
            self._survey(element, tag, matrix, attributes.get("fill") or style.fill)
            return
        if self.css or not _STYLED.isdisjoint(attributes):
            style = self._style(style, element)
            if style.is_hidden:
                return
        if tag in _SHAPES and self.is_around:
            self._survey(element, tag, matrix, style.fill)
        elif tag in _SHAPES:
            self._paint(element, tag, matrix, style)
        elif tag == "use":
            self._walk_use(element, matrix, style, uses, level)
        elif tag == "text":
            self._write(element, matrix, style)
        else:
            if tag == "svg":
                matrix = _viewport(element, matrix)
            for child in element:
                self._walk(child, matrix, style, uses, level + 1)

    def _around(self, attributes: Mapping[str, str]) -> str:
        """The dimension of what a label names around the subject; "" where it names a subject, or nothing."""
        for name in LABELS:
            if name in attributes and (label := attributes[name][:MAX_WORDS]) in self.labels:
                subjects, around = shown_values(label)
                if around and not subjects:
                    return load_lexicon("svg_drawing").values[around[0]].dimension
                if label in SCENERY:
                    return label
        return ""

    def _paint(self, element: Element, tag: str, matrix: Matrix | None, style: Style) -> None:
        if len(self.painted) >= MAX_SHAPES or (matrix and not self._shows(matrix)):
            return
        fill, stroke = style.fill, style.stroke
        if fill == stroke == "none":
            return
        box, area = self._measured(element, tag)
        if box is None:
            return
        if fill == "none":
            area = (box[2] - box[0]) * (box[3] - box[1])
        if matrix:
            area *= abs(matrix[0] * matrix[3] - matrix[1] * matrix[2])
        shape = Shape(element, tag, moved(box, matrix) if matrix else box, style, matrix, fill, stroke, area)
        if fill == "none":
            reach = shape.stroke_width / 2
            left, top, right, bottom = shape.box
            shape.box = (left - reach, top - reach, right + reach, bottom + reach)
            shape.area += 2 * reach * (right - left + bottom - top + 2 * reach)  # a straight line has no box of its own
        self.painted.append(shape)

    def _survey(self, element: Element, tag: str, matrix: Matrix | None, fill: str) -> None:
        """Note how much a shape of the landscape paints, and with what."""
        _, area = self._measured(element, tag) if fill != "none" else (None, 0.0)
        if matrix:
            area *= abs(matrix[0] * matrix[3] - matrix[1] * matrix[2])
        self.scene.scenery[fill] = self.scene.scenery.get(fill, 0.0) + area

    def _measured(self, element: Element, tag: str) -> tuple[Box | None, float]:
        """The box of a shape and what it covers when filled, in its own units; a check on how much is measured."""
        self.outlines += len(element.attrib.get("d", "")) + len(element.attrib.get("points", ""))
        if self.outlines > MAX_OUTLINES:
            raise SvgError(f"the SVG has more than {MAX_OUTLINES:,} characters of path data; simplify its outlines")
        box, area, points = measure(tag, element.attrib, *self.size)
        self.points += points
        if self.points > MAX_POINTS:
            raise SvgError(f"the SVG's paths have more than {MAX_POINTS:,} points; simplify its outlines")
        return box, area

    def _shows(self, matrix: Matrix) -> bool:
        """`_is_visible`, asked once for the shapes of a group."""
        if matrix is not self.last_matrix:
            self.last_matrix, self.last_shows = matrix, _is_visible(matrix)
        return self.last_shows

    def _walk_use(self, element: Element, matrix: Matrix | None, style: Style, uses: int, level: int) -> None:
        attributes = element.attrib
        name = attributes.get("href", attributes.get(_XLINK_HREF, "")).removeprefix("#")
        target = self.ids.get(name)
        if target is None or uses >= MAX_USE_DEPTH:
            return
        if "x" in attributes or "y" in attributes:
            x, y = length(attributes.get("x"), self.size[0]), length(attributes.get("y"), self.size[1])
            matrix = multiply(matrix, (1, 0, 0, 1, x or 0, y or 0))
        if uses == 0 and name in self.first_use and self._copy(name, matrix):
            return
        before = len(self.painted)
        if local_name(target.tag) == "symbol":
            style, inner = self._style(style, target), _viewport(target, matrix, attributes)
            for child in target:
                self._walk(child, inner, style, uses + 1, level + 1)
        else:
            self._walk(target, matrix, style, uses + 1, level + 1)
        if uses == 0 and name not in self.first_use:
            boxes = [shape.box for shape in self.painted[before:]]
            self.first_use[name] = (matrix, union(boxes) if boxes else None)

    def _copy(self, name: str, matrix: Matrix | None) -> bool:
        """Note a further copy of what was used before, if it is only shifted; that spares walking it again."""
        first, box = self.first_use[name]
        here, there = matrix or (1, 0, 0, 1, 0, 0), first or (1, 0, 0, 1, 0, 0)
        if here[:4] != there[:4] or box is None:
            return False
        left, top, right, bottom = box
        dx, dy = here[4] - there[4], here[5] - there[5]
        if not self.is_around:
            self.scene.copies.append((left + dx, top + dy, right + dx, bottom + dy))
        return True

    def _write(self, element: Element, matrix: Matrix | None, style: Style) -> None:
        if len(self.scene.writing) >= MAX_WRITING or (matrix and not _is_visible(matrix)):
            return
        pieces = [piece[:MAX_WORDS] for piece in islice(element.itertext(), MAX_WRITING)]
        words = " ".join("".join(pieces).split())[:MAX_WORDS]
        if style.get("text-transform") in ("uppercase", "lowercase"):
            words = words.upper() if style["text-transform"] == "uppercase" else words.lower()
        x, y = _first_length(element.get("x"), self.size[0]), _first_length(element.get("y"), self.size[1])
        where = moved((x, y, x, y), matrix) if matrix else (x, y, x, y)
        size = length(style.get("font-size", "16")) or 16.0
        if words:
            scale = abs(matrix[3]) if matrix else 1.0
            family = style.get("font-family", "")[:MAX_WORDS].lower()
            self.scene.writing.append(Writing(words, where[1], size * scale, family))

    def _matrix(self, outer: Matrix | None, element: Element) -> Matrix | None:
        own = matrix_of(element.attrib.get("transform", ""))
        return multiply(outer, own) if own else outer

    def _style(self, inherited: Style, element: Element) -> Style:
        own = [item for item in element.attrib.items() if item[0] in _STYLED]
        if self.css:
            declared = dict(own)
            for selector in _selectors(element):
                declared.update(self.css.get(selector, ()))
            own = list(declared.items())
        return _inheriting(inherited, tuple(own)) if own else inherited

    def _sort(self) -> None:
        """Tell background and frames from the figure."""
        scene = self.scene
        for shape in self.painted:
            if shape.fill != "none" and not scene.figure and _covers(shape, scene):
                scene.background = shape
                if shape.stroke != "none":
                    scene.frames.append(shape)
            elif shape.fill == "none" and _spans(shape.box, scene) and _goes_around(shape):
                scene.frames.append(shape)
            else:
                scene.figure.append(shape)
        if not scene.figure:  # a ring, say, that goes around nothing is what there is to see
            scene.figure = [shape for shape in scene.frames if shape.fill == "none"]
            scene.frames = [shape for shape in scene.frames if shape.fill != "none"]
        if not scene.has_format and scene.figure:
            left, top, right, bottom = union([shape.box for shape in self.painted])
            least = SMALLEST + 1e-12 * max(map(abs, (left, top, right, bottom)))  # a line or a point spans no area
            more_x, more_y = max(least - (right - left), 0), max(least - (bottom - top), 0)
            scene.canvas = (left - more_x, top - more_y, right + more_x, bottom + more_y)


_NO_STYLE = Style()


@lru_cache(maxsize=4096)
def _inheriting(inherited: Style, declared: tuple[tuple[str, str], ...]) -> Style:
    """Inherited and own style; opacity, which is not inherited, gathers in `alpha`."""
    own = dict(declared)
    if "style" in own:
        own.update(declarations(own["style"]))
    style = Style({**inherited, **{name: value for name, value in own.items() if value != "inherit"}})
    if "opacity" in own:
        style["alpha"] = str(float(inherited.get("alpha", 1.0)) * _share(own["opacity"], 0.0))
    return style


def _paint(style: Style, name: str, default: str) -> str:
    """The paint of a fill or stroke; `none` also for colours that are wholly transparent."""
    paint = _plain_paint(style.get(name, default))
    return _plain_paint(style.get("color", "black")) if paint == "currentcolor" else paint


@lru_cache(maxsize=4096)
def _plain_paint(paint: str) -> str:
    if paint.lower() in ("none", "currentcolor"):
        return paint.lower()
    return "none" if opacity(paint) == 0 else paint


def _share(text: str | None, otherwise: float = 1.0) -> float:
    """An opacity, 0 to 1."""
    share = length(text, 1.0)
    return otherwise if share is None else min(max(share, 0.0), 1.0)


def _first_length(text: str | None, whole: float) -> float:
    """The first of a list of lengths, which says where a text starts."""
    first = text[:MAX_WORDS].split() if text else ()
    return (length(first[0], whole) if first else None) or 0.0


def _is_visible(matrix: Matrix) -> bool:
    """Whether a matrix leaves a shape an area that can be measured: neither flat nor out of reach."""
    a, b, c, d, e, f = matrix
    return (
        SMALLEST**2 < abs(a * d - b * c) < LARGEST**2
        and max(abs(a), abs(b), abs(c), abs(d)) < LARGEST
        and max(abs(e), abs(f)) < LARGEST
    )


def _selectors(element: Element) -> Iterator[str]:
    """The simple selectors that match an element, the weakest first."""
    tag = local_name(element.tag)
    yield from ("*", tag)
    for name in element.attrib.get("class", "").split(maxsplit=MAX_CLASSES)[:MAX_CLASSES]:
        yield from (f".{name}", f"{tag}.{name}")
    if "id" in element.attrib:
        yield f"#{element.attrib['id']}"


@lru_cache(maxsize=4096)
def declarations(style: str) -> dict[str, str]:
    """What a `style` attribute declares of the properties that count here."""
    if not _PLAIN_STYLE.fullmatch(style):
        try:
            return _declared(tinycss2.parse_component_value_list(_EMBEDDED.sub("none", style), skip_comments=True))
        except ValueError:  # an integer of more digits than Python reads
            return {}
    pairs = [(name.strip().lower(), value) for name, _, value in (each.partition(":") for each in style.split(";"))]
    return {name: value.replace("!important", "").strip() for name, value in pairs if name in _STYLED and value.strip()}


def _declared(content: Iterable[Any]) -> dict[str, str]:
    declared = tinycss2.parse_blocks_contents(content, skip_comments=True, skip_whitespace=True)
    return {
        each.lower_name: tinycss2.serialize(each.value).strip()
        for each in declared
        if each.type == "declaration" and each.lower_name in _STYLED
    }


def _canvas(root: Element) -> tuple[Box, bool]:
    """The canvas in user units, and whether the drawing states it."""
    box = numbers(root.get("viewBox", ""))
    if len(box) == 4 and box[2] > SMALLEST and box[3] > SMALLEST:
        return (box[0], box[1], box[0] + box[2], box[1] + box[3]), True
    width, height = root.get("width", ""), root.get("height", "")
    if width and height and not width.endswith("%") and not height.endswith("%"):
        w, h = length(width), length(height)
        if w and h and w > SMALLEST and h > SMALLEST:
            return (0.0, 0.0, w, h), True
    return (0.0, 0.0, 300.0, 150.0), False


def _viewport(element: Element, matrix: Matrix | None, sizes: Mapping[str, str] | None = None) -> Matrix | None:
    """The matrix inside a nested `svg` or a used `symbol`, which may have its own viewBox."""
    get = (sizes or element.attrib).get
    if sizes is None and ("x" in element.attrib or "y" in element.attrib):
        matrix = multiply(matrix, (1, 0, 0, 1, length(get("x")) or 0, length(get("y")) or 0))
    box = numbers(element.attrib.get("viewBox", ""))
    if len(box) != 4 or box[2] < SMALLEST or box[3] < SMALLEST:
        return matrix
    width = length(get("width") or element.attrib.get("width")) or box[2]
    height = length(get("height") or element.attrib.get("height")) or box[3]
    scale = min(width / box[2], height / box[3])
    x, y = (width - box[2] * scale) / 2 - box[0] * scale, (height - box[3] * scale) / 2 - box[1] * scale
    return multiply(matrix, (scale, 0, 0, scale, x, y))


def _goes_around(shape: Shape) -> bool:
    """Whether a shape without fill runs along the edges of its box, corners included, as a frame does."""
    if shape.matrix is not None and abs(shape.scale - 1) > 1e-6:
        return False  # drawn in units of its own: part of the figure, like the ring behind an emblem
    if shape.tag not in ("path", "polygon", "polyline"):
        return shape.tag != "line"
    attributes = shape.element.attrib
    points = path_points(attributes.get("d", "")) if shape.tag == "path" else polygon_points(attributes["points"])
    xs, ys = zip(*points, strict=True)
    left, top, width, height = min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys)
    if not width or not height:
        return False
    places = [((x - left) / width, (y - top) / height) for x, y in points]
    on_edges = all(min(x, 1 - x, y, 1 - y) <= 0.08 for x, y in places)
    corners = {(x > 0.5, y > 0.5) for x, y in places if max(min(x, 1 - x), min(y, 1 - y)) <= 0.2}
    return on_edges and len(corners) == 4


def _covers(shape: Shape, scene: Scene) -> bool:
    """Whether a filled shape covers all but a sliver of the canvas."""
    left, top, right, bottom = shape.box
    if not _reaches(shape.box, scene.canvas) or shape.area < BACKGROUND_AREA * (right - left) * (bottom - top):
        return False
    radius = length(shape.element.attrib.get("rx"), 0.0) or 0.0
    return radius * shape.scale <= 0.03 * min(scene.width, scene.height)


def _reaches(box: Box, canvas: Box) -> bool:
    """Whether `box` reaches over all but a sliver of the canvas."""
    slack_x, slack_y = (
        (canvas[2] - canvas[0]) * (1 - BACKGROUND_REACH),
        (canvas[3] - canvas[1]) * (1 - BACKGROUND_REACH),
    )
    return (
        box[0] <= canvas[0] + slack_x
        and box[1] <= canvas[1] + slack_y
        and box[2] >= canvas[2] - slack_x
        and box[3] >= canvas[3] - slack_y
    )


def _spans(box: Box, scene: Scene) -> bool:
    """Whether `box` goes around nearly all of the canvas, and not beyond it."""
    width, height = box[2] - box[0], box[3] - box[1]
    return FRAME_REACH <= width / scene.width <= 1.02 and FRAME_REACH <= height / scene.height <= 1.02
