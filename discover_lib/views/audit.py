"""HTML fragments for the audit of a simulated user: certificate, leaks, agreement, the paper's figures.

Like `views.conversation`, whose stylesheet and colours these share: pure functions (`certificate_line` alone reads a
run's folder), every text escaped.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from discover_lib.audit.agreement import KIND, Agreement, Disagreement, Flips
from discover_lib.audit.certificate import Certificate, Tested, certificate_warning, read_certificate
from discover_lib.audit.corpus import BEYOND, DECOYS, PLANTED, TWIN, Case, Scored
from discover_lib.audit.leaks import Audit, Finding
from discover_lib.audit.tables import BESIDE_COLUMNS, BESIDE_NOTE, CHECK_COLUMNS, METRICS, THE_PAPER, BesideRow, Check
from discover_lib.core.conversation import Conversation
from discover_lib.metrics.intervals import Estimate
from discover_lib.views import conversation as show

STRIP_WIDTH = 160  # units of an interval's drawing; it scales with the page
MARKS = {"held": ("✓", "good"), "violated": ("✗", "bad"), "not distinguishable": ("?", "open")}
TONES = {"follows": ("✓", "good"), "does not follow": ("✗", "bad"), "left open": ("?", "open")}


def styled(*fragments: str) -> str:
    """Fragments ready to be shown, with both stylesheets."""
    return f"{show.styled(*fragments)}<style>{show.static_text('show_audit.css')}</style>"


def _cells(tag: str, cells: Iterable[tuple[str, str]]) -> str:
    return "".join(f'<{tag} class="{name}">{body}</{tag}>' for name, body in cells)


def _table(head: Sequence[tuple[str, str]], rows: Iterable[str], caption: str = "") -> str:
    """A table of finished rows; `head` pairs a class with a title."""
    title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    columns = "".join(f'<th scope="col" class="{name}">{html.escape(text)}</th>' for name, text in head)
    return (
        f'<div class="dl-scroll"><table class="da-table">{title}<thead><tr>{columns}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _figures(head: Sequence[str], rows: Iterable[Sequence[str]], caption: str, wide: int) -> str:
    """A table of texts whose first `wide` columns may break into lines and whose figures may not."""
    classes = [("" if place < wide else "da-tight") for place in range(len(head))]
    body = (f"<tr>{_cells('td', zip(classes, map(html.escape, row), strict=True))}</tr>" for row in rows)
    return _table(list(zip(classes, head, strict=True)), body, caption)


def _mark(text: str, marks: Mapping[str, tuple[str, str]]) -> str:
    sign, tone = marks[text]
    return f'<span class="da-verdict" data-tone="{tone}"><span aria-hidden="true">{sign}</span> {text}</span>'


# -- the certificate --------------------------------------------------------------------------------------------------


def certificate_line(folder: Path) -> str:
    """One line for every page that shows numbers of a run: a warning, or what vouches for its simulated user.

    `show.styled` is enough to show it.
    """
    warning = certificate_warning(folder)
    if warning is not None:
        return f'<p class="dl-told" data-tone="warn" role="alert"><b>Not certified.</b> {html.escape(warning)}</p>'
    certificate = read_certificate(folder)
    assert certificate is not None
    return f'<p class="dl-told"><b>Certified.</b> {html.escape(certificate.line)}.</p>'


def relations(result: Certificate) -> str:
    """The relations of a certificate with their paired differences."""
    low, high = _reach(each.difference for each in result.tested)
    head = (("", "Relation, and why it must hold"), ("da-tight", ""), ("da-tight", "Difference"), ("", "95 % interval"))
    caption = (
        f"Share of the hidden intents discovered: paired differences over artifacts, {_size(result)}, bootstrapped"
    )
    rows, reason = [], ""
    for each in result.tested:
        rows.append(_relation(each, low, high, "" if each.relation.why == reason else each.relation.why))
        reason = each.relation.why
    return _table(head, rows, caption)


def found_by_panel(result: Certificate) -> str:
    """What each assistant of the panel found."""
    low, high = _reach(result.found.values())
    head = (("da-tight", "Assistant"), ("da-tight", "Share"), ("", "95 % interval"))
    rows = []
    for name, each in result.found.items():
        cells = (("da-tight", html.escape(name)), ("da-tight dl-num", str(each)), ("", _strip(each, low, high)))
        rows.append(f"<tr>{_cells('td', cells)}</tr>")
    return _table(head, rows, f"Share of the hidden intents discovered, {_size(result)}")


def _size(result: Certificate) -> str:
    return f"n = {result.artifacts} artifacts × {result.trials} trial{'s' if result.trials != 1 else ''}"


def _reach(estimates: Iterable[Estimate]) -> tuple[float, float]:
    """From the lowest to the highest end of all intervals, 0 included."""
    ends = [value for each in estimates for value in _ends(each)]
    return min([0.0, *ends]), max([0.0, *ends])


def _relation(tested: Tested, low: float, high: float, why: str) -> str:
    name = html.escape(tested.relation.text)
    because = f'<div class="da-why">{html.escape(why)}</div>' if why else ""
    cells = (
        ("", f"{name}{because}"),
        ("da-tight", _mark(tested.holds, MARKS)),
        ("da-tight dl-num", html.escape(str(tested.difference))),
        ("da-strips", _strip(tested.difference, low, high)),
    )
    return f'<tr data-holds="{tested.holds}">{_cells("td", cells)}</tr>'


def _ends(estimate: Estimate) -> tuple[float, float]:
    if estimate.low is None or estimate.high is None:
        return estimate.mean, estimate.mean
    return estimate.low, estimate.high


def _strip(estimate: Estimate, low: float, high: float) -> str:
    """An interval as a drawing: a line for no difference, a bar for the interval, a dot for the mean."""
    span = (high - low) or 1.0

    def at(value: float) -> float:
        return round(4 + (value - low) / span * (STRIP_WIDTH - 8), 2)

    left, right = map(at, _ends(estimate))
    return (
        f'<div class="da-strip"><svg viewBox="0 0 {STRIP_WIDTH} 22" preserveAspectRatio="none" aria-hidden="true">'
        f'<line class="da-axis" x1="{at(0.0)}" x2="{at(0.0)}" y1="1" y2="21"/>'
        f'<line class="da-reach" x1="{left}" x2="{right}" y1="11" y2="11"/>'
        f'<rect class="da-point" x="{at(estimate.mean) - 2}" y="7" width="4" height="8" rx="1"/></svg></div>'
    )


# -- leaks ------------------------------------------------------------------------------------------------------------


def audit_line(result: Audit) -> str:
    """What the audit found, in one line."""
    slight = len(result.findings) - len(result.alarms)
    rate = html.escape(str(result.alarm_rate))
    tone = "warn" if result.alarms else ""
    parts = f"{len(result.alarms)} of {result.turns:,} user turns raise an alarm" if result.turns else "no user turn"
    more = f"; {slight} slight findings are for a person to read" if slight else ""
    return f'<p class="dl-told" data-tone="{tone}"><b>{parts}</b>: {rate} with its 95 % interval{more}.</p>'


def findings(found: Sequence[Finding], limit: int = 12) -> str:
    """Findings with the words marked in the message, alarms first."""
    if not found:
        return '<p class="dl-quiet">Nothing found.</p>'
    ordered = sorted(found, key=lambda each: each.severity != "alarm")
    rest = len(ordered) - limit
    more = f'<p class="dl-quiet">and {rest} more</p>' if rest > 0 else ""
    return f'<div class="da-cases">{"".join(map(finding, ordered[:limit]))}</div>{more}'


def finding(found: Finding) -> str:
    """One finding: the message with its words marked, and the intent that holds them."""
    tone = "emerging" if found.severity == "slight" else "plain"
    state = "emerging" if found.emerging else "undiscovered"
    how = ", ".join(f"“{leak.word}” {_how(leak.how, leak.meant)}" for leak in found.leaks)
    where = f"<span>{html.escape(found.name)}</span>" if found.name else ""
    turn = f"<span>turn {found.turn}</span>" if found.turn else ""
    return (
        f'<article class="da-case"><div class="da-case-head"><span class="dl-chip" data-tone="{tone}">'
        f"{found.severity}</span>{where}{turn}</div>{marked(found)}"
        f'<div class="da-holds">{show.state_glyph(state)}<span>{state} <span class="dl-id">{found.intent_id}</span> '
        f'{html.escape(found.intent_text)} <span class="dl-quiet dl-small">({html.escape(how)})</span></span></div>'
        "</article>"
    )


def _how(how: str, meant: str) -> str:
    return {"verbatim": "word for word", "inflected": f"a form of “{meant}”", "synonym": f"another name for “{meant}”"}[
        how
    ]


def marked(found: Finding) -> str:
    """The message of a finding with its words marked."""
    parts, position = [], 0
    for leak in found.leaks:
        if leak.start >= position:
            parts.append(html.escape(found.message[position : leak.start]))
            word = html.escape(found.message[leak.start : leak.end])
            parts.append(f'<mark data-severity="{found.severity}">{word}</mark>')
            position = leak.end
    parts.append(html.escape(found.message[position:]))
    return f'<div class="da-said">{"".join(parts)}</div>'


def scored(result: Scored) -> str:
    """Precision and recall of the audit on the planted corpus, by kind."""
    rows: list[tuple[str, ...]] = []
    groups = (("leak", PLANTED), ("leak, counted apart", BEYOND), ("no leak", (*DECOYS, TWIN)))
    for what, kinds in groups:
        rows += [(what, kind, str(result.alarmed((kind,))), str(result.noticed((kind,)))) for kind in kinds]
    caption = (
        f"Precision {result.precision}, recall {result.recall}; 95 % Wilson intervals. "
        "Kinds counted apart are in neither: one word of a long intent is graded slight, and free paraphrases are more "
        "than a comparison of words can find."
    )
    return _figures(("", "Put into the message", "Alarm", "Any finding"), rows, caption, wide=2)


def case(planted: Case, found: Finding | None, intent_text: str) -> str:
    """One planted case: what was put in, and what the audit made of it."""
    said = marked(found) if found else f'<div class="da-said">{html.escape(planted.message)}</div>'
    alarmed = found is not None and found.severity == "alarm"
    right = alarmed == planted.leak
    verdict = "alarm" if alarmed else "slight finding" if found else "nothing found"
    sign = _mark("as it should be" if right else "wrong", {"as it should be": ("✓", "good"), "wrong": ("✗", "bad")})
    told = f'<div class="da-holds"><span>hidden: {html.escape(intent_text)}</span></div>' if intent_text else ""
    return (
        f'<article class="da-case"><div class="da-case-head">{sign}<span class="dl-chip">{html.escape(planted.kind)}'
        f"</span><span>{verdict}</span><span>{html.escape(planted.talk)}, turn {planted.turn}</span></div>{said}{told}"
        "</article>"
    )


# -- agreement --------------------------------------------------------------------------------------------------------


def agreement(rows: Iterable[Agreement]) -> str:
    """Agreement of judges by group."""
    caption = "First answers; 95 % intervals bootstrapped over conversations; left out: what only one of them reached"
    return _figures(Agreement.COLUMNS, (each.row() for each in rows), caption, wide=0)


def changed_answers(found: Iterable[Flips]) -> str:
    """How often each judge, asked again, said something else."""
    head = ("judge", "asked, times", "other than the first time (95 % Wilson interval)")
    return show.table(head, ((each.judge, str(each.repeats), str(each.share)) for each in found))


def disagreement(found: Disagreement, conversation: Conversation) -> str:
    """One disagreement: the reply in question, the intent, and what each judge said, with reasons."""
    turn = conversation.turns[found.turn - 1]
    what = "What kind of reply is this?"
    if found.intent != KIND:
        what = f"Is [{found.intent}] “{conversation.tree.text(found.intent)}” engaged?"
    rows = [(each.judge, (each.value or "").replace("_", " "), each.reason) for each in found.labels]
    return show.beside(
        show.panel(f"{found.conversation}, turn {found.turn}: the reply", show.rich_text(turn.reply.text)),
        show.panel(what, show.table(("Judge", "Says", "Because"), rows)),
    )


# -- the paper --------------------------------------------------------------------------------------------------------


def checks(found: Iterable[Check]) -> str:
    """Printed figures with what they come to."""
    head = [("da-tight" if name in ("printed", "recomputed", "verdict") else "", name) for name in CHECK_COLUMNS]
    return _table(head, map(_check, found))


def _check(each: Check) -> str:
    table, what, printed, computed, _, how = each.row()
    cells = (
        ("da-tight", html.escape(table)),
        ("", html.escape(what)),
        ("da-tight dl-num", html.escape(printed)),
        ("da-tight dl-num", html.escape(computed)),
        ("da-tight", _mark(each.verdict, TONES)),
        ("da-why", html.escape(how)),
    )
    return f"<tr>{_cells('td', cells)}</tr>"


_BESIDE_CLASSES = ("", "", "", *("da-tight" for _ in METRICS), "")


def beside(rows: Sequence[BesideRow]) -> str:
    """Ours and theirs in one shape; colour and first column say whose a row is."""
    head = list(zip(_BESIDE_CLASSES, BESIDE_COLUMNS, strict=True))
    return _table(head, _beside_rows(rows), BESIDE_NOTE)


def _beside_rows(rows: Sequence[BesideRow]) -> Iterator[str]:
    for each in rows:
        name = "da-shaded" if each.whose == THE_PAPER else "da-ours"
        cells = zip(_BESIDE_CLASSES, map(html.escape, each.row()), strict=True)
        yield f'<tr class="{name}">{_cells("td", cells)}</tr>'
