"""What an SVG shows, in values of the svg_drawing lexicon, each with the measured fact that shows it.

`read_svg` works on any SVG.  It claims what the drawing itself decides: geometry, paints, text, and what titles, ids
and classes say.  Between two values it claims the broader one, or nothing.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from xml.etree.ElementTree import Element

from discover_lib.base.svg import parse_svg
from discover_lib.engines.miniature.svg.colour import HUED, Rgb, as_hex, family, hsl, lightness, rgb
from discover_lib.engines.miniature.svg.geometry import (
    Box,
    length,
    local_box,
    matrix_of,
    numbers,
    path_points,
    polygon_points,
    union,
)
from discover_lib.engines.miniature.svg.scene import (
    SMALLEST,
    Scene,
    Shape,
    declarations,
    local_name,
    scene_of,
    shown_values,
)

Finding = tuple[str, str]  # value id, reason

MAX_COMPANY = 3
MAX_STOPS = 30  # of a gradient, and marks of a pattern
# What a drawing shows that is named for nothing else than what could also be company.
ALONE = {"pines": "plant", "bushes": "plant", "grass": "plant", "birds": "animal", "butterflies": "animal"}

# Widths of lines: around the figure as shares of the figure's size, of a frame as shares of the canvas's short side.
FINE_LINE, BOLD_LINE = 0.017, 0.023
FINE_STROKE, BOLD_STROKE = 0.055, 0.11  # where there are lines and nothing else
THIN_FRAME, THICK_FRAME = 0.014, 0.025
# Where the middle of the figure must lie to count as left or right, upper or lower; shares of the canvas.
LOW_THIRD, HIGH_THIRD = 0.42, 0.58
CROPPED = 0.08  # share of the figure beyond the canvas
ALIKE = 0.85  # share of the figure's area that like units make up, where there is repetition
# How much of the canvas the figure, all copies included, reaches across in its longer direction.
TINY, SMALLER, SMALL = 0.165, 0.175, 0.215
LARGE, LARGER, HUGE = 0.78, 0.87, 0.9
MAIN_SHARE = 0.4  # of the painted area that one paint must have to be the figure's colour
HUE_GAP = 35  # degrees between hues that count as different ones
INSIDE = 0.97  # how much of a badge's width and height what stands before it may take


def read_svg(text: str, name: str = "") -> dict[str, str]:
    """Value id → reason, the most specific value of each dimension only.

    Args:
        name: what the drawing is filed under; it counts where the drawing itself does not say what it shows.

    Raises:
        SvgError: the text cannot be parsed as an SVG (see `parse_svg`), or is too much to measure (see `scene_of`).
    """
    scene = scene_of(parse_svg(text))
    findings = [*_named(scene, name), *_format(scene), *_background(scene), *_frame(scene), *_caption(scene)]
    if scene.figure:
        badge = _badge_shape(scene)
        badged = list(_badge(badge))
        if not badged:  # a face, say, on which eyes stand, but none of the shapes that carry something
            badge = None
        shapes = [shape for shape in scene.figure if shape is not badge] if badge else scene.figure
        whole = union([box for _, box in scene.units])
        findings += [*_size_on_canvas(scene, whole), *_place(scene, whole), *_repetition(scene), *badged]
        findings += [*_tilt(shapes), *_palette(scene, shapes), *_paints(scene, shapes)]
    return dict(findings)


# ---- what the drawing says of itself


def _named(scene: Scene, name: str) -> Iterator[Finding]:
    """The first subject and up to three companions that title, labels, ids and at last the file's name say."""
    subject: Finding | None = None
    company: dict[str, str] = {}
    called = [(label, "the drawing is named", label) for label in scene.names]
    parts = [(label, "a part is named", label) for label in scene.part_names]
    filed = [(spoken, "the file is named", name) for spoken in _spoken_names(name)] if name else []
    for label, what, given in [*called, *parts, *filed]:
        subjects, companions = shown_values(label)
        if subjects and subject is None:
            subject = (subjects[0], f"{what} “{_short(given)}”")
        if what != "the file is named":
            for value in companions:
                company.setdefault(value, f"{what} “{_short(given)}”")
    if subject is None:
        inside = {value for label in scene.part_names for value in shown_values(label)[1]}
        company = {value: reason for value, reason in company.items() if value in inside}
        subject = None if company else _shown_alone([*called, *filed])
    if subject:
        yield subject
    yield from list(company.items())[:MAX_COMPANY]


