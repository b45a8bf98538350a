"""One conversation as one HTML file: no network, no server, opens from disk and scrubs through its turns.

Python renders every turn; the page's script only shows one of them at a time.  Texts from models are escaped, drawings
are cleaned `data:` images, and the page's policy allows no script but its own, known by its hash.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from discover_lib.core.advance import focus, frontier
from discover_lib.core.conversation import Artifact, Conversation, Turn
from discover_lib.core.state import Discovery, IntentState
from discover_lib.views import conversation as show
from discover_lib.views.conversation import row_look, signed, static_text, theta_text

SECONDS_PER_TURN = 3.0  # while playing
_SLOT = re.compile(r"\{\{(\w+)\}\}")


def demo_page(conversation: Conversation, artifact: Artifact | None = None) -> str:
    """The conversation as a self-contained HTML page.

    Args:
        artifact: the finished work that the intents were built from, shown folded at the end.
    """
    tree, turns = conversation.tree, conversation.turns
    script = static_text("demo_page.js")
    return fill(
        static_text("demo_page.html"),
        {
            "policy": _policy(script),
            "title": html.escape(f"{_heading(conversation)} ({facts(conversation)})"),
            "heading": html.escape(_heading(conversation)),
            "facts": html.escape(facts(conversation)),
            "show_css": static_text("show.css"),
            "page_css": static_text("demo_page.css"),
            "last": str(len(turns)),
            "curve": _curve(conversation),
            "ticks": _ticks(turns),
            "legend": show.state_legend(),
            "outline": show.outline(tree, conversation.state, conversation.rules),
            "chat": show.chat(conversation),
            "views": _panels(turns, _OPENING, lambda turn: show.user_view(tree, turn.view, turn.user_message)),
            "receipts": _panels(turns, _NO_REPLY, lambda turn: show.receipt(tree, turn, conversation.rules)),
            "candidates": _panels(turns, _NO_REPLY, lambda turn: show.candidates(tree, turn, conversation.rules)),
            "reasons": _panels(turns, _NO_REPLY, lambda turn: show.judge_reasons(tree, turn.candidate)),
            "artifact": _folded_artifact(artifact),
            "footer": html.escape(_footer(conversation)),
            "data": _embedded(_data(conversation)),
            "script": script,
        },
    )


def fill(template: str, values: Mapping[str, str]) -> str:
    """Replace every ``{{name}}``; values are not searched again.

    Raises:
        KeyError: the template has a slot without a value, or a value has no slot.
    """
    unused = set(values) - set(_SLOT.findall(template))
    if unused:
        raise KeyError(f"the template has no slot for {', '.join(sorted(unused))}")
    return _SLOT.sub(lambda match: values[match[1]], template)


def facts(conversation: Conversation) -> str:
    """What kind of conversation it is, under which rules, with whom: one line."""
    setting = conversation.setting
    engine = str(setting.get("engine") or "")
    assistants = setting.get("assistants") or sorted({turn.reply.assistant for turn in conversation.turns} - {""})
    names = [assistants] if isinstance(assistants, str) else [str(each) for each in assistants]
    parts = [
        conversation.tree.artifact_type,
        f"{engine} conversation" if engine else "",
        f"{conversation.rules.name} rules",
        ("assistants: " if len(names) > 1 else "assistant: ") + ", ".join(names) if names else "",
        "" if engine == "recorded" else f"seed {conversation.seed}",
    ]
    line = " · ".join(filter(None, parts))
    return line[:1].upper() + line[1:]


# -- words -------------------------------------------------------------------------------------------------------------

_OPENING = "The user has opened with their request. What it names is discovered; the rest has yet to form."
_NO_REPLY = "No reply yet. Step to the first turn."


def _heading(conversation: Conversation) -> str:
    topic = conversation.tree.topic or conversation.tree.artifact_type
    return f"{topic[:1].upper()}{topic[1:]}: finding out what one wants"


def _footer(conversation: Conversation) -> str:
    engine, note = conversation.setting.get("engine"), conversation.setting.get("note")
    if note:
        return str(note)[:1].upper() + str(note)[1:] + "."
    if engine == "miniature":
        return (
            "A miniature: a small self-contained world without a language model. Every state, reward and message on "
            "this page was computed by the same library that drives real models."
        )
    return "States, rewards and views on this page are computed from the judgements of the replies."


def _where(conversation: Conversation, turn: int) -> str:
    return f"Turn {turn} of {len(conversation.turns)}" if turn else "Start: the request"


def _count(conversation: Conversation, state: IntentState) -> str:
    return f"{len(state.discovered)} of {len(conversation.tree)} discovered, {len(state.satisfied)} satisfied"


# -- the parts of the page ---------------------------------------------------------------------------------------------


def _panels(turns: Sequence[Turn], opening: str, body: Callable[[Turn], str]) -> str:
    """One block per turn, only the last one visible until the script chooses."""
    shown = len(turns)
    blocks = [f'<p class="dl-quiet">{html.escape(opening)}</p>', *map(body, turns)]
    return "".join(
        f'<div data-panel="{index}"{"" if index == shown else " hidden"}>{block}</div>'
        for index, block in enumerate(blocks)
    )


def _ticks(turns: Sequence[Turn]) -> str:
    rewards = [turn.candidate.reward for turn in turns]
    worth = "".join(f"<li>{signed(reward.total) if reward else 'not scored'}</li>" for reward in rewards)
    return f"<li>start</li>{worth}"


def _curve(conversation: Conversation) -> str:
    """Discovered, emerging and satisfied intents after each turn; one unit across is one turn, one down one intent."""
    states = [conversation.state_after(turn) for turn in range(len(conversation.turns) + 1)]
    size, width = len(conversation.tree), max(1, len(conversation.turns))
    known = [len(state.discovered) for state in states]
    formed = [count + _emerging(state) for count, state in zip(known, states, strict=True)]
    satisfied = [len(state.satisfied) for state in states]

    def points(counts: Sequence[int]) -> str:
        return " ".join(f"{turn},{size - count}" for turn, count in enumerate(counts))

    def area(upper: Sequence[int], lower: Sequence[int]) -> str:
        back = " ".join(f"{turn},{size - lower[turn]}" for turn in reversed(range(len(lower))))
        return f"{points(upper)} {back}"

    summary = ", ".join(f"turn {turn}: {count}" for turn, count in enumerate(known))
    return (
        f'<svg class="dp-curve" viewBox="0 0 {width} {size}" preserveAspectRatio="none" role="img" '
        f'aria-label="Intents discovered after each turn, of {size}: {summary}">'
        f"<title>Discovered (green), emerging on top (amber), satisfied (dotted), of {size} intents</title>"
        f'<line class="dp-c-all" x1="0" y1="0" x2="{width}" y2="0"/>'
        f'<line class="dp-c-all" x1="0" y1="{size}" x2="{width}" y2="{size}"/>'
        f'<polygon class="dp-c-known" points="{area(known, [0] * len(known))}"/>'
        f'<polygon class="dp-c-emerging" points="{area(formed, known)}"/>'
        f'<polyline class="dp-c-line" points="{points(known)}"/>'
        f'<polyline class="dp-c-satisfied" points="{points(satisfied)}"/>'
        f'<g id="dp-marker"><line class="dp-c-now" x1="0" y1="0" x2="0" y2="{size}"/></g></svg>'
    )


def _emerging(state: IntentState) -> int:
    return sum(level is Discovery.EMERGING for level in state.discovery.values())


def _folded_artifact(artifact: Artifact | None) -> str:
    if artifact is None:
        return ""
    return (
        '<details class="dp-panel dp-wide"><summary><h2>The finished work that these intents were read from</h2>'
        f'</summary><p class="dl-quiet">Nobody in the conversation sees it.</p>{show.artifact(artifact)}</details>'
    )


# -- the data that the script steps through ----------------------------------------------------------------------------


def _data(conversation: Conversation) -> dict[str, Any]:
    texts = [intent.text for intent in conversation.tree.intents.values()]
    start = {
        "where": _where(conversation, 0),
        "count": _count(conversation, conversation.start),
        "spoken": _OPENING,
        "focus": list(focus(conversation.tree, conversation.start, conversation.rules)),
        "rows": _rows(conversation, conversation.start, None),
    }
    turns = [_turn_data(conversation, turn) for turn in conversation.turns]
    return {"seconds": SECONDS_PER_TURN, "texts": texts, "turns": [start, *turns]}


def _turn_data(conversation: Conversation, turn: Turn) -> dict[str, Any]:
    moved = [each for each in turn.candidate.transitions if each.moved]
    news = "; ".join(f"{conversation.tree.text(each.intent_id)}: {each.after.name.lower()}" for each in moved)
    reward = turn.candidate.reward
    worth = f" Reward {signed(reward.total)}." if reward else ""
    where = _where(conversation, turn.index)
    return {
        "where": where,
        "count": _count(conversation, turn.after),
        "spoken": f"{where}. {news or 'No intent moved'}.{worth}",
        "focus": list(turn.focus),
        "rows": _rows(conversation, turn.after, turn),
    }


def _rows(conversation: Conversation, state: IntentState, turn: Turn | None) -> list[list[Any]]:
    """Per intent, in the order of the outline: look, news, θ left, and what the judge said about it."""
    changes = {each.intent_id: each for each in turn.candidate.transitions} if turn else {}
    evaluation = turn.candidate.evaluation if turn else None
    reasons = {verdict.intent_id: verdict.reason for verdict in evaluation.verdicts} if evaluation else {}
    movable = frontier(conversation.tree, state, focus(conversation.tree, state, conversation.rules))
    rows: list[list[Any]] = []
    for intent_id in conversation.tree.intents:
        look = row_look(state, intent_id, intent_id in movable, changes.get(intent_id))
        flags = [int(look.satisfied), int(look.frontier), int(look.moved)]
        theta = theta_text(state.thresholds.get(intent_id))
        rows.append([look.state, *flags, look.news, theta, reasons.get(intent_id, "")])
    return rows


def _embedded(data: Mapping[str, Any]) -> str:
    """JSON for a script element: nothing in it can end the element or open a comment."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _policy(script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    return (
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
