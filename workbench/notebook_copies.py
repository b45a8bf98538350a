"""**Open this page as a notebook**: an editable copy of a page, on an edit server that is started on demand.

The copies are in `outputs/notebooks/`. The edit server listens on localhost, asks for a token, and ends with the
notebook server.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import REPOSITORY, outputs_folder
from discover_lib.cli.localhost import HOST, choose_port, is_this_machine
from workbench.bar import page_of
from workbench.serve import is_up, notebooks_folder
from workbench.views.html import Markup, tag

PATH = "/notebook"  # with the argument `file`
HOME_VARIABLE = "DISCOVER_WORKBENCH"  # tells an edit server the address of the workbench
REFUSED = "A copy opens only from a page of this workbench, for the user who started it."
CELL = '''@app.cell
def change_this_notebook(mo):
    mo.md("""
    **This is your copy of *{title}*.** Change a line of an open cell and run it. {hint}
    The page of the workbench stays as it is. The copy is in `{folder}`.
    """)
    return


'''
_CSS = re.compile(r'css_file="(?:\.\./)+workbench/')
_FIRST_CELL = re.compile(r"^(?:with app\.setup|@app\.)", re.MULTILINE)


def editable(text: str, title: str, folder: Path) -> str:
    """The text of a notebook as a copy in `folder`: a first cell says what to change."""
    text = _CSS.sub(f'css_file="{(REPOSITORY / "workbench").as_posix()}/', text)
    names = [f"`{name}`" for name in open_cells(text)]
    hint = f"Start with {', '.join(names[:3])}." if names else ""
    first = _FIRST_CELL.search(text)
    start = first.start() if first else len(text)
    return text[:start] + CELL.format(title=title, hint=hint, folder=folder) + text[start:]


def open_cells(text: str) -> list[str]:
    """The names of the cells whose code is shown."""
    return re.findall(r"^@app\.cell\ndef (?!import_names)(\w+)", text, re.MULTILINE)


def copied(file: str) -> Path:
    """A fresh copy of a page in `outputs/notebooks/`; an earlier copy stays.

    Raises:
        DiscoverError: there is no such page.
    """
    source = next((path for path in notebooks_folder().rglob("*.py") if _name(path) == file), None)
    if source is None:
        raise DiscoverError(f"there is no page {file!r}")
    folder = outputs_folder() / "notebooks"
    folder.mkdir(parents=True, exist_ok=True)
    stem, number = file.removesuffix(".py").replace("/", "-"), 2
    copy = folder / f"{stem}.py"
    while copy.exists():
        copy, number = folder / f"{stem}-{number}.py", number + 1
    page = page_of(file)
    copy.write_text(editable(source.read_text("utf-8"), page.title if page else file, folder), encoding="utf-8")
    return copy


def _name(path: Path) -> str:
    return path.relative_to(notebooks_folder()).as_posix()


class NotebookCopies:
    """Middleware that answers the button: it copies the page and leads to the copy on the edit server."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._lock = threading.Lock()
        self._server: subprocess.Popen[bytes] | None = None
        self._port, self._token = 0, secrets.token_urlsafe(24)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == PATH:
            response = await self.answer(Request(scope, receive))
            await response(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def answer(self, request: Request) -> Response:
        """A redirect to the copy, with the arguments of the page that asked.

        Browsers say in `Sec-Fetch-Site` whose page asks. No page can change it.
        """
        host, client = request.url.hostname or "", request.client
        own = is_this_machine(host) and request.headers.get("sec-fetch-site") == "same-origin"
        if not own or client is None or not same_user(client.port):
            return PlainTextResponse(REFUSED, 403)
        try:
            copy = copied(request.query_params.get("file", ""))
            await asyncio.to_thread(self.ensure_server, f"http://{request.url.netloc}")
        except DiscoverError as error:
            return PlainTextResponse(str(error), 404)
        asked = dict(parse_qsl(urlsplit(request.headers.get("referer", "")).query)) | {"file": copy.name}
        query = urlencode(asked | {"access_token": self._token})
        return RedirectResponse(f"http://{host}:{self._port}/?{query}", 303)

    def ensure_server(self, home: str) -> None:
        """Start the edit server if none runs, and wait until it answers.

        Raises:
            DiscoverError: it does not answer.
        """
        with self._lock:
            if self._server is not None and self._server.poll() is None:
                return
            self._port = choose_port(None)
            command = [sys.executable, "-m", "workbench.notebook_server", "marimo", "--quiet", "--log-level", "error"]
            command += ["edit", str(outputs_folder() / "notebooks"), "--host", HOST, "--port", str(self._port)]
            command += ["--headless", "--skip-update-check", "--token-password-file", "-"]
            environment = os.environ | {HOME_VARIABLE: home}
            self._server = subprocess.Popen(command, stdin=subprocess.PIPE, cwd=REPOSITORY, env=environment)
            assert self._server.stdin is not None
            self._server.stdin.write(self._token.encode())
            self._server.stdin.close()
            if not is_up(f"http://{HOST}:{self._port}", self._server):
                raise DiscoverError("the edit server did not start")


def same_user(port: int) -> bool:
    """Whether the local client on a port belongs to the user of this process; where Linux does not tell, yes."""
    try:
        lines = Path("/proc/net/tcp").read_text("ascii").splitlines()[1:]
    except OSError:
        return True
    local = f"0100007F:{port:04X}"  # 127.0.0.1, as the kernel writes it
    return {int(fields[7]) for fields in map(str.split, lines) if fields[1] == local} == {os.getuid()}


def copy_button(file: str) -> Markup:
    """The entry of the bar's menu; the copy opens in a tab of its own."""
    return tag("a", "Open this page as a notebook", href=f"{PATH}?file={quote(file)}", target="_blank", class_="open")
