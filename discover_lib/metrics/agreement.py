"""Agreement between two judges, or with people: percent and Cohen's κ.

Judges get recorded turns one by one: the conversation, the frozen state, the reply.  Compared are the kind of the
reply, for every intent that both judged whether it is engaged, and for every one that both call missed whether anything
came close: near misses change a user's state, too.  A judge walks further below engaged intents, so
two judges may reach different intents; those that only one reached are counted and left out.  A judgement that
failed is missing, never a "no".
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from discover_lib.base.seeds import unit_uniform
from discover_lib.core.conversation import Conversation, Message, Reply
from discover_lib.core.intents import IntentTree
from discover_lib.core.roles import Judge
from discover_lib.core.rules import Rules
from discover_lib.core.state import Evaluation, IntentState, Verdict
from discover_lib.metrics.intervals import Share, grouped, share_of

KIND = ""  # in place of an intent's id: the kind of the reply
NEAR_MISSES = "near misses"
RESAMPLES = 1_000
ENOUGH = 10  # things in more than one conversation, before a measure of agreement tells anything
YES, NO = "yes", "no"


@dataclass(frozen=True)
class Moment:
    """One recorded turn as a judge meets it.  `conversation` is its name, `turn` counts from 1."""

    conversation: str
    turn: int
    tree: IntentTree
    state: IntentState
    messages: tuple[Message, ...]
    reply: Reply
    rules: Rules


@dataclass(frozen=True)
class Label:
    """A judge's label of one thing: an intent of one turn, or the kind of its reply (`intent` is `KIND`).

    Attributes:
        value: "yes" or "no" (engaged), "artifact" or "dialogue_act"; None where the judgement failed.
        repeat: how many times this judge had been asked before.
        near_misses: how many were named; None of people, who are not asked for them, and of the kind.
    """

    judge: str
    conversation: str
    turn: int
    intent: str
    value: str | None
    repeat: int = 0
    reason: str = ""
    near_misses: int | None = None

    @property
    def item(self) -> tuple[str, int, str]:
        """The labeled thing: conversation, turn and intent."""
        return self.conversation, self.turn, self.intent


def moments_of(conversations: Mapping[str, Conversation]) -> list[Moment]:
    """The turns of the conversations (name → conversation): for each the chosen reply and the state before it."""
    return [
        Moment(name, turn.index, each.tree, turn.before, each.messages(turn.index - 1), turn.reply, each.rules)
        for name, each in conversations.items()
        for turn in each.turns
    ]


def recorded_labels(conversations: Mapping[str, Conversation]) -> list[Label]:
    """The judgements that the conversations hold already, as those of one more judge."""
    labels: list[Label] = []
    for moment in moments_of(conversations):
        turn = conversations[moment.conversation].turns[moment.turn - 1]
        labels += labels_of("as recorded", 0, moment, turn.candidate.evaluation)
    return labels


def labels_of(judge: str, repeat: int, moment: Moment, evaluation: Evaluation | None) -> Iterator[Label]:
    """One judge's labels of one moment; None: its judgement failed."""
    kind, reason = (evaluation.kind, evaluation.kind_reason) if evaluation else (None, "the judgement failed")
    yield Label(judge, moment.conversation, moment.turn, KIND, kind, repeat, reason)
    for each in evaluation.verdicts if evaluation else ():
        where, value = (moment.conversation, moment.turn, each.intent_id), YES if each.engaged else NO
        yield Label(judge, *where, value, repeat, each.reason, len(each.near_misses))


