"""Contact sheets of the miniature's drawings: targets, first drafts, and one subject in every palette and light.

    .venv/bin/python tools/contact_sheets.py [--out docs/world]

Each sheet is one SVG that any browser shows.  The tool needs only the library.  A draft is the first reply of the
assistant *draft* to a target's opening request, which is below it.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

from discover_lib.base.svg import drawing_spans
from discover_lib.core.conversation import Message
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import generate_artifact
from discover_lib.engines.miniature.assistants import scripted_assistant
from discover_lib.engines.miniature.svg.draw import draw
from discover_lib.engines.miniature.svg.paints import PALETTES

DOMAIN = "svg_drawing"
COUNT, COLUMNS = 60, 10
CELL, PICTURE, GAP = 132, 112, 10
_OWN = re.compile(r'(?<=id=")|(?<=url\(#)')


def sheet(pictures: Sequence[tuple[str, str]], *, columns: int) -> str:
    """One SVG of drawings, each with a line below it."""
    width, height = columns * CELL + GAP, -(-len(pictures) // columns) * (CELL + 8) + GAP
    cells = [_cell(place, *picture, columns=columns) for place, picture in enumerate(pictures)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>{"".join(cells)}</svg>\n'
    )


def _cell(place: int, svg: str, line: str, *, columns: int) -> str:
    """A drawing in its place, its ids its own."""
    w, h = map(float, re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)[0])
    scale = PICTURE / max(w, h)
    x = GAP + place % columns * CELL + (PICTURE - w * scale) / 2
    y = GAP + place // columns * (CELL + 8) + (PICTURE - h * scale) / 2
    inner = _OWN.sub(f"p{place}-", svg[svg.index(">") + 1 : svg.rindex("</svg>")])
    middle = GAP + place % columns * CELL + PICTURE / 2
    below = GAP + place // columns * (CELL + 8) + PICTURE + 10
    return (
        f'<svg x="{x:.5g}" y="{y:.5g}" width="{w * scale:.4g}" height="{h * scale:.4g}" viewBox="0 0 {w:g} {h:g}">'
        f'{inner}</svg><text x="{middle:g}" y="{below:g}" text-anchor="middle" font-family="sans-serif" '
        f'font-size="6.2" fill="#4a505b">{escape(line)}</text>'
    )


def targets() -> list[tuple[str, str]]:
    """The first targets of the evaluation split, each with its user's intents."""
    made = [generate_artifact(DOMAIN, "eval", index) for index in range(COUNT)]
    builder = engine(DOMAIN).builder
    return [(each.text, builder.build(each).tree.initial_request) for each in made]


def drafts() -> list[tuple[str, str]]:
    """The first drafts for the same users."""
    assistant = scripted_assistant("draft", DOMAIN)
    pictures = []
    for index, (_, request) in enumerate(targets()):
        text = assistant.reply([Message("user", request)], index).text  # type: ignore[union-attr]
        start, end = drawing_spans(text)[0]
        pictures.append((text[start:end], request))
    return pictures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("docs/world"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    palettes = [  # one scene by day, while the sun is low, and after dark
        (draw(["fox", "hills", palette, light]), f"{palette}, {light.replace('-', ' ')}")
        for light in ("sunny", "sunset", "crescent-moon")
        for palette in PALETTES
    ]
    sheets = {"targets": (targets(), COLUMNS), "drafts": (drafts(), COLUMNS), "palettes": (palettes, len(PALETTES))}
    for name, (pictures, columns) in sheets.items():
        path = options.out / f"{name}.svg"
        path.write_text(sheet(pictures, columns=columns), encoding="utf-8")
        print(f"{path}: {len(pictures)} drawings, {path.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main()
