"""HTML fragments for training data: a pair opened up, what was dropped, how lengths lie, what carries loss."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from discover_lib.core.conversation import Candidate, Conversation, Turn
from discover_lib.core.intents import Intent
from discover_lib.core.reward import reward
from discover_lib.core.rules import Rules
from discover_lib.core.state import IntentState, Transition
from discover_lib.dataset.export import REASONS
from discover_lib.dataset.lengths import LengthReport, PairLength, Table3, length_report
from discover_lib.dataset.preview import Piece
from discover_lib.dataset.rows import Example, Label, LabelledTurn
from discover_lib.metrics.intervals import percent
from workbench.views import conversation_parts as show
from workbench.views.figures.charts import histogram as histogram
from workbench.views.figures.charts import legend, reward_of
from workbench.views.figures.theme import Look, looks
from workbench.views.html import EMPTY, Markup, chip, grid, hidden, joined, more, quiet, subscripts, tag
from workbench.views.html import styled as styled

PATTERNS = 5  # in which parts of a bar are drawn, by the stylesheet


# -- a pair, opened up -------------------------------------------------------------------------------------------------


def pair(conversation: Conversation, labelled: LabelledTurn, rules: Rules) -> Markup:
    """All about one label: the shared prefix, both replies, what each met, both receipts, and why it came out so.

    Args:
        conversation: the one that the turn belongs to.
        rules: those that the label was made under.
    """
    turn, label, tree = labelled.turn, labelled.label, conversation.tree
    sides = [(name, turn.candidates[place]) for name, place in _sides(label)]
    shown = sides or [(f"candidate {place + 1}", each) for place, each in enumerate(turn.candidates)]
    parts = [
        tag("p", why(labelled, rules), class_="dl-told dp-why", data_tone="open" if label.problem else None),
        show.panel("The message that both replies answer", show.chat(conversation, turn.index - 1), latest=True),
        show.beside(*(_side(turn, name, each, rules) for name, each in shown)),
        show.beside(*(show.panel("Receipt", receipt(conversation, turn, each, rules)) for _, each in shown)),
    ]
    if sides:
        parts.append(show.panel("Intents that each reply changed", met(conversation, turn, sides)))
    others = [each for each in turn.candidates if all(each is not side for _, side in shown)]
    if others:
        parts.append(show.panel("The other candidates", show.candidates(tree, others, rules)))
    return joined(parts)


def first_look(conversation: Conversation, labelled: LabelledTurn, rules: Rules) -> Markup:
    """One pair at a glance: what the user had said, both replies with what they earned, and why one is chosen."""
    turn = labelled.turn
    said = conversation.messages(turn.index - 1)[-1].content
    sides = [(name, turn.candidates[place]) for name, place in _sides(labelled.label)]
    earned = [each.reward.total if each.reward else 0.0 for _, each in sides]
    bars = reward_of({name: value for (name, _), value in zip(sides, earned, strict=True)})
    return joined(
        [
            tag("div", show.bubble("user", tag("div", said, class_="dl-text")), class_="dl-chat"),
            show.beside(*(_side(turn, name, each, rules) for name, each in sides)),
            bars,
            tag("p", why(labelled, rules), class_="dl-told dp-why"),
        ]
    )


def receipt(conversation: Conversation, turn: Turn, candidate: Candidate, rules: Rules) -> Markup:
    """The receipt of a reply; where the reward looks ahead, that of the reply alone and then of what comes after it."""
    tree = conversation.tree
    if not candidate.ahead or candidate.reward is None:
        return show.receipt(tree, turn, rules, candidate)
    alone = reward(tree, turn.before, candidate.after, candidate.reply.n_tokens, rules)
    whole = candidate.reward
    turns = "1 turn" if len(candidate.ahead) == 1 else f"{len(candidate.ahead)} turns"
    with_turns = f"with {turns} ahead by {candidate.ahead[0].reply.assistant}"
    bill = [
        (name, *map(show.signed, (each.discovered, each.penalty, each.total)))
        for name, each in (("this reply alone", alone), (with_turns, whole))
    ]
    caption = f"The last line decides the label; {show.in_tokens(whole.n_tokens, rules.token_unit)} in all"
    return show.receipt(tree, turn, rules, dataclasses.replace(candidate, reward=alone)) + show.table(
        ("", *map(subscripts, ("R_d", "R_e")), "R"), bill, caption
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
            taken = "the first" if rules.ties == "authors" else "the one with the fewest tokens (then at random)"
            sentence += f" {len(label.leaders)} replies share the highest reward; of these, {taken} is selected."
    if turn.chosen != label.best or label.problem == "tie":
        sentence += f" The conversation went on with {_name(turn.candidate)}."
    if best.ahead or worst.ahead:
        sentence += " Rewards here include the look-ahead turns after each reply."
    if not labelled.focus_kept:
        sentence += " These rules would have shown the judge another tree here."
    return sentence


def _what_decided(best: Candidate, worst: Candidate) -> str:
    assert best.reward is not None and worst.reward is not None
    more = best.reward.discovered - worst.reward.discovered
    if more == 0:
        return "Both discover the same amount, so the length penalty alone decides this label."
    if more < 0:
        return "It discovers less, but the other reply has a larger length penalty."
    if worst.reward.penalty < best.reward.penalty:
        part = "and the other reply also has a larger length penalty"
    elif worst.reward.penalty > best.reward.penalty:
        part = "which outweighs its larger length penalty"
    else:
        part = "and both have the same length penalty"
    return f"It discovers {more:g} more, {part}."


def _name(candidate: Candidate) -> str:
    return candidate.reply.assistant or "this reply"


def _sides(label: Label) -> list[tuple[str, int]]:
    if label.best is None or label.worst is None:
        return []
    names = ("chosen", "rejected") if label.problem is None else ("one reply", "another reply")
    return list(zip(names, (label.best, label.worst), strict=True))


def _side(turn: Turn, name: str, candidate: Candidate, rules: Rules) -> Markup:
    """One reply of the pair, with its length."""
    badge = chip(name, "known" if name == "chosen" else "plain")
    kind = candidate.evaluation.kind.replace("_", " ") if candidate.evaluation else "not judged"
    text = show.rich_text(candidate.reply.text)
    longest = max(each.reply.n_tokens for each in turn.candidates)
    return tag(
        "section",
        tag("div", tag("strong", _name(candidate)), badge, class_="dp-head"),
        tag("div", text, class_="dp-reply", tabindex=0, role="region", aria_label=f"{name}: the reply"),
        length_bar(candidate.reply.n_tokens, longest, rules),
        quiet(f"{kind}; {show.length_sum(candidate.reply, rules)}", small=True),
        class_="dl-panel dp-side",
        data_side=name,
    )


def length_bar(n_tokens: int, longest: int, rules: Rules) -> Markup:
    """A reply's length on the scale of the turn's longest, the part that costs marked, and τ as a line."""
    scale = max(longest, rules.tau, 1) * 1.05
    free, above = min(n_tokens, rules.tau), max(0.0, n_tokens - rules.tau)
    return tag(
        "div",
        tag("i", style=f"width:{free / scale:.2%}"),
        tag("i", class_="dp-costs", style=f"width:{above / scale:.2%}"),
        tag("b", "τ", style=f"left:{rules.tau / scale:.2%}"),
        class_="dp-length",
        aria_hidden="true",
        title=show.in_tokens(n_tokens, rules.token_unit),
    )


def met(conversation: Conversation, turn: Turn, sides: Sequence[tuple[str, Candidate]]) -> Markup:
    """The intents of the dimensions that this turn was about: their state before, and after each of the replies."""
    tree = conversation.tree
    news = [{each.intent_id: each for each in side.transitions} for _, side in sides]
    moved = set().union(*news)
    roots = [root for root in tree.roots if root.id in turn.focus or any(each.id in moved for each in root.walk())]
    rows = (
        _met_row(
            intent,
            tree.depth(intent.id) - 1,
            turn.before,
            [(side.after, known.get(intent.id)) for (_, side), known in zip(sides, news, strict=True)],
        )
        for root in roots
        for intent in root.walk()
    )
    rest = len(tree.roots) - len(roots)
    note = quiet(f"{rest} other dimensions: neither reply changed anything there.", small=True) if rest else EMPTY
    head = ("before", *(name for name, _ in sides), "intent")
    return show.state_legend() + grid(head, rows, class_="dp-met") + note


def _met_row(
    intent: Intent, depth: int, before: IntentState, after: Sequence[tuple[IntentState, Transition | None]]
) -> Markup:
    start = show.row_look(before, intent.id, False, None)
    cells = [tag("td", show.state_glyph(start.state, start.satisfied), hidden(start.spoken))]
    for state, transition in after:
        look = show.row_look(state, intent.id, False, transition)
        mark = show.state_glyph(look.state, look.satisfied, **({"data_moved": 1} if look.moved else {}))
        cells.append(tag("td", tag("span", mark, chip(look.news), class_="dp-mark"), hidden(look.spoken)))
    text = tag("td", tag("span", intent.text, style=f"padding-left:{depth * 1.2:.1f}em"))
    changed = any(transition is not None for _, transition in after)
    return tag("tr", *cells, text, data_changed=int(changed))


# -- Table 3, filters --------------------------------------------------------------------------------------------------


def table_3(table: Table3, rules: Rules) -> Markup:
    """The paper's Table 3 for a run, and who won as one bar."""
    price = f"λ = {rules.lam:g}, τ = {rules.tau:g} {rules.token_unit}"
    caption = f"Rewards: mean ± sd over turns [95% interval over artifacts]; {rules.name} rules, {price}"
    parts = [*table.wins.items(), ("several share it", table.shared), ("tie, no pair", table.ties)]
    bar = shares(parts, looks(list(table.wins)))
    return bar + more("The whole table", show.table(("", ""), list(table.rows()), caption))


