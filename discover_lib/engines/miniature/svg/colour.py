"""Colours of SVG: reading them, mixing them, and the hue family they belong to."""

from __future__ import annotations

import colorsys
import re
from functools import lru_cache

from tinycss2.color4 import parse_color

Rgb = tuple[float, float, float]  # each 0 to 1

HUED = 0.18  # chroma from which a colour has a hue to speak of

_LONGEST = 100  # characters of a colour
_HEX = re.compile(r"#[0-9a-f]{6}", re.IGNORECASE)


@lru_cache(maxsize=4096)
def rgb(paint: str) -> Rgb | None:
    """The colour of a paint, its opacity left out; None for what is no colour, a reference or wholly transparent.

    All colours of CSS level 4 in sRGB are known.  What another screen or theme decides has no colour to speak of: those
    named for the system ("Canvas"), `currentColor`, and those of device-independent spaces ("oklch").
    """
    if _HEX.fullmatch(paint):  # nearly all there are: spares the parser
        return (int(paint[1:3], 16) / 255, int(paint[3:5], 16) / 255, int(paint[5:7], 16) / 255)
    colour = _parsed(paint)
    return colour[:3] if colour and colour[3] else None


@lru_cache(maxsize=4096)
def opacity(paint: str) -> float:
    """How opaque the colour of a paint says to be, 0 to 1; 1 for what is no colour."""
    colour = None if _HEX.fullmatch(paint) else _parsed(paint)
    return colour[3] if colour else 1.0


@lru_cache(maxsize=8192)
def _parsed(paint: str) -> tuple[float, float, float, float] | None:
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
def hsl(colour: Rgb) -> tuple[float, float, float]:
    """Hue in degrees, saturation and lightness 0 to 1."""
    hue, lightness, saturation = colorsys.rgb_to_hls(*colour)
    return (hue * 360, saturation, lightness)


@lru_cache(maxsize=4096)
def mix(first: str, second: str, share: float) -> str:
    """`first` with `share` of `second` in it, as #rrggbb."""
    one, two = rgb(first), rgb(second)
    if one is None or two is None:
        raise ValueError(f"cannot mix {first!r} and {second!r}: both must be plain colours")
    return as_hex(tuple(a + (b - a) * share for a, b in zip(one, two, strict=True)))  # type: ignore[arg-type]


def as_hex(colour: Rgb) -> str:
    return "#" + "".join(f"{round(part * 255):02x}" for part in colour)


def lightness(colour: Rgb) -> float:
    """How light a colour looks, 0 to 1 (luma)."""
    return 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2]


@lru_cache(maxsize=4096)
def family(colour: Rgb) -> tuple[str, str] | None:
    """(value of the dimension `colour`, how it is called), as specific as can be said; None for a middling grey."""
    hue, saturation, light = hsl(colour)
    chroma = max(colour) - min(colour)
    if light < 0.1 and chroma < 0.08:
        return "black", "a black"
    if chroma < 0.09 or saturation < 0.12:
        return _grey(hue, light)
    if 15 <= hue < 48 and light >= 0.85:
        return "ivory", "an ivory"
    if 14 <= hue < 48 and (saturation < 0.62 or light < 0.3) and light < 0.78:
        return _brown(light)
    return _hue_family(hue, light)


def _grey(hue: float, light: float) -> tuple[str, str] | None:
    if light < 0.1:
        return "black", "a black"
    if light < 0.34:
        return "charcoal", "a charcoal grey"
    if light < 0.74:
        return None
    if light < 0.92:
        return "silver", "a silver grey"
    return "pale-neutral", "a near-white"


def _brown(light: float) -> tuple[str, str]:
    if light < 0.36:
        return "chocolate", "a dark brown"
    if light > 0.54:
        return "sand", "a light brown"
    return "brown", "a brown"


# (hue from, hue to, family, boundary below which the deep leaf is certain, deep leaf, boundary above which the light
# leaf is certain, light leaf); between the boundaries only the family is claimed.  Hues in degrees, lightness 0 to 1.
_HUES = (
    (14, 42, "orange", 0.62, "pumpkin", 0.68, "apricot"),
    (42, 70, "yellow", 0.49, "gold", 0.55, "lemon"),
    (70, 168, "green", 0.34, "forest-green", 0.6, "mint"),
    (168, 190, "teal", 0.26, "deep-teal", 0.58, "aqua"),
    (190, 252, "blue", 0.38, "navy", 0.58, "sky-blue"),
    (252, 318, "purple", 0.4, "plum", 0.62, "lavender"),
    (318, 345, "pink", 0.62, "hot-pink", 0.76, "blush"),
    (345, 374, "red", 0.48, "crimson", 0.58, "coral"),
)


def _hue_family(hue: float, light: float) -> tuple[str, str]:
    turned = hue + 360 if hue < 14 else hue
    if 345 <= turned < 368 and light >= 0.79:  # what is called pink reaches further toward red when it is pale
        turned = 344
    for first, last, name, deep_below, deep, light_above, pale in _HUES:
        if first <= turned < last:
            leaf = deep if light < deep_below else pale if light > light_above else name
            if leaf == "lemon" and hue < 50:  # egg yolk rather than lemon
                leaf = name
            article = "an" if name == "orange" else "a"
            return leaf, f"{article} {name}" if leaf == name else f"{article} {name} ({leaf.replace('-', ' ')})"
    raise AssertionError(f"the hue families leave out {hue}")
