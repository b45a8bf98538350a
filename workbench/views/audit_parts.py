"""HTML fragments for the audit of a simulated user: certificate, leaks, agreement, house rules; and a run in short.

`certificate_chip` and `run_view` read the folder of a run. The other functions are pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from discover_lib.base.files import outputs_folder
from discover_lib.base.leak_words import NOT_CHECKED
from discover_lib.base.words import counted
from discover_lib.core.conversation import Conversation
from discover_lib.metrics.agreement import KIND, Agreement, Disagreement
from discover_lib.metrics.intervals import Estimate, Share, percent
from discover_lib.runs.outcomes import closing_lines, failures_of_run
from discover_lib.runs.store import Listed, RunStore
from discover_lib.tasks.certify import trust_in
from discover_lib.tasks.leaks import UNREAD, Audit, told_failures
from discover_lib.tasks.safety import HEAD, MEANING, Safety, row_of
from discover_lib.tasks.waist import Report, Table
from workbench.parts import report_html
from workbench.views import conversation_parts as show
from workbench.views.charts import dots
from workbench.views.html import Markup, chip, more, part, quiet, signed, table, tag
from workbench.views.html import styled as styled

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


def agreement_picture(rows: Iterable[Agreement]) -> Markup:
    """How far every two judges agree on the intents: κ with its interval, and the sentence of the lowest."""
    two = {" / ".join(each.judges): each for each in rows if each.group == "all intents"}
    kappas = {
        name: Estimate(each.kappa.value, each.kappa.low, each.kappa.high, each.conversations, each.n)
        for name, each in two.items()
        if each.kappa.value is not None
    }
    if not kappas:
        return quiet("Agreement is not defined here for any two judges.")
    least = min(kappas, key=lambda name: kappas[name].mean)
    share = two[least].percent.value
    same = "" if share is None else f"; they agree on {percent(share)} of the intents"
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


# -- house rules -------------------------------------------------------------------------------------------------------


def safety_answer(results: Sequence[Safety]) -> Markup:
    """How often each assistant offered a restricted value, most often first, and the differences in words."""
    first = results[0].assistant
    verdicts = [tag("li", tag("b", each.assistant), _against(each.difference, first)) for each in results[1:]]
    rows = _estimates({each.assistant: each.offers for each in most_first(results)})
    picture = dots(rows, "share of conversations with a restricted offer, 95% intervals", to_one=True)
    return picture + tag("ul", *verdicts)


def most_first(results: Sequence[Safety]) -> list[Safety]:
    """The assistants that offer restricted values most often, first."""
    return sorted(results, key=lambda each: -(each.offers.value or 0.0))


def _against(difference: Estimate | None, first: str) -> str:
    if difference is None or difference.low is None or difference.high is None:
        return f" is not compared with {first}: it had other users, or too few."
    points = f"{100 * abs(difference.mean):.0f} points"
    mean, low, high = map(_in_points, (difference.mean, difference.low, difference.high))
    bounds = f"[{low}, {high}]"
    if difference.low <= 0 <= difference.high:
        return f" is not distinguishable from {first} with these users: {mean} points {bounds}."
    how = "more" if difference.mean > 0 else "less"
    return f" offers restricted content {points} {how} often than {first}, with the same users {bounds}."


def _in_points(share: float) -> str:
    """A difference of shares in points, with its sign; 0 has none."""
    points = round(100 * share)
    return f"{points:+d}".replace("-", "−") if points else "0"


def _estimates(shares: Mapping[str, Share]) -> dict[str, Estimate]:
    """Name → share with its interval, where it is defined."""
    return {
        name: Estimate(each.value, each.low, each.high, each.n, 1)
        for name, each in shares.items()
        if each.value is not None
    }


def safety_table(results: Sequence[Safety]) -> Markup:
    """All numbers, folded away."""
    return more("All numbers", table(HEAD, map(_unbroken, map(row_of, results))), quiet(MEANING, small=True))


def _unbroken(row: Sequence[str]) -> list[Markup]:
    """Cells whose numbers stay whole, an interval below its mean."""
    return [tag("span", cell.replace(" [", "\n["), class_="dl-num dl-lines") for cell in row]


# -- a run in a few lines ----------------------------------------------------------------------------------------------


def run_view(folder: Path) -> Markup:
    """Settings, progress and cost of a run, its failures with the answers that came back, and its model calls."""
    with RunStore.read(folder) as store:
        configuration, counts, lengths = store.configuration, store.counts(), store.calls.lengths()
        calls, failed = closing_lines(store), failures_of_run(store)
    players = ", ".join(f"{role}: {who}" for role, who in configuration.get("engine", {}).items())
    how_far = f"{counts.finished} of {counts.units} conversations finished, {counts.turns} turns"
    how_far += f", {counts.failed} failed" if counts.failed else ""
    how_far += f", {counts.open} open" if counts.open else ""
    told = (
        ("What", f"{configuration.get('kind', 'run')}, seed {configuration.get('seed', 'not known')}"),
        ("Who", players or "see the conversations"),
        ("Rules", configuration["rules"]["name"]),
        ("How far", how_far),
        ("Calls", "; ".join(calls) or "no model was called"),
    )
    asked = [(purpose, f"{count:,}", f"{into:,.0f}", f"{out:,.0f}") for purpose, (count, into, out) in lengths.items()]
    head = ("Purpose", "Calls", "Tokens in, mean", "Tokens out, mean")
    called = (Table(head, tuple(asked)),) if asked else ()
    return report_html(Report((Table(("", ""), told), *told_failures(failed), *called)))


def listing(rows: Sequence[Listed], flawed: Mapping[int, int]) -> Markup:
    """Conversations as a list to press: who for whom, how much was discovered as a bar, and what is not in order."""
    most = max((row.discovered for row in rows), default=0) or 1
    return part("picks", [_listed(row, most, flawed.get(row.place, 0)) for row in rows])


def _listed(row: Listed, most: int, flawed: int) -> dict[str, Any]:
    ended = "" if row.stop == "max_turns" else (row.stop or "not finished").replace("_", " ")
    counts = ((row.unscored, "unscored"), (row.leaks, "with a leak"), (flawed, "flawed"))
    odd = [f"{count} {what}" for count, what in counts if count]
    odd += [] if row.leaks_checked else [f"leaks {NOT_CHECKED}"]
    trial = f"trial {row.trial + 1}" if row.trial else ""
    facts = (f"{row.turns} turns", f"reward {signed(round(row.reward, 2))}", f"{row.tokens:,} tokens", trial, ended)
    return {
        "place": row.place,
        "who": " + ".join(dict.fromkeys(row.assistants)),
        "user": _user(row.artifact),
        "wide": f"{row.discovered / most:.0%}",
        "discovered": row.discovered,
        "facts": [*facts, *odd],
    }


def _user(artifact: str) -> str:
    """A user by their artifact: those that were generated have a number."""
    *_, number = artifact.rsplit("-", 1)
    return f"user {int(number)}" if number.isdigit() else artifact
