"""The filtered view of the user's mind from which a voice speaks (paper, appendix A.2.3).

A voice never sees the tree.  It sees the achieved intents, and one group of missing ones: intents that the user knows
(`clear`), things they half know (`fuzzy`), or, failing both, things of which they could only name the category
(`latent`), and that only where something achieved has it, too (`UserView.shared`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from discover_lib.base.leak_words import find_leaks
from discover_lib.base.records import Record
from discover_lib.base.words import stem
from discover_lib.core import authors
from discover_lib.core.advance import focus
from discover_lib.core.intents import IntentTree
from discover_lib.core.rules import Rules
from discover_lib.core.state import Discovery, IntentState, Pursuing, Transition


@dataclass(frozen=True)
class UserView(Record, omit=("category",)):
    """The user's knowledge at this moment.

    Attributes:
        achieved: ids of intents that the artifact so far contains.
        pursuing: how the user may speak of missing intents, or None if all are met.
        items: ids of the missing intents of that group.
        texts: texts of exactly the ids above.
        notes: per id, why it failed or succeeded in this turn's reply (the judge's reason), where there is one.
        changed: those of the ids above that moved or became satisfied in this turn.
        category: the named aspect that a latent intent shares with an achieved one, or "".
    """

    achieved: tuple[str, ...]
    pursuing: Pursuing | None
    items: tuple[str, ...]
    texts: Mapping[str, str] = field(default_factory=dict, compare=False)
    notes: Mapping[str, str] = field(default_factory=dict, compare=False)
    changed: tuple[str, ...] = field(default=(), compare=False)
    category: str = field(default="", compare=False)

    @property
    def shared(self) -> tuple[str, ...]:
        """Achieved intents in the tree of the first missing one; only they name the aspect of a latent one (E.6)."""
        root = self.items[0].partition(".")[0] if self.items else None
        return tuple([key for key in self.achieved if key.partition(".")[0] == root])


def user_view(
    tree: IntentTree,
    state: IntentState,
    rules: Rules | None = None,
    reasons: Mapping[str, str] | None = None,
    transitions: tuple[Transition, ...] = (),
) -> UserView:
    """The view after a reply.  `reasons` (per intent) and `transitions` of that reply become notes.

    >>> tree = IntentTree.from_dict({"roots": [{"id": "1", "text": "an animal"}, {"id": "2", "text": "a mood"}]})
    >>> view = user_view(tree, IntentState({"1": Discovery.DISCOVERED}))
    >>> view.pursuing, view.items, view.texts
    ('clear', ('1',), {'1': 'an animal'})
    >>> user_view(tree, IntentState({"1": Discovery.DISCOVERED}, satisfied=frozenset({"1"}))).pursuing
    'latent'
    """
    rules = rules or Rules.paper()
    known = authors.achieved_and_pursued if rules.achieved == "open_parents" else _achieved_and_pursued
    found = achieved, _, items = known(tree, state, focus(tree, state, rules))
    shown = (*achieved, *items)
    changed = {each.intent_id for each in transitions if each.moved or each.satisfied}
    view = UserView(
        *found,
        texts={key: tree.intents[key].text for key in shown},
        notes={key: reasons[key] for key in shown if key in reasons} if reasons else {},
        changed=tuple([key for key in shown if key in changed]),
    )
    named = [tree.intents[key].aspect for key in view.shared] if view.pursuing == "latent" else []
    return replace(view, category=[*filter(None, named)][-1]) if any(named) else view


def _achieved_and_pursued(
    tree: IntentTree, state: IntentState, in_focus: Sequence[str]
) -> tuple[tuple[str, ...], Pursuing | None, tuple[str, ...]]:
    """In each tree the lowest intents that are discovered and satisfied; then the group of missing ones."""
    met = state.satisfied & state.discovered
    # Whatever has something met below it: the ids that a dotted id begins with.
    above = {key[:end] for key in met for end, sign in enumerate(key) if sign == "."}
    achieved = tuple([key for key in tree.intents if key in met and key not in above])
    missing = [key for key in tree.intents if key not in state.satisfied]
    if clear := tuple([key for key in missing if key in state.discovered]):
        return achieved, "clear", clear
    if fuzzy := tuple([key for key in missing if state.discovery.get(key) is Discovery.EMERGING]):
        return achieved, "fuzzy", fuzzy
    if latent := tuple(key for key in missing if tree.root_of[key] in in_focus[:1]):  # one dimension at a time
        return achieved, "latent", latent
    return achieved, None, ()


def hidden_texts(tree: IntentTree, state: IntentState) -> dict[str, str]:
    """Intent id → text of every intent that the user has not discovered."""
    return {key: intent.text for key, intent in tree.intents.items() if key not in state.discovered}


def known_texts(tree: IntentTree, state: IntentState) -> list[str]:
    """The texts of the discovered intents."""
    return [intent.text for key, intent in tree.intents.items() if key in state.discovered]


def leaked_words(message: str, tree: IntentTree, state: IntentState, before: Iterable[str]) -> tuple[str, ...]:
    """Content words (stemmed, sorted) of `message` that only undiscovered or emerging intents hold, word for word.

    None of them is in the texts `before` the message, the assistant's last reply included.  Other forms are left to
    the audit: a user's word for a category ("the opening") may derive from a hidden intent's word ("opens"), and
    only the audit knows the names of categories.
    """
    leaks = find_leaks(message, hidden_texts(tree, state), [*known_texts(tree, state), *before])
    return tuple(sorted({stem(leak.word) for leak in leaks if leak.how == "verbatim"}))
