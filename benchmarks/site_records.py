"""Does the library do the same in a browser?  Conversations under Pyodide against CPython: their records, byte by byte.

    python benchmarks/site_records.py [--seeds 100] [--site FOLDER]

Plays seeds × the three main domains × every scripted assistant on both; each record is compared as JSON by its digest.
Needs Node.js; without --site, a site is built first.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

DOMAINS = ("svg_drawing", "creative_writing", "technical_writing")


def digests(first: int, last: int) -> Iterator[str]:
    """A line for each conversation: who, whom, turns, and the digest of its record."""
    from discover_lib.core.rollout import run_conversation
    from discover_lib.engines.miniature import engine
    from discover_lib.engines.miniature.artifacts import generate_artifact
    from discover_lib.engines.miniature.assistants import SCRIPTED, scripted_assistant

    for domain in DOMAINS:
        world = engine(domain)
        for seed in range(first, last):
            tree = world.builder.build(generate_artifact(domain, "eval", seed)).tree
            for name in SCRIPTED:
                assistants = [scripted_assistant(name, domain)]
                conversation = run_conversation(tree, world.judge, world.voice, assistants, seed=seed)
                record = json.dumps(conversation.to_dict(), ensure_ascii=False).encode()
                yield f"{domain} {seed} {name} {len(conversation.turns)} {hashlib.sha256(record).hexdigest()}"


def in_the_browser_s_python(site: Path, first: int, last: int) -> list[str]:
    """The same lines from the Python of a built site, in Node."""
    runner = Path(__file__).resolve().parent.parent / "tools" / "site_python.mjs"
    command = ["node", runner, site, __file__, "--lines", str(first), str(last)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def main() -> None:
    import argparse
    import tempfile
    import time

    from workbench.site.site_files import build_site

    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--seeds", type=int, default=100)
    options.add_argument("--site", type=Path)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        site = given.site or Path(scratch)
        if given.site is None:
            build_site(site)
        begun = time.perf_counter()
        there = in_the_browser_s_python(site, 0, given.seeds)
        took = time.perf_counter() - begun
    here = list(digests(0, given.seeds))
    turns = sum(int(line.split()[3]) for line in here)
    different = [ours for ours, theirs in zip(here, there, strict=True) if ours != theirs]
    print(f"{len(here)} conversations, {turns} turns: {len(different)} differ")
    print(f"under Pyodide in {took:.0f} s ({turns / took:.0f} turns/s), its start included")
    print("\n".join(different[:20]))
    sys.exit(bool(different))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--lines"]:
        print("\n".join(digests(int(sys.argv[2]), int(sys.argv[3]))))
    else:
        main()
