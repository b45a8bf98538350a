"""How long until an evaluation of a thousand conversations is open on its page, and until a number is drilled into?

    python benchmarks/evaluate_page.py [--times 3]

Nine scripted assistants meet 56 artifacts twice (1,008 conversations).  Opening is timed from the request for the page
to the answer and the table of results on screen, first in a new server, then in a server that has opened the page.
Drilling down is timed from the click on a number to its conversation on page 61.  There, a choice of another assistant
is timed until both are side by side.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from browser import CHROMIUM_OPTIONS, find_chromium, workbench

from discover_lib.engines.miniature.assistants import POOL
from discover_lib.runs.evaluation import lay_out_evaluation
from discover_lib.runs.options import RunOptions, execute

OPEN_SECONDS, DRILL_SECONDS = 3.0, 1.0
WAIT = 120_000


def make_run(folder: Path) -> None:
    folder.mkdir(parents=True)
    run = lay_out_evaluation(RunOptions(POOL, artifacts=56, trials=2), ["svg_drawing"])
    execute(run, folder, concurrency=os.cpu_count() or 1)


@contextmanager
def page_of(browser: Browser) -> Iterator[Page]:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    yield page
    page.close()


def seconds_to_open(page: Page, url: str) -> float:
    began = time.perf_counter()
    page.goto(url)
    page.locator(".ds-answer").wait_for(timeout=WAIT)
    page.locator(".ds-results").wait_for(timeout=WAIT)
    return time.perf_counter() - began


def seconds_to_drill(page: Page, url: str, place: int) -> tuple[float, float]:
    """On the opened page: from a press on a number to its conversation on page 61, from there to another beside it."""
    page.get_by_role("heading", name="Evaluate others").wait_for(timeout=WAIT)  # nothing of the opening goes on
    began = time.perf_counter()
    page.locator(".ds-results .ds-cell").nth(place).click()
    page.get_by_role("heading", name=re.compile("^Behind a number")).wait_for(timeout=WAIT)
    page.locator(".dl-outline >> nth=0").wait_for(timeout=WAIT)
    number = time.perf_counter() - began
    page.get_by_role("heading", name="How they go about it").wait_for(timeout=WAIT)
    began = time.perf_counter()
    page.get_by_label("against", exact=True).select_option(index=1)
    page.locator(".ds-pair >> nth=0").wait_for(timeout=WAIT)
    pair = time.perf_counter() - began
    seconds_to_open(page, url)
    return number, pair


def told(what: str, taken: list[float], limit: float) -> bool:
    median = statistics.median(taken)
    print(f"{what:44} median {median:.2f} s, slowest {max(taken):.2f} s, {len(taken)} times; limit {limit:.0f} s")
    return median < limit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=3)
    options = parser.parse_args()
    cold, warm, cells, pairs = [], [], [], []
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        folder = Path(scratch) / "thousand"
        make_run(folder)
        os.environ["DISCOVER_OUTPUTS"] = str(folder.parent)
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(CHROMIUM_OPTIONS))
        for _ in range(options.times):
            with workbench() as server:
                url = f"{server.url}/?file=6_compare.py&run={folder.name}"
                for times in (cold, warm):
                    with page_of(browser) as page:
                        times.append(seconds_to_open(page, url))
                        if times is warm:
                            for place in range(2, 5):
                                cell, pair = seconds_to_drill(page, url, place)
                                cells.append(cell)
                                pairs.append(pair)
        browser.close()
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    print(f"load of this machine, {os.cpu_count()} cores: {load}")
    kept = [
        told("opening, in a server just started", cold, OPEN_SECONDS),
        told("opening again", warm, OPEN_SECONDS),
        told("a number → its conversation, on page 61", cells, OPEN_SECONDS),
        told("another assistant → both side by side", pairs, DRILL_SECONDS),
    ]
    sys.exit(not all(kept))


if __name__ == "__main__":
    main()
