"""The little illustrations that `svg.draw` places: subjects, and what may stand around them; `figures.json` holds them.

Every figure stands in a box of about 100 × 100 units and is made of filled shapes only, so that outlines, patterns and
transparency can be laid over it.  Subjects leave their paints open: {m} the main paint (always the largest area),
{d} a deeper and {l} a lighter tone of it, {w} highlights, {k} ink.  Company comes in its own natural colours.
"""

from __future__ import annotations

import json
from pathlib import Path

_FIGURES = json.loads(Path(__file__).with_name("figures.json").read_text(encoding="utf-8"))

SUBJECTS: dict[str, str] = {name: "".join(shapes) for name, shapes in _FIGURES["subjects"].items()}
COMPANY: dict[str, str] = {name: "".join(shapes) for name, shapes in _FIGURES["company"].items()}
