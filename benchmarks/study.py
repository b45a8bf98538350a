"""A hundred participants at a headless Chromium, while the study's server is killed ten times: is anything lost?

    python benchmarks/study.py [--people 100] [--kills 10] [--minimum 3]

One in ten pages is reloaded, one form in twenty is sent over a line that breaks, one person in twenty withdraws in the
middle.  Prints how balanced the assignment is, what is missing of what was sent, what is left of the withdrawn, and
whether a condition's label was served; the exit status is 1 if anything is.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import msgspec
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from browser import CHROMIUM_OPTIONS, find_chromium, free_port
from study_people import PAPER, BrowserPerson, changed, with_chat

from workbench.study.bots import quick
from workbench.study.design import Condition, Study, load_study
from workbench.study.desk import Desk

RELOAD, DROP, WITHDRAW = 0.10, 0.05, 0.05
LABELS = ("arm-kestrel", "arm-plover")


class Killed:
    """The study's server, killed now and then and started again at the same address."""

    def __init__(self, study: Study, folder: Path, kills: int, every_seconds: float) -> None:
        file = folder.with_suffix(".yaml")
        file.write_text(json.dumps(msgspec.to_builtins(study)), "utf-8")
        port = free_port()
        self.url, self.kills, self.every = f"http://127.0.0.1:{port}", 0, every_seconds
        command = [sys.executable, "-m", "workbench.main", "study", "serve", str(file)]
        self._command = [*command, "--folder", str(folder), "--port", str(port)]
        self._process = self._start()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._kill, args=(kills,))
        self._thread.start()

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def _kill(self, kills: int) -> None:
        while self.kills < kills and not self._ended.wait(self.every):
            self._process.kill()
            self._process.wait()
            self.kills += 1
            self._process = self._start()

    def close(self) -> None:
        self._ended.set()
        self._thread.join()
        self._process.kill()
        self._process.wait()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=100)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--minimum", type=int, default=3)
    parser.add_argument("--every", type=float, default=15.0, help="seconds between two kills")
    options = parser.parse_args()
    paper = quick(load_study(PAPER))
    conditions = {LABELS[0]: Condition(assistant="draft"), LABELS[1]: Condition(assistant="adaptive")}
    study = with_chat(changed(paper, conditions=conditions), minimum=options.minimum, maximum=options.minimum + 2)
    rng = random.Random(0)
    leavers = set(rng.sample(range(options.people), round(WITHDRAW * options.people)))
    people: list[BrowserPerson] = []
    ends: Counter[str] = Counter()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        folder = Path(place) / "study"
        server = Killed(study, folder, options.kills, options.every)
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(CHROMIUM_OPTIONS))
        try:
            for number in range(options.people):
                context = browser.new_context()
                page = context.new_page()
                own = random.Random(number)
                person = BrowserPerson(
                    page, f"person{number:03d}x", own, reload=RELOAD, drop=DROP, withdraw=number in leavers
                )
                ends[person.take_part(server.url)] += 1
                people.append(person)
                context.close()
        finally:
            browser.close()
            server.close()
        problems = checked(Desk.read(folder), people, leavers)
    seconds = time.monotonic() - began
    print(f"{options.people} people, {server.kills} kills, {sum(each.reloads for each in people)} reloads,")
    print(f"{sum(each.drops for each in people)} lost lines, {len(leavers)} withdrawn: {dict(ends)}")
    print(f"{seconds:.0f} s, load {os.getloadavg()[0]:.1f}")
    for name, found in problems.items():
        print(f"{name}: {found}")
    return int(any(problems.values()) or server.kills < options.kills)


def checked(desk: Desk, people: list[BrowserPerson], leavers: set[int]) -> dict[str, int]:
    """What is wrong: each number should be 0."""
    stays = [person for number, person in enumerate(people) if number not in leavers]
    progresses = [progress for _, progress in desk.everybody()]
    kept = Counter(exchange.said["text"] for each in progresses for exchange in each.round.exchanges)
    sent = Counter(text for person in stays for text in person.said)
    stored = b"".join(path.read_bytes() for path in desk.folder.rglob("*") if path.is_file())
    names = " ".join(path.name for path in desk.folder.rglob("*"))
    gone = [people[number].name for number in leavers]
    left = sum(name.encode() in stored or desk.salted(name) in names for name in gone)
    served = b"".join(part for person in people for part in person.served)
    slots = sorted(progress.slot for progress in progresses if progress.slot is not None)
    size, arms = len(desk.study.cells), list(desk.study.conditions)
    worst = 0
    for block in range(len(slots) // size):
        inside = Counter(desk.study.cell(slot).arms[0] for slot in slots if slot // size == block)
        worst = max(worst, max(inside[arm] for arm in arms) - min(inside[arm] for arm in arms))
    return {
        "messages sent and not kept": sum((sent - kept).values()),
        "messages kept and not sent": sum((kept - sent).values()),
        "people who stayed and did not finish": sum(each.closed != "done" for each in progresses),
        "difference of arms in a block beyond 1": max(0, worst - 1),
        "withdrawn of whom anything is left": left,
        "labels of conditions that were served": sum(label.encode() in served for label in LABELS),
    }


if __name__ == "__main__":
    raise SystemExit(main())
