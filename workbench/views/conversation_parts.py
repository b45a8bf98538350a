"""HTML fragments of a conversation: its messages, the receipt of a reply, its reward under other rules, its intents.

Every function is pure and returns `Markup`. `static/parts.jinja` has the larger fragments. The furniture of
`views.html` is here by name as well, so that a notebook needs one module.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from discover_lib.base.words import counted
from discover_lib.core.conversation import Candidate, Conversation, Reply, Turn
from discover_lib.core.intents import IntentTree
from discover_lib.core.reward import Reward
from discover_lib.core.roles import Recognised
from discover_lib.core.rules import Rules
from discover_lib.core.state import Discovery, IntentState, Transition
from discover_lib.metrics.transcript import in_words, level_name
from workbench.views.charts import reward_of
from workbench.views.html import EMPTY, Markup, code, error_line, hidden, more, number_mark, subscripts, term
from workbench.views.html import artifact as artifact
from workbench.views.html import beside as beside
from workbench.views.html import in_tokens as in_tokens
from workbench.views.html import joined as joined
from workbench.views.html import notice as notice
from workbench.views.html import panel as panel
from workbench.views.html import part as part
from workbench.views.html import quiet as quiet
from workbench.views.html import rich_text as rich_text
from workbench.views.html import signed as signed
from workbench.views.html import styled as styled
from workbench.views.html import table as table
from workbench.views.html import tag as tag

# -- the intent outline ------------------------------------------------------------------------------------------------

_GLYPH = Markup(
    '<circle class="dl-g-off" r="5.2"/><path class="dl-g-half" d="M0-7 7 0 0 7-7 0z"/>'
    '<path class="dl-g-half-fill" d="M0-7V7L-7 0z"/><circle class="dl-g-on" r="7"/>'
    '<path class="dl-g-tick" d="M-3.2.2-.9 2.6 3.4-2.4"/>'
)


def outline(tree: IntentTree, state: IntentState) -> Markup:
    """The intents, one a row, indented by depth, each with the mark of its state."""
    rows = []
    for key, intent in tree.intents.items():
        level, satisfied = level_name(state[key]), key in state.satisfied
        spoken = hidden(f" ({level}{', satisfied' if satisfied else ''})")
        indent = f"margin-left:{1.4 * (tree.depth(key) - 1):.1f}em"
        row = (state_glyph(level, satisfied), tag("span", intent.text, spoken))
        rows.append(tag("li", *row, class_="dl-item", data_id=key, style=indent))
    return tag("ol", *rows, class_="dl-plain", aria_label="Intents")


def state_glyph(state: str, satisfied: bool = False) -> Markup:
    """The mark of a state."""
    how: dict[str, Any] = {"data_state": state, "data_satisfied": int(satisfied), "aria_hidden": "true"}
    return tag("svg", _GLYPH, class_="dl-glyph", viewBox="-13 -13 26 26", **how)


# -- the conversation --------------------------------------------------------------------------------------------------


def chat(conversation: Conversation, turns: int | None = None) -> Markup:
    """The conversation as people read it, up to and with turn number `turns` (all by default, 0: the request)."""
    shown = conversation.turns[: len(conversation.turns) if turns is None else turns]
    told = [(turn, as_written(turn.reply), user_message(turn)) for turn in shown]
    return part("chat", conversation.tree.initial_request, told)


def bubble(role: str, *body: Markup) -> Markup:
    """A message."""
    return tag("div", hidden(f"{role.capitalize()}: "), *body, class_="dl-msg", data_role=role)


# What a voice's own check finds wrong with a message (`Turn.flaws`), in words.
FLAWS = {
    "length": "longer than a user's message",
    "markup": "not plain text",
    "leak": "words of an undiscovered intent",
}


def user_message(turn: Turn) -> Markup:
    """What the user said in a turn, and what its voice's own check found wrong with it."""
    text = rich_text(turn.user_message or "")
    if not turn.flaws:
        return text
    flaws = "; ".join(FLAWS.get(flaw, flaw) for flaw in turn.flaws)
    sign = tag("span", "⚠", aria_hidden="true")
    return text + tag("p", sign, f" A check of this message found a problem: {flaws}", class_="dl-flaw")


