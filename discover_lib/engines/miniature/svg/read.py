"""What an SVG shows, in values of the svg_drawing lexicon, each with the measured fact that shows it.

`read_svg` works on any SVG.  It claims what the drawing itself decides: geometry, paints, text, and what titles, ids
and classes say.  Between two values it claims the broader one, or nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from xml.etree.ElementTree import Element

from discover_lib.base.svg import SvgError, local_name, parse_svg
from discover_lib.engines.miniature.lexicon import load_lexicon
from discover_lib.engines.miniature.svg.geometry import Box, length, measure, numbers, union
from discover_lib.engines.miniature.svg.paints import PALETTES, Rgb, Tints, lightness, palette_of, rgb, spot_of
from discover_lib.engines.miniature.svg.scene import (
    LABELS,
    Scene,
    Shape,
    declarations,
    scene_of,
    shown_values,
)

Finding = tuple[str, str]  # value id, reason

MAX_STOPS = 30  # of a gradient, and marks of a pattern

# Widths of lines along edges as shares of the figure's size; of lines around the picture as shares of its short side.
FINE_LINE, BOLD_LINE = 0.016, 0.023
FINE_STROKE, BOLD_STROKE = 0.055, 0.11  # where there are lines and nothing else
MAT = 0.045
# Where the middle of the figure must lie to count as left or right; share of the canvas.
LEFT, RIGHT = 0.42, 0.58
# How much of the canvas the figure reaches across, in its longer direction.
FAR_OFF, CLOSE_UP = 0.63, 0.79
DARK = 0.42  # luma of a sky below which it is night
GROUND = 0.6  # height of the canvas below which a shape as wide as it is a strip of ground or sky
WORKED = 0.12  # share of the figure's area that shading or print covers


def read_svg(text: str, name: str = "") -> dict[str, str]:
    """Value id → reason, the most specific value of each branch only.

    Args:
        name: what the drawing is filed under; it counts where the drawing itself does not say what it shows.

    Raises:
        SvgError: the text cannot be parsed as an SVG (see `parse_svg`), or is too much to measure (see `scene_of`).
    """
    scene = scene_of(parse_svg(text))
    has_ground = _has_ground(scene)
    # The paint of the whole canvas: one color, the stops of a gradient, or nothing.
    background = _colours_of(scene.background.style.fill, scene) if scene.background else ()
    findings = dict(_named(scene, background, name))
    paper = () if has_ground else _paper(scene, background, findings)
    canvas = _format(scene.width, scene.height) if scene.has_format else ()
    findings |= dict([*paper, *canvas, *_border(scene), *_lettering(scene)])
    findings |= dict(_colours(scene, background))
    if scene.figure:
        box = union([shape.box for shape in scene.figure])
        place = _composition(scene, box) if scene.has_format and not has_ground else ()
        findings |= dict([*place, *_lines(scene, box), *_surface(scene)])
    return findings


# ---- what the drawing says of itself


def _named(scene: Scene, background: Sequence[Rgb], name: str) -> Iterator[Finding]:
    """What titles, labels, ids and at last the file's name say of the subject, and the parts of what is around it."""
    lexicon = load_lexicon("svg_drawing")
    subject: dict[str, str] = {}
    around: dict[str, str] = {}
    labels = [("the drawing", label) for label in scene.names] + [("a part", label) for label in scene.part_names]
    for what, label in (*labels, ("the file", name.replace("_", " "))):
        for found, values in zip((subject, around), shown_values(label), strict=True):
            for value in values if what != "the file" or found is subject else ():
                if value not in found and _is_room(value, tuple(found)):
                    found[value] = f"{what} is named “{_short(name if what == 'the file' else label)}”"
    yield from lexicon.most_specific(subject).items()
    # A moon over a bright sky or a sun over a black one is belied by the sky's tone.
    is_dark = sum(map(lightness, background)) < DARK * len(background)
    belied = "" if not background else "by-day" if is_dark else "after-dark"
    for value, reason in lexicon.most_specific(around).items():
        if belied not in lexicon.lineages[value]:
            yield value, reason


@lru_cache(maxsize=4096)  # drawings name the same few things in the same order
def _is_room(value: str, found: tuple[str, ...]) -> bool:
    """Whether a value can be had together with those found before it: it adds to them, or says one more exactly."""
    lexicon = load_lexicon("svg_drawing")
    return all(
        lexicon.covers(other, value) or lexicon.covers(value, other) or lexicon.stand_together(value, other)
        for other in found
    ) and lexicon.fits(value, [other for other in found if lexicon.values[other].is_leaf])


def _short(label: str) -> str:
    label = " ".join(label.split())
    return label if len(label) <= 60 else label[:59] + "…"


# ---- sky and paper


