"""The stage: conversations with one user as one plain record, which `static/stage.js` shows wherever there is a page.

`stage_of` computes the record and knows no page; marimo, Jupyter and a file that opens from disk show the same one.
Texts of models are in it as trees of nodes, `[tag, attributes, child, ...]` or a plain text; the script builds elements
from them, of a few kinds only, and sets texts as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any

from markupsafe import Markup

from discover_lib.core.advance import focus, frontier
from discover_lib.core.conversation import Candidate, Conversation, Turn
from discover_lib.core.intents import IntentTree
from discover_lib.core.rules import Rules
from discover_lib.core.state import Discovery, IntentState
from discover_lib.metrics.transcript import news
from workbench.map import frame_of, reasons_of
from workbench.views.conversation_parts import FLAWS, SAYABLE, receipt_lines, reward_sums
from workbench.views.html import in_tokens, rich_text, signed, static_text, tag
from workbench.views.located import Evidence, evidence, marked_reply, parting
from workbench.views.touched import Touch, aspect_of, touched

FORMAT = "discover-stage/1"
FIRST_WORDS = 90  # characters of a reply in its frame of the strip
SIDE_BY_SIDE_AT_MOST = 6  # strips; more of them are not compared pair by pair
Nodes = list[Any]


@dataclass(frozen=True)
class Strip:
    """One line of the conversation.

    Attributes:
        origin: the strip (by number) and turn that it left from.
        scored: how many turns count; None for all.
    """

    label: str
    conversation: Conversation
    origin: tuple[int, int] | None = None
    scored: int | None = None

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns that count."""
        return self.conversation.turns[: self.scored]

    @property
    def name(self) -> str:
        """The label without where it left from."""
        return self.label.split(",")[0]


