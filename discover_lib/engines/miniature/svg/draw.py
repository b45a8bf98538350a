"""Drawing: leaf values of the svg_drawing lexicon → a self-contained SVG, a composed scene that shows exactly these.

What no value asks for is drawn in a way that `read_svg` reads as nothing: faint tints, a patch of ground on white,
flat shapes, a canvas of 1.1 : 1.  So `set(read_svg(draw(values))) == set(values)` for any values that can stand together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import lru_cache

from discover_lib.engines.miniature.lexicon import load_lexicon
from discover_lib.engines.miniature.svg.colour import mix
from discover_lib.engines.miniature.svg.figures import COMPANY, DETAILS, SUBJECTS, Figure, box_of, markup
from discover_lib.engines.miniature.svg.geometry import Box, union
from discover_lib.engines.miniature.svg.palettes import Hour, tones
from discover_lib.engines.miniature.svg.settings import (
    BEFORE,
    BEHIND,
    GROUND,
    HORIZON,
    SETTINGS,
    SKY,
    WATERLINE,
    Land,
    bare_ground,
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
REACH = {"far-off": 0.585, "close-up": 0.83}
PLAIN_REACH, MOST_AREA = 0.7, 0.66
SIDES = {"on-left": 0.335, "on-right": 0.665}
WORDS = {"birthday": "Happy birthday", "thanks": "Thank you", "hello": "Hello there", "good-night": "Good night"}
TYPEFACES = {
    "serif": "Georgia, 'Times New Roman', serif",
    "typewriter": "'Courier New', monospace",
    "handwritten": "'Segoe Script', 'Comic Sans MS', cursive",
}
YOUNG = 0.36  # size of a small one, in that of the subject

Chosen = Mapping[str, list[str]]


def draw(values: Iterable[str], *, width: int = 320) -> str:
    """An SVG that shows exactly these leaf values; without a subject, three solids carry the others.

    Args:
        values: leaf value ids that can stand together.
        width: the longer side of the drawing on a page, in pixels.

    Raises:
        ValueError: an unknown or broad value, or too many of one dimension; the message names it.
    """
    return _Drawing(_by_dimension(values)).markup(width)


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


class _Drawing:
    """One drawing on its way from values to markup."""

    def __init__(self, chosen: Chosen) -> None:
        lexicon = load_lexicon("svg_drawing")
        everything = [value for values in chosen.values() for value in values]
        self.values = frozenset(everything)
        self.chosen = chosen
        self.lineages = frozenset(above for value in everything for above in lexicon.lineages[value])
        self.subject = next((value for value in chosen.get("subject", ()) if value in SUBJECTS), "")
        self.figure: Figure = SUBJECTS[self.subject or "study"]
        self.afloat = self.figure.on == "water" or (not self.subject and "open-sea" in self.values)
        self.hour: Hour = next((HOURS[value] for value in chosen.get("light", ())), "")
        spot = next((value for value in chosen.get("colours", ()) if "-with-" in value), "")
        palette = next((value for value in chosen.get("colours", ()) if value != spot), "")
        self.tones = dict(tones(palette, self.hour, spot))
        if "lit-windows" not in self.values:
            self.tones["y"], self.lamp = self.tones["g"], self.tones["y"]
        else:
            self.lamp = self.tones["y"]
        shape = next(iter(chosen.get("format", ())), "")
        ratio = RATIOS.get(shape, PLAIN_RATIO)
        self.w, self.h = (LONG_SIDE, round(LONG_SIDE / ratio)) if ratio >= 1 else (round(LONG_SIDE * ratio), LONG_SIDE)
        self.short = min(self.w, self.h)
        self.land = _land(self.w, self.h, self.afloat)
        self.setting = next((value for value in chosen.get("setting", ()) if value in SETTINGS), "")
        self.paper = next((value for value in chosen.get("setting", ()) if value in PAPERS), "")
        self.on_side = next((value for value in chosen.get("composition", ()) if value in SIDES), "")
        self.defs: list[str] = []
        self.is_scene = bool(self.setting or self.hour or chosen.get("setting")) and not self.paper
        if self.paper == "dark-paper":
            self.tones |= {"k": self.tones["k"], "w": self.tones["w"]}

    def markup(self, width: int) -> str:
        scale = width / LONG_SIDE
        box = self._place()
        body = self._scenery(box) + self._subject(box) + self._before() + self._border() + self._lettering()
        body = body.format_map(self.tones)
        defs = f"<defs>{''.join(self.defs)}</defs>" if self.defs else ""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.w} {self.h}" '
            f'width="{self.w * scale:.4g}" height="{self.h * scale:.4g}" role="img">'
            f"<title>{self._title()}</title>{defs}{body}</svg>"
        )

    def _title(self) -> str:
        if not self.subject:
            return "A study"
        return load_lexicon("svg_drawing").values[self.subject].say.capitalize()

    # ---- the subject

    def _place(self) -> Box:
        """The box of the subject, details included, on the canvas."""
        left, top, right, bottom = self._figure_box()
        wide, high = right - left, bottom - top
        reach = next((REACH[value] for value in self.chosen.get("composition", ()) if value in REACH), PLAIN_REACH)
        middle = SIDES.get(self.on_side, 0.5)
        widest = min(reach, 2 * (min(middle, 1 - middle) - 0.03))
        scale = min(reach * self.h / high, widest * self.w / wide, (MOST_AREA * self.w * self.h / wide / high) ** 0.5)
        w, h = wide * scale, high * scale
        x = middle * self.w
        foot = self._foot(h)
        return (x - w / 2, foot - h, x + w / 2, foot)

    def _foot(self, height: float) -> float:
        """Where the subject's foot stands: lower the taller it is, so that it never stands on its horizon."""
        lift = 0.075 * self.h if self._has_words_below() and "close-up" not in self.values else 0
        if self.figure.on == "air":
            return min(0.47 * self.h + height / 2, 0.9 * self.h - lift)
        low = WATERLINE if self.afloat else GROUND
        if not self.is_scene:
            return min(self.h * 0.52 + height / 2, 0.9 * self.h) - lift
        return max(low * self.h, min(0.5 * self.h + height / 2, 0.93 * self.h)) - lift

    def _has_words_below(self) -> bool:
        return bool(self.chosen.get("lettering")) and "words-on-top" not in self.values

    def _figure_box(self) -> Box:
        return _box_with(self.subject or "study", tuple(sorted(value for value in self.values if value in DETAILS)))

    def _subject(self, box: Box) -> str:
        left, top, right, _ = self._figure_box()
        scale = (box[2] - box[0]) / (right - left)
        transform = f"translate({box[0] - left * scale:.4g} {box[1] - top * scale:.4g})scale({scale:.4g})"
        body = self.figure.markup
        if windows := self.figure.windows:
            pane = f'<path fill="{{y}}" d="{windows}"/>'
            body += f'<g id="lit-windows">{pane}</g>' if "lit-windows" in self.values else pane
        elif "lit-windows" in self.values:
            body += '<g id="lit-windows"/>'
        for value in self.chosen.get("subject", ()):
            if value in DETAILS:
                body += f'<g id="{value}" transform="{_anchored(self.subject or "study", value)}">{markup(DETAILS[value])}</g>'
        name = self.subject or "study"
        return f'<g id="{name}" transform="{transform}"{self._line()}{self._wash()}>{self._surface(body)}</g>'

    def _line(self) -> str:
        value = next((value for value in self.values if value in ("fine-lines", "bold-lines", "white-lines")), "")
        if not value:
            return ""
        paint = "{w}" if value == "white-lines" else "{k}"
        left, top, right, bottom = self._figure_box()
        weight = {"fine-lines": 0.011, "bold-lines": 0.028, "white-lines": 0.017}[value] * max(right - left, bottom - top)
        return f' stroke="{paint}" stroke-width="{weight:.3g}" stroke-linejoin="round"'

    def _wash(self) -> str:
        return ' fill-opacity=".72"' if "washes" in self.values else ""

    def _surface(self, body: str) -> str:
        """The subject's main paint as shading or print."""
        value = next((value for value in self.values if value in _SURFACES), "")
        if not value:
            return body
        m, d = self.tones["m"], self.tones["d"]
        marks = mix(m, self.tones["w"], 0.38)
        self.defs.append(
            _SURFACES[value].format(m=m, d=mix(m, self.tones["k"], 0.38), l=mix(m, self.tones["w"], 0.42), k=marks)
        )
        return body.replace('fill="{m}"', 'fill="url(#f)"')

    # ---- what is around it

    def _scenery(self, box: Box) -> str:
        parts = [self._sky(), *self._above(box)]
        if self.setting:
            parts.append(f'<g id="{self.setting}">{_layer(self.setting, self.land)}</g>')
        elif self.is_scene:
            parts.append(f'<g id="ground">{bare_ground(self.land)}</g>')
        else:
            parts.append(self._patch(box))
        for value in self.chosen.get("setting", ()):
            if value in BEHIND:
                parts.append(f'<g id="{value}">{_layer(value, self.land)}</g>'.replace("{y}", self.lamp))
        parts += self._company(box)
        parts.append(self._shadow(box))
        return "".join(parts)

    def _sky(self) -> str:
        """The background: paper, or a sky that fades toward the horizon."""
        if self.paper or not self.is_scene:
            paint = {"white-paper": "#ffffff", "tinted-paper": "{tint}", "dark-paper": "{night}"}.get(self.paper)
            return f'<rect width="{self.w}" height="{self.h}" fill="{paint}"/>' if paint else ""
        top, low = self.tones["top"], self.tones["low"]
        if top == low:
            return f'<rect width="{self.w}" height="{self.h}" fill="{top}"/>'
        self.defs.append(
            f'<linearGradient id="b" x2="0" y2="1"><stop stop-color="{top}"/>'
            f'<stop offset="{HORIZON}" stop-color="{low}"/></linearGradient>'
        )
        return f'<rect width="{self.w}" height="{self.h}" fill="url(#b)"/>'

    def _above(self, box: Box) -> list[str]:
        """Sun, moon and weather, on the side that the subject leaves free."""
        side = 0.78 if (box[0] + box[2]) / 2 <= 0.55 * self.w else 0.22
        radius, land = 0.1, self.land
        parts = []
        for value in self.chosen.get("light", ()):
            match value:
                case "sunny":
                    shape = sun(land, side, 0.2, 0.085, rays=12)
                case "sunrise":
                    shape = sun(land, side, HORIZON - 0.06, 0.15, rays=16)
                case "sunset":
                    shape = sun(land, 0.5 + 0.6 * (side - 0.5), HORIZON - 0.14, 0.24)
                case "cloudy" | "rainy":
                    shape = self._clouds(side) + (_layer("rain", land) if value == "rainy" else "")
                case "crescent-moon" | "full-moon":
                    size = 2 * radius * self.short
                    x, y = side * self.w - size / 2, 0.2 * self.h - size / 2
                    shape = (
                        f'<g transform="translate({x:.4g} {y:.4g})scale({size / 100:.3g})">{markup(COMPANY[value])}</g>'
                    )
                case _:
                    shape = _layer(value, land)
            parts.append(f'<g id="{value}">{shape}</g>')
        return parts

    def _clouds(self, side: float) -> str:
        cloud = markup(COMPANY["cloud"])
        spots = ((side, 0.17, 0.3), (1 - side, 0.13, 0.24), (0.52, 0.3, 0.18))
        return "".join(
            f'<g transform="translate({x * self.w - 50 * size * self.short / 100:.4g} {y * self.h - 56 * size * self.short / 100:.4g})'
            f'scale({size * self.short / 100:.3g})">{cloud}</g>'
            for x, y, size in spots
        )

    def _patch(self, box: Box) -> str:
        """A patch of ground for a subject that stands by itself."""
        role = "u" if self.afloat else "f"
        x, w = (box[0] + box[2]) / 2, min(0.66 * (box[2] - box[0]), 0.47 * self.w)
        y = min(box[3] + (0.0 if self.figure.on != "air" else 0.06) * self.h, 0.94 * self.h)
        back = f'<ellipse fill="{{q}}" cx="{x:.4g}" cy="{y - 0.02 * self.h:.4g}" rx="{0.8 * w:.4g}" ry="{0.075 * self.h:.3g}"/>'
        front = f'<ellipse fill="{{{role}}}" cx="{x:.4g}" cy="{y:.4g}" rx="{w:.4g}" ry="{0.06 * self.h:.3g}"/>'
        return f'<g id="ground">{back}{front}</g>'

    def _shadow(self, box: Box) -> str:
        if self.figure.on != "ground":
            return ""
        x, w = (box[0] + box[2]) / 2, 0.46 * (box[2] - box[0])
        slide = {"low": 0.2, "day": 0.08}.get(self.hour, 0.0) * w
        return f'<g id="shadow"><ellipse fill="{{k}}" fill-opacity=".2" cx="{x - slide:.4g}" cy="{box[3]:.4g}" rx="{w + slide:.4g}" ry="{0.016 * self.h:.3g}"/></g>'

    def _company(self, box: Box) -> list[str]:
        """Small ones at the subject's foot, what flies on the side that sun and moon leave free."""
        parts = []
        middle = (box[0] + box[2]) / 2
        free = 0.2 if middle <= 0.55 * self.w else 0.8
        tops = iter(((free, 0.2), (1 - free, 0.34)))
        for value in self.chosen.get("company", ()):
            if value in ("one-young", "two-young"):
                parts.append(self._young(value, box))
                continue
            x, y = next(tops)
            size = 0.25 * self.short
            at = f"translate({x * self.w - size / 2:.4g} {y * self.h - size / 2:.4g})scale({size / 100:.3g})"
            parts.append(f'<g id="{value}" transform="{at}">{markup(COMPANY[value])}</g>')
        return parts

    def _young(self, value: str, box: Box) -> str:
        left, top, right, bottom = self.figure.box
        scale = YOUNG * (box[2] - box[0]) / (right - left)
        w, h = (right - left) * scale, (bottom - top) * scale
        right_free, left_free = self.w - box[2], box[0]
        spots = [box[2] - 0.1 * w] if right_free >= left_free else [box[0] - 0.9 * w]
        if value == "two-young":
            spots.append(box[0] - 0.9 * w if right_free >= left_free else box[2] - 0.1 * w)
        copies = []
        for at in spots:
            x = min(max(at, 0.02 * self.w), 0.98 * self.w - w)
            y = box[3] - h + (0.03 * self.h if self.figure.on != "air" else -0.1 * self.h)
            body = self.figure.markup + (
                f'<path fill="{{y}}" d="{self.figure.windows}"/>' if self.figure.windows else ""
            )
            copies.append(
                f'<g transform="translate({x - left * scale:.4g} {y - top * scale:.4g})scale({scale:.3g})">{body}</g>'
            )
        return f'<g id="{value}">{"".join(copies)}</g>'

    def _before(self) -> str:
        """What stands nearer than the subject, and the water around it."""
        parts = [
            f'<g id="{value}">{_layer(value, self.land)}</g>'
            for value in self.chosen.get("setting", ())
            if value in BEFORE
        ]
        return "".join(parts)

    # ---- border and lettering

    def _border(self) -> str:
        value = next(iter(self.chosen.get("border", ())), "")
        if not value:
            return ""
        s = self.short
        ink = "{w}" if self.hour == "night" or self.paper == "dark-paper" else "{k}"
        thin = f'fill="none" stroke="{ink}" stroke-width="{0.009 * s:.3g}"'
        match value:
            case "thin-border":
                return self._rect(0.035 * s, thin)
            case "double-border":
                return self._rect(0.03 * s, f'fill="none" stroke="{ink}" stroke-width="{0.014 * s:.3g}"') + self._rect(
                    0.055 * s, thin
                )
            case "dotted-border":
                return self._rect(
                    0.035 * s,
                    f'fill="none" stroke="{ink}" stroke-width="{0.018 * s:.3g}" stroke-linecap="round" '
                    f'stroke-dasharray=".01 {0.044 * s:.3g}"',
                )
        paint = "{p}" if value == "white-mat" else "{k}"
        return self._rect(0.028 * s, f'fill="none" stroke="{paint}" stroke-width="{0.06 * s:.3g}"')

    def _rect(self, inset: float, style: str) -> str:
        size = f'width="{self.w - 2 * inset:.4g}" height="{self.h - 2 * inset:.4g}"'
        return f'<rect x="{inset:.3g}" y="{inset:.3g}" {size} {style}/>'

    def _lettering(self) -> str:
        values = self.chosen.get("lettering", ())
        if not values:
            return ""
        name = f"The {self.subject}".replace("-", " ") if self.subject else "Untitled"
        greeting = next((WORDS[value] for value in values if value in WORDS), "")
        words = greeting or (name if "title" in values else "No. 7")
        family = next((TYPEFACES[value] for value in values if value in TYPEFACES), "")
        face = f' font-family="{family}"' if family else ""
        size = min(0.115 * self.short, 0.8 * self.w / (0.6 * len(words)))
        inset = 0.1 if self.chosen.get("border") else 0.06
        y = inset * self.short + 0.78 * size if "words-on-top" in self.values else self.h - inset * self.short
        dark = (
            self.hour == "night" or self.paper == "dark-paper" or (self.is_scene and "words-on-top" not in self.values)
        )
        ink, halo = ("{w}", "{k}") if dark else ("{k}", "{w}")
        return (
            f'<text x="{self.w / 2:g}" y="{y:.4g}" text-anchor="middle"{face} font-size="{size:.3g}" font-weight="700" '
            f'fill="{ink}" stroke="{halo}" stroke-width="{0.2 * size:.2g}" stroke-linejoin="round" '
            f'paint-order="stroke">{words}</text>'
        )


