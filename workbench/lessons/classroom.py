"""A class on the local network: students join with a word and hand in answers, and the teacher watches them arrive.

Students may open only the lessons and the first page. `lessons.exercise` stores their answers as data. The session
cookie is Starlette's. It is signed with the teacher's key, and the key is saved beside the answers. So students stay
joined after a restart.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import re
import secrets
import socket
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from starlette.authentication import SimpleUser
from starlette.datastructures import QueryParams
from starlette.middleware.sessions import SessionMiddleware
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from discover_lib.base.files import outputs_folder
from discover_lib.base.words import counted
from workbench.bar import CLASS, PAGES, bar
from workbench.lessons.exercise import FILE_VARIABLE, Answer, read_answers
from workbench.lessons.exercises import CARDS, EXERCISES
from workbench.views.html import Markup, static_text, tag, templates
from workbench.views.saved_pages import gallery_page, page

WORD_VARIABLE, KEY_VARIABLE = "DISCOVER_CLASS_WORD", "DISCOVER_CLASS_KEY"
JOIN, TEACHER, FRAGMENT = "/class", "/class/teacher", "/class/answers"
FOR_STUDENTS = frozenset(page.file for page in (*CLASS, PAGES[0]))
MAX_NAME, MAX_FORM = 40, 4_000  # characters, bytes
A_TERM = 180 * 24 * 3600  # seconds that a browser remembers its student
WRONG_SECONDS = 0.5  # delay after a wrong word
SHOWN_SENTENCES = 40


@dataclass
class Room:
    """A class: its word, the teacher's key, the file of its answers, and the names in use."""

    word: str
    key: str
    file: Path
    names: set[str] = field(default_factory=set)

    @classmethod
    def open(cls, word: str) -> Room:
        """The room of this word. The same word opens the same file and key again.

        Raises:
            ValueError: a word of fewer than four characters.
        """
        if len(word.strip()) < 4:
            raise ValueError("the word of a class needs at least four characters")
        name = re.sub(r"\W+", "-", word.strip().casefold()).strip("-") or "class"
        file = outputs_folder() / "class" / f"{name}.jsonl"
        return cls(word.strip(), kept_key(file.with_suffix(".key")), file)

    def environment(self) -> dict[str, str]:
        """The variables that tell a server's process about this class."""
        return {WORD_VARIABLE: self.word, KEY_VARIABLE: self.key, FILE_VARIABLE: str(self.file)}

    def name_for(self, wanted: str) -> str:
        """The name, with a number if another student uses it."""
        wanted = " ".join("".join(each for each in wanted if each.isprintable()).split())[:MAX_NAME] or "student"
        name, number = wanted, 2
        while name.casefold() in self.names:
            name, number = f"{wanted} {number}", number + 1
        self.names.add(name.casefold())
        return name


def kept_key(path: Path) -> str:
    """The key in a file that only its owner can read. The first call writes a new key."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(path, os.O_CREAT | os.O_RDWR, 0o600), "r+", encoding="utf-8") as file:
        key = file.read()
        if not key:
            key = secrets.token_urlsafe(24)
            file.write(key)
    return key


def room_of_environment() -> Room:
    """The class that this process serves."""
    file = Path(os.environ[FILE_VARIABLE])
    names = {answer.student.casefold() for answer in read_answers(file)}
    return Room(os.environ[WORD_VARIABLE], os.environ[KEY_VARIABLE], file, names)


async def form_of(request: Request, most: int) -> dict[str, str] | None:
    """The fields of a form, the last of each name; None if it has more than `most` bytes."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > most:
            return None
    given = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)
    return {name: values[-1].replace("\r\n", "\n") for name, values in given.items()}


