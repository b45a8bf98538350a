"""Training that is killed at random moments, or whose judge fails for minutes: is the adapter the same, at what cost?

    python benchmarks/disturbed.py kills [--kills 20]
    python benchmarks/disturbed.py outage [--minutes 10]

`discover train` takes a tiny model through SFT, DPO, GRPO and GRPO of two turns.  In GRPO a language model judges and
speaks over HTTP.  Each killed run gets SIGKILL once, at a seeded moment within a seeded step (every fifth: while it
loads), and the same command again.  Prints a line for each run.  The exit status is 1 if
an adapter differs from the undisturbed run's by a byte, or if more answers were paid twice than could be in flight.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
import llm_brain
from llm_server import FakeServer, Faults
from training import make_base, make_data, teach

from workbench.main import main as discover

MODEL = "openai/miniature:svg_drawing"
# Each run is a process of its own; what takes longest, importing the libraries, is done once for all of them.
PROCESSES = multiprocessing.get_context("forkserver")
PRELOADED = ("train.grpo.trainer", "train.supervised", "train.access", "cli.train")
PROCESSES.set_forkserver_preload(["__main__", *(f"discover_lib.{name}" for name in PRELOADED)])
WORKERS = 4  # judgements at a time, and so the most that can be in flight when a run is killed
LATENCY_SECONDS = 0.05
STEPS = 6
SHARED = {"per_device": 4, "max_steps": STEPS, "save_steps": 2, "sample_steps": 3, "lora.r": 4, "lora.alpha": 8}
SUPERVISED = SHARED | {"batch": 4, "eval_steps": 3}
POLICY = SHARED | {
    **{"batch": 8, "n_generations": 4, "max_completion": 40, "temperature": 1.3, "workers": WORKERS},
    **{"rounds": 3, "probe_users": 3, "probe_turns": 2},
}


@dataclass(frozen=True)
class Kind:
    """A stage as it is trained here."""

    stage: str
    changes: dict[str, object]
    after: str = ""  # whose adapter it begins with


KINDS = {
    "sft": Kind("sft", SUPERVISED),
    "dpo": Kind("dpo", SUPERVISED, "sft"),
    "grpo": Kind("grpo", POLICY, "dpo"),
    "grpo-2": Kind("grpo", POLICY | {"multi_turn": 2, "own_prefixes": False}, "dpo"),
    "grpo-alone": Kind("grpo", POLICY),
}
KILLED = ("sft", "dpo", "grpo", "grpo-2")


@dataclass(frozen=True)
class Undisturbed:
    """An undisturbed run: seconds to its model's loading and to its end, and paid answers."""

    adapter: bytes
    loading: float
    seconds: float
    answered: int

    @property
    def step(self) -> float:
        return (self.seconds - self.loading) / STEPS


def command(words: list[str], log: str) -> None:
    """Run `discover` with these words in a new process, whose output goes into a file."""
    with Path(log).open("ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    sys.argv = ["discover", *words]
    discover()


@dataclass(frozen=True)
class Bench:
    """A base, rows and the commands on them."""

    folder: Path

    def make(self) -> None:
        make_data(self.folder / "data", artifacts=16)
        teach(make_base(self.folder / "base"), self.folder / "data", steps=80)

    def start(self, kind: Kind, run: Path, server: FakeServer) -> BaseProcess:
        words = ["train", kind.stage, "--data", self.folder / "data" / kind.stage, "--base", self.folder / "base"]
        words += ["--recipe", "miniature", "--run", run]
        words += [word for name, value in kind.changes.items() for word in ("--set", f"{name}={json.dumps(value)}")]
        if kind.after:
            words += ["--adapter", self.folder / "undisturbed" / kind.after]
        if kind.stage == "grpo":
            words += ["--judge", MODEL, "--voice", MODEL, "--api-base", server.api_base]
        run.parent.mkdir(exist_ok=True)
        process = PROCESSES.Process(target=command, args=([str(each) for each in words], f"{run}.txt"))
        process.start()
        return process

    def finish(self, process: BaseProcess, run: Path) -> None:
        process.join()
        if process.exitcode:
            raise SystemExit(f"{run} failed: {Path(f'{run}.txt').read_text()}")

    def undisturbed(self, name: str, server: FakeServer) -> Undisturbed:
        run, before, begun = self.folder / "undisturbed" / name, server.counts["served"], time.monotonic()
        process = self.start(KINDS[name], run, server)
        while process.is_alive() and not loaded(run):
            time.sleep(0.02)
        loading = time.monotonic() - begun
        self.finish(process, run)
        return Undisturbed(adapter(run), loading, time.monotonic() - begun, server.counts["served"] - before)


def loaded(run: Path) -> bool:
    log = run / "log.txt"
    return log.exists() and "trained parameters" in log.read_text()


def adapter(run: Path) -> bytes:
    return (run / "adapter" / "adapter_model.safetensors").read_bytes()


def logged_step(run: Path) -> int:
    path = run / "metrics.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return max((json.loads(line)["step"] for line in lines if line.endswith("}")), default=0)


