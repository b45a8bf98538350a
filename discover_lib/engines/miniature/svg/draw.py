"""Drawing: leaf values of the svg_drawing lexicon → a self-contained SVG that shows exactly these.

What no value asks for keeps an unmarked default that `svg_read` reads as nothing: a grey, upright, centred figure on a
canvas of 1.1 : 1.  So `set(read_svg(draw(values))) == set(values)` for any values that can stand together.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from colorsys import hls_to_rgb
from dataclasses import dataclass
from functools import lru_cache
from xml.etree import ElementTree

from discover_lib.engines.miniature.lexicon import load_lexicon
from discover_lib.engines.miniature.svg.colour import HUED, as_hex, hsl, lightness, mix, rgb
from discover_lib.engines.miniature.svg.figures import COMPANY, SUBJECTS
from discover_lib.engines.miniature.svg.geometry import Box, local_box, matrix_of, moved, union

LONG_SIDE = 320  # of the canvas, in user units
PLAIN_RATIO = 1.1
PLAIN_COLOUR = "#8e96a2"
INK, PAPER = "#2b3440", "#fbf8f1"

RATIOS = {
    "four-to-three": 4 / 3,
    "three-to-two": 3 / 2,
    "sixteen-to-nine": 16 / 9,
    "two-to-one": 2.0,
    "five-to-two": 5 / 2,
    "three-to-four": 3 / 4,
    "two-to-three": 2 / 3,
    "nine-to-sixteen": 9 / 16,
    "one-to-two": 1 / 2,
    "two-to-five": 2 / 5,
    "square-canvas": 1.0,
}
COLOURS = {
    "crimson": "#b3203c",
    "coral": "#f4807c",
    "pumpkin": "#e8730c",
    "apricot": "#f9b98a",
    "gold": "#d9a404",
    "lemon": "#f5e050",
    "hot-pink": "#e0348f",
    "blush": "#f6bcd3",
    "deep-teal": "#0f5c5c",
    "aqua": "#7fdcd8",
    "navy": "#1f3a7a",
    "sky-blue": "#74b9ea",
    "forest-green": "#22643d",
    "mint": "#8fdcb8",
    "plum": "#6b2a6e",
    "lavender": "#b9a3e8",
    "black": "#141417",
    "charcoal": "#41454c",
    "ivory": "#f4ead3",
    "silver": "#c9ced6",
    "chocolate": "#5c3a26",
    "sand": "#d2b183",
}
PLAIN_BACKDROPS = {
    "white-backdrop": "#ffffff",
    "cream-backdrop": "#fdf3dc",
    "pale-blue-backdrop": "#dbeafb",
    "black-backdrop": "#0d0d10",
    "midnight-backdrop": "#14213d",
    "pine-backdrop": "#123524",
    "yellow-backdrop": "#fbc926",
    "turquoise-backdrop": "#21b5ae",
    "pink-backdrop": "#ef5da8",
}
FADING_BACKDROPS = {  # (gradient element, its geometry, first stop, last stop)
    "falling-sweep": ("linearGradient", 'x2="0" y2="1"', "#a9d2f3", "#fdebd3"),
    "sideways-sweep": ("linearGradient", 'x2="1" y2="0"', "#fbd9c3", "#b9d7f2"),
    "corner-sweep": ("linearGradient", 'x2="1" y2="1"', "#f9d3e0", "#b5c2f5"),
    "glow-backdrop": ("radialGradient", 'r=".7"', "#fff6da", "#8fb3d1"),
    "hollow-backdrop": ("radialGradient", 'r=".7"', "#5d6f92", "#dbe4ef"),
}
SIZES = {"tiny": 0.155, "fairly-small": 0.195, "fairly-large": 0.83, "huge": 0.93}  # share of the canvas, see svg_read
PLAIN_SIZES = (0.24, 0.74)  # between these no size is claimed
OFF_MIDDLE = 0.41  # where the middle of a figure to one side lies at most, as a share of the canvas
LEANS = {
    "slight-left": -10,
    "marked-left": -25,
    "steep-left": -45,
    "slight-right": 10,
    "marked-right": 25,
    "steep-right": 45,
    "quarter-left": -90,
    "quarter-right": 90,
    "upside-down": 180,
}
_TYPEFACES = {
    "serif": "Georgia, serif",
    "sans": "Helvetica, Arial, sans-serif",
    "typewriter": "'Courier New', monospace",
}
GAP = 1.14  # distance between the middles of neighbouring copies, in their size

Point = tuple[float, float]


def _ring(count: int) -> tuple[Point, ...]:
    reach = 1 / (2 * math.sin(math.pi / count))
    turns = [math.tau * step / count - math.pi / 2 for step in range(count)]
    return tuple((reach * math.cos(turn), reach * math.sin(turn)) for turn in turns)


def _grid(columns: int, rows: int) -> tuple[Point, ...]:
    return tuple((x - (columns - 1) / 2, y - (rows - 1) / 2) for y in range(rows) for x in range(columns))


ARRANGEMENTS: dict[str, tuple[Point, ...]] = {
    "side-by-side": _grid(2, 1),
    "stacked-pair": _grid(1, 2),
    "row-of-three": _grid(3, 1),
    "column-of-three": _grid(1, 3),
    "triangle-of-three": ((0, -0.5), (-0.5, 0.5), (0.5, 0.5)),
    "row-of-four": _grid(4, 1),
    "row-of-five": _grid(5, 1),
    "two-by-two": _grid(2, 2),
    "two-by-three": _grid(3, 2),
    "three-by-three": _grid(3, 3),
    "ring-of-six": _ring(6),
    "ring-of-eight": _ring(8),
}


@dataclass(frozen=True)
class Badge:
    """A shape behind the figure, in a box of 100 units around the origin."""

    markup: str  # with {b} for its paint
    room: float  # share of its height that the figure may take


def _polygon(corners: Sequence[Point]) -> str:
    points = " ".join(f"{x:.4g},{y:.4g}" for x, y in corners)
    return f'<polygon fill="{{b}}" points="{points}"/>'


def _regular(corners: int, inner: float | None = None, turn: float = -90) -> str:
    """A regular polygon; with `inner`, every second corner lies at that share of the reach."""
    return _polygon(
        [
            (50 * reach * math.cos(angle), 50 * reach * math.sin(angle))
            for step in range(corners)
            for angle in [math.radians(turn) + math.tau * step / corners]
            for reach in [inner if inner and step % 2 else 1.0]
        ]
    )


BADGES = {
    "disc-badge": Badge('<circle fill="{b}" r="50"/>', 0.66),
    "ellipse-badge": Badge('<ellipse fill="{b}" rx="64" ry="50"/>', 0.7),
    "ring-badge": Badge('<circle fill="none" stroke="{r}" stroke-width="6" r="47"/>', 0.6),
    "square-tile": Badge('<rect fill="{b}" x="-50" y="-50" width="100" height="100"/>', 0.74),
    "rounded-tile": Badge('<rect fill="{b}" x="-50" y="-50" width="100" height="100" rx="20"/>', 0.74),
    "diamond-badge": Badge(_regular(4), 0.52),
    "pentagon-badge": Badge(_regular(5), 0.56),
    "hexagon-badge": Badge(_regular(6), 0.62),
    "octagon-badge": Badge(_regular(8, turn=-67.5), 0.66),
    "star-badge": Badge(_regular(10, 0.58), 0.5),
    "burst-badge": Badge(_regular(32, 0.86), 0.6),
}


def draw(values: Iterable[str], *, width: int = 320) -> str:
    """An SVG that shows exactly these leaf values; without a subject, an abstract emblem carries the others.

    Args:
        values: leaf value ids, at most as many of a dimension as it holds.
        width: the longer side of the drawing on a page, in pixels.

    Raises:
        ValueError: an unknown or broad value, or too many of one dimension; the message names it.
    """
    chosen = _by_dimension(values)
    return _Drawing(chosen).markup(width)


def _by_dimension(values: Iterable[str]) -> dict[str, list[str]]:
    lexicon = load_lexicon("svg_drawing")
    chosen: dict[str, list[str]] = defaultdict(list)
    for value_id in dict.fromkeys(values):
        value = lexicon.values.get(value_id)
        if value is None:
            raise ValueError(f"unknown value {value_id!r}: the svg_drawing lexicon has no such value")
        if not value.is_leaf:
            raise ValueError(f"{value_id!r} is too broad to draw; choose one of {', '.join(value.children)}")
        chosen[value.dimension].append(value_id)
        if len(chosen[value.dimension]) > lexicon.dimensions[value.dimension].holds:
            raise ValueError(f"too many values of {value.dimension!r}: {', '.join(chosen[value.dimension])}")
    return chosen


@dataclass(frozen=True)
class Layout:
    """Where the copies of the figure stand on the canvas."""

    scale: float  # units of the figure → canvas
    middles: tuple[Point, ...]
    box: Box  # around all copies


class _Drawing:
    """One drawing on its way from values to markup."""

    def __init__(self, chosen: Mapping[str, list[str]]) -> None:
        one = {dimension: values[0] for dimension, values in chosen.items() if values}
        self.one = one
        self.subject = one.get("subject", "emblem")
        self.company = chosen.get("company", [])
        ratio = RATIOS.get(one.get("format", ""), PLAIN_RATIO)
        self.w, self.h = (LONG_SIDE, round(LONG_SIDE / ratio)) if ratio >= 1 else (round(LONG_SIDE * ratio), LONG_SIDE)
        self.short = min(self.w, self.h)
        self.main = COLOURS.get(one.get("colour", ""), PLAIN_COLOUR)
        self.main_rgb = rgb(self.main) or (0.0, 0.0, 0.0)
        self.degrees = LEANS.get(one.get("tilt", ""), 0)
        self.badge = BADGES.get(one.get("badge", ""))
        backdrop = one.get("background", "")
        self.is_dark = lightness(rgb(PLAIN_BACKDROPS.get(backdrop, PAPER)) or (1, 1, 1)) < 0.35
        self.margin = (0.11 if "frame" in one else 0.06) * self.short
        self.defs: list[str] = []

    def markup(self, width: int) -> str:
        scale = width / LONG_SIDE
        layout = self._layout()
        backdrop, figure = self._backdrop(), self._figure(layout)
        parts = [backdrop, *self._companions(layout), figure, self._frame(), self._caption()]
        defs = f"<defs>{''.join(self.defs)}</defs>" if self.defs else ""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.w} {self.h}" '
            f'width="{self.w * scale:.4g}" height="{self.h * scale:.4g}" role="img">'
            f"<title>{self._title()}</title>{defs}{''.join(parts)}</svg>"
        )

    def _title(self) -> str:
        values = load_lexicon("svg_drawing").values
        subject = values[self.subject].say if self.subject in values else "an abstract emblem"
        company = " and ".join(values[each].say for each in self.company)
        return f"{subject} with {company}".capitalize() if company else subject.capitalize()

    # ---- layout

    def _layout(self) -> Layout:
        """Place the copies in the room that frame and caption leave, and to the side that was asked for."""
        left, top, right, bottom = _badge_box(self.badge) if self.badge else _figure_box(self.subject, self.degrees)
        unit_w, unit_h = right - left, bottom - top
        spots = ARRANGEMENTS.get(self.one.get("repetition", ""), ((0.0, 0.0),))
        if self.one.get("repetition", "").startswith("ring"):
            cell_w = cell_h = GAP * max(unit_w, unit_h)
        else:
            cell_w, cell_h = GAP * unit_w, GAP * unit_h
        middles = [(x * cell_w, y * cell_h) for x, y in spots]
        xs, ys = zip(*middles, strict=True)
        block_w, block_h = max(xs) - min(xs) + unit_w, max(ys) - min(ys) + unit_h
        room_w, room_h, across, down = self._room()
        scale = self._scale(block_w, block_h, min(room_w / block_w, room_h / block_h))
        block_w, block_h = block_w * scale, block_h * scale
        x, y = across[0] + across[1] * block_w, down[0] + down[1] * block_h
        if across[1] and not self.one["place"].startswith("cut"):
            x = min(x, OFF_MIDDLE * self.w) if across[1] > 0 else max(x, (1 - OFF_MIDDLE) * self.w)
        if down[1] and not self.one["place"].startswith("cut"):
            y = min(y, OFF_MIDDLE * self.h) if down[1] > 0 else max(y, (1 - OFF_MIDDLE) * self.h)
        shift_x, shift_y = x - (max(xs) + min(xs)) / 2 * scale, y - (max(ys) + min(ys)) / 2 * scale
        if self.badge:  # a pentagon's origin, where the figure stands, is not the middle of its box
            shift_x, shift_y = shift_x - (left + right) / 2 * scale, shift_y - (top + bottom) / 2 * scale
        return Layout(
            scale,
            tuple((shift_x + mx * scale, shift_y + my * scale) for mx, my in middles),
            (x - block_w / 2, y - block_h / 2, x + block_w / 2, y + block_h / 2),
        )

    def _scale(self, width: float, height: float, fitting: float) -> float:
        """The scale at which a block of that width and height has the size asked for, or fits its room."""
        share = max(width / self.w, height / self.h) * fitting
        smallest, largest = PLAIN_SIZES
        wanted = SIZES.get(self.one.get("size", ""), min(max(share, smallest), largest))
        return fitting * wanted / share

    def _room(self) -> tuple[float, float, Point, Point]:
        """(greatest width, greatest height, (x, share of the width to add), (y, share of the height)) of the block."""
        place, caption = self.one.get("place", ""), self.one.get("caption", "")
        line = 0.17 * self.short
        top = self.margin + (line if caption.endswith("above") else 0)
        bottom = self.h - self.margin - (line if caption.endswith("below") else 0)
        left, right = self.margin, self.w - self.margin
        middle = min(max((top + bottom) / 2, 0.46 * self.h), 0.54 * self.h)
        across, room_w = (self.w / 2, 0.0), 0.84 * (right - left)
        down, room_h = (middle, 0.0), 1.84 * min(middle - top, bottom - middle)
        if place in ("upper-left", "middle-left", "lower-left"):
            across, room_w = (left, 0.5), 2 * (0.36 * self.w - left)
        elif place in ("upper-right", "middle-right", "lower-right"):
            across, room_w = (right, -0.5), 2 * (0.36 * self.w - left)
        if place.startswith("upper"):
            down, room_h = (top, 0.5), 2 * (0.38 * self.h - top)
        elif place.startswith("lower"):
            down, room_h = (bottom, -0.5), 2 * (bottom - 0.62 * self.h)
        elif place.startswith("cut-"):
            return self._cut_room(place, across, down, room_w, room_h)
        return room_w, room_h, across, down

    def _cut_room(
        self, place: str, across: Point, down: Point, room_w: float, room_h: float
    ) -> tuple[float, float, Point, Point]:
        """Let a quarter of the block stand beyond one edge."""
        if place in ("cut-left", "cut-right"):
            across = (0.0, 0.22) if place == "cut-left" else (self.w, -0.22)
            return 0.75 * self.w, room_h, across, down
        down = (0.0, 0.22) if place == "cut-top" else (self.h, -0.22)
        return room_w, 0.75 * self.h, across, down

    # ---- parts

    def _backdrop(self) -> str:
        value = self.one.get("background")
        if value is None:
            return ""
        paint = PLAIN_BACKDROPS.get(value)
        if paint is None:
            tag, geometry, first, last = FADING_BACKDROPS[value]
            stops = f'<stop stop-color="{first}"/><stop offset="1" stop-color="{last}"/>'
            self.defs.append(f'<{tag} id="b" {geometry}>{stops}</{tag}>')
            paint = "url(#b)"
        return f'<rect width="{self.w}" height="{self.h}" fill="{paint}"/>'

    def _figure(self, layout: Layout) -> str:
        left, top, right, bottom = _figure_box(self.subject, self.degrees)
        grow = layout.scale
        badge = ""
        if self.badge:
            light = max(rgb(self.main) or (0, 0, 0)) > 0.9 and hsl(rgb(self.main) or (0, 0, 0))[2] > 0.75
            tint = mix(self.main, INK, 0.72) if light else mix(self.main, "#ffffff", 0.78)
            ring = mix(self.main, "#000000", 0.2)
            badge = f'<g transform="scale({grow:.4g})">{self.badge.markup.format(b=tint, r=ring)}</g>'
            grow *= self.badge.room * 100 / max(right - left, bottom - top)
        turn = f"rotate({self.degrees})" if self.degrees else ""
        x, y = _turned_middle((left, top, right, bottom), self.degrees)
        transform = f"{turn}scale({grow:.4g})translate({-x:.4g} {-y:.4g})"
        body = SUBJECTS[self.subject].format(**self._tones())
        unit = f'{badge}<g id="{self.subject}" transform="{transform}"{self._line()}{self._alpha()}>{body}</g>'
        if len(layout.middles) == 1:
            x, y = layout.middles[0]
            return f'<g transform="translate({x:.4g} {y:.4g})">{unit}</g>'
        self.defs.append(f'<g id="unit">{unit}</g>')
        return "".join(f'<use href="#unit" x="{x:.4g}" y="{y:.4g}"/>' for x, y in layout.middles)

    def _tones(self) -> dict[str, str]:
        """The paints that a subject leaves open."""
        dark = lightness(rgb(self.main) or (0, 0, 0)) < 0.2
        deep = mix(self.main, "#ffffff", 0.22) if dark else mix(self.main, "#1c1f3a", 0.3)
        pale = mix(self.main, "#ffffff", 0.45 if dark else 0.5)
        fill = self.one.get("fill", "")
        paint = self.main
        if fill in _TEXTURES:
            mark = mix(self.main, "#ffffff", 0.35) if lightness(rgb(self.main) or (0, 0, 0)) < 0.5 else deep
            light = mix(self.main, "#ffffff", 0.45)
            shade = mix(self.main, "#000000", 0.3)
            self.defs.append(_TEXTURES[fill].format(m=self.main, k=mark, l=light, d=shade))
            paint = "url(#f)"
        return {"m": paint, "d": deep, "l": pale, "w": "#fffdf8", "k": INK} | self._palette(paint, deep)

    def _palette(self, paint: str, deep: str) -> dict[str, str]:
        """The paints of the details where a palette is asked for.

        Every subject has details in {d}, and in at least two of {l}, {w} and {k}.
        """
        palette = self.one.get("palette", "")
        if palette in ("one-paint", "two-paints"):
            other = paint if palette == "one-paint" else deep
            return {"d": other, "l": paint, "w": paint, "k": other}
        hue, _, _ = hsl(self.main_rgb)
        one, two, three, four = (_strong((hue + 72 * step) % 360) for step in range(1, 5))
        if palette == "medley-of-hues":
            return {"d": two, "l": three, "w": four, "k": one}
        if palette == "contrasting-hues":
            is_neutral = max(self.main_rgb) - min(self.main_rgb) < HUED
            return {"d": two, "l": three, "w": three} if is_neutral else {"d": two}
        return {}

    def _alpha(self) -> str:
        return {"faint-fill": ' fill-opacity=".28"', "glassy-fill": ' fill-opacity=".6"'}.get(
            self.one.get("fill", ""), ""
        )

    def _line(self) -> str:
        value = self.one.get("outline")
        if value is None:
            return ""
        left, top, right, bottom = _figure_box(self.subject, self.degrees)
        size = max(right - left, bottom - top) / 100
        paint = INK
        if "white" in value:
            paint = "#ffffff"
        elif "tinted" in value:
            paint = "#1971c2" if (rgb(self.main) or (0, 0, 0))[0] > (rgb(self.main) or (0, 0, 0))[2] else "#e8590c"
        weight = size * (1.1 if value.startswith("fine") else 3.2 if value.startswith("bold") else 1.8)
        dash = {"short-dashes": (3, 2), "long-dashes": (7, 2.6), "close-dots": (0.01, 2), "spaced-dots": (0.01, 4)}.get(
            value
        )
        broken = f' stroke-dasharray="{dash[0] * weight:.3g} {dash[1] * weight:.3g}"' if dash else ""
        ends = ' stroke-linecap="round"' if value.endswith("dots") else ""
        return f' stroke="{paint}" stroke-width="{weight:.3g}" stroke-linejoin="round"{broken}{ends}'

    def _frame(self) -> str:
        value = self.one.get("frame")
        if value is None:
            return ""
        s, paint = self.short, PAPER if self.is_dark else INK
        inset, inner = 0.03 * s, 0.058 * s
        thin = f'fill="none" stroke="{paint}" stroke-width="{0.008 * s:.3g}"'
        thick = f'fill="none" stroke="{paint}" stroke-width="{0.03 * s:.3g}"'
        band = f'fill="none" stroke="{paint}" stroke-width="{0.018 * s:.3g}"'
        match value:
            case "thin-frame":
                return self._rect(inset, thin)
            case "thick-frame":
                return self._rect(inset, thick)
            case "even-double":
                return self._rect(inset, thin) + self._rect(inner, thin)
            case "uneven-double":
                return self._rect(inset, band) + self._rect(inner, thin)
            case "slightly-soft":
                return self._rect(inset, f'rx="{0.045 * s:.3g}" {band}')
            case "strongly-soft":
                return self._rect(inset, f'rx="{0.15 * s:.3g}" {band}')
            case "single-oval":
                return self._oval(inset, band)
            case "double-oval":
                return self._oval(inset, band) + self._oval(inner, thin)
            case "dashed-frame":
                return self._rect(inset, f'{band} stroke-dasharray="{0.07 * s:.3g} {0.04 * s:.3g}"')
            case "dotted-frame":
                return self._rect(inset, f'{band} stroke-linecap="round" stroke-dasharray=".01 {0.045 * s:.3g}"')
        near_x, near_y, far_x, far_y, arm = inset, inset, self.w - inset, self.h - inset, 0.16 * s
        d = (
            f"M{near_x:.4g} {near_y + arm:.4g}V{near_y:.4g}H{near_x + arm:.4g}"
            f"M{far_x - arm:.4g} {near_y:.4g}H{far_x:.4g}V{near_y + arm:.4g}"
            f"M{far_x:.4g} {far_y - arm:.4g}V{far_y:.4g}H{far_x - arm:.4g}"
            f"M{near_x + arm:.4g} {far_y:.4g}H{near_x:.4g}V{far_y - arm:.4g}"
        )
        return f'<path d="{d}" {band}/>'

    def _rect(self, inset: float, style: str) -> str:
        size = f'width="{self.w - 2 * inset:.4g}" height="{self.h - 2 * inset:.4g}"'
        return f'<rect x="{inset:.4g}" y="{inset:.4g}" {size} {style}/>'

    def _oval(self, inset: float, style: str) -> str:
        rx, ry = self.w / 2 - inset, self.h / 2 - inset
        return f'<ellipse cx="{self.w / 2:g}" cy="{self.h / 2:g}" rx="{rx:.4g}" ry="{ry:.4g}" {style}/>'

    def _caption(self) -> str:
        value = self.one.get("caption")
        if value is None:
            return ""
        face, case, side = value.split("-")
        word = "hello" if self.subject == "emblem" else self.subject.replace("-", " ")
        word = word.upper() if case == "capitals" else word
        room = 0.55 if self.one.get("frame", "").endswith("oval") else 0.8  # an oval narrows where the word stands
        size = min(0.115 * self.short, room * (self.w - 2 * self.margin) / (0.68 * len(word)))
        middle = self.margin + 0.05 * self.short
        y = (middle if side == "above" else self.h - middle) + 0.35 * size
        ink, halo = (PAPER, INK) if self.is_dark else (INK, PAPER)
        return (
            f'<text x="{self.w / 2:g}" y="{y:.4g}" text-anchor="middle" font-family="{_TYPEFACES[face]}" '
            f'font-size="{size:.4g}" font-weight="600" letter-spacing="{0.06 * size:.2g}" fill="{ink}" '
            f'stroke="{halo}" stroke-width="{0.16 * size:.3g}" stroke-linejoin="round" paint-order="stroke">'
            f"{word}</text>"
        )

    # ---- company

    def _companions(self, layout: Layout) -> list[str]:
        """Stretches of land first, then what stands or flies, each where it covers least."""
        taken = [layout.box]
        if caption := self.one.get("caption"):
            reach, line = 0.28 * self.w, 0.2 * self.short
            top = self.margin if caption.endswith("above") else self.h - self.margin - line
            taken.append((self.w / 2 - reach, top, self.w / 2 + reach, top + line))
        parts = [f'<g id="{each}">{_BANDS[each](self.w, self.h)}</g>' for each in self.company if each in _BANDS]
        size = 0.24 * self.short
        for each in self.company:
            if each in _BANDS:
                continue
            low = each in ("pines", "bushes", "grass")
            x, y = self._free_spot(taken, size, low=low)
            taken.append((x, y, x + size, y + size))
            place = f"translate({x:.4g} {y:.4g})scale({size / 100:.3g})"
            parts.append(f'<g id="{each}" transform="{place}">{COMPANY[each]}</g>')
        return parts

    def _free_spot(self, taken: Sequence[Box], size: float, *, low: bool) -> Point:
        """The upper left corner of the spot, along the top (or the bottom if `low`), that overlaps least."""
        near, far = 0.8 * self.margin, self.w - 0.8 * self.margin - size
        y = self.h - 0.8 * self.margin - size if low else 0.8 * self.margin
        second = y - 0.5 * size if low else y + 1.3 * size
        spots = [(far, y), (near, y), (far, second), (near, second), (0.7 * far, y), (0.3 * far + 0.7 * near, y)]
        covered = [sum([_overlap((x, y, x + size, y + size), box) for box in taken]) for x, y in spots]
        return spots[covered.index(min(covered))]


_TEXTURES = {
    "shade-down": '<linearGradient id="f" x2="0" y2="1"><stop stop-color="{l}"/><stop offset=".5" stop-color="{m}"/>'
    '<stop offset="1" stop-color="{d}"/></linearGradient>',
    "shade-across": '<linearGradient id="f"><stop stop-color="{l}"/><stop offset=".5" stop-color="{m}"/>'
    '<stop offset="1" stop-color="{d}"/></linearGradient>',
    "shade-round": '<radialGradient id="f"><stop stop-color="{l}"/><stop offset=".5" stop-color="{m}"/>'
    '<stop offset="1" stop-color="{d}"/></radialGradient>',
}


def _cell(size: int, marks: str, more: str = "") -> str:
    return (
        f'<pattern id="f" width="{size}" height="{size}" patternUnits="userSpaceOnUse"{more}>'
        f'<rect width="{size}" height="{size}" fill="{{m}}"/>{marks}</pattern>'
    )


_TEXTURES |= {
    "level-stripes": _cell(10, '<rect width="10" height="4" fill="{k}"/>'),
    "upright-stripes": _cell(10, '<rect width="4" height="10" fill="{k}"/>'),
    "slanted-stripes": _cell(10, '<rect width="10" height="4" fill="{k}"/>', ' patternTransform="rotate(45)"'),
    "small-dots": _cell(7, '<circle cx="3.5" cy="3.5" r="1.3" fill="{k}"/>'),
    "large-dots": _cell(17, '<circle cx="8.5" cy="8.5" r="5" fill="{k}"/>'),
    "checkered": _cell(
        14, '<rect width="7" height="7" fill="{k}"/><rect x="7" y="7" width="7" height="7" fill="{k}"/>'
    ),
    "gridded": _cell(9, '<rect width="9" height="1.6" fill="{k}"/><rect width="1.6" height="9" fill="{k}"/>'),
}


def _hills(w: int, h: int) -> str:
    return (
        f'<path fill="#9ccc9c" d="M0 {h * 0.78:.0f}C{w * 0.2:.0f} {h * 0.62:.0f} {w * 0.4:.0f} {h * 0.64:.0f} '
        f'{w * 0.62:.0f} {h * 0.8:.0f}V{h}H0Z"/>'
        f'<path fill="#6fae7d" d="M{w * 0.2:.0f} {h}C{w * 0.5:.0f} {h * 0.72:.0f} {w * 0.75:.0f} {h * 0.66:.0f} {w} '
        f'{h * 0.74:.0f}V{h}Z"/><path fill="#57986b" d="M0 {h * 0.9:.0f}C{w * 0.3:.0f} {h * 0.82:.0f} {w * 0.6:.0f} '
        f'{h * 0.96:.0f} {w} {h * 0.88:.0f}V{h}H0Z"/>'
    )


def _mountains(w: int, h: int) -> str:
    """Two peaks with caps of snow, drawn in a box of 100 × 100 that is stretched over the canvas."""
    return (
        f'<g transform="scale({w / 100:.4g} {h / 100:.4g})"><path fill="#a3b3c9" d="M0 100L26 42 56 100Z"/>'
        '<path fill="#8497b3" d="M36 100L72 34 100 86V100Z"/>'
        '<path fill="#fff" d="M26 42L34 58 26 53 19 58ZM72 34L81.7 52 72 46 62.2 52Z"/></g>'
    )


def _waves(w: int, h: int) -> str:
    step = w / 8
    rows = ((0.8, "#8cc7ea"), (0.87, "#5aa9dc"), (0.94, "#3f8fc9"))
    swell = f"q{step / 2:.3g} -{h * 0.05:.3g} {step:.3g} 0" + f"t{step:.3g} 0" * 7
    return "".join(f'<path fill="{paint}" d="M0 {h * y:.0f}{swell}V{h}H0Z"/>' for y, paint in rows)


_BANDS = {"hills": _hills, "mountains": _mountains, "waves": _waves}


def _overlap(one: Box, two: Box) -> float:
    left, right = max(one[0], two[0]), min(one[2], two[2])
    if right <= left:
        return 0.0
    top, bottom = max(one[1], two[1]), min(one[3], two[3])
    return (right - left) * (bottom - top) if bottom > top else 0.0


@lru_cache(maxsize=512)
def _strong(hue: float) -> str:
    """A strong paint of that hue in degrees."""
    return as_hex(hls_to_rgb(hue / 360, 0.52, 0.72))


@lru_cache(maxsize=1024)
def _figure_box(subject: str, degrees: int) -> Box:
    """The box around a subject turned about the origin of its own units."""
    turn = matrix_of(f"rotate({degrees})") if degrees else None
    shapes = ElementTree.fromstring(f"<g>{SUBJECTS[subject].format(m='', d='', l='', w='', k='')}</g>")
    boxes = [local_box(shape.tag, shape.attrib, 100, 100) for shape in shapes]
    return union([moved(box, turn) for box in boxes if box is not None])


@lru_cache(maxsize=32)
def _badge_box(badge: Badge) -> Box:
    """The box around a badge, in its own units; lines reach to their outer edge."""
    shape = ElementTree.fromstring(badge.markup.format(b="", r=""))
    reach = float(shape.get("stroke-width", 0)) / 2
    left, top, right, bottom = local_box(shape.tag, shape.attrib, 100, 100) or (0, 0, 0, 0)
    return (left - reach, top - reach, right + reach, bottom + reach)


def _turned_middle(box: Box, degrees: int) -> Point:
    """The middle of a box around a turned subject, in the subject's own units."""
    middle = moved(((box[0] + box[2]) / 2, (box[1] + box[3]) / 2) * 2, matrix_of(f"rotate({-degrees})"))  # type: ignore[arg-type]
    return middle[0], middle[1]
