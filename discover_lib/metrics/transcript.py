"""A conversation as plain text of 100 columns, for a terminal or a mail: messages, discoveries and rewards.

What a reply did to an intent has the same words in chips, tooltips, receipts and the terminal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest
from textwrap import wrap

from discover_lib.base.words import counted
from discover_lib.core.conversation import Conversation, Turn
from discover_lib.core.intents import IntentTree
from discover_lib.core.state import Discovery, Transition

COLUMNS = 100
MARGIN = 11  # of who speaks
BAR = "│ "  # before every line of an artifact
WIDTH = COLUMNS - MARGIN - len(BAR)
HALF = WIDTH // 2 - 2  # of a table's column
_MARKS = re.compile(r"^#{1,6} |\*{1,2}")  # of headings and emphasis
_DRAWING = re.compile(r"\n\s*```svg\s*\n(.*?)\n?```|\n?(<svg\b.*?</svg>)", re.DOTALL)
_TITLE = re.compile(r"<title>(.*?)</title>", re.DOTALL)


def transcript(talk: Conversation, final: str | None = None) -> Iterator[str]:
    """The lines of a conversation; a drawing is its title and length, for a terminal cannot draw it.

    Args:
        final: the finished piece, where the user was given one.
    """
    yield from _said("user", talk.tree.initial_request)
    for turn in talk.turns:
        several = f", the best of {len(turn.candidates)} candidates" if len(turn.candidates) > 1 else ""
        yield from ("", f"turn {turn.index}{several}")
        yield from _said("assistant", turn.reply.text)
        yield from _outcome(talk.tree, turn)
        if turn.user_message is not None:
            yield from _said("user", turn.user_message)
    if final is not None:
        yield from ("", *_said("finished", final))


def _outcome(tree: IntentTree, turn: Turn) -> Iterator[str]:
    """What moved in the user's mind, and the reward."""
    changes = [each for each in turn.candidate.transitions if each.moved or each.satisfied]
    for each in changes:
        yield from _said("", f"* {each.intent_id} ({tree.text(each.intent_id)}): {in_words(each)}")
    yield from _said("", f"= {'' if changes else 'no change; '}{reward_line(turn)}")


def reward_line(turn: Turn) -> str:
    """ "reward +1.000 (+1 discovered, +0.000 for 80 tokens)", or why the reply has no reward."""
    reward = turn.candidate.reward
    if reward is None:
        return f"unscored: {turn.candidate.error or 'no judgement'}"
    tokens = counted(reward.n_tokens, "token")
    return f"reward {reward.total:+.3f} ({reward.discovered:+g} discovered, {reward.penalty:+.3f} for {tokens})"


def _said(who: str, text: str) -> Iterator[str]:
    """A message beside who says it."""
    margin = who.ljust(MARGIN)
    for line in _lines(_DRAWING.sub(_named, "\n" + text).strip("\n")):
        yield (margin + line).rstrip()
        margin = " " * MARGIN


def _lines(text: str) -> Iterator[str]:
    """A message as people read it: artifacts beside a bar, without the marks of Markdown."""
    in_code = False
    for line in text.splitlines() or [""]:
        if line.startswith("```"):
            in_code = not in_code
        elif in_code:
            yield BAR + line
        elif not line.startswith(">"):
            yield from wrap(line, COLUMNS - MARGIN) or [""]
        else:
            quoted = _MARKS.sub("", line.removeprefix(">").strip())
            for part in _columns(quoted) if quoted.startswith("|") else wrap(quoted, WIDTH) or [""]:
                yield BAR + part


def _columns(row: str) -> Iterator[str]:
    """A row of a table, its cells side by side."""
    if set(row) <= set("|- "):
        return
    cells = [wrap(cell.strip(), HALF) for cell in row.strip("|").split("|")]
    for parts in zip_longest(*cells, fillvalue=""):
        yield "  ".join(part.ljust(HALF) for part in parts).rstrip()
    yield ""


def _named(drawing: re.Match[str]) -> str:
    code = drawing[1] or drawing[2]
    title = _TITLE.search(code)
    return f"\n[a drawing{f': {title[1].strip()}' if title else ''}, {len(code):,} characters of SVG]"


def level_name(level: Discovery) -> str:
    """A level of discovery as people read it: "emerging"."""
    return level.name.lower()


def news(transition: Transition) -> str:
    """The result in two or three words: "now emerging", "now satisfied", "θ 0.90 → 0.65"."""
    if transition.moved:
        return f"now {level_name(transition.after)}"
    if transition.satisfied:
        return "now satisfied"
    return f"θ {transition.theta:.2f} → {transition.theta_left or 0:.2f}"


def cause(transition: Transition) -> str:
    """Why it changed: "match", "near miss, score 0.50, threshold 0.31"."""
    if transition.cause == "direct" or transition.score is None or transition.theta is None:
        return "match"
    return f"near miss, score {transition.score:.2f}, threshold {transition.theta:.2f}"


def in_words(transition: Transition) -> str:
    """The whole transition: "undiscovered → emerging, near miss, score 0.50, threshold 0.31"."""
    moved = f"{level_name(transition.before)} → {level_name(transition.after)}" if transition.moved else ""
    satisfied = "now satisfied" if transition.satisfied else ""
    return ", ".join(filter(None, (moved, satisfied, cause(transition))))