_SURFACES = {
    "soft-shading": '<linearGradient id="f" x2="0" y2="1"><stop stop-color="{l}"/><stop offset=".5" stop-color="{m}"/>'
    '<stop offset="1" stop-color="{d}"/></linearGradient>',
    "round-shading": '<radialGradient id="f" cx=".4" cy=".35" r=".75"><stop stop-color="{l}"/><stop offset=".5" stop-color="{m}"/>'
    '<stop offset="1" stop-color="{d}"/></radialGradient>',
    "halftone": '<pattern id="f" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(30)">'
    '<rect width="6" height="6" fill="{m}"/><circle cx="3" cy="3" r="1.5" fill="{k}"/></pattern>',
    "hatching": '<pattern id="f" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect width="5" height="5" fill="{m}"/><rect width="5" height="1.7" fill="{k}"/></pattern>',
}


@lru_cache(maxsize=64)
def _land(width: int, height: int, afloat: bool) -> Land:
    return Land(width, height, afloat)


@lru_cache(maxsize=1024)
def _layer(name: str, land: Land) -> str:
    return (SETTINGS.get(name) or BEHIND.get(name) or BEFORE.get(name) or SKY[name])(land)


_ANCHORS = {
    "scarf": ("neck", 1.0),
    "party-hat": ("head", 1.0),
    "flower-crown": ("head", 1.15),
    "flag": ("top", 1.0),
    "pennants": ("top", 1.0),
    "roses": ("foot", 1.0),
    "bee": ("rest", 0.9),
    "ladybird": ("rest", 0.9),
}


@lru_cache(maxsize=256)
def _anchored(subject: str, detail: str) -> str:
    """The transformation that puts a detail onto a figure; where the figure has no such place, at its top."""
    name, size = _ANCHORS[detail]
    figure = SUBJECTS[subject]
    x, y, *reach = figure.at.get(name) or figure.at.get("top") or [50, 10]
    scale = size * reach[0] / 50 if reach and reach[0] else size if not reach else 0.4
    return f"translate({x} {y})scale({scale:.3g})"


@lru_cache(maxsize=1024)
def _box_with(subject: str, details: tuple[str, ...]) -> Box:
    """The box around a subject and what it wears or carries, in the subject's own units."""
    from discover_lib.engines.miniature.svg.geometry import matrix_of, moved

    figure = SUBJECTS[subject]
    boxes = [moved(box_of(DETAILS[detail]), matrix_of(_anchored(subject, detail))) for detail in details]
    return union([figure.box, *boxes])
