"""HTML fragments for training data: a pair opened up, what was dropped, how lengths and margins lie, what carries loss.

Like `discover_lib.views.conversation`, whose stylesheet and colours these share: pure functions, every text escaped.
"""

from __future__ import annotations

import dataclasses
import html
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from discover_lib.core.conversation import Candidate, Conversation, Turn
from discover_lib.core.intents import Intent
from discover_lib.core.reward import reward
from discover_lib.core.rules import Rules
from discover_lib.core.state import IntentState, Transition
from discover_lib.dataset.filters import REASONS, Sieved
from discover_lib.dataset.lengths import LengthReport, PairLength, Table3, length_report
from discover_lib.dataset.pairs import Label, LabelledTurn
from discover_lib.dataset.preview import Piece
from discover_lib.dataset.rows import Example
from discover_lib.views import conversation as show

BINS = 24
PLOT_WIDTH, PLOT_HEIGHT = 420, 118  # units of the drawing; it scales with the page
LONG_TEXT = 400  # characters of a value that a row's preview shows before it folds the rest away


def styled(*fragments: str) -> str:
    """Fragments ready to be shown, with both stylesheets."""
    return f"{show.styled(*fragments)}<style>{show.static_text('show_pairs.css')}</style>"


# -- a pair, opened up -------------------------------------------------------------------------------------------------


def pair(conversation: Conversation, labelled: LabelledTurn, rules: Rules) -> str:
    """All about one label: the shared prefix, both replies, what each met, both receipts, and why it came out so.

    Args:
        conversation: the one that the turn belongs to.
        rules: those that the label was made under.
    """
    turn, label, tree = labelled.turn, labelled.label, conversation.tree
    sides = [(name, turn.candidates[place]) for name, place in _sides(label)]
    shown = sides or [(f"candidate {place + 1}", each) for place, each in enumerate(turn.candidates)]
    parts = [
        f'<p class="dp-why" data-tone="{"tie" if label.problem else "pair"}">{html.escape(why(labelled, rules))}</p>',
        show.panel("What both replies answer", show.chat(conversation, turn.index - 1), latest=True),
        show.beside(*(_side(turn, name, each, rules) for name, each in shown)),
        show.beside(*(show.panel("Receipt", receipt(conversation, turn, each, rules)) for _, each in shown)),
    ]
    if sides:
        parts.append(show.panel("Which intents each reply met", met(conversation, turn, sides)))
    others = [each for each in turn.candidates if all(each is not side for _, side in shown)]
    if others:
        parts.append(show.panel("The candidates between them", show.candidates(tree, others, rules)))
    return "".join(parts)


def receipt(conversation: Conversation, turn: Turn, candidate: Candidate, rules: Rules) -> str:
    """The receipt of a reply; where the reward looks ahead, that of the reply alone and then of what comes after it."""
    tree = conversation.tree
    if not candidate.ahead or candidate.reward is None:
        return show.receipt(tree, turn, rules, candidate)
    alone = reward(tree, turn.before, candidate.after, candidate.reply.n_tokens, rules)
    whole = candidate.reward
    turns = "1 turn" if len(candidate.ahead) == 1 else f"{len(candidate.ahead)} turns"
    bill = [
        ("this reply alone", show.signed(alone.discovered), show.signed(alone.penalty), show.signed(alone.total)),
        (
            f"with {turns} ahead by {candidate.ahead[0].reply.assistant}",
            *map(show.signed, (whole.discovered, whole.penalty, whole.total)),
        ),
    ]
    caption = f"The label goes by the last line; {whole.n_tokens} {rules.token_unit} in all"
    return show.receipt(tree, turn, rules, dataclasses.replace(candidate, reward=alone)) + show.table(
        ("", "R_d", "R_e", "R"), bill, caption
    )


