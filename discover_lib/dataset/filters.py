"""Examples that become rows: filters that count the dropped ones, and splits that keep artifacts apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from discover_lib.base.errors import DiscoverError
from discover_lib.base.seeds import derive_seed
from discover_lib.base.words import counted
from discover_lib.dataset.rows import Example

# Why an example can be left out, in the order in which it is asked; the first that holds is the one it is counted by.
REASONS: Mapping[str, str] = {
    "unfinished": "the conversation is not finished",
    "one_candidate": "only one candidate, so there is no preference",
    "failed_assistant": "an assistant failed: fewer than two candidates were judged",
    "failed_judgement": "fewer than two candidates were judged",
    "tie": "equal rewards: no label",
    "empty": "a reply without text",
    "identical": "both replies differ only in case, punctuation and spaces",
    "near_identical": "the replies are nearly the same",
    "margin": "the rewards differ by less than asked",
    "leak": "the user leaked a hidden intent in the prompt",
    "too_long": "longer than the token budget",
    "invalid": "text that is not valid Unicode, which no tokenizer can read",
    "duplicate": "the same as an earlier row",
}


@dataclass(frozen=True)
class Filters:
    """Which examples become rows.  Ties, single candidates and failed judgements have no label and never do.

    Attributes:
        min_margin: least difference of a pair's rewards.
        max_similarity: pairs at least this alike are near-identical (see `SIMILARITY`); above 1 keeps all but equals.
        max_tokens: budget for the longest sequence of a row; None for any.
        leaks: keep rows in which the user leaked a hidden intent.
    """

    min_margin: float = 0.0
    max_similarity: float = 0.9
    max_tokens: int | None = None
    leaks: bool = False

    def reasons(self, example: Example) -> tuple[str, ...]:
        """All reasons to leave it out (names of `REASONS`, in their order); () to keep it."""
        margin, similarity = example.margin, example.similarity
        holds = {
            "empty": example.empty,
            "identical": example.identical,
            "near_identical": similarity is not None and not example.identical and similarity >= self.max_similarity,
            "margin": margin is not None and margin < self.min_margin,
            "leak": bool(example.leaks) and not self.leaks,
            "invalid": example.invalid,
            "too_long": self.max_tokens is not None and example.n_tokens > self.max_tokens,
        }
        return tuple(reason for reason in REASONS if reason == example.problem or holds.get(reason))


@dataclass(frozen=True)
class Sieved:
    """The kept examples, and the dropped ones with their reasons.

    Attributes:
        dropped: (example, all its reasons), in order.
    """

    kept: tuple[Example, ...]
    dropped: tuple[tuple[Example, tuple[str, ...]], ...]

    @property
    def considered(self) -> int:
        return len(self.kept) + len(self.dropped)

    @property
    def counts(self) -> dict[str, int]:
        """Reason → examples dropped for it first; with the kept ones they add up to those considered."""
        first = Counter(reasons[0] for _, reasons in self.dropped)
        return {reason: first[reason] for reason in REASONS if first[reason]}

    @property
    def counts_all(self) -> dict[str, int]:
        """Reason → examples that it holds for, other reasons included."""
        every = Counter(reason for _, reasons in self.dropped for reason in reasons)
        return {reason: every[reason] for reason in REASONS if every[reason]}


def sieve(examples: Iterable[Example], filters: Filters | None = None) -> Sieved:
    """Keep the examples that no filter holds back; of rows that teach the same the first."""
    filters = filters or Filters()
    kept: list[Example] = []
    dropped: list[tuple[Example, tuple[str, ...]]] = []
    seen: set[str] = set()
    for example in examples:
        reasons = filters.reasons(example)
        if not reasons:
            identity = example.identity
            reasons = ("duplicate",) if identity in seen else ()
            seen.add(identity)
        if reasons:
            dropped.append((example, reasons))
        else:
            kept.append(example)
    return Sieved(tuple(kept), tuple(dropped))


def split_by_artifact(rows: Sequence[Example], shares: Mapping[str, float], seed: int = 0) -> dict[str, list[Example]]:
    """Rows by split, all rows of an artifact in the same one.

    Artifacts are put in an order drawn by `seed` and their names, and cut in proportion to `shares`; every split with
    a share has at least one artifact.

    Args:
        shares: split → its share of the artifacts, e.g. ``{"train": 0.9, "test": 0.1}``; they add up to 1.

    Raises:
        DiscoverError: wrong shares, or fewer artifacts than splits.
    """
    if not shares or any(share <= 0 for share in shares.values()) or abs(sum(shares.values()) - 1) > 1e-9:
        raise DiscoverError(f"shares of splits must be positive and add up to 1, got {dict(shares)}")
    names = sorted({row.artifact for row in rows}, key=lambda name: derive_seed(seed, "split", name))
    if len(names) < len(shares):
        raise DiscoverError(
            f"{counted(len(names), 'artifact')} cannot be split {len(shares)} ways; take more, or --test-share 0"
        )
    split_of: dict[str, str] = {}
    reached, begin = 0.0, 0
    for left, (split, share) in zip(range(len(shares) - 1, -1, -1), shares.items(), strict=True):
        reached += share
        end = min(max(round(reached * len(names)), begin + 1), len(names) - left)
        split_of |= dict.fromkeys(names[begin:end], split)
        begin = end
    return {split: [row for row in rows if split_of[row.artifact] == split] for split in shares}