def _shown_alone(names: Sequence[tuple[str, str, str]]) -> Finding | None:
    """What a drawing shows whose name says nothing but a tree or a bird."""
    for label, what, given in names:
        for value in shown_values(label)[1]:
            if value in ALONE:
                return ALONE[value], f"{what} “{_short(given)}”"
    return None


_CODE_POINTS = re.compile(r"[0-9a-f]{4,6}(?:[-_ ][0-9a-f]{4,6})*$", re.IGNORECASE)
_NOT_SHOWN = re.compile(r"\b(?:hot.dog|fish.cake|pandas|(?:car|bus).(?:battery|stop)|slash|off|no)\b", re.IGNORECASE)


def _spoken_names(name: str) -> Iterator[str]:
    """What a file's name says; emoji are filed under their code points: "1f98a" says "fox face"."""
    name = name.replace("_", " ")
    if _CODE_POINTS.match(name):
        first = chr(min(int(re.split("[- ]", name)[0], 16), 0x10FFFF))
        name = unicodedata.name(first, "").lower()
    if not _NOT_SHOWN.search(name):
        yield name


def _short(label: str) -> str:
    label = " ".join(label.split())
    return label if len(label) <= 60 else label[:59] + "…"


# ---- canvas

_RATIOS = (  # wide : tall, the value at it, the value around it
    (4 / 3, "four-to-three"),
    (3 / 2, "three-to-two"),
    (16 / 9, "sixteen-to-nine"),
    (2.0, "two-to-one"),
    (5 / 2, "five-to-two"),
)
_TURNED = {
    "four-to-three": "three-to-four",
    "three-to-two": "two-to-three",
    "sixteen-to-nine": "nine-to-sixteen",
    "two-to-one": "one-to-two",
    "five-to-two": "two-to-five",
    "landscape-canvas": "portrait-canvas",
    "panorama": "strip",
}


def _format(scene: Scene) -> Iterator[Finding]:
    if not scene.has_format:
        return
    ratio = scene.width / scene.height
    wide = max(ratio, 1 / ratio)
    if wide <= 1.03:
        yield "square-canvas", f"the canvas is {scene.width:g} × {scene.height:g}"
        return
    value = next((name for exact, name in _RATIOS if abs(wide / exact - 1) < 0.035), None)
    if value is None:
        value = "landscape-canvas" if 1.18 < wide < 1.6 else "panorama" if wide >= 1.6 else None
    if value and ratio > 1:
        yield value, f"the canvas is {ratio:.2f} times as wide as tall"
    elif value:
        yield _TURNED[value], f"the canvas is {1 / ratio:.2f} times as tall as wide"


def _background(scene: Scene) -> Iterator[Finding]:
    shape = scene.background
    if shape is None:
        return
    paint = shape.fill
    if paint.startswith("url("):
        source = scene.ids.get(_reference(paint))
        if source is not None and local_name(source.tag) in ("linearGradient", "radialGradient"):
            yield _fading(source, scene)
        return
    colour = rgb(paint)
    if colour is not None:
        value = _plain_backdrop(colour)
        yield value, f"the whole canvas is filled with {paint}"


def _plain_backdrop(colour: Rgb) -> str:
    hue, saturation, light = hsl(colour)
    chroma = max(colour) - min(colour)
    if light >= 0.8:
        if light >= 0.985 or (chroma < 0.02 and light > 0.93):
            return "white-backdrop"
        if chroma >= 0.02 and 25 <= hue < 65:
            return "cream-backdrop"
        return "pale-blue-backdrop" if chroma >= 0.03 and 190 <= hue < 250 else "light-backdrop"
    if light <= 0.26:
        if light < 0.1 and chroma < 0.08:
            return "black-backdrop"
        if chroma >= 0.08 and 205 <= hue < 255:
            return "midnight-backdrop"
        return "pine-backdrop" if chroma >= 0.08 and 100 <= hue < 175 else "dark-backdrop"
    if saturation >= 0.45 and 0.32 <= light < 0.75:
        bright = ((42, 66, "yellow-backdrop"), (165, 198, "turquoise-backdrop"), (310, 350, "pink-backdrop"))
        return next((value for first, last, value in bright if first <= hue < last), "bright-backdrop")
    return "plain-backdrop"


