"""What people see and touch in a browser; it imports the library, which never imports it.

`import workbench` in Jupyter draws the library's values at the end of a cell.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any


def _show_in_cells() -> None:
    """Where IPython runs, values at the end of a cell are drawn, not spelled out; the drawing is loaded when one is."""

    def drawn(value: Any) -> str | None:
        return importlib.import_module("workbench.jupyter").drawn(value)

    def written(value: Any, printer: Any, cycle: bool) -> None:
        printer.text(importlib.import_module("workbench.jupyter").written(value))

    running = getattr(sys.modules.get("IPython"), "get_ipython", None)
    if running is not None and (shell := running()) is not None:
        from discover_lib import Artifact, Conversation, IntentTree, Turn, UserSimulator
        from discover_lib.core.roles import BuiltTree

        for kind in (Artifact, BuiltTree, Conversation, IntentTree, Turn, UserSimulator):
            shell.display_formatter.formatters["text/html"].for_type(kind, drawn)
            shell.display_formatter.formatters["text/plain"].for_type(kind, written)


_show_in_cells()
