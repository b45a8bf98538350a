"""Texts of others in tables that spreadsheets open: a cell is shown there, and never computed."""

from __future__ import annotations

import unicodedata

FORMULA = ("=", "+", "-", "@")
_WIDE = ("＝", "＋", "－", "＠")
_KEPT = "\n\t\u200c\u200d"  # the last two join letters and emoji


def harmless(cell: str) -> str:
    """Text as no spreadsheet takes for a formula, and with control characters made visible (U+202E turns a line).

    Of what is harmless already nothing changes.
    """
    shown = "".join(written_out(sign) if _is_control(sign) else sign for sign in cell)
    return f"'{shown}" if shown.lstrip().startswith((*FORMULA, *_WIDE)) else shown


def harmless_row(row: dict[str, object]) -> dict[str, object]:
    """A row whose texts are `harmless`; its numbers are numbers."""
    return {name: harmless(cell) if isinstance(cell, str) else cell for name, cell in row.items()}


def written_out(sign: str) -> str:
    """A character that would not be seen, by its number: <U+202E>."""
    return f"<U+{ord(sign):04X}>"


def _is_control(sign: str) -> bool:
    return unicodedata.category(sign) in ("Cc", "Cf", "Cs") and sign not in _KEPT
