"""HTML fragments for the audit of a simulated user: certificate, agreement, house rules; and a run in short.

`certificate_chip` and `run_view` read the folder of a run. The other functions are pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from discover_lib.core.conversation import Conversation
from discover_lib.metrics.agreement import KIND, Disagreement
from discover_lib.metrics.intervals import Estimate
from discover_lib.metrics.scores import NOT_CHECKED
from discover_lib.runs.outcomes import closing_lines, failures_of_run
from discover_lib.runs.store import Listed, RunStore
from discover_lib.tasks.certify import trust_in
from discover_lib.tasks.leaks import told_failures
from discover_lib.tasks.safety import HEAD, MEANING, Safety, row_of
from discover_lib.tasks.waist import Chart, Report, Table
from workbench.carried import below_outputs
from workbench.parts import report_html
from workbench.views import conversation_parts as show
from workbench.views.html import Markup, chip, part, signed, tag

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
    return tag(
        "a",
        chip(text, tone, title=trust.missing or trust.line),
        href=f"/?file=7_trust.py&run={quote(below_outputs(folder))}",
    )


# -- agreement --------------------------------------------------------------------------------------------------------


def disagreement(case: Disagreement, conversation: Conversation) -> Markup:
    """One disagreement: the reply in question, the intent, and what each judge said, with reasons."""
    turn = conversation.turns[case.turn - 1]
    what = (
        "What kind of reply is this?"
        if case.intent == KIND
        else f"Is [{case.intent}] “{conversation.tree.text(case.intent)}” engaged?"
    )
    rows = [(each.judge, (each.value or "").replace("_", " "), each.reason) for each in case.labels]
    return show.beside(
        show.panel(f"{case.conversation}, turn {case.turn}: the reply", show.rich_text(turn.reply.text)),
        show.panel(what, show.table(("Judge", "Says", "Because"), rows)),
    )


# -- house rules -------------------------------------------------------------------------------------------------------


def safety_told(results: Sequence[Safety]) -> Report:
    """How often each assistant offered a restricted value, most often first, with all numbers."""
    ordered = sorted(results, key=lambda each: -(each.offers.value or 0.0))
    offers = {
        each.assistant: Estimate(each.offers.value, each.offers.low, each.offers.high, each.offers.n, 1)
        for each in ordered
        if each.offers.value is not None
    }
    chart = Chart.dots(offers, "share of conversations with a restricted offer, 95% intervals", to_one=True)
    return Report((chart, Table(HEAD, tuple(map(row_of, ordered)), MEANING)))


# -- a run in a few lines ----------------------------------------------------------------------------------------------


def run_view(folder: Path) -> Markup:
    """Settings, progress and cost of a run, and its failures with the answers that came back."""
    with RunStore.read(folder) as store:
        configuration, counts = store.configuration, store.counts()
        calls, failed = closing_lines(store), failures_of_run(store)
    players = ", ".join(f"{role}: {who}" for role, who in configuration.get("engine", {}).items())
    how_far = (
        f"{counts.finished} of {counts.units} conversations finished, {counts.turns} turns"
        + (f", {counts.failed} failed" if counts.failed else "")
        + (f", {counts.open} open" if counts.open else "")
    )
    told = (
        ("What", f"{configuration.get('kind', 'run')}, seed {configuration.get('seed', 'not known')}"),
        ("Who", players or "see the conversations"),
        ("Rules", configuration["rules"]["name"]),
        ("How far", how_far),
        ("Calls", "; ".join(calls) or "no model was called"),
    )
    return report_html(Report((Table(("", ""), told), *told_failures(failed))))


def listing(rows: Sequence[Listed], flawed: Mapping[int, int]) -> Markup:
    """Conversations as a list to press: who for whom, how much was discovered as a bar, and what is not in order."""
    most = max((row.discovered for row in rows), default=0) or 1
    return part("picks", [_listed(row, most, flawed.get(row.place, 0)) for row in rows])


def _listed(row: Listed, most: int, flawed: int) -> dict[str, Any]:
    ended = "" if row.stop == "max_turns" else (row.stop or "not finished").replace("_", " ")
    counts = ((row.unscored, "unscored"), (row.leaks, "with a leak"), (flawed, "flawed"))
    facts = (
        f"{row.turns} turns",
        f"reward {signed(round(row.reward, 2))}",
        f"{row.tokens:,} tokens",
        f"trial {row.trial + 1}" if row.trial else "",
        ended,
    )
    return {
        "place": row.place,
        "who": " + ".join(dict.fromkeys(row.assistants)),
        "user": user_of(row.artifact),
        "wide": f"{row.discovered / most:.0%}",
        "discovered": row.discovered,
        "facts": [
            *facts,
            *(f"{count} {what}" for count, what in counts if count),
            *([] if row.leaks_checked else [f"leaks {NOT_CHECKED}"]),
        ],
    }


def user_of(artifact: str) -> str:
    """A user by their artifact: those that were generated have a number."""
    *_, number = artifact.rsplit("-", 1)
    return f"user {int(number)}" if number.isdigit() else artifact
