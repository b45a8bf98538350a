"""Whole pages as single HTML files: no network, no server, each opens from disk.

Templates lie in `views/static`; whatever a template is given is escaped unless it is `Markup`.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from discover_lib.core.advance import focus, frontier
from discover_lib.core.conversation import Artifact, Conversation, Turn
from discover_lib.core.state import IntentState
from discover_lib.metrics.results import CSV_COLUMNS, Pool, tidy_rows
from discover_lib.views import conversation as show
from discover_lib.views.conversation import row_look, theta_text
from discover_lib.views.figures.charts import turns_behind_a_slider
from discover_lib.views.html import EMPTY, Markup, joined, quiet, signed, static_text, tag
from discover_lib.views.transitions import level_name

if TYPE_CHECKING:
    from jinja2 import Environment

SECONDS_PER_TURN = 3.0  # while playing


@cache
def templates() -> Environment:
    """The templates of `views/static`: a name without a value is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("discover_lib.views", "static")
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def page(template: str, title: str, sheets: Sequence[str], script: str = "", **values: Any) -> str:
    """A template with its values, the style sheets, and a policy that allows nothing but them and this script.

    Raises:
        jinja2.UndefinedError: the template names a value that is not given.
    """
    styles = Markup("\n".join(map(static_text, sheets)))
    return (
        templates()
        .get_template(template)
        .render(title=title, styles=styles, policy=_policy(script), script=Markup(script), **values)
    )


# -- an evaluation -----------------------------------------------------------------------------------------------------


def scores_csv(pool: Pool) -> str:
    """A row per conversation under `CSV_COLUMNS`."""
    text = io.StringIO()
    table = csv.DictWriter(text, CSV_COLUMNS, lineterminator="\n")
    table.writeheader()
    table.writerows(tidy_rows(pool))
    return text.getvalue()


def evaluation_page(title: str, parts: Sequence[tuple[str, Markup]]) -> str:
    """An evaluation as one file: tables and charts under headings.

    Args:
        parts: (heading, fragment of `views.scores` or chart).
    """
    return page("evaluation_page.html", title, ("workbench.css",), parts=parts)


# -- a conversation ----------------------------------------------------------------------------------------------------


def demo_page(conversation: Conversation, artifact: Artifact | None = None) -> str:
    """One conversation that scrubs through its turns.

    Python renders every turn; the page's script, known to its policy by hash, only shows one of them at a time.

    Args:
        artifact: the finished work that the intents were built from, shown folded at the end.
    """
    tree, turns, rules = conversation.tree, conversation.turns, conversation.rules
    return page(
        "demo_page.html",
        f"{_heading(conversation)} ({facts(conversation)})",
        ("workbench.css", "demo_page.css"),
        script=static_text("demo_page.js"),
        heading=_heading(conversation),
        facts=facts(conversation),
        last=len(turns),
        curve=turns_behind_a_slider(conversation),
        worth=[signed(turn.candidate.reward.total) if turn.candidate.reward else "not scored" for turn in turns],
        legend=show.state_legend(),
        outline=show.outline(tree, conversation.state, rules),
        chat=show.chat(conversation),
        views=_panels(turns, _OPENING, lambda turn: show.user_view(tree, turn.view, turn.user_message)),
        receipts=_panels(turns, _NO_REPLY, lambda turn: show.receipt(tree, turn, rules)),
        candidates=_panels(turns, _NO_REPLY, lambda turn: show.candidates(tree, turn, rules)),
        reasons=_panels(turns, _NO_REPLY, lambda turn: show.judge_reasons(tree, turn.candidate)),
        artifact=show.artifact(artifact) if artifact else EMPTY,
        footer=_footer(conversation),
        data=_embedded(_data(conversation)),
    )


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


def _panels(turns: Sequence[Turn], opening: str, body: Callable[[Turn], Markup]) -> Markup:
    """One block per turn, only the last one visible until the script chooses."""
    blocks = [quiet(opening), *map(body, turns)]
    return joined(tag("div", block, data_panel=index, hidden=index != len(turns)) for index, block in enumerate(blocks))


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
    news = "; ".join(f"{conversation.tree.text(each.intent_id)}: {level_name(each.after)}" for each in moved)
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


def _embedded(data: Mapping[str, Any]) -> Markup:
    """JSON for a script element: nothing in it can end the element or open a comment."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _policy(script: str) -> Markup:
    """What the page may load: its own styles, images that it brings along, and this one script."""
    allowed = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    if script:
        digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
        allowed += f"; script-src 'sha256-{digest}'"
    return Markup(allowed)
