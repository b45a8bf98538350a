"""Drawing: leaf values of the svg_drawing lexicon → a self-contained SVG, a composed scene that shows exactly these.

What no value asks for is drawn in a way that `read_svg` reads as nothing: faint tints, a patch of ground, flat shapes,
a canvas of 1.1 : 1.  So `set(read_svg(draw(values))) == set(values)` for any values that can be had together (a spot of
color also shows what it stands out from).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache

from discover_lib.engines.miniature.lexicon import load_lexicon
from discover_lib.engines.miniature.svg.geometry import Box, matrix_of, moved, union
from discover_lib.engines.miniature.svg.paints import PALETTES, SPOTS, Hour, mix, tones
from discover_lib.engines.miniature.svg.stock import (
    BEFORE,
    BEHIND,
    COMPANY,
    DETAILS,
    GROUND,
    HORIZON,
    SETTINGS,
    SUBJECTS,
    WATERLINE,
    Figure,
    box_of,
    layer,
    markup,
    sun,
)

LONG_SIDE = 320  # of the canvas, in user units
PLAIN_RATIO = 1.1
RATIOS = {"postcard": 3 / 2, "widescreen": 16 / 9, "portrait": 3 / 4, "phone": 9 / 16, "square": 1.0}
PAPERS = ("white-paper", "tinted-paper", "dark-paper")
HOURS: dict[str, Hour] = {
    "sunny": "day",
    "cloudy": "day",
    "rainy": "day",
    "rainbow": "day",
    "sunrise": "low",
    "sunset": "low",
    "cloud-streaks": "low",
    "crescent-moon": "night",
    "full-moon": "night",
    "stars": "night",
    "aurora": "night",
}
# How much of the canvas the subject reaches across in its longer direction, and of which area its box is at most.
REACH = {"far-off": 0.6, "close-up": 0.83}
PLAIN_REACH, LONG_REACH, MOST_AREA = 0.71, 0.765, 0.66  # LONG: on canvases much longer one way
SIDES = {"on-left": 0.335, "on-right": 0.665}
WORDS = {"birthday": "Happy birthday", "thanks": "Thank you", "hello": "Hello there", "good-night": "Good night"}
TYPEFACES = {
    "serif": "Georgia, 'Times New Roman', serif",
    "typewriter": "'Courier New', monospace",
    "handwritten": "'Segoe Script', 'Comic Sans MS', cursive",
}
PLAIN_TYPEFACE = "Helvetica, Arial, sans-serif"
STUDY = "study"  # three solids, where no subject is chosen
LINES = {"fine-lines": 0.011, "bold-lines": 0.028, "white-lines": 0.017}  # width, in the size of what they outline
_BORDERS = {  # inset and width, shares of the short side, and paint, where it is not that of all lines
    "": (),
    "thin-border": ((0.035, 0.009, ""),),
    "double-border": ((0.03, 0.014, ""), (0.055, 0.009, "")),
    "dotted-border": ((0.035, 0.018, ""),),
    "white-mat": ((0.028, 0.06, "p"),),
    "dark-mat": ((0.028, 0.06, "k"),),
}
YOUNG = {"one-young": 1, "two-young": 2}
YOUNG_SIZE = 0.36  # of a small one, in that of the subject

Chosen = Mapping[str, list[str]]


def draw(values: Iterable[str]) -> str:
    """An SVG that shows exactly these leaf values; without a subject, three solids carry the others.

    Args:
        values: leaf value ids that can be had together (see `Lexicon.that_fit`).
    """
    lexicon, chosen = load_lexicon("svg_drawing"), defaultdict[str, list[str]](list)
    for value in dict.fromkeys(values):
        chosen[lexicon.values[value].dimension].append(value)
    return _Drawing(chosen).markup()


class _Drawing:
    """One drawing on its way from values to markup; paints stand open as roles until the end."""

    def __init__(self, chosen: Chosen) -> None:
        def first(dimension: str, among: Collection[str]) -> str:
            return next(filter(among.__contains__, chosen.get(dimension, ())), "")

        self.chosen = chosen
        self.values = frozenset[str]().union(*chosen.values())
        self.subject = first("subject", SUBJECTS)
        self.figure: Figure = SUBJECTS[self.subject or STUDY]
        self.afloat = self.figure.on == "water" or (not self.subject and "open-sea" in self.values)
        self.setting, self.paper = first("setting", SETTINGS), first("setting", PAPERS)
        self.hour: Hour = next((HOURS[value] for value in chosen.get("light", ())), "")
        self.is_scene = bool(chosen.get("setting") or self.hour) and not self.paper
        self.tones = tones(first("colours", PALETTES), self.hour, first("colours", SPOTS))
        self.reach, self.side = first("composition", REACH), first("composition", SIDES)
        self.line, self.surface = first("style", LINES), first("style", (*_SURFACES, "washes"))
        self.border = first("border", self.values)
        self.has_words = bool(chosen.get("lettering"))
        ratio = RATIOS.get(first("format", RATIOS), PLAIN_RATIO)
        self.w, self.h = (LONG_SIDE, round(LONG_SIDE / ratio)) if ratio >= 1 else (round(LONG_SIDE * ratio), LONG_SIDE)
        self.short = min(self.w, self.h)
        self.figure_box = _box_with(self.subject or STUDY, tuple(sorted(self.values & DETAILS.keys())))
        self.defs: list[str] = []

    def markup(self) -> str:
        box = self._place()
        parts = [
            self._sky(),
            *self._above(box),
            *self._setting(box),
            *self._company(box),
            self._shadow(box),
            self._subject(box),
            *[self._group(value, self._layer(value)) for value in self.chosen.get("setting", ()) if value in BEFORE],
            self._border(),
            self._lettering(),
        ]
        body = "".join(parts).format_map(self.tones)
        title = load_lexicon("svg_drawing").values[self.subject].say.capitalize() if self.subject else "A study"
        defs = f"<defs>{''.join(self.defs)}</defs>" if self.defs else ""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.w} {self.h}" '
            f'width="{self.w}" height="{self.h}" role="img">'
            f"<title>{title}</title>{defs}{body}</svg>"
        )

    # ---- the subject

    def _place(self) -> Box:
        """The box of the subject, with what it wears or carries, on the canvas."""
        left, top, right, bottom = self.figure_box
        wide, high = right - left, bottom - top
        is_long = max(self.w, self.h) > 1.6 * self.short
        reach = REACH.get(self.reach, LONG_REACH if is_long else PLAIN_REACH)
        middle = SIDES.get(self.side, 0.5)
        margin = 0.085 if self.border else 0.03
        widest = min(reach, 2 * (min(middle, 1 - middle) - margin))
        scale = min(reach * self.h / high, widest * self.w / wide, (MOST_AREA * self.w * self.h / wide / high) ** 0.5)
        w, h, x = wide * scale, high * scale, middle * self.w
        foot = self._foot(h)
        return (x - w / 2, foot - h, x + w / 2, foot)

    def _foot(self, height: float) -> float:
        """Where the subject's foot is: the lower the taller it is; words below it lift it."""
        below = self.has_words and "words-on-top" not in self.values and self.reach != "close-up"
        lift = 0.075 * self.h if below else 0.0
        if self.figure.on == "air":
            return min(0.47 * self.h + height / 2, 0.9 * self.h - lift)
        if not self.is_scene:
            return min(0.52 * self.h + height / 2, 0.9 * self.h) - lift
        low = WATERLINE if self.afloat else GROUND
        return max(low * self.h, min(0.5 * self.h + height / 2, 0.93 * self.h)) - lift

    def _subject(self, box: Box) -> str:
        left, top, right, bottom = self.figure_box
        scale = (box[2] - box[0]) / (right - left)
        name = self.subject or STUDY
        body = self.figure.markup.replace('fill="{m}"', f'fill="{self._worked("f", "m")}"')
        is_lit = "lit-windows" in self.values
        panes = self.figure.panes("y" if is_lit else "g")
        body += f'<g id="lit-windows">{panes}</g>' if is_lit else panes
        for value in self.chosen.get("subject", ()):
            if value in DETAILS:
                body += f'<g id="{value}" transform="{_anchored(name, value)}">{markup(DETAILS[value])}</g>'
        style = self._line_style(max(right - left, bottom - top)) + self._wash(0.72)
        place = f"translate({box[0] - left * scale:.4g} {box[1] - top * scale:.4g})scale({scale:.4g})"
        return f'<g id="{name}" transform="{place}"{style}>{body}</g>'

    def _line_style(self, size: float) -> str:
        """Lines along the edges of something `size` units large."""
        paint, width = "w" if self.line == "white-lines" else "k", LINES.get(self.line, 0.0) * size
        return f' stroke="{{{paint}}}" stroke-width="{width:.3g}" stroke-linejoin="round"' if self.line else ""

    def _wash(self, alpha: float) -> str:
        return f' fill-opacity="{alpha}"' if self.surface == "washes" else ""

    def _worked(self, name: str, role: str) -> str:
        """The paint of a role as shading or print, which is defined under `name`; plain where the surface is not."""
        markup = _SURFACES.get(self.surface)
        if markup is None:
            return f"{{{role}}}"
        paint, ink, pale = self.tones[role], self.tones["k"], self.tones["w"]
        light, marks = mix(paint, pale, 0.42), mix(paint, pale, 0.38 if role == "m" else 0.2)
        self.defs.append(markup.format(id=name, m=paint, d=mix(paint, ink, 0.38), l=light, k=marks))
        return f"url(#{name})"

    # ---- what is around it

    def _group(self, name: str, markup: str) -> str:
        """A named part of what is around the subject, in the picture's manner."""
        return f'<g id="{name}"{self._line_style(0.5 * self.short)}{self._wash(0.86)}>{markup}</g>'

    def _layer(self, name: str) -> str:
        return layer(name, self.w, self.h, afloat=self.afloat)

    def _sky(self) -> str:
        """The background: paper, or a sky that fades toward the horizon."""
        paint = {"white-paper": "#ffffff", "tinted-paper": "{tint}", "dark-paper": "{night}"}.get(self.paper, "{top}")
        if self.hour and not self.paper:
            self.defs.append(_SKY.format_map(self.tones))
            paint = "url(#b)"
        rect = f'<rect width="{self.w}" height="{self.h}" fill="{paint}"/>'
        return rect if self.is_scene or self.paper else ""

    def _free_side(self, box: Box) -> float:
        """Where the sky is free, as a share of the width."""
        return 0.78 if (box[0] + box[2]) / 2 <= 0.55 * self.w else 0.22

    def _above(self, box: Box) -> list[str]:
        """Sun, moon and weather, on the side that the subject leaves free."""
        side = self._free_side(box)
        parts = []
        for value in self.chosen.get("light", ()):
            match value:
                case "sunny":
                    shape = sun(self.w, self.h, side, 0.2, 0.1, rays=12)
                case "sunrise":
                    shape = sun(self.w, self.h, 0.25 + 0.5 * side, HORIZON - 0.03, 0.19, rays=18, reach=8, width=0.085)
                case "sunset":
                    shape = sun(self.w, self.h, 0.2 + 0.6 * side, HORIZON - 0.14, 0.24)
                case "cloudy" | "rainy":
                    spots = ((side, 0.16, 0.3), (1 - side, 0.12, 0.24), (0.52, 0.28, 0.18))
                    shape = "".join(self._small("cloud", *spot) for spot in spots)
                    shape += self._layer("rain") if value == "rainy" else ""
                case "crescent-moon" | "full-moon":
                    shape = self._small(value, side, 0.2, 0.2)
                case _:
                    shape = self._layer(value)
            parts.append(f'<g id="{value}">{shape}</g>')
        return parts

    def _small(self, name: str, x: float, y: float, size: float) -> str:
        """A small figure with its middle at a place; `size` is a share of the short side."""
        reach = size * self.short
        at = f"translate({x * self.w - reach / 2:.4g} {y * self.h - reach / 2:.4g})scale({reach / 100:.3g})"
        return f'<g transform="{at}">{markup(COMPANY[name])}</g>'

    def _setting(self, box: Box) -> list[str]:
        """The landscape; without one a stretch of ground below the sky, or a patch of it on paper."""
        if not self.is_scene:
            return [self._patch(box)]
        name = self.setting or ("water" if self.afloat else "ground")
        land = self._layer(name).replace('fill="{n}"', f'fill="{self._worked("g", "n")}"')
        behind = [value for value in self.chosen.get("setting", ()) if value in BEHIND]
        return [
            self._group(self.setting or "ground", land),
            *[self._group(value, self._layer(value)) for value in behind],
        ]

    def _patch(self, box: Box) -> str:
        x, w = (box[0] + box[2]) / 2, min(0.66 * (box[2] - box[0]), 0.47 * self.w)
        y = min(box[3] + (0.06 * self.h if self.figure.on == "air" else 0.0), 0.94 * self.h)
        back = _ellipse("q", x, y - 0.02 * self.h, 0.8 * w, 0.075 * self.h)
        return f'<g id="ground">{back}{_ellipse("u" if self.afloat else "f", x, y, w, 0.06 * self.h)}</g>'

    def _shadow(self, box: Box) -> str:
        """The shadow of what stands, longer while the sun is low; the ripples around what floats."""
        x, w, y = (box[0] + box[2]) / 2, (box[2] - box[0]) / 2, box[3]
        slide, thin = {"low": 0.18, "day": 0.07}.get(self.hour, 0.0) * w, 0.012 * self.h
        shape = _ellipse("k", x - slide, y, 0.92 * w + slide, 0.016 * self.h, 0.2)
        if self.figure.on == "water":
            shape = _ellipse("p", x, y + 0.3 * thin, 1.04 * w, thin, 0.55)
            shape += _ellipse("p", x + 0.25 * w, y + 1.9 * thin, 0.7 * w, thin, 0.55)
        return "" if self.figure.on == "air" else f'<g id="shadow">{shape}</g>'

    def _company(self, box: Box) -> list[str]:
        """Small ones at the subject's foot; what flies, on the side that sun and moon leave free."""
        free = 1 - self._free_side(box)
        spots = iter(((free, 0.2), (1 - free, 0.34)))
        return [
            self._group(value, self._young(value, box))
            if value in YOUNG
            else self._group(value, self._small(value, *next(spots), 0.25))
            for value in self.chosen.get("company", ())
        ]

    def _young(self, value: str, box: Box) -> str:
        """Copies of the subject beside it, the first on the side with more room."""
        left, top, right, bottom = self.figure.box
        scale = YOUNG_SIZE * (box[2] - box[0]) / (right - left)
        w, h = (right - left) * scale, (bottom - top) * scale
        spots = [box[2] - 0.1 * w, box[0] - 0.9 * w]
        if self.w - box[2] < box[0]:
            spots.reverse()
        y = box[3] - h + 0.03 * self.h
        copies = ""
        for spot in spots[: YOUNG[value]]:
            x = min(max(spot, 0.02 * self.w), 0.98 * self.w - w)
            place = f"translate({x - left * scale:.4g} {y - top * scale:.4g})scale({scale:.3g})"
            copies += f'<g transform="{place}">{self.figure.markup}{self.figure.panes("g")}</g>'
        return copies

    # ---- border and lettering

    def _border(self) -> str:
        """Lines around the picture."""
        plain = "w" if self.hour == "night" or self.paper == "dark-paper" else "k"
        return "".join(self._rect(inset, weight, role or plain) for inset, weight, role in _BORDERS[self.border])

    def _rect(self, inset: float, weight: float, role: str) -> str:
        """One line; lengths are shares of the short side."""
        x, line = inset * self.short, f'stroke="{{{role}}}" stroke-width="{weight * self.short:.3g}"'
        if self.border == "dotted-border":
            line += f' stroke-linecap="round" stroke-dasharray=".01 {0.044 * self.short:.3g}"'
        size = f'width="{self.w - 2 * x:.4g}" height="{self.h - 2 * x:.4g}"'
        return f'<rect x="{x:.3g}" y="{x:.3g}" {size} fill="none" {line}/>'

    def _lettering(self) -> str:
        if not self.has_words:
            return ""
        values = self.chosen["lettering"]
        title = f"The {self.subject}".replace("-", " ") if self.subject else "Untitled"
        words = next((WORDS[value] for value in values if value in WORDS), title if "title" in values else "No. 7")
        face = next((TYPEFACES[value] for value in values if value in TYPEFACES), PLAIN_TYPEFACE)
        size = min(0.115 * self.short, 0.8 * self.w / (0.6 * len(words)))
        inset, on_top = (0.1 if self.border else 0.06) * self.short, "words-on-top" in values
        y = inset + 0.78 * size if on_top else self.h - inset
        is_dark = self.hour == "night" or self.paper == "dark-paper" or (self.is_scene and not on_top)
        ink, halo = "wk" if is_dark else "kw"
        return (
            f'<text x="{self.w / 2:g}" y="{y:.4g}" text-anchor="middle" font-family="{face}" font-size="{size:.3g}" '
            f'font-weight="700" fill="{{{ink}}}" stroke="{{{halo}}}" stroke-width="{0.13 * size:.2g}" '
            f'stroke-linejoin="round" paint-order="stroke">{words}</text>'
        )


