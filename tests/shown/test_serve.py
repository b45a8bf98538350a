"""`discover open` as a process: it ends with all that it started, and says what is not installed."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from browser import free_port

from workbench import serve
from workbench.serve import CHECK, missing_packages, notice, required_packages

COMMAND = [sys.executable, "-c", "from workbench.main import main; main()", "open", "--no-browser"]


@contextmanager
def opened(*options: str, environment: dict[str, str] | None = None) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """`discover open` with SIGINT ignored, as a shell leaves it to what it begins in the background; and its port."""
    port = free_port()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = subprocess.Popen(
            [*COMMAND, "--port", str(port), *options],
            env=os.environ | (environment or {}),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
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


def answer(port: int, until: str, seconds: float = 60.0) -> tuple[int, str]:
    """Status and text of the first answer that holds some words."""
    end = time.monotonic() + seconds
    text = ""
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}", timeout=30) as response:
                status, text = response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            status, text = error.code, error.read().decode()
        except OSError:
            time.sleep(0.1)
            continue
        if until in text:
            return status, text
        time.sleep(0.1)
    raise AssertionError(f"no answer with {until!r}, only {text[:300]!r}")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "number"), [((), signal.SIGINT), (("--edit",), signal.SIGTERM)], ids=["run", "edit"]
)
def test_ended_it_leaves_no_process_behind_and_frees_the_port(options: tuple[str, ...], number: signal.Signals) -> None:
    with opened(*options) as (process, port):
        answer(port, "")
        started = psutil.Process(process.pid).children(recursive=True)
        assert any("marimo" in child.cmdline() for child in started)
        process.send_signal(number)
        assert process.wait(timeout=60) == 0
        _, alive = psutil.wait_procs(started, timeout=60)
        assert alive == []
        with pytest.raises(OSError):
            urllib.request.urlopen(f"http://127.0.0.1:{port}", timeout=2)


@pytest.mark.slow
@pytest.mark.parametrize("numbers", [(signal.SIGHUP, signal.SIGTERM), (signal.SIGKILL,)])
def test_ended_in_haste_it_leaves_no_process_behind(numbers: tuple[signal.Signals, ...]) -> None:
    """As a closing terminal or a supervisor does it: more than one signal in a row, or one that cannot be answered."""
    with opened() as (process, port):
        answer(port, "")
        started = psutil.Process(process.pid).children(recursive=True)
        assert any("marimo" in child.cmdline() for child in started)
        for number in numbers:
            process.send_signal(number)
            time.sleep(0.05)
        _, alive = psutil.wait_procs(started, timeout=60)
        for left in alive:
            left.kill()
        assert alive == []


@pytest.mark.slow
def test_in_a_half_installed_environment_the_page_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "plotly.py").write_text("raise ImportError('half of it is missing')")
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    with opened(environment={"PYTHONPATH": path}) as (process, port):
        status, page = answer(port, "not fully installed")
        assert status == 503 and "plotly&gt;=" in page and "half of it is missing" in page
        assert "-m pip install --force-reinstall &#x27;plotly&gt;=" in page
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0
        assert process.stderr is not None and "plotly cannot be imported" in process.stderr.read()


def test_what_the_project_needs_is_here_under_the_names_that_are_looked_for() -> None:
    modules = list(required_packages())
    assert {"yaml", "dotenv", "json_repair", "marimo"} <= set(modules)
    done = subprocess.run(
        [sys.executable, "-c", CHECK, json.dumps([[*modules, "nowhere"], modules])],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout) == {"nowhere": "ModuleNotFoundError: No module named 'nowhere'"}


def test_the_notice_escapes_what_an_import_says() -> None:
    line, page = notice({"yaml": "ImportError: <b>"})
    assert "yaml cannot be imported (ImportError: <b>)" in line and "pyyaml>=6" in line
    assert "<b>pyyaml" in page and "ImportError: &lt;b&gt;" in page


def test_a_package_that_is_not_here_at_all_is_found_without_importing_any(monkeypatch: pytest.MonkeyPatch) -> None:
    assert missing_packages() == {}
    monkeypatch.setattr(serve, "required_packages", lambda: {"yaml": "pyyaml>=6", "nowhere": "nowhere>=1"})
    assert missing_packages() == {"nowhere": "No module named 'nowhere'"}
