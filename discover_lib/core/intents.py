"""Intent trees: a forest of requirements from broad to specific (paper, section 3.1).

An `IntentTree` is a checked, frozen value.  Each `Intent` is one requirement; a child is more specific than its
parent, every root is an independent dimension, ids are dotted: `1`, `1.2`, `1.2.1`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from discover_lib.base.errors import DiscoverError
from discover_lib.base.records import Record

if TYPE_CHECKING:
    import networkx

MAX_DEPTH = 16
MAX_INTENTS = 5_000
MAX_TEXT = 2_000  # characters of one requirement
_ID = re.compile(r"[1-9][0-9]*(\.[1-9][0-9]*)*")


class TreeError(DiscoverError):
    """An intent tree that breaks a rule; the message names the intent and says what to do."""


@dataclass(frozen=True)
class Intent(Record, omit=("aspect",)):
    """One requirement and the more specific ones below it; `aspect` is a name for what it is about, "" if unknown."""

    id: str
    text: str
    children: tuple[Intent, ...] = ()
    aspect: str = field(default="", compare=False)

    def walk(self) -> Iterator[Intent]:
        """This intent and all below it, parents first."""
        stack = [self]
        while stack:
            intent = stack.pop()
            yield intent
            stack.extend(reversed(intent.children))


@dataclass(frozen=True)
class IntentTree(Record):
    """The intent trees of one artifact, and the request that a user with them opens with.

    Attributes:
        artifact_type: what kind of thing is made, e.g. "SVG drawing".
        topic: one to three words.
        initial_request: the user's first message; it names `initially_discovered` and nothing else.
        initially_discovered: ids that start discovered.
        roots: the independent dimensions, in the order in which the judge's focus visits them.
    """

    artifact_type: str
    topic: str
    initial_request: str
    initially_discovered: tuple[str, ...]
    roots: tuple[Intent, ...]
    intents: Mapping[str, Intent] = field(init=False, repr=False, compare=False)  # id → intent, parents first
    parents: Mapping[str, str | None] = field(init=False, repr=False, compare=False)
    root_of: Mapping[str, str] = field(init=False, repr=False, compare=False)
    ids_of: Mapping[str, tuple[str, ...]] = field(init=False, repr=False, compare=False)  # root → ids of its tree

    def __post_init__(self) -> None:
        intents: dict[str, Intent] = {}
        parents: dict[str, str | None] = {}
        root_of: dict[str, str] = {}
        ids_of: dict[str, tuple[str, ...]] = {}
        for root in self.roots:
            for intent in root.walk():
                _check_intent(intent, intents)
                intents[intent.id] = intent
                parents.setdefault(intent.id, None)
                root_of[intent.id] = root.id
                for child in intent.children:
                    _check_child(intent, child)
                    parents[child.id] = intent.id
            ids_of[root.id] = tuple(intent.id for intent in root.walk())
        object.__setattr__(self, "intents", intents)
        object.__setattr__(self, "parents", parents)
        object.__setattr__(self, "root_of", root_of)
        object.__setattr__(self, "ids_of", ids_of)
        self._check()

    def _check(self) -> None:
        if not self.roots:
            raise TreeError("the tree has no roots; give at least one intent under 'roots'")
        for root in self.roots:
            if "." in root.id:
                raise TreeError(f"root {root.id!r} has no parent {root.id.rpartition('.')[0]!r} above it")
        for intent_id in self.initially_discovered:
            if intent_id not in self.intents:
                raise TreeError(f"initially_discovered names {intent_id!r}, which is not in the tree")
            parent = self.parents[intent_id]
            if parent is not None and parent not in self.initially_discovered:
                raise TreeError(f"{intent_id!r} cannot start discovered while its parent {parent!r} does not")

    def __len__(self) -> int:
        return len(self.intents)

    def __getitem__(self, intent_id: str) -> Intent:
        try:
            return self.intents[intent_id]
        except KeyError:
            raise KeyError(f"no intent {intent_id!r} in this tree") from None

    def depth(self, intent_id: str) -> int:
        """1 for a root."""
        return intent_id.count(".") + 1

    def leaves(self) -> tuple[str, ...]:
        return tuple(intent.id for intent in self.intents.values() if not intent.children)

    def text(self, intent_id: str) -> str:
        return self[intent_id].text

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> IntentTree:
        """Read the plain form (see the README's example); raises `TreeError`, naming the intent that is wrong."""
        if not isinstance(data, Mapping):
            raise TreeError(f"an intent tree is an object with 'roots', got {type(data).__name__}")
        roots = data.get("roots")
        if not isinstance(roots, list | tuple):
            raise TreeError("an intent tree needs a list under 'roots'")
        discovered = data.get("initially_discovered")
        discovered = () if discovered is None else discovered
        if not isinstance(discovered, list | tuple) or not all(isinstance(item, str) for item in discovered):
            raise TreeError("'initially_discovered' must be a list of intent ids (strings)")
        strings = {}
        for name in ("artifact_type", "topic", "initial_request"):
            strings[name] = data.get(name, "")
            if not isinstance(strings[name], str):
                raise TreeError(f"{name!r} must be text, got {type(strings[name]).__name__}")
        budget = [MAX_INTENTS]
        return cls(
            **strings,
            initially_discovered=tuple(discovered),
            roots=tuple(_read_intent(root, (), budget) for root in roots),
        )

    def to_networkx(self) -> networkx.DiGraph[str]:
        """The forest as a directed graph, parent → child; nodes carry `text`, `depth` and `root`."""
        import networkx

        graph: networkx.DiGraph[str] = networkx.DiGraph()
        for intent in self.intents.values():
            graph.add_node(intent.id, text=intent.text, depth=self.depth(intent.id), root=self.root_of[intent.id])
            graph.add_edges_from((intent.id, child.id) for child in intent.children)
        return graph


def _read_intent(data: Any, above: tuple[int, ...], budget: list[int]) -> Intent:
    """`above` holds the identities of the objects on the path, `budget` the number of intents still allowed."""
    if not isinstance(data, Mapping):
        raise TreeError(f"an intent is an object with 'id' and 'text', got {data!r:.60}")
    label = f"{data.get('id', '?')!r:.60}"
    if id(data) in above:
        raise TreeError(f"intent {label} stands below itself: the tree has a cycle")
    if len(above) >= MAX_DEPTH:
        raise TreeError(f"intent {label} is deeper than {MAX_DEPTH} levels; flatten the tree")
    budget[0] -= 1
    if budget[0] < 0:
        raise TreeError(f"more than {MAX_INTENTS} intents (at {label}); split the tree")
    for name in ("id", "text"):
        if not isinstance(data.get(name), str):
            raise TreeError(f"intent {label}: {name!r} must be text, got {data.get(name)!r:.60}")
    children = data.get("children")
    children = () if children is None else children
    if not isinstance(children, list | tuple):
        raise TreeError(f"intent {label}: 'children' must be a list")
    below = tuple(_read_intent(child, (*above, id(data)), budget) for child in children)
    return Intent(data["id"], data["text"], below, str(data.get("aspect") or ""))


def _check_intent(intent: Intent, seen: Mapping[str, Intent]) -> None:
    if not _ID.fullmatch(intent.id):
        raise TreeError(f"malformed id {intent.id!r:.60}: ids are dotted numbers such as '1' or '1.2.1'")
    if intent.id in seen:
        raise TreeError(f"duplicate id {intent.id!r} (texts {seen[intent.id].text!r:.60} and {intent.text!r:.60})")
    if not intent.text.strip():
        raise TreeError(f"intent {intent.id!r} has an empty text")
    if len(intent.text) > MAX_TEXT:
        raise TreeError(f"intent {intent.id!r} has a text of {len(intent.text)} characters; at most {MAX_TEXT}")
    if len(seen) >= MAX_INTENTS:
        raise TreeError(f"more than {MAX_INTENTS} intents (at {intent.id!r}); split the tree")
    if intent.id.count(".") >= MAX_DEPTH:
        raise TreeError(f"intent {intent.id!r} is deeper than {MAX_DEPTH} levels; flatten the tree")


def _check_child(intent: Intent, child: Intent) -> None:
    if child.id == intent.id or intent.id.startswith(child.id + "."):
        raise TreeError(f"intent {child.id!r} stands below itself (under {intent.id!r}): the tree has a cycle")
    if child.id.rpartition(".")[0] != intent.id:
        wanted = child.id.rpartition(".")[0]
        raise TreeError(f"child {child.id!r} stands under {intent.id!r}, but its id says its parent is {wanted!r}")
