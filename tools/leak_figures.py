"""Precision and recall of the leak rule on the labelled messages, alone and with a model's check of paraphrases.

    python tools/leak_figures.py

`labelled.jsonl` set the rule's bounds, and `fresh.jsonl` led to its present word forms: figures on both are
a calibration.  `after.jsonl` was written on other topics when the rule had been finished, and its figures are the
estimate.  The lines "with the check" use the labels as the check's answers.  They show how much a careful reader
would add, and do not measure any given model.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discover_lib.base.leak_words import find_leaks, giving_away
from discover_lib.metrics.intervals import share_of

FOLDER = Path(__file__).parents[1] / "tests" / "data" / "leaks"
BY_WORDS = ("exact", "inflected", "irregular")
KINDS = (*BY_WORDS, "paraphrase", "innocent")


@dataclass(frozen=True)
class Labelled:
    """One message or first request with its label (`kind`; see tests/data/leaks/README.md)."""

    kind: str
    message: str
    hidden: Mapping[str, str]
    known: Sequence[str]
    pursued: Collection[str] | None

    @property
    def leaks(self) -> bool:
        return self.kind != "innocent"

    @property
    def noticed(self) -> bool:
        """Whether the rule about words says that the message gives an intent away."""
        return bool(giving_away(find_leaks(self.message, self.hidden, self.known), self.pursued))


def calibration() -> list[Labelled]:
    """The messages that the rule's bounds were set by."""
    return [
        Labelled(case["kind"], case["message"], case["hidden"], case["known"], case["pursued"])
        for case in _lines("labelled.jsonl")
    ]


def on_trees(name: str) -> list[Labelled]:
    """The messages "fresh" or "after", each with the hidden intents of its whole tree."""
    trees = json.loads((FOLDER / f"{name}_trees.json").read_text("utf-8"))
    return list(_on_trees(trees, _lines(f"{name}.jsonl")))


def _on_trees(trees: Mapping[str, Mapping[str, object]], cases: Sequence[Mapping[str, Any]]) -> Iterator[Labelled]:
    for case in cases:
        tree = trees[case["tree"]]
        intents = tree["intents"]
        assert isinstance(intents, dict)
        discovered = case["discovered"]
        known = [f"{tree['type']} {tree['topic']}", *(intents[key] for key in discovered), *case.get("said", ())]
        hidden = {key: text for key, text in intents.items() if key not in discovered}
        yield Labelled(case["kind"], case["message"], hidden, known, case.get("pursued"))


def _lines(name: str) -> list[dict]:
    return [json.loads(line) for line in (FOLDER / name).read_text("utf-8").splitlines()]


@dataclass(frozen=True)
class Figures:
    """What was noticed of labelled messages.  Recall by words is over the exact, inflected and irregular ones."""

    noticed: Mapping[str, int]
    total: Mapping[str, int]

    def recall(self, kinds: Sequence[str] = KINDS[:-1]) -> float:
        return sum(self.noticed[kind] for kind in kinds) / sum(self.total[kind] for kind in kinds)

    @property
    def precision(self) -> float:
        hits = sum(self.noticed[kind] for kind in KINDS[:-1])
        return hits / (hits + self.noticed["innocent"])


def figures(cases: Sequence[Labelled], *, with_check: bool = False) -> Figures:
    """The figures of the rule; with the check, every labeled leak is noticed, too."""
    noticed = Counter(case.kind for case in cases if case.noticed or (with_check and case.leaks))
    return Figures(noticed, Counter(case.kind for case in cases))


def _row(name: str, cases: Sequence[Labelled], *, with_check: bool) -> str:
    found = figures(cases, with_check=with_check)
    hits, leaks = (sum(each[kind] for kind in KINDS[:-1]) for each in (found.noticed, found.total))
    kinds = " | ".join(f"{found.noticed[kind]} of {found.total[kind]}" for kind in KINDS)
    return (
        f"| {name} | {kinds} | {share_of(hits, hits + found.noticed['innocent'])} "
        f"| {found.recall(BY_WORDS):.3f} | {share_of(hits, leaks)} |"
    )


def main() -> None:
    sets = {"labelled": calibration(), "fresh": on_trees("fresh"), "after": on_trees("after")}
    columns = ["noticed", *KINDS, "precision", "recall by words", "recall"]
    print(f"| {' | '.join(columns)} |\n|{' --- |' * len(columns)}")
    for name, cases in sets.items():
        print(_row(f"{name}, rule alone (n = {len(cases)})", cases, with_check=False))
        print(_row(f"{name}, with the check as a reader answers it", cases, with_check=True))


if __name__ == "__main__":
    main()