def shares(parts: Iterable[tuple[str, int]], assistants: Mapping[str, Look] | None = None) -> Markup:
    """Counts as one bar with a legend; told apart by pattern and order as well as by colour.

    Args:
        assistants: those of the parts that are assistants, each in the colour and with the mark it has everywhere.
    """
    shown = [(place, name, count) for place, (name, count) in enumerate(parts) if count]
    total = sum(count for _, _, count in shown)
    if not total:
        return EMPTY
    known = assistants or {}
    ink = {name: f"--ink:{look.colour};" for name, look in known.items()}
    bar, key = [], []
    for place, name, count in shown:
        pattern = place % PATTERNS if name in known else place
        mark = f"{known[name].character} " if name in known else ""
        bar.append(tag("i", data_part=pattern, style=f"{ink.get(name, '')}flex:{count}"))
        swatch = tag("i", data_part=pattern, style=ink.get(name))
        key.append((swatch, f"{mark}{name} {count} ({percent(count / total)})"))
    return tag("div", *bar, class_="dp-shares", aria_hidden="true") + legend(key)


# -- what a trainer gets -----------------------------------------------------------------------------------------------


def loss(sequences: Mapping[str, Sequence[Piece]]) -> Markup:
    """The very text of each sequence; what carries loss is marked by colour, by an underline and in words."""
    return show.beside(*(_sequence(name, pieces) for name, pieces in sequences.items()))


