"""marimo's front end, sent to the browser with the least waiting.

A page of marimo is 250 small files.  marimo reads each in pieces, through a thread, and has the browser ask about it
again at every opening; a third of them are asked for only once the others have run.  Here a file is sent in one piece,
with leave to keep it (its name holds a digest of its content), and the page names that third from the start.
"""

from __future__ import annotations

import json
import mimetypes
import re
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

PREFIX = "/assets/"
A_YEAR = 365 * 24 * 3600  # seconds: the longest that HTTP provides for
DIGESTED = re.compile(r"[\w.-]+-[\w-]{8}\.(?:js|css|png|svg|woff2?|ttf)")  # file names with a digest of the content
ENTRY = re.compile(r'src="\./assets/(index-[\w-]+\.js)"')
LISTED = re.compile(r"__vite__mapDeps=.*?\.f=(\[.*?\])")  # all that the entry may ask for
RUN_PAGE = re.compile(r"import\(.\./run-page-[\w-]+\.js.\),__vite__mapDeps\((\[[\d,]+\])\)")  # what a page run does


class FrontEnd:
    """Middleware that answers for the front end's files, and tells the browser which of them a notebook needs.

    `on_page` is told of each page that was asked for, once it is answered.  Where marimo's front end is laid out in
    another way than is known here, everything is left to marimo.
    """

    def __init__(self, app: ASGIApp, static: Path, on_page: Callable[[str], None]) -> None:
        self.app, self.static, self.on_page = app, static, on_page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if scope["type"] != "http" or scope["method"] != "GET":
            await self.app(scope, receive, send)
        elif (
            path.startswith(PREFIX)
            and (file := self.file(path.removeprefix(PREFIX)))
            and "range" not in Headers(scope=scope)
        ):
            kind = mimetypes.guess_type(file.name)[0]
            kept = {"Cache-Control": f"public, max-age={A_YEAR}, immutable"}
            await Response(file.read_bytes(), media_type=kind, headers=kept)(scope, receive, send)
        elif path == "/":
            await self.app(scope, receive, self._with_hints(send) if self.hints else send)
            self.on_page(QueryParams(scope["query_string"]).get("file", ""))
        else:
            await self.app(scope, receive, send)

    def file(self, name: str) -> Path | None:
        """The file of the front end, if its name says that its content never changes."""
        path = self.static / "assets" / name
        return path if DIGESTED.fullmatch(name) and path.is_file() else None

    @cached_property
    def hints(self) -> str:
        """A `Link` header of what the browser would ask for last; empty where it cannot be found out."""
        try:
            html = (self.static / "index.html").read_text("utf-8")
            entry = (self.static / "assets" / ENTRY.search(html)[1]).read_text("utf-8")  # type: ignore[index]
            listed = json.loads(LISTED.search(entry)[1])  # type: ignore[index]
            names = [Path(listed[place]).name for place in json.loads(RUN_PAGE.search(entry)[1])]  # type: ignore[index]
        except (OSError, TypeError, ValueError, IndexError):
            return ""
        late = [name for name in names if name not in html and self.file(name)]
        return ", ".join(f"<.{PREFIX}{name}>; {_how(name)}; crossorigin" for name in late)

    def _with_hints(self, send: Send) -> Send:
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 200:
                MutableHeaders(scope=message).append("Link", self.hints)
            await send(message)

        return sent


def _how(name: str) -> str:
    return "rel=preload; as=style" if name.endswith(".css") else "rel=modulepreload"
