"""Results of an evaluation: every measure with its interval, every two assistants compared on the same users.

Pure: made of `ConversationScores` alone.  A *user* is an artifact in one trial; all assistants met the same ones.  A
measure is taken over the users for which every assistant has it, so that comparisons are paired; the rest is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from discover_lib.base.glossary import TERMS
from discover_lib.base.records import Record
from discover_lib.metrics.discovery import DiscoveryScores, discovery_scores, why_undefined
from discover_lib.metrics.intervals import Estimate, Values, bootstrap_mean, grouped, two_decimals
from discover_lib.metrics.paired import Comparison, compare
from discover_lib.metrics.satisfaction import SATISFIED, LeaveOut, SatisfactionScores, satisfaction_scores
from discover_lib.metrics.scorer import FAMILIES, Family, letters, trigrams
from discover_lib.metrics.scores import EMERGING, ConversationScores

ALL = "all"  # the scope that holds every domain
PerUser = Mapping[str, Mapping[str, float]]  # assistant → user → number


@dataclass(frozen=True)
class Measure:
    """One column of the results.

    Attributes:
        term: its word in the glossary.
        of: the measure of one conversation, None where it is unscored; None for a measure that needs a `Pool`.
        fewer_is_better: the lowest is the best; of the other measures the highest.
        is_share: it is between 0 and 1.
    """

    name: str
    label: str
    term: str
    of: Callable[[ConversationScores], float | None] | None = None
    fewer_is_better: bool = False
    is_share: bool = True

    @property
    def meaning(self) -> str:
        """Its sentence in the glossary."""
        return TERMS[self.term].meaning

    def shown(self, value: float) -> str:
        return two_decimals(value)


MEASURES = (
    Measure("share", "share of hidden", "share of hidden", of=lambda scores: scores.share_discovered),
    Measure("discovery", "discovery", "discovery score"),  # eq. 4
    Measure("proportion", "found", "found"),
    Measure("satisfaction", "satisfaction", "satisfaction"),
    Measure("interactivity", "interactivity", "interactivity", of=lambda scores: scores.interactivity),
    Measure(
        "tokens", "kTok", "kTok", of=lambda scores: sum(scores.tokens) / 1000, fewer_is_better=True, is_share=False
    ),
    Measure("reward", "reward", "mean reward", of=lambda scores: scores.reward, is_share=False),
)
MEASURE = {measure.name: measure for measure in MEASURES}


class Pool:
    """The conversations of one scope (a domain, or all), ready to be measured.

    Args:
        leave_out: which leaves do not count for satisfaction; see `satisfaction_scores`.
        emerging: the value of an emerging intent.
    """

    def __init__(
        self, scores: Iterable[ConversationScores], leave_out: LeaveOut = "none", emerging: float = EMERGING
    ) -> None:
        self.scores = tuple(scores)
        self.leave_out = leave_out
        self.emerging = emerging
        self.assistants = tuple(dict.fromkeys(each.assistant for each in self.scores))
        self._measured: dict[str, PerUser] = {}

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

    def shared(self, has: Callable[[ConversationScores], bool] | None = None) -> tuple[str, ...]:
        """The users whose conversation every assistant has finished, and `has` says is fit."""
        if has is None:
            return self._shared
        rows = self.by_user.values()
        return tuple(user for user in self._shared if all(has(row[user]) for row in rows))

    @cached_property
    def _shared(self) -> tuple[str, ...]:
        rows = self.by_user.values()
        return tuple(user for user in self.users if all(user in row for row in rows))

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
        return self.discovery_among(self.assistants)

    def discovery_among(self, assistants: Sequence[str]) -> DiscoveryScores:
        """Eq. 4 in the pool of these assistants, over the users whom all of the whole pool met."""
        return discovery_scores({name: self.levels[name] for name in assistants})

    @property
    def why_no_eq_4(self) -> str:
        """Why eq. 4 is undefined for every user, in words; "" if it is defined."""
        return why_undefined(len(self.assistants), len(self.shared()), len(self.discovery.left_out))

    @cached_property
    def satisfaction(self) -> SatisfactionScores:
        users = self.shared(lambda each: each.leaves is not None)
        met = {name: {user: met_leaves(row[user]) for user in users} for name, row in self.by_user.items()}
        return satisfaction_scores(met, self.leave_out)

    def per_user(self, measure: str) -> PerUser:
        """Assistant → user → the measure, over the users for which every assistant has it."""
        if measure not in self._measured:
            self._measured[measure] = self._measure(measure)
        return self._measured[measure]

    def _measure(self, measure: str) -> PerUser:
        if measure == "discovery":
            return self.discovery.per_user
        if measure == "satisfaction":
            return self.satisfaction.per_user
        of = (
            partial(ConversationScores.proportion, emerging=self.emerging)
            if measure == "proportion"
            else MEASURE[measure].of
        )
        if of is None:
            raise LookupError(f"no conversation has the measure {measure!r} alone; it needs a whole pool")
        rows = {name: {user: of(each) for user, each in row.items()} for name, row in self.by_user.items()}
        users = [user for user in self.shared() if all(row[user] is not None for row in rows.values())]
        return {name: {user: row[user] or 0.0 for user in users} for name, row in rows.items()}

    def values(self, measure: str) -> dict[str, Values]:
        """Assistant → artifact → the measure per trial."""
        return {name: self.by_artifact(row) for name, row in self.per_user(measure).items()}

    @cached_property
    def users_of(self) -> dict[str, int]:
        """Measure → the number of users it is taken over."""
        return {each.name: len(next(iter(self.per_user(each.name).values()), {})) for each in MEASURES}

    def by_artifact(self, row: Mapping[str, float]) -> Values:
        return grouped((self.artifact_of[user], value) for user, value in row.items())


def met_leaves(scores: ConversationScores) -> dict[str, bool]:
    """Leaf → whether the finished piece satisfies it."""
    return {leaf: score >= SATISFIED for leaf, score in (scores.leaves or {}).items()}


@dataclass(frozen=True)
class PoolWithout(Record):
    """Eq. 4 once one assistant is taken out of the pool.

    Attributes:
        means: of the assistants that stay; None where the score is defined on no user.
        left_out: users on which those that stay all found the same.
    """

    without: str
    means: Mapping[str, float | None]
    left_out: int


@dataclass(frozen=True)
class BehaviourProfile(Record):
    """Share of divergent turns and of the patterns of three turns (Fig 3).

    Attributes:
        patterns: conversations per string of letters such as "DDCDC".
        families: share of the windows of three turns in each family, with intervals over artifacts; absent where no
            conversation has three turns of either kind.
        divergent: share of the turns of either kind that are divergent; None without such turns.
        turns_of_neither: turns that are neither divergent nor convergent.
    """

    patterns: Mapping[str, int]
    families: Mapping[Family, Estimate]
    divergent: Estimate | None
    turns_of_neither: int


@dataclass(frozen=True)
class ScopeResults(Record, omit=("unchecked",)):
    """The results over one domain, or over all.

    Attributes:
        users: how many there are; `users_of` how many of them each measure is taken over.
        table: assistant → measure → estimate; a measure without a score is absent.
        comparisons: measure → every two assistants, Holm over the pairs of that measure.
        same_for_all: users left out of eq. 4 because all assistants found the same.
        pools: eq. 4 in every pool that lacks one assistant.
        leaves, leaves_counted: over the users that satisfaction is taken over; see `satisfaction_scores`.
        curves: assistant → share of the hidden intents found after each turn.
        stops: assistant → why its conversations ended.
        unscored: assistant → part of the assessment → conversations in which it failed.
        leaks: assistant → user messages that leaked; an assistant without a leak is absent if some of its messages were
            not checked.
        unchecked: assistant → user messages that no check could read for leaks; None where all were read.
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
    manners: Mapping[str, BehaviourProfile]
    stops: Mapping[str, Mapping[str, int]]
    unscored: Mapping[str, Mapping[str, int]]
    leaks: Mapping[str, int]
    unchecked: Mapping[str, int] | None = None

    @property
    def why_no_eq_4(self) -> str:
        """As of `Pool`."""
        scored = self.users_of.get("discovery", 0)
        return why_undefined(len(self.assistants), scored + self.same_for_all, self.same_for_all)

    def comparison(self, measure: str, ours: str, theirs: str) -> Comparison | None:
        """The comparison of two assistants, in the order in which it was made."""
        wanted = {ours, theirs}
        return next((each for each in self.comparisons.get(measure, ()) if {each.ours, each.theirs} == wanted), None)


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
    leaks = {name: sum(each.leaks for each in pool.by_user[name].values()) for name in pool.assistants}
    unchecked = {name: sum(each.unchecked for each in pool.by_user[name].values()) for name in pool.assistants}
    return ScopeResults(
        scope=scope,
        assistants=pool.assistants,
        artifacts=len(set(pool.artifact_of.values())),
        users=len(pool.users),
        users_of=pool.users_of,
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
        leaks={name: count for name, count in leaks.items() if count or not unchecked[name]},
        unchecked={name: count for name, count in unchecked.items() if count} or None,
    )


