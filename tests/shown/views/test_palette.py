"""The colors of the style sheet: what is written can be read on every ground that it stands on, in both themes."""

import re
from pathlib import Path

import pytest

import workbench

SHEET = (Path(workbench.__file__).parent / "views" / "static" / "workbench.css").read_text("utf-8")
PAIRS = {name: pair for name, *pair in re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", SHEET)}
# Ink → the grounds on which pages write with it.
WRITTEN = {
    "dl-ink": "page surface sunken focus user known-soft emerging-soft bad-soft",
    "dl-quiet": "page surface sunken focus",
    "dl-known": "page surface known-soft",
    "dl-emerging": "page surface emerging-soft",
    "dl-bad": "page surface bad-soft",
    "dl-moved": "page surface",
    "dl-focus-ink": "page surface focus",
    "dl-on-known": "known",
    "foreground": "background card muted secondary popover",
    "muted-foreground": "background card muted",
    "primary-foreground": "primary",
    "accent-foreground": "accent",
    "link": "background card",
}


def luminance(color: str) -> float:
    """Relative luminance of WCAG 2, 0 (black) to 1 (white)."""
    shares = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("ink", WRITTEN)
def test_what_is_written_stands_out_from_its_grounds(ink: str, theme: int) -> None:
    prefix = "dl-" if ink.startswith("dl-") else ""
    for ground in WRITTEN[ink].split():
        dark, light = sorted(luminance(PAIRS[name][theme]) for name in (ink, prefix + ground))
        assert (light + 0.05) / (dark + 0.05) >= 4.5, ground
