"""Landscapes: what lies far off, in the middle and near, and what is added to them.

Each function draws one layer or thing for a canvas of given width and height as markup whose paints stand open as
roles (`{f}`; see `palettes.tones`).  The horizon lies at `HORIZON`, whatever stands on the ground at `GROUND`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

HORIZON = 0.62  # of the height
GROUND = 0.87  # where the subject stands
WATERLINE = 0.82

Layer = Callable[["Land"], str]


class Land:
    """A canvas to draw a landscape on; coordinates are shares of its width and height."""

    def __init__(self, width: float, height: float, afloat: bool) -> None:
        self.w, self.h, self.afloat = width, height, afloat
        self.unit = min(width, height)

    def path(self, role: str, d: str, more: str = "") -> str:
        """A filled path whose numbers, pair by pair, are shares of the canvas."""
        return f'<path fill="{{{role}}}" d="{_scaled(d, self.w, self.h)}"{more}/>'

    def place(self, role: str, d: str, x: float, y: float, size: float, flip: bool = False) -> str:
        """A path of its own units, put at a place of the canvas, `size` in shares of its short side for one unit."""
        return f'<path fill="{{{role}}}" d="{_at(d, x * self.w, y * self.h, size * self.unit, flip)}"/>'

    def several(self, role: str, d: str, spots: Sequence[tuple[float, float, float]]) -> str:
        """The same shape at several places, as one path."""
        parts = [_at(d, x * self.w, y * self.h, size * self.unit, False) for x, y, size in spots]
        return f'<path fill="{{{role}}}" d="{"".join(parts)}"/>'


def _tokens(d: str) -> list[str]:
    return d.replace("Z", " Z ").replace("C", " C ").replace("L", " L ").replace("M", " M ").replace("Q", " Q ").split()


@lru_cache(maxsize=4096)
def _scaled(d: str, width: float, height: float) -> str:
    return _mapped(d, width, height, 0.0, 0.0)


@lru_cache(maxsize=4096)
def _at(d: str, x: float, y: float, size: float, flip: bool) -> str:
    return _mapped(d, -size if flip else size, size, x, y)


def _mapped(d: str, across: float, down: float, x: float, y: float) -> str:
    """Path data of absolute M, L, C, Q and Z with every point scaled and shifted."""
    parts: list[str] = []
    odd = False
    for token in _tokens(d):
        if token.isalpha():
            parts.append(token)
            odd = False
        else:
            value = float(token) * (down if odd else across) + (y if odd else x)
            parts.append(f"{value:.1f}".removesuffix(".0"))
            odd = not odd
    return " ".join(parts)


# ---- shapes in units of their own

FIR = "M0 -1L.22 -.66L.12 -.66L.32 -.36L.2 -.36L.42 0L-.42 0L-.2 -.36L-.32 -.36L-.12 -.66L-.22 -.66Z"
ROUND_TREE = "M-.05 0L-.04 -.4C-.4 -.36 -.46 -.62 -.3 -.72C-.34 -1 -.04 -1.08 .06 -.92C.26 -1.04 .46 -.82 .36 -.66C.5 -.5 .34 -.32 .04 -.4L.05 0Z"
SAIL = "M-.02 -1L-.02 -.16L-.44 -.16C-.36 -.5 -.2 -.8 -.02 -1ZM.05 -.9C.3 -.7 .42 -.4 .46 -.16L.05 -.16ZM-.5 -.1L.54 -.1L.4 .06L-.36 .06Z"
HOUSE = "M-.5 0L-.5 -.5L0 -.95L.5 -.5L.5 0Z"
ROOF = "M-.58 -.46L0 -1L.58 -.46L.5 -.4L-.5 -.4Z"
BLADES = "M-.5 0C-.44 -.3 -.52 -.5 -.62 -.66C-.38 -.52 -.3 -.26 -.28 0ZM-.22 0C-.2 -.4 -.28 -.7 -.36 -.92C-.1 -.7 -.02 -.3 0 0ZM.06 0C.08 -.36 .2 -.62 .38 -.8C.26 -.56 .26 -.26 .3 0ZM.34 0C.38 -.24 .5 -.42 .68 -.52C.56 -.34 .54 -.16 .56 0Z"
STEM = "M-.03 0L-.02 -.7L.02 -.7L.03 0Z"
BLOOM = "M0 -1C.16 -.98 .18 -.86 .14 -.8C.26 -.86 .34 -.74 .3 -.66C.26 -.56 .14 -.58 .1 -.62C.14 -.5 .04 -.42 0 -.42C-.04 -.42 -.14 -.5 -.1 -.62C-.14 -.58 -.26 -.56 -.3 -.66C-.34 -.74 -.26 -.86 -.14 -.8C-.18 -.86 -.16 -.98 0 -1Z"
CAP = "M-.5 -.42C-.5 -1.1 .5 -1.1 .5 -.42C.3 -.34 -.3 -.34 -.5 -.42Z"
FOOT = "M-.14 -.42L-.2 0L.2 0L.14 -.42Z"
STONE = "M-.6 .1C-.66 -.3 -.3 -.62 .1 -.56C.5 -.52 .66 -.2 .6 .1Z"
CRAG = "M-.7 .1L-.5 -.4L-.2 -.3L0 -.9L.3 -.5L.46 -.56L.7 .1Z"
LAMP = "M-.03 0L-.03 -1L.03 -1L.03 0Z"
LANTERN = "M-.1 -1.26L.1 -1.26L.08 -1L-.08 -1Z"
LANTERN_TOP = "M-.14 -1.26L0 -1.38L.14 -1.26Z"
STAR = "M0 -1C.1 -.2 .2 -.1 1 0C.2 .1 .1 .2 0 1C-.1 .2 -.2 .1 -1 0C-.2 -.1 -.1 -.2 0 -1Z"
STREAK = "M-1 0C-.8 -.16 .8 -.16 1 0C.8 .16 -.8 .16 -1 0Z"
DROP = "M0 0L.2 .06L-.02 1L-.2 .94Z"


# ---- settings


def _hills(land: Land) -> str:
    return (
        land.path("f", "M0 .60C.14 .48 .32 .48 .48 .58C.64 .44 .86 .44 1 .56L1 1L0 1Z")
        + land.path("i", "M0 .68C.2 .58 .44 .62 .6 .71C.76 .62 .9 .62 1 .65L1 1L0 1Z")
        + land.path("n", "M0 .80C.3 .72 .62 .80 1 .74L1 1L0 1Z")
    )


def _fields(land: Land) -> str:
    return (
        land.path("f", "M0 .60C.2 .52 .4 .54 .6 .60C.8 .53 .9 .54 1 .57L1 .7L0 .7Z")
        + land.path("i", "M0 .64C.3 .62 .7 .62 1 .64L1 1L0 1Z")
        + land.path(
            "n",
            "M.46 .635L-.34 1L-.56 .92ZM.47 .635L-.02 1L-.2 1ZM.49 .635L.3 1L.14 1ZM.51 .635L.62 1L.46 1Z"
            "M.52 .635L.96 1L.78 1ZM.53 .635L1.36 1L1.16 1Z",
        )
        + land.several("t", ROUND_TREE, [(0.1, 0.64, 0.14), (0.18, 0.64, 0.1), (0.9, 0.64, 0.13)])
    )


def _lake(land: Land) -> str:
    shore = (
        "M0 .93C.14 .88 .26 .94 .4 1L0 1ZM1 .90C.86 .88 .8 .96 .68 1L1 1Z"
        if land.afloat
        else ("M0 .85C.3 .79 .66 .86 1 .80L1 1L0 1Z")
    )
    return (
        land.path("f", "M0 .58C.16 .42 .3 .46 .44 .57C.6 .40 .82 .42 1 .55L1 .66L0 .66Z")
        + land.path("u", "M0 .64L1 .64L1 1L0 1Z")
        + land.several(
            "i",
            FIR,
            [(0.04, 0.66, 0.16), (0.11, 0.66, 0.22), (0.18, 0.66, 0.15), (0.88, 0.66, 0.2), (0.95, 0.66, 0.15)],
        )
        + land.several("p", STREAK, [(0.24, 0.72, 0.1), (0.74, 0.71, 0.12), (0.5, 0.76, 0.08), (0.12, 0.79, 0.09)])
        + land.path("n", shore)
    )


def _swell(y: float, waves: int, height: float) -> str:
    """A row of waves from edge to edge."""
    step = 1 / waves
    crests = "".join(
        f"C{k * step + 0.3 * step:.3f} {y - height:.3f} {k * step + 0.7 * step:.3f} {y - height:.3f} {(k + 1) * step:.3f} {y:.3f}"
        for k in range(waves)
    )
    return f"M0 {y}{crests}L1 1L0 1Z"


def _open_sea(land: Land) -> str:
    waves = max(4, round(7 * land.w / land.h))
    return (
        land.path("u", "M0 .60L1 .60L1 1L0 1Z")
        + land.several("p", STREAK, [(0.2, 0.645, 0.1), (0.66, 0.635, 0.14), (0.86, 0.67, 0.08)])
        + land.path("i", _swell(0.74, waves, 0.04))
        + land.path("n", _swell(0.86, waves - 1, 0.05))
    )


def _harbour(land: Land) -> str:
    houses = [
        (0.06, 0.64, 0.15),
        (0.17, 0.64, 0.19),
        (0.29, 0.64, 0.14),
        (0.72, 0.64, 0.16),
        (0.84, 0.64, 0.2),
        (0.95, 0.64, 0.15),
    ]
    quay = (
        land.path("n", "M0 .84L1 .84L1 1L0 1Z")
        if not land.afloat
        else land.path("n", "M0 .95L.3 .95L.34 1L0 1ZM1 .93L.8 .93L.76 1L1 1Z")
    )
    return (
        land.several("f", HOUSE, houses)
        + land.several("o", ROOF, houses)
        + land.path("i", "M0 .63L1 .63L1 .68L0 .68Z")
        + land.path("u", "M0 .67L1 .67L1 1L0 1Z")
        + land.several("p", STREAK, [(0.2, 0.73, 0.1), (0.8, 0.74, 0.12), (0.5, 0.79, 0.09)])
        + quay
        + land.several(
            "t",
            "M-.3 0L-.3 -.5C-.3 -.7 .3 -.7 .3 -.5L.3 0Z",
            [(0.08, 0.955 if land.afloat else 0.87, 0.06), (0.92, 0.94 if land.afloat else 0.87, 0.06)],
        )
    )


def _beach(land: Land) -> str:
    return (
        land.path("u", "M0 .58L1 .58L1 .8L0 .8Z")
        + land.several("p", STREAK, [(0.3, 0.63, 0.12), (0.74, 0.62, 0.1)])
        + land.path("p", "M0 .69C.2 .74 .4 .68 .6 .72C.78 .75 .9 .70 1 .72L1 .8L0 .8Z")
        + land.path("s", "M0 .71C.2 .76 .4 .70 .6 .74C.78 .77 .9 .72 1 .74L1 1L0 1Z")
        + land.path("n", "M0 1L0 .9C.16 .84 .34 .92 .5 1ZM1 1L1 .88C.88 .86 .8 .94 .72 1Z")
        + land.several("t", BLADES, [(0.07, 0.92, 0.11), (0.94, 0.91, 0.12)])
    )


def _pine_wood(land: Land) -> str:
    return (
        land.several("f", FIR, [(x / 10 + 0.02, 0.7, 0.2 + 0.06 * (x % 3)) for x in range(11)])
        + land.several(
            "i",
            FIR,
            [
                (0.02, 0.76, 0.4),
                (0.2, 0.75, 0.3),
                (0.34, 0.74, 0.22),
                (0.66, 0.74, 0.24),
                (0.8, 0.75, 0.32),
                (0.97, 0.76, 0.42),
            ],
        )
        + land.path("n", "M0 .76C.3 .71 .7 .75 1 .72L1 1L0 1Z")
        + land.several("t", FIR, [(-0.01, 0.9, 0.62), (1.01, 0.9, 0.66)])
    )


def _birch_wood(land: Land) -> str:
    trunks = [(0.05, 0.05), (0.17, 0.035), (0.82, 0.035), (0.93, 0.055)]
    bark = "".join(
        f"M{x} .04L{x + t * land.unit / land.w:.3f} .04L{x + t * land.unit / land.w:.3f} .84L{x} .84Z"
        for x, t in trunks
    )
    marks = "".join(
        f"M{x} {y}L{x + 0.6 * t * land.unit / land.w:.3f} {y + 0.006:.3f}L{x} {y + 0.02:.3f}Z"
        for x, t in trunks
        for y in (0.22, 0.41, 0.56, 0.7)
    )
    crown = "M-.6 0C-.8 -.5 -.3 -.8 0 -.6C.3 -.8 .8 -.5 .6 0C.5 .4 .2 .3 0 .2C-.2 .36 -.5 .36 -.6 0Z"
    return (
        land.path("f", "M0 .58C.2 .5 .34 .56 .5 .56C.7 .48 .86 .54 1 .55L1 1L0 1Z")
        + land.path("i", "M0 .72C.3 .66 .7 .70 1 .67L1 1L0 1Z")
        + land.path("p", bark)
        + land.path("k", marks)
        + land.several("i", crown, [(0.04, 0.1, 0.26), (0.2, 0.06, 0.2), (0.8, 0.07, 0.2), (0.95, 0.1, 0.28)])
        + land.path("n", "M0 .82C.3 .76 .7 .82 1 .77L1 1L0 1Z")
    )


def _snow_peaks(land: Land) -> str:
    return (
        land.path("f", "M-.1 .8L.22 .30L.5 .8ZM.5 .8L.86 .24L1.2 .8Z")
        + land.path(
            "p", "M.22 .30L.31 .46L.25 .43L.2 .48L.16 .44L.12 .455ZM.86 .24L.965 .42L.9 .38L.85 .45L.79 .40L.74 .43Z"
        )
        + land.path("i", "M.14 .84L.54 .36L.94 .84Z")
        + land.path("p", "M.54 .36L.65 .49L.58 .465L.54 .53L.48 .47L.43 .49Z")
        + land.path("n", "M0 .74C.3 .66 .7 .74 1 .68L1 1L0 1Z")
        + land.several("t", FIR, [(0.05, 0.78, 0.18), (0.13, 0.77, 0.13), (0.9, 0.76, 0.16), (0.97, 0.76, 0.2)])
    )


def _canyon(land: Land) -> str:
    return (
        land.path("f", "M0 .7L0 .42L.16 .42L.2 .56L.3 .58L.32 .7ZM.64 .7L.68 .38L.84 .38L.88 .52L1 .54L1 .7Z")
        + land.path(
            "i", "M-.05 .74L.02 .52L.12 .52L.2 .74ZM.3 .74L.36 .50L.5 .50L.58 .74ZM.82 .74L.87 .56L1.05 .56L1.05 .74Z"
        )
        + land.path("s", "M0 .70C.4 .66 .7 .72 1 .68L1 1L0 1Z")
        + land.path("n", "M0 .86C.3 .80 .64 .86 1 .81L1 1L0 1Z")
    )


def _terrace(land: Land) -> str:
    count = max(4, round(5.2 * land.w / land.h))
    step = 1 / count
    tall = [0.30, 0.38, 0.33, 0.41, 0.31, 0.36]
    walls, other, roofs, panes = [], [], [], []
    for k in range(count):
        left, right, top = k * step, (k + 1) * step, 0.74 - tall[k % 6]
        (walls if k % 2 else other).append(
            f"M{left:.3f} .76L{left:.3f} {top:.3f}L{right:.3f} {top:.3f}L{right:.3f} .76Z"
        )
        roofs.append(f"M{left:.3f} {top:.3f}L{left + step / 2:.3f} {top - 0.1:.3f}L{right:.3f} {top:.3f}Z")
        for row in (0.06, 0.17):
            for x in (0.2, 0.58):
                a, b, y = left + x * step, left + (x + 0.22) * step, top + row
                panes.append(f"M{a:.3f} {y:.3f}L{b:.3f} {y:.3f}L{b:.3f} {y + 0.065:.3f}L{a:.3f} {y + 0.065:.3f}Z")
    return (
        land.path("f", "".join(walls))
        + land.path("i", "".join(other))
        + land.path("o", "".join(roofs))
        + land.path("p", "".join(panes))
        + land.path("s", "M0 .74L1 .74L1 .82L0 .82Z")
        + land.path("n", "M0 .80L1 .80L1 1L0 1Z")
    )


def _skyline(land: Land) -> str:
    back = "M0 .76L0 .40L.1 .40L.1 .30L.2 .30L.2 .5L.3 .5L.3 .36L.4 .36L.4 .56L.58 .56L.58 .26L.62 .26L.62 .2L.66 .2L.66 .26L.7 .26L.7 .46L.82 .46L.82 .34L.94 .34L.94 .5L1 .5L1 .76Z"
    front = "M0 .78L0 .56L.06 .56L.06 .50L.16 .50L.16 .62L.26 .62L.26 .66L.44 .66L.44 .60L.54 .60L.54 .66L.72 .66L.72 .56L.8 .56L.8 .52L.9 .52L.9 .60L1 .60L1 .78Z"
    panes = "".join(
        f"M{x} {y}L{x + 0.022:.3f} {y}L{x + 0.022:.3f} {y + 0.03:.3f}L{x} {y + 0.03:.3f}Z"
        for x, y in ((0.03, 0.44), (0.13, 0.35), (0.16, 0.42), (0.33, 0.41), (0.33, 0.48), (0.6, 0.32), (0.65, 0.32),
                     (0.65, 0.4), (0.6, 0.46), (0.85, 0.39), (0.89, 0.45), (0.08, 0.56), (0.74, 0.6), (0.83, 0.57), (0.47, 0.63))
    )  # fmt: skip
    return (
        land.path("f", back)
        + land.path("i", front)
        + land.path("p", panes)
        + land.several("t", ROUND_TREE, [(0.08, 0.79, 0.15), (0.2, 0.79, 0.12), (0.86, 0.78, 0.14), (0.95, 0.78, 0.17)])
        + land.path("n", "M0 .77C.3 .74 .7 .77 1 .75L1 1L0 1Z")
    )


SETTINGS: dict[str, Layer] = {
    "open-sea": _open_sea,
    "harbour": _harbour,
    "beach": _beach,
    "hills": _hills,
    "fields": _fields,
    "lake": _lake,
    "pine-wood": _pine_wood,
    "birch-wood": _birch_wood,
    "snow-peaks": _snow_peaks,
    "canyon": _canyon,
    "terrace": _terrace,
    "skyline": _skyline,
}


def bare_ground(land: Land) -> str:
    """What the sky stands over where no place is known yet."""
    role = "u" if land.afloat else "n"
    return land.path(role, "M0 .74C.3 .70 .7 .76 1 .72L1 1L0 1Z")


# ---- what is added to a setting: behind the subject, or before it


def _far_sails(land: Land) -> str:
    return land.several("p", SAIL, [(0.13, 0.63, 0.13), (0.26, 0.615, 0.08), (0.88, 0.625, 0.11)])


def _rocks(land: Land) -> str:
    return land.several("t", CRAG, [(0.08, 0.92, 0.13), (0.2, 0.96, 0.08), (0.93, 0.94, 0.14)]) + land.several(
        "p", STREAK, [(0.09, 0.945, 0.11), (0.93, 0.965, 0.11)]
    )


def _wild_flowers(land: Land) -> str:
    spots = [
        (0.05, 0.97, 0.13),
        (0.12, 1.0, 0.1),
        (0.19, 0.96, 0.12),
        (0.27, 1.01, 0.1),
        (0.74, 1.0, 0.11),
        (0.81, 0.96, 0.13),
        (0.88, 1.0, 0.1),
        (0.95, 0.97, 0.14),
    ]
    return land.several("t", STEM, spots) + land.several("a", BLOOM, spots[::2]) + land.several("p", BLOOM, spots[1::2])


def _far_village(land: Land) -> str:
    houses = [(0.74, 0.64, 0.08), (0.81, 0.635, 0.1), (0.89, 0.64, 0.085)]
    return (
        land.several("p", HOUSE, houses)
        + land.several("o", ROOF, houses)
        + land.several("p", "M-.2 0L-.2 -1.3L.2 -1.3L.2 0Z", [(0.85, 0.635, 0.1)])
        + land.several("o", "M-.28 -1.25L0 -2L.28 -1.25Z", [(0.85, 0.635, 0.1)])
    )


def _mushrooms(land: Land) -> str:
    spots = [(0.08, 0.97, 0.16), (0.18, 0.99, 0.11), (0.9, 0.98, 0.15)]
    dots = [(x + dx * size, y + dy * size, size) for x, y, size in spots for dx, dy in ((-0.2, -0.62), (0.14, -0.72))]
    return (
        land.several("p", FOOT, spots)
        + land.several("a", CAP, spots)
        + land.several("p", "M-.1 0C-.1 -.14 .1 -.14 .1 0C.1 .14 -.1 .14 -.1 0Z", dots)
    )


def _ferns(land: Land) -> str:
    return land.several("t", BLADES, [(0.05, 1.0, 0.2), (0.16, 1.02, 0.15), (0.84, 1.02, 0.15), (0.95, 1.0, 0.21)])


def _winding_path(land: Land) -> str:
    return land.path(
        "s",
        "M.34 1C.42 .92 .66 .88 .58 .80C.52 .75 .64 .73 .68 .70L.7 .70C.68 .74 .6 .76 .66 .80C.8 .88 .66 .94 .62 1Z",
    )


def _boulders(land: Land) -> str:
    return land.several("t", STONE, [(0.07, 0.93, 0.12), (0.17, 0.95, 0.07), (0.92, 0.94, 0.13)]) + land.several(
        "i", STONE, [(0.055, 0.91, 0.07), (0.905, 0.92, 0.07)]
    )


def _street_lamps(land: Land) -> str:
    spots = [(0.1, 0.88, 0.3), (0.9, 0.88, 0.3)]
    return land.several("k", LAMP, spots) + land.several("y", LANTERN, spots) + land.several("k", LANTERN_TOP, spots)


def _street_trees(land: Land) -> str:
    return land.several("t", ROUND_TREE, [(0.04, 0.86, 0.3), (0.16, 0.84, 0.24), (0.86, 0.84, 0.24), (0.97, 0.86, 0.3)])


BEHIND: dict[str, Layer] = {
    "far-sails": _far_sails,
    "far-village": _far_village,
    "winding-path": _winding_path,
    "street-lamps": _street_lamps,
    "street-trees": _street_trees,
}
BEFORE: dict[str, Layer] = {
    "sea-rocks": _rocks,
    "wild-flowers": _wild_flowers,
    "mushrooms": _mushrooms,
    "ferns": _ferns,
    "boulders": _boulders,
}


# ---- the sky


def _stars(land: Land) -> str:
    spots = [(0.07, 0.1, 0.022), (0.2, 0.24, 0.016), (0.3, 0.08, 0.026), (0.44, 0.17, 0.015), (0.56, 0.07, 0.02), (0.66, 0.2, 0.017),
             (0.74, 0.09, 0.014), (0.9, 0.26, 0.024), (0.95, 0.08, 0.016), (0.12, 0.36, 0.018), (0.84, 0.4, 0.015), (0.36, 0.32, 0.013)]  # fmt: skip
    return land.several("z", STAR, spots)


def _aurora(land: Land) -> str:
    return land.path(
        "a",
        "M0 .30C.2 .10 .36 .34 .56 .20C.72 .08 .86 .26 1 .12L1 .34C.84 .44 .72 .28 .56 .40C.36 .54 .2 .32 0 .50Z",
        ' fill-opacity=".42"',
    ) + land.path(
        "c",
        "M0 .14C.22 .02 .4 .22 .6 .08C.76 0 .88 .14 1 .02L1 .14C.86 .28 .74 .14 .6 .22C.4 .36 .22 .16 0 .28Z",
        ' fill-opacity=".6"',
    )


def _streaks(land: Land) -> str:
    return land.several(
        "c", STREAK, [(0.2, 0.2, 0.3), (0.36, 0.26, 0.22), (0.78, 0.14, 0.3), (0.7, 0.34, 0.24), (0.12, 0.4, 0.2)]
    )


def _rain(land: Land) -> str:
    spots = [((k * 0.137 + 0.05) % 1, 0.26 + (k * 0.083) % 0.34, 0.05) for k in range(16)]
    return land.several("i", DROP, spots)


def _rainbow(land: Land) -> str:
    parts = []
    for role, outer, inner in (("h", 0.5, 0.46), ("a", 0.46, 0.42), ("p", 0.42, 0.385), ("i", 0.385, 0.345)):
        parts.append(land.place(role, _arch(outer, inner), 0.5, 0.64, _reach(land)))
    return "".join(parts)


def _reach(land: Land) -> float:
    return 1.14 * min(land.w, 1.2 * land.h) / land.unit


def _arch(outer: float, inner: float) -> str:
    k = 0.5523
    return (
        f"M{-outer} 0C{-outer} {-k * outer:.4f} {-k * outer:.4f} {-outer} 0 {-outer}C{k * outer:.4f} {-outer} {outer} {-k * outer:.4f} {outer} 0"
        f"L{inner} 0C{inner} {-k * inner:.4f} {k * inner:.4f} {-inner} 0 {-inner}C{-k * inner:.4f} {-inner} {-inner} {-k * inner:.4f} {-inner} 0Z"
    )


def _disc(radius: float) -> str:
    k = 0.5523 * radius
    return f"M{-radius} 0C{-radius} {-k:.3f} {-k:.3f} {-radius} 0 {-radius}C{k:.3f} {-radius} {radius} {-k:.3f} {radius} 0C{radius} {k:.3f} {k:.3f} {radius} 0 {radius}C{-k:.3f} {radius} {-radius} {k:.3f} {-radius} 0Z"


def sun(land: Land, x: float, y: float, radius: float, rays: int = 0) -> str:
    """A disc, with so many rays around it; the radius is a share of the short side."""
    spokes = "".join(
        f"M{math.cos(a - 0.07) * 1.25:.3f} {math.sin(a - 0.07) * 1.25:.3f}L{math.cos(a) * 1.75:.3f} {math.sin(a) * 1.75:.3f}L{math.cos(a + 0.07) * 1.25:.3f} {math.sin(a + 0.07) * 1.25:.3f}Z"
        for a in (math.tau * k / rays for k in range(rays))
    )
    return land.place("z", _disc(1.0) + spokes, x, y, radius)


SKY: dict[str, Layer] = {
    "stars": _stars,
    "aurora": _aurora,
    "cloud-streaks": _streaks,
    "rain": _rain,
    "rainbow": _rainbow,
}