class Moments:
    """What was computed of turns, kept while a conversation grows: a step then costs one turn."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Turn, dict[str, Any]]] = {}

    def of(self, conversation: Conversation, turn: Turn) -> dict[str, Any]:
        """The moment after `turn`."""
        held = self._known.get(id(turn))
        if held is None or held[0] is not turn:
            held = self._known[id(turn)] = (turn, _moment(conversation, turn))
        return held[1]


def stage_of(strips: Sequence[Strip], moments: Moments | None = None) -> dict[str, Any]:
    """The record of one user's conversations: plain values that round-trip through JSON.

    Args:
        strips: lines of one conversation, the first of them the trunk; all share tree and rules.
        moments: turns computed before.
    """
    moments = moments or Moments()
    trunk = strips[0].conversation
    turns: list[Turn] = []
    shown: list[dict[str, Any]] = [{"turn": 0} | _state(trunk, trunk.start)]
    rows: list[dict[str, Any]] = []
    for strip in strips:
        path = [0]
        for place, turn in enumerate(strip.conversation.turns, 1):
            known = _known_turn(turn, place, strip, rows, turns)
            if known is None:
                turns.append(turn)
                shown.append(moments.of(strip.conversation, turn))
                known = len(turns)
            path.append(known)
        rows.append(
            {
                "label": strip.label,
                "name": strip.name,
                "origin": list(strip.origin) if strip.origin else None,
                "moments": path,
                "stop": strip.conversation.stop,
                "scored": len(strip.conversation.turns) if strip.scored is None else strip.scored,
            }
        )
    tree, rules = trunk.tree, trunk.rules
    return {
        "format": FORMAT,
        "title": (tree.topic or tree.artifact_type)[:1].upper() + (tree.topic or tree.artifact_type)[1:],
        "kind": tree.artifact_type,
        "rules": {"name": rules.name, "line": f"{rules_told(rules)}."},
        "request": nodes_of(rich_text(tree.initial_request)),
        "map": frame_of(tree),
        "moments": shown,
        "strips": rows,
        "pairs": _pairs(strips),
    }


def rules_told(rules: Rules) -> str:
    """Rules in plain words, without symbols."""
    return (
        f"Rules: {rules.name}. A near miss adds {rules.p:g} to an intent’s score. The first {rules.tau:g} "
        f"{rules.token_unit} of a reply are free, and each further one costs {rules.lam:g}"
    )


def _known_turn(
    turn: Turn, place: int, strip: Strip, rows: Sequence[Mapping[str, Any]], turns: Sequence[Turn]
) -> int | None:
    """The moment of a turn that this strip shares with the one that it left."""
    if strip.origin is None or place > strip.origin[1]:
        return None
    path = rows[strip.origin[0]]["moments"]
    if place >= len(path):
        return None
    known = turns[path[place] - 1]
    return path[place] if known is turn or known == turn else None


# -- a moment: the state after a turn, and what the reply did ----------------------------------------------------------


def _state(conversation: Conversation, state: IntentState) -> dict[str, Any]:
    """What the tree shows: a figure per intent, in the order of the tree, and which are satisfied or can move."""
    tree, upcoming = conversation.tree, focus(conversation.tree, state, conversation.rules)
    return {
        "states": "".join(str(int(state[key])) for key in tree.intents),
        "satisfied": [key for key in tree.intents if key in state.satisfied],
        "frontier": sorted(frontier(tree, state, upcoming)),
        "focus": list(upcoming[:1]),
        "about": aspect_of(conversation, upcoming[0]) if upcoming else "",
    }


def _moment(conversation: Conversation, turn: Turn) -> dict[str, Any]:
    candidate, touch = turn.candidate, touched(conversation, turn)
    places = [evidence(conversation, turn, each) for each in candidate.transitions]
    return {
        "turn": turn.index,
        "assistant": turn.reply.assistant,
        "reply": _reply(turn, [*places, *(each.place for each in touch.touches if each.why != "repeated")]),
        "first": first_words(turn.reply.text),
        "written": turn.reply.notation,
        "answer": None if turn.user_message is None else nodes_of(rich_text(turn.user_message)),
        "flaws": "; ".join(FLAWS.get(flaw, flaw) for flaw in turn.flaws),
        "tokens": turn.reply.n_tokens,
        "worth": _worth(candidate),
        "receipt": _receipt(conversation, turn),
        "judge": _judge(candidate),
        "reasons": reasons_of(turn),
        "news": {each.intent_id: news(each) for each in candidate.transitions},
        "touched": _touched(conversation, turn, touch.touches, touch.complete),
        "view": _view(turn),
        "others": considered_of(
            conversation.tree, [each for place, each in enumerate(turn.candidates) if place != turn.chosen], {}
        ),
    } | _state(conversation, turn.after)


def _reply(turn: Turn, places: Sequence[Evidence]) -> Nodes:
    return nodes_of(marked_reply(turn, places, {each.transition.intent_id: "" for each in places}))


def _worth(candidate: Candidate) -> dict[str, Any] | None:
    """What a reply earned and moved; None where it is unscored."""
    if candidate.reward is None:
        return None
    moved = [each for each in candidate.transitions if each.moved]
    return {
        "value": round(candidate.reward.total, 6),
        "text": signed(candidate.reward.total),
        "discovered": [each.intent_id for each in moved if each.after is Discovery.DISCOVERED],
        "emerging": [each.intent_id for each in moved if each.after is Discovery.EMERGING],
        "satisfied": [each.intent_id for each in candidate.transitions if each.satisfied],
    }


def _judge(candidate: Candidate) -> str:
    """What kind of reply the judge saw, in a sentence; or why it gave no verdict."""
    if candidate.evaluation is None:
        return f"Unscored: {candidate.error or 'the judge gave no verdict'}"
    makes, talks = "makes something, so it can satisfy intents", "only talks: it can discover intents, not satisfy them"
    can = makes if candidate.evaluation.kind == "artifact" else talks
    why = candidate.evaluation.kind_reason.rstrip(".")
    return f"This reply {can}. {why[:1].upper()}{why[1:]}{'.' if why else ''}".strip()


def _view(turn: Turn) -> dict[str, Any]:
    """What the user may say now, and how."""
    pursuing = turn.view.pursuing
    state, manner = SAYABLE[pursuing] if pursuing else ("", "Nothing is missing anymore.")
    return {"state": state, "manner": manner, "items": list(turn.view.items)}


def first_words(text: str) -> str:
    """How a reply begins; drawings left out."""
    words = " ".join("".join(_texts(nodes_of(rich_text(text)))).split())
    return words if len(words) <= FIRST_WORDS else words[:FIRST_WORDS].rsplit(" ", 1)[0] + " …"


def brief(text: str) -> Markup:
    """A reply in one line: up to four of its drawings, small, or else its first words."""
    images = re.findall(r"<img[^>]+>", rich_text(text))[:4]
    return tag("span", Markup("".join(images)) if images else first_words(text), class_="dl-brief")


def _texts(nodes: Nodes) -> Iterable[str]:
    for node in nodes:
        if isinstance(node, str):
            yield node
        elif node[0] != "figure":
            yield from _texts(node[2:])
            yield " "


# -- the receipt -------------------------------------------------------------------------------------------------------


def _receipt(conversation: Conversation, turn: Turn) -> dict[str, Any] | None:
    """A line per intent that the reply touched, and the sums; None where it is unscored."""
    candidate, rules = turn.candidate, conversation.rules
    reward = candidate.reward
    if reward is None or candidate.evaluation is None:
        return None
    lines = [
        {"id": each.intent_id, "change": each.change, "tone": each.tone, "why": each.why, "near": list(each.near)}
        | {"worth": signed(each.share)}
        for each in receipt_lines(candidate, rules)
    ]
    sums = reward_sums(turn.reply, reward, rules)
    told = [{"name": name, "how": how, "worth": signed(value)} for name, how, value in sums]
    return {"lines": lines, "sums": told}


# -- touched, but not counted ------------------------------------------------------------------------------------------

_NOT_COUNTED = {
    "elsewhere": "is not what the user was thinking about",
    "waits": "can change only after the broader intent above it is discovered",
    "asked": "is already discovered; only a reply that makes it can satisfy it",
    "repeated": "is already satisfied; repeating it earns nothing",
}


def _touched(conversation: Conversation, turn: Turn, touches: Sequence[Touch], complete: bool) -> dict[str, Any]:
    """What the reply met outside the focus or met again."""
    deepest = _deepest([each for each in touches if each.met])
    lines = [
        {"id": each.intent_id, "met": each.met, "why": _NOT_COUNTED[each.why], "reason": each.reason}
        for each in touches
        if each.why != "repeated" and (each.intent_id in deepest or not each.met)
    ]
    repeated = [each.intent_id for each in touches if each.why == "repeated" and each.intent_id in deepest]
    about = aspect_of(conversation, turn.focus[0]) if turn.focus else ""
    return {
        "lines": lines,
        "halo": [each.intent_id for each in touches if each.why in ("elsewhere", "waits")],
        "repeated": repeated,
        "about": about,
        "complete": complete,
    }


def _deepest(touches: Sequence[Touch]) -> set[str]:
    """Of intents in a line from broad to specific, the most specific one."""
    keys = {each.intent_id for each in touches}
    return {key for key in keys if not any(other.startswith(f"{key}.") for other in keys)}


# -- replies judged at one moment --------------------------------------------------------------------------------------


def considered_of(tree: IntentTree, candidates: Sequence[Candidate], about: Mapping[str, str]) -> list[dict[str, Any]]:
    """Replies judged at one moment, the best first.

    Args:
        about: assistant → what it does, in a line.
    """
    cards = [
        {
            "place": place,
            "assistant": each.reply.assistant or f"reply {place + 1}",
            "about": about.get(each.reply.assistant, ""),
            "sees": each.reply.assistant == "oracle",
            "reply": nodes_of(rich_text(each.reply.text)),
            "first": first_words(each.reply.text),
            "tokens": each.reply.n_tokens,
            "worth": _worth(each),
            "why": each.error or "",
        }
        for place, each in enumerate(candidates)
    ]
    return sorted(
        cards, key=lambda card: (card["worth"] is None, -(card["worth"] or {"value": 0})["value"], card["place"])
    )


# -- two strips side by side -------------------------------------------------------------------------------------------


def _pairs(strips: Sequence[Strip]) -> list[dict[str, Any]]:
    places = range(min(len(strips), SIDE_BY_SIDE_AT_MOST))
    return [_pair(strips, one, other) for one in places for other in places if one < other]


def _pair(strips: Sequence[Strip], one: int, other: int) -> dict[str, Any]:
    ours, theirs = strips[one].conversation, strips[other].conversation
    return {
        "strips": [one, other],
        "same": _same_turns(ours, theirs),
        "parts": parting(ours, theirs),
        "sentence": compared(strips[one], strips[other]),
    }


def _same_turns(ours: Conversation, theirs: Conversation) -> int:
    """How many turns both begin with, word for word."""
    same = 0
    for one, other in zip(ours.turns, theirs.turns, strict=False):
        if one.reply.text != other.reply.text:
            break
        same += 1
    return same


def compared(ours: Strip, theirs: Strip) -> str:
    """Two strips in one sentence: how much each discovered, at what length, for what reward."""
    return f"{_course(ours)}. {_course(theirs)}."


def _course(strip: Strip) -> str:
    turns, talk = strip.turns, strip.conversation
    length = in_tokens(sum(turn.reply.n_tokens for turn in turns), talk.rules.token_unit)
    hidden = len(talk.tree) - len(talk.start.discovered)
    found = len(talk.state_after(len(turns)).discovered) - len(talk.start.discovered)
    count = "1 turn" if len(turns) == 1 else f"{len(turns)} turns"
    earned = round(sum(turn.candidate.reward.total for turn in turns if turn.candidate.reward), 6)
    name = strip.name[:1].upper() + strip.name[1:]
    return f"{name}: {found} of {hidden} intents discovered in {count}, reward {signed(earned)}, {length}"


# -- markup as nodes ---------------------------------------------------------------------------------------------------


def stage_script() -> str:
    """The script of a stage, with the script of the intent map that the stage holds."""
    return static_text("map.js").replace("export default", "const mapWidget =") + static_text("stage.js")


def nodes_of(markup: Markup) -> Nodes:
    """Finished markup as a tree of nodes; what the script does not build, it leaves out."""
    reader = _Reader()
    reader.feed(str(markup))
    reader.close()
    return reader.top


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.top: Nodes = []
        self._open: list[Nodes] = [self.top]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node: Nodes = [tag, {name: value or "" for name, value in attrs if name in _KEPT}]
        self._open[-1].append(node)
        if tag not in ("br", "img"):
            self._open.append(node)

    def handle_endtag(self, tag: str) -> None:
        if len(self._open) > 1:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        self._open[-1].append(data)


_KEPT = ("class", "src", "alt", "data-how", "data-intents", "data-parts")