def _sequence(name: str, pieces: Sequence[Piece]) -> Markup:
    learnt = sum(len(piece.text) for piece in pieces if piece.loss)
    total = sum(len(piece.text) for piece in pieces)
    share = f"{learnt:,} of {total:,} characters have loss ({percent(learnt / total)})" if total else "nothing"
    head = tag("div", tag("strong", name), tag("span", share, class_="dl-quiet dl-small"), class_="dp-head")
    body = (_piece(piece, index == 0 or not pieces[index - 1].loss) for index, piece in enumerate(pieces))
    label = f"{name}: its text, with the loss marked"
    return tag("div", head, tag("pre", *body, class_="dl-code dp-text", tabindex=0, aria_label=label))


def _piece(piece: Piece, begins: bool) -> Markup:
    mark = tag("b", "loss", class_="dp-flag") if piece.loss and begins else EMPTY
    # What the template adds is written with visible line ends, since they are part of what is learnt.
    end = tag("span", "↵", class_="dp-end") + Markup("\n")
    text = end.join(piece.text.split("\n")) if piece.kind == "template" else piece.text
    return mark + tag("span", text, class_="dp-piece", data_kind=piece.kind, data_loss=int(piece.loss))


# -- whether length alone decided --------------------------------------------------------------------------------------


def length_verdict(kept: Sequence[Example], charged: bool = True) -> Markup:
    """Whether length alone predicts the label of the pairs that are kept, in words.

    Args:
        charged: whether length costs under the rules that labelled them.
    """
    pairs = [PairLength.of_row(each.row) for each in kept]
    if not pairs:
        return quiet("No pair is kept, so lengths cannot be compared.")
    report = length_report(pairs)
    tone = {"predicts": "bad", "some": "tie"}.get(report.verdict, "pair")
    return tag("p", report.sentence, class_="dp-why", data_tone=tone) + _behind(pairs, report, charged)


def _behind(pairs: Sequence[PairLength], report: LengthReport, charged: bool) -> Markup:
    """What is behind the verdict: labels that length alone makes, and the rest without them."""
    others = [each for each in pairs if not each.equal_discovery]
    text = ""
    if report.by_penalty:
        text = (
            f"In {report.by_penalty} of {report.n_pairs} pairs both replies discover the same amount, and the "
            f"length penalty "
            "alone decides the label. "
        )
    if others and report.by_penalty:
        rest = length_report(others)
        text += f"Without these: {rest.sentence[0].lower()}{rest.sentence[1:]} "
    if report.verdict == "predicts":
        text += "A model trained on these pairs may learn length first: drop pairs with a small margin"
        text += ", or read the labels with λ = 0, and look again." if charged else ", and look again."
    return quiet(text)
