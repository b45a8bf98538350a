"""How long from `discover open` to a usable page, on an installed machine, in a headless Chromium?

    python benchmarks/opening.py [--times 3]

The clock starts before the command does.  The browser is sent there once the server answers, as the command itself
does it.  The first page is usable when its story can be played; the simulator when its next turn can be.  Each opening
starts a fresh server, and the browser's cache is empty.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from browser import CHROMIUM_OPTIONS, find_chromium, workbench

LIMIT_SECONDS = 5.0  # for the first notebook
READY = {  # what must be visible, by notebook
    "1_start": "button:has-text('Play') >> nth=0",
    "3_conversation": "button:has-text('Next') >> nth=0",
}


def seconds_to_open(page: Page, notebook: str) -> float:
    began = time.perf_counter()
    with workbench() as server:
        page.goto(f"{server.url}/?file={notebook}.py")
        page.locator(READY[notebook]).wait_for(timeout=60_000)
        return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=3)
    options = parser.parse_args()
    medians = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(CHROMIUM_OPTIONS))
        for notebook in READY:
            taken = []
            for _ in range(options.times):
                page = browser.new_page()
                taken.append(seconds_to_open(page, notebook))
                page.close()
            medians[notebook] = statistics.median(taken)
            print(
                f"{notebook:16} median {medians[notebook]:.1f} s, slowest {max(taken):.1f} s, {options.times} openings"
            )
        browser.close()
    sys.exit(medians["1_start"] > LIMIT_SECONDS)


if __name__ == "__main__":
    main()
