"""`discover site`: the workbench's story and simulator as a folder that any static host takes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discover_lib.app.cli.common import console, writable
from discover_lib.app.site.build import build_site


def site(
    out: Annotated[Path | None, typer.Option(help="Folder to write (default: site); its files are replaced.")] = None,
    pyodide: Annotated[
        Path | None, typer.Option(help="A folder of npm's package pyodide, instead of fetching it.")
    ] = None,
) -> None:
    """Write the story and the simulator as static pages that run the library in the browser: no server, no network."""
    screen, folder = console(), writable(out or Path("site"))
    files = build_site(folder, pyodide, lambda step: screen.print(f"… {step}", highlight=False))
    size = sum(path.stat().st_size for path in files) / 1e6
    screen.print(
        f"saved {len(files)} files, {size:.1f} MB, in {out}: serve the folder, `python -m http.server -d {out}`"
    )
