"""Colours of SVG: reading and mixing them."""

from __future__ import annotations

import re
from functools import lru_cache

from tinycss2.color4 import parse_color

Rgb = tuple[float, float, float]  # each 0 to 1

_LONGEST = 100  # characters of a colour
_HEX = re.compile(r"#[0-9a-f]{6}", re.IGNORECASE)


@lru_cache(maxsize=4096)
def rgb(paint: str) -> Rgb | None:
    """The colour of a paint, its opacity left out; None for what is no colour, a reference or wholly transparent.

    All colours of CSS level 4 in sRGB are known.  What another screen or theme decides has no colour to speak of: those
    named for the system ("Canvas"), `currentColor`, and those of device-independent spaces ("oklch").
    """
    colour = _parsed(paint)
    return colour[:3] if colour and colour[3] else None


@lru_cache(maxsize=4096)
def opacity(paint: str) -> float:
    """How opaque the colour of a paint says to be, 0 to 1; 1 for what is no colour."""
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
    """How light a colour looks, 0 to 1 (luma)."""
    return 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2]
