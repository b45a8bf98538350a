"""A class on the local network: who knows the word comes in, hands in answers, and the teacher sees them come.

Students may open the lessons and the first page, nothing else; what they send is kept as data (`app.answers`).  The
session cookie is Starlette's, signed with the teacher's key, which lies beside the answers: after a restart nobody has
to come in again.
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
from workbench.bar import CLASS, PAGES
from workbench.lessons.class_answers import FILE_VARIABLE, Answer, latest, read_answers
from workbench.lessons.exercises import EXERCISES
from workbench.lessons.predictions import PREDICTIONS
from workbench.views.gallery import gallery_page
from workbench.views.html import EMPTY, Markup, error_line, joined, static_text, table, tag
from workbench.views.saved_pages import page

WORD_VARIABLE, KEY_VARIABLE = "DISCOVER_CLASS_WORD", "DISCOVER_CLASS_KEY"
JOIN, TEACHER, FRAGMENT = "/class", "/class/teacher", "/class/answers"
FOR_STUDENTS = frozenset(page.file for page in (*CLASS, PAGES[0]))
MAX_NAME, MAX_FORM = 40, 4_000  # characters, bytes
A_TERM = 180 * 24 * 3600  # seconds that a browser knows its student for, also after it was quit
WRONG_SECONDS = 0.5  # that a wrong word costs, one after the other
SHOWN_SENTENCES = 40


@dataclass
class Room:
    """A class: its word, the teacher's key, the file of its answers, and the names taken."""

    word: str
    key: str
    file: Path
    names: set[str] = field(default_factory=set)

    @classmethod
    def open(cls, word: str) -> Room:
        """The room of this word: the same class goes on in its file, and its key stays.

        Raises:
            ValueError: a word of fewer than four characters.
        """
        if len(word.strip()) < 4:
            raise ValueError("the word of a class has at least four characters")
        name = re.sub(r"\W+", "-", word.strip().casefold()).strip("-") or "class"
        file = outputs_folder() / "class" / f"{name}.jsonl"
        return cls(word.strip(), kept_key(file.with_suffix(".key")), file)

    def environment(self) -> dict[str, str]:
        """What a server's process has to be told."""
        return {WORD_VARIABLE: self.word, KEY_VARIABLE: self.key, FILE_VARIABLE: str(self.file)}

    def name_for(self, wanted: str) -> str:
        """The name, or with a number where it is taken."""
        wanted = " ".join("".join(each for each in wanted if each.isprintable()).split())[:MAX_NAME] or "somebody"
        name, number = wanted, 2
        while name.casefold() in self.names:
            name, number = f"{wanted} {number}", number + 1
        self.names.add(name.casefold())
        return name


def kept_key(path: Path) -> str:
    """The key in a file that this user alone can read; a new one where there is none yet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(path, os.O_CREAT | os.O_RDWR, 0o600), "r+", encoding="utf-8") as file:
        key = file.read()
        if not key:
            key = secrets.token_urlsafe(24)
            file.write(key)
    return key


def room_of_environment() -> Room | None:
    """The class that this process serves."""
    if not os.environ.get(WORD_VARIABLE):
        return None
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
    """This machine's address on the local network; nothing is sent to find it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])


class Classroom:
    """Middleware around marimo: nothing is reached without the word."""

    def __init__(self, app: ASGIApp, room: Room) -> None:
        self.notebooks, self.room = app, room
        # Tries from one address come one after the other, so that who sends many at once learns nothing sooner.
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
        board = await asyncio.to_thread(board_of, read_answers(self.room.file))  # it plays what was guessed about
        return HTMLResponse(str(board) if path == FRAGMENT else teacher_page(self.room.word, board))

    async def _join(self, request: Request) -> Response:
        form = await form_of(request, MAX_FORM)
        if form is None:
            return PlainTextResponse("too long", 413)
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
    other = tag("a", "Not you?", href=JOIN)
    said = "Hello ", tag("b", name), ". What you guess, check or compare is handed in. ", other
    return tag("p", *said, class_="dl-told")


