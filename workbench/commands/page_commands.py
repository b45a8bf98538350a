"""`discover site` and `discover share`: pages for people without an installation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import whole_file, writable, writable_file
from discover_lib.cli.common import progress
from workbench.sharing import MOST, shared
from workbench.site.site_files import build_site
from workbench.views.saved_pages import shared_page


def site(
    out: Annotated[
        Path | None, typer.Option(help="Folder of the website (default: site). Its files are replaced.")
    ] = None,
    pyodide: Annotated[
        Path | None, typer.Option(help="Folder of the npm package pyodide (default: download it).")
    ] = None,
    project: Annotated[str, typer.Option(metavar="URL", help="Project address, linked at the foot of each page.")] = "",
) -> None:
    """Build the story and the simulator as static pages that run the library in the browser."""
    if project and not project.startswith(("https://", "http://")):
        raise DiscoverError(f"--project {project}: not a web address; start it with https://")
    folder = writable(out or Path("site"))
    files = build_site(folder, pyodide, project)
    size = sum(path.stat().st_size for path in files) / 1e6
    typer.echo(f"saved {len(files)} files, {size:.1f} MB; serve them with: python -m http.server -d {folder}")


def share(
    source: Annotated[str, typer.Argument(metavar="RUN|SESSION", help="Run folder, session ID or session file.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Web page to write (default: the source's name with .html).")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=MOST, help="Maximum number of conversations in the page.")] = MOST,
) -> None:
    """Save a run's conversations and tables, or a session, as one web page that opens without a network."""
    chosen = shared(source, limit)
    target = writable_file(out or Path(f"{Path(source).resolve().stem}.html"))
    with progress("conversations") as on_progress:
        text = shared_page(chosen, on_progress)
    with whole_file(target) as file:
        file.write(text)
    typer.echo(f"saved {target}: {chosen.facts}, {target.stat().st_size / 1e6:.1f} MB, opens from disk")
