"""The limits of one store and one writer, and the cost of a cluster.

    python benchmarks/scale.py WHAT [N] [--folder DIR]

conversations N   N conversations of the miniature on Ray on this machine (two workers); then the run is opened
turns N           a replay of recorded conversations through the real writer into one store, N turns; rate as it grows

Processor time of this process is the driver's and the writer's; wall times are printed with the machine's load.
"""

import argparse
import os
import resource
import shutil
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from discover_lib.metrics.results import results_by_scope
from discover_lib.runs.options import RunOptions, execute, lay_out
from discover_lib.runs.store import RunStore, turn_row
from discover_lib.runs.units import digest_of, run_unit, stored_scores
from discover_lib.runs.work import cluster

OPTIONS = RunOptions(("ask",), domain="svg_drawing", split="train")  # whose conversations compute least: 4 ms
ARTIFACTS = 100
TOGETHER = 200  # conversations committed at once, as the writer does in a fifth of a second of fast workers


class Clock:
    """Processor time of this process and time by the clock since it was made."""

    def __init__(self) -> None:
        self._cpu, self._wall = time.process_time(), time.monotonic()

    def __str__(self) -> str:
        cpu, wall = self.cpu, time.monotonic() - self._wall
        return f"{cpu:.2f} s of processor time, {wall:.1f} s by the clock at load {os.getloadavg()[0]:.0f}"

    @property
    def cpu(self) -> float:
        return time.process_time() - self._cpu


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class Everyone(threading.Thread):
    """Memory and processor time of this process and all below it, Ray's own and its workers, every two seconds."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak, self.cpu, self.over = 0, {}, threading.Event()

    def run(self) -> None:
        import psutil  # Ray needs it too

        own = psutil.Process()
        while not self.over.wait(2):
            shared_once = 0
            for process in (own, *own.children(recursive=True)):
                with suppress(psutil.Error):
                    self.cpu[process.pid] = sum(process.cpu_times()[:2])
                    shared_once += process.memory_full_info().pss
            self.peak = max(self.peak, shared_once)

    def __str__(self) -> str:
        return (
            f"all {len(self.cpu)} processes: {sum(self.cpu.values()):.0f} s, peak {self.peak / 2**20:.0f} MB together"
        )


def conversations(number: int, folder: Path) -> None:
    clock = Clock()
    run = lay_out(replace(OPTIONS, artifacts=ARTIFACTS, trials=number // ARTIFACTS))
    print(f"laid out {len(run.units):,} conversations: {clock}, peak {peak_megabytes():.0f} MB", flush=True)
    import ray

    ray.init(num_cpus=2, log_to_driver=False, logging_level="ERROR", include_dashboard=False)
    clock, told, everyone = Clock(), [0], Everyone()
    everyone.start()

    def on_progress(snapshot: object) -> None:
        finished = snapshot.counts.finished  # type: ignore[attr-defined]
        if finished - told[0] >= number // 10:
            told[0] = finished
            print(f"  {finished:,} in the store: {clock}, peak {peak_megabytes():.0f} MB; {everyone}", flush=True)

    with cluster("ray") as nodes:
        execute(run, folder, spread=nodes, on_progress=on_progress)
        print(f"on Ray: {clock}, peak {peak_megabytes():.0f} MB; {everyone}", flush=True)
    ray.shutdown()
    opened(folder)


def opened(folder: Path) -> None:
    size = sum(path.stat().st_size for path in folder.iterdir())
    with RunStore.read(folder) as store:
        turns = store.counts().turns
        print(f"store: {size / 1e9:.2f} GB, {turns:,} turns, {size / turns / 1000:.1f} kB a turn")
        clock = Clock()
        store.counts()
        print(f"counts: {clock}")
        clock = Clock()
        listed = len(store.listing())
        print(f"listing of {listed:,}: {clock}")
        clock = Clock()
        store.conversation(listed - 1)
        print(f"one conversation: {clock}")
        clock = Clock()
        scores = list(stored_scores(store))
        print(f"all scores: {clock}")
    clock = Clock()
    results_by_scope(scores)
    print(f"results with intervals: {clock}, peak {peak_megabytes():.0f} MB", flush=True)


def turns(number: int, folder: Path) -> None:
    """Recorded conversations again and again, each as a separate unit."""
    run = lay_out(replace(OPTIONS, artifacts=ARTIFACTS, trials=4))
    recorded = [run_unit(unit) for unit in run.units]
    rows = [[turn_row(turn) for turn in talk.turns] for talk in recorded]
    each = sum(map(len, rows)) / len(rows)
    wanted = round(number / each)
    units = [replace(run.units[at % len(recorded)], place=at, trial=at // ARTIFACTS) for at in range(wanted)]
    clock = Clock()
    with RunStore.write(folder, run.configuration) as store:
        store.add_units(units)
        print(f"{wanted:,} conversations planned: {clock}", flush=True)
        whole, tenth = Clock(), Clock()
        for at in range(0, wanted, TOGETHER):
            with store.together():
                for place in range(at, min(wanted, at + TOGETHER)):
                    talk, taken = recorded[place % len(recorded)], rows[place % len(recorded)]
                    store.put_turns(place, taken, talk.stop, digest=digest_of(talk, place))
            if (at + TOGETHER) * 10 // wanted > at * 10 // wanted:
                rate = wanted / 10 * each / tenth.cpu
                print(f"  {(at + TOGETHER) * each:,.0f} turns: {rate:,.0f} turns/s of processor time", flush=True)
                tenth = Clock()
        print(f"{wanted * each:,.0f} turns written: {whole}, peak {peak_megabytes():.0f} MB", flush=True)
    opened(folder)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    whats = {each.__name__: each for each in (conversations, turns)}
    parser.add_argument("what", choices=whats)
    parser.add_argument("number", type=int, nargs="?", default=1000)
    parser.add_argument("--folder", type=Path, help="where stores are made and left; else a temporary one")
    given = parser.parse_args()
    made_here = Path(given.folder or tempfile.mkdtemp())
    made_here.mkdir(parents=True, exist_ok=True)
    try:
        whats[given.what](given.number, made_here)
    finally:
        if not given.folder:
            shutil.rmtree(made_here)
