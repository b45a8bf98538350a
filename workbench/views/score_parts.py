"""An evaluation on a page: the answer in words, pairs and pools as reports, and the conversations behind a score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discover_lib.base.words import counted
from discover_lib.core.conversation import Conversation
from discover_lib.metrics.intervals import INTERVAL, Estimate, percent
from discover_lib.metrics.paired import TEST, Comparison, fewest_artifacts
from discover_lib.metrics.results import MEASURE, Measure, PoolWithout, Table, best_first
from discover_lib.metrics.satisfaction import SATISFIED, LeafScore, request_named
from discover_lib.metrics.scores import Assessment
from discover_lib.tasks.waist import Interval, Lines, Mark, Report, Tone
from discover_lib.tasks.waist import Table as WaistTable
from workbench.views import conversation_parts as show
from workbench.views.html import EMPTY, Markup, quiet, tag
from workbench.views.located import parting
from workbench.views.theme import Look, named, named_in_full

FEWER = "If two assistants discover the same share, fewer is better."
TONES: dict[int, Tone] = {1: "good", 0: "open"}  # of a conclusion
SEE_INTENTS = ("oracle",)  # assistants that are told what no assistant can know: upper bounds


def bullets(sentences: Iterable[str]) -> Markup:
    return tag("ul", *(tag("li", sentence) for sentence in sentences))


def made_under(configuration: Mapping[str, Any]) -> Markup:
    """What decides the numbers of a run, in one line: rules, who judged, spoke and scored, how long, how often."""
    engine = configuration.get("engine") or {}
    judge, voice = (engine.get(role, "not recorded") for role in ("judge", "voice"))
    scorer = "the miniature’s rules in place of a judge" if judge == "miniature" else judge
    facts: list[tuple[str, object]] = [
        ("Domain", (configuration.get("domain") or "own artifacts").replace("_", " ")),
        ("Rules", configuration["rules"]["name"]),
        ("Judge", judge),
        ("Voice", voice),
        ("Satisfaction, interactivity and behavior judged by", scorer),
        ("Turns", configuration.get("turns", "not recorded")),
        ("Trials", configuration.get("trials", "not recorded")),
        ("Seed", configuration.get("seed", "not recorded")),
    ]
    if configuration.get("kind") == "evaluate":
        facts.append(("Final request", request_named(configuration.get("final_request"), "another")))
    return quiet("; ".join(f"{name.lower() if at else name}: {value}" for at, (name, value) in enumerate(facts)) + ".")


# -- the answer -------------------------------------------------------------------------------------------------------


def answer(table: Table, compared: Sequence[Comparison], measure: Measure) -> Markup:
    """Which assistant is best in a measure, and whether its lead over the others is real, in plain words."""
    ranked = [name for name in best_first(table, measure.name) if measure.name in table[name]]
    rivals = [name for name in ranked if name not in SEE_INTENTS]
    if len(rivals) < 2:
        return tag("p", "Nothing to compare: fewer than two assistants have this measure.", class_="ds-answer")
    first = rivals[0]
    pairs = [each.facing(first) for each in compared if first in (each.ours, each.theirs)]
    pairs = sorted((each for each in pairs if each.theirs in rivals), key=lambda each: rivals.index(each.theirs))
    if all(each.too_few for each in pairs):
        return _too_few(table, rivals, measure, fewest_artifacts(pairs[0].family))
    close = [each for each in pairs if not each.distinguishable]
    estimate = table[first][measure.name]
    notes = [FEWER] if measure.fewer_is_better else []
    leader = next((name for name in best_first(table, "share") if name in rivals), first)
    least, most = (table[name].get("share", estimate).mean for name in (first, leader))
    finds_less = measure.name in ("interactivity", "tokens") and least < most
    if finds_less:
        notes.append(f"{first} discovers {percent(least)} of the hidden intents, {leader} {percent(most)}.")
    notes += [f"{name} sees the hidden intents: an upper bound." for name in ranked if name in SEE_INTENTS]
    lead = tag(
        "p",
        tag("b", first),
        f" {_leads(measure)}: ",
        tag("b", in_words(estimate.mean, measure)),
        _between(estimate, measure),
        f" (n = {estimate.n_artifacts} artifacts).",
    )
    parts = (lead, bullets(_verdict(each, measure) for each in pairs), quiet(" ".join(notes)) if notes else EMPTY)
    tone = "open" if finds_less or len(close) == len(pairs) else "part" if close else None
    return tag("div", *parts, class_="ds-answer", data_tone=tone)


def _too_few(table: Table, rivals: Sequence[str], measure: Measure, enough: int) -> Markup:
    """The means of assistants that met too few users for a verdict: no assistant leads.

    Args:
        enough: the number of artifacts from which a verdict is possible.
    """
    artifacts = counted(table[rivals[0]][measure.name].n_artifacts, "artifact")
    lead = tag("p", tag("b", "Too few artifacts to tell"), f" which is best: {artifacts} here, {enough} for a verdict.")
    means = (f"{name}: {in_words(table[name][measure.name].mean, measure)}" for name in rivals)
    return tag("div", lead, bullets(means), class_="ds-answer", data_tone="open")


def _leads(measure: Measure) -> str:
    if measure.name == "share":
        return "discovers the largest share of the hidden intents"
    return f"has the {'lowest' if measure.fewer_is_better else 'highest'} {named_in_full(measure)}"


def in_words(value: float, measure: Measure) -> str:
    """A number of a measure as a sentence writes it: a share as a percentage."""
    return percent(value) if measure.name == "share" else measure.shown(value)


def _between(estimate: Estimate, measure: Measure) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    return f", between {in_words(estimate.low, measure)} and {in_words(estimate.high, measure)}"


def _verdict(compared: Comparison, measure: Measure) -> Markup:
    """Whether the lead over one rival is real, its size, and the artifacts that it would take to know."""
    mean, words = compared.difference.mean, f"{_apart(compared.difference, measure)}. "
    said = "a real difference" if compared.distinguishable else "may be chance"
    said = "too few artifacts" if compared.too_few else said
    needed = None if compared.distinguishable or not mean else compared.needed(abs(mean))
    if needed and needed > compared.difference.n_artifacts and not compared.too_few:
        words += f"About {needed:,} artifacts would be enough to tell."
    return tag("b", f"{compared.theirs}: {said}. ") + words


def _apart(difference: Estimate, measure: Measure) -> str:
    """A difference with its interval, as "+6 points, between −2 and 13"."""

    def shown(value: float) -> str:
        return f"{100 * value:.0f}".replace("-", "−") if measure.name == "share" else measure.shown(value)

    unit = " points" if measure.name == "share" else ""
    size = f"{'+' if difference.mean > 0 else ''}{shown(difference.mean)}{unit}"
    if difference.low is None or difference.high is None:
        return size
    return f"{size}, between {shown(difference.low)} and {shown(difference.high)}"


def bounds(estimate: Estimate, measure: Measure) -> str:
    """An interval as "[0.55, 0.67]"; "" where there is none."""
    if estimate.low is None or estimate.high is None:
        return ""
    return f"[{measure.shown(estimate.low)}, {measure.shown(estimate.high)}]"


def against_ceiling(ceiling: Estimate | None, table: Table) -> str:
    """The highest share beside its ceiling, the share that perfect replies discover."""
    shares = {name: row["share"].mean for name, row in table.items() if "share" in row}
    best = max((name for name in shares if name not in SEE_INTENTS), key=shares.__getitem__, default="")
    if ceiling is None or not ceiling.mean or not best:
        return ""
    return f"Perfect replies discover {percent(ceiling.mean)}; {best} discovers {percent(shares[best])}."


# -- pairs, and how much eq. 4 owes to the pool -----------------------------------------------------------------------


def pairs(compared: Sequence[Comparison], measure: Measure) -> Report:
    """Every two assistants: the difference, the higher one first, and whether they can be told apart."""
    higher = [each if each.difference.mean >= 0 else each.facing(each.theirs) for each in compared]
    rows = tuple(
        (
            each.ours,
            each.theirs,
            Interval.of(each.difference),
            Mark(each.verdict, TONES[each.conclusion]),
            each.certainty,
        )
        for each in sorted(higher, key=lambda each: -each.difference.mean)
    )
    title = f"{named_in_full(measure)}, differences on the same users: {INTERVAL}; {TEST}"
    return Report((WaistTable(("assistant", "minus", "difference", "verdict", "because"), rows, title),))


def pools(table: Table, without: Sequence[PoolWithout]) -> Report:
    """Eq. 4 in the whole pool and with one assistant left out, beside the raw share, which needs no pool."""
    if not without:
        return Report((Lines(("Two assistants have no smaller pool.",)),))
    columns = ("assistant", MEASURE["proportion"].label, "eq. 4", *(f"without {each.without}" for each in without))
    rows = tuple(
        (
            name,
            *(Interval.of(table[name][of]) if of in table[name] else None for of in ("proportion", "discovery")),
            *(_shifted(each.means.get(name), table[name].get("discovery")) for each in without),
        )
        for name in best_first(table)
    )
    title = "The same conversations, scored with one assistant fewer in the pool. In brackets: the shift."
    return Report((WaistTable(columns, rows, title),))


def _shifted(mean: float | None, whole: Estimate | None) -> str:
    """The score in a smaller pool, and how far it has moved."""
    return "–" if mean is None or whole is None else f"{mean:.2f} ({mean - whole.mean:+.2f})".replace("-", "−")


# -- behind a score: one conversation ---------------------------------------------------------------------------------


def assessed(conversation: Conversation, assessment: Assessment | None) -> Markup:
    """How the finished piece and the way to it were scored, with reasons; what is unscored says so."""
    if assessment is None:
        return show.panel("Scores", quiet("Not assessed yet."))
    manner = EMPTY
    if assessment.behaviour is not None:
        rows = [(str(each.turn), each.behaviour or "neither", each.reason) for each in assessment.behaviour]
        manner = show.table(("turn", "is", "because"), rows)
    final = conversation.final
    made = quiet("None.") if final is None else show.rich_text(final.reply.text)
    return show.part("assessed", assessment, made, _leaves(conversation, assessment.satisfaction), manner)


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


# -- two conversations with the same user -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Side:
    """One of two conversations with the same user."""

    name: str
    look: Look | None
    conversation: Conversation

    @property
    def title(self) -> Markup:
        return named(self.name, self.look)


def turns_beside(ours: Side, theirs: Side) -> Markup:
    """Both conversations turn by turn, the first turn at which they part marked."""
    apart = parting(ours.conversation, theirs.conversation)
    longest = max(len(ours.conversation.turns), len(theirs.conversation.turns))
    pairs = [
        (number, number == apart, [_column(side, number) for side in (ours, theirs)])
        for number in range(1, longest + 1)
    ]
    return show.part("turns_beside", ours.conversation.tree.initial_request, pairs)


def _column(side: Side, number: int) -> dict[str, Any]:
    """One turn of one side; without a turn where the conversation had ended."""
    if number > len(side.conversation.turns):
        return {"title": side.title, "turn": None}
    turn = side.conversation.turns[number - 1]
    return {"title": side.title, "turn": turn, "answer": show.user_message(turn)}