def as_written(reply: Reply) -> Markup:
    """The notation that a model wrote, folded; nothing where it wrote the text itself."""
    return (
        EMPTY
        if reply.notation is None
        else more(
            "source text",
            quiet("The reply was made from this text, in compact notation:"),
            code(reply.notation),
        )
    )


# -- the receipt -------------------------------------------------------------------------------------------------------


class ReceiptLine(NamedTuple):
    """What a reply did to one intent.

    Attributes:
        transition: None for a parent whose level rises with its children.
        tone: "known", "emerging", or "" where the state stays.
        near: the near misses, as the judge names them.
        share: of the reward.
    """

    intent_id: str
    transition: Transition | None
    change: str
    tone: str
    why: str
    near: tuple[str, ...]
    share: float


def receipt_lines(candidate: Candidate, rules: Rules) -> list[ReceiptLine]:
    """A line for every intent that a judged reply touched."""
    assert candidate.reward is not None and candidate.evaluation is not None
    shares, lines = dict(candidate.reward.shares), []
    for each in candidate.transitions:
        verdict = candidate.evaluation.verdict(each.intent_id)
        change = (
            f"now {level_name(each.after)}" if each.moved else "now satisfied" if each.satisfied else "no change yet"
        )
        if each.moved and each.satisfied:
            change += " and satisfied"
        tone = "known" if each.after is Discovery.DISCOVERED else "emerging"
        tone = tone if each.moved or each.satisfied else ""
        near: tuple[str, ...] = ()
        if each.cause == "direct":
            why = "match: the reply builds it"
            why = why if candidate.evaluation.kind == "artifact" else "match: the reply asks about it"
        else:
            why, near = near_miss_sum(each, rules), tuple(verdict.near_misses) if verdict else ()
        lines.append(ReceiptLine(each.intent_id, each, change, tone, why, near, shares.pop(each.intent_id, 0.0)))
    risen = ("level rises", "", "all its children now count 1", ())
    return [*lines, *(ReceiptLine(key, None, *risen, share) for key, share in shares.items())]


def receipt(tree: IntentTree, turn: Turn, rules: Rules, candidate: Candidate | None = None) -> Markup:
    """The reward of a reply as a bill that adds up: a row per intent that it touched, its length, the total.

    Args:
        rules: those that the reward was computed under.
        candidate: one of the turn's candidates; the chosen one by default.
    """
    candidate = candidate or turn.candidate
    if candidate.reward is None or candidate.evaluation is None:
        return error_line(f"Turn {turn.index}: this reply is unscored. {candidate.error or ''}".strip())
    sums = [
        (term(name.lower(), name), how, value)
        for name, how, value in reward_sums(candidate.reply, candidate.reward, rules)
    ]
    assistant = f", {candidate.reply.assistant}" if candidate.reply.assistant else ""
    title = f"Turn {turn.index}{assistant}, {rules.name} rules"
    texts = {key: tree.text(key) for key in tree.intents}
    return part("receipt", title, receipt_lines(candidate, rules), texts, sums)


def reward_sums(reply: Reply, reward: Reward, rules: Rules) -> tuple[tuple[str, str, float], ...]:
    """The parts of a reward and their sum: the name of each, how it is counted, and its value."""
    counts = (
        "intents newly discovered"
        if rules.discovery_reward == "newly_discovered"
        else "level change: an emerging intent counts ½; a parent counts 1 once all its children count 1"
    )
    return (
        ("Discovery reward", counts, reward.discovered),
        ("Length penalty", length_sum(reply, rules), reward.penalty),
        ("Reward", "discovery reward + length penalty", reward.total),
    )


def length_sum(reply: Reply, rules: Rules) -> str:
    """The length part of the reward as a calculation in words."""
    above = max(0, reply.n_tokens - rules.tau)
    capped = f", at most {rules.penalty_cap:g}" if rules.lam * above > rules.penalty_cap else ""
    free = f"{in_tokens(reply.n_tokens, rules.token_unit)}, {rules.tau:g} are free"
    return f"{free}: {above:g} × {rules.lam:g}{capped}" if above else free


