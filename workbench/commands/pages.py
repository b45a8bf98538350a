"""`discover site` and `discover share`: pages for those who have nothing installed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import whole_file
from discover_lib.cli.common import console, writable, writable_file
from discover_lib.cli.show import sharing_bar
from workbench.sharing import MOST, shared
from workbench.site.build import build_site
from workbench.views.pages import shared_page


def site(
    out: Annotated[Path | None, typer.Option(help="Folder to write (default: site); its files are replaced.")] = None,
    pyodide: Annotated[
        Path | None, typer.Option(help="A folder of npm's package pyodide, instead of fetching it.")
    ] = None,
    project: Annotated[str, typer.Option(help="Address of the project, linked at the foot of each page.")] = "",
) -> None:
    """Write the story and the simulator as static pages that run the library in the browser: no server, no network."""
    if project and not project.startswith(("https://", "http://")):
        raise DiscoverError(f"--project {project}: give an address that begins with https://")
    screen, folder = console(), writable(out or Path("site"))
    files = build_site(folder, pyodide, lambda step: screen.print(f"… {step}", highlight=False), project)
    size = sum(path.stat().st_size for path in files) / 1e6
    screen.print(
        f"saved {len(files)} files, {size:.1f} MB, in {out}: serve the folder, `python -m http.server -d {out}`"
    )


def share(
    source: Annotated[str, typer.Argument(metavar="RUN|SESSION", help="A run's folder, or a session's id or file.")],
    out: Annotated[Path | None, typer.Option(help="The page to write (default: its name with .html).")] = None,
    limit: Annotated[int, typer.Option(min=1, max=MOST, help="Conversations in the page, at most.")] = MOST,
) -> None:
    """Write a run's conversations and tables, or a session, as one page: it opens from disk and needs no network."""
    chosen = shared(source, limit)
    target = writable_file(out or Path(f"{Path(source).resolve().stem}.html"))
    with sharing_bar() as on_progress:
        text = shared_page(chosen, on_progress)
    with whole_file(target) as file:
        file.write(text)
    size = target.stat().st_size / 1e6
    console().print(f"saved {target}: {chosen.facts}, {size:.1f} MB, opens from disk", highlight=False)
