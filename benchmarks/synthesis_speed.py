"""From artifacts to training rows with the miniature: 500 artifacts × 5 turns × 2 assistants, and what comes out.

    .venv/bin/python benchmarks/synthesis_speed.py

Goes the way of the commands: a run in a folder, synthesised by two processes, then SFT, preference and prompt rows of
it, written with their cards.  Prints the seconds of each step and the paper's Table 3.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discover_lib.core.rules import Rules
from discover_lib.dataset.export import RowSet, Source, make_rows, write_rows
from discover_lib.dataset.rows import Kind, RowOptions
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import generate_artifacts
from discover_lib.runs.runner import run_into
from discover_lib.runs.store import RunStore
from discover_lib.runs.units import plan_units
from discover_lib.runs.work import Alone, Processes

KINDS: tuple[Kind, ...] = ("sft", "preference", "prompt")


@contextmanager
def timed(what: str) -> Iterator[None]:
    began = time.perf_counter()
    yield
    print(f"{what:28}{time.perf_counter() - began:8.1f} s", flush=True)


def synthesise(folder: Path, domain: str, assistants: list[str], artifacts: int, processes: int) -> None:
    builder = engine(domain).builder
    trees = {each.id: (domain, builder.build(each).tree) for each in generate_artifacts(domain, "train", artifacts)}
    units = plan_units(trees, assistants, trials=1, turns=5, rules=Rules.paper(), seed=0, candidates=1)
    configuration = {
        "engine": {"judge": "miniature", "voice": "miniature"},
        "rules": Rules.paper().to_dict(),
        "prompts": {},
        "code_version": "benchmark",
    }
    with RunStore.write(folder, configuration) as store:
        run_into(store, units, Processes(processes) if processes > 1 else Alone())


def rows_of(run: Path, out: Path) -> dict[Kind, RowSet]:
    made: dict[Kind, RowSet] = {}
    for kind in KINDS:
        with timed(f"{kind} rows"):
            made[kind] = make_rows(kind, [Source.of_run(run)], RowOptions(text="notation"))
            write_rows(made[kind], out / kind)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--domain", default="svg_drawing")
    parser.add_argument("--assistant", action="append", help="default: draft and adaptive")
    parser.add_argument("--artifacts", type=int, default=500)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        run = Path(place) / "run"
        run.mkdir()
        with timed("all"):
            with timed("synthesis"):
                names = options.assistant or ["draft", "adaptive"]
                synthesise(run, options.domain, names, options.artifacts, options.processes)
            made = rows_of(run, Path(place))
    preference = made["preference"]
    print(f"\n{'Table 3, ' + options.domain:30}mean ± sd over turns [95 % interval over artifacts], or turns")
    for what, figure in preference.table.rows():
        print(f"{what:30}{figure}")
    for kind, rows in made.items():
        dropped = ", ".join(f"{reason} {count}" for reason, count in rows.sieved.counts.items()) or "none"
        print(f"\n{kind}: {len(rows.sieved.kept)} rows of {rows.sieved.considered}; dropped: {dropped}", end="")
    print(f"\n\n{preference.length.sentence}" if preference.length else "")


if __name__ == "__main__":
    main()
