"""HTML fragments for people: conversations, reward receipts, what the user may say, the intent outline.

Every function is pure and returns an HTML string.  Texts come from models, files and strangers, so all of them are
escaped, and drawings appear only as cleaned `data:` images.  `styled` puts fragments and the one stylesheet together;
a notebook shows ``mo.Html(styled(chat(conversation), receipt(...)))``.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import NamedTuple

from discover_lib.base.svg import SvgError, svg_data_uri
from discover_lib.core.advance import focus as roots_in_focus
from discover_lib.core.advance import frontier
from discover_lib.core.conversation import Artifact, Candidate, Conversation, Reply, Turn
from discover_lib.core.intents import Intent, IntentTree
from discover_lib.core.roles import Recognised
from discover_lib.core.rules import Rules
from discover_lib.core.state import Discovery, Evaluation, IntentState, Threshold, Transition, Verdict
from discover_lib.core.view import UserView

# -- page furniture ----------------------------------------------------------------------------------------------------


@cache
def static_text(name: str) -> str:
    """A text file of `discover_lib/static`."""
    return (files("discover_lib.views") / "static" / name).read_text(encoding="utf-8")


def styled(*fragments: str) -> str:
    """Fragments ready to be shown: wrapped in the class that carries the colours, with the stylesheet."""
    return f'<style>{static_text("show.css")}</style><div class="dl">{"".join(fragments)}</div>'


def error_line(text: str) -> str:
    """One clear line that says what is wrong; announced by screen readers."""
    return f'<p class="dl-error" role="alert">{_escape(text)}</p>'


def signed(value: float) -> str:
    """A reward with its sign and at most four decimals: `+1`, `−0.135`, `+0`."""
    digits = f"{abs(value):.4f}".rstrip("0").rstrip(".")
    return ("−" if value < 0 and digits != "0" else "+") + digits


def panel(title: str, *fragments: str, latest: bool = False) -> str:
    """Fragments under a heading, in a frame; with `latest` it is a window that keeps to its end."""
    body = "".join(fragments)
    if latest:
        body = (
            f'<div class="dl-latest" tabindex="0" role="region" aria-label="{_escape(title)}"><div>{body}</div></div>'
        )
    return f'<section class="dl-panel"><h3 class="dl-panel-title">{_escape(title)}</h3>{body}</section>'


def beside(*fragments: str) -> str:
    """Fragments next to each other where there is room, else one below the other."""
    return f'<div class="dl-beside">{"".join(f"<div>{each}</div>" for each in fragments)}</div>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """A plain table of texts."""
    title = f"<caption>{_escape(caption)}</caption>" if caption else ""
    columns = "".join(f'<th scope="col">{_escape(name)}</th>' for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{_escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="dl-scroll"><table>{title}<thead><tr>{columns}</tr></thead><tbody>{body}</tbody></table></div>'


def _escape(text: str) -> str:
    return html.escape(text, quote=True)


def _chip(text: str, tone: str = "plain") -> str:
    return f'<span class="dl-chip" data-tone="{tone}">{_escape(text)}</span>'


def _heading(text: str) -> str:
    return f'<h3 class="dl-h">{_escape(text)}</h3>'


def _more(summary: str, body: str) -> str:
    return f'<details class="dl-more"><summary>{_escape(summary)}</summary>{body}</details>'


# -- texts and drawings ------------------------------------------------------------------------------------------------

_BLOCK = re.compile(r"```[ \t]*(?P<lang>\w*)[^\n]*\n(?P<code>.*?)(?:\n?```|\Z)|(?P<svg><svg\b.*?</svg\s*>)", re.DOTALL)
_CODE_TYPE = re.compile(r"\b(?:code|component)\b", re.IGNORECASE)
_OPTION_LABEL = re.compile(r"^(?:\*\*)?(?:option\s+)?(?:[A-Z]|\d{1,2})[.):]", re.IGNORECASE)
_QUOTE_MARK = re.compile(r"^\s*(?:>\s?)+")
_HEADING = re.compile(r"^#{1,6}\s")
_LIST_ITEM = re.compile(r"^\s*(?:[-*•]|(?P<number>\d{1,3})[.)])\s+(?P<text>.*)$")
_INLINE = (
    (re.compile(r"`([^`\n]+)`"), r"<code>\1</code>"),
    (re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*"), r"<strong>\1</strong>"),
    (re.compile(r"(?<![\w*])\*(?=\S)([^*\n]+?)(?<=\S)\*(?![\w*])"), r"<em>\1</em>"),
)


def rich_text(text: str) -> str:
    """A message as HTML: paragraphs, light markdown, and drawings where they were said.

    Of markdown only headings, lists, quotes, bold, emphasis and code are read.  An SVG, fenced or bare, becomes a
    picture; drawings that follow each other stand side by side, a label such as "A. Rings" becoming the caption.
    """
    parts: list[str] = []
    figures: list[str] = []
    position = 0
    for match in [*_BLOCK.finditer(text), None]:
        between = text[position : match.start() if match else len(text)]
        svg = _svg_of(match)
        before, caption = _split_caption(between) if svg else (between, "")
        if figures and (before.strip() or svg is None):
            parts.append(f'<div class="dl-drawings">{"".join(figures)}</div>')
            figures = []
        parts.extend(_prose(before))
        if match is None:
            break
        position = match.end()
        if svg is None:
            parts.append(f"<pre>{_escape(match['code'] or '')}</pre>")
        else:
            figures.append(drawing(svg, caption))
    return f'<div class="dl-text">{"".join(parts)}</div>'


def drawing(svg: str, caption: str = "", alt: str = "") -> str:
    """An untrusted SVG as a picture that a click enlarges; one that cannot be shown says why, with its source."""
    title = f"<figcaption>{_inline(caption)}</figcaption>" if caption else ""
    try:
        source = svg_data_uri(svg)
    except SvgError as error:
        code = _more("its source", f'<pre class="dl-code">{_escape(svg)}</pre>')
        return f'<figure class="dl-figure">{title}{error_line(f"Drawing not shown: {error}")}{code}</figure>'
    described = _escape(alt or (f"Drawing: {caption}" if caption else "Drawing"))
    image = f'<img src="{source}" alt="{described}">'
    opened = f'<details class="dl-drawing"><summary title="Enlarge or shrink">{image}</summary></details>'
    return f'<figure class="dl-figure">{title}{opened}</figure>'


def artifact(piece: Artifact) -> str:
    """A finished piece of work: the drawing itself, its text, or its code as it stands, which is never run."""
    if _CODE_TYPE.search(piece.type) and not piece.text.lstrip().startswith(("<svg", "<?xml")):
        return f'<pre class="dl-code">{_escape(piece.text)}</pre>'
    body = drawing(piece.text, alt=f"{piece.type}: {piece.topic}") if "<svg" in piece.text else rich_text(piece.text)
    return f'<div class="dl-prose">{body}</div>'


def _svg_of(match: re.Match[str] | None) -> str | None:
    """The SVG text of a block, or None if the block is something else."""
    if match is None:
        return None
    if match["svg"]:
        return match["svg"]
    code = match["code"] or ""
    return code if "<svg" in code and (match["lang"].lower() in ("svg", "xml", "html", "")) else None


def _split_caption(text: str) -> tuple[str, str]:
    """Split the last line off a text if it labels the drawing after it."""
    head, _, last = text.rstrip().rpartition("\n")
    return (head, last.strip()) if _OPTION_LABEL.match(last.strip()) and len(last) <= 160 else (text, "")


def _inline(text: str) -> str:
    """Escape first; the only tags that come after are ours."""
    text = _escape(text)
    for pattern, replacement in _INLINE:
        text = pattern.sub(replacement, text)
    return text


def _prose(text: str) -> Iterator[str]:
    """Paragraphs, headings and lists; single line breaks stay, since poems and lyrics need them."""
    for block in re.split(r"\n\s*\n", text):
        for kind, group in groupby(filter(str.strip, block.split("\n")), key=_line_kind):
            lines = list(group)
            if kind == "quote":
                quoted = "\n".join(_QUOTE_MARK.sub("", line) for line in lines)
                yield f"<blockquote>{''.join(_prose(quoted))}</blockquote>"
            elif kind == "heading":
                yield from (f"<h4>{_inline(line.lstrip('# '))}</h4>" for line in lines)
            elif kind == "text":
                yield f"<p>{'<br>'.join(map(_inline, lines))}</p>"
            else:
                yield _list([match for line in lines if (match := _LIST_ITEM.match(line))])


def _line_kind(line: str) -> str:
    if _QUOTE_MARK.match(line):
        return "quote"
    if _HEADING.match(line):
        return "heading"
    item = _LIST_ITEM.match(line)
    return "text" if item is None else "numbered" if item["number"] else "bullets"


def _list(items: Sequence[re.Match[str]]) -> str:
    body = "".join(f"<li>{_inline(item['text'])}</li>" for item in items)
    number = items[0]["number"]
    return f'<ol start="{int(number)}">{body}</ol>' if number else f"<ul>{body}</ul>"


# -- the intent outline ------------------------------------------------------------------------------------------------

_GLYPH = (
    '<svg class="dl-glyph" viewBox="-13 -13 26 26" aria-hidden="true"{attributes}>'
    '<circle class="dl-g-glow" r="12"/><circle class="dl-g-ring" r="10"/>'
    '<circle class="dl-g-off" r="5.2"/>'
    '<path class="dl-g-half" d="M0-7 7 0 0 7-7 0z"/><path class="dl-g-half-fill" d="M0-7V7L-7 0z"/>'
    '<circle class="dl-g-on" r="7"/><path class="dl-g-tick" d="M-3.2.2-.9 2.6 3.4-2.4"/></svg>'
)


def outline(
    tree: IntentTree,
    state: IntentState,
    rules: Rules | None = None,
    transitions: Iterable[Transition] = (),
    focus: Iterable[str] | None = None,
    label: str = "What the user wants",
) -> str:
    """The intents, one a row, indented by depth; state by colour and by shape.

    Args:
        transitions: what the last reply did; those rows glow and say it.
        focus: roots that the judge was shown; by default those that it will be shown next.
    """
    upcoming = roots_in_focus(tree, state, rules or Rules.paper())
    movable = frontier(tree, state, upcoming)
    news = {each.intent_id: each for each in transitions}
    looks = {key: row_look(state, key, key in movable, news.get(key)) for key in tree.intents}
    focused = set(upcoming if focus is None else focus)
    trees = "".join(
        f'<li class="dl-tree" data-root="{root.id}" data-focus="{int(root.id in focused)}">'
        f'<ol class="dl-plain">{"".join(_outline_rows(root, looks))}</ol></li>'
        for root in tree.roots
    )
    return f'<ol class="dl-plain dl-outline" aria-label="{_escape(label)}">{trees}</ol>'


class RowLook(NamedTuple):
    """How one row of the outline looks: the attributes that style it, and its news of this turn."""

    state: str
    satisfied: bool
    frontier: bool  # a reply could move it now
    moved: bool  # changed state or became satisfied in the last reply
    news: str

    @property
    def spoken(self) -> str:
        """For screen readers."""
        return self.state + (", satisfied" if self.satisfied else "")


def row_look(state: IntentState, intent_id: str, movable: bool, transition: Transition | None) -> RowLook:
    """The look of an intent's row after a reply that did `transition` to it (None: nothing)."""
    return RowLook(
        state=state[intent_id].name.lower(),
        satisfied=intent_id in state.satisfied,
        frontier=movable,
        moved=transition is not None and (transition.moved or transition.satisfied),
        news=_news(transition) if transition else "",
    )


