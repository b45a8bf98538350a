"""The intent map: a forest of intents in the page's own elements, drawn from its networkx graph.

`intent_map(tree, state)` gives an `IntentMap`; its `widget` goes into a marimo page, a Jupyter cell or, by `to_html`,
into a file that needs no Python.  A page sends one value back, the ids that are selected, and the edits of a reader.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Literal

from discover_lib.base.errors import DiscoverError
from discover_lib.base.forest import shortened
from discover_lib.core.advance import focus, frontier, initial_state
from discover_lib.core.conversation import Conversation, Turn
from discover_lib.core.intents import IntentTree
from discover_lib.core.rules import Rules
from discover_lib.core.state import IntentState, Transition
from discover_lib.metrics.transcript import in_words
from workbench.views.html import signed, static_text

Form = Literal["auto", "map", "outline", "dots"]
NEW_TEXT = "New intent"


@dataclasses.dataclass(frozen=True)
class MapMoment:
    """What the map shows of one turn.

    Attributes:
        transitions: what the turn's reply did.
        turn: its number; 0 before the first reply.
        reasons: intent id → a sentence, shown where the intent is selected.
        touched: intents that the reply met without effect.
    """

    state: IntentState
    transitions: Sequence[Transition] = ()
    turn: int = 0
    reasons: Mapping[str, str] = dataclasses.field(default_factory=dict)
    touched: Sequence[str] = ()


def moments_of(conversation: Conversation) -> list[MapMoment]:
    """The start and every turn of a conversation: what each reply changed, why, and what the change earned."""
    return [
        MapMoment(conversation.start),
        *(
            MapMoment(turn.after, turn.candidate.transitions, turn.index, reasons_of(turn))
            for turn in conversation.turns
        ),
    ]


def reasons_of(turn: Turn) -> dict[str, str]:
    """Intent id → what a reply did to it, why, and its share of the reward."""
    evaluation, earned = turn.candidate.evaluation, turn.candidate.reward
    why = {each.intent_id: each.reason.rstrip(".") for each in evaluation.verdicts} if evaluation else {}
    shares = earned.shares if earned else {}
    told = {key: f"judged, nothing changed{f': {reason}' if reason else ''}." for key, reason in why.items()}
    for each in turn.candidate.transitions:
        worth = f" ({signed(shares[each.intent_id])})" if shares.get(each.intent_id) else ""
        reason = why.get(each.intent_id, "")
        told[each.intent_id] = f"{in_words(each)}{worth}{f': {reason}' if reason else ''}."
    return told


@cache
def _widget_class() -> type[Any]:
    import anywidget
    import traitlets

    class MapWidget(anywidget.AnyWidget):
        """The page's half of an intent map."""

        _esm = static_text("map.js")
        _css = static_text("map.css")
        frame = traitlets.Dict().tag(sync=True)  # of `frame_of`, sent once a tree
        moments: Any = traitlets.List().tag(sync=True)  # of `moment_of`
        at = traitlets.Int(0).tag(sync=True)  # which of them is shown
        beside = traitlets.Unicode("").tag(sync=True)  # the states of another conversation, a digit an intent
        fog = traitlets.Bool(False).tag(sync=True)
        edit = traitlets.Bool(False).tag(sync=True)
        form = traitlets.Unicode("auto").tag(sync=True)
        value: Any = traitlets.List().tag(sync=True)  # ids that are selected; the only trait that the page writes

    return MapWidget


class IntentMap:
    """An intent tree at one or more moments, live.

    Args:
        moments: of one conversation, in order; a slider steps through them in the page.
        beside: a state of another conversation about the same tree, compared cell by cell.
        rules: decide which tree is in focus.
        fog: the texts of undiscovered intents are not shown.
        edit: a reader can rename, add, remove and drag intents; `tree` then is the edited one.
        form: map, outline or dots; auto is an outline where there is little room.
        numbers: intent id → a number that the artifact beside the map carries, too.

    Attributes:
        widget: an anywidget; its trait `value` lists the ids that are selected.
        on_edit: called with the tree after each edit.
        doubt: takes the new text of an intent; returns a line for the reader, "" if the text is fine.
    """

    def __init__(
        self,
        tree: IntentTree,
        moments: Sequence[MapMoment] = (),
        *,
        beside: IntentState | None = None,
        rules: Rules | None = None,
        fog: bool = False,
        edit: bool = False,
        form: Form = "auto",
        numbers: Mapping[str, int] | None = None,
    ) -> None:
        self.rules, self._numbers = rules or Rules.paper(), numbers or {}
        self.on_edit: Callable[[IntentTree], Any] = lambda tree: None
        self.doubt: Callable[[str], str] = lambda text: ""
        self.widget: Any = _widget_class()(fog=fog, edit=edit, form=form)
        self.widget.on_msg(lambda widget, message, buffers: self._edited(message))
        self._show_tree(tree, moments)
        if beside is not None:
            self.widget.beside = _states(tree, beside)

    def show(self, moment: MapMoment) -> None:
        """Show another moment instead of those before."""
        self.widget.moments = [moment_of(self.tree, moment, self.rules)]
        self.widget.at = 0

    def open(self, tree: IntentTree) -> None:
        """Show another tree, and tell `on_edit`."""
        self.widget.value = []
        self._show_tree(tree)
        self.on_edit(tree)

    @property
    def selected(self) -> tuple[str, ...]:
        return tuple(self.widget.value)

    def select(self, *ids: str) -> None:
        self.widget.value = list(ids)

    def to_html(self, title: str = "Intent map") -> str:
        """One page that needs neither Python nor a network."""
        names = ("frame", "moments", "at", "beside", "fog", "edit", "form", "value")
        values = {name: getattr(self.widget, name) for name in names}
        data = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
        filled = {
            "TITLE": title.replace("&", "&amp;").replace("<", "&lt;"),
            "STYLE": _packed(static_text("map.css")),
            "DATA": data.replace("<", "\\u003c"),
            "SCRIPT": _packed(static_text("map.js").replace("export default", "const map =")),
        }
        page = static_text("map_page.html")
        for name, text in filled.items():
            page = page.replace(f"%{name}%", text)
        return page

    def _show_tree(self, tree: IntentTree, moments: Sequence[MapMoment] = ()) -> None:
        self.tree = tree
        shown = moments or (MapMoment(initial_state(tree, self.rules)),)
        with self.widget.hold_sync():  # one message: a frame and moments that do not fit are never drawn
            self.widget.frame = frame_of(tree) | {"numbers": [self._numbers.get(key) for key in tree.intents]}
            self.widget.moments = [moment_of(tree, each, self.rules) for each in shown]
            self.widget.at = len(shown) - 1

    def _edited(self, message: Mapping[str, Any]) -> None:
        """Do a reader's edit; one that breaks a rule of trees changes nothing and is said in the page."""
        try:
            tree = IntentTree.from_graph(edited_graph(self.tree, message))
        except DiscoverError as error:
            self.widget.send({"trouble": str(error)})
            return
        self.open(tree)
        key = str(message["id"])
        if message["do"] == "add":
            self.widget.send({"rename": tree[key].children[-1].id})
        elif message["do"] == "rename":
            self.select(key)
            self.widget.send({"trouble": self.doubt(tree.text(key))})


