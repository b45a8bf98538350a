"""The paints of drawings: colors of SVG, the palettes that a drawing is painted from, and the palette it is read as.

A palette is twelve paints that match.  `tones` mixes from them the paint of every role that figures and landscapes
leave open, for the hour of the day.  `palette_of` reads the palette of a picture from area, chroma and hue.
"""

from __future__ import annotations

import colorsys
import math
import re
from collections import namedtuple
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from tinycss2.color4 import parse_color

Rgb = tuple[float, float, float]  # each 0 to 1

_LONGEST = 100  # characters of a color
_HEX = re.compile(r"#[0-9a-f]{6}", re.IGNORECASE)


@lru_cache(maxsize=4096)
def rgb(paint: str) -> Rgb | None:
    """The color of a paint, its opacity left out; None for what is no color, a reference or wholly transparent.

    All colors of CSS level 4 in sRGB are known.  What another screen or theme decides has no color to speak of: those
    named for the system ("Canvas"), `currentColor`, and those of device-independent spaces ("oklch").
    """
    colour = _parsed(paint)
    return colour[:3] if colour and colour[3] else None


@lru_cache(maxsize=4096)
def opacity(paint: str) -> float:
    """How opaque the color of a paint says to be, 0 to 1; 1 for what is no color."""
    colour = _parsed(paint)
    return colour[3] if colour else 1.0


@lru_cache(maxsize=8192)
def _parsed(paint: str) -> tuple[float, float, float, float] | None:
    if _HEX.fullmatch(paint):  # nearly all there are: spares the parser
        return (int(paint[1:3], 16) / 255, int(paint[3:5], 16) / 255, int(paint[5:7], 16) / 255, 1.0)
    if len(paint) > _LONGEST or "url(" in paint:
        return None
    try:
        colour = parse_color(paint)
        if colour is None or isinstance(colour, str):
            return None
        red, green, blue, alpha = (max(0.0, min(part, 1.0)) for part in colour.to("srgb"))  # in this order nan is 0
    except NotImplementedError:  # spaces that tinycss2 reads and does not convert
        return None
    return red, green, blue, alpha


@lru_cache(maxsize=4096)
def mix(first: str, second: str, share: float) -> str:
    """`first` with `share` of `second` in it, as #rrggbb."""
    one, two = rgb(first), rgb(second)
    if one is None or two is None:
        raise ValueError(f"cannot mix {first!r} and {second!r}: both must be plain colours")
    return "#" + "".join(f"{round((a + (b - a) * share) * 255):02x}" for a, b in zip(one, two, strict=True))


def lightness(colour: Rgb) -> float:
    """How light a color looks, 0 to 1 (luma)."""
    return 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2]


Hour = Literal["", "day", "low", "night"]


# Paints by their part: the sky by day, the glow over the horizon and the dusk above it while the sun is low, the night,
# far, middle and near ground, water, the subject, an accent, the palest paint and ink.
Palette = namedtuple("Palette", "sky glow dusk night far mid near water main accent pale ink")


def _palette(paints: str) -> Palette:
    return Palette(*(f"#{paint}" for paint in paints.split()))


# In the order of `Palette`.
PALETTES: dict[str, Palette] = {
    "autumn": _palette("fbe4cd f5ac62 c05c38 3c2318 e8b78a cf8440 a05a2c c9946a c4481c e99a3a fff5e8 38211a"),
    "coral": _palette("fde2da fba895 b9536f 4a1832 f3b5a9 e38a84 b0506a dd9a97 dd3f46 ffb59a fff3ee 45182b"),
    "honey": _palette("fff1c2 ffd35c e2a02c 46330f f4d87f e3b83f b8921f dcc67a ec9a12 fbd73c fffbea 433012"),
    "ocean": _palette("d8f0ee a9dcd4 2f7e92 0b2c42 93cfd0 4fa5b0 21707f 358fa3 0f4c6b 57c7c0 f1fbf9 0b2a3a"),
    "winter": _palette("e4eefa c6d9f2 7d99c9 1a2a50 bccfe9 92aed8 6485b8 86a8d6 35588f 8db4ea fafcff 1d2c4d"),
    "forest": _palette("ddeec8 cde39c 5c8f74 0f3028 adcba0 74a86d 3d7548 74a98f 1d5b3a 9bc64a f3fae4 132f26"),
    "heather": _palette("ebe4f8 dcc9f1 8a70b8 231946 c6b6e6 a08ad0 6e5aa4 a296d8 523a94 b983d6 faf6ff 281c4c"),
    "sepia": _palette("efe8dc dcd2c1 a4957f 342c24 d6cab6 b6a68c 8a7b66 c6b9a3 5c4c3d a28d70 faf7f0 2d261f"),
    "black-and-white": _palette("f3f3f2 dededd 929294 1c1c1f d3d3d2 ababab 7a7a7c c0c0c1 2e2e31 8c8c8e ffffff 151517"),
    "primary": _palette("ffd94f ffb52e ee5142 7a1533 7fb4ec 3f86d6 2358b0 3a83d8 e02f3a ffffff fffdf4 14254f"),
    "candy": _palette("ffc9dd ffd9a8 f78fb8 7d2458 c4ecdf 96dfc6 5fc4a8 a0e3dc f4568f ffe273 fffafc 24505a"),
}
# What nobody has chosen colors for: tints too faint to count as colors.
UNCOLOURED = _palette("e8ece8 e6e0d6 b0aebb 404348 cdd3cb b1b8ac 92998b b9c4c9 776a63 b9a996 f8f6f1 3a3d44")