def _fading(gradient: Element, scene: Scene) -> Finding:
    colours = _stops(gradient, scene)
    if local_name(gradient.tag) == "radialGradient":
        if len(colours) < 2:
            return "halo-backdrop", "the backdrop is a radial gradient"
        inner, outer = lightness(colours[0]), lightness(colours[-1])
        if inner > outer:
            return "glow-backdrop", "the backdrop is a radial gradient, lighter in the middle"
        return "hollow-backdrop", "the backdrop is a radial gradient, darker in the middle"
    direction = _direction(gradient)
    value = {"down": "falling-sweep", "across": "sideways-sweep"}.get(direction, "corner-sweep")
    return value, f"the backdrop is a linear gradient that runs {direction}"


def _direction(gradient: Element) -> str:
    """Where a linear gradient runs: `down`, `across` or `aslant`."""
    x1, y1, x2, y2 = (
        length(gradient.get(name, default), 1.0) or 0.0
        for name, default in (("x1", "0"), ("y1", "0"), ("x2", "100%"), ("y2", "0"))
    )
    dx, dy = x2 - x1, y2 - y1
    if turn := matrix_of(gradient.get("gradientTransform", "")):
        dx, dy = turn[0] * dx + turn[2] * dy, turn[1] * dx + turn[3] * dy
    if abs(dx) <= 0.25 * abs(dy):
        return "down"
    return "across" if abs(dy) <= 0.25 * abs(dx) else "aslant"


def _stops(gradient: Element, scene: Scene) -> list[Rgb]:
    """The colours of a gradient, those of the gradient that it refers to if it has none."""
    for _ in range(4):
        stops = [stop for stop in gradient[:MAX_STOPS] if local_name(stop.tag) == "stop"]
        if stops:
            styles = ({**stop.attrib, **declarations(stop.get("style", ""))} for stop in stops)
            colours = (rgb(style.get("stop-color", "black")) for style in styles)
            return [colour for colour in colours if colour is not None]
        name = gradient.get("href") or gradient.get("{http://www.w3.org/1999/xlink}href") or ""
        target = scene.ids.get(name.removeprefix("#"))
        if target is None:
            break
        gradient = target
    return []


def _reference(paint: str) -> str:
    return paint[4:].partition(")")[0].strip("'\" #")


# ---- frame and caption


def _frame(scene: Scene) -> Iterator[Finding]:
    if not scene.frames:
        return
    short = min(scene.width, scene.height)
    widths = [frame.stroke_width / short for frame in scene.frames]
    first = scene.frames[0]
    if first.tag == "path" and first.element.get("d", "").lower().count("m") == 4:
        yield "bracket-frame", "four separate lines stand in the corners"
    elif dash := _dash(first):
        value = "dotted-frame" if dash[0] <= 1.5 else "dashed-frame"
        yield value, "a broken line goes around the canvas"
    elif first.tag in ("circle", "ellipse"):
        value = "single-oval" if len(widths) == 1 else "double-oval"
        yield value, f"{len(widths)} oval line(s) go around the canvas"
    elif first.tag == "rect" and (radius := _radius(first)) > 0.01:
        value = "slightly-soft" if radius < 0.07 else "strongly-soft" if radius > 0.1 else "soft-frame"
        yield value, f"the frame's corners are rounded by {radius:.0%} of its side"
    elif first.tag in ("rect", "polygon", "path"):
        yield _straight_frame(widths), f"{len(widths)} line(s) of {widths[0]:.1%} of the canvas go around it"


def _straight_frame(widths: Sequence[float]) -> str:
    if len(widths) == 1:
        thin, thick = widths[0] <= THIN_FRAME, widths[0] >= THICK_FRAME
        return "thin-frame" if thin else "thick-frame" if thick else "single-frame"
    ratio = max(widths[:2]) / max(min(widths[:2]), SMALLEST)
    return "even-double" if ratio < 1.3 else "uneven-double" if ratio > 1.6 else "double-frame"