def _outline_rows(intent: Intent, looks: Mapping[str, RowLook], rails: tuple[bool, ...] = ()) -> Iterator[str]:
    """The row of an intent and of all below it; `rails` says per level above whether a sibling follows."""
    look = looks[intent.id]
    yield (
        f'<li class="dl-row" data-id="{intent.id}" data-state="{look.state}" data-satisfied="{int(look.satisfied)}"'
        f' data-frontier="{int(look.frontier)}" data-moved="{int(look.moved)}">{_rails(rails)}'
        f'<span class="dl-mark"{" data-open" if intent.children else ""}>{_GLYPH.format(attributes="")}</span>'
        f'<span class="dl-want">{_escape(intent.text)}{_chip(look.news)}'
        f'<span class="dl-sr dl-spoken">{look.spoken}</span></span></li>'
    )
    for child in intent.children:
        yield from _outline_rows(child, looks, (*rails, child is not intent.children[-1]))


def _rails(rails: tuple[bool, ...]) -> str:
    """The connectors left of a row: lines passing through, and the elbow that leads to it."""
    if not rails:
        return ""
    lines = ["through" if more else "none" for more in rails[:-1]] + ["tee" if rails[-1] else "end"]
    return "".join(f'<span class="dl-rail" data-line="{line}"></span>' for line in lines)