class NoisyJudge:
    """A judge that sometimes says the opposite of another one, for tests and to study noise.

    Args:
        judge: whose verdicts are disturbed.
        rate: probability that a verdict is turned around; drawn by `seed`, reply and intent alone.
    """

    def __init__(self, judge: Judge, rate: float, seed: int) -> None:
        if not 0 <= rate <= 1:
            raise ValueError(f"the rate is a probability, got {rate}")
        self.judge, self.rate, self.seed = judge, rate, seed

    def evaluate(
        self, tree: IntentTree, state: IntentState, messages: Sequence[Message], reply: Reply, rules: Rules
    ) -> Evaluation:
        evaluation = self.judge.evaluate(tree, state, messages, reply, rules)
        situation = (len(messages), messages[-1].content if messages else "", reply.text)

        def disturbed(verdict: Verdict) -> Verdict:
            if unit_uniform(self.seed, *situation, verdict.intent_id) >= self.rate:
                return verdict
            return dataclasses.replace(
                verdict, engaged=not verdict.engaged, near_misses=(), reason=f"turned around: {verdict.reason}"
            )

        return dataclasses.replace(evaluation, verdicts=tuple(map(disturbed, evaluation.verdicts)))


# -- measures ---------------------------------------------------------------------------------------------------------


Counts = Counter[tuple[Hashable, ...]]  # how often each combination of values occurs
Units = Iterable[tuple[Hashable, ...]] | Counts  # the values that each thing got from its raters, or their counts


def percent_agreement(pairs: Units) -> float | None:
    """Share of pairs that are equal; None without pairs."""
    counted = Counter(pairs)
    return sum(count for (one, other), count in counted.items() if one == other) / counted.total() if counted else None


def cohen_kappa(pairs: Units) -> float | None:
    """Cohen's κ of two raters: (p_o − p_e) / (1 − p_e), p_e from each rater's own shares.

    None where there are no pairs, or where both always said one and the same, so that chance explains everything.
    """
    counted = Counter(pairs)
    n, equal = counted.total(), 0
    ours: Counter[Hashable] = Counter()
    theirs: Counter[Hashable] = Counter()
    for (one, other), count in counted.items():
        ours[one] += count
        theirs[other] += count
        equal += count if one == other else 0
    by_chance = sum(ours[value] * theirs[value] for value in ours)  # in units of 1/n², exact
    return None if by_chance == n * n else (n * equal - by_chance) / (n * n - by_chance)


@dataclass(frozen=True)
class Interval:
    """A measure with its 95% percentile bootstrap interval over conversations; None where it is not defined."""

    value: float | None
    low: float | None
    high: float | None

    def __str__(self) -> str:
        if self.value is None:
            return "not defined"
        if self.low is None or self.high is None:
            return f"{self.value:.2f} (no interval)"
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


@dataclass(frozen=True)
class Agreement:
    """How far judges agree on one group of things.

    Attributes:
        group: "kind of reply", "all intents", or "near misses": whether any are named.
        judges: the two whose labels were compared.
        n: things labeled by both, in `conversations` conversations.
        one_sided: things that only one of them labelled (or called missed, of near misses); left out.
    """

    group: str
    judges: tuple[str, str]
    n: int
    conversations: int
    one_sided: int
    percent: Interval
    kappa: Interval

    COLUMNS = ("group", "judges", "n", "conversations", "left out", "agreement", "κ")

    @property
    def too_few(self) -> bool:
        """Whether there are too few things to tell, or only one conversation."""
        return self.n < ENOUGH or self.conversations < 2

    def row(self) -> tuple[str, ...]:
        """As the cells of a table, under `COLUMNS`."""
        numbers = (f"{each:,}" for each in (self.n, self.conversations, self.one_sided))
        return (self.group, " / ".join(self.judges), *numbers, str(self.percent), str(self.kappa))


def agreements(labels: Iterable[Label], seed: int = 0) -> list[Agreement]:
    """Agreement of every two judges: the kind of the reply, all intents, and near misses.

    Only first answers are compared; `flips` compares repeats.
    """
    first = [each for each in labels if each.repeat == 0 and each.value is not None]
    judges = tuple(dict.fromkeys(each.judge for each in first))
    near = [
        dataclasses.replace(each, value=YES if each.near_misses else NO)
        for each in first
        if each.near_misses is not None and each.value == NO
    ]
    name_them = {each.judge for each in first if each.near_misses is not None}
    groups = [
        ("kind of reply", [each for each in first if each.intent == KIND]),
        ("all intents", [each for each in first if each.intent != KIND]),
        (NEAR_MISSES, near),
    ]
    return [
        _agreement(group, who, [each for each in members if each.judge in who], seed)
        for group, members in groups
        for who in itertools.combinations(judges, 2)
        if group != NEAR_MISSES or name_them.issuperset(who)
    ]


