"""What a page is about, to be read while the browser still makes the page.

marimo shows nothing until its front end runs, the notebook is imported and its first cell is done: seconds of white.
The question that a page opens with stands in its text, so that the server can send it with the first answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from textwrap import dedent

from starlette.datastructures import MutableHeaders, QueryParams
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from workbench.views.html import Markup, joined, own_markdown, static_text, tag

_MARKDOWN = re.compile(r'^def introduce\(\w*\):\n    mo\.md\("""\n(.*?)"""\)', re.MULTILINE | re.DOTALL)
_WIDTH = re.compile(r'^app = marimo\.App\(\s*width="(\w+)"', re.MULTILINE)
_THEME = re.compile(r'"theme": "(light|dark)"')
_BODY = '<body>\n    <div id="root"></div>'  # of marimo's page
_READING = '"mode": "read"'


class FirstSight:
    """Middleware that puts the bar and a notebook's introduction into the page that marimo answers with.

    Args:
        text_of: takes the name in a page's address; returns the notebook's text, empty if there is none.
        bar_of: takes the name and the theme (None: the system's); returns the bar.
    """

    def __init__(
        self,
        app: ASGIApp,
        text_of: Callable[[str], str],
        bar_of: Callable[[str, str | None], Markup] = lambda name, theme: Markup(),
    ) -> None:
        self.app, self.text_of, self.bar_of = app, text_of, bar_of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        notebook = name = ""
        if scope["type"] == "http" and scope["path"] == "/" and scope["method"] == "GET":
            name = QueryParams(scope["query_string"]).get("file", "")
            notebook = self.text_of(name)
        if not notebook:
            await self.app(scope, receive, send)
            return
        answer: list[Message] = []

        async def gather(message: Message) -> None:
            answer.append(message)

        await self.app(scope, receive, gather)
        start, body = answer[0], b"".join(part.get("body", b"") for part in answer[1:])
        if start["status"] == 200:
            page = with_first_sight(body.decode(), notebook)
            theme = _THEME.search(page)
            bar = self.bar_of(name, theme[1] if theme else None)
            body = page.replace(_BODY, _BODY + str(bar), 1).encode()
            MutableHeaders(scope=start)["Content-Length"] = str(len(body))
        await send(start)
        await send({"type": "http.response.body", "body": body})


def introduction_of(notebook: str) -> Markup:
    """What a notebook's first cell shows, read off its text: a heading and what stands below it."""
    found = _MARKDOWN.search(notebook)
    return own_markdown(dedent(found[1])) if found else Markup()


def with_first_sight(page: str, notebook: str) -> str:
    """marimo's page with a notebook's introduction before all else; it goes as soon as the notebook shows something.

    What stays is a script that finds a server again that was away, and keeps the browser's Back in order.

    A page for editing stays as it is, and so does one that is not laid out as is known here.
    """
    introduction = introduction_of(notebook)
    if not introduction or _BODY not in page or _READING not in page:
        return page
    width, theme = _WIDTH.search(notebook), _THEME.search(page)
    looks = {"data_width": width and width[1], "data_theme": theme and theme[1]}
    prose = None if looks["data_width"] == "full" else "markdown prose dark:prose-invert"  # marimo's, as of its cells
    column = tag("div", tag("div", introduction, class_=prose), _opening(), class_="column")
    sight = tag("div", column, id="first-sight", class_="dl", aria_busy="true", **looks)
    style = tag("style", Markup(static_text("first_sight.css")))
    scripts = (tag("script", Markup(static_text(name))) for name in ("first_sight.js", "lasting.js"))
    return page.replace(_BODY, joined((Markup(_BODY), style, sight, *scripts)), 1)


def _opening() -> Markup:
    return tag("p", tag("i", aria_hidden="true"), "Opening the page …", class_="opening")