def _news(transition: Transition) -> str:
    if transition.moved:
        return "now " + transition.after.name.lower()
    if transition.satisfied:
        return "now satisfied"
    return f"θ {transition.theta:.2f} → {transition.theta_left or 0:.2f}"


def theta_text(threshold: Threshold | None) -> str:
    """What is left of θ, in words for a tooltip."""
    values = threshold if isinstance(threshold, tuple) else () if threshold is None else (threshold,)
    return ", then ".join(f"{value:.2f}" for value in values) or "none left"


def state_glyph(state: str, satisfied: bool = False, extra: str = "") -> str:
    """The mark of a state as in the outline; `extra` are further attributes, such as ` data-moved="1"`."""
    return _GLYPH.format(attributes=f' data-state="{state}" data-satisfied="{int(satisfied)}"{extra}')


def state_legend() -> str:
    """What shapes and colours of the outline mean."""
    marks = (
        (state_glyph("undiscovered"), "undiscovered"),
        (state_glyph("emerging"), "emerging"),
        (state_glyph("discovered"), "discovered"),
        (state_glyph("discovered", satisfied=True), "and satisfied"),
        (state_glyph("undiscovered", extra=' data-frontier="1"'), "can form next"),
        (state_glyph("discovered", extra=' data-moved="1"'), "changed this turn"),
    )
    entries = "".join(f"<span>{glyph} {label}</span>" for glyph, label in marks)
    return f'<div class="dl-legend">{entries}<span class="dl-legend-band">judge’s focus</span></div>'


