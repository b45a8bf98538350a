"""The figures that `svg.draw` places: subjects, what they wear or carry, what keeps them company; see `figures.json`.

Every figure is a list of filled shapes, each with the role of its paint (see `palettes.tones`), in a box of about
100 × 100 units with its foot at y = 99.  `at` names the anchors where things are put on it: [x, y], with a half width
where they have to fit.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

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

    @cached_property
    def windows(self) -> str:
        return "".join(d for role, d in self.parts if role == WINDOWS)

    def panes(self, role: str) -> str:
        """Its windows, painted in a role: lit or not; "" for a subject without."""
        return f'<path fill="{{{role}}}" d="{self.windows}"/>' if self.windows else ""

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
