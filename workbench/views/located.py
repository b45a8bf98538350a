"""Where in a reply an intent was met, as a place and as a mark; and where two conversations with one user part.

A verdict names its reason and no place. The place is the phrase that the reason quotes. Of a drawing that the miniature
can read, it is the drawing itself. Otherwise it is the sentence that shares most words with the intent, which is called
a guess. An intent without such a place has no mark.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from markupsafe import escape

from discover_lib.base.svg import SvgError, drawing_spans
from discover_lib.base.words import content_words, words
from discover_lib.core.conversation import Artifact, Conversation, Turn
from discover_lib.core.intents import IntentTree
from discover_lib.core.roles import Recognised
from discover_lib.core.state import Discovery, Transition
from discover_lib.engines.miniature.svg.read import part_of
from workbench.views.html import EMPTY, Markup, artifact, joined, number_mark, rich_text, tag

How = Literal["quoted", "read", "guessed"]

_QUOTED = re.compile(r"[“\"]([^“”\"]+)[”\"]")
_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?]+[”’\"')*]*(?=\s|$)|(?=\n)|$)|[^\n]")
_OPENING = re.compile(r"\s*(?:>\s?)*\s*(?:#{1,6}\s+)?(?:[-*•]\s+|\(?(?:\d{1,3}|[A-Z])[.):]\s+)?")
LEAST_SHARED = 0.5  # of an intent's content words that a sentence must share to be taken for its evidence


@dataclass(frozen=True)
class Evidence:
    """What in a reply moved an intent.

    Attributes:
        reason: the judge's, or "".
        span: start and end of the sentence in the reply's text, or None.
        drawing: which of the reply's drawings, from 0, or None.
        part: where on that drawing, as shares of it (left, top, right, bottom); None for all of it.
        how: "quoted", the reason's own words stand there; "read", the drawing was read again; "guessed", it shares
            words with the intent; None where nothing was located.
    """

    turn: int
    transition: Transition
    reason: str
    span: tuple[int, int] | None = None
    drawing: int | None = None
    part: tuple[float, float, float, float] | None = None
    how: How | None = None


def finding(conversation: Conversation, intent_id: str) -> Evidence | None:
    """The evidence of the turn in which an intent was discovered; None if it never was."""
    for turn in conversation.turns:
        for each in turn.candidate.transitions:
            if each.intent_id == intent_id and each.moved and each.after is Discovery.DISCOVERED:
                return evidence(conversation, turn, each)
    return None


def evidence(conversation: Conversation, turn: Turn, transition: Transition) -> Evidence:
    """What in the reply of `turn` did `transition`."""
    judged = turn.candidate.evaluation
    verdict = judged.verdict(transition.intent_id) if judged else None
    reason = verdict.reason if verdict else ""
    found = Evidence(turn.index, transition, reason)
    text, drawings = turn.reply.text, drawing_spans(turn.reply.text)
    for phrase in phrases_of(reason):
        for start, end in where_said(phrase, text):
            inside = next((n for n, (low, high) in enumerate(drawings) if low <= start < high), None)
            if inside is not None:
                return _on_drawing(found, text, drawings, inside, "quoted")
            return replace(found, span=_sentence(text, start, end), how="quoted")
    read = _drawing_read(conversation, text, drawings, reason)
    if read is not None:
        return _on_drawing(found, text, drawings, read, "read")
    asked = [conversation.tree.text(transition.intent_id), *(verdict.near_misses if verdict else ())]
    guess = _closest(text, drawings, asked)
    return replace(found, span=guess, how="guessed") if guess else found


def _on_drawing(found: Evidence, text: str, drawings: Sequence[tuple[int, int]], place: int, how: How) -> Evidence:
    start, end = drawings[place]
    return replace(found, drawing=place, part=part_of(text[start:end], found.reason), how=how)


def phrases_of(reason: str) -> list[str]:
    """What a reason quotes."""
    return _QUOTED.findall(reason)


def where_said(phrase: str, text: str) -> Iterator[tuple[int, int]]:
    """Where the words of a phrase stand in a text, whatever lies between them."""
    phrase_words = words(phrase)
    if phrase_words:
        between = r"[^a-z0-9]+".join(re.escape(word).replace("'", "['’]") for word in phrase_words)
        pattern = rf"(?<![a-z0-9]){between}(?:['’]?s)?(?![a-z0-9])"
        yield from (match.span() for match in re.finditer(pattern, text, re.IGNORECASE))


def _sentence(text: str, start: int, end: int) -> tuple[int, int]:
    """The sentence around a place, within its line and without the line's list or quote mark."""
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", start)
    line_end = len(text) if line_end < 0 else max(line_end, end)
    low, high = line_start, line_end
    for each in _SENTENCE.finditer(text, line_start, line_end):
        if each.start() <= start < each.end():
            low = each.start()
        if each.start() < end <= each.end():
            high = each.end()
            break
    if text.count("**", low, high) % 2:  # never half of an emphasis
        low, high = line_start, line_end
    opening = _OPENING.match(text, low, high) if low == line_start else re.compile(r"\s*").match(text, low, high)
    low = opening.end() if opening and opening.end() < high else low
    return low, low + len(text[low:high].rstrip())