def intent_map(
    tree: IntentTree, state: IntentState | None = None, transitions: Sequence[Transition] = (), **options: Any
) -> IntentMap:
    """The map of a tree at one moment; `options` are those of `IntentMap`."""
    return IntentMap(tree, () if state is None else (MapMoment(state, transitions),), **options)


def _packed(text: str) -> str:
    """A script or a sheet of ours without indents and lines of comment."""
    return "\n".join(line for line in map(str.strip, text.splitlines()) if not line.startswith("//"))


def frame_of(tree: IntentTree) -> dict[str, Any]:
    """What no turn changes: lists over the intents, parents before children."""
    place = {key: number for number, key in enumerate(tree.intents)}
    above = {key: tree.text(parent) if parent else "" for key, parent in tree.parents.items()}
    return {
        "ids": list(place),
        "texts": [intent.text for intent in tree.intents.values()],
        "shorts": [shortened(tree.text(key), above[key]) if above[key] else tree.text(key) for key in place],
        "parents": [-1 if parent is None else place[parent] for parent in map(tree.parents.get, place)],
        "levels": list(map(tree.depth, place)),
        "given": [place[key] for key in tree.initially_discovered],
    }


def moment_of(tree: IntentTree, moment: MapMoment, rules: Rules) -> dict[str, Any]:
    """What a turn changes: a digit an intent for its state, and places in `frame_of`'s lists."""
    in_focus = focus(tree, moment.state, rules)[:1]
    moved = {each.intent_id for each in moment.transitions if each.moved or each.satisfied}
    marked = {
        "satisfied": moment.state.satisfied,
        "frontier": frontier(tree, moment.state, in_focus),
        "moved": moved,
        "focus": in_focus,
        "touched": moment.touched,
    }
    places = {name: [place for place, key in enumerate(tree.intents) if key in ids] for name, ids in marked.items()}
    reasons = {key: text for key, text in moment.reasons.items() if key in tree.intents}
    return {"turn": moment.turn, "states": _states(tree, moment.state), **places, "reasons": reasons}


def _states(tree: IntentTree, state: IntentState) -> str:
    return "".join(str(int(state[key])) for key in tree.intents)


def edited_graph(tree: IntentTree, message: Mapping[str, Any]) -> Any:
    """The graph of a tree after one edit: {"do": "rename" | "add" | "remove" | "move", "id": …, "text": …, "under": …}.

    Raises:
        DiscoverError: the edit cannot be done; the line says why.
    """
    import networkx

    graph, key, under = tree.graph(), str(message.get("id")), message.get("under")
    if key not in graph or (under is not None and under not in graph):
        raise DiscoverError("this intent is no longer in the tree")
    match message.get("do"):
        case "rename":
            graph.nodes[key]["text"] = str(message.get("text", "")).strip()
        case "add":
            graph.add_node("new", text=NEW_TEXT, given=False)
            graph.add_edge(key, "new")
        case "remove":
            graph.remove_nodes_from([key, *networkx.descendants(graph, key)])
        case "move":
            if under == key or under in networkx.descendants(graph, key):
                raise DiscoverError("an intent cannot be moved below itself")
            graph.remove_edges_from(list(graph.in_edges(key)))
            if under is not None:
                graph.add_edge(under, key)
            for each in (key, *networkx.descendants(graph, key)):
                graph.nodes[each]["given"] = graph.nodes[each]["given"] and (
                    under is None or graph.nodes[under]["given"]
                )
    return graph
