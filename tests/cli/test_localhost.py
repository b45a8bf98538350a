"""Pages of other sites, which a browser lets speak to localhost, get nothing out of the workbench's servers."""

import base64
import os
from contextlib import closing
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest
from browser import Server
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect

from discover_lib.cli.localhost import HOSTS_VARIABLE, OwnPages, is_this_machine


async def talk(socket: WebSocket) -> None:
    await socket.accept()
    await socket.send_text("a run's figures")
    await socket.close()


SERVED = Starlette(
    routes=[Route("/", lambda _: PlainTextResponse("here"), methods=["GET", "POST"]), WebSocketRoute("/ws", talk)]
)


def asked(headers: dict[str, str], local: bool = True) -> tuple[bool, bool]:
    """Whether a web socket opens and whether a change is taken, for what asks with these headers."""
    client = TestClient(OwnPages(SERVED, local))
    try:
        with client.websocket_connect("/ws", headers=headers) as opened:
            heard = opened.receive_text() == "a run's figures"
    except WebSocketDisconnect:
        heard = False
    return heard, client.post("/", headers=headers).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "127.0.0.1:2718"},  # a program
        {"Host": "127.0.0.1:2718", "Origin": "http://127.0.0.1:2718"},
        {"Host": "[::1]:2718", "Origin": "http://[::1]:2718"},
        # Behind a proxy that keeps the browser's name in a header of its own.
        {"Host": "localhost:2718", "Origin": "https://me-2718.dev", "X-Forwarded-Host": "me-2718.dev"},
    ],
)
def test_its_own_pages_and_programs_are_served(headers: dict[str, str]) -> None:
    assert asked(headers) == (True, True)


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "127.0.0.1:2718", "Origin": "http://evil.example"},
        {"Host": "127.0.0.1:2718", "Origin": "null"},  # a file, or a frame without a site
        {"Host": "127.0.0.1:2718", "Origin": "http://127.0.0.1:9999"},  # what else is served on this machine
        {"Host": "127.0.0.1:2718", "Origin": "http://127.0.0.1:2718.evil.example"},
        {"Host": "evil.example:2718", "Origin": "http://evil.example:2718"},  # a name that was made to point here
        {"Host": "evil.example", "Origin": "http://evil.example", "X-Forwarded-Host": "evil.example"},
    ],
)
def test_pages_of_others_are_refused(headers: dict[str, str]) -> None:
    assert asked(headers) == (False, False)
    assert TestClient(OwnPages(SERVED)).get("/", headers=headers).text == "here"  # which the page cannot read


def test_a_class_is_reached_under_any_name_and_by_its_own_pages_alone() -> None:
    assert asked({"Host": "10.0.0.7:2718", "Origin": "http://10.0.0.7:2718"}, local=False) == (True, True)
    assert asked({"Host": "10.0.0.7:2718", "Origin": "http://10.0.0.7:80"}, local=False) == (False, False)


def test_a_proxy_of_ones_own_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    headers = {"Host": "hub.example", "Origin": "https://hub.example"}
    assert asked(headers) == (False, False)
    monkeypatch.setenv(HOSTS_VARIABLE, "other.example, Hub.example")
    assert asked(headers) == (True, True)
    assert asked({"Host": "evil.example", "Origin": "https://evil.example"}) == (False, False)


@pytest.mark.parametrize("name", ["", "localhost.evil.example", "0.0.0.0", "10.0.0.1", "127.1.evil", "2130706433"])
def test_what_is_not_this_machine(name: str) -> None:
    assert not is_this_machine(name)


@pytest.mark.browser  # one server for all tests that ask it
def test_the_workbench_opens_no_socket_for_another_site(server: Server) -> None:
    host = urlsplit(server.url).netloc
    assert answer_to_socket(host, f"http://{host}") == 101
    assert answer_to_socket(host, "http://evil.example") == 403


def answer_to_socket(host: str, origin: str) -> int:
    """The status that a server gives a browser that wants a web socket for a page of `origin`."""
    wanted = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    wanted |= {"Origin": origin, "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode()}
    with closing(HTTPConnection(host, timeout=60)) as line:
        line.request("GET", f"/ws?session_id=s_{os.urandom(3).hex()}&file=1_start.py", headers=wanted)
        return line.getresponse().status