def _ellipse(role: str, x: float, y: float, rx: float, ry: float, alpha: float | None = None) -> str:
    faint = f' fill-opacity="{alpha}"' if alpha else ""
    return f'<ellipse fill="{{{role}}}"{faint} cx="{x:.4g}" cy="{y:.4g}" rx="{rx:.4g}" ry="{ry:.3g}"/>'


_SKY = (
    '<linearGradient id="b" x2="0" y2="1"><stop stop-color="{top}"/>'
    f'<stop offset="{HORIZON}" stop-color="{{low}}"/></linearGradient>'
)
_STOPS = '<stop stop-color="{l}"/><stop offset=".5" stop-color="{m}"/><stop offset="1" stop-color="{d}"/>'
_CELL = '<pattern id="{{id}}" width="{0}" height="{0}" patternUnits="userSpaceOnUse" patternTransform="rotate({1})">'
_SURFACES = {  # {m} paint, {d} deeper, {l} lighter, {k} marks on it
    "soft-shading": f'<linearGradient id="{{id}}" x2="0" y2="1">{_STOPS}</linearGradient>',
    "round-shading": f'<radialGradient id="{{id}}" cx=".4" cy=".35" r=".75">{_STOPS}</radialGradient>',
    "halftone": _CELL.format(6, 30)
    + '<rect width="6" height="6" fill="{m}"/><circle cx="3" cy="3" r="1.5" fill="{k}"/></pattern>',
    "hatching": _CELL.format(5, 45)
    + '<rect width="5" height="5" fill="{m}"/><rect width="5" height="1.7" fill="{k}"/></pattern>',
}

_ANCHORS = {  # where on a figure a detail goes, and its size in units of the figure or of the half width there
    "scarf": ("neck", 1.0),
    "party-hat": ("head", 1.0),
    "flower-crown": ("head", 1.15),
    "flag": ("top", 1.0),
    "pennants": ("top", 1.0),
    "roses": ("foot", 0.62),
    "bee": ("rest", 0.8),
    "ladybird": ("rest", 0.8),
}


@lru_cache(maxsize=256)
def _anchored(subject: str, detail: str) -> str:
    """The transformation that puts a detail onto a figure; where the figure has no such place, somewhere on top."""
    name, size = _ANCHORS[detail]
    at = SUBJECTS[subject].at
    x, y, *reach = at.get(name) or at.get("top") or [50, 10]
    return f"translate({x} {y})scale({size * (reach[0] or 20) / 50 if reach else size:.3g})"


@lru_cache(maxsize=1024)
def _box_with(subject: str, details: tuple[str, ...]) -> Box:
    """The box around a subject and what it wears or carries, in the subject's own units."""
    boxes = [moved(box_of(DETAILS[detail]), matrix_of(_anchored(subject, detail))) for detail in details]
    return union([SUBJECTS[subject].box, *boxes])
