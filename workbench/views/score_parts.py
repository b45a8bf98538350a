"""HTML fragments for an evaluation: the answer in words, tables with intervals, pairs, pools, what would change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from discover_lib.metrics.intervals import INTERVAL, Estimate, percent
from discover_lib.metrics.paired import SIGNIFICANCE, Comparison, fewest_artifacts, least_p, p_text
from discover_lib.metrics.results import MEASURE, MEASURES, Measure, PoolWithout, Table, best_first
from discover_lib.metrics.satisfaction import request_named
from discover_lib.tasks.waist import Lines, Report
from discover_lib.tasks.waist import Table as WaistTable
from workbench.views import explain
from workbench.views.charts import Span, span_of, strip
from workbench.views.html import EMPTY, Markup, part, quiet, tag, term
from workbench.views.html import styled as styled
from workbench.views.theme import Look, named, short
from workbench.views.theme import looks as looks

FEWER = "If two assistants discover the same share, fewer is better."
Cell = dict[str, Any]  # of a table of `parts.jinja`
SEE_INTENTS = ("oracle",)  # assistants that are told what no assistant can know: upper bounds


def bullets(sentences: Iterable[str]) -> Markup:
    return tag("ul", *(tag("li", sentence) for sentence in sentences))


def made_under(configuration: Mapping[str, Any]) -> Markup:
    """What decides the numbers of a run, in one line: rules, who judged, spoke and scored, how long, how often."""
    engine = configuration.get("engine") or {}
    judge, voice = (engine.get(role, "not recorded") for role in ("judge", "voice"))
    scorer = "the miniature’s rules in place of a judge" if judge == "miniature" else judge
    facts: list[tuple[str, object]] = [
        ("Domain", (configuration.get("domain") or "trees of your own").replace("_", " ")),
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
    pairs = sorted((each for each in pairs if each.theirs in rivals), key=lambda each: abs(each.difference.mean))
    if all(each.too_few for each in pairs):
        return _too_few(table, rivals, measure, pairs[0].too_few_says)
    close = [each for each in pairs if not each.distinguishable]
    estimate = table[first][measure.name]
    notes = [FEWER] if measure.fewer_is_better else []
    leader = next((name for name in best_first(table, "share") if name in rivals), first)
    least, most = (table[name].get("share", estimate).mean for name in (first, leader))
    finds_less = measure.name in ("interactivity", "tokens") and least < most
    if finds_less:
        notes.append(f"{first} discovers {percent(least)} of the hidden intents, {leader} {percent(most)}.")
    notes += [f"{name} sees the hidden intents: an upper bound." for name in ranked if name in SEE_INTENTS]
    size = f" (n = {estimate.n_artifacts} artifacts)."
    lead = tag(
        "p",
        tag("b", first),
        f" {_leads(measure)}: ",
        tag("b", in_words(estimate.mean, measure)),
        _between(estimate, measure),
        size,
    )
    return tag(
        "div",
        lead,
        bullets(_verdict(each, measure) for each in pairs),
        quiet(" ".join(notes)) if notes else EMPTY,
        explain.explained("What does this number say?", explain.of_score(first, measure, estimate)),
        class_="ds-answer",
        data_tone="open" if close or finds_less else None,
    )


def _too_few(table: Table, rivals: Sequence[str], measure: Measure, why: str) -> Markup:
    """The means of assistants that met too few users for a verdict: no assistant leads."""
    count = table[rivals[0]][measure.name].n_artifacts
    lead = tag("p", tag("b", "Too few to tell"), f" which assistant is best: n = {count} artifact{'s' * (count != 1)}.")
    means = (f"{name}: {in_words(table[name][measure.name].mean, measure)}" for name in sorted(rivals))
    parts = (lead, bullets(means), quiet(f"{why[0].upper()}{why[1:]}."))
    return tag("div", *parts, class_="ds-answer", data_tone="open")


def _leads(measure: Measure) -> str:
    if measure.name == "share":
        return "discovers the largest share of the hidden intents"
    return f"has the {'lowest' if measure.fewer_is_better else 'highest'} {measure.label}"


def in_words(value: float, measure: Measure) -> str:
    """A number of a measure as a sentence writes it: a share as a percentage."""
    return percent(value) if measure.name == "share" else measure.shown(value)


def _between(estimate: Estimate, measure: Measure) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    return f", between {in_words(estimate.low, measure)} and {in_words(estimate.high, measure)}"


def _verdict(compared: Comparison, measure: Measure) -> Markup:
    """Whether the lead over one rival is real, its size, and the artifacts that it would take to know."""
    mean, size = compared.difference.mean, _apart(compared.difference, measure)
    if compared.too_few:
        said, words = "no verdict", f"{size}; {compared.too_few_says}. "
    else:
        said = "a real difference" if compared.distinguishable else "may be chance"
        words = f"{size}. "
    needed = None if compared.distinguishable or not mean else compared.needed(abs(mean))
    if needed and needed > compared.difference.n_artifacts and not compared.too_few:
        words += f"About {needed:,} artifacts would be enough. "
    why = explain.explained("Evidence", explain.of_comparison(compared, measure))
    return tag("b", f"{compared.theirs}: {said}. ") + words + why


def _apart(difference: Estimate, measure: Measure) -> str:
    """A difference with its interval, as "+6 points, between −2 and 13"."""

    def shown(value: float) -> str:
        return f"{100 * value:.0f}".replace("-", "−") if measure.name == "share" else measure.shown(value)

    unit = " points" if measure.name == "share" else ""
    size = f"{'+' if difference.mean > 0 else ''}{shown(difference.mean)}{unit}"
    if difference.low is None or difference.high is None:
        return size
    return f"{size}, between {shown(difference.low)} and {shown(difference.high)}"


def sentence(compared: Comparison, measure: Measure) -> str:
    """The verdict on one pair, with the artifacts that a difference of a useful size would take."""
    return f"{compared.sentence(measure.label, measure.worth_seeing, measure.shown)}."


def bounds(estimate: Estimate, measure: Measure) -> str:
    """An interval as "[0.55, 0.67]"; "" where there is none."""
    if estimate.low is None or estimate.high is None:
        return ""
    return f"[{measure.shown(estimate.low)}, {measure.shown(estimate.high)}]"


# -- table 1 ----------------------------------------------------------------------------------------------------------


def results(
    table: Table,
    users_of: Mapping[str, int],
    marks: Mapping[str, Look],
    order_by: str = "discovery",
    *,
    ceiling: Estimate | None = None,
    why_no_eq_4: str = "",
    measures: Sequence[Measure] = MEASURES,
) -> Markup:
    """Assistants × measures, every number with its interval and n.

    Args:
        users_of: how many users each measure is taken over.
        ceiling: of these users, which the share found is read beside.
        why_no_eq_4: why the discovery score is not defined, where it is not.
    """
    heads = [measure_head(each, table, users_of, ceiling, why_no_eq_4) for each in measures]
    spans = {each.name: span_of(row[each.name] for row in table.values() if each.name in row) for each in measures}
    rows = [
        (
            named(name, marks[name]),
            [_result(name, each, table[name].get(each.name), spans[each.name]) for each in measures],
        )
        for name in best_first(table, order_by)
    ]
    caption = f"Means over artifacts; {INTERVAL}. {against_ceiling(ceiling, table)}"
    return part("results", heads, rows, caption)


def against_ceiling(ceiling: Estimate | None, table: Table) -> str:
    """The highest share beside its ceiling, the share that perfect replies discover."""
    shares = {name: row["share"].mean for name, row in table.items() if "share" in row}
    best = max((name for name in shares if name not in SEE_INTENTS), key=shares.__getitem__, default="")
    if ceiling is None or not ceiling.mean or not best:
        return ""
    return f"Perfect replies discover {percent(ceiling.mean)}; {best} discovers {percent(shares[best])}."


def too_few_line(assistants: int) -> Markup:
    """From how many artifacts on this many assistants can be told apart, and why not with fewer."""
    pairs = assistants * (assistants - 1) // 2
    if not pairs:
        return EMPTY
    fewest = fewest_artifacts(pairs)
    corrected = f" after Holm over {pairs} pairs" if pairs > 1 else ""
    return quiet(
        f"Fewer than {fewest} artifacts are too few to tell. Even if all differences had the same sign, the "
        f"permutation test "
        f"cannot reach p < {SIGNIFICANCE}{corrected} ({fewest - 1}: {p_text(least_p(fewest - 1, pairs))} at best).",
        small=True,
    )


def measure_head(
    measure: Measure,
    table: Table,
    users_of: Mapping[str, int],
    ceiling: Estimate | None = None,
    why_no_eq_4: str = "",
) -> dict[str, Any]:
    """A measure as the heading of a column, with its n; what it means where it is pointed at."""
    sizes = {row[measure.name].n_artifacts for row in table.values() if measure.name in row}
    n = f"n = {max(sizes)} artifacts, {users_of.get(measure.name, 0):,} users" if sizes else "not scored"
    if measure.name == "discovery" and not sizes and why_no_eq_4:
        n = f"not defined: {why_no_eq_4}"
    reach = ceiling if measure.name == "proportion" else None
    return {
        "label": measure.label,
        "meaning": measure.meaning,
        "n": n,
        "fewer": measure.fewer_is_better,
        "ceiling": f"ceiling {reach} (n = {reach.n_artifacts} artifacts)" if reach else "",
    }


def _result(name: str, measure: Measure, estimate: Estimate | None, span: Span) -> Cell | None:
    if estimate is None:
        return None
    interval = bounds(estimate, measure) or "no interval: 1 artifact"
    return _cell(measure.shown(estimate.mean), interval, drawn=strip(estimate, span))


def _cell(number: str, interval: str, tone: str = "", title: str = "", drawn: Markup = EMPTY) -> Cell:
    """A cell of `parts.jinja`."""
    return {"number": number, "interval": interval, "tone": tone, "title": title, "drawn": drawn}


def for_paper(
    table: Table,
    users_of: Mapping[str, int],
    marks: Mapping[str, Look],
    measure: Measure,
    compared: Sequence[Comparison],
    *,
    ceiling: Estimate | None,
    why_no_eq_4: str,
    measures: Sequence[Measure] = MEASURES,
) -> list[tuple[str, Markup]]:
    """`results` and `pairs` under their headings, for a page that leads no further."""
    every = results(table, users_of, marks, measure.name, ceiling=ceiling, why_no_eq_4=why_no_eq_4, measures=measures)
    each_pair = pairs(table, compared, measure, marks)
    return [("How each assistant did", every), (f"Pairs in {measure.label}", each_pair)]


# -- pairs ------------------------------------------------------------------------------------------------------------


def pairs(
    table: Table,
    compared: Sequence[Comparison],
    measure: Measure,
    marks: Mapping[str, Look],
) -> Markup:
    """Every two assistants: row − column, whether they can be told apart, and every verdict in words."""
    order = [name for name in best_first(table, measure.name) if measure.name in table[name]]
    of_pair = {frozenset((each.ours, each.theirs)): each for each in compared}
    rows = []
    for place, ours in enumerate(order[:-1]):
        met = [of_pair.get(frozenset((ours, each))) if at > place else None for at, each in enumerate(order)]
        cells = [_pair(each.facing(ours), measure) if each else None for each in met[1:]]
        rows.append((named(ours, marks[ours]), cells))
    caption = (
        f"{measure.label}: row minus column with its 95% interval, on the same users. ▲ the row is better, "
        f"≈ not distinguishable (paired permutation"
        f"{f', Holm over {len(compared)} pairs' if len(compared) > 1 else ''})."
    )
    caption += next((f" ? {each.too_few_says}." for each in compared if each.too_few), "")
    verdicts = [sentence(each, measure) for each in compared]
    words = f"All {len(compared)} verdicts in words" if len(compared) > 1 else "The verdict in words"
    heads = [named(name, marks[name]) for name in order[1:]]
    return part("pairs", heads, rows, caption, words, verdicts)


def _pair(compared: Comparison, measure: Measure) -> Cell:
    mean, interval = compared.difference.mean, bounds(compared.difference, measure)
    better = (mean < 0) if measure.fewer_is_better else (mean > 0)
    verdict = "?" if compared.too_few else "≈" if not compared.distinguishable else "▲" if better else "▼"
    tone = "open" if not compared.distinguishable else "apart"
    size = f"{'+' if mean > 0 else '−' if mean < 0 else ''}{measure.shown(abs(mean))}"
    return _cell(f"{verdict} {size}", interval, tone, sentence(compared, measure))


# -- how much eq. 4 owes to the pool ----------------------------------------------------------------------------------


def pools(table: Table, without: Sequence[PoolWithout], marks: Mapping[str, Look]) -> Markup:
    """Eq. 4 in the whole pool and with one assistant left out, beside the raw share, which needs no pool."""
    if not without:
        return quiet("Two assistants have no smaller pool.")
    heads = [
        ("no pool", term("found")),
        ("whole pool", term("discovery score", "eq. 4")),
        *(("without", named(each.without, marks.get(each.without))) for each in without),
    ]
    rows = []
    for name in best_first(table):
        whole = table[name]["discovery"].mean if "discovery" in table[name] else None
        cells: list[Cell | None] = []
        for of in (MEASURE["proportion"], MEASURE["discovery"]):
            found = table[name].get(of.name)
            below = {"number": of.shown(found.mean), "below": bounds(found, of)} if found else None
            cells.append(below)
        for each in without:
            cells.append(_shifted(each.means.get(name), whole, each.without == name))
        rows.append((named(name, marks[name]), cells))
    caption = (
        f"The same conversations, scored with one assistant fewer in the pool: scores move by up to "
        f"{_furthest(table, without):.2f} although no reply changed."
    )
    return part("pools", heads, rows, caption)


def _furthest(table: Table, without: Sequence[PoolWithout]) -> float:
    """How far the score of anybody moves when one assistant leaves the pool."""
    shifts = (
        abs(mean - table[name]["discovery"].mean)
        for each in without
        for name, mean in each.means.items()
        if mean is not None and "discovery" in table[name]
    )
    return max(shifts, default=0.0)


def _shifted(mean: float | None, whole: float | None, itself: bool) -> Cell:
    """The score in a smaller pool, and how far it has moved; why there is none."""
    if itself or mean is None or whole is None:
        why = "" if itself else "the remaining assistants all found the same, for every user"
        return {"none": "–" if itself else "not defined", "why": why}
    shift = mean - whole
    shown = f"{'−' if shift < 0 else '+'}{abs(shift):.2f}" if round(shift, 2) else ""
    return {"none": "", "number": f"{mean:.2f}", "shift": shown, "far": int(abs(shift) >= 0.03)}


# -- what would change under other rules ------------------------------------------------------------------------------

CHANGES = {  # what became of a conclusion → its mark and what that means
    "lost": "○ no longer distinguishable",
    "gained": "● distinguishable only here",
    "reversed": "⇄ reversed",
}


def sensitivity_map(sensitivity: Mapping[str, Any], measure: Measure) -> Report:
    """Which conclusions flip under which setting, of one measure; settings and pairs that never flip are named below.

    Args:
        sensitivity: a `discover_lib.metrics.rescore.SensitivityMap` in plain form.
    """
    flips = {
        _setting(each): {
            (row["ours"], row["theirs"]): row["change"]
            for row in each["changes"][measure.name]
            if row["change"] != "same"
        }
        for each in sensitivity["outcomes"]
    }
    columns = list(dict.fromkeys(pair for changes in flips.values() for pair in changes))
    n_pairs = len(sensitivity["base"][measure.name])
    steady = [label for label, changes in flips.items() if not changes]
    notes = [f"{n_pairs - len(columns)} of {n_pairs} conclusions about {measure.label} hold under every setting."]
    notes += [f"No conclusion changes under: {', '.join(steady)}."] if steady else []
    told = Lines((*notes, *_unknown(sensitivity)))
    if not columns:
        return Report((told,))
    head = ("setting", *(f"{short(ours)}, {short(theirs)}" for ours, theirs in columns))
    rows = tuple(
        (label, *(CHANGES[changes[pair]] if pair in changes else "·" for pair in columns))
        for label, changes in flips.items()
        if changes
    )
    return Report((WaistTable(head, rows, f"Conclusions about {measure.label} that change"), told))


def _setting(outcome: Mapping[str, Any]) -> str:
    return f"{outcome['axis']} = {outcome['value']}" if outcome["value"] else outcome["axis"]


def _unknown(sensitivity: Mapping[str, Any]) -> Iterator[str]:
    """What replaying recorded judgements cannot know."""
    recheck = sensitivity["recheck"]
    equal = recheck["conversations"] - len(recheck["unequal"])
    yield (
        f"{equal} of {recheck['conversations']} conversations get their recorded score again under the run’s own rules."
    )
    worst = max(sensitivity["outcomes"], key=lambda each: each["unjudged"] / max(1, each["asked"]), default=None)
    if worst and worst["unjudged"]:
        share = worst["unjudged"] / worst["asked"]
        yield (
            f"Messages and replies do not change. Missing verdicts count as not engaged: at most "
            f"{percent(share)} of those that a setting calls for ({_setting(worst)})."
        )