def _paper(scene: Scene, background: Sequence[Rgb], named: Iterable[str]) -> Iterator[Finding]:
    """Plain paper, where the whole canvas has one paint and nothing lies around the subject."""
    lexicon = load_lexicon("svg_drawing")
    if len(background) != 1 or any(lexicon.values[value].dimension in ("setting", "light") for value in named):
        return
    light = lightness(background[0])
    value = "white-paper" if light >= 0.985 else "dark-paper" if light < DARK else "tinted-paper"
    yield value, f"the whole canvas is filled with {scene.background.style.fill}"  # type: ignore[union-attr]


def _has_ground(scene: Scene) -> bool:
    """Whether a shape that is named for nothing runs along the lower or the upper edge, as a meadow or a sky does."""
    left, top, right, bottom = scene.canvas
    near_x, near_y = 0.02 * scene.width, 0.02 * scene.height
    return any(
        shape.box[0] <= left + near_x
        and shape.box[2] >= right - near_x
        and (shape.box[3] >= bottom - near_y or shape.box[1] <= top + near_y)
        and shape.box[3] - shape.box[1] < GROUND * scene.height
        for shape in scene.filled
    )


def _reference(paint: str, scene: Scene) -> Element | None:
    """The gradient or pattern that a paint refers to; of a gradient without stops of its own, the one it refers to."""
    source = scene.ids.get(paint[4:].partition(")")[0].strip("'\" #")) if paint.startswith("url(") else None
    if source is not None and not len(source):
        name = source.get("href") or source.get("{http://www.w3.org/1999/xlink}href") or ""
        return scene.ids.get(name.removeprefix("#"), source)
    return source


def _colours_of(paint: str, scene: Scene) -> Sequence[Rgb]:
    """The colors that a paint brings: its own, those of a gradient, the ground of a pattern."""
    if colour := rgb(paint):
        return (colour,)
    if (source := _reference(paint, scene)) is None:
        return ()
    is_pattern = local_name(source.tag) == "pattern"
    name, default = ("fill", "none") if is_pattern else ("stop-color", "black")
    styles = [{**mark.attrib, **declarations(mark.get("style", ""))} for mark in source[:MAX_STOPS]]
    colours = [colour for style in styles if (colour := rgb(style.get(name, default)))]
    return colours[:1] if is_pattern else colours


# ---- canvas

_RATIOS = {"postcard": 3 / 2, "widescreen": 16 / 9, "portrait": 3 / 4, "phone": 9 / 16}


@lru_cache(maxsize=256)
def _format(width: float, height: float) -> tuple[Finding, ...]:
    ratio = width / height
    longer = max(ratio, 1 / ratio)
    named = next((name for name, each in _RATIOS.items() if abs(ratio / each - 1) < 0.035), "")
    if not named and longer > 1.18:
        named = "wide" if ratio > 1 else "tall"
    if longer <= 1.03:
        return (("square", f"the canvas is {width:g} × {height:g}"),)
    way = "wide as tall" if ratio > 1 else "tall as wide"
    return ((named, f"the canvas is {longer:.2f} times as {way}"),) if named else ()


# ---- border and lettering


def _border(scene: Scene) -> Iterator[Finding]:
    if not scene.frames:
        return
    short = min(scene.width, scene.height)
    first = scene.frames[0]
    width = first.stroke_width / short
    if (dash := _dash(first)) and dash[0] <= 1.5:
        yield "dotted-border", "a line of dots goes around the canvas"
    elif dash or first.tag in ("circle", "ellipse"):
        yield "ruled", "a line goes around the canvas"
    elif width >= MAT:
        light = lightness(rgb(first.style.stroke) or (0.5, 0.5, 0.5))
        value = "white-mat" if light > 0.75 else "dark-mat" if light < 0.4 else "matted"
        yield value, f"a band of {width:.1%} of the canvas goes around it"
    else:
        value = "thin-border" if len(scene.frames) == 1 else "double-border"
        yield value, f"{len(scene.frames)} line(s) of {width:.1%} of the canvas go around it"


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


_GREETINGS = (
    ("birthday", re.compile(r"\bbirthday\b", re.IGNORECASE)),
    ("thanks", re.compile(r"\bthank", re.IGNORECASE)),
    ("good-night", re.compile(r"\bgood ?night\b|\bsleep well\b|\bsweet dreams\b", re.IGNORECASE)),
    ("hello", re.compile(r"\bhello\b|\bhi\b|\bwelcome\b", re.IGNORECASE)),
)
_UNTITLED = re.compile(r"\buntitled\b", re.IGNORECASE)