def _radius(shape: Shape) -> float:
    """Corner radius of a rect as a share of its short side."""
    radius = length(shape.element.get("rx") or shape.element.get("ry"), 0.0) or 0.0
    left, top, right, bottom = shape.box
    return radius * shape.scale / max(min(right - left, bottom - top), SMALLEST)


def _dash(shape: Shape) -> tuple[float, float] | None:
    """(dash, gap) of a broken line in widths of the line; round ends lengthen dashes.  None for an unbroken line."""
    pattern = numbers(shape.style.get("stroke-dasharray", ""))
    if not pattern or not any(pattern):
        return None
    width = length(shape.style.get("stroke-width", "1")) or 1.0
    dash, gap = pattern[0] / width, pattern[1 % len(pattern)] / width
    if shape.style.get("stroke-linecap", "butt") != "butt":
        dash, gap = dash + 1, gap - 1
    return dash, gap


def _caption(scene: Scene) -> Iterator[Finding]:
    if not scene.writing:
        return
    largest = max(scene.writing, key=lambda writing: writing.size)
    height = (largest.y - 0.35 * largest.size - scene.canvas[1]) / scene.height
    if 0.36 < height < 0.64:
        return
    side = "above" if height < 0.5 else "below"
    letters = [letter for letter in largest.words if letter.isalpha()]
    if not letters:
        return
    case = "capitals" if all(letter.isupper() for letter in letters) else "small"
    face = _typeface(largest.family)
    reason = f"“{_short(largest.words)}” is written {side}{f' in a {face} typeface' if face else ''}"
    if case == "small" and any(letter.isupper() for letter in letters):
        yield f"word-{side}", reason
    elif face:
        yield f"{face}-{case}-{side}", reason
    else:
        yield f"capitals-{side}" if case == "capitals" else f"small-letters-{side}", reason


@lru_cache(maxsize=256)
def _typeface(families: str) -> str:
    marks = (
        ("typewriter", ("mono", "courier", "consolas", "typewriter", "menlo")),
        ("sans", ("sans", "arial", "helvetica", "verdana", "roboto", "inter", "futura", "segoe", "system-ui")),
        ("serif", ("serif", "georgia", "times", "garamond", "palatino", "baskerville", "didot", "bodoni")),
    )
    for one in families.split(","):
        for face, names in marks:
            if any(name in one for name in names):
                return face
    return ""


# ---- where the figure stands, and how often


def _place(scene: Scene, whole: Box) -> Iterator[Finding]:
    left, top, right, bottom = _on_canvas(whole, scene) if scene.is_clipped else whole
    width, height = max(right - left, 1e-9), max(bottom - top, 1e-9)
    beyond = {
        "cut-left": (scene.canvas[0] - left) / width,
        "cut-right": (right - scene.canvas[2]) / width,
        "cut-top": (scene.canvas[1] - top) / height,
        "cut-bottom": (bottom - scene.canvas[3]) / height,
    }
    cut = [value for value, share in beyond.items() if share > CROPPED]
    if cut:
        if len(cut) == 1:
            yield cut[0], f"{beyond[cut[0]]:.0%} of the figure lies beyond that edge"
        elif len(cut) == 2:
            yield _shared_cut(cut), "the figure runs beyond two edges"
        return
    x = ((left + right) / 2 - scene.canvas[0]) / scene.width
    y = ((top + bottom) / 2 - scene.canvas[1]) / scene.height
    across = "left" if x < LOW_THIRD else "right" if x > HIGH_THIRD else "middle"
    down = "upper" if y < LOW_THIRD else "lower" if y > HIGH_THIRD else "middle"
    if (across, down) != ("middle", "middle"):
        value = f"middle-{across}" if down == "middle" else f"{down}-{across}"
        yield value, f"the figure's middle lies at {x:.0%} of the width and {y:.0%} of the height"


def _on_canvas(box: Box, scene: Scene) -> Box:
    left, top, right, bottom = scene.canvas
    return (max(box[0], left), max(box[1], top), min(box[2], right), min(box[3], bottom))


def _shared_cut(cut: Sequence[str]) -> str:
    if set(cut) == {"cut-left", "cut-right"}:
        return "cut-sideways"
    return "cut-upright" if set(cut) == {"cut-top", "cut-bottom"} else "cropped"