def values_of(pool: Pool) -> dict[str, dict[str, Values]]:
    """Measure → assistant → artifact → a value per trial, for the measures that every assistant has one of."""
    values = {measure.name: dict(pool.values(measure.name)) for measure in MEASURES}
    return {name: row for name, row in values.items() if row and all(row.values())}


def table_of(values: Mapping[str, Mapping[str, Values]], assistants: Sequence[str]) -> dict[str, dict[str, Estimate]]:
    """Assistant → measure → mean over artifacts with its interval."""
    return {name: {measure: bootstrap_mean(row[name]) for measure, row in values.items()} for name in assistants}


def pools_without(pool: Pool) -> list[PoolWithout]:
    """Eq. 4 in every pool that lacks one assistant; [] if fewer than three were compared."""
    if len(pool.assistants) < 3:
        return []
    found = []
    for out in pool.assistants:
        scores = pool.discovery_among([name for name in pool.assistants if name != out])
        means = {name: mean_of(pool.by_artifact(scores[name])) if scores[name] else None for name in scores}
        found.append(PoolWithout(out, means, len(scores.left_out)))
    return found


def mean_of(values: Values) -> float:
    """Mean over artifacts of the means over trials: the middle of an `Estimate` without its interval."""
    return sum(sum(trials) / len(trials) for trials in values.values()) / len(values)