def _lettering(scene: Scene) -> Iterator[Finding]:
    if not scene.writing:
        return
    largest = max(scene.writing, key=lambda writing: writing.size)
    if not any(letter.isalpha() for letter in largest.words):
        return
    said = f"“{_short(largest.words)}” is written"
    greeting = next((value for value, words in _GREETINGS if words.search(largest.words)), "")
    is_title = bool(_UNTITLED.search(largest.words) or shown_values(largest.words)[0])
    face = _typeface(largest.family)
    height = (largest.y - 0.35 * largest.size - scene.canvas[1]) / scene.height
    found = {greeting or ("title" if is_title else ""): said, face: f"{said} in a {face} typeface"}
    found |= {"words-on-top" if height < 0.36 else "": f"{said} at {height:.0%} of the height"}
    found.pop("", None)
    yield from found.items() or [("worded", said)]


@lru_cache(maxsize=256)
def _typeface(families: str) -> str:
    """The kind of typeface that a list of families names first; "" for a plain one."""
    marks = (
        ("typewriter", ("mono", "courier", "consolas", "typewriter", "menlo")),
        ("handwritten", ("script", "cursive", "comic", "brush", "handwrit", "caveat")),
        ("", ("sans", "arial", "helvetica", "verdana", "roboto", "inter", "futura", "segoe ui", "system-ui")),
        ("serif", ("serif", "georgia", "times", "garamond", "palatino", "baskerville", "didot", "bodoni")),
    )
    named = (face for one in families.split(",") for face, names in marks if any(name in one for name in names))
    return next(named, "")


# ---- where the figure stands, and how large it is


def _composition(scene: Scene, box: Box) -> Iterator[Finding]:
    left, top, right, bottom = box
    left, top = max(left, scene.canvas[0]), max(top, scene.canvas[1])
    right, bottom = min(right, scene.canvas[2]), min(bottom, scene.canvas[3])
    middle = ((left + right) / 2 - scene.canvas[0]) / scene.width
    if middle < LEFT or middle > RIGHT:
        yield ("on-left" if middle < LEFT else "on-right"), f"the figure's middle lies at {middle:.0%} of the width"
        return
    reach = max((right - left) / scene.width, (bottom - top) / scene.height)
    if reach <= FAR_OFF or reach >= CLOSE_UP:
        yield ("far-off" if reach <= FAR_OFF else "close-up"), f"the figure reaches across {reach:.0%} of the canvas"


# ---- paints


