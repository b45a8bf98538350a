"""Turns per second of the miniature on one core, per domain and assistant, drawings really parsed.

    .venv/bin/python benchmarks/simulation_speed.py

A turn is everything: the assistant reads the conversation and writes, the reply is rendered, the rendering is judged,
the state advances, the user answers.  Artifacts are new in every conversation, so caches hold only what really repeats.
"""

from __future__ import annotations

import argparse
import statistics
import time

from discover_lib.core.rollout import run_conversation
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import generate_artifacts
from discover_lib.engines.miniature.assistants import SCRIPTED, scripted_assistant
from discover_lib.engines.miniature.lexicon import DOMAINS


def turns_per_second(domain: str, assistant: str, conversations: int) -> float:
    user = engine(domain)
    trees = [user.builder.build(artifact).tree for artifact in generate_artifacts(domain, "train", conversations)]
    chosen = scripted_assistant(assistant, domain)
    began = time.process_time()
    turns = sum(
        len(run_conversation(tree, user.judge, user.voice, [chosen], seed=seed).turns)
        for seed, tree in enumerate(trees)
    )
    return turns / (time.process_time() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--conversations", type=int, default=100)
    options = parser.parse_args()
    print(f"{'':18}" + "".join(f"{name:>10}" for name in (*SCRIPTED, "all")))
    for domain in DOMAINS:
        speeds = [turns_per_second(domain, name, options.conversations) for name in SCRIPTED]
        # Equal numbers of turns by every assistant: the harmonic mean is the speed of the whole.
        print(f"{domain:18}" + "".join(f"{speed:10.0f}" for speed in (*speeds, statistics.harmonic_mean(speeds))))


if __name__ == "__main__":
    main()
