"""Scoring again without a new call: recorded judgements under other rules, and which conclusions would flip.

A replay walks each reply as the other rules would have a judge walk it, and takes the recorded verdicts.  An intent
that the judge was not shown has no verdict: it counts as not engaged, and `unjudged` counts it.  Messages and replies
stay as they were, and a conversation that the other rules would have continued ends where it ended.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from discover_lib.base.errors import DiscoverError
from discover_lib.core.advance import advance, finished, walk
from discover_lib.core.conversation import Conversation
from discover_lib.core.intents import Intent, IntentTree
from discover_lib.core.reward import length_penalty, reward
from discover_lib.core.rules import Rules
from discover_lib.core.state import Evaluation, IntentState, Verdict
from discover_lib.metrics.paired import Comparison, compare
from discover_lib.metrics.replay import start_under
from discover_lib.metrics.results import MEASURE, Pool, mean_of
from discover_lib.metrics.scores import EMERGING, ConversationScores, moves_through, scores_of

Change = Literal["same", "lost", "gained", "reversed"]
RESCORED = ("discovery", "proportion", "reward")  # the measures that settings bear upon


@dataclass(frozen=True)
class Setting:
    """One way to score recorded conversations.

    Attributes:
        axis, value: the changed point and its new value, in words.
        turns: count only this many turns.
    """

    axis: str
    value: str
    rules: Rules
    emerging: float = EMERGING
    turns: int | None = None

    @property
    def label(self) -> str:
        return f"{self.axis} = {self.value}"


def settings_around(rules: Rules, turns: int) -> list[Setting]:
    """What a sensitivity map tries: one point changed at a time, around the rules and turns of a run."""
    found = [Setting("p", f"{p:g}", rules.replace(p=p)) for p in (0.0, 0.1, 0.25, 0.5, 1.0) if p != rules.p]
    found += [Setting("λ", f"{factor:g} ×", rules.replace(lam=factor * rules.lam)) for factor in (0.0, 2.0, 5.0)]
    found += [Setting("τ", f"{factor:g} ×", rules.replace(tau=factor * rules.tau)) for factor in (0.5, 2.0)]
    found += [
        Setting("emerging counts", f"{weight:g}", rules, emerging=weight) for weight in (0.0, 1.0) if weight != EMERGING
    ]
    repeated = "per_conversation" if rules.near_misses == "per_reply" else "per_reply"
    found.append(Setting("near misses count", repeated.replace("_", " "), rules.replace(near_misses=repeated)))
    cap, of_a_reply = (1, "1 of a reply") if rules.near_miss_cap is None else (None, "all of a reply")
    found.append(Setting("near misses count", of_a_reply, rules.replace(near_miss_cap=cap)))
    focus = "unsatisfied_leaf" if rules.focus == "undiscovered" else "undiscovered"
    found.append(Setting("focus", focus.replace("_", " "), rules.replace(focus=focus)))
    other = Rules.paper() if rules.name.startswith("authors") else Rules.authors()
    found.append(Setting("rules", other.name, other))
    found += [Setting("turns", str(number), rules, turns=number) for number in range(1, turns)]
    return found


class RescoreError(DiscoverError):
    """Recorded conversations cannot be scored again; the message is one line with the reason."""


# -- one conversation under other rules --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Replayed:
    """A conversation's course under other rules.

    Attributes:
        moves: as of `ConversationScores`.
        discovered: R_d per turn.
        tokens: per turn that would have been taken.
        asked, unjudged: verdicts that the rules call for, and those of them that were never given.
    """

    moves: Mapping[str, tuple[int, int]]
    discovered: tuple[float, ...]
    tokens: tuple[int, ...]
    asked: int
    unjudged: int


def replayed(conversation: Conversation, rules: Rules) -> Replayed:
    """Replay the recorded judgements of a conversation under other rules.

    Raises:
        RescoreError: a turn has no recorded judgement, as in runs that were imported from the authors' files.
    """
    tree = conversation.tree
    start = state = start_under(rules, conversation)
    after: list[IntentState] = []
    discovered, tokens = [], []
    asked = unjudged = 0
    for turn in conversation.turns:
        if finished(tree, state, rules):
            break
        recorded = turn.candidate.evaluation
        if recorded is None:
            raise RescoreError(f"turn {turn.index} has no recorded verdicts; only runs of this program keep them")
        evaluation, unknown = as_walked(tree, state, recorded, rules)
        asked, unjudged = asked + len(evaluation.verdicts), unjudged + unknown
        before, (state, _) = state, advance(tree, state, evaluation, rules)
        after.append(state)
        discovered.append(reward(tree, before, state, turn.reply.n_tokens, rules).discovered)
        tokens.append(turn.reply.n_tokens)
    return Replayed(moves_through(tree, start, after), tuple(discovered), tuple(tokens), asked, unjudged)


def as_walked(tree: IntentTree, state: IntentState, recorded: Evaluation, rules: Rules) -> tuple[Evaluation, int]:
    """The recorded verdicts that a judge would have been asked for in this state, and how many of them are unknown."""
    given = {verdict.intent_id: verdict for verdict in recorded.verdicts}
    unknown = 0

    def decide(intent: Intent) -> Verdict:
        nonlocal unknown
        if intent.id not in given:
            unknown += 1
        return given.get(intent.id) or Verdict(intent.id, False, reason="not judged")

    return Evaluation(recorded.kind, walk(tree, state, rules, decide), recorded.kind_reason), unknown


def rescored(scores: ConversationScores, course: Replayed, setting: Setting) -> ConversationScores:
    """The scores of a conversation under a setting, from its replay under the setting's rules."""
    last = len(course.tokens) if setting.turns is None else min(setting.turns, len(course.tokens))
    moves = {
        intent: (emerged if emerged <= last else 0, found if found <= last else 0)
        for intent, (emerged, found) in course.moves.items()
    }
    rewards = tuple(
        discovered + length_penalty(n, setting.rules)
        for discovered, n in zip(course.discovered[:last], course.tokens[:last], strict=True)
    )
    return dataclasses.replace(scores, moves=moves, rewards=rewards, tokens=course.tokens[:last])


