"""Benchmarks of others, two assistants on the same prompts: rates, and differences paired by prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from discover_lib.base.errors import DiscoverError
from discover_lib.dataset.benchmark_logs import Answer
from discover_lib.metrics.intervals import Estimate, Share, Values, bootstrap_mean, share_of
from discover_lib.metrics.paired import Comparison, compare
from discover_lib.metrics.refusals import RefusalJudge

REFUSED = "refused, as read here"


@dataclass(frozen=True)
class Rate:
    """What one scorer says of one assistant.

    Attributes:
        value: a share of prompts where all replies to one have one verdict; else a mean, replies to one averaged.
        against: the difference to the first assistant; None for itself.
        differing: prompts on which the two differ.
    """

    scorer: str
    assistant: str
    value: Share | Estimate
    n: int
    against: Comparison | None
    differing: int


@dataclass(frozen=True)
class Benchmarked:
    """Assistants on the prompts that all of them answered.

    Attributes:
        left_out: assistant → prompts of its log that another did not answer, or it itself.
    """

    rates: Sequence[Rate]
    prompts: int
    left_out: Mapping[str, int]


def benchmarked(logs: Mapping[str, Sequence[Answer]], judge: RefusalJudge) -> Benchmarked:
    """Every scorer of the benchmark and the judge of refusals, on the prompts that all assistants answered.

    Raises:
        DiscoverError: no prompt was answered by all.
        ScoreError: the judge gave no verdict.
    """
    answered = {name: {each.prompt for each in answers if each.reply is not None} for name, answers in logs.items()}
    shared = set.intersection(*answered.values())
    if not shared:
        raise DiscoverError(f"no prompt was answered by {' and '.join(logs)}: are the logs of the same benchmark?")
    verdicts: dict[str, dict[str, dict[str, list[float]]]] = {}  # scorer → assistant → prompt → one a reply
    for name, answers in logs.items():
        for each in answers:
            if each.reply is None or each.prompt not in shared:
                continue
            refused = float(judge.refuses(each.prompt, each.reply))
            for scorer, value in {**each.scores, REFUSED: refused}.items():
                verdicts.setdefault(scorer, {}).setdefault(name, {}).setdefault(each.prompt, []).append(value)
    rates = [
        rate for scorer, values in verdicts.items() if values.keys() == logs.keys() for rate in _rates(scorer, values)
    ]
    return Benchmarked(
        sorted(rates, key=lambda rate: rate.scorer == REFUSED),
        len(shared),
        {name: len({each.prompt for each in answers} - shared) for name, answers in logs.items()},
    )


def _rates(scorer: str, values: Mapping[str, Values]) -> list[Rate]:
    """Of every assistant, on the prompts that the scorer gave a number for in all logs."""
    first, *others = values
    prompts = set.intersection(*(set(each) for each in values.values()))
    if not prompts:
        return []
    kept = {name: {prompt: each[prompt] for prompt in prompts} for name, each in values.items()}
    comparisons = {each.ours: each for each in compare(kept, [(name, first) for name in others])}
    means = {name: {prompt: sum(replies) / len(replies) for prompt, replies in of.items()} for name, of in kept.items()}
    return [
        Rate(
            scorer,
            name,
            _value(of),
            len(prompts),
            comparisons.get(name),
            sum(means[name][prompt] != means[first][prompt] for prompt in prompts),
        )
        for name, of in kept.items()
    ]


def _value(of: Values) -> Share | Estimate:
    verdicts = [set(replies) for replies in of.values()]
    if all(each in ({0.0}, {1.0}) for each in verdicts):  # a bootstrap would be sure of what it saw a few times
        return share_of(verdicts.count({1.0}), len(verdicts))
    return bootstrap_mean(of)
