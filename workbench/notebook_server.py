"""The notebook server with the workbench's own front door: `python -m workbench.notebook_server marimo run …`.

marimo serves the notebooks. Middleware adds the rest, in this order: refuse requests of other sites
(`discover_lib.cli.localhost`); show the first page, or let in the students of a class (`workbench.lessons.classroom`);
open copies for editing (`workbench.notebook_copies`); put the bar into each page. All are registered with marimo.
"""

from __future__ import annotations

import ast
import os
import re
import signal
import sys
import threading
import time
from typing import Any

from starlette.datastructures import MutableHeaders, QueryParams
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discover_lib.cli.localhost import OwnPages
from workbench.bar import bar, moved
from workbench.notebook_copies import HOME_VARIABLE, NotebookCopies, copy_button
from workbench.views.html import EMPTY, Markup, static_text, tag
from workbench.views.saved_pages import gallery_page

CLASS_WORD = "DISCOVER_CLASS_WORD"  # set in the environment of a class's server
TOKEN = "access_token"  # the argument with which a browser comes in to edit
_THEME = re.compile(r'"theme": "(light|dark)"')
_BODY = '<body>\n    <div id="root"></div>'  # of marimo's page
_READING = '"mode": "read"'
PARENT_SECONDS = 1.0  # how often the server looks whether the command that began it is still there


class FrontDoor:
    """Answers the bare address with the first page, and leads from old addresses to new ones; the rest is marimo's."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        query = scope["query_string"].decode("latin-1") if scope["type"] == "http" and scope["path"] == "/" else None
        answer: Response | None = None
        if query is not None and (now := moved(query)):
            answer = RedirectResponse(f"/?{now}")
        elif query is not None and not {"file", TOKEN} & QueryParams(query).keys():
            home = os.environ.get(HOME_VARIABLE)
            answer = RedirectResponse(home) if home else HTMLResponse(gallery_page())
        await (answer or self.app)(scope, receive, send)


class PageBar:
    """Middleware that puts the bar into the pages that marimo answers with.

    A page for reading gets a script, too. It finds a server again that was away, and keeps the browser's Back in order.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        page = scope["type"] == "http" and scope["path"] == "/" and scope["method"] == "GET"
        name = QueryParams(scope["query_string"]).get("file", "") if page else ""
        if not name:
            await self.app(scope, receive, send)
            return
        answer: list[Message] = []

        async def gather(message: Message) -> None:
            answer.append(message)

        await self.app(scope, receive, gather)
        start, body = answer[0], b"".join(part.get("body", b"") for part in answer[1:])
        if start["status"] == 200:
            body = with_bar(body.decode(), name).encode()
            MutableHeaders(scope=start)["Content-Length"] = str(len(body))
        await send(start)
        await send({"type": "http.response.body", "body": body})


def with_bar(page: str, name: str) -> str:
    """marimo's page of a notebook with the bar above it; a page that is laid out otherwise stays as it is."""
    theme = _THEME.search(page)
    lasting = tag("script", Markup(static_text("lasting.js"))) if _READING in page else EMPTY
    above = bar_of(name, theme[1] if theme else None) + tag("script", Markup(static_text("bar.js"))) + lasting
    return page.replace(_BODY, _BODY + str(above), 1)


def bar_of(name: str, theme: str | None) -> Markup:
    """The bar of a page; that of a copy that is edited says where it is saved."""
    if home := os.environ.get(HOME_VARIABLE):
        return bar(home=home, theme=theme, end=tag("span", f"Your copy: outputs/notebooks/{name}", class_="copy"))
    if is_class():
        from workbench.lessons.classroom import FOR_STUDENTS

        return bar(name, theme=theme, only=FOR_STUDENTS)
    return bar(name, theme=theme, copy=copy_button(name), end=tag("span", "", class_="copy", role="status"))


def is_class() -> bool:
    return CLASS_WORD in os.environ


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
    # Light or dark follows the system. A theme in marimo.toml wins.
    DEFAULT_CONFIG["display"]["theme"] = "system"
    DEFAULT_CONFIG["runtime"]["auto_instantiate"] = True  # a copy opens with its figures
    local = not is_class()
    MIDDLEWARE_REGISTRY.register("own pages", Middleware(OwnPages, local=local))
    MIDDLEWARE_REGISTRY.register("discover", door())
    if local and not os.environ.get(HOME_VARIABLE):
        MIDDLEWARE_REGISTRY.register("copies", Middleware(NotebookCopies))
    MIDDLEWARE_REGISTRY.register("bar", Middleware(PageBar))
    sys.argv = sys.argv[1:]
    marimo_command()


def door() -> Middleware:
    """The front door: a class's where one is on."""
    if is_class():
        from workbench.lessons.classroom import Classroom, room_of_environment  # imports the lessons

        return Middleware(Classroom, room=room_of_environment())
    return Middleware(FrontDoor)


if __name__ == "__main__":
    main()