def own_address() -> str:
    """This machine's address on the local network. Finding it sends no data."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])


class Classroom:
    """Middleware around marimo: all pages need the word of the class."""

    def __init__(self, app: ASGIApp, room: Room) -> None:
        self.notebooks, self.room = app, room
        # Tries from one address wait for each other, so parallel guesses are not faster.
        self.turns: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.inside = SessionMiddleware(
            self.serve, f"cookie {room.key}", session_cookie="discover_class", max_age=A_TERM, same_site="strict"
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.notebooks(scope, receive, send)
        else:
            await self.inside(scope, receive, send)

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        connection = HTTPConnection(scope)
        teacher, name = bool(connection.session.get("teacher")), str(connection.session.get("name", ""))
        files = QueryParams(scope["query_string"]).getlist("file")
        if scope["type"] == "http" and scope["path"].startswith(JOIN):
            response = await self._own_page(Request(scope, receive), teacher)
        elif not teacher and not name:
            response = RedirectResponse(JOIN, 303)
        elif scope["path"] == "/" and not files:
            response = HTMLResponse(gallery_page(only=None if teacher else FOR_STUDENTS, note=_greeting(name, teacher)))
        elif teacher or FOR_STUDENTS.issuperset(files):
            scope["user"] = SimpleUser(name)
            await self.notebooks(scope, receive, send)
            return
        else:
            response = PlainTextResponse("This page is not part of the class.", 403)
        if scope["type"] == "websocket":
            await WebSocketClose(4403)(scope, receive, send)
        else:
            await response(scope, receive, send)

    async def _own_page(self, request: Request, teacher: bool) -> Response:
        path = request.url.path
        if path == JOIN and request.method == "POST":
            return await self._join(request)
        if path == JOIN:
            return HTMLResponse(join_page())
        if path == TEACHER and hmac.compare_digest(
            request.query_params.get("key", "").encode(), self.room.key.encode()
        ):
            request.session["teacher"] = True
            return RedirectResponse(TEACHER, 303)
        if not teacher:
            return RedirectResponse(JOIN, 303)
        board = await asyncio.to_thread(
            board_of, read_answers(self.room.file)
        )  # it plays the conversations that the guesses are about
        return HTMLResponse(str(board) if path == FRAGMENT else teacher_page(self.room.word, board))

    async def _join(self, request: Request) -> Response:
        form = await form_of(request, MAX_FORM)
        if form is None:
            return PlainTextResponse("Your text is too long.", 413)
        given = form.get("word", "").strip().casefold().encode()
        async with self.turns[request.client.host if request.client else ""]:
            if not hmac.compare_digest(given, self.room.word.casefold().encode()):
                await asyncio.sleep(WRONG_SECONDS)
                return HTMLResponse(join_page("This is not the word of this class.", form.get("name", "")), 403)
        request.session["name"] = self.room.name_for(form.get("name", ""))
        return RedirectResponse("/", 303)


# -- pages -------------------------------------------------------------------------------------------------------------


def _greeting(name: str, teacher: bool) -> Markup:
    if teacher:
        return tag("p", "You are the teacher. ", tag("a", "All answers", href=TEACHER), class_="dl-told")
    sees = ". Your teacher sees your guesses and answers. "
    return tag("p", "Hello ", tag("b", name), sees, tag("a", "Not you?", href=JOIN), class_="dl-told")


def join_page(mistake: str = "", name: str = "") -> str:
    """The form for the word of the class and a name. A wrong word keeps the name."""
    return _page("Join the class", mistake=mistake, name=name[:MAX_NAME])


def teacher_page(word: str, board: Markup) -> str:
    """All answers. The page renews them every two seconds."""
    return _page("Answers", static_text("bar.js") + static_text("class_page.js"), word=word, board=board, bar=bar())


def _page(title: str, script: str = "", **values: Any) -> str:
    sheets = ("workbench.css", "gallery.css")
    return page("class_page.html", title, sheets, script, served=True, JOIN=JOIN, MAX_NAME=MAX_NAME, **values)


def board_of(answers: Sequence[Answer]) -> Markup:
    """The answers of each student, the guesses and the explanations. All of it is other people's text, and escaped."""
    board = templates().get_template("class_board.html")
    tries = Counter((answer.student, answer.task) for answer in answers)
    right_last = sorted(answers, key=lambda answer: bool(answer.passed))
    explained = [answer for answer in answers if answer.task.startswith("explain-")][-SHOWN_SENTENCES:]
    values = {
        "students": sorted({answer.student for answer in answers}, key=str.casefold),
        "exercises": list(EXERCISES.values()),
        "best": {(answer.student, answer.task): answer for answer in right_last},
        "tries": tries,
        "said": counted(len(answers), "answer"),
        "guesses": _guesses(answers),
        "explained": [(each.task.removeprefix("explain-"), each.student, each.answer) for each in reversed(explained)],
    }
    return Markup(board.render(values))


def _guesses(answers: Sequence[Answer]) -> list[tuple[str, str, list[tuple[str, int]], str]]:
    """(card, question, first guesses with their counts, the answer), for each card with a guess."""
    firsts: dict[tuple[str, str], str] = {}
    for answer in answers:
        firsts.setdefault((answer.task, answer.student), str(answer.answer)[:120])
    rows = []
    for number, card in CARDS.items():
        counts = Counter(guess for (task, _), guess in firsts.items() if task == f"predict-{number}")
        if counts:
            rows.append((number, card.question, counts.most_common(), card.happened()[0]))
    return rows
