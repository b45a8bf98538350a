"""A headless Chromium that cannot leave this machine, and the workbench's own server, for tests that look at pages."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import SystemRandom
from typing import IO, Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Request, WebSocket, expect, sync_playwright
from waiting import until

# The shell has no windows to draw: a page takes half of the processor time that it takes in the whole browser.
CHROMIUM_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM_OPTIONS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
    # No name and no address but this machine's is found. To hold requests up one by one instead would switch the
    # browser's cache off and take a third of the time of every page.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE ::1, EXCLUDE localhost",
)
PATIENCE = 120_000  # ms; a busy machine answers late, and that is no failure
LOOPBACK = {"127.0.0.1", "localhost", "::1"}
IN_PAGE = {"about", "blob", "data"}  # schemes that ask nobody


def find_chromium() -> str | None:
    """Path of a Chromium: `$CHROMIUM` if it is set, else the first of the usual names; None if there is none."""
    if named := os.environ.get("CHROMIUM"):
        return shutil.which(named)
    return next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A headless Chromium."""
    path = find_chromium()
    assert path, f"no Chromium on this machine: set CHROMIUM to its path, or install one of {CHROMIUM_NAMES}"
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as play, play.chromium.launch(executable_path=path, args=list(CHROMIUM_OPTIONS)) as running:
        yield running


def fresh_profile(browser: Browser, width: int = 1400, height: int = 900, **options: Any) -> BrowserContext:
    """A browser profile without a history."""
    # Service workers would fetch behind the back of `asked_outside`.
    profile = browser.new_context(viewport={"width": width, "height": height}, service_workers="block", **options)
    profile.set_default_timeout(PATIENCE)
    return profile


def stays_here(url: str) -> bool:
    """True if asking for `url` does not leave this machine."""
    parts = urlsplit(url)
    return parts.scheme in IN_PAGE or parts.hostname in LOOPBACK


def asked_outside(context: BrowserContext) -> list[str]:
    """A list that gets the URLs outside this machine that the pages of `context` ask for; none is reached."""
    attempted: list[str] = []

    def note(request: Request | WebSocket) -> None:
        if not stays_here(request.url):
            attempted.append(request.url)

    context.on("request", note)
    context.on("page", lambda page: page.on("websocket", note))
    return attempted


def free_port() -> int:
    """A port of localhost that nobody listens on right now.

    It lies below the ports that Linux gives to clients: while a server is down, no call of a test can take its port.
    """
    while True:
        port = SystemRandom().randrange(12_000, 32_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


@dataclass
class Server:
    """A running workbench: its address, its runs, and what it has written to its error stream so far."""

    url: str
    process: subprocess.Popen[bytes]
    errors_file: IO[bytes] = field(repr=False)
    outputs: Path = field(default_factory=Path)

    @property
    def errors(self) -> str:
        return Path(self.errors_file.name).read_text(errors="replace")


def answers(url: str) -> bool:
    """True if a server answers at `url`, be it with an error page, which the test is going to see."""
    try:
        urllib.request.urlopen(url, timeout=30).close()
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


@contextmanager
def workbench(*options: str, **environment: str) -> Iterator[Server]:
    """Run `discover open` on a free port, with `environment` beside ours; yield once it answers, and end it afterwards.

    If it ends early, an assertion fails with its error stream.
    """
    port = free_port()
    command = [str(Path(sys.executable).parent / "discover"), "open", "--port", str(port), *options]
    # The command `true` stands in for a browser: no window on anyone's desk.
    quiet = {**os.environ, "BROWSER": "true", **environment}
    quiet.pop("PYTHONDONTWRITEBYTECODE", None)  # as `make open`: Python may keep what it has compiled
    with tempfile.NamedTemporaryFile(prefix="workbench-", suffix=".log") as log:
        process = subprocess.Popen(
            command, env=quiet, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log, start_new_session=True
        )
        server = Server(f"http://127.0.0.1:{port}", process, log)

        def is_there() -> bool:
            assert process.poll() is None, f"`discover open` ended with {process.returncode}:\n{server.errors}"
            return answers(server.url)

        try:
            until(is_there, 120)
            yield server
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the server and what it started; it leads a session of its own, so nothing else is hit."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(timeout=60)
            return
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


def missing_here() -> list[str]:
    """What the tests need of this machine that no package of Python brings, and how Debian brings it."""
    missing = [] if find_chromium() else ["Chromium (or its path in CHROMIUM): apt-get install chromium-headless-shell"]
    return missing + ([] if shutil.which("npm") else ["npm: apt-get install npm"])


if __name__ == "__main__":
    sys.exit("\n".join(f"make test needs {line}" for line in missing_here()) or 0)