def _colours(scene: Scene, background: Sequence[Rgb]) -> Iterator[Finding]:
    around, own = Tints(), Tints()
    for colour in background:
        around.add(colour, scene.width * scene.height / len(background))
    painted = _areas([(shape.style.paint, shape.area) for shape in scene.figure])
    for tints, areas in ((around, scene.scenery), (own, painted)):
        for paint, area in areas.items():
            if colours := _colours_of(paint, scene):
                tints.add(colours[len(colours) // 2], area)
    found = palette_of(around if scene.scenery else own, around.paints + own.paints)
    spot = spot_of(found[0], own) if found and scene.scenery else None
    if spot:
        yield spot
    if found and (not spot or found[0] in PALETTES):
        yield found


def _areas(painted: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Paint → the area that is painted with it."""
    areas: dict[str, float] = {}
    for paint, area in painted:
        areas[paint] = areas.get(paint, 0.0) + area
    return areas


# ---- lines and surfaces


def _lines(scene: Scene, box: Box) -> Iterator[Finding]:
    """The lines that run along the edges of most of the figure."""
    lined = [shape for shape in scene.figure if shape.style.stroke != "none"]
    if not lined or sum([shape.area for shape in lined]) < 0.6 * sum([shape.area for shape in scene.figure]):
        return
    areas = _areas([(shape.style.stroke, shape.area) for shape in lined])
    paint = max(areas, key=areas.__getitem__)
    width = next(shape.stroke_width for shape in lined if shape.style.stroke == paint)
    left, top, right, bottom = box
    share = width / max(right - left, bottom - top, 1e-9)
    reason = f"lines of {_short(paint)}, {share:.1%} of the figure wide, run along its edges"
    fine, bold = (FINE_LINE, BOLD_LINE) if scene.filled else (FINE_STROKE, BOLD_STROKE)
    light = lightness(rgb(paint) or (0.5, 0.5, 0.5))
    if light > 0.78:
        yield "white-lines", reason
    elif light < 0.42:
        yield ("fine-lines" if share < fine else "bold-lines" if share > bold else "outlined"), reason
    else:
        yield "outlined", reason


def _surface(scene: Scene) -> Iterator[Finding]:
    """Shading, print or washes over a good part of the figure."""
    areas = _areas([(shape.style.fill, shape.area) for shape in scene.filled])
    total, thin = sum(areas.values()), sum([shape.area for shape in scene.filled if shape.style.fill_alpha < 0.88])
    paint = max((paint for paint in areas if paint.startswith("url(")), key=areas.__getitem__, default="")
    source = _reference(paint, scene) if paint and areas[paint] >= WORKED * total else None
    tag = local_name(source.tag) if source is not None else ""
    if source is not None and tag == "radialGradient":
        yield "round-shading", "a good part of the figure is filled with a radial gradient"
    elif source is not None and tag == "linearGradient":
        runs_down = source.get("x1", "0") == source.get("x2") and "gradientTransform" not in source.attrib
        value = "soft-shading" if runs_down else "textured"
        yield value, "a good part of the figure is filled with a linear gradient"
    elif source is not None and tag == "pattern":
        yield _pattern(source), "a good part of the figure is filled with a repeated pattern"
    elif total and thin >= 0.6 * total:
        yield "washes", f"{thin / total:.0%} of the figure lets through what lies behind it"


def _pattern(pattern: Element) -> str:
    """Which print it is, by the marks on the pattern's cell."""
    size = (length(pattern.get("width")) or 0.0, length(pattern.get("height")) or 0.0)
    marks: list[tuple[str, int]] = []  # those that leave some of the cell free, and along how many sides they reach
    for mark in pattern[:MAX_STOPS]:
        tag = local_name(mark.tag)
        box, _ = measure(tag, mark.attrib, *size)
        if box:
            sides = sum(box[axis] <= 0.01 * size[axis] and box[axis + 2] >= 0.99 * size[axis] for axis in (0, 1))
            marks += [(tag, sides)] if sides < 2 else []
    if marks and all(tag in ("circle", "ellipse") for tag, _ in marks):
        return "halftone"
    return "hatching" if [sides for _, sides in marks] == [1] else "textured"


_NAMED = re.compile(r"a part is named “([^”]+)”")
_OF_FIGURE = re.compile(r"the drawing is named|the figure|its edges")
_WRITTEN = re.compile(r"“[^”]*” is written")
WHOLE = 0.9  # share of the canvas each way from which on a part is no part


def part_of(text: str, reason: str) -> Box | None:
    """The part of an SVG that a reason of `read_svg` speaks of: left, top, right, bottom as shares of the picture.

    None where it is the whole picture, where it cannot be told, and where the picture is shown in another format than
    it is drawn in.

    Example:
        >>> svg = '<svg viewBox="0 0 100 100"><g id="moon"><rect x="10" y="20" width="30" height="10"/></g></svg>'
        >>> part_of(svg, "a part is named “moon”")
        (0.1, 0.2, 0.4, 0.3)
    """
    try:
        scene = _shown(text)
        if scene is None:
            return None
        if named := _NAMED.search(reason):
            root = parse_svg(text)
            _keep_labelled(root, named[1].removesuffix("…"))
            kept = scene_of(root, whole=True)
            boxes = [shape.box for shape in (*kept.figure, *kept.frames)]
        elif _WRITTEN.search(reason) and scene.writing:
            largest = max(scene.writing, key=lambda writing: writing.size)
            ends = largest.y - largest.size, largest.y + 0.3 * largest.size
            boxes = [(scene.canvas[0], ends[0], scene.canvas[2], ends[1])]
        elif _OF_FIGURE.search(reason):
            boxes = [shape.box for shape in scene.figure]
        else:
            return None
    except SvgError:
        return None
    if not boxes:
        return None
    box = union(boxes)
    shares = [(box[at] - scene.canvas[at % 2]) / (scene.height if at % 2 else scene.width) for at in range(4)]
    left, top, right, bottom = (round(min(max(share, 0.0), 1.0), 3) for share in shares)
    is_part = left < right and top < bottom and min(right - left, bottom - top) < WHOLE
    return (left, top, right, bottom) if is_part else None


@lru_cache(maxsize=64)  # several requirements are read from one drawing
def _shown(text: str) -> Scene | None:
    """The drawing as a scene; None where it says no format, or is shown in another one than it is drawn in."""
    root = parse_svg(text)
    scene = scene_of(root)
    if not scene.has_format:
        return None
    width, height = length(root.get("width")), length(root.get("height"))
    is_as_drawn = not (width and height) or abs(width / height / (scene.width / scene.height) - 1) < 0.02
    return scene if is_as_drawn else None


def _keep_labelled(element: Element, label: str) -> bool:
    """Take away all that is not labelled so, definitions aside; whether anything stays."""
    stays = False
    for child in list(element):
        if any(child.get(name, "").startswith(label) for name in LABELS):
            stays = True
        elif local_name(child.tag) not in ("defs", "style", "symbol"):
            if _keep_labelled(child, label):
                stays = True
            else:
                element.remove(child)
    return stays
