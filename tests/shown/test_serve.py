"""`discover open` as a process: it ends with all that it started, and says what is not installed."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest
from browser import answers, free_port
from waiting import until

from discover_lib.base.errors import DiscoverError
from workbench import serve

COMMAND = [sys.executable, "-c", "from workbench.main import main; main()", "open", "--no-browser"]


@contextmanager
def opened(*options: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """`discover open` with SIGINT ignored, as a shell leaves it to what it begins in the background; and its port."""
    port = free_port()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = subprocess.Popen(
            [*COMMAND, "--port", str(port), *options], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
    finally:
        signal.signal(signal.SIGINT, before)
    try:
        yield process, port
    finally:
        for left in [*psutil.Process(process.pid).children(recursive=True)] if process.poll() is None else []:
            left.kill()
        process.kill()
        process.communicate()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "signals"),
    [
        ((), [signal.SIGINT]),
        (("--edit",), [signal.SIGTERM]),
        ((), [signal.SIGHUP, signal.SIGTERM]),  # as a closing terminal does it
        ((), [signal.SIGKILL]),
    ],
    ids=["run", "edit", "in haste", "killed"],
)
def test_ended_it_leaves_no_process_behind(options: tuple[str, ...], signals: list[signal.Signals]) -> None:
    with opened(*options) as (process, port):
        until(lambda: answers(f"http://127.0.0.1:{port}"))  # for editing, marimo wants a token first
        started = psutil.Process(process.pid).children(recursive=True)
        assert any("marimo" in child.cmdline() for child in started)
        for number in signals:
            process.send_signal(number)
            time.sleep(0.05)
        assert process.wait(timeout=60) == (-signal.SIGKILL if signals == [signal.SIGKILL] else 0)
        _, alive = psutil.wait_procs(started, timeout=60)
        for left in alive:
            left.kill()
        assert alive == []


def test_a_package_that_is_not_here_is_named_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    serve.check_packages()
    monkeypatch.setattr(serve, "find_spec", lambda module: None if module == "yaml" else module)
    with pytest.raises(DiscoverError, match=r"^not installed: pyyaml; 'make open'"):
        serve.check_packages()
