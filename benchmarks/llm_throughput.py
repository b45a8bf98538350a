"""How near the ideal many conversations with a slow language model come, and the load on this machine.

    .venv/bin/python benchmarks/llm_throughput.py                  # 64 conversations, 1 s a reply
    .venv/bin/python benchmarks/llm_throughput.py --wire litellm   # the same through LiteLLM
    .venv/bin/python benchmarks/llm_throughput.py --conversations 2000 --latency 0.05   # does memory stay flat?

The model is the tests' server in a process of its own, whose answers are the miniature's; everything else is what a
run uses: prompts, structured answers, two candidates a turn judged in parallel, a store on disk.  The ideal counts
waiting for replies and nothing else: three replies one after the other a turn (candidates, judgements, user), without
the user's after the last.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from discover_lib.core.rollout import MAX_TURNS
from discover_lib.core.rules import Rules
from discover_lib.engines.llm.calls.client import ClientSettings, LLMClient
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import SPLIT_SIZES, generate_artifacts
from discover_lib.engines.spec import EngineSpec, RoleEngines
from discover_lib.runs.options import APART_SECONDS, Snapshot, run_into
from discover_lib.runs.outcomes import Outcomes
from discover_lib.runs.store import RunStore
from discover_lib.runs.units import Unit, plan_units
from discover_lib.runs.work import Threads

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from llm_server import ServerProcess

DOMAIN = "creative_writing"
USER_MODEL = f"openai/miniature:{DOMAIN}"
CANDIDATES = (f"{USER_MODEL}:draft", f"{USER_MODEL}:adaptive")
MARKS = (0.1, 0.25, 0.5, 0.75, 1.0)  # shares of the work at which the memory in use is printed
FLAT = 0.05  # by how much memory may differ between the second and the last quarter of the work
FEWEST_SAMPLES = 4  # of each of these quarters


def units_of(conversations: int) -> list[Unit]:
    build = engine(DOMAIN).builder.build
    artifacts = generate_artifacts(DOMAIN, "train", min(conversations, SPLIT_SIZES["train"]))
    trials = -(-conversations // len(artifacts))
    trees = {each.id: (DOMAIN, build(each).tree) for each in artifacts}
    rules = Rules.paper()
    units = plan_units(
        trees, CANDIDATES, trials=trials, turns=MAX_TURNS, rules=rules, seed=0, engine=USER_MODEL, candidates=1
    )
    return units[:conversations]


def ideal_seconds(turns: Sequence[int], conversations_at_once: int, latency: float) -> float:
    """Seconds if only the replies took time; `turns` of each conversation, in the order they are begun."""
    free_at = [0.0] * min(conversations_at_once, len(turns))
    for count in turns:
        place = free_at.index(min(free_at))
        free_at[place] += (3 * count - 1) * latency
    return max(free_at)


def resident_megabytes() -> float:
    """Memory of this process now."""
    import psutil

    return float(psutil.Process().memory_info().rss) / 1e6


class Watch:
    """Samples the memory in use during a run, and prints it when certain shares of the work are done."""

    def __init__(self, conversations: int) -> None:
        self._conversations = conversations
        self._marks = list(MARKS)
        self._samples: list[tuple[float, float]] = []  # share done, megabytes

    def __call__(self, snapshot: Snapshot) -> None:
        share, memory = snapshot.counts.finished / self._conversations, resident_megabytes()
        self._samples.append((share, memory))
        while self._marks and share >= self._marks[0]:
            print(f"  {self._marks.pop(0):4.0%} done, {snapshot.seconds:6.1f} s, {memory:6.1f} MB", flush=True)

    def verdict(self) -> str:
        """Whether memory stayed flat: its mean over the last quarter of the work against that over the second."""
        second, last = (
            [memory for share, memory in self._samples if begin < share <= begin + 0.25] for begin in (0.25, 0.75)
        )
        if min(len(second), len(last)) < FEWEST_SAMPLES:
            return f"memory: no verdict, fewer than {FEWEST_SAMPLES} samples a quarter; take more conversations"
        change = statistics.fmean(last) / statistics.fmean(second) - 1
        return (
            f"memory {'flat' if change <= FLAT else 'GROWS'}: {statistics.fmean(last):.1f} MB in the last quarter "
            f"({len(last)} samples), {statistics.fmean(second):.1f} MB in the second ({len(second)}), {change:+.1%}; "
            f"flat is at most {FLAT:+.0%}"
        )


def measure(options: argparse.Namespace, folder: Path) -> None:
    units = units_of(options.conversations)
    at_once = min(options.at_once, len(units))
    with ServerProcess("llm_brain:answer", options.latency) as server:
        os.environ.update({"OPENAI_BASE_URL": server.api_base, "OPENAI_API_KEY": "unused"})  # for LiteLLM
        address = server.api_base if options.wire == "direct" else None
        settings = ClientSettings(api_base=address, concurrency=at_once * len(CANDIDATES))
        plan = {"rules": Rules.paper().to_dict()}
        with RunStore.write(folder, plan) as store, LLMClient(settings, cache=store.calls) as client:
            engines = RoleEngines(EngineSpec(judge=USER_MODEL, voice=USER_MODEL), client)
            client.warm_up(USER_MODEL)
            watch = Watch(len(units))
            began, processor = time.perf_counter(), time.process_time()
            how = {"engines": engines, "apart": APART_SECONDS, "on_progress": watch}
            report = run_into(store, units, Threads(at_once), **how)
            seconds, processor = time.perf_counter() - began, time.process_time() - processor
            ideal = ideal_seconds([len(each.turns) for each in store.conversations()], at_once, options.latency)
            calls = client.spent.calls
            print(f"{len(units)} conversations, {at_once} at once, {len(CANDIDATES)} candidates, wire {options.wire}")
            print(f"took {seconds:.2f} s, ideal {ideal:.2f} s, efficiency {ideal / seconds:.1%}")
            print(f"{calls} calls, {1000 * processor / calls:.1f} ms of processor time a call")
            print(f"halted {report.halted}, {Outcomes.of_run(store).line}")
            print(watch.verdict())
            if calls != server.counts["served"]:
                raise SystemExit("the server and the client disagree on the number of calls")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--conversations", type=int, default=64)
    parser.add_argument("--at-once", type=int, default=64)
    parser.add_argument("--latency", type=float, default=1.0, help="seconds a reply")
    parser.add_argument("--wire", choices=("direct", "litellm"), default="direct")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(options, Path(folder))


if __name__ == "__main__":
    main()
