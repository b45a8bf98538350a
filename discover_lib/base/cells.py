"""Safe cells for tables that spreadsheets open: a spreadsheet shows the text and does not compute it."""

from __future__ import annotations

import unicodedata

FORMULA = ("=", "+", "-", "@")
_WIDE = ("＝", "＋", "－", "＠")
_KEPT = "\n\t\u200c\u200d"  # the last two join letters and emoji


def harmless(cell: str) -> str:
    """The text, guarded so that it is not a formula, with control characters made visible (U+202E turns a line).

    A harmless text stays as it is.
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
