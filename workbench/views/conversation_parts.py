"""HTML fragments for people: conversations, reward receipts, what the user may say, the intent outline.

Every function is pure and returns `Markup`.  The furniture of `views.html` is here by name as well, so that a notebook
needs one module.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from discover_lib.base.glossary import TERMS, meaning, meanings
from discover_lib.core.advance import focus as roots_in_focus
from discover_lib.core.advance import frontier
from discover_lib.core.conversation import Candidate, Conversation, Reply, Turn
from discover_lib.core.intents import Intent, IntentTree
from discover_lib.core.roles import Recognised
from discover_lib.core.rules import Rules
from discover_lib.core.state import Discovery, IntentState, Transition
from discover_lib.metrics.rescore import other_choices
from discover_lib.metrics.transcript import in_words, level_name, news
from workbench.views.charts import reward_of
from workbench.views.html import (
    EMPTY,
    Markup,
    chip,
    code,
    error_line,
    explained,
    grid,
    hidden,
    more,
    number_mark,
    plain_list,
    subscripts,
)
from workbench.views.html import artifact as artifact
from workbench.views.html import beside as beside
from workbench.views.html import drawing as drawing
from workbench.views.html import heading as heading
from workbench.views.html import in_tokens as in_tokens
from workbench.views.html import joined as joined
from workbench.views.html import notice as notice
from workbench.views.html import panel as panel
from workbench.views.html import quiet as quiet
from workbench.views.html import rich_text as rich_text
from workbench.views.html import signed as signed
from workbench.views.html import styled as styled
from workbench.views.html import table as table
from workbench.views.html import tag as tag
from workbench.views.html import term as term

# -- the intent outline ------------------------------------------------------------------------------------------------

_GLYPH = Markup(
    '<circle class="dl-g-glow" r="12"/><circle class="dl-g-ring" r="10"/>'
    '<circle class="dl-g-off" r="5.2"/>'
    '<path class="dl-g-half" d="M0-7 7 0 0 7-7 0z"/><path class="dl-g-half-fill" d="M0-7V7L-7 0z"/>'
    '<circle class="dl-g-on" r="7"/><path class="dl-g-tick" d="M-3.2.2-.9 2.6 3.4-2.4"/>'
)


def outline(
    tree: IntentTree,
    state: IntentState,
    rules: Rules | None = None,
    focus: Iterable[str] | None = None,
    label: str = "What the user wants",
) -> Markup:
    """The intents, one a row, indented by depth; state by colour and by shape.

    Args:
        focus: roots that are in focus; by default those that the judge will be shown next.
    """
    upcoming = roots_in_focus(tree, state, rules or Rules.paper())
    movable, focused = frontier(tree, state, upcoming), set(upcoming if focus is None else focus)
    trees = (
        tag(
            "li",
            plain_list(_outline_rows(root, state, movable), "ol"),
            class_="dl-tree",
            data_root=root.id,
            data_focus=int(root.id in focused),
        )
        for root in tree.roots
    )
    return plain_list(trees, "ol", class_="dl-plain dl-outline", aria_label=label)


def _outline_rows(
    intent: Intent, state: IntentState, movable: Collection[str], rails: tuple[bool, ...] = ()
) -> Iterator[Markup]:
    """The row of an intent and of all below it; `rails` says per level above whether a sibling follows."""
    level, satisfied = level_name(state[intent.id]), intent.id in state.satisfied
    spoken = tag("span", level + (", satisfied" if satisfied else ""), class_="dl-sr dl-spoken")
    yield tag(
        "li",
        _rails(rails),
        tag("span", state_glyph(level, satisfied), class_="dl-mark", data_open=bool(intent.children)),
        tag("span", intent.text, spoken, class_="dl-want"),
        class_="dl-row",
        data_id=intent.id,
        data_state=level,
        data_satisfied=int(satisfied),
        data_frontier=int(intent.id in movable),
    )
    for child in intent.children:
        yield from _outline_rows(child, state, movable, (*rails, child is not intent.children[-1]))


def _rails(rails: tuple[bool, ...]) -> Markup:
    """The connectors left of a row: lines passing through, and the elbow that leads to it."""
    if not rails:
        return EMPTY
    lines = ["through" if passing else "none" for passing in rails[:-1]] + ["tee" if rails[-1] else "end"]
    return joined(tag("span", class_="dl-rail", data_line=line) for line in lines)


def state_glyph(state: str, satisfied: bool = False, **attributes: str | float) -> Markup:
    """The mark of a state as in the outline; `attributes` are further ones, such as `data_frontier=1`."""
    marked = {"data_state": state, "data_satisfied": int(satisfied), **attributes}
    return tag("svg", _GLYPH, class_="dl-glyph", viewBox="-13 -13 26 26", aria_hidden="true", **marked)


def state_legend() -> Markup:
    """What shapes and colours of the outline mean."""
    marks = (
        (state_glyph("undiscovered"), "undiscovered"),
        (state_glyph("emerging"), "emerging"),
        (state_glyph("discovered"), "discovered"),
        (state_glyph("discovered", satisfied=True), "satisfied"),
        (state_glyph("undiscovered", data_frontier=1), "frontier"),
    )
    entries = (tag("span", glyph, " ", term(name)) for glyph, name in marks)
    focus = tag("span", term("focus"), class_="dl-legend-band")
    return tag("div", *entries, focus, class_="dl-legend")


# -- the conversation --------------------------------------------------------------------------------------------------


def chat(conversation: Conversation, turns: int | None = None, show_rewards: bool = True) -> Markup:
    """The conversation as people read it, up to and with turn number `turns` (all by default, 0: the request)."""
    shown = conversation.turns[: len(conversation.turns) if turns is None else turns]
    rows = [bubble("user", rich_text(conversation.tree.initial_request), turn=0)]
    for turn in shown:
        rows.append(_turn_line(turn, show_rewards))
        rows.append(bubble("assistant", rich_text(turn.reply.text), as_written(turn.reply), turn=turn.index))
        if turn.user_message is not None:
            rows.append(bubble("user", user_message(turn), turn=turn.index))
    return plain_list(rows, "ol", class_="dl-plain dl-chat", aria_label="Conversation")


def bubble(role: str, *body: Markup, turn: int | None = None, more_classes: str = "") -> Markup:
    """A message; with `turn` as an item of the list that `chat` makes."""
    name = "div" if turn is None else "li"
    spoken = hidden(f"{role.capitalize()}: ")
    return tag(name, spoken, *body, class_=f"dl-msg {more_classes}".strip(), data_role=role, data_turn=turn)


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
    return text + tag("p", sign, f" The voice’s own check found a problem: {flaws}", class_="dl-flaw")


def _turn_line(turn: Turn, show_rewards: bool) -> Markup:
    reward = turn.candidate.reward
    worth = tag("span", f"reward {signed(reward.total)}", class_="dl-num") if show_rewards and reward else EMPTY
    name = tag("span", turn.reply.assistant) if turn.reply.assistant else EMPTY
    return tag("li", tag("span", f"Turn {turn.index}"), name, worth, class_="dl-turn", data_turn=turn.index)


def as_written(reply: Reply) -> Markup:
    """The notation that a model wrote, folded; nothing where it wrote the text itself."""
    return EMPTY if reply.notation is None else more("as the assistant wrote it", code(reply.notation))


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
        change = f"now {level_name(each.after)}" if each.moved else "now satisfied" if each.satisfied else "θ shrinks"
        if each.moved and each.satisfied:
            change += " and satisfied"
        tone = "known" if each.after is Discovery.DISCOVERED else "emerging"
        tone = tone if each.moved or each.satisfied else ""
        near: tuple[str, ...] = ()
        if each.cause == "direct":
            why = "engaged: the reply builds it"
            why = why if candidate.evaluation.kind == "artifact" else "engaged: the reply asks about it"
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
    reward, lines = candidate.reward, receipt_lines(candidate, rules)
    rows = [_receipt_row(tree, each) for each in lines]
    if not candidate.transitions:
        rows.append(tag("tr", tag("td", "No intent changed state.", colspan=3), tag("td", "+0", class_="dl-num")))
    counts = "level change: an emerging intent counts ½; a parent counts 1 once all its children count 1"
    counts = "intents newly discovered" if rules.discovery_reward == "newly_discovered" else counts
    length = tag("span", length_sum(candidate.reply, rules), title=meanings("free tokens", "price of a token"))
    foot = tag(
        "tfoot",
        _bill(term("discovery reward", "Discovery reward R_d"), counts, reward.discovered),
        _bill(term("length penalty", "Length penalty R_e"), length, reward.penalty),
        _bill(term("reward", "Reward R = R_d + R_e"), "", reward.total),
    )
    assistant = f", {candidate.reply.assistant}" if candidate.reply.assistant else ""
    title = f"Turn {turn.index}{assistant}, {rules.name} rules"
    return grid(("Intent", "Change", "Why", "Reward"), rows, title, "dl-receipt", foot=foot)


def _receipt_row(tree: IntentTree, line: ReceiptLine) -> Markup:
    name = tag("td", tag("span", line.intent_id, class_="dl-id"), " ", tree.text(line.intent_id))
    change = chip(line.change, line.tone) if line.tone else tag("span", line.change)
    near = ", ".join(f"“{miss}”" for miss in line.near)
    why = tag("span", line.why), tag("div", near, class_="dl-small dl-quiet") if near else EMPTY
    worth = tag("td", signed(line.share), class_="dl-num", data_share=f"{line.share:g}")
    return tag("tr", name, tag("td", change), tag("td", *why), worth)


def _bill(name: str, how: str, value: float) -> Markup:
    worth = tag("td", signed(value), class_="dl-num", data_sum=repr(value))
    return tag("tr", tag("th", name, scope="row"), tag("td", how, colspan=2), worth)


def length_sum(reply: Reply, rules: Rules) -> str:
    """The length part of the reward as a calculation in words."""
    above = max(0, reply.n_tokens - rules.tau)
    capped = f", capped at {rules.penalty_cap:g}" if rules.lam * above > rules.penalty_cap else ""
    return (
        f"{in_tokens(reply.n_tokens, rules.token_unit)}, {above:g} above τ = {rules.tau:g}, × λ = {rules.lam:g}{capped}"
    )


def near_miss_sum(transition: Transition, rules: Rules) -> str:
    """The near misses of an intent against its θ, as a calculation in words."""
    assert transition.score is not None and transition.theta is not None
    count = round(transition.score / rules.p) if rules.p else 0
    misses = "1 near miss" if count == 1 else f"{count} near misses"
    below = "≤" if rules.crossing == ">" else "<"
    relation = rules.crossing.replace(">=", "≥") if transition.moved else below
    left = "" if transition.moved else f", {transition.theta_left or 0:.2f} left"
    return f"{misses} × p {rules.p:g} = {transition.score:g} {relation} θ {transition.theta:.2f}{left}"


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


def candidates(tree: IntentTree, judged: Turn | Sequence[Candidate], rules: Rules) -> Markup:
    """Candidate replies side by side: their reward split and what each would move.  Of a turn, the chosen is marked."""
    chosen = judged.chosen if isinstance(judged, Turn) else None
    replies = judged.candidates if isinstance(judged, Turn) else tuple(judged)
    cards = (_card(tree, each, rules, chosen, index) for index, each in enumerate(replies))
    return tag("div", *cards, class_="dl-cards")


def _card(tree: IntentTree, candidate: Candidate, rules: Rules, chosen: int | None, index: int) -> Markup:
    name = candidate.reply.assistant or f"Reply {index + 1}"
    status = "chosen" if index == chosen else "rejected"
    badge = EMPTY if chosen is None else chip(status, "known" if index == chosen else "plain", meaning(status))
    head = tag("div", tag("strong", name), badge, class_="dl-card-head")
    if candidate.reward is None:
        body = error_line(f"Unscored. {candidate.error or ''}".strip())
    else:
        reward = candidate.reward
        parts = subscripts(f"R_d {signed(reward.discovered)}, R_e {signed(reward.penalty)}: ")
        explained = meanings("discovery reward", "length penalty", "reward")
        total = tag("p", parts, tag("strong", f"R {signed(reward.total)}"), class_="dl-sum dl-num", title=explained)
        moves = [_card_move(tree, each) for each in candidate.transitions] or [tag("li", "Would change no intent.")]
        body = total + plain_list(moves) + quiet(length_sum(candidate.reply, rules), small=True)
    reply = more("the reply", rich_text(candidate.reply.text), as_written(candidate.reply))
    return tag("section", head, body, reply, class_="dl-card", data_chosen=int(index == chosen))


def _card_move(tree: IntentTree, transition: Transition) -> Markup:
    glyph = state_glyph(level_name(transition.after), transition.satisfied)
    text = tag("span", tree.text(transition.intent_id), " ", chip(news(transition)))
    return tag("li", glyph, text, class_="dl-item")


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


# -- the reward of a reply: its sum, and the same turn under other rules -----------------------------------------------


_NEW = Markup("|I<sub>t+1</sub>| − |I<sub>t</sub>|")
_NEW_MEANS = "Number of intents discovered after the reply, minus the number before it."


def assembled(turn: Turn, rules: Rules) -> Markup:
    """The reward of a turn's reply as a sum: what it earned, what its length costs, and the formula of each."""
    earned = turn.candidate.reward
    if earned is None:
        return quiet("This reply is unscored. It has no reward, not a reward of 0.")
    known, now_known = len(turn.before.discovered), len(turn.after.discovered)
    by_count = rules.discovery_reward == "newly_discovered"
    counted = (
        (explained(_NEW, _NEW_MEANS), f" = {now_known} − {known}")
        if by_count
        else (f"change of level = {earned.discovered:g}",)
    )
    n, above = turn.reply.n_tokens, max(0.0, turn.reply.n_tokens - rules.tau)
    capped = rules.lam * above > rules.penalty_cap
    how = f"{rules.lam:g} × {above:g}" + (f", {rules.penalty_cap:g} at most" if capped else "")
    found = "intents discovered" if by_count else "levels gained"
    parts = (
        _part(earned.discovered, found, term("discovery reward", "R_d"), " = ", *counted),
        tag("span", "+", class_="rw-sign"),
        _part(
            earned.penalty,
            f"for {above:g} tokens beyond {rules.tau:g} free ones",
            term("length penalty", "R_e"),
            f" = −min({rules.penalty_cap:g}, ",
            term("price of a token", "λ"),
            " · max(0, ",
            explained("n", f"The length of the reply: {in_tokens(n, rules.token_unit)}."),
            " − ",
            term("free tokens", "τ"),
            f")) = −{how}",
        ),
        tag("span", "=", class_="rw-sign"),
        _part(earned.total, "reward of the reply", term("reward", "R"), subscripts(" = R_d + R_e")),
    )
    return tag("div", *parts, class_="rw-sum")