# -- the conversation --------------------------------------------------------------------------------------------------


def chat(conversation: Conversation, turns: int | None = None, show_rewards: bool = True) -> str:
    """The conversation as people read it, up to and with turn number `turns` (all by default, 0: the request)."""
    shown = conversation.turns[: len(conversation.turns) if turns is None else turns]
    rows = [_message("user", 0, rich_text(conversation.tree.initial_request))]
    for turn in shown:
        rows.append(_turn_line(turn, show_rewards))
        rows.append(_message("assistant", turn.index, rich_text(turn.reply.text) + _notation(turn.reply)))
        if turn.user_message is not None:
            rows.append(_message("user", turn.index, user_said(turn)))
    return f'<ol class="dl-plain dl-chat" aria-label="Conversation">{"".join(rows)}</ol>'


# What a voice's own check finds wrong with a message (`Turn.flaws`), in words.
FLAWS = {
    "length": "longer than a user speaks",
    "markup": "not plain text",
    "leak": "words for what the user does not know yet",
}


def user_said(turn: Turn) -> str:
    """What the user said in a turn, and what its voice's own check found wrong with it."""
    text = rich_text(turn.user_message or "")
    if not turn.flaws:
        return text
    told = _escape("; ".join(FLAWS.get(flaw, flaw) for flaw in turn.flaws))
    return f'{text}<p class="dl-flaw"><span aria-hidden="true">⚠</span> Flawed by the voice’s own check: {told}</p>'


def _message(role: str, turn: int, body: str) -> str:
    return (
        f'<li class="dl-msg" data-role="{role}" data-turn="{turn}"><span class="dl-sr">{role.capitalize()}: </span>'
        f"{body}</li>"
    )


def _turn_line(turn: Turn, show_rewards: bool) -> str:
    reward = turn.candidate.reward
    worth = f'<span class="dl-num">reward {signed(reward.total)}</span>' if show_rewards and reward else ""
    name = f"<span>{_escape(turn.reply.assistant)}</span>" if turn.reply.assistant else ""
    return f'<li class="dl-turn" data-turn="{turn.index}"><span>Turn {turn.index}</span>{name}{worth}</li>'


def _notation(reply: Reply) -> str:
    if reply.notation is None:
        return ""
    return _more("as the assistant wrote it", f'<pre class="dl-code">{_escape(reply.notation)}</pre>')


# -- the receipt -------------------------------------------------------------------------------------------------------


