"""`discover open`: the workbench on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from discover_lib.cli.localhost import choose_port
from workbench.serve import notebooks_folder, serve

if TYPE_CHECKING:
    from workbench.lessons.classroom import Room


def open_workbench(
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Port on localhost (default: a free port).")
    ] = None,
    edit: Annotated[bool, typer.Option("--edit", help="Open the notebooks for editing, protected by a token.")] = False,
    browser: Annotated[bool, typer.Option(help="Open the browser.")] = True,
    class_word: Annotated[
        str | None,
        typer.Option("--class", metavar="WORD", help="Serve a class on the local network, protected by this word."),
    ] = None,
) -> None:
    """Open the notebooks in your browser."""
    notebooks_folder()
    room = _room(class_word, edit) if class_word is not None else None
    raise typer.Exit(serve(choose_port(port), edit=edit, browser=browser, room=room))


def _room(word: str, edit: bool) -> Room:
    from workbench.lessons.classroom import Room

    if edit:
        raise typer.BadParameter("a class cannot edit the notebooks; remove --edit", param_hint="--class")
    try:
        return Room.open(word)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--class") from error
