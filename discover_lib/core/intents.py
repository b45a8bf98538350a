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

    from discover_lib.core.state import IntentState

MAX_DEPTH = 16
MAX_INTENTS = 5_000
MAX_TEXT = 2_000  # characters of one requirement
_ID = re.compile(r"[1-9][0-9]*(\.[1-9][0-9]*)*")


class TreeError(DiscoverError):
    """An intent tree that breaks a rule; the message names the intent and the repair."""


@dataclass(frozen=True)
class Intent(Record, omit=("aspect",)):
    """One intent and the more specific ones below it; `aspect` names its subject ("" if unknown)."""

    id: str
    text: str
    children: tuple[Intent, ...] = ()
    aspect: str = field(default="", compare=False)

    def walk(self) -> Iterator[Intent]:
        """This intent and all below it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True)
class IntentTree(Record):
    """The intent trees of one artifact, and the request that a user with them opens with.

    Attributes:
        artifact_type: the kind of artifact, e.g. "SVG drawing".
        topic: one to three words.
        initial_request: the user's first message; it names exactly `initially_discovered`.
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
        for root in self.roots:
            for intent in root.walk():
                _check_intent(intent, intents)
                intents[intent.id] = intent
                parents.setdefault(intent.id, None)
                for child in intent.children:
                    _check_child(intent, child)
                    parents[child.id] = intent.id
        ids_of = {root.id: tuple(intent.id for intent in root.walk()) for root in self.roots}
        root_of = {key: root_id for root_id, ids in ids_of.items() for key in ids}
        for name, value in (("intents", intents), ("parents", parents), ("root_of", root_of), ("ids_of", ids_of)):
            object.__setattr__(self, name, value)
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
        return self.intents[intent_id]

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
        strings = {name: data.get(name, "") for name in ("artifact_type", "topic", "initial_request")}
        for name, value in strings.items():
            if not isinstance(value, str):
                raise TreeError(f"{name!r} must be text, got {type(value).__name__}")
        budget = [MAX_INTENTS]
        return cls(
            **strings,
            initially_discovered=tuple(discovered),
            roots=tuple(_read_intent(root, (), budget) for root in roots),
        )

    def graph(self, state: IntentState | None = None) -> networkx.DiGraph[str]:
        """The forest as a directed graph, parent → child, in the order of the tree.

        A node has `text`, `aspect`, `depth` (1 for a root), `root` and `given` (it starts discovered). Its `discovery`
        ("undiscovered", "emerging" or "discovered") and `satisfied` come from `state`, or from the opening request.

        >>> graph = IntentTree.from_dict({"roots": [{"id": "1", "text": "an animal"}]}).graph()
        >>> graph.nodes["1"]["text"], graph.nodes["1"]["discovery"]
        ('an animal', 'undiscovered')
        """
        import networkx

        graph: networkx.DiGraph[str] = networkx.DiGraph(
            artifact_type=self.artifact_type, topic=self.topic, initial_request=self.initial_request
        )
        for key, intent in self.intents.items():
            given = key in self.initially_discovered
            now = state[key].name.lower() if state else "discovered" if given else "undiscovered"
            met = state is not None and key in state.satisfied
            own = {"text": intent.text, "aspect": intent.aspect, "depth": self.depth(key), "root": self.root_of[key]}
            graph.add_node(key, **own, given=given, discovery=now, satisfied=met)
            if (parent := self.parents[key]) is not None:
                graph.add_edge(parent, key)
        return graph

    @classmethod
    def from_graph(cls, graph: networkx.DiGraph[Any]) -> IntentTree:
        """The tree of a graph that `graph` made, edited or not.  Ids follow from the places, counted from 1.

        Raises:
            TreeError: the graph is not a forest, or breaks a rule of trees.

        >>> graph = IntentTree.from_dict({"roots": [{"id": "1", "text": "an animal"}]}).graph()
        >>> graph.add_node("new", text="a dog")
        >>> graph.add_edge("1", "new")
        >>> IntentTree.from_graph(graph).text("1.1")
        'a dog'
        """
        import networkx

        if not graph.is_directed() or (len(graph) and not networkx.is_branching(graph)):
            raise TreeError("this graph is no forest: give every intent at most one parent, and remove cycles")
        if networkx.dag_longest_path_length(graph, weight=None) >= MAX_DEPTH:
            raise TreeError(f"this graph is deeper than {MAX_DEPTH} levels; flatten it")
        given: list[str] = []

        def intent(key: Any, own: str) -> Intent:
            if graph.nodes[key].get("given"):
                given.append(own)
            below = [intent(child, f"{own}.{place}") for place, child in enumerate(graph.successors(key), 1)]
            text, aspect = (str(graph.nodes[key].get(name) or "") for name in ("text", "aspect"))
            return Intent(own, text, tuple(below), aspect)

        tops = [key for key, degree in graph.in_degree if degree == 0]
        roots = tuple(intent(key, str(place)) for place, key in enumerate(tops, 1))
        about = {name: graph.graph.get(name, "") for name in ("artifact_type", "topic", "initial_request")}
        return cls(**about, initially_discovered=tuple(given), roots=roots)

    def figure(self, state: IntentState | None = None, *, width: int = 1080, live: bool = False) -> Any:
        """An interactive plotly figure of `graph(state)`: one cell an intent, its color and sign show the state.

        Args:
            width: of the figure, in px.
            live: a `FigureWidget`, which a notebook can change after it is shown, instead of a `Figure`.

        >>> tree = IntentTree.from_dict({"roots": [{"id": "1", "text": "an animal"}, {"id": "2", "text": "a mood"}]})
        >>> tree.figure().data[0].labels
        ('all intents', '○ an animal', '○ a mood')
        """
        from discover_lib.base.forest import figure

        return figure(self.graph(state), width, live)


def _read_intent(data: Any, above: tuple[int, ...], budget: list[int]) -> Intent:
    """`above` holds the identities of the objects on the path, `budget` the number of intents still allowed."""
    if not isinstance(data, Mapping):
        raise TreeError(f"an intent is an object with 'id' and 'text', got {data!r:.60}")
    label = f"{data.get('id', '?')!r:.60}"
    if id(data) in above:
        raise TreeError(f"intent {label} is below itself: the tree has a cycle")
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
    if child.id.rpartition(".")[0] != intent.id:
        wanted = child.id.rpartition(".")[0]
        raise TreeError(f"child {child.id!r} is under {intent.id!r}, but its id says its parent is {wanted!r}")
