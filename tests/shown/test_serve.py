"""`discover open` as a process: it ends with all that it started, and each page has its stylesheet once."""

import ast
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from browser import answers, free_port
from waiting import until

from workbench import notebook_server as server
from workbench.serve import notebooks_folder
from workbench.views.html import leave_out_sheet, styled, tag

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


NOTEBOOKS = sorted(Path(notebooks_folder()).rglob("*.py"))


def test_a_page_that_has_the_stylesheet_gets_no_second_one_and_other_pages_keep_theirs() -> None:
    def page() -> tuple[str, str]:
        before = styled(tag("b", "here"))
        leave_out_sheet()
        return before, styled(tag("b", "here"))

    with ThreadPoolExecutor(1) as served, ThreadPoolExecutor(1) as other:
        with_sheet, without = served.submit(page).result()
        elsewhere = other.submit(styled, tag("b", "here")).result()
    assert with_sheet.endswith(without) and without == '<div class="dl"><b>here</b></div>'
    assert elsewhere == with_sheet and with_sheet.startswith("<style>")


@pytest.mark.parametrize("page", NOTEBOOKS, ids=lambda page: page.stem)
def test_every_page_has_the_stylesheet_in_its_head_and_leaves_it_out_of_its_outputs(page: Path) -> None:
    text = page.read_text("utf-8")
    assert "workbench/views/static/workbench.css" in text.split("@app.cell")[0]
    assert "page_has_sheet()" in text or page.parent.name == "code"  # whose outputs need no sheet


@pytest.mark.slow
def test_many_threads_make_trees_of_syntax_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ast, "parse", ast.parse)  # put back what is replaced here
    server.parse_one_at_a_time()
    source = (notebooks_folder() / "6_compare.py").read_text(encoding="utf-8")
    with ThreadPoolExecutor(6) as pool:
        trees = list(pool.map(lambda _: ast.parse(source), range(24)))
    assert len({len(tree.body) for tree in trees}) == 1
