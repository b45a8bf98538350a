"""What a command prints, without what a terminal obeys: texts of models, and of runs of others, may hold anything.

An escape sequence in a text renames a window, wipes the screen, writes over figures that stand there, or has the
terminal type.  Colours pass, and what a progress bar on standard error needs; every other control character is shown
as <U+001B>, as is what turns the direction of a line, and half a character, which could not be written at all.
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
_IN_TEXT = re.compile(rf"({_COLOURS}|\r\n)|{_OBEYED}")
_BESIDE_BARS = re.compile(rf"({_COLOURS}|{_MOVES})|{_OBEYED}")
_ALONE = re.compile(_OBEYED)


def visible(text: str) -> str:
    """A text of others with all that a terminal would obey written out, colours too."""
    return _ALONE.sub(_written_out, text)


class Shown:
    """A stream of text that writes out what a terminal would obey; all else is the stream's own.

    `bars`: progress bars are drawn on it.
    """

    def __init__(self, stream: TextIO, bars: bool = False) -> None:
        self._stream = stream
        self._obeyed = _BESIDE_BARS if bars else _IN_TEXT

    def write(self, text: str) -> int:
        self._stream.write(self._obeyed.sub(lambda found: found[1] or _written_out(found), text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def guard_terminal() -> None:
    """From now on what this process prints goes through `Shown`."""
    sys.stdout, sys.stderr = Shown(sys.stdout), Shown(sys.stderr, bars=True)  # type: ignore[assignment]


def _written_out(found: re.Match[str]) -> str:
    return written_out(found[0])
