"""Serving the notebooks on localhost."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import webbrowser
from pathlib import Path

from discover_lib.base.errors import DiscoverError
from discover_lib.base.paths import REPOSITORY

HOST = "127.0.0.1"
DEFAULT_PORT = 2718
FIRST_NOTEBOOK = "00_start_here.py"
START_SECONDS = 60.0


class ServeError(DiscoverError):
    """The workbench cannot be served; the message says what to do."""


def notebooks_folder() -> Path:
    folder = REPOSITORY / "notebooks"
    if not folder.is_dir():
        raise ServeError(f"no notebooks at {folder}; run this from a checkout of the project (make open)")
    return folder


def choose_port(wanted: int | None) -> int:
    """The wanted port, or the first free one from the default on.

    Raises:
        ServeError: the wanted port is in use.
    """
    if wanted is not None:
        if not _is_free(wanted):
            raise ServeError(f"port {wanted} is in use; choose another with --port, or leave --port out")
        return wanted
    for port in range(DEFAULT_PORT, DEFAULT_PORT + 100):
        if _is_free(port):
            return port
    raise ServeError(f"no free port between {DEFAULT_PORT} and {DEFAULT_PORT + 99}; choose one with --port")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except (OSError, OverflowError):
            return False
    return True


def serve_command(port: int, *, edit: bool) -> list[str]:
    """The marimo command.  It binds to localhost only; editing is behind marimo's own token."""
    verb = "edit" if edit else "run"
    common = ["--host", HOST, "--port", str(port), "--headless"]
    return [sys.executable, "-m", "marimo", "--quiet", "--log-level", "error", verb, str(notebooks_folder()), *common]


def serve(port: int, *, edit: bool, browser: bool) -> int:
    """Serve until interrupted; returns the server's exit code.

    Raises:
        ServeError: the server did not come up.
    """
    if edit:
        # marimo prints the address with its token itself, and opens the browser there.
        command = [part for part in serve_command(port, edit=True) if part not in ("--quiet", "--headless")]
        return subprocess.call([*command, *([] if browser else ["--headless"])], cwd=REPOSITORY)
    url = f"http://{HOST}:{port}"
    # In a session of its own the server does not see Ctrl-C, and is ended by us, in silence.
    command = serve_command(port, edit=False)
    for ending in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        signal.signal(ending, _end_quietly)
    with subprocess.Popen(command, cwd=REPOSITORY, start_new_session=True) as server:
        try:
            _wait_until_up(url, server)
            print(
                f"the workbench is open at {url}  (first page: {url}/?file={FIRST_NOTEBOOK}; Ctrl-C ends it)",
                flush=True,
            )
            if browser:
                webbrowser.open(f"{url}/?file={FIRST_NOTEBOOK}")
            return server.wait()
        except KeyboardInterrupt:
            return 0
        finally:
            server.terminate()


def _end_quietly(number: int, frame: object) -> None:
    """Leave through `finally`, so that the server ends with us."""
    raise KeyboardInterrupt


def _wait_until_up(url: str, server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        if server.poll() is not None:
            raise ServeError(
                f"the notebook server stopped at once (exit code {server.returncode}); see the lines above"
            )
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise ServeError(f"the notebook server did not answer within {START_SECONDS:.0f} s")
