"""Make printed texts harmless: texts of models and of imported runs may contain escape sequences.

An escape sequence can rename a window, clear the screen, overwrite figures, or make the terminal type.  Colors pass,
and on standard error also the sequences of progress bars.  Every other control character is printed as <U+001B>.  So
are characters that change the direction of a line, and half a character, which cannot be written.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import Any, TextIO

from discover_lib.base.cells import written_out

_COLOUR = r"(?:[0-4]|7|9|[34][0-79]|[34]8;5;\d{1,3}|[34]8;2(?:;\d{1,3}){3}|9[0-7]|10[0-7])"
_COLOURS = rf"\x1b\[(?:{_COLOUR}(?:;{_COLOUR})*)?m"
_MOVES = r"\x1b\[(?:2K|\d{0,2}[AG]|\?25[lh])|\r"  # of rich's bars, and of those of other libraries
_OBEYED = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
_IN_TEXT = rf"({_COLOURS}|\r\n)|{_OBEYED}"
_BESIDE_BARS = rf"({_COLOURS}|{_MOVES})|{_OBEYED}"
_ALONE = re.compile(_OBEYED)


def visible(text: str) -> str:
    """A text with all control sequences written out, colors included."""
    return _ALONE.sub(_written_out, text)


class Shown:
    """A text stream that writes control sequences out.  `bars`: progress bars are drawn on it."""

    def __init__(self, stream: TextIO, bars: bool = False) -> None:
        self._stream = stream
        self._obeyed = _BESIDE_BARS if bars else _IN_TEXT

    def write(self, text: str) -> int:
        shown = text
        if _ALONE.search(text):  # to compile the longer expression takes 10 ms
            shown = re.sub(self._obeyed, lambda found: found[1] or _written_out(found), text)
        self._stream.write(shown)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def guard_terminal() -> None:
    """Send the output of this process through `Shown`."""
    sys.stdout, sys.stderr = Shown(sys.stdout), Shown(sys.stderr, bars=True)  # type: ignore[assignment]


def _written_out(found: re.Match[str]) -> str:
    return written_out(found[0])
