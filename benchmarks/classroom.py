"""A class at work: how long each of many students waits for a check, all of them at it at the same time.

    .venv/bin/python benchmarks/classroom.py --students 30

Serves `discover open --class` on this machine, opens a page a student in one headless Chromium (a context each, so
that every one has a session of its own), and has all of them guess and then check an answer, `--rounds` times: spread
over `--within` seconds, 0 for all in the same instant.
A step is the time from the press of *Check* to the hint on the page, taken in the page itself.  Server and browsers
share the cores, so this is an upper bound: in a class the browsers are on other machines.  The processor time of both
is printed apart, since it does not depend on what else the machine does.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import psutil
from playwright.async_api import Browser, Page, async_playwright

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from browser import CHROMIUM_OPTIONS, find_chromium, free_port

WORD = "benchmark-of-a-class"
LIMIT_SECONDS = 2.0
PATIENCE_MS = 240_000  # to come in: thirty browsers start on the same cores
LESSON = "lessons/3_length.py"
# Set the first number field, press its Check, and wait until the hint names this very answer's outcome.
STEP = """
(tau) => new Promise((resolve, reject) => {
  const all = (root, selector) => {
    let found = [...root.querySelectorAll(selector)];
    for (const element of root.querySelectorAll('*')) {
      if (element.shadowRoot) found = found.concat(all(element.shadowRoot, selector));
    }
    return found;
  };
  const fields = all(document, 'input[type=text]');
  const field = fields[fields.length - 1];
  const buttons = all(document, 'button').filter(each => each.textContent.trim() === 'Check');
  const setter = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set;
  setter.call(field, String(tau));
  field.dispatchEvent(new Event('input', {bubbles: true}));
  field.dispatchEvent(new Event('blur', {bubbles: true}));
  field.dispatchEvent(new FocusEvent('focusout', {bubbles: true}));
  setTimeout(() => {
    const start = performance.now();
    buttons[buttons.length - 1].click();
    const look = () => {
      if (document.body.innerText.includes(`At τ = ${tau} `)) resolve(performance.now() - start);
      else if (performance.now() - start > 60000) reject(new Error('no hint within 60 s'));
      else setTimeout(look, 20);
    };
    look();
  }, 300);
})
"""


async def seat(browser: Browser, url: str, number: int) -> Page:
    """A student who has come in, opened the lesson and made a guess."""
    context = await browser.new_context(viewport={"width": 1024, "height": 768})
    page = await context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    await page.goto(f"{url}/class")
    await page.get_by_label("The word").fill(WORD)
    await page.get_by_label("Your name").fill(f"student {number}")
    await page.get_by_role("button", name="Come in").click()
    await page.goto(f"{url}/?file={LESSON}", wait_until="domcontentloaded")
    await page.get_by_role("radio").nth(number % 4).click()
    await page.get_by_role("button", name="This is my guess").click()
    await page.get_by_role("heading", name="Explain").wait_for()
    return page


def processor_seconds(pid: int) -> float:
    """What a process and all that it started have used so far."""
    family = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    return sum(sum(process.cpu_times()[:2]) for process in family)


async def measure(url: str, server: int, options: argparse.Namespace) -> tuple[list[float], float]:
    """Seconds of every step, and the server's processor time a step."""
    times: list[float] = []
    students, rounds = options.students, options.rounds
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_chromium(), args=list(CHROMIUM_OPTIONS))
        gate = asyncio.Semaphore(options.at_once)

        async def seated(number: int) -> Page:
            async with gate:
                return await seat(browser, url, number)

        began = time.monotonic()
        pages = await asyncio.gather(*map(seated, range(students)))
        print(f"{students} seated in {time.monotonic() - began:.0f} s", flush=True)

        async def step(page: Page, place: int, turn: int) -> float:
            await asyncio.sleep(options.within * place / students)
            return float(await page.evaluate(STEP, 100 + 10 * turn + 20 * place))

        used = processor_seconds(server)
        for turn in range(rounds):
            steps = await asyncio.gather(*(step(page, place, turn) for place, page in enumerate(pages)))
            times += [milliseconds / 1000 for milliseconds in steps]
            print(f"round {turn + 1}: median {statistics.median(steps) / 1000:.2f} s", flush=True)
        used = processor_seconds(server) - used
        await browser.close()
    return sorted(times), used / len(times)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--students", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--at-once", type=int, default=4, help="students who come in at the same time")
    parser.add_argument("--within", type=float, default=20.0, help="seconds over which the checks of a round spread")
    options = parser.parse_args()
    port = free_port()
    code = "from workbench.main import main; main()"
    command = [sys.executable, "-c", code, "open", "--no-browser", "--port", str(port), "--class", WORD]
    folder = tempfile.TemporaryDirectory()
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, "DISCOVER_OUTPUTS": folder.name})
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(url, timeout=5).close()
                break
            except OSError:
                time.sleep(0.2)
        times, used = asyncio.run(measure(url, server.pid, options))
        family = [psutil.Process(server.pid), *psutil.Process(server.pid).children(recursive=True)]
        memory = sum(process.memory_info().rss for process in family) / 1e6
    finally:
        server.terminate()
        server.wait(20)
        folder.cleanup()
    slow = sum(each >= LIMIT_SECONDS for each in times)
    print(
        f"{options.students} students × {options.rounds} checks within {options.within:g} s each: "
        f"median {statistics.median(times):.2f} s, 95 % below "
        f"{times[int(0.95 * len(times))]:.2f} s, slowest {times[-1]:.2f} s; {slow} of {len(times)} took "
        f"{LIMIT_SECONDS:g} s or more; server {1000 * used:.0f} ms of processor time a check, {memory:.0f} MB; "
        f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    )
    return int(slow > 0)


if __name__ == "__main__":
    sys.exit(main())