def curve(pool: Pool, assistant: str) -> list[Estimate]:
    """Share of the hidden intents found after 1, 2 ... turns (Fig 7).

    A conversation that ended early keeps its last share.
    """
    rows = {user: each for user, each in pool.by_user[assistant].items() if each.moves}
    return [
        bootstrap_mean(pool.by_artifact({user: each.proportion(turn) or 0.0 for user, each in rows.items()}))
        for turn in range(1, max((each.turns for each in rows.values()), default=0) + 1)
    ]


def manner(pool: Pool, assistant: str) -> BehaviourProfile:
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
    return BehaviourProfile(
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
    """One row per conversation under `CSV_COLUMNS`, every column one measurement; None where it is missing.

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
            "satisfaction": satisfaction.per_user[each.assistant].get(each.unit),
            "interactivity": each.interactivity,
            "tokens": sum(each.tokens),
            "final_tokens": each.final_tokens,
            "reward": each.reward,
            "behaviour": None if each.behaviours is None else letters(each.behaviours),
            "leaks": each.known_leaks,
            "unscored": " ".join(each.failed),
        }
        for each in pool.scores
    ]


Table = Mapping[str, Mapping[str, Estimate]]  # assistant → measure → estimate


def best_first(table: Table, measure: str = "discovery") -> list[str]:
    """Assistants by the mean of a measure, the best first; those without it last."""
    sign = 1 if MEASURE[measure].fewer_is_better else -1
    return sorted(table, key=lambda name: sign * table[name][measure].mean if measure in table[name] else float("inf"))


def rounded(value: Any) -> Any:
    """Plain values without the last digits of floats, which the order of a processor's sums decides."""
    if isinstance(value, float):
        return float(f"{value:.10g}")
    if isinstance(value, Mapping):
        return {key: rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list | tuple) else value
