"""How long from `discover open` to a usable page, on an installed machine, in a headless Chromium?

    python benchmarks/opening.py [--times 3]

The clock starts before the command does.  The browser is sent there once the server answers, as the command itself
does it.  The first page is usable when its story can be played; the simulator when its next turn can be; the page
Compare when the table of an evaluation of 1,008 conversations and its note are there.  Each opening starts a fresh
server, and the browser's cache is empty.  Then the same server opens the page again.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from browser import chromium, workbench

from discover_lib.engines.miniature.assistants import POOL
from discover_lib.runs.evaluation import lay_out_evaluation
from discover_lib.runs.options import RunOptions, execute

RUN = "thousand"
READY = {  # page → what must be visible, seconds within which it should be
    "1_start.py": ("button:has-text('Play') >> nth=0", 5.0),
    "3_conversation.py": ("button:has-text('Next') >> nth=0", 5.0),
    f"6_compare.py&run={RUN}": ("text=Means with 95% intervals >> nth=0", 5.0),
}


def make_run(folder: Path) -> None:
    folder.mkdir()
    run = lay_out_evaluation(RunOptions(POOL, artifacts=56, trials=2), ["svg_drawing"])
    execute(run, folder, concurrency=os.cpu_count() or 1)


def open_page(browser: Browser, url: str, ready: str) -> None:
    page = browser.new_page()
    page.goto(url)
    page.locator(ready).wait_for(timeout=120_000)
    page.close()


def seconds_to_open(browser: Browser, page: str, ready: str) -> tuple[float, float]:
    """By a fresh server from its command on, and by the same server again."""
    began = time.perf_counter()
    with workbench() as server:
        open_page(browser, f"{server.url}/?file={page}", ready)
        opened = time.perf_counter()
        open_page(browser, f"{server.url}/?file={page}", ready)
        return opened - began, time.perf_counter() - opened


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=3)
    times = parser.parse_args().times
    late = []
    with tempfile.TemporaryDirectory() as outputs, chromium() as browser:
        make_run(Path(outputs) / RUN)
        os.environ["DISCOVER_OUTPUTS"] = outputs
        for page, (ready, limit) in READY.items():
            cold, warm = zip(*(seconds_to_open(browser, page, ready) for _ in range(times)), strict=True)
            late += [page] if statistics.median(cold) > limit else []
            first = f"median {statistics.median(cold):.1f} s, slowest {max(cold):.1f} s"
            print(f"{page:30} {first}, {times} openings; again {statistics.median(warm):.1f} s")
    sys.exit(bool(late))


if __name__ == "__main__":
    main()