def _part(value: float, words: str, *formula: str) -> Markup:
    """One number of the sum: its value, what it is in words, and its formula."""
    sign = "costs" if value < 0 else "earns" if value > 0 else "nothing"
    number = tag("b", signed(value), class_="rw-number dl-num", data_sign=sign)
    return tag("div", number, tag("span", words), tag("span", *formula, class_="rw-formula"), class_="rw-part")


def symbols() -> Markup:
    """The letters of the reward, each with its sentence of the glossary."""
    names = ("reward", "discovery reward", "length penalty", "price of a token", "free tokens", "near-miss weight")
    rows = (
        tag("li", tag("b", subscripts(TERMS[name].symbol)), f" {name}: {TERMS[name].meaning}")
        for name in (*names, "threshold")
    )
    return tag("ul", *rows, class_="dl-plain dl-small")


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
        yield tree.text(each.intent_id), (in_words(each), signed(reward.shares.get(each.intent_id, 0.0)))
    yield "Discovery reward R_d", ("", signed(reward.discovered))
    yield "Length penalty R_e", ("", signed(reward.penalty))
    yield "Reward R = R_d + R_e", ("", signed(reward.total))


def every_turn(original: Conversation, now: Conversation) -> Markup:
    """A bar for the reward of each turn, and their sum; a turn without a score has no bar."""
    scored = [
        pair for pair in zip(original.turns, now.turns, strict=True) if all(each.candidate.reward for each in pair)
    ]
    were, are = ([turn.candidate.reward.total for turn in turns] for turns in zip(*scored, strict=True))  # type: ignore[union-attr]
    before = "" if now.rules == original.rules else f"; under the {original.rules.name} rules {signed(sum(were))}"
    now_earned, then_earned = ({f"turn {at}": value for at, value in enumerate(each, 1)} for each in (are, were))
    return reward_of(now_earned, then_earned) + quiet(f"In all {signed(round(sum(are), 3))}{before}.")


def changes(original: Conversation, now: Conversation) -> Markup:
    """Which intents end in another state under other rules, and which turns prefer another reply."""
    tree = original.tree
    states = [
        (tree.text(key), level_name(original.state[key]), level_name(now.state[key]))
        for key in tree.intents
        if original.state[key] is not now.state[key]
    ]
    replies = [
        (f"Turn {choice.turn}", *(choice.candidates[place].reply.assistant for place in (choice.then, choice.now)))
        for choice in other_choices(original, now)
    ]
    parts = [table(("", "Before", "Now"), [*states, *replies])] if states or replies else []
    return joined([*parts, quiet("Every intent ends in the same state.") if not states else EMPTY])