def _drawing_read(
    conversation: Conversation, text: str, drawings: Sequence[tuple[int, int]], reason: str
) -> int | None:
    """The first drawing in which the miniature's reader finds what the reason says."""
    from discover_lib.engines.miniature.lexicon import ALL_DOMAINS
    from discover_lib.engines.miniature.reading import read_artifact

    domain = conversation.setting.get("domain")
    if not drawings or not reason or domain not in ALL_DOMAINS:
        return None
    for place, (start, end) in enumerate(drawings):
        try:
            read = read_artifact(text[start:end], domain)
        except SvgError:
            continue
        if any(reading_text in reason for reading_text in read.values()):
            return place
    return None


def _closest(text: str, drawings: Sequence[tuple[int, int]], asked: Sequence[str]) -> tuple[int, int] | None:
    """The sentence outside drawings that shares most with an intent or one of its near misses."""
    prose = text
    for start, end in drawings:
        prose = prose[:start] + "\n" * (end - start) + prose[end:]
    best, span = 0.0, None
    for match in _SENTENCE.finditer(prose):
        sentence_words = content_words(match[0])
        for each in asked:
            wanted = content_words(each)
            share = len(wanted & sentence_words) / len(wanted) if wanted else 0.0
            if share >= LEAST_SHARED and share > best:
                best, span = share, match.span()
    return _sentence(text, *span) if span else None


# -- two conversations with the same user -----------------------------------------------------------------------------


def parting(ours: Conversation, theirs: Conversation) -> int | None:
    """The first turn after which two conversations with the same user differ in what has formed; None if never."""
    for turn in range(1, max(len(ours.turns), len(theirs.turns)) + 1):
        if _levels(ours, turn) != _levels(theirs, turn):
            return turn
    return None


def found_by_one(ours: Conversation, theirs: Conversation) -> tuple[list[str], list[str]]:
    """The intents that only ours, and only theirs, had discovered in the end."""
    one, other = ours.state.discovered, theirs.state.discovered
    order = ours.tree.intents
    return [key for key in order if key in one - other], [key for key in order if key in other - one]


def _levels(conversation: Conversation, turn: int) -> dict[str, Discovery]:
    return dict(conversation.state_after(min(turn, len(conversation.turns))).discovery)


# -- marks in a reply --------------------------------------------------------------------------------------------------

# The ends of a mark until the text is HTML; punctuation, so that markdown's stars still pair around them.
OPEN, SHUT = "\u2e28", "\u2e29"


def marked_reply(turn: Turn, evidence: Sequence[Evidence], texts: Mapping[str, str]) -> Markup:
    """A reply as people read it, with marks at the sentences and drawings that match intents.

    Args:
        texts: intent → requirement, for the tooltips.
    """
    spans, openings = _merged(each for each in evidence if each.span is not None), []
    for _, members in spans:
        title = "match: " + "; ".join(texts[each.transition.intent_id] for each in members)
        how = "guessed" if all(each.how == "guessed" for each in members) else "sure"
        intents = " ".join(each.transition.intent_id for each in members)
        openings.append(tag("mark", class_="ds-mark", data_how=how, data_intents=intents, title=title))
    shown = _with_marks(turn.reply.text, [span for span, _ in spans], [(each, EMPTY) for each in openings], rich_text)
    drawings: dict[int, list[Evidence]] = {}
    for each in evidence:
        if each.drawing is not None:
            drawings.setdefault(each.drawing, []).append(each)
    return Markup(_marked_drawings(shown, drawings, len(drawing_spans(turn.reply.text))))