def why(labelled: LabelledTurn, rules: Rules) -> str:
    """Why this reply is the chosen one, or why there is no label, in words."""
    turn, label = labelled.turn, labelled.label
    if label.best is None or label.worst is None:
        return f"No label: {REASONS[label.problem or 'failed_judgement']}."
    best, worst = labelled.best, labelled.worst
    assert best.reward is not None and worst.reward is not None
    if label.problem == "tie":
        sentence = f"A tie: every reply is worth {show.signed(best.reward.total)}, so there is no pair."
    else:
        totals = f"{show.signed(best.reward.total)} against {show.signed(worst.reward.total)}"
        margin = show.signed(best.reward.total - worst.reward.total).lstrip("+")
        sentence = f"{_name(best)} is chosen: {totals}, a margin of {margin}. {_what_decided(best, worst)}"
        if len(label.leaders) > 1:
            sentence += f" {len(label.leaders)} replies share the highest reward; of these {_tie_rule(rules)} is taken."
    if turn.chosen != label.best or label.problem == "tie":
        sentence += f" The conversation went on with {_name(turn.candidate)}."
    if best.ahead or worst.ahead:
        sentence += " Rewards here include the turns ahead, played on from each reply."
    if not labelled.focus_kept:
        sentence += " The judge was shown another tree here than these rules would have shown it."
    return sentence


def _what_decided(best: Candidate, worst: Candidate) -> str:
    assert best.reward is not None and worst.reward is not None
    more = best.reward.discovered - worst.reward.discovered
    if more == 0:
        return "Both discover equally much: the charge for length alone makes this label."
    if more < 0:
        return "It discovers less, but the other one pays more for its length."
    if worst.reward.penalty < best.reward.penalty:
        part = "and the other one pays more for its length, too"
    elif worst.reward.penalty > best.reward.penalty:
        part = "which outweighs what it pays for its length"
    else:
        part = "and length costs both the same"
    return f"It discovers {more:g} more, {part}."


def _tie_rule(rules: Rules) -> str:
    return "the first" if rules.ties == "authors" else "the one of fewest tokens (then by lot)"


def _name(candidate: Candidate) -> str:
    return candidate.reply.assistant or "this reply"


def _sides(label: Label) -> list[tuple[str, int]]:
    if label.best is None or label.worst is None:
        return []
    names = ("chosen", "rejected") if label.problem is None else ("one reply", "another reply")
    return list(zip(names, (label.best, label.worst), strict=True))


def _side(turn: Turn, name: str, candidate: Candidate, rules: Rules) -> str:
    """One reply of the pair, with its length."""
    tone = "known" if name == "chosen" else "plain"
    head = (
        f'<div class="dp-head"><strong>{html.escape(_name(candidate))}</strong>'
        f'<span class="dl-chip" data-tone="{tone}">{html.escape(name)}</span></div>'
    )
    kind = candidate.evaluation.kind.replace("_", " ") if candidate.evaluation else "not judged"
    length = f"{html.escape(kind)}; {html.escape(show.length_sum(candidate.reply, rules))}"
    bar = length_bar(candidate.reply.n_tokens, max(each.reply.n_tokens for each in turn.candidates), rules)
    return (
        f'<section class="dl-panel dp-side" data-side="{html.escape(name)}">{head}'
        f'<div class="dp-reply" tabindex="0" role="region" aria-label="{html.escape(name)}: the reply">'
        f"{show.rich_text(candidate.reply.text)}</div>"
        f'{bar}<p class="dl-small dl-quiet">{length}</p></section>'
    )


def length_bar(n_tokens: int, longest: int, rules: Rules) -> str:
    """A reply's length on the scale of the turn's longest, the part that costs marked, and τ as a line."""
    scale = max(longest, rules.tau, 1) * 1.05
    free, above = min(n_tokens, rules.tau), max(0.0, n_tokens - rules.tau)
    return (
        f'<div class="dp-length" aria-hidden="true" title="{n_tokens} {html.escape(rules.token_unit)}">'
        f'<i style="width:{free / scale:.2%}"></i><i class="dp-costs" style="width:{above / scale:.2%}"></i>'
        f'<b style="left:{rules.tau / scale:.2%}">τ</b></div>'
    )