def join_page(mistake: str = "", name: str = "") -> str:
    """Where a student types the word and a name, which a wrong word does not take away."""
    own = tag("input", name="name", value=name[:MAX_NAME] or None, required=True, maxlength=MAX_NAME)
    fields = (
        tag("label", "The word of the class", tag("input", name="word", required=True, autocomplete="off")),
        tag("label", "Your name, or any other", own),
        tag("button", "Come in", type="submit", class_="ga-start"),
    )
    form = tag("form", *fields, method="post", action=JOIN, class_="cl-join")
    what = tag("p", "What you hand in (guesses, choices, replies) is kept with this name and shown to your teacher.")
    return _page("Come in", error_line(mistake) if mistake else EMPTY, form, what)


def teacher_page(word: str, board: Markup) -> str:
    """All answers, renewed every two seconds."""
    about = tag("p", "The word is ", tag("b", word), ". ", tag("a", "To the pages", href="/"), class_="dl-quiet")
    return _page("Answers", about, tag("div", board, id="cl-board"), script=static_text("class_page.js"))


def _page(title: str, *content: Markup, script: str = "") -> str:
    sheets = ("workbench.css", "gallery.css")
    return page("class_page.html", title, sheets, script, served=True, content=joined(content), own=Markup(script))


def board_of(answers: Sequence[Answer]) -> Markup:
    """Who has done what; what was guessed; what was explained.  All of it is other people's text, and escaped."""
    if not answers:
        return tag("p", "Nothing has been handed in yet.", class_="dl-quiet")
    best, tries = latest(answers), Counter((answer.student, answer.task) for answer in answers)
    students = sorted({answer.student for answer in answers}, key=str.casefold)
    keys = [key for key, exercise in EXERCISES.items() if exercise.form != "code"]
    head = ("", *(tag("abbr", key, title=EXERCISES[key].title) for key in keys), "right")
    rows = []
    for student in students:
        cells = [_cell(best.get((student, key)), tries[student, key]) for key in keys]
        right = sum(bool(best[each].passed) for each in best if each[0] == student)
        rows.append((student, *cells, f"{right}"))
    count = tag(
        "p", f"{len(students)} at work, {counted(len(answers), 'answer')} so far.", class_="dl-quiet", role="status"
    )
    wide = tag("div", table(head, rows), class_="cl-wide", tabindex=0, role="region", aria_label="Who has done what")
    signs = tag("p", "✓ right, … not yet, then the number of tries. Point at one, or at a heading.", class_="dl-quiet")
    return joined([count, wide, signs, _guesses(answers), _sentences(answers)])


def _cell(answer: Answer | None, tries: int) -> Markup:
    if answer is None:
        return tag("span", "–", class_="dl-quiet")
    mark = "✓" if answer.passed else "…"
    title = "right" if answer.passed else answer.hint
    return tag(
        "span",
        f"{mark} {tries}",
        title=f"{title} ({counted(tries, 'try', 'tries')})",
        class_="cl-" + ("right" if answer.passed else "open"),
    )


def _guesses(answers: Sequence[Answer]) -> Markup:
    """Everybody's first guess of each card, made before anything was seen, beside what happened."""
    firsts: dict[tuple[str, str], str] = {}
    for answer in answers:
        if answer.task.startswith("predict-"):
            firsts.setdefault((answer.task, answer.student), str(answer.answer)[:120])
    counts: dict[str, Counter[str]] = {}
    for (task, _), guess in firsts.items():
        counts.setdefault(task.removeprefix("predict-"), Counter())[guess] += 1
    rows = [
        (
            f"Card {card}",
            PREDICTIONS[card].question,
            "; ".join(f"“{guess}”: {n}" for guess, n in counts[card].most_common()),
            PREDICTIONS[card].happened().choice,
        )
        for card in sorted(counts.keys() & PREDICTIONS.keys())
    ]
    head = "", "question", "first guesses", "what happened"
    return tag("h2", "Guesses") + table(head, rows) if rows else EMPTY


def _sentences(answers: Sequence[Answer]) -> Markup:
    said = [answer for answer in answers if answer.task.startswith("explain-")][-SHOWN_SENTENCES:]
    rows = [(f"Card {each.task.removeprefix('explain-')}", each.student, str(each.answer)) for each in reversed(said)]
    return tag("h2", "Explanations, newest first") + table(("", "who", "in one sentence"), rows) if rows else EMPTY