def receipt(tree: IntentTree, turn: Turn, rules: Rules, candidate: Candidate | None = None) -> str:
    """The reward of a reply as a bill that adds up: a row per intent that it touched, its length, the total.

    Args:
        rules: those that the reward was computed under.
        candidate: one of the turn's candidates; the chosen one by default.
    """
    candidate = candidate or turn.candidate
    if candidate.reward is None or candidate.evaluation is None:
        return error_line(f"Turn {turn.index}: this reply is not scored. {candidate.error or ''}".strip())
    rows = "".join(_receipt_rows(tree, candidate, candidate.evaluation, rules))
    reward = candidate.reward
    who = f", {candidate.reply.assistant}" if candidate.reply.assistant else ""
    caption = f"Turn {turn.index}{who}, {rules.name} rules"
    return (
        f'<div class="dl-scroll"><table class="dl-receipt"><caption>{_escape(caption)}</caption>'
        f'<thead><tr><th scope="col">Intent</th><th scope="col">Change</th><th scope="col">Why</th>'
        f'<th scope="col">Reward</th></tr></thead><tbody>{rows}</tbody><tfoot>'
        f"{_bill('Discovery R_d', _discovery_rule(rules), reward.discovered)}"
        f"{_bill('Length R_e', length_sum(candidate.reply, rules), reward.penalty)}"
        f"{_bill('Reward R = R_d + R_e', '', reward.total)}</tfoot></table></div>"
    )


def length_sum(reply: Reply, rules: Rules) -> str:
    """The length part of the reward as a calculation in words."""
    above = max(0, reply.n_tokens - rules.tau)
    capped = f", capped at {rules.penalty_cap:g}" if rules.lam * above > rules.penalty_cap else ""
    return f"{reply.n_tokens} {rules.token_unit}, {above:g} above τ = {rules.tau:g}, × λ = {rules.lam:g}{capped}"


def _discovery_rule(rules: Rules) -> str:
    if rules.discovery_reward == "newly_discovered":
        return "intents newly discovered"
    return "change of level: emerging counts ½, a parent 1 once all its children do"


def _receipt_rows(tree: IntentTree, candidate: Candidate, evaluation: Evaluation, rules: Rules) -> Iterator[str]:
    assert candidate.reward is not None
    shares = dict(candidate.reward.shares)
    for each in candidate.transitions:
        why = _cause(each, evaluation, rules)
        yield _receipt_row(tree, each.intent_id, _change(each), why, shares.pop(each.intent_id, 0.0))
    for intent_id, share in shares.items():
        yield _receipt_row(tree, intent_id, "level rises", "all its children now count 1", share)
    if not candidate.transitions:
        yield '<tr><td colspan="3">No intent moved.</td><td class="dl-num">+0</td></tr>'


def _receipt_row(tree: IntentTree, intent_id: str, change: str, why: str, share: float) -> str:
    return (
        f'<tr><td><span class="dl-id">{intent_id}</span> {_escape(tree.text(intent_id))}</td><td>{change}</td>'
        f'<td>{why}</td><td class="dl-num" data-share="{share:g}">{signed(share)}</td></tr>'
    )


def _bill(name: str, how: str, value: float) -> str:
    return (
        f'<tr><th scope="row">{_escape(name)}</th><td colspan="2">{_escape(how)}</td>'
        f'<td class="dl-num" data-sum="{value!r}">{signed(value)}</td></tr>'
    )


def _change(transition: Transition) -> str:
    satisfied = _chip("✓ satisfied", "known") if transition.satisfied else ""
    if transition.moved:
        tone = "known" if transition.after is Discovery.DISCOVERED else "emerging"
        return f"{transition.before.name.lower()} → {_chip(transition.after.name.lower(), tone)} {satisfied}"
    return satisfied or f"stays {transition.after.name.lower()}, θ shrinks"


