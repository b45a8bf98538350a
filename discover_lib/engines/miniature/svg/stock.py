"""The stock that `svg.draw` places: figures (`figures.json`), landscapes and skies (`landscapes.json`).

A figure is a list of filled shapes, each with the role of its paint (see `paints.tones`), in a box of about 100 × 100
units with its foot at y = 99.  `at` names the anchors where things are put on it: [x, y], with a half width where they
have to fit.  A layer of a landscape is markup for a canvas of given width and height, with paints as roles.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from discover_lib.engines.miniature.svg.geometry import Box, measure, union

Part = tuple[str, str]  # (role of the paint, path data)
WINDOWS = "y"  # the role of panes, which are lit or not


@dataclass(frozen=True)
class Figure:
    """A subject."""

    on: str  # what it stands on or in: ground, water or air
    at: dict[str, list[float]]
    parts: tuple[Part, ...]

    @cached_property
    def markup(self) -> str:
        """All but the windows, paints left open."""
        return markup(tuple(part for part in self.parts if part[0] != WINDOWS))

    def panes(self, role: str) -> str:
        """Its windows, painted in a role: lit or not; "" for a subject without."""
        windows = "".join(d for part, d in self.parts if part == WINDOWS)
        return f'<path fill="{{{role}}}" d="{windows}"/>' if windows else ""

    @cached_property
    def box(self) -> Box:
        return box_of(self.parts)


@lru_cache(maxsize=256)
def markup(parts: tuple[Part, ...]) -> str:
    return "".join(f'<path fill="{{{role}}}" d="{d}"/>' for role, d in parts)


def box_of(parts: Sequence[Part]) -> Box:
    return union([box for _, d in parts if (box := measure("path", {"d": d}, 100, 100)[0]) is not None])


_FIGURES = json.loads(Path(__file__).with_name("figures.json").read_text(encoding="utf-8"))


def _parts(rows: list[list[str]]) -> tuple[Part, ...]:
    return tuple((role, d) for role, d in rows)


SUBJECTS = {name: Figure(row["on"], row["at"], _parts(row["parts"])) for name, row in _FIGURES["subjects"].items()}
DETAILS = {name: _parts(rows) for name, rows in _FIGURES["details"].items()}
COMPANY = {name: _parts(rows) for name, rows in _FIGURES["company"].items()}


HORIZON, GROUND, WATERLINE = 0.62, 0.87, 0.82  # shares of the height

BEHIND = ("far-sails", "far-village", "winding-path", "street-lamps", "street-trees")  # the subject
BEFORE = ("sea-rocks", "wild-flowers", "mushrooms", "ferns", "boulders")

_LANDSCAPES: dict[str, Any] = json.loads(Path(__file__).with_name("landscapes.json").read_text(encoding="utf-8"))
_SHAPES: dict[str, str] = _LANDSCAPES["shapes"]
_LAYERS: dict[str, list[list[Any]]] = _LANDSCAPES["layers"]


class Land:
    """A canvas to draw a landscape on; places are shares of its width and height, sizes of its shorter side."""

    def __init__(self, width: float, height: float) -> None:
        self.w, self.h, self.unit = width, height, min(width, height)

    def path(self, role: str, d: str, alpha: float | None = None) -> str:
        """A filled path whose points are shares of the canvas."""
        return _filled(role, _mapped(d, self.w, self.h, 0, 0), alpha)

    def several(self, role: str, shape: str, spots: Sequence[Sequence[float]]) -> str:
        """One of the shapes, or path data, at several places (x, y, size) as one path."""
        d = _SHAPES.get(shape, shape)
        return _filled(
            role,
            "".join(_mapped(d, size * self.unit, size * self.unit, x * self.w, y * self.h) for x, y, size in spots),
        )


def _filled(role: str, d: str, alpha: float | None = None) -> str:
    return f'<path fill="{{{role}}}" d="{d}"' + (f' fill-opacity="{alpha}"/>' if alpha else "/>")


@lru_cache(maxsize=2048)  # suns and clouds stand at a few places, on canvases of a few formats
def _mapped(d: str, across: float, down: float, x: float, y: float) -> str:
    """Path data of absolute M, L, C and Z, every point scaled and shifted."""
    parts: list[str] = []
    is_down = False
    for token in _tokens(d):
        if token.isalpha():
            parts.append(token)
        else:
            value = float(token) * (down if is_down else across) + (y if is_down else x)
            parts.append(f"{value:.1f}".removesuffix(".0"))
            is_down = not is_down
    return " ".join(parts)


@lru_cache(maxsize=512)
def _tokens(d: str) -> tuple[str, ...]:
    for letter in "MLCZ":
        d = d.replace(letter, f" {letter} ")
    return tuple(d.split())


@lru_cache(maxsize=1024)
def layer(name: str, width: int, height: int, *, afloat: bool = False) -> str:
    """The layer of that name for a canvas; where something floats on it, the shore leaves room."""
    land = Land(width, height)
    if name in _DRAWN:
        return _DRAWN[name](land)
    rows = _LAYERS.get(f"{name}-afloat", _LAYERS[name]) if afloat else _LAYERS[name]
    return "".join(
        land.several(row[0], row[1], row[2]) if isinstance(row[-1], list) else land.path(*row) for row in rows
    )


# ---- layers that depend on how wide the canvas is


def _open_sea(land: Land) -> str:
    waves = max(4, round(7 * land.w / land.h))
    return (
        land.path("u", "M0 .60L1 .60L1 1L0 1Z")
        + land.several("p", "streak", [(0.2, 0.645, 0.1), (0.66, 0.635, 0.14), (0.86, 0.67, 0.08)])
        + land.path("i", _swell(0.74, waves, 0.04))
        + land.path("n", _swell(0.86, waves - 1, 0.05))
    )


def _swell(y: float, waves: int, height: float) -> str:
    """A row of waves from edge to edge."""
    step = 1 / waves
    crests = ""
    for k in range(waves):
        first, second, end = (k + 0.3) * step, (k + 0.7) * step, (k + 1) * step
        crests += f"C{first:.3f} {y - height:.3f} {second:.3f} {y - height:.3f} {end:.3f} {y:.3f}"
    return f"M0 {y}{crests}L1 1L0 1Z"


def _birch_wood(land: Land) -> str:
    thin = land.unit / land.w
    trunks = [(0.05, 0.05 * thin), (0.17, 0.035 * thin), (0.82, 0.035 * thin), (0.93, 0.055 * thin)]
    marks = "".join(
        f"M{x} {y}L{x + 0.6 * w:.3f} {y + 0.006:.3f}L{x} {y + 0.02:.3f}Z"
        for x, w in trunks
        for y in (0.22, 0.41, 0.56, 0.7)
    )
    return (
        land.path("f", "M0 .58C.2 .5 .34 .56 .5 .56C.7 .48 .86 .54 1 .55L1 1L0 1Z")
        + land.path("i", "M0 .72C.3 .66 .7 .70 1 .67L1 1L0 1Z")
        + land.path("p", "".join(_box(x, 0.04, x + w, 0.84) for x, w in trunks))
        + land.path("k", marks)
        + land.several("i", "crown", [(0.04, 0.1, 0.26), (0.2, 0.06, 0.2), (0.8, 0.07, 0.2), (0.95, 0.1, 0.28)])
        + land.path("n", "M0 .82C.3 .76 .7 .82 1 .77L1 1L0 1Z")
    )


def _terrace(land: Land) -> str:
    """A row of gabled houses, as many as fit."""
    step = 1 / max(4, round(5.2 * land.w / land.h))
    walls, roofs, panes = ["", ""], "", ""
    for k in range(round(1 / step)):
        left, right, top = k * step, (k + 1) * step, 0.74 - (0.30, 0.38, 0.33, 0.41, 0.31, 0.36)[k % 6]
        walls[k % 2] += _box(left, top, right, 0.76)
        roofs += f"M{left:.3f} {top:.3f}L{left + step / 2:.3f} {top - 0.1:.3f}L{right:.3f} {top:.3f}Z"
        for y in (top + 0.06, top + 0.17):
            for x in (left + 0.2 * step, left + 0.58 * step):
                panes += _box(x, y, x + 0.22 * step, y + 0.065)
    return (
        land.path("i", walls[0])
        + land.path("f", walls[1])
        + land.path("o", roofs)
        + land.path("p", panes)
        + land.path("s", _box(0, 0.74, 1, 0.82))
        + land.path("n", _box(0, 0.80, 1, 1))
    )


def _box(left: float, top: float, right: float, bottom: float) -> str:
    return f"M{left:.3f} {top:.3f}L{right:.3f} {top:.3f}L{right:.3f} {bottom:.3f}L{left:.3f} {bottom:.3f}Z"


def _rainbow(land: Land) -> str:
    size = 1.14 * min(land.w, 1.2 * land.h) / land.unit
    bands = (("h", 0.5, 0.475), ("a", 0.475, 0.45), ("p", 0.45, 0.425), ("i", 0.425, 0.4))
    return "".join(land.several(role, _arch(outer, inner), [(0.5, 0.66, size)]) for role, outer, inner in bands)


_ROUND = 0.5523  # of the radius: where the control points of a quarter circle lie


def _arch(outer: float, inner: float) -> str:
    a, b = _ROUND * outer, _ROUND * inner
    return (
        f"M{-outer} 0C{-outer} {-a:.3f} {-a:.3f} {-outer} 0 {-outer}C{a:.3f} {-outer} {outer} {-a:.3f} {outer} 0"
        f"L{inner} 0C{inner} {-b:.3f} {b:.3f} {-inner} 0 {-inner}C{-b:.3f} {-inner} {-inner} {-b:.3f} {-inner} 0Z"
    )


_DISC = "M-1 0C-1 -.552 -.552 -1 0 -1C.552 -1 1 -.552 1 0C1 .552 .552 1 0 1C-.552 1 -1 .552 -1 0Z"


@lru_cache(maxsize=256)
def sun(
    w: float, h: float, x: float, y: float, radius: float, *, rays: int = 0, reach: float = 1.7, width: float = 0.09
) -> str:
    """A disc with so many rays around it, on a canvas of this size.

    Args:
        reach, width: of the rays, in radii of the disc and in radians.
    """
    land = Land(w, h)
    fan = "".join(
        f"M{1.25 * math.cos(a):.3f} {1.25 * math.sin(a):.3f}"
        f"L{reach * math.cos(a - width):.3f} {reach * math.sin(a - width):.3f}"
        f"L{reach * math.cos(a + width):.3f} {reach * math.sin(a + width):.3f}Z"
        for a in (math.tau * (k + 0.5) / rays for k in range(rays))
    )
    spot = [(x, y, radius)]
    return (land.several("c", fan, spot) if fan else "") + land.several("z", _DISC, spot)


_DRAWN: dict[str, Callable[[Land], str]] = {
    "open-sea": _open_sea,
    "birch-wood": _birch_wood,
    "terrace": _terrace,
    "rainbow": _rainbow,
}
SETTINGS = ("open-sea", "birch-wood", "terrace", "hills", "fields", "lake", "harbour", "beach", "pine-wood",
            "snow-peaks", "canyon", "skyline")  # fmt: skip
