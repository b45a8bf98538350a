"""What a contrary model costs, and what it loses, over the whole path: built, simulated, scored.

    .venv/bin/python benchmarks/contrary.py                  # 60 artifacts × 5 turns × 2 assistants
    .venv/bin/python benchmarks/contrary.py --artifacts 12

The model rejects an edge of every hierarchy, leaks in every request, cuts a tenth of all replies, and adds to every
answer that can have them stray ids, contradictions, "none" lists and thinking tags (`tests/llm_contrary.py`).  A
willing one plays the same users on the same trees, so that every verdict can be compared.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from discover_lib.core.rollout import MAX_TURNS
from discover_lib.engines.miniature.lexicon import DOMAINS

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from contrary_path import POLICIES, differences, whole_path
from llm_contrary import Contrary, contrary_in_everything

MOST_CALLS = 1.25  # times a willing model's


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--artifacts", type=int, default=60, help="over all domains")
    parser.add_argument("--turns", type=int, default=MAX_TURNS)
    chosen = parser.parse_args()
    each_domain = chosen.artifacts // len(DOMAINS)
    began = time.monotonic()
    sums: Counter[str] = Counter()
    brain_did: Counter[str] = Counter()
    wrong: list[str] = []
    for domain in DOMAINS:
        with tempfile.TemporaryDirectory() as place:
            ours, theirs = Path(place, "contrary"), Path(place, "willing")
            brain = contrary_in_everything()
            contrary = whole_path(brain, domain, each_domain, ours, turns=chosen.turns)
            willing = whole_path(Contrary(), domain, each_domain, theirs, turns=chosen.turns, trees=ours / "trees")
        wrong += differences(contrary.conversations, willing.conversations)
        brain_did.update(brain.counts)
        counted = contrary.played.remarks
        sums.update(
            {
                "trees": len(contrary.report.built),
                "conversations": len(contrary.conversations),
                "failed": contrary.failed + len(contrary.report.failures),
                "verdicts": sum(
                    len(turn.candidate.evaluation.verdicts) if turn.candidate.evaluation else 0
                    for talk in contrary.conversations
                    for turn in talk.turns
                ),
                "calls": contrary.calls,
                "willing calls": willing.calls,
                "gives_stray_ids": counted.get("stray ids", 0),
                "contradicts_itself": contrary.contradictions,
                "cuts_the_tenth": counted.get("cut", 0) + contrary.built.remarks.get("cut", 0),
            }
        )
        print(f"{domain}, building: {contrary.built.line}\n{domain}, playing: {contrary.played.line}", flush=True)
    size = f"{each_domain * len(DOMAINS)} artifacts × {chosen.turns} turns × {len(POLICIES)} assistants"
    print(f"\n{size}, {time.monotonic() - began:.0f} s")
    print(f"trees kept            {sums['trees']} of {each_domain * len(DOMAINS)}")
    print(f"conversations scored  {sums['conversations']}, failed or unscored {sums['failed']}")
    print(f"misread               {len(wrong)} of {sums['verdicts']:,} verdicts, with their replies and messages")
    for habit in ("gives_stray_ids", "contradicts_itself", "cuts_the_tenth"):
        print(f"{habit.replace('_', ' '):22}{brain_did[habit]:,} times, counted {sums[habit]:,}")
    for habit in sorted(brain_did.keys() - {"gives_stray_ids", "contradicts_itself", "cuts_the_tenth"}):
        print(f"{habit.replace('_', ' '):22}{brain_did[habit]:,} times")
    ratio = sums["calls"] / sums["willing calls"]
    print(f"calls                 {sums['calls']:,} against {sums['willing calls']:,}: {ratio:.3f} × (≤ {MOST_CALLS})")
    for line in wrong[:10]:
        print(f"  {line}")
    if wrong or ratio > MOST_CALLS or sums["failed"]:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
