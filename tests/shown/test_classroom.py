"""A class: nobody comes in without the word, students reach the lessons alone, and no answer is lost."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Coroutine
from pathlib import Path

import httpx
import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocketDisconnect

from workbench.lessons.classroom import FOR_STUDENTS, Classroom, Room, board_of
from workbench.lessons.exercise import FILE_VARIABLE, Outcome, hand_in, read_answers


async def notebooks(scope: Scope, receive: Receive, send: Send) -> None:
    """Stands where marimo stands: says who asks for what."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
        await send({"type": "websocket.send", "text": scope["user"].display_name})
        await send({"type": "websocket.close"})
    else:
        await PlainTextResponse(f"{scope['user'].display_name} at {scope['path']}")(scope, receive, send)


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room("Harbour", "the-key", tmp_path / "class" / "harbour.jsonl")


@pytest.fixture
def classroom(room: Room) -> Classroom:
    return Classroom(notebooks, room)


def visitor(classroom: Classroom) -> TestClient:
    return TestClient(classroom, follow_redirects=False)


def joined(classroom: Classroom, name: str, word: str = " harbour ") -> TestClient:
    client = visitor(classroom)
    assert client.post("/class", data={"word": word, "name": name}).status_code == 303
    return client


@pytest.mark.parametrize("path", ["/", "/?file=class/1_asking.py", "/api/status", "/assets/x.js", "/class/teacher"])
def test_without_the_word_every_address_leads_to_the_door(classroom: Classroom, path: str) -> None:
    answer = visitor(classroom).get(path)
    assert answer.status_code == 303 and answer.headers["location"] == "/class"


def test_without_the_word_no_socket_opens(classroom: Classroom) -> None:
    with pytest.raises(WebSocketDisconnect), visitor(classroom).websocket_connect("/ws?file=class/1_asking.py"):
        pass


@pytest.mark.slow
def test_a_wrong_word_is_told_so_and_costs_time(classroom: Classroom) -> None:
    client, began = visitor(classroom), time.monotonic()
    answer = client.post("/class", data={"word": "port", "name": "Kim"})
    assert answer.status_code == 403 and "not the word" in answer.text and time.monotonic() - began >= 0.5
    assert 'value="Kim"' in answer.text  # the name need not be typed again
    assert client.get("/").status_code == 303


@pytest.mark.slow
def test_many_guesses_at_once_find_the_word_no_sooner_and_hold_up_nobody_else(classroom: Classroom) -> None:
    def come_in(word: str, address: str) -> Coroutine[None, None, tuple[int, float]]:
        async def answered() -> tuple[int, float]:
            transport = httpx.ASGITransport(classroom, client=(address, 1))
            async with httpx.AsyncClient(transport=transport, base_url="http://class") as client:
                answer = await client.post("/class", data={"word": word, "name": "Kim"})
                return answer.status_code, time.monotonic() - began

        return answered()

    async def at_once() -> list[tuple[int, float]]:
        guesses = [come_in(word, "10.0.0.6") for word in ("port", "pier", "quay", "harbour")]
        return await asyncio.gather(*guesses, come_in("harbour", "10.0.0.7"))

    began = time.monotonic()
    *wrong, (found, after), (other, soon) = asyncio.run(at_once())
    assert [code for code, _ in wrong] == [403, 403, 403] and (found, other) == (303, 303)
    assert after >= 1.5 and soon < after - 0.5, "another address waits for nobody"


def test_students_see_the_lessons_and_the_first_page_alone(classroom: Classroom) -> None:
    kim = joined(classroom, "Kim")
    page = kim.get("/").text
    assert "Hello <b>Kim</b>" in page and page.count("<li>") == len(FOR_STUDENTS) == 6
    assert kim.get("/?file=class/3_length.py").text == "Kim at /"
    assert kim.get("/?file=20_simulator.py").status_code == 403
    assert kim.get("/?file=class/3_length.py&file=65_audit.py").status_code == 403
    assert kim.get("/?file=../../etc/passwd").status_code == 403
    with kim.websocket_connect("/ws?file=class/3_length.py") as socket:
        assert socket.receive_text() == "Kim"
    with pytest.raises(WebSocketDisconnect), kim.websocket_connect("/ws?file=4_data.py"):
        pass


def test_the_teacher_comes_by_the_key_and_may_open_every_page(classroom: Classroom) -> None:
    teacher = visitor(classroom)
    assert teacher.get("/class/teacher?key=wrong").headers["location"] == "/class"
    assert teacher.get("/class/teacher?key=the-key").headers["location"] == "/class/teacher"
    assert "Harbour" in teacher.get("/class/teacher").text
    assert teacher.get("/?file=3_conversation.py").status_code == 200
    assert joined(classroom, "Kim").get("/class/answers").headers["location"] == "/class"


def test_a_form_that_is_too_large_is_refused(classroom: Classroom) -> None:
    assert visitor(classroom).post("/class", data={"word": "x" * 5_000}).status_code == 413


def test_after_a_restart_the_class_goes_on_without_the_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCOVER_OUTPUTS", str(tmp_path))
    before, after = Room.open("Night Harbour!"), Room.open("night harbour")
    assert before.file == after.file == tmp_path / "class" / "night-harbour.jsonl" and before.key == after.key
    assert Room.open("day harbour").key != before.key
    assert os.name == "nt" or before.file.with_suffix(".key").stat().st_mode & 0o077 == 0
    kim = joined(Classroom(notebooks, before), "Kim", "night harbour!")
    again = visitor(Classroom(notebooks, after))
    again.cookies = kim.cookies
    assert again.get("/?file=class/1_asking.py").text == "Kim at /"


@pytest.mark.slow
def test_killed_anywhere_nothing_handed_in_is_lost(room: Room) -> None:
    code = """
import sys
from workbench.lessons.exercise import hand_in
for number in range(100_000):
    hand_in("Kim", "tau", number)
    print(number, flush=True)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code], env={**os.environ, FILE_VARIABLE: str(room.file)}, stdout=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    assert process.stdout is not None
    for _ in range(20):
        process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    said = 19 + len(process.stdout.readlines())
    process.wait()
    assert [each.answer for each in read_answers(room.file)][: said + 1] == list(range(said + 1))


def test_the_board_shows_texts_of_others_as_texts(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FILE_VARIABLE, str(room.file))
    evil = "<img src=x onerror=alert(1)>"
    hand_in(evil, "explain-1", evil)
    hand_in(evil, "predict-1", evil)
    hand_in(evil, "reward", evil, Outcome(False, evil))
    board = board_of(read_answers(room.file))
    assert "<img" not in board and board.count("&lt;img") >= 5
    assert "1 student, 3 answers" in board and "… 1" in board