def _agreement(group: str, judges: tuple[str, str], labels: Sequence[Label], seed: int) -> Agreement:
    by_item: dict[tuple[str, int, str], dict[str, str]] = {}
    for each in labels:
        if each.value is not None:
            by_item.setdefault(each.item, {})[each.judge] = each.value
    rated = {item: values for item, values in by_item.items() if len(values) > 1}
    talks: dict[str, Counts] = {}
    for item, values in rated.items():
        talks.setdefault(item[0], Counter())[tuple(values[judge] for judge in judges)] += 1
    counted = list(talks.values())
    whole: Counts = sum(counted, Counter())
    drawn = _resampled(counted, seed) if len(counted) > 1 else []
    return Agreement(
        group,
        judges,
        len(rated),
        len(talks),
        len(by_item) - len(rated),
        _interval(whole, drawn, percent_agreement),
        _interval(whole, drawn, cohen_kappa),
    )


def _resampled(talks: Sequence[Counts], seed: int) -> list[Counts]:
    """Resamples of whole conversations, whose turns are not independent of each other."""
    import numpy as np

    combinations = list(dict.fromkeys(units for talk in talks for units in talk))
    counts = np.array([[talk[units] for units in combinations] for talk in talks])
    drawn = np.random.default_rng(seed).multinomial(len(talks), [1 / len(talks)] * len(talks), size=RESAMPLES)
    return [
        Counter({units: count for units, count in zip(combinations, row, strict=True) if count})
        for row in (drawn @ counts).tolist()
    ]


def _interval(whole: Counts, drawn: Sequence[Counts], measure: Callable[[Units], float | None]) -> Interval:
    """The measure of all conversations, with its percentile interval over the resamples."""
    value = measure(whole)
    values = sorted(each for each in map(measure, drawn) if each is not None)
    if value is None or not drawn or len(values) < RESAMPLES // 2:  # mostly undefined: an interval would mislead
        return Interval(value, None, None)
    return Interval(value, values[int(0.025 * len(values))], values[int(0.975 * len(values)) - 1])


@dataclass(frozen=True)
class Flips:
    """How often one judge, asked again about the same thing, said something else than the first time."""

    judge: str
    repeats: int
    share: Share  # of pairs of first and later answers


def flips(labels: Iterable[Label]) -> list[Flips]:
    """Per judge that was asked more than once: changed answers, over intents and kinds that it labelled each time."""
    answers: dict[str, dict[tuple[str, int, str], dict[int, str]]] = {}
    for each in labels:
        if each.value is not None:
            answers.setdefault(each.judge, {}).setdefault(each.item, {})[each.repeat] = each.value
    changes = []
    for judge, items in answers.items():
        pairs = [
            (by_repeat[0], later)
            for by_repeat in items.values()
            if 0 in by_repeat
            for at, later in by_repeat.items()
            if at
        ]
        if pairs:
            asked = 1 + max(repeat for by_repeat in items.values() for repeat in by_repeat)
            changes.append(Flips(judge, asked, share_of(sum(one != other for one, other in pairs), len(pairs))))
    return changes


@dataclass(frozen=True)
class Disagreement:
    """One thing that judges see differently; `conversation` and `turn` lead to it."""

    conversation: str
    turn: int
    intent: str
    labels: tuple[Label, ...]

    @property
    def line(self) -> str:
        what = f"[{self.intent}]" if self.intent != KIND else "kind of reply"
        return f"{what}: " + "; ".join(f"{each.judge} says {each.value}" for each in self.labels)


def disagreements(labels: Iterable[Label]) -> list[Disagreement]:
    """Things on which the judges' first answers differ, in the order of the conversations."""
    by_item = grouped((each.item, each) for each in labels if each.repeat == 0 and each.value is not None)
    return [
        Disagreement(*item, tuple(labels_of_item))
        for item, labels_of_item in by_item.items()
        if len({each.value for each in labels_of_item}) > 1
    ]
