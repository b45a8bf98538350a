"""Which palette a picture is painted from, by the area, the chroma and the hue of its paints."""

from __future__ import annotations

import colorsys
import math
from dataclasses import dataclass
from functools import lru_cache

from discover_lib.engines.miniature.svg.colour import Rgb

PAPER = 0.955  # lightness from which a paint counts as paper, and for nothing
GREY, TINTED, HUSHED = 0.014, 0.062, 0.152  # mean chroma: below, no tint; a tint that claims nothing; a hushed one
MIXED = 0.02  # share of the hues on the other side from which tones are set against each other
PINK, MINT = (45, 105), (150, 195)  # mean hues of the two sides of candy; those of pink a quarter turn further
SKY_BLUE = (203, 245)  # mean hue of the cool side of the primary colours
STRONG = 0.36  # chroma of a paint that stands out
FEWEST = 3  # paints that make a palette
SIDES = {
    "autumn": "warm", "coral": "warm", "honey": "warm", "ocean": "cool", "winter": "cool", "forest": "cool",
    "heather": "cool", "sepia": "quiet", "black-and-white": "quiet", "primary": "bright", "candy": "bright",
}  # fmt: skip
SPOT = 0.08  # share of the figure's area, or of its hues, that a spot has at least


@dataclass
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
