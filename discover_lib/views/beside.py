"""HTML fragments for what stands behind a score: one conversation's scores, and two conversations with the same user.

Like `discover_lib.views.conversation`, whose stylesheet and colours these share: pure functions, every text escaped.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from discover_lib.audit.evidence import Evidence, finding, found_by_one, parting
from discover_lib.base.svg import drawing_spans
from discover_lib.core.conversation import Conversation, Turn
from discover_lib.metrics.satisfaction import SATISFIED, LeafScore
from discover_lib.metrics.scores import Assessment
from discover_lib.views import conversation as show
from discover_lib.views.scores import Look, named

OPEN, SHUT = "\ue000", "\ue001"  # private characters that stand for the ends of a mark until the text is HTML
HOW = {
    "quoted": "the judge’s reason quotes it",
    "read": "the drawing was read again",
    "guessed": "a guess: it shares most words with the intent",
}


# -- one conversation -------------------------------------------------------------------------------------------------


def assessed(conversation: Conversation, assessment: Assessment | None) -> str:
    """How the finished piece and the way to it were scored, with reasons; what is unscored says so."""
    if assessment is None:
        return show.panel("Scores", '<p class="dl-quiet">Not assessed yet.</p>')
    failures = "".join(show.error_line(f"{each.part} is unscored: {each.message}") for each in assessment.failures)
    manner = ""
    if assessment.interactivity is not None:
        rated = assessment.interactivity
        manner = (
            f"<p><b>Interactivity {rated.score:.2f}</b> ({rated.rating:.2f} of 1 to 3). {html.escape(rated.reason)}</p>"
        )
    if assessment.behaviour is not None:
        rows = [(str(each.turn), each.behaviour or "neither", each.reason) for each in assessment.behaviour]
        manner += show.table(("turn", "is", "because"), rows)
    made = '<p class="dl-quiet">None was had.</p>'
    if conversation.final is not None:
        made = show.rich_text(conversation.final.reply.text)
    leaves = _leaves(conversation, assessment.satisfaction)
    return (
        failures
        + show.beside(
            show.panel("The finished piece", f'<div class="dl-prose">{made}</div>'),
            show.panel("Is it what the user wanted?", leaves) + show.panel("The way to it", manner),
        )
        + f'<p class="dl-quiet">Scored by: {html.escape(assessment.scorer)}.</p>'
    )


def _leaves(conversation: Conversation, scores: Sequence[LeafScore] | None) -> str:
    if scores is None:
        return '<p class="dl-quiet">Satisfaction is unscored.</p>'
    met = sum(each.satisfied for each in scores)
    rows = [
        (f"{'✓' if each.satisfied else '·'} {each.score}", conversation.tree.text(each.intent_id), each.reason)
        for each in scores
    ]
    caption = f"{met} of {len(scores)} most specific intents scored {SATISFIED} or 5"
    return show.table(("score", "intent", "because"), rows, caption)


# -- two with the same user -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Side:
    """One of two conversations with the same user."""

    name: str
    look: Look | None
    conversation: Conversation

    @property
    def title(self) -> str:
        return named(self.name, self.look)


def parted(ours: Side, theirs: Side) -> str:
    """At which turn the two part, and what did it, in words."""
    turn = parting(ours.conversation, theirs.conversation)
    if turn is None:
        return '<p class="ds-parting">After every turn the same has formed with both.</p>'
    told = " ".join(f"{side.title} {_did(side.conversation, turn)}." for side in (ours, theirs))
    before = "from the first reply" if turn == 1 else f"alike until turn {turn - 1}; they part in turn {turn}"
    lead = "They part" if turn == 1 else "They are"
    return f'<p class="ds-parting"><b>{lead} {before}.</b> {told}</p>'


def _did(conversation: Conversation, turn: int) -> str:
    """What a reply formed, in a few words."""
    if turn > len(conversation.turns):
        return "had ended already"
    moves = [each for each in conversation.turns[turn - 1].candidate.transitions if each.moved]
    if not moves:
        return "formed nothing"
    texts = [f"“{html.escape(conversation.tree.text(each.intent_id))}”" for each in moves[:3]]
    more = f" and {len(moves) - 3} more" if len(moves) > 3 else ""
    return f"formed {', '.join(texts)}{more}"


def only_one_found(ours: Side, theirs: Side) -> str:
    """The intents that one of the two discovered and the other did not, each with what in the reply met it."""
    first, second = found_by_one(ours.conversation, theirs.conversation)
    panels = [_only(side, found) for side, found in ((ours, first), (theirs, second))]
    both = len(ours.conversation.state.discovered & theirs.conversation.state.discovered)
    note = f'<p class="dl-quiet">{both} intents are discovered with both, those of the request included.</p>'
    return show.beside(*panels) + note


def _only(side: Side, found: Sequence[str]) -> str:
    groups = _by_evidence(side.conversation, found)
    items = "".join(_met(side.conversation, keys, seen) for keys, seen in groups)
    body = f'<ul class="dl-plain">{items}</ul>' if items else '<p class="dl-quiet">None.</p>'
    return (
        f'<section class="dl-panel ds-only"><h3 class="dl-panel-title">Only {side.title} discovered: {len(found)}</h3>'
        f"{body}</section>"
    )


def _by_evidence(conversation: Conversation, found: Sequence[str]) -> list[tuple[list[str], Evidence | None]]:
    """Intents that the very same place in a reply met stand together, in the order of their turns."""
    groups: dict[tuple[object, ...], tuple[list[str], Evidence | None]] = {}
    for key in found:
        seen = finding(conversation, key)
        place = (key,) if seen is None else (seen.turn, seen.span, seen.drawing, seen.reason, seen.transition.cause)
        groups.setdefault(place, ([], seen))[0].append(key)
    return sorted(groups.values(), key=lambda group: group[1].turn if group[1] else 0)


def _met(conversation: Conversation, keys: Sequence[str], seen: Evidence | None) -> str:
    """Intents with the sentence or the drawing that met them."""
    wants = "".join(
        f'<li class="dl-item">{show.state_glyph("discovered", key in conversation.state.satisfied)}'
        f"<span>{html.escape(conversation.tree.text(key))}</span></li>"
        for key in keys
    )
    wants = f'<ul class="dl-plain">{wants}</ul>'
    if seen is None:
        return f'<li class="ds-met"><div>{wants}</div></li>'
    text, drawn, quoted = conversation.turns[seen.turn - 1].reply.text, "", ""
    if seen.drawing is not None:
        drawn = show.drawing(text[slice(*drawing_spans(text)[seen.drawing])], alt=conversation.tree.text(keys[0]))
    if seen.span is not None:
        quoted = f'<q class="ds-quote" data-how="{seen.how}">{html.escape(text[slice(*seen.span)])}</q>'
    cause = "met directly" if seen.transition.cause == "direct" else "formed by a near miss"
    how = f" ({HOW[seen.how]})" if seen.how else ""
    reason = f"{seen.reason}{how}" if seen.reason else "no reason was given"
    return (
        f'<li class="ds-met">{drawn}<div><span class="dl-chip" data-tone="known">turn {seen.turn}, {cause}</span>'
        f'{wants}{quoted}<p class="dl-small dl-quiet">{html.escape(reason)}</p></div></li>'
    )


def trees(ours: Side, theirs: Side, turn: int) -> str:
    """Both trees after a turn; rows in which they differ are marked."""
    return show.beside(*(_tree(side, other, turn) for side, other in ((ours, theirs), (theirs, ours))))


def _tree(side: Side, other: Side, turn: int) -> str:
    mine, last = side.conversation, min(turn, len(side.conversation.turns))
    state, theirs = mine.state_after(last), other.conversation.state_after(min(turn, len(other.conversation.turns)))
    taken = mine.turns[last - 1] if last and last == turn else None
    drawn = show.outline(
        mine.tree, state, mine.rules, taken.candidate.transitions if taken else (), taken.focus if taken else None
    )
    for key in mine.tree.intents:
        if state[key] is not theirs[key]:
            drawn = drawn.replace(f'class="dl-row" data-id="{key}"', f'class="dl-row ds-differs" data-id="{key}"')
    count = f"{len(state.discovered)} of {len(mine.tree)} discovered"
    ended = "" if last == turn else f", ended after turn {last}"
    return (
        f'<section class="dl-panel"><h3 class="dl-panel-title">{side.title} <span class="dl-quiet">{count}{ended}'
        f"</span></h3>{drawn}</section>"
    )


def turns_beside(ours: Side, theirs: Side) -> str:
    """Both conversations turn by turn, the first turn at which they part marked, and the evidence of what only one
    found highlighted where it was said.
    """
    apart = parting(ours.conversation, theirs.conversation)
    only = found_by_one(ours.conversation, theirs.conversation)
    seen = [
        [each for key in found if (each := finding(side.conversation, key)) is not None]
        for side, found in zip((ours, theirs), only, strict=True)
    ]
    longest = max(len(ours.conversation.turns), len(theirs.conversation.turns))
    request = show.rich_text(ours.conversation.tree.initial_request)
    parts = [_bubble("user", request, " ds-request")]
    for number in range(1, longest + 1):
        if number == apart:
            parts.append(f'<div class="ds-apart" data-turn="{number}"><span>here they part</span></div>')
        columns = "".join(
            _column(side, number, [each for each in evidence if each.turn == number])
            for side, evidence in zip((ours, theirs), seen, strict=True)
        )
        parts.append(f'<div class="ds-pair" data-turn="{number}">{columns}</div>')
    return f'<div class="ds-beside">{"".join(parts)}</div>'


def _column(side: Side, number: int, evidence: Sequence[Evidence]) -> str:
    if number > len(side.conversation.turns):
        return f'<div class="ds-column"><p class="dl-quiet">{side.title} had ended.</p></div>'
    turn = side.conversation.turns[number - 1]
    worth = turn.candidate.reward
    reward = f'<span class="dl-num">reward {show.signed(worth.total)}</span>' if worth else ""
    reply = marked_reply(
        turn,
        evidence,
        {each.transition.intent_id: side.conversation.tree.text(each.transition.intent_id) for each in evidence},
    )
    said = "" if turn.user_message is None else _bubble("user", show.user_said(turn))
    return (
        f'<div class="ds-column"><div class="dl-turn"><span>Turn {number}</span>{side.title}{reward}</div>'
        f"{_bubble('assistant', reply)}{said}</div>"
    )


def _bubble(role: str, body: str, extra: str = "") -> str:
    return f'<div class="dl-msg{extra}" data-role="{role}"><span class="dl-sr">{role.capitalize()}: </span>{body}</div>'


def marked_reply(turn: Turn, evidence: Sequence[Evidence], texts: Mapping[str, str]) -> str:
    """A reply as people read it, with the sentences and drawings highlighted that met intents.

    Args:
        texts: intent → requirement, for the tooltips.
    """
    text = turn.reply.text
    spans = _merged(each for each in evidence if each.span is not None)
    for (start, end), _ in reversed(spans):
        text = f"{text[:start]}{OPEN}{text[start:end]}{SHUT}{text[end:]}"
    shown = show.rich_text(text)
    for _, members in spans:
        what = html.escape("met: " + "; ".join(texts[each.transition.intent_id] for each in members), quote=True)
        how = "guessed" if all(each.how == "guessed" for each in members) else "sure"
        shown = shown.replace(OPEN, f'<mark class="ds-mark" data-how="{how}" title="{what}">', 1).replace(
            SHUT, "</mark>", 1
        )
    drawings = {each.drawing for each in evidence if each.drawing is not None}
    return _marked_drawings(shown, drawings, len(drawing_spans(turn.reply.text)))


def _merged(evidence: Iterable[Evidence]) -> list[tuple[tuple[int, int], list[Evidence]]]:
    """Spans in the order of the text, those that overlap as one."""
    merged: list[tuple[tuple[int, int], list[Evidence]]] = []
    for each in sorted(evidence, key=lambda each: each.span or (0, 0)):
        assert each.span is not None
        if merged and each.span[0] < merged[-1][0][1]:
            (start, end), members = merged[-1]
            merged[-1] = (start, max(end, each.span[1])), [*members, each]
        else:
            merged.append((each.span, [each]))
    return merged


def _marked_drawings(shown: str, places: set[int], drawings: int) -> str:
    """Frame the drawings at these places; where a page shows another number of figures than there are, none."""
    figure = '<figure class="dl-figure"'
    pieces = shown.split(figure)
    if len(pieces) - 1 != drawings:
        return shown
    parts: Iterator[str] = (
        f'<figure class="dl-figure{" ds-met-drawing" if place in places else ""}"{piece}'
        for place, piece in enumerate(pieces[1:])
    )
    return pieces[0] + "".join(parts)