def met(conversation: Conversation, turn: Turn, sides: Sequence[tuple[str, Candidate]]) -> str:
    """The intents of the dimensions that this turn was about: their state before, and after each of the replies."""
    tree = conversation.tree
    moved = {each.intent_id for _, side in sides for each in side.transitions}
    roots = [root for root in tree.roots if root.id in turn.focus or any(each.id in moved for each in _below(root))]
    news = [{each.intent_id: each for each in side.transitions} for _, side in sides]
    rows = "".join(
        _met_row(intent, depth, turn.before, [(side.after, known.get(intent.id)) for (_, side), known in looks])
        for root in roots
        for intent, depth in _with_depth(root)
        for looks in [list(zip(sides, news, strict=True))]
    )
    heads = "".join(f'<th scope="col">{html.escape(name)}</th>' for name, _ in sides)
    rest = len(tree.roots) - len(roots)
    note = f'<p class="dl-small dl-quiet">{rest} other dimensions: neither reply moved anything there.</p>'
    return (
        f'{show.state_legend()}<div class="dl-scroll"><table class="dp-met"><thead><tr><th scope="col">before</th>'
        f'{heads}<th scope="col">intent</th></tr></thead><tbody>{rows}</tbody></table></div>{note if rest else ""}'
    )


def _below(intent: Intent) -> Iterator[Intent]:
    return (each for each, _ in _with_depth(intent))


def _with_depth(intent: Intent, depth: int = 0) -> Iterator[tuple[Intent, int]]:
    yield intent, depth
    for child in intent.children:
        yield from _with_depth(child, depth + 1)


def _met_row(
    intent: Intent, depth: int, before: IntentState, after: Sequence[tuple[IntentState, Transition | None]]
) -> str:
    start = show.row_look(before, intent.id, False, None)
    cells = [f"<td>{show.state_glyph(start.state, start.satisfied)}{_spoken(start.spoken)}</td>"]
    changed = False
    for state, transition in after:
        look = show.row_look(state, intent.id, False, transition)
        changed = changed or transition is not None
        glow = ' data-moved="1"' if look.moved else ""
        chip = f'<span class="dl-chip">{html.escape(look.news)}</span>'
        mark = show.state_glyph(look.state, look.satisfied, glow)
        cells.append(f'<td><span class="dp-mark">{mark}{chip}</span>{_spoken(look.spoken)}</td>')
    text = f'<span style="padding-left:{depth * 1.2:.1f}em">{html.escape(intent.text)}</span>'
    return f'<tr data-changed="{int(changed)}">{"".join(cells)}<td>{text}</td></tr>'


def _spoken(text: str) -> str:
    return f'<span class="dl-sr">{html.escape(text)}</span>'


# -- Table 3, margins, lengths -----------------------------------------------------------------------------------------


def table_3(table: Table3, rules: Rules) -> str:
    """The paper's Table 3 for a run, and who won as one bar."""
    rows = [(name, figure) for name, figure in table.rows()]
    price = f"λ = {rules.lam:g}, τ = {rules.tau:g} {rules.token_unit}"
    caption = f"Rewards: mean ± sd over turns [95 % interval over artifacts]; {rules.name} rules, {price}"
    parts = [*table.wins.items(), ("several share it", table.shared), ("tie, no pair", table.ties)]
    return f"{shares(parts)}{show.table(('', ''), rows, caption)}"


def shares(parts: Iterable[tuple[str, int]]) -> str:
    """Counts as one bar with a legend; told apart by pattern and order as well as by colour."""
    shown = [(place, name, count) for place, (name, count) in enumerate(parts) if count]
    total = sum(count for _, _, count in shown)
    if not total:
        return ""
    bar = "".join(f'<i data-part="{place}" style="flex:{count}"></i>' for place, _, count in shown)
    legend = "".join(
        f'<span><i data-part="{place}"></i>{html.escape(name)} {count} ({count / total:.0%})</span>'
        for place, name, count in shown
    )
    return f'<div class="dp-shares" aria-hidden="true">{bar}</div><div class="dp-legend">{legend}</div>'


