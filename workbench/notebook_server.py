"""The notebook server with the workbench's own front door: `python -m workbench.notebook_server marimo run …`.

marimo serves the notebooks; a middleware answers the bare address with the gallery and, where a class is on, lets in
who knows its word (`workbench.lessons.classroom`).  Another one lets people read what a page is about while the browser
makes it (`workbench.first_sight`).  The first of all refuses what pages of other sites ask for
(`discover_lib.base.localhost`).  All of them are put in through marimo's registries.
"""

from __future__ import annotations

import ast
import os
import signal
import sys
import threading
import time
from typing import Any

from starlette.datastructures import QueryParams
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from discover_lib.base.localhost import OwnPages
from workbench.first_sight import FirstSight
from workbench.serve import notebooks_folder
from workbench.views.gallery import gallery_page

OF_A_CLASS = "DISCOVER_CLASS_"  # how the names of what a class's server finds in its environment begin
PARENT_SECONDS = 1.0  # how often the server looks whether the command that began it is still there


class FrontDoor:
    """Answers the bare address with the gallery; everything else is marimo's."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == "/" and "file" not in QueryParams(scope["query_string"]):
            await HTMLResponse(gallery_page())(scope, receive, send)
        else:
            await self.app(scope, receive, send)


def text_of_notebook(name: str) -> str:
    """The text of the notebook that a page of this name shows, empty where there is none."""
    folder = notebooks_folder()
    found = (path for path in folder.rglob("*.py") if path.relative_to(folder).as_posix() == name)
    return next((path.read_text("utf-8") for path in found), "")


def parse_one_at_a_time() -> None:
    """Have Python make one tree of syntax at a time, where two threads that make them at once get a SystemError.

    Every page is a thread that does so as it is opened, and some imports do; Python is mended from 3.12 on.
    """
    if sys.version_info >= (3, 12):
        return
    alone, parse = threading.RLock(), ast.parse

    def parse_alone(*arguments: Any, **options: Any) -> Any:
        with alone:
            return parse(*arguments, **options)

    ast.parse = parse_alone


def end_with_parent() -> None:
    """End this server once the process that began it is gone, however that ended: a killed one cannot end it."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_SECONDS)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


def main() -> None:
    from marimo._cli.cli import main as marimo_command
    from marimo._config.config import DEFAULT_CONFIG
    from marimo._server.registry import MIDDLEWARE_REGISTRY

    parse_one_at_a_time()
    end_with_parent()
    # As the gallery and the reports: light or dark as the system is.  Who has chosen a theme in marimo.toml keeps it.
    DEFAULT_CONFIG["display"]["theme"] = "system"
    local = not os.environ.get(f"{OF_A_CLASS}WORD")
    MIDDLEWARE_REGISTRY.register("own pages", Middleware(OwnPages, local=local))
    MIDDLEWARE_REGISTRY.register("discover", door())
    MIDDLEWARE_REGISTRY.register("first sight", Middleware(FirstSight, text_of=text_of_notebook))
    sys.argv = sys.argv[1:]
    marimo_command()


def door() -> Middleware:
    """The front door: a class's where one is on."""
    if any(name.startswith(OF_A_CLASS) for name in os.environ):
        from workbench.lessons.classroom import Classroom, room_of_environment  # imports the lessons

        if room := room_of_environment():
            return Middleware(Classroom, room=room)
    return Middleware(FrontDoor)


if __name__ == "__main__":
    main()
