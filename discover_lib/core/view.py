"""What the user may say now: the filtered view that a voice speaks from (paper, appendix A.2.3).

A voice never sees the tree.  It sees what has been achieved, and one group of what has not: things the user knows
(`clear`), things they half know (`fuzzy`), or, failing both, things of which they could only name the category
(`latent`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from discover_lib.base.leaks import find_leaks
from discover_lib.base.words import stem
from discover_lib.core.advance import focus
from discover_lib.core.authors import is_done
from discover_lib.core.intents import Intent, IntentTree
from discover_lib.core.rules import Rules
from discover_lib.core.state import Discovery, IntentState, Transition

Pursuing = Literal["clear", "fuzzy", "latent"]


@dataclass(frozen=True)
class UserView:
    """What the user knows at this moment.

    Attributes:
        achieved: ids of what the work so far has got right.
        pursuing: how what is missing may be spoken of, or None if nothing is missing.
        items: ids of what is missing, of that one group.
        texts: requirement texts of the ids above, and of nothing else.
        notes: per id, why it failed or succeeded in this turn's reply (the judge's reason), where there is one.
        changed: those of the ids above that moved or became satisfied in this turn.
    """

    achieved: tuple[str, ...]
    pursuing: Pursuing | None
    items: tuple[str, ...]
    texts: Mapping[str, str] = field(default_factory=dict, compare=False)
    notes: Mapping[str, str] = field(default_factory=dict, compare=False)
    changed: tuple[str, ...] = field(default=(), compare=False)

    def to_dict(self) -> dict[str, Any]:
        return {
            "achieved": list(self.achieved),
            "pursuing": self.pursuing,
            "items": list(self.items),
            "texts": dict(self.texts),
            "notes": dict(self.notes),
            "changed": list(self.changed),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> UserView:
        return cls(
            tuple(data["achieved"]),
            data["pursuing"],
            tuple(data["items"]),
            data.get("texts", {}),
            data.get("notes", {}),
            tuple(data.get("changed", ())),
        )


def user_view(
    tree: IntentTree,
    state: IntentState,
    rules: Rules | None = None,
    reasons: Mapping[str, str] | None = None,
    transitions: tuple[Transition, ...] = (),
) -> UserView:
    """The view after a reply.  `reasons` (per intent) and `transitions` of that reply become notes."""
    rules = rules or Rules.paper()
    if rules.achieved == "lowest":
        achieved = tuple(_lowest_achieved(tree, state))
        pursuing, items = _pursued(tree, state, rules)
    else:
        roots = _roots_up_to_focus(tree, state, rules)
        achieved = tuple(_achieved_with_open_parents(roots, state))
        pursuing, items = _pursued_by_authors(roots, state)
    shown = (*achieved, *items)
    moved = {each.intent_id for each in transitions if each.moved or each.satisfied}
    notes = {key: reasons[key] for key in shown if key in reasons} if reasons else {}
    texts = {key: tree.text(key) for key in shown}
    return UserView(achieved, pursuing, items, texts, notes, tuple(key for key in shown if key in moved))


def _lowest_achieved(tree: IntentTree, state: IntentState) -> Iterator[str]:
    got = {key for key in state.satisfied if state[key] is Discovery.DISCOVERED}
    for intent in tree.intents.values():
        if intent.id in got and not any(below.id in got for below in intent.walk() if below is not intent):
            yield intent.id


def _pursued(tree: IntentTree, state: IntentState, rules: Rules) -> tuple[Pursuing | None, tuple[str, ...]]:
    def unsatisfied(level: Discovery, among: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(key for key in among if state[key] is level and key not in state.satisfied)

    everything = tuple(tree.intents)
    if clear := unsatisfied(Discovery.DISCOVERED, everything):
        return "clear", clear
    if fuzzy := unsatisfied(Discovery.EMERGING, everything):
        return "fuzzy", fuzzy
    in_focus = tuple(intent.id for root_id in focus(tree, state, rules)[:1] for intent in tree[root_id].walk())
    if latent := unsatisfied(Discovery.UNDISCOVERED, in_focus):  # one dimension at a time
        return "latent", latent
    return None, ()


def _roots_up_to_focus(tree: IntentTree, state: IntentState, rules: Rules) -> tuple[Intent, ...]:
    current = focus(tree, state, rules)[:1]
    ids = [root.id for root in tree.roots]
    return tree.roots[: ids.index(current[0]) + 1] if current else tree.roots


def _achieved_with_open_parents(roots: tuple[Intent, ...], state: IntentState) -> Iterator[str]:
    for root in roots:
        for intent in root.walk():
            open_below = any(child.id not in state.satisfied for child in intent.children)
            if intent.id in state.satisfied and (not intent.children or open_below):
                yield intent.id


def _pursued_by_authors(roots: tuple[Intent, ...], state: IntentState) -> tuple[Pursuing | None, tuple[str, ...]]:
    intents = [intent for root in roots for intent in root.walk() if intent.id not in state.satisfied]
    clear = [each for each in intents if state[each.id] is Discovery.DISCOVERED and not is_done(each, state)]
    fuzzy = [each for each in intents if state[each.id] is Discovery.EMERGING]
    hidden = [each for each in intents if state[each.id] is Discovery.UNDISCOVERED]
    below_hidden = {child.id for each in hidden for child in each.children}
    latent = [each for each in hidden if each.id not in below_hidden or not each.children]
    groups: tuple[tuple[Pursuing, list[Intent]], ...] = (("clear", clear), ("fuzzy", fuzzy), ("latent", latent))
    for name, group in groups:
        if group:
            return name, tuple(intent.id for intent in group)
    return None, ()


def hidden_texts(tree: IntentTree, state: IntentState) -> dict[str, str]:
    """Intent id → text of what the user has not discovered."""
    return {key: each.text for key, each in tree.intents.items() if state[key] is not Discovery.DISCOVERED}


def known_texts(tree: IntentTree, state: IntentState) -> list[str]:
    """The texts of what the user has discovered."""
    return [each.text for key, each in tree.intents.items() if state[key] is Discovery.DISCOVERED]


def leaked_words(message: str, tree: IntentTree, state: IntentState, said: Iterable[str]) -> tuple[str, ...]:
    """Content words (stemmed, sorted) of `message` that only undiscovered or emerging intents hold, word for word.

    Other forms are left to the audit: what a user calls a category ("the opening") may be derived from what a hidden
    intent says ("opens"), and only the audit knows the names of categories.

    Args:
        said: texts of the conversation before `message`, the assistant's last reply included.
    """
    hidden = hidden_texts(tree, state)
    leaks = find_leaks(message, hidden, [*known_texts(tree, state), *said])
    return tuple(sorted({stem(leak.word) for leak in leaks if leak.how == "verbatim"}))