def _size_on_canvas(scene: Scene, whole: Box) -> Iterator[Finding]:
    if not scene.has_format:
        return
    share = max((whole[2] - whole[0]) / scene.width, (whole[3] - whole[1]) / scene.height)
    if share <= SMALL:
        value = "tiny" if share <= TINY else "small-figure" if share < SMALLER else "fairly-small"
    elif share >= LARGE:
        value = "huge" if share >= HUGE else "large-figure" if share > LARGER else "fairly-large"
    else:
        return
    yield value, f"the figure reaches across {share:.0%} of the canvas"


def _repetition(scene: Scene) -> Iterator[Finding]:
    boxes = _like_units(scene)
    if len(boxes) < 2:
        return
    value = _arrangement(boxes)
    if value:
        yield value, f"{len(boxes)} like figures stand in the drawing"


def _like_units(scene: Scene) -> list[Box]:
    """The boxes of the units that are alike, if they are nearly all there is."""
    alike: dict[object, list[Box]] = defaultdict(list)
    for kind, box in scene.units:
        alike[kind].append(box)
    boxes = max(alike.values(), key=len)
    if any(_differ(boxes[0], box) for box in boxes) or any(_overlap(one, two) for one, two in pairwise(boxes)):
        return []
    return boxes if sum(map(_area, boxes)) >= ALIKE * sum(_area(box) for _, box in scene.units) else []


def _differ(one: Box, two: Box) -> bool:
    """Whether two boxes differ clearly in size."""
    width, height = one[2] - one[0], one[3] - one[1]
    slack = 0.06 * max(width, height)
    return abs(width - (two[2] - two[0])) > slack or abs(height - (two[3] - two[1])) > slack


def _overlap(one: Box, two: Box) -> bool:
    """Whether the middles of two boxes lie within each other: one thing on top of another, not two things."""
    x, y = (two[0] + two[2]) / 2, (two[1] + two[3]) / 2
    return one[0] < x < one[2] and one[1] < y < one[3]


def _area(box: Box) -> float:
    return (box[2] - box[0] + 1e-6) * (box[3] - box[1] + 1e-6)


def _arrangement(boxes: Sequence[Box]) -> str | None:
    """How two or more like boxes are arranged."""
    count = len(boxes)
    xs, ys = [(box[0] + box[2]) / 2 for box in boxes], [(box[1] + box[3]) / 2 for box in boxes]
    columns = _distinct(xs, 0.3 * (boxes[0][2] - boxes[0][0]))
    rows = _distinct(ys, 0.3 * (boxes[0][3] - boxes[0][1]))
    if rows == 1 and columns == count:
        return {2: "side-by-side", 3: "row-of-three", 4: "row-of-four", 5: "row-of-five"}.get(count, "long-row")
    if columns == 1 and rows == count:
        return {2: "stacked-pair", 3: "column-of-three"}.get(count, "many-times")
    if rows * columns == count:
        return {(2, 2): "two-by-two", (2, 3): "two-by-three", (3, 3): "three-by-three"}.get((rows, columns), "grid")
    if count == 2:
        return "twice"
    if count == 3:
        return "triangle-of-three" if rows == 2 and columns == 3 else "thrice"
    x, y = sum(xs) / count, sum(ys) / count
    reach = [math.hypot(one - x, two - y) for one, two in zip(xs, ys, strict=True)]
    if count >= 5 and max(reach) < 1.1 * min(reach):
        return {6: "ring-of-six", 8: "ring-of-eight"}.get(count, "circle-of-many")
    return "many-times"


def _distinct(places: Sequence[float], tolerance: float) -> int:
    """How many clearly different numbers there are."""
    ordered = sorted(places)
    return 1 + sum(after - before > tolerance for before, after in pairwise(ordered))


# ---- the badge


