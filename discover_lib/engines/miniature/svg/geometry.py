"""Boxes and matrices of SVG shapes, from their attributes alone.  All lengths in user units; y points down."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

Box = tuple[float, float, float, float]  # left, top, right, bottom
Point = tuple[float, float]
Matrix = tuple[float, float, float, float, float, float]  # a b c d e f of SVG's matrix()

LARGEST = 1e9  # numbers beyond it are read as it: products of two stay exact enough, and none overflows
LONG_OUTLINE = 4000  # characters of path data from which on no measure is kept

_NUMBER = re.compile(r"[-+]?(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][-+]?[0-9]++)?+")
_LARGE = re.compile(r"[0-9]{10}|[eE]")  # what a number beyond `LARGEST` has in it
_COMMAND = re.compile(r"([MmLlHhVvCcSsQqTtAaZz])([^MmLlHhVvCcSsQqTtAaZz]*+)")
# The flags of arcs may stand without separators: "a2 2 0 012 2".
_ARC = re.compile(
    "x".join(["", "(N)", "(N)", "(N)", "([01])", "([01])", "(N)", "(N)"])
    .replace("N", _NUMBER.pattern)
    .replace("x", r"[\s,]*+")
)
_TRANSFORM = re.compile(r"(matrix|translate|scale|rotate)\s*+\(([^()]*)\)")
_LENGTH = re.compile(rf"\s*+({_NUMBER.pattern})\s*+(px|pt|pc|mm|cm|in|em|rem|ex|%)?\s*+$")
_UNIT_SIZES = {"px": 1, "pt": 4 / 3, "pc": 16, "mm": 96 / 25.4, "cm": 96 / 2.54, "in": 96, "em": 16, "rem": 16, "ex": 8}
_STEPS = (0.2, 0.35, 0.5, 0.65, 0.8)
_CUBIC_WEIGHTS = [((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3) for t in _STEPS]
_QUADRATIC_WEIGHTS = [((1 - t) ** 2, 2 * t * (1 - t), t * t) for t in _STEPS]
_PLACES = {  # the attributes that say where a shape is: sizes after places, of a line the other end
    "rect": ("x", "y", "width", "height"),
    "circle": ("cx", "cy", "r", "r"),
    "ellipse": ("cx", "cy", "rx", "ry"),
    "line": ("x1", "y1", "x2", "y2"),
}
_ARGUMENTS = {"M": 2, "L": 2, "H": 1, "V": 1, "C": 6, "S": 4, "Q": 4, "T": 2, "A": 7}


@lru_cache(maxsize=16384)
def length(text: str | None, whole: float = 0.0) -> float | None:
    """A length in user units, percentages of `whole`; None where no length can be read."""
    match = _LENGTH.match(text) if text else None
    if match is None:
        return None
    number = min(max(float(match[1]), -LARGEST), LARGEST)
    if match[2] == "%":
        return number / 100 * whole
    return number * _UNIT_SIZES.get(match[2], 1)


def numbers(text: str) -> list[float]:
    """The numbers in a text (a viewBox, arguments, dashes, corners), each at most `LARGEST`."""
    return _clamped(map(float, _NUMBER.findall(text)))


def _clamped(given: Iterable[float]) -> list[float]:
    return [min(max(number, -LARGEST), LARGEST) for number in given]


@lru_cache(maxsize=16384)
def matrix_of(transform: str) -> Matrix | None:
    """The matrix of a `transform` attribute; None if it holds no transformation."""
    result: Matrix | None = None
    for name, arguments in _TRANSFORM.findall(transform):
        step = _one_matrix(name, numbers(arguments))
        if step is not None:
            result = multiply(result, step)
    return result


def _one_matrix(name: str, given: Sequence[float]) -> Matrix | None:
    if not given or (name == "matrix" and len(given) != 6):
        return None
    first, second = given[0], given[1] if len(given) > 1 else None
    if name == "matrix":
        return (given[0], given[1], given[2], given[3], given[4], given[5])
    if name == "translate":
        return (1, 0, 0, 1, first, second or 0)
    if name == "scale":
        return (first, 0, 0, first if second is None else second, 0, 0)
    sine, cosine = math.sin(math.radians(first)), math.cos(math.radians(first))
    x, y = given[1:3] if len(given) > 2 else (0.0, 0.0)
    return (cosine, sine, -sine, cosine, x - cosine * x + sine * y, y - sine * x - cosine * y)


def multiply(outer: Matrix | None, inner: Matrix) -> Matrix:
    """The matrix that applies `inner` first, then `outer` (None is the identity)."""
    if outer is None:
        return inner
    a, b, c, d, e, f = outer
    p, q, r, s, t, u = inner
    return (a * p + c * q, b * p + d * q, a * r + c * s, b * r + d * s, a * t + c * u + e, b * t + d * u + f)


def moved(box: Box, matrix: Matrix | None) -> Box:
    """The upright box around `box` after `matrix`."""
    if matrix is None:
        return box
    a, b, c, d, e, f = matrix
    left, top, right, bottom = box
    x, y = (left + right) / 2, (top + bottom) / 2
    half_width, half_height = (right - left) / 2, (bottom - top) / 2
    middle_x, middle_y = a * x + c * y + e, b * x + d * y + f
    reach_x = abs(a) * half_width + abs(c) * half_height
    reach_y = abs(b) * half_width + abs(d) * half_height
    return (middle_x - reach_x, middle_y - reach_y, middle_x + reach_x, middle_y + reach_y)


def union(boxes: Sequence[Box]) -> Box:
    """The smallest box around `boxes`, of which there is at least one."""
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return (min(lefts), min(tops), max(rights), max(bottoms))


def _path_parts(d: str) -> list[list[Point]]:
    """The points of a path: its corners, and on curves as many more as a box around them needs (to about 2 %).

    One row for each part of the path that starts with a move.
    """
    parts: list[list[Point]] = []
    points: list[Point] = []
    here = start = bend = (0.0, 0.0)  # current point, start of the part, last control point of a curve
    before = ""
    for letter, given in _segments(d):
        kind = letter.upper()
        left, top = (0.0, 0.0) if letter == kind else here
        if kind == "L" or kind == "M":
            here = (left + given[0], top + given[1])
        elif kind == "Z":
            here = start
        elif kind == "H" or kind == "V":
            here = (left + given[0], here[1]) if kind == "H" else (here[0], top + given[0])
        elif kind == "A":
            end = (left + given[5], top + given[6])
            points += _along_arc(*here, given, *end)
            here = end
        else:
            turns = [(left + x, top + y) for x, y in zip(given[::2], given[1::2], strict=True)]
            if kind in "ST":  # the first control point mirrors the last one of the curve before
                smooth = before in ("CS" if kind == "S" else "QT")
                turns.insert(0, (2 * here[0] - bend[0], 2 * here[1] - bend[1]) if smooth else here)
            points += _along_curve(here, *turns)
            bend, here = turns[-2:]
        if kind == "M":
            start, points = here, []
            parts.append(points)
        points.append(here)
        before = kind
    return parts


def _along_curve(begin: Point, first: Point, second: Point, third: Point | None = None) -> list[Point]:
    """Points inside a Bézier curve of degree 2 or 3, ends left out."""
    (x0, y0), (x1, y1), (x2, y2) = begin, first, second
    if third is None:
        return [(a * x0 + b * x1 + c * x2, a * y0 + b * y1 + c * y2) for a, b, c in _QUADRATIC_WEIGHTS]
    x3, y3 = third
    return [(a * x0 + b * x1 + c * x2 + d * x3, a * y0 + b * y1 + c * y2 + d * y3) for a, b, c, d in _CUBIC_WEIGHTS]


def _segments(d: str) -> Iterator[tuple[str, list[float]]]:
    """The path as one (letter, arguments) per drawn segment; arguments that do not suffice for one are left out."""
    has_large = _LARGE.search(d)
    for letter, rest in _COMMAND.findall(d):
        if letter in "Zz":
            yield letter, []
            continue
        given = [*map(float, _arcs(rest) if letter in "Aa" else _NUMBER.findall(rest))]
        if has_large:
            given = _clamped(given)
        size = _ARGUMENTS[letter.upper()]
        for at in range(0, len(given) - size + 1, size):
            yield letter, given[at : at + size]
            letter = {"M": "L", "m": "l"}.get(letter, letter)


def _arcs(text: str) -> list[str]:
    """The arguments of arcs, as far as they make sense."""
    given: list[str] = []
    at = 0
    while arc := _ARC.match(text, at):
        given += arc.groups()
        at = arc.end()
    return given


def _along_arc(x: float, y: float, given: Sequence[float], end_x: float, end_y: float) -> list[Point]:
    """Points along an elliptical arc, its ends left out, that reach as far as it does (in its own axes exactly)."""
    rx, ry, turn, large, sweep = abs(given[0]), abs(given[1]), given[2] % 180, given[3], given[4]
    if not rx or not ry or (x, y) == (end_x, end_y):
        return []
    turn, step = (turn, math.pi / 12) if turn and rx != ry else (0.0, math.pi / 2)
    sine, cosine = math.sin(math.radians(turn)), math.cos(math.radians(turn))  # in its own axes the ellipse is upright
    x, y = cosine * x + sine * y, cosine * y - sine * x
    end_x, end_y = cosine * end_x + sine * end_y, cosine * end_y - sine * end_x
    dx, dy = (x - end_x) / 2 / rx, (y - end_y) / 2 / ry
    reach = dx * dx + dy * dy
    if not 0 < reach < LARGEST**2:  # ends that are as good as one, or radii as good as nought: a straight line
        return []
    if reach > 1:
        rx, ry = rx * math.sqrt(reach), ry * math.sqrt(reach)
        away = 0.0
    else:
        away = math.sqrt(1 / reach - 1) * (-1 if large == sweep else 1)
    center_x = (x + end_x) / 2 + away * dy * rx
    center_y = (y + end_y) / 2 - away * dx * ry
    first = math.atan2((y - center_y) / ry, (x - center_x) / rx)
    last = math.atan2((end_y - center_y) / ry, (end_x - center_x) / rx)
    if not sweep:
        first, last = last, first
    if last <= first:
        last += math.tau
    stops = range(math.ceil(first / step), math.floor(last / step) + 1)
    turns = [stop * step for stop in (stops if sweep else reversed(stops))]
    own = [(center_x + rx * math.cos(turn), center_y + ry * math.sin(turn)) for turn in turns]
    return [(cosine * u - sine * v, sine * u + cosine * v) for u, v in own]


@lru_cache(maxsize=16384)
def _outline(is_path: bool, data: str) -> tuple[Box | None, float]:
    """The box of a path or polygon, and what it covers when filled: parts that run the other way are holes."""
    corners = () if is_path else numbers(data)
    parts = _path_parts(data) if is_path else [[*zip(corners[::2], corners[1::2], strict=False)]]
    points = [point for part in parts for point in part]
    if not points:
        return None, 0.0
    xs, ys = zip(*points, strict=True)
    box = (min(xs), min(ys), max(xs), max(ys))
    rounds = (zip(part, (*part[1:], part[0]), strict=True) for part in parts)
    areas = (sum([x * y2 - x2 * y for (x, y), (x2, y2) in each]) / 2 for each in rounds)
    return box, min((box[2] - box[0]) * (box[3] - box[1]), abs(sum(areas)))


def measure(tag: str, attributes: Mapping[str, str], width: float, height: float) -> tuple[Box | None, float]:
    """The box of a shape in its own coordinates (None for what draws nothing), and what it covers when filled.

    Args:
        width, height: of the canvas, for percentages.
    """
    if tag in ("path", "polygon", "polyline"):
        data = attributes.get("d" if tag == "path" else "points", "")
        return (_outline if len(data) < LONG_OUTLINE else _outline.__wrapped__)(tag == "path", data)
    if tag not in _PLACES:
        return None, 0.0
    return _simple(tag, *map(attributes.get, _PLACES[tag]), width, height)


@lru_cache(maxsize=4096)
def _simple(
    tag: str, x: str | None, y: str | None, across: str | None, down: str | None, width: float, height: float
) -> tuple[Box | None, float]:
    """`measure` of a shape without an outline, by the texts of its places."""
    a, b = length(x, width) or 0.0, length(y, height) or 0.0
    c, d = length(across, width) or 0.0, length(down, height) or 0.0
    if tag != "line" and (c <= 0 or d <= 0):
        return None, 0.0
    box = (a, b, a + c, b + d) if tag == "rect" else (a - c, b - d, a + c, b + d)
    if tag == "line":
        box = (min(a, c), min(b, d), max(a, c), max(b, d))
    area = (box[2] - box[0]) * (box[3] - box[1])
    return box, area * math.pi / 4 if tag in ("circle", "ellipse") else area
