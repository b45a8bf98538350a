"""The results in docs/results.md: every scripted assistant on 100 artifacts × 3 trials per domain, under both rules.

    .venv/bin/python benchmarks/results.py            # prints the tables
    .venv/bin/python benchmarks/results.py --write    # puts them between the markers of docs/results.md

Artifacts are those of the evaluation split, which no setting was tuned on.  All assistants meet the same users.
"""

from __future__ import annotations

import argparse
import datetime
import platform
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from pages import put

from discover_lib.core.rules import Rules
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import generate_artifacts
from discover_lib.engines.miniature.assistants import POOL, SCRIPTED, USER_BLIND
from discover_lib.engines.miniature.lexicon import DOMAINS
from discover_lib.metrics.intervals import bootstrap_difference
from discover_lib.metrics.scores import ConversationScores, scores_of
from discover_lib.metrics.summary import Summary, summarise
from discover_lib.runs.units import plan_units, run_unit

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results.md"


ARTIFACTS, TRIALS = 100, 3
Found = dict[str, dict[str, list[float]]]  # assistant → artifact → newly discovered intents per trial


@dataclass(frozen=True)
class Measured:
    """One domain under one set of rules."""

    summaries: dict[str, Summary]
    found: Found


def measure(domain: str, rules: Rules, processes: int) -> Measured:
    builder = engine(domain).builder
    trees = {each.id: (domain, builder.build(each).tree) for each in generate_artifacts(domain, "eval", ARTIFACTS)}
    found: Found = {name: {} for name in SCRIPTED}

    def noted(pool: tuple[str, ...]) -> Iterator[ConversationScores]:
        units = plan_units(trees, pool, trials=TRIALS, turns=5, rules=rules, seed=0)
        with ProcessPoolExecutor(processes) as workers:
            for place, conversation in enumerate(workers.map(run_unit, units, chunksize=8)):
                scores = scores_of(conversation, place)
                found[scores.assistant].setdefault(scores.artifact, []).append(scores.discovered)
                yield scores

    summaries = [each for pool in (POOL, (USER_BLIND,)) for each in summarise(noted(pool))]
    return Measured({each.assistant: each for each in summaries}, found)


def table(domain: str, paper: Measured, authors: Measured) -> str:
    rows = []
    for name in sorted(paper.summaries, key=lambda name: -paper.summaries[name].discovered.mean):
        ours, theirs = paper.summaries[name], authors.summaries[name]
        cells = [
            ours.discovered,
            ours.discovery,
            ours.reward,
            theirs.discovered,
            theirs.discovery,
            theirs.reward,
        ]
        told = ["–" if cell is None else str(cell) for cell in cells]
        rows.append(f"| {name} | " + " | ".join(told) + f" | {ours.tokens.mean:.0f} |")
    hidden = paper.summaries["oracle"].discovered.mean / paper.summaries["oracle"].share.mean
    head = (
        "| assistant | discovered, paper rules | eq. 4 | reward per turn | discovered, authors' rules | eq. 4 "
        "| reward per turn | tokens |"
    )
    title = f"**{domain}** (about {hidden:.0f} hidden intents a user)"
    return "\n".join([title, "", head, "|---|---|---|---|---|---|---|---|", *rows, "", differences(paper, authors)])


def differences(paper: Measured, authors: Measured) -> str:
    """The paired comparisons that the miniature is asked for, in words."""
    sentences = []
    for other in ("draft", "options", "mixed"):
        gaps = []
        for rules, measured in (("paper", paper), ("authors'", authors)):
            gap = bootstrap_difference(measured.found["adaptive"], measured.found[other])
            assert gap.low is not None and gap.high is not None
            verdict = "" if gap.low > 0 or gap.high < 0 else ", not distinguishable"
            gaps.append(f"{gap.mean:+.2f} [{gap.low:+.2f}, {gap.high:+.2f}] ({rules}{verdict})")
        sentences.append(f"Adaptive − {other}: {', '.join(gaps)}.")
    leaks = sum(each.turns_leaking for measured in (paper, authors) for each in measured.summaries.values())
    return f"Paired differences in discovered intents. {' '.join(sentences)} User messages that leaked: {leaks}."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put the tables into docs/results.md")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    began = time.perf_counter()
    tables = []
    for domain in DOMAINS:
        paper, authors = (measure(domain, rules, options.processes) for rules in (Rules.paper(), Rules.authors()))
        tables.append(table(domain, paper, authors))
    note = (
        f"Each domain has {ARTIFACTS} generated artifacts and {TRIALS} trials of each. A conversation has five turns, "
        f"and the seed is 0. Each cell is a mean with its 95% bootstrap interval over artifacts. *Discovered* counts "
        f"hidden intents. Eq. 4 compares {len(POOL)} assistants and leaves out `{USER_BLIND}`, which ignores the user. "
        f"Tokens are notation words × 16; this mean has no interval. `benchmarks/results.py` made the tables. "
        f"Measured {datetime.date.today().isoformat()}, Python {platform.python_version()}, "
        f"{time.perf_counter() - began:.0f} s on {options.processes} cores."
    )
    text = "\n\n".join([note, *tables])
    print(text)
    if options.write:
        put(RESULTS, "results", text)


if __name__ == "__main__":
    main()