def histogram(values: Sequence[float], title: str, unit: str, below: str = "", above: str = "") -> str:
    """How numbers lie around zero.  `below` and `above` say what the two sides mean; zeros are counted in words."""
    if not values:
        return '<p class="dl-quiet">No pairs.</p>'
    low, high = min(0.0, *values), max(0.0, *values)
    width = (high - low) / BINS or 1.0
    places = range(math.floor(low / width), max(1, math.ceil(high / width)))  # cut at zero: no bar holds both sides
    counts = Counter(min(math.floor(value / width), places.stop - 1) for value in values if value)
    return _drawn(values, counts, places, width, (title, unit, below, above))


def _drawn(
    values: Sequence[float], counts: Mapping[int, int], places: range, width: float, words: tuple[str, str, str, str]
) -> str:
    title, unit, below, above = words
    step, tallest = PLOT_WIDTH / len(places), max(counts.values(), default=1)
    bars = "".join(
        f'<rect class="dp-{"below" if place < 0 else "above"}" x="{index * step + 0.5:.1f}" width="{step - 1:.1f}" '
        f'y="{PLOT_HEIGHT * (1 - counts[place] / tallest):.1f}" height="{PLOT_HEIGHT * counts[place] / tallest:.1f}">'
        f"<title>{_number(place * width)} to {_number((place + 1) * width)} {html.escape(unit)}: {counts[place]}"
        "</title></rect>"
        for index, place in enumerate(places)
        if place in counts
    )
    zero = -places.start * step
    legend = [
        (f'<span><i class="dp-{side}"></i>{html.escape(name)}: {sum(test(value) for value in values)}</span>')
        for side, name, test in (("below", below, lambda v: v < 0), ("above", above, lambda v: v > 0))
        if name
    ]
    if zeros := sum(value == 0 for value in values):
        legend.append(f"<span>exactly 0: {zeros}</span>")
    ends = f"{_number(places.start * width)}", f"{_number(places.stop * width)} {html.escape(unit)}"
    return (
        f'<figure class="dp-plot"><figcaption>{html.escape(title)}</figcaption>'
        f'<svg viewBox="0 -6 {PLOT_WIDTH} {PLOT_HEIGHT + 8}" role="img" aria-label="{html.escape(title)}">'
        f'<line class="dp-base" x1="0" x2="{PLOT_WIDTH}" y1="{PLOT_HEIGHT}" y2="{PLOT_HEIGHT}"/>{bars}'
        f'<line class="dp-zero" x1="{zero:.1f}" x2="{zero:.1f}" y1="-6" y2="{PLOT_HEIGHT}"/></svg>'
        f'<div class="dp-axis"><span>{ends[0]}</span><span>{ends[1]}</span></div>'
        f'<div class="dp-legend">{"".join(legend)}</div></figure>'
    )


def _number(value: float) -> str:
    return f"{value:,.0f}".replace("-", "−") if abs(value) >= 10 else show.signed(round(value, 2)).lstrip("+")


# -- filters -----------------------------------------------------------------------------------------------------------


def sieved(result: Sieved, kind: str) -> str:
    """What is kept and what each filter drops; the drops and the kept add up to all."""
    first, every = result.counts, result.counts_all
    rows = [
        (reason.replace("_", " "), str(first.get(reason, 0)), str(count), REASONS[reason])
        for reason, count in every.items()
    ]
    rows.append(("kept", str(len(result.kept)), "", f"{kind} rows of {result.considered} considered"))
    parts = [("kept", len(result.kept)), *((reason.replace("_", " "), count) for reason, count in first.items())]
    head = ("", "counted here", "holds for", "what it means")
    caption = "A dropped example is counted by its first reason; nothing is dropped without one"
    return f"{shares(parts)}{show.table(head, rows, caption)}"


# -- what a trainer gets -----------------------------------------------------------------------------------------------


def row_json(row: Mapping[str, Any], trained_on: Iterable[str]) -> str:
    """A row: the columns that a trainer reads as they are, very long texts folded; where it comes from below."""
    names = set(trained_on)
    train = "".join(_column(name, value) for name, value in row.items() if name in names)
    rest = json.dumps({name: value for name, value in row.items() if name not in names}, ensure_ascii=False, indent=1)
    more = f"<summary>{len(row) - len(names)} columns on where it comes from</summary>{_code(rest)}"
    return f'{train}<details class="dl-more">{more}</details>'