def near_miss_sum(transition: Transition, rules: Rules) -> str:
    """The near misses of an intent against its threshold, as a calculation in words."""
    assert transition.score is not None and transition.theta is not None
    misses = counted(round(transition.score / rules.p) if rules.p else 0, "near miss", "near misses")
    relations = ("not above", "above") if rules.crossing == ">" else ("below", "at least")
    left = "" if transition.moved else f"; {transition.theta_left or 0:.2f} remaining"
    against = f"{relations[transition.moved]} its threshold {transition.theta:.2f}"
    return f"{misses} × {rules.p:g} = {transition.score:g}, {against}{left}"


# -- the judge, the user, the candidates -------------------------------------------------------------------------------


SAYABLE = {  # what the user pursues → the state of these intents, and how they speak of them
    "clear": ("discovered", "The user says plainly and with certainty that these intents are still missing."),
    "fuzzy": ("emerging", "The user hints at these intents, hesitantly and in their own words."),
    "latent": (
        "undiscovered",
        "The user says only that something is missing, and in which area if they can name it. They never give a "
        "direction.",
    ),
}


# -- how a tree is built -----------------------------------------------------------------------------------------------


def recognised(requirements: Sequence[Recognised]) -> Markup:
    """Stage 1: the most specific requirements, and what in the artifact shows each; numbered as on the piece."""
    rows = [
        (tag("span", each.text, number_mark(number)), each.dimension.replace("_", " "), each.reason)
        for number, each in enumerate(requirements, 1)
    ]
    if any(reason for _, _, reason in rows):
        return table(("Requirement", "Aspect", "Evidence"), rows)
    return table(("Requirement",), [(each.text,) for each in requirements])


# -- the same turn under other rules -----------------------------------------------------------------------------------


def compared(was: Turn, now: Turn, tree: IntentTree) -> Markup:
    """The reward breakdown of a turn under other rules; a number that changed is preceded by the earlier one."""
    before, after = dict(_lines(was, tree)), dict(_lines(now, tree))
    rows = []
    for name in {**after, **before}:
        (old_change, old), (change, new) = before.get(name, ("", "")), after.get(name, ("nothing", "+0"))
        struck = tag("del", old or "+0", class_="dl-quiet") + Markup(" ") if (old or "+0") != new else EMPTY
        rows.append(
            (
                subscripts(name),
                change if change == old_change else f"{change} (before: {old_change or 'nothing'})",
                struck + new,
            )
        )
    return table(("Intent", "Change", "Reward"), rows)


def _lines(turn: Turn, tree: IntentTree) -> Iterator[tuple[str, tuple[str, str]]]:
    """Name → change and reward: a line per intent that the reply moved, then the sums."""
    reward = turn.candidate.reward
    assert reward is not None
    for each in turn.candidate.transitions:
        name = (
            tree.text(each.intent_id)
            if each.after == Discovery.DISCOVERED
            else f"{level_name(each.after)} intent {each.intent_id}".capitalize()
        )
        yield name, (in_words(each), signed(reward.shares.get(each.intent_id, 0.0)))
    yield "Discovery reward", ("", signed(reward.discovered))
    yield "Length penalty", ("", signed(reward.penalty))
    yield "Reward", ("", signed(reward.total))


def every_turn(original: Conversation, now: Conversation) -> Markup:
    """A bar for the reward of each turn, and their sum; a turn without a score has no bar."""
    scored = [
        pair for pair in zip(original.turns, now.turns, strict=True) if all(each.candidate.reward for each in pair)
    ]
    were, are = ([turn.candidate.reward.total for turn in turns] for turns in zip(*scored, strict=True))  # type: ignore[union-attr]
    before = "" if now.rules == original.rules else f"; under the {original.rules.name} rules {signed(sum(were))}"
    now_earned, then_earned = ({f"turn {at}": value for at, value in enumerate(each, 1)} for each in (are, were))
    return reward_of(now_earned, then_earned) + quiet(f"In all {signed(round(sum(are), 3))}{before}.")
