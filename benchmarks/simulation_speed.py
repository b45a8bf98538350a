"""A whole `discover simulate` beside the bare loop of the same assistants, in processor time, on one core.

    .venv/bin/python benchmarks/simulation_speed.py [--times 3]

The whole command is timed with its child processes: the start of Python, the plan, every turn, the store, the results
and the table on screen.  The loop is only `run_conversation` over the same users, without a start, trees or a store.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from discover_lib.core.rollout import run_conversation
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.assistants import scripted_assistant
from discover_lib.engines.miniature.lexicon import DOMAINS
from discover_lib.runs.options import RunOptions, lay_out
from discover_lib.runs.store import RunStore

ASSISTANTS, ARTIFACTS, TRIALS = ("draft", "adaptive"), 100, 3
ROOT = Path(__file__).resolve().parent.parent
OURS = (sys.executable, "-c", "from workbench.main import main; main()")
# As installed: what Python compiles it keeps, or a checkout whose modules were never compiled pays 0.1 s a command.
_ENVIRONMENT = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")}


def command_seconds(domain: str) -> tuple[float, int]:
    """Processor seconds of the whole command and its children, and the turns that it made."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "run"
        names = [part for name in ASSISTANTS for part in ("--assistant", name)]
        counts = ["--artifacts", str(ARTIFACTS), "--trials", str(TRIALS)]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [*OURS, "simulate", "--domain", domain, *names, *counts, "--run", str(folder)],
            check=True,
            capture_output=True,
            env=_ENVIRONMENT | {"PYTHONPATH": str(ROOT)},
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        with RunStore.read(folder) as store:
            turns = store.counts().turns
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, turns


def loop_seconds(domain: str) -> float:
    """Processor seconds of the conversations alone; caches are empty at the beginning, as in the command."""
    run = lay_out(RunOptions(ASSISTANTS, domain, artifacts=ARTIFACTS, trials=TRIALS))
    user = engine(domain)
    assistants = {name: scripted_assistant(name, domain) for name in ASSISTANTS}
    began = time.process_time()
    for unit in run.units:
        chosen = [assistants[name] for name in unit.assistants]
        run_conversation(unit.tree, user.judge, user.voice, chosen, rules=unit.options.rules, seed=unit.seed)
    return time.process_time() - began


def loop_in_a_process_of_its_own(domain: str) -> float:
    """`loop_seconds` with empty caches."""
    answer = subprocess.run(
        [sys.executable, __file__, *sys.argv[1:], "--loop", domain],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    return float(answer.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=3, help="runs that each median is taken over")
    parser.add_argument("--loop", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.loop:
        print(loop_seconds(options.loop))
        return
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    for domain in DOMAINS:
        loops, ours, turns = [], [], 0
        for _ in range(options.times):
            loops.append(loop_in_a_process_of_its_own(domain))
            seconds, turns = command_seconds(domain)
            ours.append(seconds)
        loop, whole = statistics.median(loops), statistics.median(ours)
        print(
            f"{domain:18} {turns} turns: loop {loop:.2f} s ({turns / loop:.0f} turns/s), "
            f"whole command {whole:.2f} s ({turns / whole:.0f} turns/s, {loop / whole:.0%} of the loop)"
        )


if __name__ == "__main__":
    main()
