"""HTML fragments for the audit of a simulated user: certificate, leaks, agreement, the paper's figures.

Pure functions, except `certificate_chip`, which reads the folder of a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import quote

from discover_lib.base.files import outputs_folder
from discover_lib.base.leak_words import NOT_CHECKED
from discover_lib.base.words import counted
from discover_lib.core.conversation import Conversation
from discover_lib.metrics.agreement import KIND, Agreement, Disagreement
from discover_lib.metrics.intervals import Estimate, percent
from discover_lib.tasks.certify import trust_in
from discover_lib.tasks.leaks import BEYOND, DECOYS, PLANTED, TWIN, UNREAD, Audit, Finding, Scored
from discover_lib.tasks.paper_numbers import (
    BESIDE_COLUMNS,
    BESIDE_NOTE,
    METRICS,
    THE_PAPER,
    BesideRow,
)
from workbench.views import conversation_parts as show
from workbench.views.figures.charts import dots
from workbench.views.html import Markup, cells, chip, grid, quiet, tag
from workbench.views.html import styled as styled

TIGHT, NUMBER = "da-tight", "da-tight dl-num"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], caption: str, classes: Sequence[str]) -> Markup:
    """A table whose columns of these classes may break into lines or may not."""
    headings = [name.replace(" dl-num", "") for name in classes]
    return grid(head, (cells(row, classes) for row in rows), caption, "da-table", headings)


# -- the certificate --------------------------------------------------------------------------------------------------


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
    alarms = (
        f"{len(result.alarms)} of {result.turns:,} user messages may have a leak" if result.turns else "no user turn"
    )
    rest = f"; a person should read {slight} slight findings" if slight else ""
    tone = "warn" if result.alarms else "open" if result.unchecked else None
    unread = UNREAD.format(counted(result.unchecked, "user turn")) if result.unchecked else ""
    if unread and not result.turns:
        return tag("p", tag("b", NOT_CHECKED), f": {unread}.", class_="dl-told", data_tone=tone)
    rest += f"; {unread}" if unread else ""
    words = f": {result.alarm_rate} with its 95% interval{rest}."
    return tag("p", tag("b", alarms), words, class_="dl-told", data_tone=tone)


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
    words = f"The check finds {recall} of the planted leaks. {precision} of its alarms are leaks."
    kinds = {name: result.alarmed((name,)) for name in (*PLANTED, *BEYOND, *DECOYS, TWIN)}
    leaks = (*PLANTED, *BEYOND)
    rows = {
        f"{'leak' if name in leaks else 'no leak'}: {name}": Estimate(each.value, each.low, each.high, each.n, each.n)
        for name, each in kinds.items()
        if each.value is not None
    }
    return tag("p", tag("b", words)) + dots(
        rows, "share with a possible leak, 95% Wilson intervals", to_one=True, one_look=True
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
        return quiet("Agreement is not defined here for any two judges.")
    least = min(kappas, key=lambda name: kappas[name].mean)
    share = two[least].percent
    same = ""
    if share is not None and share.value is not None:
        same = f"; they agree on {percent(share.value)} of the intents"
    words = f"The two that differ most are {least}: κ = {kappas[least].mean:.2f}{same}."
    title = "agreement κ beyond chance (1: always the same, 0: same as chance), 95% intervals"
    return tag("p", tag("b", words)) + dots(kappas, title, to_one=True)


# -- agreement --------------------------------------------------------------------------------------------------------


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