def _cause(transition: Transition, evaluation: Evaluation, rules: Rules) -> str:
    """Why the intent changed: met directly, or the near misses against θ."""
    if transition.cause == "direct":
        return "direct: the reply shows it" if evaluation.kind == "artifact" else "direct: the reply asks about it"
    assert transition.score is not None and transition.theta is not None
    count = round(transition.score / rules.p) if rules.p else 0
    verdict = evaluation.verdict(transition.intent_id)
    names = ", ".join(f"“{miss}”" for miss in verdict.near_misses) if verdict else ""
    misses = "1 near miss" if count == 1 else f"{count} near misses"
    below = "≤" if rules.crossing == ">" else "<"
    relation = rules.crossing.replace(">=", "≥") if transition.moved else below
    left = "" if transition.moved else f", {transition.theta_left or 0:.2f} left"
    comparison = f"{misses} × p {rules.p:g} = {transition.score:g} {relation} θ {transition.theta:.2f}{left}"
    listed = f'<div class="dl-small dl-quiet">{_escape(names)}</div>' if names else ""
    return f"{_escape(comparison)}{listed}"


# -- the judge, the user, the candidates -------------------------------------------------------------------------------


def judge_reasons(tree: IntentTree, candidate: Candidate) -> str:
    """What the judge made of a reply: its kind, and per intent engaged or not, near misses, and why."""
    evaluation = candidate.evaluation
    if evaluation is None:
        return error_line(f"The judge gave no verdict. {candidate.error or ''}".strip())
    kind = "artifact: it can satisfy intents" if evaluation.kind == "artifact" else "dialogue act: it can only probe"
    reason = f' <span class="dl-quiet">{_escape(evaluation.kind_reason)}</span>' if evaluation.kind_reason else ""
    rows = "".join(f'<li class="dl-reason">{_verdict(tree, verdict)}</li>' for verdict in evaluation.verdicts)
    return f'<div class="dl-judge"><p>{_escape(kind)}.{reason}</p><ul class="dl-plain">{rows}</ul></div>'


def _verdict(tree: IntentTree, verdict: Verdict) -> str:
    mark = _chip("engaged", "known") if verdict.engaged else _chip("not engaged")
    misses = "".join(f" {_chip('near miss: ' + miss, 'emerging')}" for miss in verdict.near_misses)
    reason = f'<div class="dl-small dl-quiet">{_escape(verdict.reason)}</div>' if verdict.reason else ""
    text = _escape(tree.text(verdict.intent_id))
    return f'<span class="dl-id">{verdict.intent_id}</span> {text} {mark}{misses}{reason}'


_SAYABLE = {
    "clear": ("Clear", "They know these and have not got them yet: they say so plainly and with certainty."),
    "fuzzy": ("Fuzzy", "They half know these: they hint, hesitant, in their own words."),
    "latent": ("Latent", "They do not know these yet: they can name only the area that feels off, never a direction."),
}
_STATE_OF = {"clear": "discovered", "fuzzy": "emerging", "latent": "undiscovered"}


def user_view(tree: IntentTree, view: UserView, message: str | None) -> str:
    """What the user may speak of now, how, and what they did say."""
    achieved = "".join(_view_item(tree, key, "discovered", True) for key in view.achieved)
    parts = [f'{_heading("Achieved")}<ul class="dl-plain">{achieved}</ul>'] if achieved else []
    if view.pursuing is None:
        parts.append("<p>Nothing is missing any more.</p>")
    else:
        name, meaning = _SAYABLE[view.pursuing]
        items = "".join(_view_item(tree, key, _STATE_OF[view.pursuing], False) for key in view.items)
        parts.append(f'{_heading("Still missing: " + name)}<p>{meaning}</p><ul class="dl-plain">{items}</ul>')
    said = _escape(message) if message is not None else "No message: the conversation ended with this turn."
    quiet = "" if message is not None else " dl-quiet"
    parts.append(f'{_heading("What they said")}<div class="dl-quote{quiet}">{said}</div>')
    return f'<div class="dl-view">{"".join(parts)}</div>'


def _view_item(tree: IntentTree, intent_id: str, state: str, satisfied: bool) -> str:
    return f'<li class="dl-item">{state_glyph(state, satisfied)}<span>{_escape(tree.text(intent_id))}</span></li>'


def candidates(tree: IntentTree, judged: Turn | Sequence[Candidate], rules: Rules) -> str:
    """Candidate replies side by side: their reward split and what each would move.  Of a turn, the chosen is marked."""
    chosen = judged.chosen if isinstance(judged, Turn) else None
    replies = judged.candidates if isinstance(judged, Turn) else tuple(judged)
    cards = "".join(_card(tree, each, rules, chosen, index) for index, each in enumerate(replies))
    return f'<div class="dl-cards">{cards}</div>'