def _badge_shape(scene: Scene) -> Shape | None:
    """The first painted shape, if everything else of the (first) figure stands before it and there is something."""
    first, others = scene.figure[0], scene.figure[1:]
    if not others or first.tag in ("line", "polyline"):
        return None
    if first.matrix and abs(first.matrix[1]) > 1e-6 and first.tag not in ("circle", "ellipse"):
        return None  # turned: its upright box says little about what it contains
    left, top, right, bottom = union([shape.box for shape in others])
    width, height = first.box[2] - first.box[0], first.box[3] - first.box[1]
    if width >= INSIDE * scene.width or height >= INSIDE * scene.height:
        if first.tag not in ("circle", "ellipse") and min(width / scene.width, height / scene.height) < INSIDE:
            return None  # a band across the canvas
    inside = left >= first.box[0] and top >= first.box[1] and right <= first.box[2] and bottom <= first.box[3]
    if inside and right - left <= INSIDE * width and bottom - top <= INSIDE * height:
        return first
    return None


def _badge(shape: Shape | None) -> Iterator[Finding]:
    if shape is None:
        return
    width, height = shape.box[2] - shape.box[0], shape.box[3] - shape.box[1]
    what = f"the figure stands before a <{shape.tag}>"
    if shape.tag in ("circle", "ellipse"):
        if shape.fill == "none":
            yield "ring-badge", f"{what} that is not filled"
        else:
            yield ("disc-badge" if 0.94 * height < width < 1.06 * height else "ellipse-badge"), what
    elif shape.tag == "rect":
        if 0.9 * height < width < 1.1 * height:
            yield ("rounded-tile" if _radius(shape) > 0.02 else "square-tile"), what
        else:
            yield "four-sided", what
    else:
        points = _corners(shape)
        value = _polygon_badge(points, shape.box)
        if value:
            yield value, f"{what} with {len(points)} corners"


def _corners(shape: Shape) -> tuple[tuple[float, float], ...]:
    """The corners of a straight-sided closed shape; none for curves."""
    if shape.tag == "polygon":
        return polygon_points(shape.element.get("points", ""))
    d = shape.element.get("d", "")
    return () if set(d.upper()) & set("CSQTA") else path_points(d)


