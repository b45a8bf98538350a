"""HTML fragments for training data: a pair, and the text with its loss."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from discover_lib.base.words import counted
from discover_lib.core.conversation import Candidate, Conversation, Turn
from discover_lib.core.intents import IntentTree
from discover_lib.core.reward import reward
from discover_lib.core.rules import Rules
from discover_lib.dataset.export import REASONS
from discover_lib.dataset.preview import Piece
from discover_lib.dataset.rows import LabelledTurn
from discover_lib.metrics.intervals import percent
from workbench.views import conversation_parts as show
from workbench.views.html import Markup, chip, code, joined, more, quiet, tag
from workbench.views.html import styled as styled

# -- a pair, opened up -------------------------------------------------------------------------------------------------


def pair(conversation: Conversation, labelled: LabelledTurn, rules: Rules) -> Markup:
    """All about one label: the shared prefix, both replies, what each met and earned, and why it came out so.

    Args:
        conversation: the one that the turn belongs to.
        rules: those that the label was made under.
    """
    turn, label = labelled.turn, labelled.label
    shown = sides_of(labelled) or [(f"candidate {place + 1}", each) for place, each in enumerate(turn.candidates)]
    parts = [
        tag("p", why(labelled, rules), class_="dl-told dp-why", data_tone="open" if label.problem else None),
        show.panel("The message that both replies answer", show.chat(conversation, turn.index - 1), latest=True),
        show.beside(*(side(name, each, rules, conversation.tree) for name, each in shown)),
        show.beside(*(show.panel("Receipt", receipt(conversation, turn, each, rules)) for _, each in shown)),
    ]
    others = [each for each in turn.candidates if all(each is not side for _, side in shown)]
    if others:
        cards = show.beside(*(side("not used", each, rules, conversation.tree) for each in others))
        parts.append(show.panel("The other candidates", cards))
    return joined(parts)


def receipt(conversation: Conversation, turn: Turn, candidate: Candidate, rules: Rules) -> Markup:
    """The receipt of a reply; where the reward looks ahead, that of the reply alone and then of what comes after it."""
    tree, whole = conversation.tree, candidate.reward
    if not candidate.ahead or whole is None:
        return show.receipt(tree, turn, rules, candidate)
    alone = reward(tree, turn.before, candidate.after, candidate.reply.n_tokens, rules)
    with_turns = f"With {counted(len(candidate.ahead), 'turn')} ahead by {candidate.ahead[0].reply.assistant}"
    sums = " + ".join(map(show.signed, (whole.discovered, whole.penalty)))
    length = show.in_tokens(whole.n_tokens, rules.token_unit)
    bill = quiet(f"{with_turns}: {sums} = {show.signed(whole.total)}, {length} in all. This decides the label.")
    return show.receipt(tree, turn, rules, dataclasses.replace(candidate, reward=alone)) + bill


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
        totals = f"reward {show.signed(best.reward.total)} against {show.signed(worst.reward.total)}"
        margin = show.signed(best.reward.total - worst.reward.total).lstrip("+")
        sentence = f"{_name(best)} is chosen: {totals}, a margin of {margin}. {_what_decided(best, worst)}"
    if turn.chosen != label.best or label.problem == "tie":
        sentence += f" The conversation went on with {_name(turn.candidate)}."
    if best.ahead or worst.ahead:
        sentence += " Rewards here include the look-ahead turns after each reply."
    if not labelled.focus_kept:
        sentence += " These rules would have shown the judge another tree here."
    return sentence


def _what_decided(best: Candidate, worst: Candidate) -> str:
    assert best.reward is not None and worst.reward is not None
    extra = best.reward.discovered - worst.reward.discovered
    if extra == 0:
        return "Both discover the same amount, so the length penalty alone decides this label."
    found = (
        f"It discovers {abs(extra):g} {'intent' if abs(extra) == 1 else 'intents'} {'more' if extra > 0 else 'less'}."
    )
    penalties = f"{show.signed(best.reward.penalty)} against {show.signed(worst.reward.penalty)}"
    return found if best.reward.penalty == worst.reward.penalty else f"{found} Length penalties: {penalties}."


def _name(candidate: Candidate) -> str:
    return candidate.reply.assistant or "this reply"


def sides_of(labelled: LabelledTurn) -> list[tuple[str, Candidate]]:
    """The two replies of a label under their names; [] where there is no label."""
    if labelled.label.best is None or labelled.label.worst is None:
        return []
    names = ("chosen", "rejected") if labelled.label.problem is None else ("one reply", "another reply")
    return list(zip(names, (labelled.best, labelled.worst), strict=True))


def side(name: str, candidate: Candidate, rules: Rules, tree: IntentTree) -> Markup:
    """One reply of the pair, the intents that it discovers, and its length, with the notation that was counted."""
    badge, reply = chip(name, "known" if name == "chosen" else "plain"), candidate.reply
    shares = candidate.reward.shares if candidate.reward else {}
    found = "; ".join(tree.text(key) for key in sorted(shares, key=tree.depth, reverse=True) if shares[key] > 0)
    told = tag(
        "p", tag("b", "Discovers: " if found else "Discovers no intent" if candidate.reward else "Not judged"), found
    )
    above = reply.n_tokens - rules.tau
    length = f"{reply.n_tokens:,} of {rules.tau:g} free tokens ({reply.counting})"
    length += f"; {above:g} more cost {min(rules.lam * above, rules.penalty_cap):g}" if above > 0 else ""
    facts = quiet(length, small=True) if reply.notation is None else more(length, code(reply.notation))
    return show.part("side", name, _name(candidate), badge, show.rich_text(reply.text), told, facts)


# -- what a trainer gets -----------------------------------------------------------------------------------------------


def loss(sequences: Mapping[str, Sequence[Piece]]) -> Markup:
    """The very text of each sequence; what carries loss is marked by colour, by an underline and in words.

    Line ends that the template adds are visible, since they are part of what is learnt.
    """
    shown = []
    for name, pieces in sequences.items():
        total = sum(len(piece.text) for piece in pieces)
        learnt = sum(len(piece.text) for piece in pieces if piece.loss)
        share = f"{learnt:,} of {total:,} characters have loss ({percent(learnt / total)})" if total else "nothing"
        shown.append({"name": name, "share": share, "pieces": pieces})
    return show.part("loss", shown)
