"""What a page is going to import, imported by the server while the browser still reads the front end.

The notebooks' kernels are threads of the server, so that a module imported here is there for them.  The first page that
is opened would else wait for all of it.  What cannot be imported is left to the page, which says so.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import threading
from collections.abc import Callable
from pathlib import Path

# Imported late by what pages show: tables of numbers, comparisons, controls, highlighted code.
LATE = ("anywidget", "numpy", "scipy.special", "pygments.lexers.python")
A_LITTLE_OF_ALL = "**text** and\n\n```python\ncode = 1\n```"


def imports_of(notebook: Path) -> list[ast.stmt]:
    """The imports of a notebook's setup cell.

    Raises:
        OSError, SyntaxError: it cannot be read, or is no Python.
    """
    blocks = [each for each in ast.parse(notebook.read_text("utf-8")).body if isinstance(each, ast.With)]
    return [line for block in blocks for line in block.body if isinstance(line, (ast.Import, ast.ImportFrom))]


def warm(notebook: Path) -> None:
    """Import what a notebook imports."""
    with contextlib.suppress(OSError, SyntaxError):
        for line in imports_of(notebook):
            with contextlib.suppress(Exception):
                exec(compile(ast.Module([line], []), str(notebook), "exec"), {})


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