def _polygon_badge(points: Sequence[tuple[float, float]], box: Box) -> str | None:
    count = len(points)
    if count < 4:
        return "cornered-badge" if count == 3 else None
    xs, ys = zip(*points, strict=True)
    x, y = (min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2
    reach = [math.hypot(one - x, two - y) for one, two in points]
    even, odd = reach[::2], reach[1::2]
    if count >= 8 and (max(even) < 0.9 * min(odd) or max(odd) < 0.9 * min(even)):
        return "star-badge" if count == 10 else "burst-badge" if count >= 20 else "spiked-badge"
    if count == 4:
        upright = sum(abs(abs(one - x) - (max(xs) - x)) < 0.1 * (max(xs) - x) for one in xs) == 4
        return "four-sided" if upright else "diamond-badge"
    if max(reach) > 1.25 * min(reach):
        return None  # a head or a hull rather than a badge
    return {5: "pentagon-badge", 6: "hexagon-badge", 8: "octagon-badge"}.get(count, "many-sided")


# ---- the figure itself


def _tilt(shapes: Sequence[Shape]) -> Iterator[Finding]:
    turned: dict[int, float] = defaultdict(float)
    for shape in shapes:
        matrix = shape.matrix
        if matrix is None or (matrix[1] == 0 and matrix[0] > 0):
            turned[0] += shape.area
        elif matrix[0] * matrix[3] - matrix[1] * matrix[2] > 0:  # mirrored drawings have no upright to compare with
            turned[round(math.degrees(math.atan2(matrix[1], matrix[0])))] += shape.area
    if not turned:
        return
    degrees = max(turned, key=lambda angle: turned[angle])
    value = _lean(degrees)
    if value and turned[degrees] >= 0.6 * sum(turned.values()):
        yield value, f"the figure is turned by {abs(degrees)}° {'clockwise' if degrees > 0 else 'counterclockwise'}"


def _lean(degrees: int) -> str | None:
    size, side = abs(degrees), "right" if degrees > 0 else "left"
    if size < 4:
        return None
    if size <= 65:
        degree = "slight" if size <= 15 else "marked" if 20 <= size <= 32 else "steep" if size >= 38 else "leans"
        return f"{degree}-{side}"
    if 80 <= size <= 100:
        return f"quarter-{side}"
    return "upside-down" if size >= 165 else "turned-over"


def _paints(scene: Scene, shapes: Sequence[Shape]) -> Iterator[Finding]:
    """Colour, texture and outlines: those that most of the figure's area has."""
    filled: dict[str, float] = defaultdict(float)
    stroked: dict[str, float] = defaultdict(float)
    covered = 0.0
    examples: dict[str, Shape] = {}
    total = 0.0
    for shape in shapes:
        fill, stroke, area = shape.fill, shape.stroke, shape.area
        total += area
        if fill != "none":
            filled[fill] += area
            covered += area
            examples.setdefault("fill " + fill, shape)
        if stroke != "none" and shape.stroke_width > 0:
            stroked[stroke] += area
            examples.setdefault("stroke " + stroke, shape)
    line = max(stroked, key=lambda paint: stroked[paint], default="")
    if filled:
        main = max(filled, key=lambda paint: filled[paint])
        if filled[main] >= MAIN_SHARE * covered:
            yield from _colour(main, scene, "largest fill")
        yield from _texture(examples["fill " + main], main, scene, shapes)
    elif line:
        yield from _colour(line, scene, "lines'")
    if line and sum(stroked.values()) >= 0.6 * total:
        yield _outline(examples["stroke " + line], line, shapes, (FINE_LINE, BOLD_LINE) if filled else _STROKES)


def _colour(paint: str, scene: Scene, what: str) -> Iterator[Finding]:
    colours = _colours_of(paint, scene)
    found = family(_middle(colours)) if colours else None
    if found:
        shown = "of its gradient" if len(colours) > 1 else paint if rgb(paint) else as_hex(colours[0])
        yield found[0], f"the {what} colour {shown} is {found[1]}"


def _colours_of(paint: str, scene: Scene) -> Sequence[Rgb]:
    """The colours that a paint brings: its own, those of a gradient, the ground of a pattern."""
    colour = rgb(paint)
    if colour is not None:
        return (colour,)
    source = scene.ids.get(_reference(paint)) if paint.startswith("url(") else None
    if source is None:
        return ()
    if local_name(source.tag) == "pattern":
        fills = (mark.get("fill") for mark in source[:MAX_STOPS])
        ground = next((rgb(fill) for fill in fills if fill and fill != "none"), None)
        return (ground,) if ground else ()
    return _stops(source, scene)


def _palette(scene: Scene, shapes: Sequence[Shape]) -> Iterator[Finding]:
    """How many paints there are, and how far apart their hues lie."""
    lined = [shape for shape in shapes if shape.stroke != "none" and shape.stroke_width > 0]
    paints = {shape.fill for shape in shapes if shape.fill != "none"}
    if not paints or len(lined) < len(shapes):  # lines around every shape are an outline, told elsewhere
        paints |= {shape.stroke for shape in lined}
    rows = [row for row in (_colours_of(paint, scene) for paint in paints) if row]
    if not rows or len(rows) < len(paints):
        return
    hues = _different_hues([hsl(colour)[0] for row in rows for colour in row if max(colour) - min(colour) >= HUED])
    flat = len({row if len(row) == 1 else paint for row, paint in zip(map(tuple, rows), paints, strict=True)})
    is_mixed = any(_different_hues([hsl(each)[0] for each in row]) > 1 for row in rows if len(row) > 1)
    if flat <= 2 and not is_mixed:
        yield (
            ("one-paint" if flat == 1 else "two-paints"),
            f"{flat} paint(s) in all: {', '.join(map(_short, sorted(paints)))}",
        )
    elif hues >= 2:
        yield ("contrasting-hues" if hues == 2 else "medley-of-hues"), f"its paints are of {hues} different hues"


def _different_hues(hues: Sequence[float]) -> int:
    """How many groups the hues form around the colour circle."""
    ordered = sorted(hues)
    if not ordered:
        return 0
    gaps = [after - before for before, after in pairwise(ordered)] + [ordered[0] + 360 - ordered[-1]]
    return max(1, sum(gap > HUE_GAP for gap in gaps))


def _middle(colours: Sequence[Rgb]) -> Rgb:
    if len(colours) % 2:
        return colours[len(colours) // 2]
    one, two = colours[len(colours) // 2 - 1], colours[len(colours) // 2]
    return ((one[0] + two[0]) / 2, (one[1] + two[1]) / 2, (one[2] + two[2]) / 2)


def _texture(main: Shape, paint: str, scene: Scene, shapes: Sequence[Shape]) -> Iterator[Finding]:
    source = scene.ids.get(_reference(paint)) if paint.startswith("url(") else None
    if source is not None:
        tag = local_name(source.tag)
        if tag == "radialGradient":
            yield "shade-round", "the largest fill is a radial gradient"
        elif tag == "linearGradient":
            direction = _direction(source)
            value = {"down": "shade-down", "across": "shade-across"}.get(direction, "shaded")
            yield value, f"the largest fill is a linear gradient that runs {direction}"
        elif tag == "pattern":
            yield _pattern(source, _own_size(main, shapes)), "the largest fill is a repeated pattern"
        return
    alpha = main.alpha
    if alpha < 0.88:
        value = "faint-fill" if alpha <= 0.4 else "glassy-fill" if alpha >= 0.48 else "see-through"
        yield value, f"the largest fill is {alpha:.0%} opaque"


def _own_size(shape: Shape, shapes: Sequence[Shape]) -> float:
    """The figure's size in the units of `shape`."""
    return _size(shapes) / shape.scale


def _size(shapes: Sequence[Shape]) -> float:
    left, top, right, bottom = union([shape.box for shape in shapes])
    return max(right - left, bottom - top, 1e-9)


def _pattern(pattern: Element, figure_size: float) -> str:
    """Which pattern it is, by the marks on its cell."""
    width, height = length(pattern.get("width")) or 0.0, length(pattern.get("height")) or 0.0
    marks = [
        (local_name(each.tag), box)
        for each in pattern[:MAX_STOPS]
        if (box := local_box(local_name(each.tag), each.attrib, width, height)) is not None
    ]
    marks = [(tag, box) for tag, box in marks if not (_spans(box, 0, width) and _spans(box, 1, height))]
    if not width or not height or not marks:
        return "patterned"
    if all(tag in ("circle", "ellipse") for tag, _ in marks):
        share = max(box[2] - box[0] for _, box in marks) / figure_size
        return "small-dots" if share < 0.045 else "large-dots" if share > 0.07 else "dotted-fill"
    level, upright = any(_spans(box, 0, width) for _, box in marks), any(_spans(box, 1, height) for _, box in marks)
    if level and upright:
        return "gridded"
    if level or upright:
        turn = matrix_of(pattern.get("patternTransform", ""))
        angle = round(math.degrees(math.atan2(turn[1], turn[0]))) % 180 if turn else 0
        if 15 < angle % 90 < 75:
            return "slanted-stripes"
        return "level-stripes" if level == (angle % 180 < 45 or angle > 135) else "upright-stripes"
    return "checkered" if len(marks) == 2 and all(tag == "rect" for tag, _ in marks) else "patterned"


def _spans(box: Box, axis: int, whole: float) -> bool:
    return box[axis] <= 0.01 * whole and box[axis + 2] >= 0.99 * whole


_STROKES = (FINE_STROKE, BOLD_STROKE)


def _outline(shape: Shape, paint: str, shapes: Sequence[Shape], weights: tuple[float, float]) -> Finding:
    """Which lines run along the edges; below the first weight they are fine, above the second bold."""
    share = shape.stroke_width / _size(shapes)
    reason = f"lines of {_short(paint)}, {share:.1%} of the figure wide, run along its edges"
    if dash := _dash(shape):
        if dash[0] <= 1.5:
            value = "close-dots" if dash[1] < 1.6 else "spaced-dots" if dash[1] > 2.2 else "dotted-line"
        else:
            value = "short-dashes" if dash[0] <= 4 else "long-dashes" if dash[0] >= 5 else "dashed-line"
        return value, reason + ", broken"
    weight = "fine-" if share < weights[0] else "bold-" if share > weights[1] else ""
    colour = rgb(paint)
    if colour is None:
        return "unbroken-line", reason
    light, chroma = lightness(colour), max(colour) - min(colour)
    if light > 0.93:
        return f"{weight}white-line", reason
    if light < 0.3:
        return f"{weight}dark-line", reason
    return (f"{weight}tinted-line" if chroma > 0.25 else "unbroken-line"), reason
