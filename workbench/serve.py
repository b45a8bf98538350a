"""Serving the notebooks on localhost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import webbrowser
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import REPOSITORY
from discover_lib.cli.localhost import HOST
from workbench.bar import PAGES

if TYPE_CHECKING:
    from workbench.lessons.classroom import Room

EVERYWHERE = "0.0.0.0"
START_SECONDS = 60.0
ENDINGS = (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM))
END_SECONDS = 5.0  # for the server and what it started to end when asked; then they are killed


def notebooks_folder() -> Path:
    folder = REPOSITORY / "notebooks"
    if not folder.is_dir():
        raise DiscoverError(f"no notebooks at {folder}; run this from a checkout of the project (make open)")
    return folder


def serve_command(port: int, *, edit: bool, browser: bool, host: str = HOST) -> list[str]:
    """The marimo command.  It binds to localhost, for a class to the local network; editing is behind marimo's token.

    For editing marimo itself prints the address with that token, and opens the browser there.
    """
    quiet, verb = ([], "edit") if edit else (["--quiet"], "run")
    server = [sys.executable, "-m", "workbench.notebook_server", "marimo", *quiet, "--log-level", "error"]
    command = [*server, verb, str(notebooks_folder())]
    headless = [] if edit and browser else ["--headless"]
    # It would refuse the form with which students come in, for want of a header that only marimo's own pages send.
    unguarded = ["--no-skew-protection"] if host == EVERYWHERE else []
    return [*command, "--host", host, "--port", str(port), *headless, *unguarded]


def serve(port: int, *, edit: bool, browser: bool, room: Room | None = None) -> int:
    """Serve until interrupted; returns the server's exit code.  Nothing that it started outlives it.

    With a `room` the local network is served, and whoever knows its word comes in.

    Raises:
        DiscoverError: the server did not come up.
    """
    for ending in ENDINGS:
        signal.signal(ending, _end_quietly)  # also where a shell had it ignored, as it has for what runs in background
    url = f"http://{HOST}:{port}"
    try:
        command = serve_command(port, edit=edit, browser=browser, host=EVERYWHERE if room else HOST)
        with _server(command, room.environment() if room else {}) as server:
            if is_up(url, server):
                if room:
                    _announce_class(port, room)
                elif not edit:  # marimo prints the address with its token, and opens the browser there
                    _announce(url, browser)
                return server.wait()
    except KeyboardInterrupt:
        return 0
    if server.returncode is None:
        raise DiscoverError(f"the notebook server did not answer within {START_SECONDS:.0f} s")
    raise DiscoverError(f"the notebook server stopped at once (exit code {server.returncode}); see the lines above")


def _announce(url: str, browser: bool) -> None:
    print(f"the workbench is open at {url}  (first page: {url}/?file={PAGES[0].file}; Ctrl-C ends it)", flush=True)
    if browser:
        webbrowser.open(url)


def _announce_class(port: int, room: Room) -> None:
    from workbench.lessons.classroom import TEACHER, own_address

    print(f"students open    http://{own_address()}:{port}", flush=True)
    print(f"the word         {room.word}", flush=True)
    print(f"you alone open   http://{HOST}:{port}{TEACHER}?key={room.key}", flush=True)
    print(f"answers go to    {room.file}  (Ctrl-C ends the class; the same command goes on)", flush=True)


def _end_quietly(number: int, frame: object) -> None:
    """Leave through `finally`, so that the server ends with us.

    A closing terminal sends its signal to the whole group, and make passes its own on: the second one must not break
    off the clean-up that the first began.
    """
    for ending in ENDINGS:
        signal.signal(ending, signal.SIG_IGN)
    raise KeyboardInterrupt


@contextmanager
def _server(command: list[str], environment: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """The notebook server, ended with all that it started: kernels and terminals are processes of their own.

    In a session of its own it does not see Ctrl-C, and is ended by us, in silence.
    """
    import psutil

    server = subprocess.Popen(command, cwd=REPOSITORY, env={**os.environ, **environment}, start_new_session=True)
    try:
        yield server
    finally:
        try:
            processes = [psutil.Process(server.pid), *psutil.Process(server.pid).children(recursive=True)]
        except psutil.NoSuchProcess:
            processes = []
        server.terminate()
        _, alive = psutil.wait_procs(processes, END_SECONDS)
        for process in alive:
            process.kill()
        server.wait()


def is_up(url: str, server: subprocess.Popen[bytes]) -> bool:
    """Wait until the server answers; False if it ended, or did not in time."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and server.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=2):
                return True
        except urllib.error.HTTPError:
            return True  # marimo wants a token first
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    return False


@contextmanager
def serving(app: Any, host: str = "127.0.0.1", port: int = 0) -> Iterator[str]:
    """An ASGI application in a thread of this process; yields its address.

    Raises:
        OSError: nothing can be served there.
    """
    import uvicorn

    config = uvicorn.Config(app, host=host, port=port, log_level="warning", access_log=False, server_header=False)
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    while not running.started:
        if not thread.is_alive():
            raise OSError(f"nothing can be served at {host}:{port}")
        time.sleep(0.01)
    chosen = running.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://{host}:{chosen}"
    finally:
        running.should_exit = True
        thread.join(timeout=10)
