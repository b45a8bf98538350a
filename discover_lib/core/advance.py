"""How one reply changes what a user knows: focus, walk and transition (paper, sections 3.1-3.2, appendix A.2).

`advance` is the only way from one state to the next and calls no model: it applies a judge's `Evaluation` under
`Rules`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Literal

from discover_lib.base.seeds import unit_uniform
from discover_lib.core.authors import _complete, is_done
from discover_lib.core.intents import Intent, IntentTree
from discover_lib.core.rules import Rules
from discover_lib.core.state import Discovery, Evaluation, IntentState, Kind, Threshold, Transition, Verdict


def initial_state(
    tree: IntentTree,
    rules: Rules | None = None,
    seed: int = 0,
    thresholds: Mapping[str, Threshold] | None = None,
) -> IntentState:
    """The state before the first reply: the roots that the request names are discovered, nothing is satisfied.

    θ is uniform on [0, 1), drawn per intent from `seed` and the intent's id, so that no order matters.  `thresholds`
    overrides single intents: a number, or under `Rules.authors()` a pair.

    Raises:
        ValueError: a threshold for an unknown intent, or of the wrong shape for these rules.
    """
    rules = rules or Rules.paper()
    given = dict(thresholds or {})
    for intent_id, value in given.items():
        if intent_id not in tree.intents:
            raise ValueError(f"thresholds name {intent_id!r}, which is not in the tree")
        given[intent_id] = _checked_threshold(intent_id, value, rules)
    start = {
        intent_id: Discovery.DISCOVERED if intent_id in tree.initially_discovered else Discovery.UNDISCOVERED
        for intent_id in tree.intents
    }
    drawn = {intent_id: given.get(intent_id, _draw_threshold(intent_id, rules, seed)) for intent_id in tree.intents}
    left = {
        intent_id: () if rules.thresholds == 2 and start[intent_id] is Discovery.DISCOVERED else value
        for intent_id, value in drawn.items()
    }
    return IntentState(start, frozenset(), left, drawn)


def focus(tree: IntentTree, state: IntentState, rules: Rules) -> tuple[str, ...]:
    """Ids of the roots whose trees the judge is shown, current first; empty when none is left.

    Paper: the first root that still has an intent not yet discovered.  Authors: the first root with an unsatisfied
    leaf, and the root after it (whose result `advance` keeps only if the current one completes in this reply).
    """
    if rules.focus == "undiscovered":
        for root in tree.roots:
            if any(state[intent.id] is not Discovery.DISCOVERED for intent in root.walk()):
                return (root.id,)
        return ()
    for index, root in enumerate(tree.roots):
        if not _complete(root, state.satisfied):
            return tuple(shown.id for shown in tree.roots[index : index + 2])
    return ()


def finished(tree: IntentTree, state: IntentState, rules: Rules) -> Literal["all_discovered", "all_satisfied"] | None:
    """Why nothing is left to do in this conversation, or None: the user knows (authors: has) all they want."""
    if rules.focus == "unsatisfied_leaf":
        # A parent counts as satisfied when all below it is (their roll-up), so the leaves decide.
        return "all_satisfied" if all(_complete(root, state.satisfied) for root in tree.roots) else None
    everything = all(state[intent_id] is Discovery.DISCOVERED for intent_id in tree.intents)
    return "all_discovered" if everything else None


def walk(
    tree: IntentTree, state: IntentState, rules: Rules, decide: Callable[[Intent], Verdict]
) -> tuple[Verdict, ...]:
    """Collect verdicts in the order in which a judge visits the intents it is shown (paper, appendix A.2.1).

    The focus tree from its root; children are visited under an engaged intent and under one that is already
    discovered.  Intents already satisfied are walked through, not asked again.  With
    ``satisfaction_scope="discovered"`` the discovered, unsatisfied intents of other trees are asked too, since a
    reply can still satisfy them.
    """
    verdicts: list[Verdict] = []

    def visit(intent: Intent) -> None:
        if _passed_through(intent, state, rules):
            opened = True
        else:
            verdict = decide(intent)
            verdicts.append(verdict)
            already = rules.gate == "parent_discovered" and state[intent.id] is Discovery.DISCOVERED
            opened = verdict.engaged or already
        if opened:
            for child in intent.children:
                visit(child)

    shown = focus(tree, state, rules)
    for root_id in shown:
        visit(tree[root_id])
    if rules.satisfaction_scope == "discovered":
        for intent in tree.intents.values():
            outside = tree.root_of[intent.id] not in shown
            if outside and state[intent.id] is Discovery.DISCOVERED and intent.id not in state.satisfied:
                verdicts.append(decide(intent))
    return tuple(verdicts)


def advance(
    tree: IntentTree, state: IntentState, evaluation: Evaluation, rules: Rules
) -> tuple[IntentState, tuple[Transition, ...]]:
    """The next state and what changed on the way (paper, section 3.2; no model is called).

    Engaged → discovered, and satisfied too if the reply is an artifact.  Not engaged with k near misses:
    ``score = p·k``; if it crosses θ the intent moves up one state and θ starts again, else θ shrinks by the score.
    Verdicts are applied parents first; one on an intent that cannot move yet is ignored.  Discovery and satisfaction
    never go back.

    Raises:
        ValueError: a verdict on an intent that is not in the tree.
    """
    verdicts = {verdict.intent_id: verdict for verdict in evaluation.verdicts}  # of duplicates the last counts
    for intent_id in verdicts:
        if intent_id not in tree.intents:
            raise ValueError(f"a verdict names intent {intent_id!r}, which is not in the tree")
    update = _Update(state, evaluation.kind, rules)
    if rules.gate == "parent_discovered":
        for intent_id in tree.intents:
            parent = tree.parents[intent_id]
            opened = parent is None or update.discovery.get(parent) is Discovery.DISCOVERED
            if intent_id in verdicts and (opened or state[intent_id] is Discovery.DISCOVERED):
                update.apply(verdicts[intent_id])
        return update.result()
    shown = focus(tree, state, rules)
    for position, root_id in enumerate(shown):
        if position > 0 and not _complete(tree[shown[position - 1]], frozenset(update.satisfied)):
            break  # the next root counts only when the current one completes in this reply
        _advance_passed(tree, tree[root_id], state, verdicts, update, rules)
    return update.result()


class _Update:
    """The changes of one reply, collected while verdicts are applied to a working copy of the state."""

    def __init__(self, state: IntentState, kind: Kind, rules: Rules) -> None:
        self.kind = kind
        self.rules = rules
        self.discovery = dict(state.discovery)
        self.satisfied = set(state.satisfied)
        self.thresholds = dict(state.thresholds)
        assert state.initial_thresholds is not None
        self.initial = state.initial_thresholds
        self.counted = dict(state.counted)
        self.transitions: list[Transition] = []

    def apply(self, verdict: Verdict) -> None:
        if verdict.engaged:
            self._engage(verdict.intent_id)
        elif verdict.near_misses and self._level(verdict.intent_id) is not Discovery.DISCOVERED:
            self._approach(verdict)

    def result(self) -> tuple[IntentState, tuple[Transition, ...]]:
        state = IntentState(self.discovery, frozenset(self.satisfied), self.thresholds, self.initial, self.counted)
        return state, tuple(self.transitions)

    def _level(self, intent_id: str) -> Discovery:
        return self.discovery.get(intent_id, Discovery.UNDISCOVERED)

    def _engage(self, intent_id: str) -> None:
        before = self._level(intent_id)
        satisfied = self.kind == "artifact" and intent_id not in self.satisfied
        self.discovery[intent_id] = Discovery.DISCOVERED
        if satisfied:
            self.satisfied.add(intent_id)
        if self.rules.thresholds == 2:
            self.thresholds[intent_id] = ()
        if satisfied or before is not Discovery.DISCOVERED:
            self.transitions.append(Transition(intent_id, before, Discovery.DISCOVERED, "direct", satisfied))

    def _approach(self, verdict: Verdict) -> None:
        intent_id = verdict.intent_id
        score = self.rules.p * self._count(verdict)
        theta = self._theta(intent_id)
        if score == 0 or theta is None:
            return
        before = self._level(intent_id)
        # Rounding keeps a score that equals θ on paper (3 × 0.1 against 0.3) from crossing by a floating-point hair.
        margin = round(score - theta, 12)
        crossed = margin > 0 or (margin == 0 and self.rules.crossing == ">=")
        after = Discovery(before + 1) if crossed else before
        self.discovery[intent_id] = after
        left = self._wear(intent_id, crossed, 0.0 - margin)
        self.transitions.append(
            Transition(intent_id, before, after, "tangential", score=score, theta=theta, theta_left=left)
        )

    def _count(self, verdict: Verdict) -> int:
        """Near misses that count: distinct in the reply and, if the rules say so, in the conversation."""
        if self.rules.gate == "parent_passed":
            return len(verdict.near_misses)  # the authors count the list as it comes
        distinct = frozenset(" ".join(miss.lower().split()) for miss in verdict.near_misses)
        if self.rules.near_misses == "per_conversation":
            seen = self.counted.get(verdict.intent_id, frozenset())
            self.counted[verdict.intent_id] = seen | distinct
            distinct -= seen
        return len(distinct)

    def _theta(self, intent_id: str) -> float | None:
        """θ in force, or None where no threshold is left to cross."""
        if intent_id not in self.thresholds:
            raise ValueError(f"the state has no threshold for intent {intent_id!r}, which the reply nearly met")
        value = self.thresholds[intent_id]
        if isinstance(value, tuple):
            return value[0] if value else None
        return value

    def _wear(self, intent_id: str, crossed: bool, remainder: float) -> float | None:
        """Store what is left of θ and return the θ now in force."""
        value = self.thresholds[intent_id]
        if isinstance(value, tuple):
            self.thresholds[intent_id] = value[1:] if crossed else (remainder, *value[1:])
        else:
            self.thresholds[intent_id] = self.initial[intent_id] if crossed else remainder
        return self._theta(intent_id)


def _passed_through(intent: Intent, state: IntentState, rules: Rules) -> bool:
    """Whether a judge walks on below this intent without asking about it."""
    if rules.gate == "parent_discovered":
        return intent.id in state.satisfied
    below = intent.children
    return is_done(intent, state) if below else intent.id in state.satisfied


def _draw_threshold(intent_id: str, rules: Rules, seed: int) -> Threshold:
    if rules.thresholds == 1:
        return unit_uniform(seed, "theta", intent_id)
    return (unit_uniform(seed, "theta", intent_id), unit_uniform(seed, "theta 2", intent_id))


def _checked_threshold(intent_id: str, value: Any, rules: Rules) -> Threshold:
    if rules.thresholds == 1 and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if rules.thresholds == 2 and isinstance(value, list | tuple) and len(value) <= 2:
        return tuple(float(each) for each in value)
    shape = "a number" if rules.thresholds == 1 else "a pair of numbers"
    raise ValueError(f"the threshold of {intent_id!r} must be {shape} under these rules, got {value!r}")


def frontier(tree: IntentTree, state: IntentState, in_focus: Collection[str]) -> frozenset[str]:
    """Intents that a reply could move now: in a tree that the judge is shown, not discovered, under a known parent."""
    return frozenset(
        intent.id
        for root_id in in_focus
        for intent in tree[root_id].walk()
        if state[intent.id] is not Discovery.DISCOVERED and _opened(tree, state, intent)
    )


def _opened(tree: IntentTree, state: IntentState, intent: Intent) -> bool:
    parent = tree.parents[intent.id]
    return parent is None or state[parent] is Discovery.DISCOVERED


def _advance_passed(
    tree: IntentTree,
    root: Intent,
    state: IntentState,
    verdicts: Mapping[str, Verdict],
    update: _Update,
    rules: Rules,
) -> None:
    """Apply the verdicts of one tree as the authors' code does: under a parent that passed now or is done."""
    passed: set[str] = set()
    for intent in root.walk():
        if intent.id not in verdicts or _passed_through(intent, state, rules):
            continue
        parent = tree.parents[intent.id]
        if parent is None or parent in passed or _passed_through(tree[parent], state, rules):
            update.apply(verdicts[intent.id])
            if verdicts[intent.id].engaged:
                passed.add(intent.id)
