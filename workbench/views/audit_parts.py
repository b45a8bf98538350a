"""HTML fragments for the audit of a simulated user: certificate, leaks, agreement, the paper's figures.

Pure functions; `certificate_line` alone reads a run's folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from discover_lib.base.files import outputs_folder
from discover_lib.base.leak_words import NOT_CHECKED
from discover_lib.base.words import counted
from discover_lib.core.conversation import Conversation
from discover_lib.metrics.agreement import KIND, Agreement, Disagreement
from discover_lib.metrics.intervals import Estimate, percent
from discover_lib.tasks.certify import trust_in
from discover_lib.tasks.corpus import BEYOND, DECOYS, PLANTED, TWIN, Case, Scored
from discover_lib.tasks.leaks import UNREAD, Audit, Finding
from discover_lib.tasks.paper_numbers import (
    BESIDE_COLUMNS,
    BESIDE_NOTE,
    METRICS,
    THE_PAPER,
    BesideRow,
    Check,
)
from workbench.views import conversation_parts as show
from workbench.views.figures.charts import dots, two_values
from workbench.views.html import EMPTY, Markup, cells, chip, grid, notice, quiet, tag
from workbench.views.html import styled as styled

TONES = {"follows": ("✓", "good"), "does not follow": ("≠", "plain"), "left open": ("?", "open")}
RIGHT = {"as it should be": ("✓", "good"), "wrong": ("✗", "bad")}
FORMS = {"verbatim": "word for word", "inflected": "a form of “{}”", "synonym": "another name for “{}”"}
FAILED, UNDECIDED = "This simulated user failed its certificate:", "Not certified, the panel did not decide:"
TIGHT, NUMBER = "da-tight", "da-tight dl-num"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], caption: str, classes: Sequence[str]) -> Markup:
    """A table whose columns of these classes may break into lines or may not."""
    headings = [name.replace(" dl-num", "") for name in classes]
    return grid(head, (cells(row, classes) for row in rows), caption, "da-table", headings)


def _mark(text: str, marks: Mapping[str, tuple[str, str]]) -> Markup:
    sign, tone = marks[text]
    return tag("span", tag("span", sign, aria_hidden="true"), f" {text}", class_="da-verdict", data_tone=tone)


# -- the certificate --------------------------------------------------------------------------------------------------


def certificate_line(folder: Path) -> Markup:
    """One line for every page that shows numbers of a run: what vouches for its simulated user, or that nothing does.

    Red is for a user who failed alone; one whom nobody has tested yet is a quiet chip.
    """
    trust = trust_in(folder)
    if trust.missing:
        return tag("p", chip("not certified yet", "emerging"), " ", tag("span", trust.missing), class_="da-trust")
    if trust.result == "passed":
        return tag("p", chip("✓ certified user", "known"), " ", tag("span", trust.line, "."), class_="da-trust")
    words = f" {trust.line}. Do not rest a conclusion on these numbers."
    failed = trust.result == "failed"
    return notice(tag("b", FAILED if failed else UNDECIDED), words, tone="warn" if failed else "open")


def certificate_chip(folder: Path) -> Markup:
    """The result of the validation in a few words, with a link to the page Trust."""
    trust = trust_in(folder)
    words = {"passed": ("✓ validated user", "known"), "failed": ("✗ user failed validation", "bad")}
    text, tone = (
        ("user not validated", "emerging")
        if trust.missing
        else words.get(trust.result, ("validation undecided", "emerging"))
    )
    run = folder.relative_to(outputs_folder()) if folder.is_relative_to(outputs_folder()) else folder
    return tag(
        "a", chip(text, tone, title=trust.missing or trust.line), href=f"/?file=7_trust.py&run={quote(str(run))}"
    )


# -- leaks ------------------------------------------------------------------------------------------------------------


def audit_line(result: Audit) -> Markup:
    """What the audit found, in one line."""
    slight = len(result.findings) - len(result.alarms)
    alarms = f"{len(result.alarms)} of {result.turns:,} user turns raise an alarm" if result.turns else "no user turn"
    rest = f"; {slight} slight findings are for a person to read" if slight else ""
    tone = "warn" if result.alarms else "open" if result.unchecked else None
    unread = UNREAD.format(counted(result.unchecked, "user turn")) if result.unchecked else ""
    if unread and not result.turns:
        return tag("p", tag("b", NOT_CHECKED), f": {unread}.", class_="dl-told", data_tone=tone)
    rest += f"; {unread}" if unread else ""
    words = f": {result.alarm_rate} with its 95 % interval{rest}."
    return tag("p", tag("b", alarms), words, class_="dl-told", data_tone=tone)


def findings(leaks: Sequence[Finding], limit: int = 12) -> Markup:
    """Findings with the words marked in the message, alarms first."""
    if not leaks:
        return quiet("Nothing found.")
    ordered = sorted(leaks, key=lambda each: each.severity != "alarm")
    rest = len(ordered) - limit
    shown = tag("div", *map(finding, ordered[:limit]), class_="da-cases")
    return shown + quiet(f"and {rest} more") if rest > 0 else shown


def finding(leak: Finding) -> Markup:
    """One finding: the message with its words marked, and the intent that holds them."""
    state = "emerging" if leak.emerging else "undiscovered"
    forms = ", ".join(f"“{each.word}” {FORMS[each.how].format(each.meant)}" for each in leak.leaks)
    facts = [fact for fact in (leak.name, f"turn {leak.turn}" if leak.turn else "") if fact]
    severity = chip(leak.severity, "emerging" if leak.severity == "slight" else "plain")
    holder = tag(
        "span",
        f"{state} ",
        show.intent_id_mark(leak.intent_id),
        f" {leak.intent_text} ",
        tag("span", f"({forms})", class_="dl-quiet dl-small"),
    )
    return _case([severity, *(tag("span", fact) for fact in facts)], marked(leak), show.state_glyph(state) + holder)


def _case(head: Iterable[Markup], message: Markup, holds: Markup) -> Markup:
    below = tag("div", holds, class_="da-holds") if holds else EMPTY
    return tag("article", tag("div", *head, class_="da-case-head"), message, below, class_="da-case")


def marked(leak: Finding) -> Markup:
    """The message of a finding with its words marked."""
    parts: list[str] = []
    position = 0
    for each in leak.leaks:
        if each.start >= position:
            parts.append(leak.message[position : each.start])
            parts.append(tag("mark", leak.message[each.start : each.end], data_severity=leak.severity))
            position = each.end
    return tag("div", *parts, leak.message[position:], class_="da-said")


def scored_picture(result: Scored) -> Markup:
    """How good the audit is, in one sentence, and the share with an alarm for every kind of message."""
    precision, recall = (
        percent(each.value) if each.value is not None else "none" for each in (result.precision, result.recall)
    )
    words = f"Of {recall} of the planted leaks it raises the alarm; {precision} of its alarms are leaks."
    kinds = {name: result.alarmed((name,)) for name in (*PLANTED, *BEYOND, *DECOYS, TWIN)}
    leaks = (*PLANTED, *BEYOND)
    rows = {
        f"{'leak' if name in leaks else 'no leak'}: {name}": Estimate(each.value, each.low, each.high, each.n, each.n)
        for name, each in kinds.items()
        if each.value is not None
    }
    return tag("p", tag("b", words)) + dots(
        rows, "share with an alarm, 95 % Wilson intervals", to_one=True, one_look=True
    )


def agreement_picture(rows: Iterable[Agreement]) -> Markup:
    """How far every two judges agree on the intents: κ with its interval, and the sentence of the lowest."""
    two = {" / ".join(each.judges): each for each in rows if each.group == "all intents" and each.kappa is not None}
    kappas = {
        name: Estimate(each.kappa.value, each.kappa.low, each.kappa.high, each.conversations, each.n)
        for name, each in two.items()
        if each.kappa is not None and each.kappa.value is not None
    }
    if not kappas:
        return quiet("Of no two judges agreement is defined here.")
    least = min(kappas, key=lambda name: kappas[name].mean)
    share = two[least].percent
    same = ""
    if share is not None and share.value is not None:
        same = f"; they say the same about {percent(share.value)} of the intents"
    words = f"The two that differ most are {least}: κ = {kappas[least].mean:.2f}{same}."
    title = "agreement κ beyond chance (1: always the same, 0: as by chance), 95 % intervals"
    return tag("p", tag("b", words)) + dots(kappas, title, to_one=True)


def errata(checks: Iterable[Check]) -> Markup:
    """Printed figures that do not follow from the others: both values on one scale, and what explains them."""
    rows = [each for each in checks if each.computed is not None and each.unit == "%"]
    values = {f"{each.what}": (each.printed, each.computed or 0.0) for each in rows}
    picture = two_values(values, ("printed", "recomputed"), "percent")
    return picture + tag("ul", *map(_erratum, rows), class_="dl-plain dl-small")


def _erratum(each: Check) -> Markup:
    printed, computed = each.row()[2:4]
    why = f": {each.note}" if each.note else f": {each.formula}"
    return tag("li", tag("b", each.what), f": printed {printed}, recomputed {computed}{why}.")


def case(planted: Case, leak: Finding | None, intent_text: str) -> Markup:
    """One planted case: what was put in, and what the audit made of it."""
    message = marked(leak) if leak else tag("div", planted.message, class_="da-said")
    alarmed = leak is not None and leak.severity == "alarm"
    head = [
        _mark("as it should be" if alarmed == planted.leak else "wrong", RIGHT),
        chip(planted.kind),
        tag("span", "alarm" if alarmed else "slight finding" if leak else "nothing found"),
        tag("span", f"{planted.talk}, turn {planted.turn}"),
    ]
    return _case(head, message, tag("span", f"hidden: {intent_text}") if intent_text else EMPTY)


# -- agreement --------------------------------------------------------------------------------------------------------


def disputes(cases: Sequence[Disagreement]) -> Markup:
    """Disagreements as a list to press, by their place."""
    shown = (
        tag(
            "button",
            tag("span", f"{each.conversation}, turn {each.turn}"),
            tag("small", "kind of reply" if each.intent == KIND else f"intent {each.intent}"),
            type="button",
            data_pick=str(place),
        )
        for place, each in enumerate(cases)
    )
    return tag("div", *shown, class_="dl-picks", role="group", aria_label="Disagreements")


def disagreement(case: Disagreement, conversation: Conversation) -> Markup:
    """One disagreement: the reply in question, the intent, and what each judge said, with reasons."""
    turn = conversation.turns[case.turn - 1]
    what = "What kind of reply is this?"
    if case.intent != KIND:
        what = f"Is [{case.intent}] “{conversation.tree.text(case.intent)}” engaged?"
    rows = [(each.judge, (each.value or "").replace("_", " "), each.reason) for each in case.labels]
    return show.beside(
        show.panel(f"{case.conversation}, turn {case.turn}: the reply", show.rich_text(turn.reply.text)),
        show.panel(what, show.table(("Judge", "Says", "Because"), rows)),
    )


# -- the paper --------------------------------------------------------------------------------------------------------


def beside(rows: Sequence[BesideRow]) -> Markup:
    """Ours and theirs in one shape; colour and first column say whose a row is."""
    classes = ("", "", "", *(TIGHT for _ in METRICS), "")
    body = (cells(each.row(), classes, class_="da-shaded" if each.whose == THE_PAPER else "da-ours") for each in rows)
    return grid(BESIDE_COLUMNS, body, BESIDE_NOTE, "da-table", classes)