def _with_marks(
    text: str,
    spans: Sequence[tuple[int, int]],
    marks: Sequence[tuple[Markup, Markup]],
    shown: Callable[[str], Markup],
) -> str:
    """A text as `shown` shows it, with marks around some spans of it, in order.

    Args:
        marks: for each span an empty element, and what stands in it after the words.
    """
    text = text.translate({ord(OPEN): "(", ord(SHUT): ")"})
    for start, end in reversed(spans):
        text = f"{text[:start]}{OPEN}{text[start:end]}{SHUT}{text[end:]}"
    html = str(shown(text))
    for mark, last in marks:
        html = html.replace(OPEN, mark.removesuffix("</mark>"), 1).replace(SHUT, f"{last}</mark>", 1)
    return html


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


# -- a finished piece with a number where each requirement was recognised ----------------------------------------------


def numbers_of(tree: IntentTree, requirements: Sequence[Recognised]) -> dict[str, int]:
    """Intent → number of the requirement that it is, from 1, as the piece shows it."""
    place = {each.text: number for number, each in enumerate(requirements, 1)}
    return {key: place[tree.text(key)] for key in tree.intents if tree.text(key) in place}


def read_piece(piece: Artifact, requirements: Sequence[Recognised], intents: Mapping[int, str] | None = None) -> Markup:
    """The artifact, numbered where each requirement was read; a line below for requirements that all of it shows.

    Args:
        intents: number → the intent that it became, which lights up on an intent map with the number.
    """
    ids = intents or {}
    if not any(each.reason for each in requirements):
        return artifact(piece)
    if "<svg" in piece.text:
        boxes = _boxes(piece.text, requirements)
        placed = {number for numbers in boxes.values() for number in numbers}
        frames = joined(_frame(box, numbers, ids) for box, numbers in boxes.items())
        shown = Markup(str(artifact(piece)).replace("</summary>", f"{frames}</summary>", 1))
    else:
        spans = dict(marked_spans(piece.text, requirements))
        placed = {number for numbers in spans.values() for number in numbers}
        shown = _marked(piece, spans, ids)
    rest = [number for number in range(1, len(requirements) + 1) if number not in placed]
    marks = [tag("span", number_mark(number), data_ids=_ids([number], ids)) for number in rest]
    return tag(
        "div",
        shown,
        tag("p", "From all of it: ", *marks, class_="dl-quiet dl-small") if rest else EMPTY,
        class_="dl-read",
    )


def _boxes(svg: str, requirements: Sequence[Recognised]) -> dict[tuple[float, ...], list[int]]:
    """Part of the drawing → the numbers that were read there."""
    boxes: dict[tuple[float, ...], list[int]] = {}
    for number, each in enumerate(requirements, 1):
        if part := part_of(svg, each.reason):
            boxes.setdefault(part, []).append(number)
    return boxes


def _ids(numbers: Sequence[int], intents: Mapping[int, str]) -> str | None:
    """The intents of some numbers, for an intent map; None for none."""
    return " ".join(intents[number] for number in numbers if number in intents) or None


def _frame(box: Sequence[float], numbers: Sequence[int], intents: Mapping[int, str]) -> Markup:
    left, top, right, bottom = box
    place = f"left: {left:.1%}; top: {top:.1%}; width: {right - left:.1%}; height: {bottom - top:.1%}"
    return tag("span", *map(number_mark, numbers), class_="dl-part", style=place, data_ids=_ids(numbers, intents))


def marked_spans(text: str, requirements: Sequence[Recognised]) -> Iterator[tuple[tuple[int, int], list[int]]]:
    """Where the words that the reasons quote stand, in order and apart from each other, with the numbers read there."""
    found: dict[tuple[int, int], list[int]] = {}
    for number, each in enumerate(requirements, 1):
        for phrase in phrases_of(each.reason):
            if span := next(where_said(phrase, text), None):
                found.setdefault(span, []).append(number)
    last = 0
    for (start, end), numbers in sorted(found.items()):
        if start >= last:
            yield (start, end), numbers
            last = end


def _marked(piece: Artifact, spans: dict[tuple[int, int], list[int]], intents: Mapping[int, str]) -> Markup:
    marks = [
        (tag("mark", class_="ds-mark", data_ids=_ids(numbers, intents)), joined(map(number_mark, numbers)))
        for numbers in spans.values()
    ]
    shown = _with_marks(piece.text, list(spans), marks, lambda text: artifact(Artifact(piece.id, piece.type, text)))
    return Markup(shown)
