"""HTML fragments for what stands behind a score: how one conversation was scored, and two with the same user."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import escape

from discover_lib.base.svg import drawing_spans
from discover_lib.core.conversation import Conversation, Turn
from discover_lib.metrics.satisfaction import SATISFIED, LeafScore
from discover_lib.metrics.scores import Assessment
from workbench.views import conversation_parts as show
from workbench.views.figures.theme import Look, named
from workbench.views.html import EMPTY, Markup, chip, joined, plain_list, quiet, tag
from workbench.views.located import Evidence, finding, found_by_one, last_draft, parting, revised

# The ends of a mark until the text is HTML; punctuation, so that markdown's stars still pair around them.
OPEN, SHUT = "\u2e28", "\u2e29"
HOW = {
    "quoted": "the judge’s reason quotes it",
    "read": "the drawing was read again",
    "guessed": "a guess: it shares most words with the intent",
}


# -- one conversation -------------------------------------------------------------------------------------------------


def assessed(conversation: Conversation, assessment: Assessment | None) -> Markup:
    """How the finished piece and the way to it were scored, with reasons; what is unscored says so."""
    if assessment is None:
        return show.panel("Scores", quiet("Not assessed yet."))
    failures = (show.error_line(f"{each.part} is unscored: {each.message}") for each in assessment.failures)
    manner = []
    if assessment.interactivity is not None:
        rated = assessment.interactivity
        score = tag("b", f"Interactivity {rated.score:.2f}")
        manner.append(tag("p", score, f" ({rated.rating:.2f} of 1 to 3). {rated.reason}"))
    if assessment.behaviour is not None:
        rows = [(str(each.turn), each.behaviour or "neither", each.reason) for each in assessment.behaviour]
        manner.append(show.table(("turn", "is", "because"), rows))
    final = conversation.final
    made = quiet("None.") if final is None else show.rich_text(final.reply.text)
    satisfaction = show.panel("Is it what the user wanted?", _leaves(conversation, assessment.satisfaction))
    return joined(
        [
            *failures,
            show.beside(
                show.panel("The final artifact", tag("div", made, class_="dl-prose", style="max-height:none")),
                satisfaction + show.panel("The conversation", *manner),
            ),
            quiet(f"Scored by: {assessment.scorer}."),
        ]
    )


def _leaves(conversation: Conversation, scores: Sequence[LeafScore] | None) -> Markup:
    if scores is None:
        return quiet("Satisfaction is unscored.")
    satisfied = sum(each.satisfied for each in scores)
    rows = [
        (f"{'✓' if each.satisfied else '·'} {each.score}", conversation.tree.text(each.intent_id), each.reason)
        for each in scores
    ]
    caption = f"{satisfied} of {len(scores)} most specific intents scored {SATISFIED} or 5"
    return show.table(("score", "intent", "because"), rows, caption)


# -- two with the same user -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Side:
    """One of two conversations with the same user."""

    name: str
    look: Look | None
    conversation: Conversation

    @property
    def title(self) -> Markup:
        return named(self.name, self.look)


def parted(ours: Side, theirs: Side) -> Markup:
    """At which turn the two part, and what did it, in words."""
    turn = parting(ours.conversation, theirs.conversation)
    if turn is None:
        return tag("p", "After every turn the same intents are discovered or emerging with both.", class_="ds-parting")
    lead = (
        "They differ from the first reply."
        if turn == 1
        else f"They are the same until turn {turn - 1} and differ in turn {turn}."
    )
    moved = (tag("span", " ", side.title, f" {_moved(side.conversation, turn)}.") for side in (ours, theirs))
    return tag("p", tag("b", lead), *moved, class_="ds-parting")


def unequal(ours: Side, theirs: Side) -> Markup:
    """A line where one of the two has more turns than the other."""
    counts = [(side, len(side.conversation.turns)) for side in (ours, theirs)]
    if counts[0][1] == counts[1][1]:
        return EMPTY
    told = "; ".join(f"{side.name}: {count} turns" for side, count in counts)
    return tag("p", f"They have unequal numbers of turns. {told}.", class_="ds-parting")


def _moved(conversation: Conversation, turn: int) -> str:
    """Which intents a reply moved, in a few words."""
    if turn > len(conversation.turns):
        return "had ended already"
    moves = [each for each in conversation.turns[turn - 1].candidate.transitions if each.moved]
    if not moves:
        return "moved nothing"
    texts = [f"“{conversation.tree.text(each.intent_id)}”" for each in moves[:3]]
    rest = f" and {len(moves) - 3} more" if len(moves) > 3 else ""
    return f"moved {', '.join(texts)}{rest}"


def only_one_found(ours: Side, theirs: Side) -> Markup:
    """The intents that one of the two discovered and the other did not, each with what in the reply met it."""
    first, second = found_by_one(ours.conversation, theirs.conversation)
    panels = [_only(side, intents) for side, intents in ((ours, first), (theirs, second))]
    both = len(ours.conversation.state.discovered & theirs.conversation.state.discovered)
    return show.beside(*panels) + quiet(f"Both discovered {both} intents, including those of the request.")


def _only(side: Side, intents: Sequence[str]) -> Markup:
    groups = _by_evidence(side.conversation, intents)
    body = (
        plain_list(_met(side.conversation, keys, evidence) for keys, evidence in groups) if groups else quiet("None.")
    )
    title = tag("h3", "Only ", side.title, f" discovered: {len(intents)}", class_="dl-panel-title")
    return tag("section", title, body, class_="dl-panel ds-only")


def _by_evidence(conversation: Conversation, intents: Sequence[str]) -> list[tuple[list[str], Evidence | None]]:
    """Intents that the very same place in a reply met stand together, in the order of their turns."""
    groups: dict[tuple[object, ...], tuple[list[str], Evidence | None]] = {}
    for key in intents:
        evidence = finding(conversation, key)
        place: tuple[object, ...] = (key,)
        if evidence is not None:
            place = (evidence.turn, evidence.span, evidence.drawing, evidence.reason, evidence.transition.cause)
        groups.setdefault(place, ([], evidence))[0].append(key)
    return sorted(groups.values(), key=lambda group: group[1].turn if group[1] else 0)


def _met(conversation: Conversation, keys: Sequence[str], evidence: Evidence | None) -> Markup:
    """Intents with the sentence or the drawing that met them."""
    wants = plain_list(
        tag(
            "li",
            show.state_glyph("discovered", key in conversation.state.satisfied),
            tag("span", conversation.tree.text(key)),
            class_="dl-item",
        )
        for key in keys
    )
    if evidence is None:
        return tag("li", tag("div", wants), class_="ds-met")
    text, drawn, quoted = conversation.turns[evidence.turn - 1].reply.text, EMPTY, EMPTY
    if evidence.drawing is not None:
        drawn = show.drawing(text[slice(*drawing_spans(text)[evidence.drawing])], alt=conversation.tree.text(keys[0]))
    if evidence.span is not None:
        quoted = tag("q", text[slice(*evidence.span)], class_="ds-quote", data_how=evidence.how)
    cause = "engaged" if evidence.transition.cause == "direct" else "near miss"
    how = f" ({HOW[evidence.how]})" if evidence.how else ""
    reason = f"{evidence.reason}{how}" if evidence.reason else "no reason was given"
    when = chip(f"turn {evidence.turn}, {cause}", "known")
    return tag("li", drawn, tag("div", when, wants, quoted, quiet(reason, small=True)), class_="ds-met")


def trees(ours: Side, theirs: Side, turn: int) -> Markup:
    """Both trees after a turn; rows in which they differ are marked."""
    return show.beside(*(_tree(side, other, turn) for side, other in ((ours, theirs), (theirs, ours))))


def _tree(side: Side, other: Side, turn: int) -> Markup:
    mine, last = side.conversation, min(turn, len(side.conversation.turns))
    state, theirs = mine.state_after(last), other.conversation.state_after(min(turn, len(other.conversation.turns)))
    taken = mine.turns[last - 1] if last and last == turn else None
    drawn = show.outline(
        mine.tree,
        state,
        mine.rules,
        taken.candidate.transitions if taken else (),
        taken.focus if taken else None,
        differing={key for key in mine.tree.intents if state[key] is not theirs[key]},
    )
    ended = "" if last == turn else f", ended after turn {last}"
    count = tag("span", f"{len(state.discovered)} of {len(mine.tree)} discovered{ended}", class_="dl-quiet")
    title = tag("h3", side.title, " ", count, class_="dl-panel-title")
    return tag("section", title, drawn, class_="dl-panel")


def turns_beside(ours: Side, theirs: Side) -> Markup:
    """Both conversations turn by turn, the first turn at which they part marked, and the evidence of what only one
    found highlighted where it was said.
    """
    apart = parting(ours.conversation, theirs.conversation)
    only = found_by_one(ours.conversation, theirs.conversation)
    evidence = [
        [each for key in intents if (each := finding(side.conversation, key)) is not None]
        for side, intents in zip((ours, theirs), only, strict=True)
    ]
    longest = max(len(ours.conversation.turns), len(theirs.conversation.turns))
    request = show.rich_text(ours.conversation.tree.initial_request)
    parts = [show.bubble("user", request, more_classes="ds-request")]
    for number in range(1, longest + 1):
        if number == apart:
            parts.append(tag("div", tag("span", "here they part"), class_="ds-apart", data_turn=number))
        columns = (
            _column(side, number, [each for each in its if each.turn == number])
            for side, its in zip((ours, theirs), evidence, strict=True)
        )
        parts.append(tag("div", *columns, class_="ds-pair", data_turn=number))
    return tag("div", *parts, class_="ds-beside")


def _column(side: Side, number: int, evidence: Sequence[Evidence]) -> Markup:
    if number > len(side.conversation.turns):
        return tag("div", tag("p", side.title, " had ended.", class_="dl-quiet"), class_="ds-column")
    turn = side.conversation.turns[number - 1]
    worth = turn.candidate.reward
    reward = tag("span", f"reward {show.signed(worth.total)}", class_="dl-num") if worth else EMPTY
    texts = {each.transition.intent_id: side.conversation.tree.text(each.transition.intent_id) for each in evidence}
    reply = show.bubble("assistant", marked_reply(turn, evidence, texts, last_draft(side.conversation, turn)))
    answer = EMPTY if turn.user_message is None else show.bubble("user", show.user_message(turn))
    head = tag("div", tag("span", f"Turn {number}"), side.title, reward, class_="dl-turn")
    return tag("div", head, reply, answer, class_="ds-column")


def marked_reply(turn: Turn, evidence: Sequence[Evidence], texts: Mapping[str, str], before: str = "") -> Markup:
    """A reply as people read it, with marks at the sentences and drawings that match intents or are revised.

    Args:
        texts: intent → requirement, for the tooltips.
        before: the draft that the reply may revise.
    """
    text = turn.reply.text.translate({ord(OPEN): "(", ord(SHUT): ")"})
    spans = _merged(each for each in evidence if each.span is not None)
    marked = [span for span, _ in spans]
    fresh = [
        each for each in revised(text, before) if not any(each[0] < high and low < each[1] for low, high in marked)
    ]
    spans = sorted([*spans, *((span, []) for span in fresh)], key=lambda each: each[0])
    for (start, end), _ in reversed(spans):
        text = f"{text[:start]}{OPEN}{text[start:end]}{SHUT}{text[end:]}"
    shown = str(show.rich_text(text))
    for _, members in spans:
        if not members:
            opening = tag("mark", class_="ds-mark", data_how="new", title="changed since the last draft")
            shown = shown.replace(OPEN, opening.removesuffix("</mark>"), 1).replace(SHUT, "</mark>", 1)
            continue
        title = "engaged: " + "; ".join(texts[each.transition.intent_id] for each in members)
        how = "guessed" if all(each.how == "guessed" for each in members) else "sure"
        intents = " ".join(each.transition.intent_id for each in members)
        opening = tag("mark", class_="ds-mark", data_how=how, data_intents=intents, title=title).removesuffix("</mark>")
        shown = shown.replace(OPEN, opening, 1).replace(SHUT, "</mark>", 1)
    drawings: dict[int, list[Evidence]] = {}
    for each in evidence:
        if each.drawing is not None:
            drawings.setdefault(each.drawing, []).append(each)
    return Markup(_marked_drawings(shown, drawings, len(drawing_spans(turn.reply.text))))


def _box(evidence: Evidence) -> str:
    return ",".join(f"{share:g}" for share in evidence.part or ())


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


def _marked_drawings(shown: str, met: Mapping[int, Sequence[Evidence]], drawings: int) -> str:
    """Frame the drawings that met intents, and say where on them; where a page shows more or fewer figures, none."""
    figure = '<figure class="dl-figure"'
    pieces = shown.split(figure)
    if len(pieces) - 1 != drawings:
        return shown

    def framed(place: int, piece: str) -> str:
        if place not in met:
            return f"{figure}{piece}"
        intents = escape(" ".join(each.transition.intent_id for each in met[place]))
        parts = escape(" ".join(f"{each.transition.intent_id}={_box(each)}" for each in met[place] if each.part))
        where = f' data-parts="{parts}"' if parts else ""
        return f'<figure class="dl-figure ds-met-drawing" data-intents="{intents}"{where}{piece}'

    return pieces[0] + "".join(framed(place, piece) for place, piece in enumerate(pieces[1:]))
