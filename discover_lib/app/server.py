"""The notebook server with the workbench's own front door: `python -m discover_lib.app.server marimo run …`.

marimo serves the notebooks; a middleware answers the bare address with the gallery and, where a class is on, lets in
who knows its word (`discover_lib.app.classroom`).  It is put in through marimo's registry of middleware.
"""

from __future__ import annotations

import sys

from starlette.datastructures import QueryParams
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from discover_lib.app.classroom import Classroom, room_of_environment
from discover_lib.views.gallery import gallery_page


class FrontDoor:
    """Answers the bare address with the gallery; everything else is marimo's."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == "/" and "file" not in QueryParams(scope["query_string"]):
            await HTMLResponse(gallery_page())(scope, receive, send)
        else:
            await self.app(scope, receive, send)


def main() -> None:
    from marimo._cli.cli import main as marimo
    from marimo._config.config import DEFAULT_CONFIG
    from marimo._server.registry import MIDDLEWARE_REGISTRY

    # As the gallery and the reports: light or dark as the system is.  Who has chosen a theme in marimo.toml keeps it.
    DEFAULT_CONFIG["display"]["theme"] = "system"
    room = room_of_environment()
    door = Middleware(Classroom, room=room) if room else Middleware(FrontDoor)
    MIDDLEWARE_REGISTRY.register("discover", door)
    sys.argv = sys.argv[1:]
    marimo()


if __name__ == "__main__":
    main()
