"""What a page is going to import, imported by the server while the browser still reads the front end.

The notebooks' kernels are threads of the server, so that a module imported here is there for them.  The first page that
is opened would else wait for all of it.  What cannot be imported is left to the page, which says so.
"""

from __future__ import annotations

import contextlib
import importlib
import re
import threading
from collections.abc import Callable
from pathlib import Path

# Imported late by what pages show: tables of numbers, comparisons, controls, highlighted code.
LATE = ("anywidget", "numpy", "scipy.special", "pygments.lexers.python")
_IMPORT = re.compile(r"^    ((?:from|import) (?:[^\n(]*\([^)]*\)|[^\n(]+))$", re.MULTILINE)
A_LITTLE_OF_ALL = "**text** and\n\n```python\ncode = 1\n```"


def imports_of(notebook: Path) -> list[str]:
    """The imports of a notebook's setup cell, as they are written.

    Read off its text: of two threads that make trees of syntax at once one fails in Python 3.11, and marimo makes them.

    Raises:
        OSError: it cannot be read.
    """
    setup = notebook.read_text("utf-8").partition("\n@app.")[0].partition("with app.setup")[2]
    return _IMPORT.findall(setup)


def warm(notebook: Path) -> None:
    """Import what a notebook imports."""
    with contextlib.suppress(OSError):
        for statement in imports_of(notebook):
            with contextlib.suppress(Exception):
                exec(statement, {})


def warm_what_pages_share() -> None:
    """Import what pages show things with, and have a little text set once, for which marimo imports what it needs."""
    for module in LATE:
        with contextlib.suppress(Exception):
            importlib.import_module(module)
    with contextlib.suppress(Exception):
        import marimo as mo

        mo.md(A_LITTLE_OF_ALL)


def beside(*work: Callable[[], None]) -> None:
    """Do this, one after the other, in a thread of its own that nobody waits for."""
    threading.Thread(target=lambda: [each() for each in work], name="warm", daemon=True).start()
