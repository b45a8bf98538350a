"""One user and several assistants, side by side: the record that `static/story.js` plays.

The record is plain JSON and holds every turn, so that a page plays it without asking anybody: on a kernel, in an
exported page, on a phone.  Texts of assistants and users arrive as finished markup (`views.html.rich_text`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discover_lib.base.svg import svg_data_uri
from discover_lib.core.conversation import Conversation, Turn
from discover_lib.core.intents import IntentTree
from discover_lib.core.state import Discovery, IntentState
from discover_lib.engines.miniature.builder import Imagined
from discover_lib.metrics.intervals import Estimate, percent
from workbench.views.conversation_parts import level_name, state_glyph
from workbench.views.html import Markup, joined, quiet, rich_text, signed, tag

Imagine = Callable[[IntentTree, IntentState], Imagined]
MOST_NAMED = 2  # intents that a caption names


@dataclass(frozen=True)
class Part:
    """One assistant of the story.

    Attributes:
        name: what it does, as a verb: "asks".
        about: what it does, in a line.
        lesson: what is to be learnt from it, whoever the person is.
    """

    key: str
    name: str
    about: str
    lesson: str = ""


PARTS = (
    Part(
        "ask",
        "asks",
        "open questions, most about the subject",
        "A question helps only with intents that the user can name.",
    ),
    Part(
        "draft",
        "drafts",
        "a whole artifact, then revisions",
        "A draft shows one value of every kind. Only the values of the tree in focus count.",
    ),
    Part(
        "adaptive",
        "explores",
        "options first, then a draft",
        "With options the user can point at an intent that they could not name.",
    ),
)


def story(tree: IntentTree, parts: Sequence[tuple[Part, Conversation]], imagine: Imagine) -> dict[str, Any]:
    """The whole story of one person; `imagine` says what they can picture in a state."""
    start = parts[0][1].start
    known = dataclasses.replace(start, discovery=dict.fromkeys(tree.intents, Discovery.DISCOVERED))
    return {
        "request": str(rich_text(tree.initial_request)),
        "wanted": _picture(imagine(tree, known)),
        "turns": max(len(conversation.turns) for _, conversation in parts),
        "glyph": str(state_glyph("undiscovered")),
        "intents": [
            {"id": key, "text": tree.text(key), "tree": tree.root_of[key], "depth": key.count(".")}
            for key in tree.intents
        ],
        "columns": [column(part, conversation, imagine) for part, conversation in parts],
    }


def column(part: Part, conversation: Conversation, imagine: Imagine) -> dict[str, Any]:
    """One assistant's part of the story: the moment before its first reply and after each."""
    moments = [
        _moment(conversation, None, imagine),
        *(_moment(conversation, turn, imagine) for turn in conversation.turns),
    ]
    caption = str(_caption(part, conversation)) if part.lesson else ""
    return {"key": part.key, "name": part.name, "about": part.about, "caption": caption, "moments": moments}


def _caption(part: Part, conversation: Conversation) -> Markup:
    """What this assistant found, with links to the turn and the intents that tell it."""
    tree = conversation.tree
    hidden = [key for key in tree.intents if key not in tree.initially_discovered]
    found = sum(key in conversation.state.discovered for key in hidden)
    finds = {turn.index: newly_discovered(turn) for turn in conversation.turns}
    # The lesson of the explorer is about options, so its example is a turn with options where one discovered intents.
    options = {turn.index for turn in conversation.turns if _has_options(str(rich_text(turn.reply.text)))}
    best = max(finds, key=lambda index: (bool(finds[index]) and index in options, len(finds[index])), default=0)
    named = finds.get(best, [])[-MOST_NAMED:]  # the most specific come last
    head = tag("b", f"{part.name.capitalize()}: {found} of {len(hidden)} hidden intents discovered.")
    if not named:
        return joined([head, Markup(" "), tag("span", part.lesson)])
    texts = [
        tag("button", tree.text(key), type="button", class_="st-link", data_turn=best, data_node=key) for key in named
    ]
    more = len(finds[best]) - len(named)
    rest = f" and {more} more" if more else ""
    seen = tag("span", f" Turn {best} discovered: ", Markup(", ").join(texts), f"{rest}. ")
    return joined([head, seen, tag("span", part.lesson)])


def _has_options(reply: str) -> bool:
    """Whether a reply shows several options side by side."""
    return max(map(reply.count, ("<blockquote", "dl-figure"))) > 1


def newly_discovered(turn: Turn) -> list[str]:
    """The intents that became discovered in a turn, broad before specific."""
    return [each.intent_id for each in turn.candidate.transitions if each.moved and each.after is Discovery.DISCOVERED]


def _moment(conversation: Conversation, turn: Turn | None, imagine: Imagine) -> dict[str, Any]:
    tree = conversation.tree
    state = conversation.state_after(turn.index if turn else 0)
    moved = {} if turn is None else {each.intent_id: each for each in turn.candidate.transitions if each.moved}
    hidden = [key for key in tree.intents if key not in tree.initially_discovered]
    known = sum(key in state.discovered for key in hidden)
    reward = turn.candidate.reward if turn else None
    reply = str(rich_text(turn.reply.text)) if turn else ""
    return {
        "reply": reply,
        "options": _has_options(reply),
        "user": str(rich_text(turn.user_message)) if turn and turn.user_message is not None else "",
        "states": {key: level_name(state[key]) for key in tree.intents},
        "moved": list(moved),
        "known": known,
        "of": len(hidden),
        "reward": signed(reward.total) if reward else "",
        "picture": _picture(imagine(tree, state)),
    }


def _picture(piece: Imagined) -> dict[str, Any]:
    share = piece.known / piece.of if piece.of else 1.0
    return {
        "drawing": svg_data_uri(piece.drawing) if piece.drawing else "",
        "lines": list(piece.lines),
        "share": round(share, 3),
    }


@dataclass(frozen=True)
class Averages:
    """What is true of more people than one.

    Attributes:
        shares: what an assistant does, as a verb → the share of the hidden wishes that it finds.
        gain: what the last of them finds more than the one before it, person by person.
        ceiling: what a perfect reply in every turn would find.
    """

    shares: Mapping[str, Estimate]
    gain: Estimate
    ceiling: float


def averages_line(averages: Averages) -> Markup:
    """The averages in two sentences."""
    *_, second, first = averages.shares
    finds = "; ".join(f"{name} {_percent(each)}" for name, each in averages.shares.items())
    gain = averages.gain
    bounds = "" if gain.low is None or gain.high is None else f" [{100 * gain.low:.0f}, {100 * gain.high:.0f}]"
    more = f"{100 * gain.mean:.0f} points{bounds}"
    return quiet(
        f"One user is an anecdote. With {gain.n_artifacts} other users, the mean share of hidden intents discovered in "
        f"five turns is: {finds}. Perfect replies would discover {percent(averages.ceiling)}. The assistant that "
        f"{first} is {more} ahead of the one that {second}. The brackets are 95% intervals over users."
    )


def _percent(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return percent(estimate.mean)
    return f"{percent(estimate.mean)} [{100 * estimate.low:.0f}, {100 * estimate.high:.0f}]"