def _column(name: str, value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, indent=1)
    if isinstance(value, str) and len(text) > LONG_TEXT:
        fold = f"<summary>all {len(value):,} characters</summary>{_code(text)}"
        body = f'{_code(text[:LONG_TEXT] + " …")}<details class="dl-more">{fold}</details>'
    else:
        body = _code(text)
    return f'<div class="dp-column"><span class="dl-id">{html.escape(name)}</span>{body}</div>'


def _code(text: str) -> str:
    return f'<pre class="dl-code dp-json">{html.escape(text)}</pre>'


def loss(sequences: Mapping[str, Sequence[Piece]]) -> str:
    """The very text of each sequence; what carries loss is marked by colour, by an underline and in words."""
    return show.beside(*(_sequence(name, pieces) for name, pieces in sequences.items()))


def _sequence(name: str, pieces: Sequence[Piece]) -> str:
    learnt = sum(len(piece.text) for piece in pieces if piece.loss)
    total = sum(len(piece.text) for piece in pieces)
    body = "".join(_piece(piece, index == 0 or not pieces[index - 1].loss) for index, piece in enumerate(pieces))
    share = f"{learnt:,} of {total:,} characters carry loss ({learnt / total:.0%})" if total else "nothing"
    safe = html.escape(name)
    head = f'<div class="dp-head"><strong>{safe}</strong><span class="dl-quiet dl-small">{share}</span></div>'
    label = f'aria-label="{safe}: its text, with what carries loss marked"'
    return f'<div>{head}<pre class="dl-code dp-text" tabindex="0" {label}>{body}</pre></div>'


def _piece(piece: Piece, begins: bool) -> str:
    mark = '<b class="dp-flag">loss</b>' if piece.loss and begins else ""
    # What the template adds is written with visible line ends, since they are part of what is learnt.
    text = html.escape(piece.text)
    text = text.replace("\n", '<span class="dp-end">↵</span>\n') if piece.kind == "template" else text
    return f'{mark}<span class="dp-piece" data-kind="{piece.kind}" data-loss="{int(piece.loss)}">{text}</span>'


# -- whether length alone decided --------------------------------------------------------------------------------------


def lengths(kept: Sequence[Example]) -> str:
    """Margins and length differences of pairs, and the verdict in words."""
    pairs = [PairLength.of_row(each.row) for each in kept]
    if not pairs:
        return '<p class="dl-quiet">No pair is kept, so nothing can be said about lengths.</p>'
    report = length_report(pairs)
    tone = {"predicts": "bad", "some": "tie"}.get(report.verdict, "pair")
    verdict = f'<p class="dp-why" data-tone="{tone}">{html.escape(report.sentence)}</p>'
    margins = histogram([each.margin for each in kept if each.margin is not None], "Margin of the pairs", "reward")
    differences = histogram(
        [each.difference for each in pairs],
        "Length of the chosen less that of the rejected",
        "tokens",
        "chosen is shorter",
        "chosen is longer",
    )
    return verdict + _behind(pairs, report) + show.beside(margins, differences)


def _behind(pairs: Sequence[PairLength], report: LengthReport) -> str:
    """What is behind the verdict: labels that length alone makes, and the rest without them."""
    others = [each for each in pairs if not each.equal_discovery]
    text = (
        f"In {report.by_penalty} of {report.n_pairs} pairs both replies discover equally much, and the charge for "
        "length alone makes the label. "
    )
    if others and report.by_penalty:
        rest = length_report(others)
        text += f"Without these: {rest.sentence[0].lower()}{rest.sentence[1:]} "
    if report.flagged:
        text += "A model trained on these pairs may learn length first: raise the least margin, or read the labels "
        text += "with λ = 0, and look again."
    return f'<p class="dl-quiet">{html.escape(text)}</p>'
