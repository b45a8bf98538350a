"""Do the intervals cover, and does the paired test keep its level?  Simulated, and on the miniature's own scores.

    .venv/bin/python benchmarks/intervals_and_tests.py            # about three minutes
    .venv/bin/python benchmarks/intervals_and_tests.py --quick    # fewer simulations, wider bounds

Coverage: artifacts are drawn from a population whose mean is known; how many 95% intervals hold it?  Type-I error: two
assistants that do not differ are compared; how often does the test say that they do?  Power: with the number of
artifacts that `artifacts_needed` names, how often is the difference found?  Every share has its own 95% interval.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from discover_lib.metrics.intervals import bootstrap_mean
from discover_lib.metrics.paired import artifacts_needed, compare, permutation_p
from discover_lib.metrics.results import Pool
from discover_lib.runs.evaluation import lay_out_evaluation, load_scores
from discover_lib.runs.options import RunOptions, execute

TRIALS = 3
HIDDEN = 24  # intents hidden at the start; about what the miniature's trees have
PERMUTATIONS = 2_000
SIZES = (30, 100)
SCORED = ("discovery", "proportion", "satisfaction", "interactivity", "tokens", "reward")

Draw = Callable[[np.random.Generator, int, int], np.ndarray]  # artifacts, trials → scores of that shape


def trials_of(rng: np.random.Generator, chance: np.ndarray, trials: int, intents: int = HIDDEN) -> np.ndarray:
    """Shares of `intents` found in each trial by artifacts with these chances."""
    return rng.binomial(intents, chance[:, None], size=(len(chance), trials)) / intents


SHAPES: dict[str, tuple[Draw, float]] = {  # how scores are drawn, and their true mean
    "normal": (lambda rng, n, k: rng.normal(0, 1, (n, 1)) + rng.normal(0, 0.5, (n, k)), 0.0),
    "share, symmetric": (lambda rng, n, k: trials_of(rng, rng.beta(4, 4, n), k), 0.5),
    "share, low and skewed": (lambda rng, n, k: trials_of(rng, rng.beta(1, 4, n), k), 0.2),
    "share, two camps": (lambda rng, n, k: trials_of(rng, rng.beta(0.4, 0.4, n), k), 0.5),
    "share of four intents, mostly 0": (lambda rng, n, k: trials_of(rng, rng.beta(0.5, 4.5, n), k, intents=4), 0.1),
    "share, mostly 0": (lambda rng, n, k: trials_of(rng, rng.beta(0.5, 4.5, n), k), 0.1),
    "tokens, long tail": (
        lambda rng, n, k: rng.lognormal(0, 0.5, (n, 1)) * rng.lognormal(0, 0.3, (n, k)),
        math.exp((0.5**2 + 0.3**2) / 2),
    ),
}


def per_artifact(rows: np.ndarray) -> dict[str, list[float]]:
    return {f"{place:04}": list(row) for place, row in enumerate(rows)}


def share_line(what: str, hits: int, of: int, low: float, high: float) -> str:
    """A share with its Wilson interval, and whether it is in the expected range.

    A test that raises too few false alarms is conservative, not wrong: where scores take few values, many patterns of
    signs tie with the observed one, and a permutation test counts ties as extreme.
    """
    p, z = hits / of, 1.96
    middle, half = (p + z * z / (2 * of)), z * math.sqrt(p * (1 - p) / of + z * z / (4 * of * of))
    bounds = [(middle + sign * half) / (1 + z * z / of) for sign in (-1, 1)]
    verdict = "ok" if low <= p <= high else "conservative" if p < low and high < 0.5 else "OUTSIDE"
    return f"{what:52} {100 * p:5.1f} %  [{100 * bounds[0]:.1f}, {100 * bounds[1]:.1f}]  n = {of}  {verdict}"


def coverage(draw: Callable[[], np.ndarray], mean: float, simulations: int) -> int:
    hits = 0
    for _ in range(simulations):
        found = bootstrap_mean(per_artifact(draw()))
        assert found.low is not None and found.high is not None
        hits += found.low - 1e-12 <= mean <= found.high + 1e-12
    return hits


def false_alarms(draw: Callable[[], np.ndarray], simulations: int) -> int:
    """`draw` gives differences between two assistants, one an artifact, that are 0 on average."""
    return sum(permutation_p(draw(), permutations=PERMUTATIONS) < 0.05 for _ in range(simulations))


def simulated(simulations: int) -> None:
    rng = np.random.default_rng(0)
    print("\ncoverage of 95% intervals, simulated scores (93 to 97%)")
    for name, (draw, mean) in SHAPES.items():
        for n in SIZES:
            hits = coverage(lambda draw=draw, n=n: draw(rng, n, TRIALS), mean, simulations)
            print(share_line(f"  {name}, {n} artifacts", hits, simulations, 0.93, 0.97))
    print("\ntype-I error of the paired test at 5%, simulated scores (4 to 6%)")
    for name, (draw, _) in SHAPES.items():
        for n in SIZES:

            def differences(draw: Draw = draw, n: int = n) -> np.ndarray:
                both = draw(rng, n, 2 * TRIALS)  # the same artifacts, other trials: what two equal assistants give
                return both[:, :TRIALS].mean(axis=1) - both[:, TRIALS:].mean(axis=1)

            alarms = false_alarms(differences, simulations)
            print(share_line(f"  {name}, {n} artifacts", alarms, simulations, 0.04, 0.06))


def family_wise(simulations: int) -> None:
    """Four equal assistants, six pairs: how often does Holm let at least one through?"""
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(simulations):
        chance = rng.beta(2, 4, 50)
        values = {name: per_artifact(trials_of(rng, chance, TRIALS)) for name in "abcd"}
        hits += any(each.distinguishable for each in compare(values))
    print("\nany false alarm among six pairs of four equal assistants (at most 5%, within simulation error)")
    print(share_line("  Holm, 50 artifacts", hits, simulations, 0.0, 0.05 + 3 * math.sqrt(0.05 * 0.95 / simulations)))


def power(simulations: int) -> None:
    rng = np.random.default_rng(2)
    needed = artifacts_needed(0.2, 0.05)
    assert needed is not None
    hits = sum(
        permutation_p(rng.normal(0.05, 0.2, needed), permutations=PERMUTATIONS) < 0.05 for _ in range(simulations)
    )
    print("\npower with the number of artifacts named (80%)")
    print(share_line(f"  sd 0.20, difference 0.05: {needed} artifacts", hits, simulations, 0.77, 0.83))


def measured(simulations: int, artifacts: int) -> None:
    """The miniature's scores as populations: artifacts are drawn from them with replacement."""
    options = RunOptions(
        ("draft", "options", "adaptive", "mixed"), artifacts=artifacts, trials=2, split="train", seed=7
    )
    with tempfile.TemporaryDirectory() as folder:
        execute(lay_out_evaluation(options, ["svg_drawing"]), Path(folder), concurrency=2)
        pool = Pool(load_scores(Path(folder)))
    rng = np.random.default_rng(3)
    print(f"\ncoverage on the miniature's own scores, {artifacts} artifacts as the population (93 to 97%)")
    for measure in SCORED:
        values = pool.values(measure)
        ours, theirs = values["adaptive"], values["draft"]
        own = np.array([np.mean(ours[each]) for each in sorted(ours)])
        apart = own - np.array([np.mean(theirs[each]) for each in sorted(theirs)])
        for what, rows in (("adaptive", own), ("adaptive − draft", apart)):
            for n in SIZES if np.ptp(rows) else ():
                drawn = lambda rows=rows, n=n: rows[rng.integers(0, len(rows), n)][:, None]  # noqa: E731
                hits = coverage(drawn, rows.mean(), simulations)
                print(share_line(f"  {measure} of {what}, {n} artifacts", hits, simulations, 0.93, 0.97))
    print("\ntype-I error on the miniature's own scores: an assistant's first trial against its second (4 to 6%)")
    for measure in SCORED:
        values = pool.values(measure)["adaptive"]
        halves = np.array([trials[0] - trials[1] for trials in values.values() if len(trials) == 2])
        both = np.concatenate([halves, -halves])  # neither trial is the better one
        for n in SIZES if np.ptp(both) else ():
            alarms = false_alarms(lambda both=both, n=n: both[rng.integers(0, len(both), n)], simulations)
            print(share_line(f"  {measure}, {n} artifacts", alarms, simulations, 0.04, 0.06))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="400 simulations a line instead of 4,000")
    parser.add_argument("--artifacts", type=int, default=200, help="of the miniature's population")
    given = parser.parse_args()
    simulations = 400 if given.quick else 4_000
    began = time.perf_counter()
    simulated(simulations)
    family_wise(simulations // 4)
    power(simulations)
    measured(simulations // 2, given.artifacts)
    print(f"\n{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