def kill_once(bench: Bench, name: str, number: int, plain: Undisturbed, rng: random.Random, server: FakeServer) -> bool:
    """One run, killed and resumed; prints its result and returns whether it equals the undisturbed run."""
    kind, run, before = KINDS[name], bench.folder / "killed" / f"{number}-{name}", server.counts["served"]
    begun = time.monotonic()
    process = bench.start(kind, run, server)
    if number % 5 == 4:
        process.join(rng.random() * plain.loading)
    else:
        after, share, loading = rng.randrange(STEPS), rng.random(), begun
        while process.is_alive() and (logged_step(run) < after or not loaded(run)):
            loading = loading if loaded(run) else time.monotonic()
            time.sleep(0.005)
        process.join(share * (time.monotonic() - loading) / max(1, after) if after else share * plain.step)
    process.kill()
    process.join()
    at, saved = logged_step(run), len(list((run / "checkpoints").glob("*")))
    if process.exitcode == 0:  # too late: another moment
        shutil.rmtree(run)
        print(f"   {name} ended before its moment came; once more", flush=True)
        return kill_once(bench, name, number, plain, rng, server)
    moment = f"{time.monotonic() - begun:5.1f} s, step {at} of {STEPS}"
    bench.finish(bench.start(kind, run, server), run)
    twice = server.counts["served"] - before - plain.answered
    same = adapter(run) == plain.adapter
    print(
        f"{number + 1:2} {name:7} killed at {moment}, {saved} checkpoints: "
        f"adapter {'the same' if same else 'DIFFERS'}, {twice} of {plain.answered} answers paid twice",
        flush=True,
    )
    return same and 0 <= twice <= WORKERS


def kills(bench: Bench, count: int, seed: int, server: FakeServer) -> bool:
    plain = {}
    for name in KILLED:
        plain[name] = bench.undisturbed(name, server)
        loading, seconds, answered = plain[name].loading, plain[name].seconds, plain[name].answered
        print(f"   {name:7} undisturbed: {seconds:.1f} s, {loading:.1f} to load, {answered} answers", flush=True)
    rng, names = random.Random(seed), KILLED
    fine = [kill_once(bench, names[at % len(names)], at, plain[names[at % len(names)]], rng, server)
            for at in range(count)]  # fmt: skip
    print(f"{sum(fine)} of {count} runs came out as undisturbed; at most {WORKERS} answers can be in flight")
    return all(fine)


def outage(bench: Bench, minutes: float, server: FakeServer) -> bool:
    plain = bench.undisturbed("grpo-alone", server)
    run, before = bench.folder / "outage", server.counts["served"]
    process = bench.start(KINDS["grpo-alone"], run, server)
    while server.counts["served"] - before < plain.answered / 2:
        time.sleep(0.02)
    server.faults, begun = Faults(rate=1.0, kinds=("503",)), time.monotonic()
    time.sleep(minutes * 60)
    server.faults, failing = Faults(), time.monotonic() - begun
    process.join()
    status, same = process.exitcode, adapter(run) == plain.adapter
    twice = server.counts["served"] - before - plain.answered
    print(
        f"judge failing for {failing:.0f} s from answer {plain.answered // 2} of {plain.answered} on "
        f"({server.counts['503']} × 503): exit {status}, adapter {'the same' if same else 'DIFFERS'}, "
        f"{twice} answers paid twice, {time.monotonic() - begun - failing:.1f} s from the judge's return to the end"
    )
    print("".join(line + "\n" for line in Path(f"{run}.txt").read_text().splitlines() if "answer" in line), end="")
    return status == 0 and same and twice == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("kills", "outage"))
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    os.environ["OPENAI_API_KEY"] = "none"
    with tempfile.TemporaryDirectory() as place, FakeServer(llm_brain.answer, LATENCY_SECONDS) as server:
        bench = Bench(Path(place))
        bench.make()
        warm = PROCESSES.Process(target=time.sleep, args=(0,))  # imports what all others begin with
        warm.start()
        warm.join()
        if options.what == "kills":
            return not kills(bench, options.kills, options.seed, server)
        return not outage(bench, options.minutes, server)


if __name__ == "__main__":
    sys.exit(main())
