"""Artifacts of the miniature: generated ones by seed (500 to train on, 100 to evaluate on), and those of `data/`.

What they show is drawn evenly, or with a taste: some values are common and most are rare, as in what people make.
Neither judge, voice nor assistants know a taste; it can be learnt from who was pleased by what.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal

from discover_lib.base.seeds import derive_rng, unit_uniform
from discover_lib.core.conversation import Artifact
from discover_lib.engines.miniature.lexicon import Lexicon, LexiconError, load_lexicon
from discover_lib.engines.miniature.rendering import is_drawn, render_artifact

Split = Literal["train", "eval"]
SPLIT_SIZES: dict[Split, int] = {"train": 500, "eval": 100}
EVAL_SHARE = 1 / 6
DIMENSIONS_PER_ARTIFACT = (6, 8)
OPTIONAL_PER_ARTIFACT = (1, 2)  # where an artifact is composed
ADDED = 0.6  # how often something is added that stands beside what was chosen
TASTE_EXPONENT = 1.3  # of Zipf's law: the most liked of 20 values comes up in about a third of the draws
MOST_DRAWS = 10_000  # of one artifact, until its values belong to the split


class Liking:
    """Draws as if all values were liked alike, or with a taste: within each dimension by Zipf's law.

    Args:
        taste: its number, which sets the order; 0 for none.
    """

    def __init__(self, rng: random.Random, domain: str, taste: int) -> None:
        self.rng = rng
        self.weights = taste_weights(domain, taste) if taste else {}

    def choice(self, leaves: Sequence[str]) -> str:
        if not self.weights:
            return self.rng.choice(leaves)
        return self.rng.choices(leaves, [self.weights[leaf] for leaf in leaves])[0]

    def sample(self, leaves: Sequence[str], count: int) -> list[str]:
        if not self.weights:
            return self.rng.sample(leaves, count)
        chosen: list[str] = []
        while len(chosen) < count:
            chosen.append(self.choice([leaf for leaf in leaves if leaf not in chosen]))
        return chosen


@lru_cache(maxsize=64)
def taste_weights(domain: str, taste: int) -> dict[str, float]:
    """How much each value of a domain's dimensions is liked under a taste: 1 over its rank to the power 1.3."""
    weights: dict[str, float] = {}
    for name, dimension in load_lexicon(domain).dimensions.items():
        ranked = list(dimension.leaves)
        derive_rng(domain, "taste", taste, name).shuffle(ranked)
        weights |= {leaf: rank**-TASTE_EXPONENT for rank, leaf in enumerate(ranked, 1)}
    return weights


def generate_artifact(domain: str, split: Split, index: int, taste: int = 0) -> Artifact:
    """Artifact `index` of a split: values of several dimensions, rendered.

    The splits are disjoint by construction: a combination of values belongs to one of them by its hash.

    Args:
        taste: number of the taste that they are drawn with; 0 for none.

    Raises:
        ValueError: no such artifact.
        LexiconError: so few values that no combination of them belongs to the split.
    """
    if not 0 <= index < SPLIT_SIZES[split]:
        raise ValueError(f"the {split} split of {domain} has artifacts 0 to {SPLIT_SIZES[split] - 1}, not {index}")
    lexicon, rng = load_lexicon(domain), derive_rng(domain, split, index, *([taste] if taste else []))
    liking = Liking(rng, domain, taste)
    draw = _scene if lexicon.is_composed else _selection
    for _ in range(MOST_DRAWS):
        values = draw(lexicon, liking)
        if values and (unit_uniform(domain, *sorted(values)) < EVAL_SHARE) == (split == "eval"):
            break
    else:
        raise LexiconError(f"the lexicon of {domain} is too small to tell training from evaluation: add values to it")
    text = render_artifact(values, lexicon)
    return Artifact(artifact_id(domain, split, index, taste), lexicon.artifact_type, text, domain=domain)


def artifact_id(domain: str, split: Split, index: int, taste: int = 0) -> str:
    """The id of artifact `index` of a split, which need not be generated for it."""
    return f"{domain}-{split}-{index:03d}" + (f"-taste{taste}" if taste else "")


def _selection(lexicon: Lexicon, liking: Liking) -> list[str]:
    """Values of six to eight dimensions; none where the draw leaves out what a request names first."""
    rng = liking.rng
    fewest, most = (min(number, len(lexicon.dimensions)) for number in DIMENSIONS_PER_ARTIFACT)
    names = rng.sample(list(lexicon.dimensions), rng.randint(fewest, most))
    if next(name for name, dimension in lexicon.dimensions.items() if dimension.asked) not in names:
        return []  # without it no conversation starts
    return sorted(
        value
        for name in names
        for value in liking.sample(lexicon.dimensions[name].leaves, rng.randint(1, lexicon.dimensions[name].holds))
    )


def _scene(lexicon: Lexicon, liking: Liking) -> list[str]:
    """Values that go together: of all dimensions that no artifact does without, and of one or two others."""
    rng = liking.rng
    needed = [name for name, dimension in lexicon.dimensions.items() if not dimension.optional]
    others = [name for name in lexicon.dimensions if name not in needed]
    extra = rng.sample(others, len(others))
    left = len(needed) + rng.choice(OPTIONAL_PER_ARTIFACT)
    values: list[str] = []
    clashing: set[str] = set()  # what cannot be had together with them
    for name in (
        *needed,
        *extra,
    ):  # where one of the needed has nothing that goes with the rest, one more of the others
        dimension = lexicon.dimensions[name]
        fitting = [leaf for leaf in dimension.leaves if leaf not in clashing]
        main = [leaf for leaf in fitting if leaf not in lexicon.additions] or fitting
        if not main or not left:
            continue
        left -= 1
        values.append(liking.choice(main))
        clashing |= lexicon.clashes[values[-1]]
        additions = lexicon.additions_of[name] if dimension.holds > 1 else ()
        added = [leaf for leaf in additions if leaf not in values and leaf not in clashing]
        if added and rng.random() < ADDED:
            values.append(liking.choice(added))
            clashing |= lexicon.clashes[values[-1]]
    return values


def generate_artifacts(domain: str, split: Split, count: int, taste: int = 0) -> list[Artifact]:
    """The first `count` artifacts of a split."""
    return [generate_artifact(domain, split, index, taste) for index in range(count)]


def written_artifacts(domain: str, data: Path) -> list[Artifact]:
    """The hand-written artifacts under `data/artifacts/<domain>/`, by name."""
    lexicon = load_lexicon(domain)
    suffixes = lexicon.form.suffixes if lexicon.form else (".svg" if is_drawn(domain) else ".md",)
    paths = sorted(path for path in (data / "artifacts" / domain).glob("*") if path.suffix in suffixes)
    return [Artifact(path.stem, lexicon.artifact_type, path.read_text("utf-8"), domain=domain) for path in paths]
