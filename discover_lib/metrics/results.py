"""Results of an evaluation: every measure with its interval, every two assistants compared on the same users.

Pure: made of `ConversationScores` alone.  A *user* is an artifact in one trial; all assistants met the same ones.  A
measure is taken over the users for which every assistant has it, so that comparisons are paired; the rest is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from discover_lib.metrics.behaviour import FAMILIES, Family, letters, trigrams
from discover_lib.metrics.discovery import DiscoveryScores, discovery_scores, leave_one_out
from discover_lib.metrics.intervals import Estimate, Values, bootstrap_mean
from discover_lib.metrics.paired import Comparison, compare
from discover_lib.metrics.satisfaction import SATISFIED, LeaveOut, SatisfactionScores, satisfaction_scores
from discover_lib.metrics.scores import EMERGING, ConversationScores

ALL = "all"  # the scope that holds every domain
PerUser = Mapping[str, Mapping[str, float]]  # assistant → user → number


@dataclass(frozen=True)
class Measure:
    """One column of the results.

    Attributes:
        worth_seeing: a difference that would matter, where one can be named for all uses.
    """

    name: str
    label: str
    meaning: str
    decimals: int = 2
    worth_seeing: float | None = None

    def shown(self, value: float) -> str:
        return f"{round(value, self.decimals) + 0.0:.{self.decimals}f}"  # never "-0.00"


MEASURES = (
    Measure("discovery", "discovery", "eq. 4: of what any assistant found and not all did, 0 to 1", 2, 0.03),
    Measure("proportion", "found", "share of the hidden intents that was found, emerging ones as half", 2, 0.03),
    Measure("satisfaction", "satisfaction", "share of the counting leaves that the final piece satisfies", 2, 0.03),
    Measure("interactivity", "interactivity", "rating of 1 to 3, rescaled to 0 to 1", 2, 0.03),
    Measure("tokens", "kTok", "thousand tokens of replies per conversation, the final piece left out"),
    Measure("reward", "reward", "mean reward per turn"),
)
MEASURE = {measure.name: measure for measure in MEASURES}


class Pool:
    """The conversations of one scope (a domain, or all), ready to be measured.

    Args:
        leave_out: which leaves do not count for satisfaction; see `satisfaction_scores`.
        emerging: what an emerging intent counts.
    """

    def __init__(
        self, scores: Iterable[ConversationScores], leave_out: LeaveOut = "none", emerging: float = EMERGING
    ) -> None:
        self.scores = tuple(scores)
        self.leave_out = leave_out
        self.emerging = emerging
        self.assistants = tuple(dict.fromkeys(each.assistant for each in self.scores))

    @cached_property
    def by_user(self) -> dict[str, dict[str, ConversationScores]]:
        """Assistant → user → conversation."""
        found: dict[str, dict[str, ConversationScores]] = {name: {} for name in self.assistants}
        for each in self.scores:
            found[each.assistant][each.unit] = each
        return found

    @cached_property
    def users(self) -> tuple[str, ...]:
        """All users that anybody met."""
        return tuple(dict.fromkeys(each.unit for each in self.scores))

    @cached_property
    def artifact_of(self) -> dict[str, str]:
        return {each.unit: each.artifact for each in self.scores}

    def shared(self, has: Callable[[ConversationScores], bool] = lambda _: True) -> tuple[str, ...]:
        """The users whose conversation every assistant has finished, and `has` says is fit."""
        rows = self.by_user.values()
        return tuple(user for user in self.users if all(user in row and has(row[user]) for row in rows))

    @cached_property
    def levels(self) -> dict[str, dict[str, dict[str, float]]]:
        """Assistant → shared user → hidden intent → level at the end."""
        users = self.shared()
        return {
            name: {user: row[user].levels(emerging=self.emerging) for user in users}
            for name, row in self.by_user.items()
        }

    @cached_property
    def discovery(self) -> DiscoveryScores:
        return discovery_scores(self.levels)

    @cached_property
    def satisfaction(self) -> SatisfactionScores:
        users = self.shared(lambda each: each.leaves is not None)
        met = {name: {user: _met(row[user]) for user in users} for name, row in self.by_user.items()}
        return satisfaction_scores(met, self.leave_out)

    def per_user(self, measure: str) -> PerUser:
        """Assistant → user → the measure, over the users for which every assistant has it."""
        if measure == "discovery":
            return self.discovery.per_artifact
        if measure == "satisfaction":
            return self.satisfaction.per_unit
        number = self._numbers[measure]
        users = self.shared(lambda each: number(each) is not None)
        return {name: {user: number(row[user]) or 0.0 for user in users} for name, row in self.by_user.items()}

    @cached_property
    def _numbers(self) -> dict[str, Callable[[ConversationScores], float | None]]:
        """The measures that a conversation has by itself."""
        return {
            "proportion": lambda each: each.proportion(emerging=self.emerging),
            "interactivity": lambda each: each.interactivity,
            "tokens": lambda each: sum(each.tokens) / 1000,
            "reward": lambda each: each.reward,
        }

    def values(self, measure: str) -> dict[str, Values]:
        """Assistant → artifact → the measure per trial."""
        return {name: self.by_artifact(row) for name, row in self.per_user(measure).items()}

    def by_artifact(self, row: Mapping[str, float]) -> Values:
        found: dict[str, list[float]] = {}
        for user, value in row.items():
            found.setdefault(self.artifact_of[user], []).append(value)
        return found


def _met(scores: ConversationScores) -> dict[str, bool]:
    return {leaf: score >= SATISFIED for leaf, score in (scores.leaves or {}).items()}


@dataclass(frozen=True)
class PoolWithout:
    """Eq. 4 once one assistant is taken out of the pool.

    Attributes:
        means: of the assistants that stay; None where the score is defined on no user.
        left_out: users on which those that stay all found the same.
    """

    without: str
    means: Mapping[str, float | None]
    left_out: int


@dataclass(frozen=True)
class Manner:
    """How an assistant goes about it.

    Attributes:
        patterns: conversations per string of letters such as "DDCDC".
        families: share of the windows of three turns in each family, with intervals over artifacts; absent where no
            conversation has three turns of either kind.
        divergent: share of the turns of either kind that are divergent; None where there is none.
        turns_of_neither: turns that are neither divergent nor convergent.
    """

    patterns: Mapping[str, int]
    families: Mapping[Family, Estimate]
    divergent: Estimate | None
    turns_of_neither: int


@dataclass(frozen=True)
class ScopeResults:
    """The results over one domain, or over all.

    Attributes:
        users: how many there are; `users_of` how many of them each measure is taken over.
        table: assistant → measure → estimate; a measure that nobody could be scored in is absent.
        comparisons: measure → every two assistants, Holm over the pairs of that measure.
        same_for_all: users left out of eq. 4 because all assistants found the same.
        pools: eq. 4 in every pool that lacks one assistant.
        leaves, leaves_counted: over the users that satisfaction is taken over; see `satisfaction_scores`.
        curves: assistant → share of the hidden intents found after each turn.
        stops: assistant → why its conversations ended.
        unscored: assistant → part of the assessment → conversations in which it could not be had.
        leaks: assistant → user messages that said what the user could not know.
    """

    scope: str
    assistants: tuple[str, ...]
    artifacts: int
    users: int
    users_of: Mapping[str, int]
    table: Mapping[str, Mapping[str, Estimate]]
    comparisons: Mapping[str, Sequence[Comparison]]
    same_for_all: int
    pools: Sequence[PoolWithout]
    leaves: int
    leaves_counted: int
    curves: Mapping[str, Sequence[Estimate]]
    manners: Mapping[str, Manner]
    stops: Mapping[str, Mapping[str, int]]
    unscored: Mapping[str, Mapping[str, int]]
    leaks: Mapping[str, int]

    def comparison(self, measure: str, ours: str, theirs: str) -> Comparison | None:
        """The comparison of two assistants, in the order in which it was made."""
        wanted = {ours, theirs}
        return next((each for each in self.comparisons.get(measure, ()) if {each.ours, each.theirs} == wanted), None)

    def to_dict(self) -> dict[str, Any]:
        return {
            "scope": self.scope,
            "assistants": list(self.assistants),
            "artifacts": self.artifacts,
            "users": self.users,
            "users_of": dict(self.users_of),
            "table": {
                name: {measure: estimate.to_dict() for measure, estimate in row.items()}
                for name, row in self.table.items()
            },
            "comparisons": {name: [each.to_dict() for each in found] for name, found in self.comparisons.items()},
            "same_for_all": self.same_for_all,
            "pools": [
                {"without": each.without, "means": dict(each.means), "left_out": each.left_out} for each in self.pools
            ],
            "leaves": self.leaves,
            "leaves_counted": self.leaves_counted,
            "curves": {name: [each.to_dict() for each in curve] for name, curve in self.curves.items()},
            "manners": {
                name: {
                    "patterns": dict(manner.patterns),
                    "families": {family: each.to_dict() for family, each in manner.families.items()},
                    "divergent": manner.divergent.to_dict() if manner.divergent else None,
                    "turns_of_neither": manner.turns_of_neither,
                }
                for name, manner in self.manners.items()
            },
            "stops": {name: dict(each) for name, each in self.stops.items()},
            "unscored": {name: dict(each) for name, each in self.unscored.items()},
            "leaks": dict(self.leaks),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ScopeResults:
        """The inverse of `to_dict`."""
        parts: dict[str, Any] = {
            "assistants": tuple(data["assistants"]),
            "table": {name: _estimates(row) for name, row in data["table"].items()},
            "comparisons": {
                name: [Comparison.from_dict(each) for each in rows] for name, rows in data["comparisons"].items()
            },
            "pools": [PoolWithout(**each) for each in data["pools"]],
            "curves": {name: [Estimate(**each) for each in curve] for name, curve in data["curves"].items()},
            "manners": {
                name: Manner(
                    each["patterns"],
                    _estimates(each["families"]),
                    Estimate(**each["divergent"]) if each["divergent"] else None,
                    each["turns_of_neither"],
                )
                for name, each in data["manners"].items()
            },
        }
        return cls(**{**data, **parts})


def _estimates(row: Mapping[str, Any]) -> dict[Any, Estimate]:
    return {name: Estimate(**each) for name, each in row.items()}


def results_by_scope(scores: Sequence[ConversationScores], leave_out: LeaveOut = "none") -> dict[str, ScopeResults]:
    """Results over all conversations ("all") and, where there are several domains, over each.

    Raises:
        ValueError: no conversation, or conversations about other intents of the same user.
    """
    if not scores:
        raise ValueError("there is no finished conversation to make results of")
    domains = list(dict.fromkeys(each.domain for each in scores))
    scopes = {ALL: list(scores)}
    if len(domains) > 1:
        scopes |= {domain: [each for each in scores if each.domain == domain] for domain in domains}
    return {scope: results_of(Pool(members, leave_out), scope) for scope, members in scopes.items()}


def results_of(pool: Pool, scope: str = ALL) -> ScopeResults:
    """All results over one pool of conversations."""
    values = values_of(pool)
    return ScopeResults(
        scope=scope,
        assistants=pool.assistants,
        artifacts=len(set(pool.artifact_of.values())),
        users=len(pool.users),
        users_of={measure.name: _users_of(pool.per_user(measure.name)) for measure in MEASURES},
        table=table_of(values, pool.assistants),
        comparisons={measure: compare(found) for measure, found in values.items()},
        same_for_all=len(pool.discovery.left_out),
        pools=pools_without(pool),
        leaves=pool.satisfaction.n_leaves,
        leaves_counted=pool.satisfaction.n_counted,
        curves={name: curve(pool, name) for name in pool.assistants},
        manners={name: manner(pool, name) for name in pool.assistants},
        stops={name: Counter(str(each.stop) for each in pool.by_user[name].values()) for name in pool.assistants},
        unscored={
            name: Counter(part for each in pool.by_user[name].values() for part in each.failed)
            for name in pool.assistants
        },
        leaks={name: sum(each.leaks for each in pool.by_user[name].values()) for name in pool.assistants},
    )


def values_of(pool: Pool) -> dict[str, dict[str, Values]]:
    """Measure → assistant → artifact → a value per trial, for the measures that every assistant has one of."""
    values = {measure.name: dict(pool.values(measure.name)) for measure in MEASURES}
    return {name: row for name, row in values.items() if row and all(row.values())}


def table_of(values: Mapping[str, Mapping[str, Values]], assistants: Sequence[str]) -> dict[str, dict[str, Estimate]]:
    """Assistant → measure → mean over artifacts with its interval."""
    return {name: {measure: bootstrap_mean(row[name]) for measure, row in values.items()} for name in assistants}


def _users_of(per_user: PerUser) -> int:
    return len(next(iter(per_user.values()), {}))


def pools_without(pool: Pool) -> list[PoolWithout]:
    """Eq. 4 in every pool that lacks one assistant; none where fewer than three were compared."""
    if len(pool.assistants) < 3:
        return []
    found = []
    for out, scores in leave_one_out(pool.levels).items():
        means = {name: mean_of(pool.by_artifact(scores[name])) if scores[name] else None for name in scores}
        found.append(PoolWithout(out, means, len(scores.left_out)))
    return found


def mean_of(values: Values) -> float:
    """Mean over artifacts of the means over trials: the middle of an `Estimate` without its interval."""
    return sum(sum(trials) / len(trials) for trials in values.values()) / len(values)


def curve(pool: Pool, assistant: str) -> list[Estimate]:
    """Share of the hidden intents found after 1, 2 ... turns (Fig 7).

    A conversation that ended early keeps what it had found.
    """
    rows = [each for each in pool.by_user[assistant].values() if each.moves]
    last = max((each.turns for each in rows), default=0)
    return [
        bootstrap_mean(pool.by_artifact({each.unit: each.proportion(turn) or 0.0 for each in rows}))
        for turn in range(1, last + 1)
    ]


def manner(pool: Pool, assistant: str) -> Manner:
    """Divergent and convergent turns, and the families of three turns in a row (Fig 3)."""
    annotated = {each.unit: each.behaviours for each in pool.by_user[assistant].values() if each.behaviours is not None}
    windows = {user: trigrams(turns) for user, turns in annotated.items()}
    windows = {user: counts for user, counts in windows.items() if sum(counts.values())}
    either = {user: [each for each in turns if each is not None] for user, turns in annotated.items()}
    shares = {user: turns.count("divergent") / len(turns) for user, turns in either.items() if turns}
    families: dict[Family, Estimate] = {}
    if windows:
        for family in FAMILIES:
            row = {user: counts[family] / sum(counts.values()) for user, counts in windows.items()}
            families[family] = bootstrap_mean(pool.by_artifact(row))
    return Manner(
        patterns=dict(Counter(map(letters, annotated.values())).most_common()),
        families=families,
        divergent=bootstrap_mean(pool.by_artifact(shares)) if shares else None,
        turns_of_neither=sum(turn is None for turns in annotated.values() for turn in turns),
    )


CSV_COLUMNS = (
    *("place", "domain", "artifact", "trial", "assistant", "stop", "turns", "hidden", "discovery", "proportion"),
    *("satisfaction", "interactivity", "tokens", "final_tokens", "reward", "behaviour", "leaks", "unscored"),
)


def tidy_rows(pool: Pool) -> list[dict[str, Any]]:
    """One row per conversation under `CSV_COLUMNS`, every column one measurement; None where there is none.

    `tokens` are tokens here, not thousands.
    """
    discovery, satisfaction = pool.discovery, pool.satisfaction
    return [
        {
            "place": each.place,
            "domain": each.domain,
            "artifact": each.artifact,
            "trial": each.trial,
            "assistant": each.assistant,
            "stop": each.stop,
            "turns": each.turns,
            "hidden": len(each.moves),
            "discovery": discovery[each.assistant].get(each.unit),
            "proportion": each.proportion(),
            "satisfaction": satisfaction.per_unit[each.assistant].get(each.unit),
            "interactivity": each.interactivity,
            "tokens": sum(each.tokens),
            "final_tokens": each.final_tokens,
            "reward": each.reward,
            "behaviour": None if each.behaviours is None else letters(each.behaviours),
            "leaks": each.leaks,
            "unscored": " ".join(each.failed),
        }
        for each in pool.scores
    ]


Table = Mapping[str, Mapping[str, Estimate]]  # assistant → measure → estimate


def best_first(table: Table, measure: str = "discovery") -> list[str]:
    """Assistants by the mean of a measure, the highest first; those without it last."""
    return sorted(table, key=lambda name: -table[name][measure].mean if measure in table[name] else float("inf"))