# -- many conversations ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """The comparisons under one setting, beside those under the run's own rules.

    Attributes:
        means: measure → assistant → mean over artifacts.
        changes: measure → (ours, theirs) → the change of the conclusion: "same"; "lost", no longer distinguishable;
            "gained", distinguishable only now; "reversed".
        asked, unjudged: see `Replayed`; over all conversations.
    """

    setting: Setting
    means: Mapping[str, Mapping[str, float]]
    changes: Mapping[str, Mapping[tuple[str, str], Change]]
    asked: int
    unjudged: int

    def to_dict(self) -> dict[str, Any]:
        return {
            "axis": self.setting.axis,
            "value": self.setting.value,
            "rules": self.setting.rules.to_dict(),
            "emerging": self.setting.emerging,
            "turns": self.setting.turns,
            "means": {measure: dict(row) for measure, row in self.means.items()},
            "changes": {
                measure: [{"ours": ours, "theirs": theirs, "change": each} for (ours, theirs), each in row.items()]
                for measure, row in self.changes.items()
            },
            "asked": self.asked,
            "unjudged": self.unjudged,
        }


@dataclass(frozen=True)
class SensitivityMap:
    """Every setting's outcome, around the run's own comparisons.

    Attributes:
        unequal: places of conversations whose replay under the run's own rules differs from the record; () in a sound
            run.
    """

    conversations: int
    unequal: tuple[int, ...]
    base: Mapping[str, Sequence[Comparison]]  # measure → comparisons under the run's own rules
    outcomes: Sequence[Outcome]

    @property
    def recheck(self) -> str:
        equal = self.conversations - len(self.unequal)
        return f"{equal} of {self.conversations} conversations score again as recorded, in every move and reward"

    def to_dict(self) -> dict[str, Any]:
        return {
            "recheck": {"conversations": self.conversations, "unequal": list(self.unequal)},
            "base": {measure: [each.to_dict() for each in row] for measure, row in self.base.items()},
            "outcomes": [each.to_dict() for each in self.outcomes],
        }


@dataclass(frozen=True)
class _Course:
    """One conversation with its recorded scores and its replays."""

    scores: ConversationScores
    replays: Mapping[Rules, Replayed]  # by the rules without λ and τ, which no course depends on


def _course_rules(rules: Rules) -> Rules:
    return dataclasses.replace(rules, name="", lam=0.0, tau=0.0)


def sensitivity(
    conversations: Iterable[tuple[int, Conversation]], rules: Rules, settings: Sequence[Setting] | None = None
) -> SensitivityMap:
    """Score recorded conversations under every setting and say which conclusions change.

    Args:
        conversations: (place, conversation), read one at a time.
        rules: that the run was made under.
        settings: by default `settings_around` the rules and the longest conversation.

    Raises:
        RescoreError: no conversation, or one without recorded judgements.
    """
    wanted = settings_around(rules, 1) if settings is None else list(settings)
    every = list(dict.fromkeys(_course_rules(each.rules) for each in (Setting("", "", rules), *wanted)))
    courses, unequal = [], []
    for place, conversation in conversations:
        recorded = scores_of(conversation, place)
        course = _Course(recorded, {each: replayed(conversation, each) for each in every})
        if _under(course, Setting("", "", rules)) != recorded:
            unequal.append(place)
        courses.append(course)
    if not courses:
        raise RescoreError("there is no finished conversation to score again")
    if settings is None:
        wanted = settings_around(rules, max(each.scores.turns for each in courses))
    base = _compared(Pool(_under(each, Setting("", "", rules)) for each in courses))
    outcomes = [_outcome(each, courses, base) for each in wanted]
    return SensitivityMap(len(courses), tuple(unequal), base, outcomes)


def _under(course: _Course, setting: Setting) -> ConversationScores:
    return rescored(course.scores, course.replays[_course_rules(setting.rules)], setting)


def _compared(pool: Pool) -> dict[str, list[Comparison]]:
    values = {measure: pool.values(measure) for measure in RESCORED}
    return {measure: compare(found) for measure, found in values.items()}


def _outcome(setting: Setting, courses: Sequence[_Course], base: Mapping[str, Sequence[Comparison]]) -> Outcome:
    pool = Pool((_under(each, setting) for each in courses), emerging=setting.emerging)
    found = _compared(pool)
    replays = [each.replays[_course_rules(setting.rules)] for each in courses]
    return Outcome(
        setting,
        {
            measure: {name: mean_of(values) for name, values in pool.values(measure).items() if values}
            for measure in RESCORED
        },
        {measure: _changes(base[measure], found[measure]) for measure in RESCORED},
        sum(each.asked for each in replays),
        sum(each.unjudged for each in replays),
    )


def _changes(base: Sequence[Comparison], found: Sequence[Comparison]) -> dict[tuple[str, str], Change]:
    """Pairs without a comparison on one side (eq. 4 defined on no user) count as not distinguishable there."""
    before = {(each.ours, each.theirs): each.conclusion for each in base}
    after = {(each.ours, each.theirs): each.conclusion for each in found}
    return {pair: _change(before.get(pair, 0), after.get(pair, 0)) for pair in dict.fromkeys([*before, *after])}


def _change(before: int, after: int) -> Change:
    if before == after:
        return "same"
    if after == 0:
        return "lost"
    return "gained" if before == 0 else "reversed"


def change_lines(outcome: Outcome) -> list[str]:
    """The changes under a setting, in words: one line a measure, or one line if no conclusion changes."""
    lines = []
    for measure, row in outcome.changes.items():
        changed = [f"{ours}–{theirs} {change}" for (ours, theirs), change in row.items() if change != "same"]
        if changed:
            lines.append(f"{MEASURE[measure].label}: {', '.join(changed)}")
    return lines or ["no conclusion changes"]
