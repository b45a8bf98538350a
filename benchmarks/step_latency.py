"""How long from the click on *Next* to the repainted tree, in a real page in a headless Chromium?

    python benchmarks/step_latency.py [--nodes 20 200 2000] [--clicks 9]

For each size a small marimo app with one `IntentMap` is served on localhost and clicked.  The press steps the map in
its own handler, as the stage does; cells that follow the turn run afterward.  The clock starts at the click event in
the page.  It stops at the first animation frame in which the tree shows the new step (its glow has moved).  Prints the
median, the slowest, and the limit; the exit status is 1 if a median is over its limit.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from browser import chromium, free_port

LIMITS_MS = {20: 80, 200: 80, 2000: 120}

APP = """
import marimo
app = marimo.App(width="full")

@app.cell
def _():
    import os
    import marimo as mo
    from discover_lib import Evaluation, Intent, IntentTree, Rules, Verdict, advance, initial_state
    from workbench.map import IntentMap, MapMoment
    return Evaluation, Intent, IntentMap, IntentTree, MapMoment, Rules, Verdict, advance, initial_state, mo, os

@app.cell
def _(Evaluation, Intent, IntentMap, IntentTree, MapMoment, Rules, Verdict, advance, initial_state, os):
    n_nodes = int(os.environ["NODES"])

    def root(number):
        def node(id, depth):
            below = () if depth == 4 else tuple(node(f"{id}.{k}", depth + 1) for k in ((1, 2) if depth < 3 else (1,)))
            return Intent(id, f"Shows requirement {id} with a text of usual length for one", below)
        return node(str(number), 1)  # 1 + 2 + 4 + 4 = 11 intents

    roots = tuple(root(number) for number in range(1, max(2, round(n_nodes / 11)) + 1))
    tree = IntentTree("drawing", "test", "make one", (), roots)
    rules = Rules.paper()
    states, moves = [initial_state(tree, rules)], [()]
    for intent_id in list(tree.intents)[:40]:
        after, moved = advance(tree, states[-1], Evaluation("artifact", [Verdict(intent_id, True)]), rules)
        states.append(after)
        moves.append(moved)
    drawn = IntentMap(tree, [MapMoment(states[0])], rules=rules)
    return drawn, moves, states, tree

@app.cell
def _(mo):
    get_turn, set_turn = mo.state(0)
    return get_turn, set_turn

@app.cell
def _(MapMoment, drawn, mo, moves, set_turn, states):
    def step_map(presses):
        drawn.show(MapMoment(states[presses], moves[presses], presses))
        set_turn(presses)
        return presses

    step = mo.ui.button(label="Next", value=0, on_click=lambda presses: step_map(presses + 1))
    step
    return

@app.cell
def _(get_turn, mo, tree):
    mo.Html(f'<div id="turn" data-turn="{get_turn()}">turn {get_turn()}, {len(tree)} nodes</div>')
    return

@app.cell
def _(drawn, mo):
    mo.ui.anywidget(drawn.widget)
    return

if __name__ == "__main__":
    app.run()
"""

# Resolves to the milliseconds from the click to the first frame that shows the step.
CLICK = """
() => new Promise((resolve, reject) => {
  const all = (selector, root = document) => {
    const found = [...root.querySelectorAll(selector)];
    for (const node of root.querySelectorAll('*')) if (node.shadowRoot) found.push(...all(selector, node.shadowRoot));
    return found;
  };
  const map = all('.im')[0];
  const drawn = () => [...map.querySelectorAll('[data-moved]')].map(cell => cell.dataset.i).join();
  const before = drawn();
  const button = all('button').find(each => each.textContent.trim() === 'Next');
  const start = performance.now();
  button.click();
  const frame = () => {
    if (drawn() !== before) {
      requestAnimationFrame(() => resolve(performance.now() - start));
    } else if (performance.now() - start > 20000) reject(new Error('no step within 20 s'));
    else requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
})
"""


@contextmanager
def served(n_nodes: int) -> Iterator[str]:
    """The app with a tree of about `n_nodes`, at the address yielded."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        app = Path(folder) / "app.py"
        app.write_text(APP, encoding="utf-8")
        command = [sys.executable, "-m", "marimo", "run", str(app), "--headless", "--port", str(port), "--no-token"]
        environment = {**os.environ, "NODES": str(n_nodes)}
        with (Path(folder) / "log").open("wb") as log:
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        try:
            _wait_for(f"http://127.0.0.1:{port}")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(timeout=10)


def _wait_for(url: str) -> None:
    for _ in range(150):
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except OSError:
            time.sleep(0.2)
    raise TimeoutError(f"no answer from {url}")


def measure(page: Page, url: str, clicks: int) -> list[float]:
    """Milliseconds of each of `clicks` steps, after one that warms up."""
    page.goto(url)
    page.wait_for_selector(".im-cell", timeout=60_000)
    page.wait_for_timeout(1500)
    times = []
    for _ in range(clicks + 1):
        times.append(float(page.evaluate(CLICK)))
        page.wait_for_timeout(400)
    return times[1:]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--nodes", type=int, nargs="+", default=list(LIMITS_MS))
    parser.add_argument("--clicks", type=int, default=9)
    options = parser.parse_args()
    worst = 0
    print(f"{'nodes':>6} {'median ms':>10} {'slowest':>8} {'limit':>6}   ({options.clicks} clicks)")
    with chromium() as browser:
        for n_nodes in options.nodes:
            with served(n_nodes) as url:
                page = browser.new_page(viewport={"width": 1400, "height": 900})
                times = measure(page, url, options.clicks)
                page.close()
            limit = LIMITS_MS.get(n_nodes)
            median = statistics.median(times)
            worst |= limit is not None and median > limit
            print(f"{n_nodes:>6} {median:>10.0f} {max(times):>8.0f} {limit or '-':>6}", flush=True)
    return int(worst)


if __name__ == "__main__":
    sys.exit(main())