SPOTS = {
    "warm-with-teal": "#128a8c",
    "warm-with-blue": "#2456a6",
    "cool-with-red": "#d93a2f",
    "cool-with-yellow": "#f2b51c",
    "quiet-with-red": "#c8372d",
    "quiet-with-gold": "#dba11c",
}
SPOTTED = {
    "warm": "autumn",
    "cool": "ocean",
    "quiet": "sepia",
}  # what a spot stands out from where nothing else is said


@lru_cache(maxsize=512)
def tones(palette: str, hour: Hour, spot: str) -> Mapping[str, str]:
    """Role → paint.

    Figures: m main, d deeper, l lighter, a accent, e deeper accent, w palest, k ink, g glass, y lamp.  Landscapes: f
    far, i middle, n near, u water, s sand, t trees, o roofs, p palest, h the palette's own main paint, q other ground.
    Above and behind: top and low of the sky, z sun or moon, c clouds, tint and night of paper.
    """
    own = PALETTES.get(palette or SPOTTED.get(spot.partition("-")[0], ""), UNCOLOURED)
    main = SPOTS.get(spot, own.main)
    layers = {
        "f": own.far,
        "i": own.mid,
        "n": own.near,
        "u": own.water,
        "s": mix(own.glow, own.far, 0.5),
        "t": mix(own.near, own.ink, 0.42),
        "o": mix(own.main, own.mid, 0.3),
        "p": own.pale,
    }
    figure = {
        "m": main,
        "d": mix(main, own.ink, 0.34),
        "l": mix(main, own.pale, 0.52),
        "a": own.accent,
        "e": mix(own.accent, own.ink, 0.3),
        "w": own.pale,
        "k": own.ink,
        "g": mix(own.night, own.far, 0.45),
        "h": own.main,
        "q": own.sky if palette in ("primary", "candy") else mix(own.far, own.mid, 0.5),
        "night": own.night,
        "tint": own.sky,
        "y": mix(own.pale, own.accent, 0.45),
    }
    if hour == "night":
        layers = {role: mix(paint, own.ink, 0.55 if role != "p" else 0.25) for role, paint in layers.items()}
        figure |= {role: mix(figure[role], own.pale, 0.16) for role in "mdlae"}
    elif hour == "low":
        layers = {role: mix(paint, own.dusk, 0.24) for role, paint in layers.items()}
    haze = mix(own.pale, own.sky, 0.55)
    top, low, sun, clouds = {
        "night": (own.night, mix(own.night, own.dusk, 0.4), own.pale, mix(own.night, own.dusk, 0.7)),
        "low": (own.dusk, own.glow, mix(own.pale, own.glow, 0.25), mix(own.dusk, own.glow, 0.55)),
        "day": (own.sky, mix(own.sky, own.pale, 0.7), mix(own.accent, own.glow, 0.35), own.pale),
        "": (haze, haze, own.glow, mix(own.pale, own.sky, 0.5)),
    }[hour]
    return layers | figure | {"top": top, "low": low, "z": sun, "c": clouds}


PAPER = 0.955  # lightness from which a paint counts as paper, and for nothing
GREY, TINTED, HUSHED = 0.014, 0.062, 0.152  # mean chroma: below, no tint; a tint that claims nothing; a hushed one
MIXED = 0.02  # share of the hues on the other side from which tones are set against each other
PINK, MINT = (45, 105), (150, 195)  # mean hues of the two sides of candy; those of pink a quarter turn further
SKY_BLUE = (203, 245)  # mean hue of the cool side of the primary colors
STRONG = 0.36  # chroma of a paint that stands out
FEWEST = 3  # paints that make a palette
SIDES = {
    "autumn": "warm", "coral": "warm", "honey": "warm", "ocean": "cool", "winter": "cool", "forest": "cool",
    "heather": "cool", "sepia": "quiet", "black-and-white": "quiet", "primary": "bright", "candy": "bright",
}  # fmt: skip
SPOT = 0.08  # share of the figure's area, or of its hues, that a spot has at least


