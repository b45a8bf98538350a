"""The table of trained assistants in docs/results.md, from finished runs of `discover miniature`.

    .venv/bin/discover miniature --seed 0 --run outputs/miniature-0
    .venv/bin/python benchmarks/trained.py outputs/miniature-0 outputs/miniature-1 [--write] [--keep]

Reads `results.json` of each run without new computations.  `--keep` copies the small files (results, times, the report)
to `docs/results/miniature/`, with ids as the first command above would make them.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pages import put

from discover_lib.metrics.intervals import share_of
from discover_lib.metrics.results import MEASURE, ScopeResults
from discover_lib.paper import BASE, RESULTS, TIMES, VARIANTS

REPOSITORY = Path(__file__).resolve().parent.parent
PAGE, KEPT = REPOSITORY / "docs" / "results.md", REPOSITORY / "docs" / "results" / "miniature"
COLUMNS = ("discovery", "proportion", "satisfaction", "interactivity", "tokens", "reward")
LAST = VARIANTS[-1].label
COPIED = "draft"  # what the base is pretrained to behave like


def scopes(part: Mapping[str, Any]) -> dict[str, ScopeResults]:
    return {each["scope"]: ScopeResults.from_dict(each) for each in part["scopes"]}


def table(scope: ScopeResults, broken: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    yield "| assistant | " + " | ".join(MEASURE[name].label for name in COLUMNS) + " | broken replies |"
    yield "|---" * (len(COLUMNS) + 2) + "|"
    for name in sorted(scope.assistants, key=lambda name: -scope.table[name]["discovery"].mean):
        cells = [str(scope.table[name][column]) for column in COLUMNS]
        yield f"| {name} | " + " | ".join(cells) + f" | {percent(broken[name])} |"


def percent(counts: Mapping[str, int]) -> str:
    """The share in the whole evaluation, for any scope."""
    if not counts["replies"]:
        return ""
    share = share_of(counts["broken"], counts["replies"])
    return (
        f"{100 * counts['broken'] / counts['replies']:.1f}% [{100 * share.low:.1f}, {100 * share.high:.1f}]"
        if counts["broken"]
        else "0"
    )


def against(scope: ScopeResults, measure: str, ours: str, theirs: str) -> str:
    """`ours − theirs` with its interval, in words where the two cannot be told apart."""
    found = scope.comparison(measure, ours, theirs)
    assert found is not None
    sign = 1 if found.ours == ours else -1
    low, high = sorted(sign * (bound or 0.0) for bound in (found.difference.low, found.difference.high))
    mean, whole = sign * found.difference.mean, scope.table[theirs][measure].mean
    share = f" ({100 * mean / whole:+.0f}% of {theirs}'s mean)" if whole else ""
    told = "" if found.distinguishable else ", not distinguishable"
    return f"{mean:+.2f} [{low:+.2f}, {high:+.2f}]{share}{told}"


def sentences(scope: ScopeResults) -> Iterator[str]:
    yield (
        f"{LAST} − base: discovery (eq. 4) {against(scope, 'discovery', LAST, BASE)}; share found "
        f"{against(scope, 'proportion', LAST, BASE)}; thousand tokens {against(scope, 'tokens', LAST, BASE)}; "
        f"satisfaction {against(scope, 'satisfaction', LAST, BASE)}."
    )
    yield (
        f"{LAST} − {COPIED}, the script that the base imitates: "
        f"discovery {against(scope, 'discovery', LAST, COPIED)}; "
        f"satisfaction {against(scope, 'satisfaction', LAST, COPIED)}."
    )
    yield (
        f"{LAST} − {VARIANTS[-2].label}: discovery {against(scope, 'discovery', LAST, VARIANTS[-2].label)}; "
        f"{LAST} − adaptive: {against(scope, 'discovery', LAST, 'adaptive')}."
    )


def told(folder: Path) -> str:
    found = json.loads((folder / RESULTS).read_text("utf-8"))
    options, times = found["options"], json.loads((folder / TIMES).read_text("utf-8"))
    main, unseen = scopes(found["evaluation"]), scopes(found["generalisation"])
    everything = main["all"]
    lines = [
        f"**Seed {options['seed']}**: {everything.artifacts} artifacts, {everything.users} users, of "
        f"{len(options['domains'])} domains together; {sum(times.values()) / 60:.1f} minutes.",
        "",
        *table(everything, found["evaluation"]["broken"]),
        "",
        *(line for sentence in sentences(everything) for line in (sentence, "")),
        f"By domain, {LAST} − base in discovery: "
        + "; ".join(f"{name} {against(each, 'discovery', LAST, BASE)}" for name, each in main.items() if name != "all")
        + ".",
        "",
        f"{LAST} − base in discovery, on kinds of artifact that no training stage saw ({unseen['all'].users} users): "
        f"{against(unseen['all'], 'discovery', LAST, BASE)} all together; "
        + "; ".join(
            f"{name} {against(each, 'discovery', LAST, BASE)}" for name, each in unseen.items() if name != "all"
        )
        + ".",
    ]
    return "\n".join(lines)


def keep(folder: Path) -> None:
    seed = json.loads((folder / RESULTS).read_text("utf-8"))["options"]["seed"]
    target = KEPT / f"seed-{seed}"
    target.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(folder / TIMES, target / TIMES)
    here, there = (quote(f"hf:{path}/", safe="") for path in (folder, Path("outputs") / folder.name))
    for name in (RESULTS, "report.html"):  # ids name adapters by their folders, which are of one machine
        (target / name).write_text((folder / name).read_text("utf-8").replace(here, there), encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/results.md")
    parser.add_argument("--keep", action="store_true", help="copy results and report to docs/results/miniature/")
    options = parser.parse_args(arguments)
    text = "\n\n".join(map(told, options.runs))
    print(text)
    if options.write:
        put(PAGE, "trained", text)
    if options.keep:
        for run in options.runs:
            keep(run)


if __name__ == "__main__":
    main()