def _card(tree: IntentTree, candidate: Candidate, rules: Rules, chosen: int | None, index: int) -> str:
    name = candidate.reply.assistant or f"Reply {index + 1}"
    badge = "" if chosen is None else _chip("chosen", "known") if index == chosen else _chip("rejected")
    head = f'<div class="dl-card-head"><strong>{_escape(name)}</strong>{badge}</div>'
    if candidate.reward is None:
        body = error_line(f"Not scored. {candidate.error or ''}".strip())
    else:
        reward = candidate.reward
        parts = f"R_d {signed(reward.discovered)}, R_e {signed(reward.penalty)}"
        total = f'<p class="dl-sum dl-num">{parts}: <strong>R {signed(reward.total)}</strong></p>'
        rows = "".join(_card_move(tree, each) for each in candidate.transitions) or "<li>Would move no intent.</li>"
        size = f'<p class="dl-small dl-quiet">{_escape(length_sum(candidate.reply, rules))}</p>'
        body = f'{total}<ul class="dl-plain">{rows}</ul>{size}'
    reply = _more("the reply", rich_text(candidate.reply.text) + _notation(candidate.reply))
    return f'<section class="dl-card" data-chosen="{int(index == chosen)}">{head}{body}{reply}</section>'


def _card_move(tree: IntentTree, transition: Transition) -> str:
    name = transition.after.name.lower()
    glyph = state_glyph(name, transition.satisfied)
    text = _escape(tree.text(transition.intent_id))
    return f'<li class="dl-item">{glyph}<span>{text} {_chip(_news(transition))}</span></li>'


# -- how a tree is built, and rewards over turns -----------------------------------------------------------------------


def recognised(found: Sequence[Recognised]) -> str:
    """Stage 1: the most specific requirements, and what in the artifact shows each."""
    rows = [(each.text, each.dimension.replace("_", " "), each.reason) for each in found]
    if any(reason for _, _, reason in rows):
        return table(("Requirement", "Aspect", "Evidence"), rows)
    return table(("Requirement",), [(text,) for text, _, _ in rows])


def ladder(levels: Sequence[Sequence[str]]) -> str:
    """Stage 2: the levels of abstraction, the most specific first."""
    columns = []
    for number, items in enumerate(levels):
        edge = ": most specific" if number == 0 else ": broadest" if number == len(levels) - 1 else ""
        entries = "".join(f"<li>{_escape(item)}</li>" for item in items)
        columns.append(f'<div>{_heading(f"Level {number}{edge}")}<ul class="dl-plain dl-rungs">{entries}</ul></div>')
    return f'<div class="dl-scroll"><div class="dl-ladder">{"".join(columns)}</div></div>'


def reward_bars(series: Mapping[str, Sequence[float]]) -> str:
    """Rewards per turn, a bar per series; bars below zero hang down.  All series have a value for every turn."""
    values = [value for each in series.values() for value in each]
    top, bottom = max([1.0, *values]), min([0.0, *values])
    turns = []
    for index, group in enumerate(zip(*series.values(), strict=True)):
        bars = "".join(_bar(value, place, top, bottom) for place, value in enumerate(group))
        turns.append(f'<div class="dl-bars"><div class="dl-bars-area">{bars}</div><div>turn {index + 1}</div></div>')
    names = "".join(f'<span><i data-series="{place}"></i>{_escape(name)}</span>' for place, name in enumerate(series))
    rows = [(name, *map(signed, each), signed(sum(each))) for name, each in series.items()]
    head = ("Reward", *(f"turn {turn}" for turn in range(1, len(turns) + 1)), "sum")
    return (
        f'<div class="dl-bars-row" aria-hidden="true">{"".join(turns)}</div>'
        f'<div class="dl-bars-legend" aria-hidden="true">{names}</div>{table(head, rows)}'
    )


def _bar(value: float, place: int, top: float, bottom: float) -> str:
    """One bar: `place` is the series, the area spans `bottom` to `top`."""
    span = top - bottom
    height, floor = abs(value) / span * 100, (min(value, 0.0) - bottom) / span * 100
    return (
        f'<div class="dl-bar-slot"><div class="dl-bar" data-series="{place}" title="{signed(value)}" '
        f'style="height:{height:.2f}%;bottom:{floor:.2f}%"></div></div>'
    )