@dataclass(slots=True)
class Tints:
    """How much of which hue a picture has: sums over its paints, weighted by area and chroma."""

    area: float = 0.0
    chroma: float = 0.0
    warm: complex = 0j  # hues as directions
    cool: complex = 0j
    warmth: float = 0.0  # the weight of the warm ones
    strong: float = 0.0  # area of paints that stand out
    strong_hues: complex = 0j
    paints: int = 0  # how many

    def add(self, colour: Rgb, area: float) -> None:
        if (measured := _measured(colour)) is None:
            return
        chroma, toward, is_warm = measured
        self.paints += 1
        self.area += area
        self.chroma += area * chroma
        if is_warm:
            self.warm += area * toward
            self.warmth += area * chroma
        else:
            self.cool += area * toward
        if chroma >= STRONG:
            self.strong += area
            self.strong_hues += area * toward


@lru_cache(maxsize=4096)
def _measured(colour: Rgb) -> tuple[float, complex, bool] | None:
    """(chroma, the hue's direction as long as the chroma, whether it is warm); None for paper."""
    turn, light, _ = colorsys.rgb_to_hls(*colour)
    hue, chroma = turn * 360, max(colour) - min(colour)
    turn = math.radians(hue)
    return (
        None if light >= PAPER else (chroma, chroma * complex(math.cos(turn), math.sin(turn)), hue < 75 or hue >= 318)
    )


def _degrees(direction: complex) -> float:
    return math.degrees(math.atan2(direction.imag, direction.real)) % 360


def palette_of(tints: Tints, paints: int) -> tuple[str, str] | None:
    """(value of the dimension `colours`, why); None where nothing can be said, its side alone of a few paints.

    Args:
        tints: of what the palette is seen by: the landscape, where there is one.
        paints: of the whole picture.
    """
    found = _palette_of(tints) if tints.area else None
    if found is None or paints >= FEWEST:
        return found
    return SIDES.get(found[0], found[0]), found[1]


def _palette_of(tints: Tints) -> tuple[str, str] | None:
    mean = tints.chroma / tints.area
    if mean < GREY:
        return "black-and-white", "its paints are black, white and greys"
    if mean < TINTED:
        return None
    warm = tints.warmth / tints.chroma
    hue = _degrees(tints.warm + tints.cool)
    reason = f"{warm:.0%} of its hues are warm, their mean lies at {hue:.0f}°"
    if MIXED < warm < 1 - MIXED:
        if mean < HUSHED:
            return None
        warm_hue, cool_hue = _degrees(tints.warm), _degrees(tints.cool)
        if PINK[0] < (warm_hue + 90) % 360 < PINK[1] and MINT[0] < cool_hue < MINT[1]:
            return "candy", reason
        return ("primary" if SKY_BLUE[0] < cool_hue < SKY_BLUE[1] else "bright"), reason
    if warm < 0.5:
        return _named(
            hue, ((80, 168, "forest"), (168, 207, "ocean"), (207, 236, "winter"), (236, 300, "heather"))
        ) or "cool", reason
    if mean < HUSHED and 22 < hue < 60:
        return "sepia", f"{reason}, and they are faint"
    return _named((hue + 90) % 360 - 90, ((-45, 17, "coral"), (17, 36, "autumn"), (36, 60, "honey"))) or "warm", reason


def _named(hue: float, rows: tuple[tuple[float, float, str], ...]) -> str | None:
    return next((name for first, last, name in rows if first <= hue < last), None)


def spot_of(palette: str, own: Tints) -> tuple[str, str] | None:
    """The spot of another paint that the figure is in a picture of that palette, if it is one."""
    if not own.area:
        return None
    side, warm = SIDES.get(palette, palette), own.warmth / (own.chroma or 1.0)
    share, toward = {
        "warm": (1 - warm, own.cool),
        "cool": (warm, own.warm),
        "quiet": (own.strong / own.area, own.strong_hues),
    }.get(side, (0.0, 0j))
    if share <= SPOT:
        return None
    hue = _degrees(toward)
    if side == "warm":
        name = "teal" if hue < 197 else "blue"
    else:
        name = ("yellow" if side == "cool" else "gold") if 22 < hue < 180 else "red"
    return f"{side}-with-{name}", f"the figure's hue of {hue:.0f}° stands out"
