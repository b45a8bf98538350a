"""How one reply changes a user's state: focus, walk and transition (paper, sections 3.1-3.2, appendix A.2).

`advance` is the only way from one state to the next and calls no model: it applies a judge's `Evaluation` under
`Rules`.  Where the rules are the authors', a function hands over to `discover_lib.core.authors` in its first lines.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Literal

from discover_lib.base.seeds import unit_uniform
from discover_lib.core import authors
from discover_lib.core.intents import Intent, IntentTree
from discover_lib.core.rules import Rules
from discover_lib.core.state import Discovery, Evaluation, IntentState, Kind, Threshold, Transition, Verdict


def initial_state(
    tree: IntentTree, rules: Rules | None = None, seed: int = 0, thresholds: Mapping[str, Threshold] | None = None
) -> IntentState:
    """The state before the first reply: the intents that the request names are discovered, and no intent is satisfied.

    θ is uniform on [0, 1), drawn per intent from `seed` and the intent's id, so that no order matters.  `thresholds`
    overrides single intents: a number, or under `Rules.authors()` a pair.

    Raises:
        ValueError: a threshold for an unknown intent, or of the wrong shape for these rules.
    """
    rules = rules or Rules.paper()
    given = thresholds or {}
    for intent_id in given:
        if intent_id not in tree.intents:
            raise ValueError(f"thresholds name {intent_id!r}, which is not in the tree")
    start = {
        intent_id: Discovery.DISCOVERED if intent_id in tree.initially_discovered else Discovery.UNDISCOVERED
        for intent_id in tree.intents
    }
    if rules.thresholds == 2:
        return authors.initial_state(tree, start, seed, given)
    drawn: dict[str, Threshold] = {intent_id: unit_uniform(seed, "theta", intent_id) for intent_id in tree.intents}
    drawn |= {intent_id: _checked_threshold(intent_id, value) for intent_id, value in given.items()}
    return IntentState(start, frozenset(), drawn, drawn)


def _checked_threshold(intent_id: str, value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    raise ValueError(f"the threshold of {intent_id!r} must be a number under these rules, got {value!r}")


def focus(tree: IntentTree, state: IntentState, rules: Rules) -> tuple[str, ...]:
    """Ids of the roots whose trees the judge is shown, current first; empty when all is discovered.

    The first root, in order, that still has an intent not yet discovered (it limits the user's cognitive load).
    """
    if rules.focus == "unsatisfied_leaf":
        return authors.focus(tree, state)
    for root_id, ids in tree.ids_of.items():
        if not state.discovered.issuperset(ids):
            return (root_id,)
    return ()


def finished(tree: IntentTree, state: IntentState, rules: Rules) -> Literal["all_discovered", "all_satisfied"] | None:
    """Why this conversation is over, or None: every intent is discovered (authors: satisfied)."""
    if rules.focus == "unsatisfied_leaf":
        return authors.finished(tree, state)
    return "all_discovered" if state.discovered.issuperset(tree.intents) else None


def frontier(tree: IntentTree, state: IntentState, in_focus: Collection[str]) -> frozenset[str]:
    """Intents that a reply could move now: in a tree that the judge is shown, not discovered, under a known parent."""
    known = {None, *state.discovered}
    hidden = [key for root_id in in_focus for key in tree.ids_of[root_id] if key not in state.discovered]
    return frozenset(key for key in hidden if tree.parents[key] in known)


def walk(
    tree: IntentTree, state: IntentState, rules: Rules, decide: Callable[[Intent], Verdict]
) -> tuple[Verdict, ...]:
    """Collect verdicts in the order in which a judge visits the intents it is shown (paper, appendix A.2.1).

    The focus tree from its root; children are visited under an engaged intent and under one that is already
    discovered.  Intents already satisfied are walked through, not asked again.  With
    ``satisfaction_scope="discovered"`` the discovered, unsatisfied intents of other trees are asked too, since a
    reply can still satisfy them.
    """
    shown = focus(tree, state, rules)
    visit = authors.visit if rules.gate == "parent_passed" else _visit
    verdicts = [verdict for root_id in shown for verdict in visit(tree[root_id], state, decide)]
    if rules.satisfaction_scope == "focus":
        return tuple(verdicts)
    for intent in tree.intents.values():
        unmet = intent.id in state.discovered and intent.id not in state.satisfied
        if unmet and tree.root_of[intent.id] not in shown:
            verdicts.append(decide(intent))
    return tuple(verdicts)


def _visit(intent: Intent, state: IntentState, decide: Callable[[Intent], Verdict]) -> Iterator[Verdict]:
    opened = intent.id in state.discovered
    if intent.id not in state.satisfied:
        verdict = decide(intent)
        yield verdict
        opened = opened or verdict.engaged
    for child in intent.children if opened else ():
        yield from _visit(child, state, decide)


def advance(
    tree: IntentTree, state: IntentState, evaluation: Evaluation, rules: Rules
) -> tuple[IntentState, tuple[Transition, ...]]:
    """The next state and its transitions (paper, section 3.2; no model is called).

    Engaged → discovered, and satisfied too if the reply is an artifact.  Not engaged with k near misses:
    ``score = p·k``; if it crosses θ the intent moves up one state and θ starts again, else θ shrinks by the score.
    Verdicts are applied parents first; one on an intent that cannot move yet is ignored.  Discovery and satisfaction
    never go back.

    Raises:
        ValueError: a verdict on an intent that is not in the tree.

    >>> tree = IntentTree.from_dict({"initially_discovered": ["1"], "roots": [
    ...     {"id": "1", "text": "an animal", "children": [{"id": "1.1", "text": "a dog"}]}]})
    >>> two_other_animals = Evaluation("artifact", (Verdict("1.1", False, near_misses=("a cat", "a fox")),))
    >>> state, [transition] = advance(
    ...     tree, initial_state(tree, thresholds={"1.1": 0.4}), two_other_animals, Rules.paper())
    >>> state["1.1"].name, transition.score, transition.theta, state.thresholds["1.1"]
    ('EMERGING', 0.5, 0.4, 0.4)
    """
    verdicts = {verdict.intent_id: verdict for verdict in evaluation.verdicts}  # of duplicates the last counts
    for intent_id in verdicts:
        if intent_id not in tree.intents:
            raise ValueError(f"a verdict names intent {intent_id!r}, which is not in the tree")
    update = _Update(state, evaluation.kind, rules)
    for verdict in _counting(tree, state, verdicts, update, rules):
        update.apply(verdict)
    return update.result()


def _counting(
    tree: IntentTree, state: IntentState, verdicts: Mapping[str, Verdict], update: _Update, rules: Rules
) -> Iterator[Verdict]:
    """The verdicts that count, parents first, one by one as those before are applied to the `update`.

    They are on roots, and on intents whose parent is discovered or becomes so in this very reply (eq. 3).
    """
    if rules.gate == "parent_passed":
        yield from authors.counting(tree, state, focus(tree, state, rules), verdicts, update.satisfied)
        return
    for intent_id in tree.intents:  # in the order of the tree, which transitions keep
        if intent_id in verdicts:
            parent = tree.parents[intent_id]
            now = parent is None or update.discovery.get(parent) is Discovery.DISCOVERED
            if now or intent_id in state.discovered:
                yield verdicts[intent_id]


class _Update:
    """The changes of one reply, collected while verdicts are applied to a working copy of the state."""

    def __init__(self, state: IntentState, kind: Kind, rules: Rules) -> None:
        self.kind, self.rules = kind, rules
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
            authors.use_up(self.thresholds, intent_id)
        if satisfied or before is not Discovery.DISCOVERED:
            self.transitions.append(Transition(intent_id, before, Discovery.DISCOVERED, "direct", satisfied))

    def _approach(self, verdict: Verdict) -> None:
        intent_id = verdict.intent_id
        score = self.rules.p * min(self._near_misses(verdict), self.rules.near_miss_cap or len(verdict.near_misses))
        theta = self._theta(intent_id)
        if score == 0 or theta is None:
            return
        before = self._level(intent_id)
        # Rounding keeps a score that equals θ on paper (3 × 0.1 against 0.3) from crossing by a floating-point hair.
        margin = round(score - theta, 12)
        crossed = margin > 0 or (margin == 0 and self.rules.crossing == ">=")
        after = Discovery(before + 1) if crossed else before
        self.discovery[intent_id] = after
        left = self._lower_threshold(intent_id, crossed, 0.0 - margin)
        self.transitions.append(
            Transition(intent_id, before, after, "tangential", score=score, theta=theta, theta_left=left)
        )

    def _near_misses(self, verdict: Verdict) -> int:
        """Near misses that count: distinct in the reply and, if the rules say so, in the conversation."""
        if self.rules.gate == "parent_passed":
            return len(verdict.near_misses)  # as the list comes, repetitions included
        distinct = frozenset(" ".join(miss.lower().split()) for miss in verdict.near_misses)
        seen: frozenset[str] = frozenset()
        if self.rules.near_misses == "per_conversation":
            seen = self.counted.get(verdict.intent_id, seen)
            self.counted[verdict.intent_id] = seen | distinct
        return len(distinct - seen)

    def _theta(self, intent_id: str) -> float | None:
        """θ in force, or None where no threshold is left to cross."""
        if intent_id not in self.thresholds:
            raise ValueError(f"the state has no threshold for intent {intent_id!r}, which the reply nearly met")
        value = self.thresholds[intent_id]
        return authors.threshold_in_force(value) if isinstance(value, tuple) else value

    def _lower_threshold(self, intent_id: str, crossed: bool, remainder: float) -> float | None:
        """Reset θ after a move, else lower it to the `remainder`; return the θ now in force."""
        value = self.thresholds[intent_id]
        if isinstance(value, tuple):
            self.thresholds[intent_id] = authors.lowered(value, crossed, remainder)
        else:
            self.thresholds[intent_id] = self.initial[intent_id] if crossed else remainder
        return self._theta(intent_id)
