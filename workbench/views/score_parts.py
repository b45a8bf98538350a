"""HTML fragments for an evaluation: the answer in words, tables with intervals, pairs, pools, what would change.

Elements with `data-id` carry the `discover://` id of what their numbers stand on: the
functions that take `ids`, the id of all that is measured, write it.
"""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from discover_lib.base.glossary import meaning
from discover_lib.base.ids import DiscoverId
from discover_lib.base.leak_words import leaks_told
from discover_lib.metrics.intervals import INTERVAL, Estimate, percent
from discover_lib.metrics.near_misses import NEAR_MISS_COLUMNS, FarmedTurn, NearMisses
from discover_lib.metrics.paired import SIGNIFICANCE, Comparison, fewest_artifacts, least_p, p_text
from discover_lib.metrics.results import (
    MEASURE,
    MEASURES,
    Measure,
    Pool,
    PoolWithout,
    Table,
    best_first,
    curve,
    manner,
    pools_without,
)
from discover_lib.metrics.satisfaction import choices_of, leaves_line
from workbench.views import explain
from workbench.views.figures.charts import (
    Span,
    families,
    intervals,
    span_of,
    strip,
    tokens_against_discovery,
    turn_curves,
)
from workbench.views.figures.theme import Look, named, short
from workbench.views.figures.theme import looks as looks
from workbench.views.html import EMPTY, Markup, explained, grid, hidden, joined, more, quiet, tag, term
from workbench.views.html import styled as styled

FEWER = "If two assistants discover the same share, fewer is better."
ENDINGS = {  # ends of a conversation, in words
    "all_discovered": "all discovered",
    "all_satisfied": "all satisfied",
    "max_turns": "after the last turn",
    "error": "error",
    "open": "not finished",
}
SEE_INTENTS = ("oracle",)  # assistants that are told what no assistant can know: upper bounds


def picked(value: str) -> tuple[str, ...]:
    """The number that an address names: ("cell", assistant, measure) or ("pair", ours, theirs); else ()."""
    try:
        parts = json.loads(value) if value else []
    except (ValueError, RecursionError):
        return ()
    return tuple(parts) if isinstance(parts, list) and not any(isinstance(part, list | dict) for part in parts) else ()


def captioned(head: Sequence[str], rows: Iterable[Markup], caption: str, class_: str = "") -> Markup:
    """A table of finished rows; the caption stands above what scrolls, so that a narrow page does not cut it off."""
    return tag("p", caption, class_="ds-caption") + grid(head, rows, class_=f"ds-table {class_}".strip())


def row(name: str, cells: Iterable[Markup], **attributes: str | None) -> Markup:
    """A row of a heading and finished cells."""
    return tag("tr", tag("th", name, scope="row"), *cells, **attributes)


def cell(content: str) -> Markup:
    return tag("td", content)


def stands_on(content: str, ids: DiscoverId | None, **named: Any) -> Markup:
    """Content that carries the id of what its numbers stand on: `ids`, narrowed to what is named."""
    return tag("span", content, **_id(ids, **named))


def _id(ids: DiscoverId | None, **named: Any) -> dict[str, str]:
    return {} if ids is None else {"data_id": str(dataclasses.replace(ids, **named))}


def bullets(sentences: Iterable[str]) -> Markup:
    return tag("ul", *(tag("li", sentence) for sentence in sentences))


def made_under(configuration: Mapping[str, Any]) -> Markup:
    """What decides the numbers of a run, in one line: rules, who judged, spoke and scored, how long, how often."""
    engine = configuration.get("engine") or {}
    judge, voice = (engine.get(role, "not recorded") for role in ("judge", "voice"))
    scorer = "the miniature’s rules in place of a judge" if judge == "miniature" else judge
    facts = (
        ("Domain", (configuration.get("domain") or "trees of your own").replace("_", " ")),
        ("Rules", configuration["rules"]["name"]),
        ("Judge", judge),
        ("Voice", voice),
        ("Satisfaction, interactivity and behavior judged by", scorer),
        ("Turns", configuration.get("turns", "not recorded")),
        ("Trials", configuration.get("trials", "not recorded")),
        ("Seed", configuration.get("seed", "not recorded")),
        *choices_of(configuration),
    )
    return quiet("; ".join(f"{name.lower() if at else name}: {value}" for at, (name, value) in enumerate(facts)) + ".")


# -- the answer -------------------------------------------------------------------------------------------------------


def answer(table: Table, compared: Sequence[Comparison], measure: Measure, ids: DiscoverId | None = None) -> Markup:
    """Which assistant is best in a measure, and whether its lead over the others is real, in plain words."""
    ranked = [name for name in best_first(table, measure.name) if measure.name in table[name]]
    rivals = [name for name in ranked if name not in SEE_INTENTS]
    if len(rivals) < 2:
        return tag("p", "Nothing to compare: fewer than two assistants have this measure.", class_="ds-answer")
    first = rivals[0]
    pairs = [each.facing(first) for each in compared if first in (each.ours, each.theirs)]
    pairs = sorted((each for each in pairs if each.theirs in rivals), key=lambda each: abs(each.difference.mean))
    if all(each.too_few for each in pairs):
        return _too_few(table, rivals, measure, pairs[0].too_few_says, ids)
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
        bullets(_verdict(each, measure, ids) for each in pairs),
        quiet(" ".join(notes)) if notes else EMPTY,
        explain.explained("What does this number say?", explain.of_score(first, measure, estimate)),
        class_="ds-answer",
        data_tone="open" if close or finds_less else None,
        **_id(ids, assistants=first, measure=measure.label),
    )


def _too_few(table: Table, rivals: Sequence[str], measure: Measure, why: str, ids: DiscoverId | None) -> Markup:
    """The means of assistants that met too few users for a verdict: no assistant leads."""
    count = table[rivals[0]][measure.name].n_artifacts
    lead = tag("p", tag("b", "Too few to tell"), f" which assistant is best: n = {count} artifact{'s' * (count != 1)}.")
    means = (f"{name}: {in_words(table[name][measure.name].mean, measure)}" for name in sorted(rivals))
    parts = (lead, bullets(means), quiet(f"{why[0].upper()}{why[1:]}."))
    return tag("div", *parts, class_="ds-answer", data_tone="open", **_id(ids, measure=measure.label))


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


def _verdict(compared: Comparison, measure: Measure, ids: DiscoverId | None) -> Markup:
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
    pair = {"assistants": compared.ours, "against": compared.theirs, "measure": measure.label}
    why = explain.explained("Evidence", explain.of_comparison(compared, measure))
    return stands_on(tag("b", f"{compared.theirs}: {said}. ") + words, ids, **pair) + why


def _apart(difference: Estimate, measure: Measure) -> str:
    """A difference with its interval, as "+6 points, between −2 and 13"."""

    def shown(value: float) -> str:
        return f"{100 * value:.0f}".replace("-", "−") if measure.name == "share" else measure.shown(value)

    unit = " points" if measure.name == "share" else ""
    size = f"{'+' if difference.mean > 0 else ''}{shown(difference.mean)}{unit}"
    if difference.low is None or difference.high is None:
        return size
    return f"{size}, between {shown(difference.low)} and {shown(difference.high)}"


def _sentence(compared: Comparison, measure: Measure, ids: DiscoverId | None) -> Markup:
    pair = {"assistants": compared.ours, "against": compared.theirs, "measure": measure.label}
    return stands_on(sentence(compared, measure), ids, **pair)


def sentence(compared: Comparison, measure: Measure) -> str:
    """The verdict on one pair, with the artifacts that a difference of a useful size would take."""
    return f"{compared.sentence(measure.label, measure.worth_seeing, measure.shown)}."


def _bounds(estimate: Estimate, measure: Measure) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    return f" [{measure.shown(estimate.low)}, {measure.shown(estimate.high)}]"


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
    ids: DiscoverId | None = None,
) -> Markup:
    """Assistants × measures, every number with its interval and n.

    Args:
        users_of: how many users each measure is taken over.
        ceiling: of these users, which the share found is read beside.
        why_no_eq_4: why the discovery score is not defined, where it is not.
    """
    head = ["assistant", *(measure_head(each, table, users_of, ceiling, why_no_eq_4, ids) for each in measures)]
    spans = {each.name: span_of(row[each.name] for row in table.values() if each.name in row) for each in measures}
    rows = (
        row(
            named(name, marks[name]),
            (_result(name, each, table[name].get(each.name), spans[each.name], ids) for each in measures),
        )
        for name in best_first(table, order_by)
    )
    caption = f"Means over artifacts; {INTERVAL}. {against_ceiling(ceiling, table)}"
    return captioned(head, rows, caption, "ds-results")


def against_ceiling(ceiling: Estimate | None, table: Table) -> str:
    """The highest share beside its ceiling, the share that perfect replies discover."""
    shares = {name: row["share"].mean for name, row in table.items() if "share" in row}
    best = max((name for name in shares if name not in SEE_INTENTS), key=shares.__getitem__, default="")
    if ceiling is None or not ceiling.mean or not best:
        return ""
    return f"Perfect replies discover {percent(ceiling.mean)}; {best} discovers {percent(shares[best])}."


def interactivity_note(configuration: Mapping[str, Any], table: Table) -> Markup:
    """What earns an interactivity of 1, 2 or 3 in this run, and why more of it is not always better."""
    if (configuration.get("engine") or {}).get("judge") == "miniature":
        earns = (
            "each turn gets 1 point, plus 1 if it asks or offers two alternatives, plus 1 if it uses the user's last "
            "message. The choice of scale (ours or the paper’s) changes only the prompt of a language model, so "
            "it has no effect here."
        )
    elif configuration.get("interactivity", "ours") == "ours":
        earns = (
            "3 if its questions and offers fit what the user knew and the user responded, 2 if they sometimes "
            "did, 1 if not (our "
            "scale; the paper’s scale, E.8, rates how much the assistant involves the user)."
        )
    else:
        earns = (
            "3 if questions, collaboration and new directions engage the user throughout, 2 if in part, 1 if "
            "hardly at all "
            "(the paper’s scale, E.8; our scale asks whether they fit what the user knew)."
        )
    both = {name: row for name, row in table.items() if {"interactivity", "proportion"} <= set(row)}
    most = max(both, key=lambda name: both[name]["interactivity"].mean, default="")
    if not most:
        return EMPTY
    rated, found = both[most]["interactivity"].mean, both[most]["proportion"].mean
    return quiet(
        f"Interactivity: {earns} More is not always better: {most} has the highest interactivity, {rated:.2f}, "
        f"and found {found:.2f} of the hidden intents.",
        small=True,
    )


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
    ids: DiscoverId | None = None,
) -> Markup:
    """A measure as the heading of a column, with its n; what it means where it is pointed at."""
    sizes = {row[measure.name].n_artifacts for row in table.values() if measure.name in row}
    n = f"n = {max(sizes)} artifacts, {users_of.get(measure.name, 0):,} users" if sizes else "not scored"
    if measure.name == "discovery" and not sizes and why_no_eq_4:
        n = f"not defined: {why_no_eq_4}"
    head = explained(measure.label, measure.meaning) + tag("small", n, **_id(ids, measure=measure.label))
    if measure.fewer_is_better:
        head += tag("small", "fewer is better")
    if measure.name == "proportion" and ceiling is not None:
        in_reach = f"ceiling {ceiling} (n = {ceiling.n_artifacts} artifacts)"
        head += tag("small", explained(in_reach, meaning("ceiling")), **_id(ids, measure="ceiling"))
    return head


def _result(name: str, measure: Measure, estimate: Estimate | None, span: Span, ids: DiscoverId | None) -> Markup:
    if estimate is None:
        return tag("td", "not scored", class_="dl-quiet")
    interval = _bounds(estimate, measure).strip() or "no interval: 1 artifact"
    body = tag("b", measure.shown(estimate.mean)) + tag("small", interval) + strip(estimate, span)
    return _cell(body, _id(ids, assistants=name, measure=measure.label))


def _cell(body: Markup, id: Mapping[str, str], tone: str | None = None, title: str = "") -> Markup:
    """A cell that shows its id where it is pointed at."""
    shown = tag("span", body, class_="ds-cell", data_tone=tone, title=title or id.get("data_id"))
    return tag("td", shown, **id)


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
    ids: DiscoverId | None = None,
) -> list[tuple[str, Markup]]:
    """`results` and `pairs` under their headings, for a page that leads no further."""
    every = results(
        table,
        users_of,
        marks,
        measure.name,
        ceiling=ceiling,
        why_no_eq_4=why_no_eq_4,
        measures=measures,
        ids=ids,
    )
    each_pair = pairs(table, compared, measure, marks, ids=ids)
    return [("How each assistant did", every), (f"Pairs in {measure.label}", each_pair)]


def report_parts(
    lead: Markup,
    pool: Pool,
    table: Table,
    compared: Sequence[Comparison],
    shares: Sequence[NearMisses],
    marks: Mapping[str, Look],
    measure: Measure,
    *,
    ceiling: Estimate | None,
    ids: DiscoverId,
) -> list[tuple[str, Markup]]:
    """All tables and charts of an evaluation under their headings, for `views.pages.evaluation_page`."""
    curves = {name: curve(pool, name) for name in pool.assistants}
    manners = {name: manner(pool, name) for name in best_first(table)}

    def drawn(chart: Markup, of: str) -> Markup:
        return tag("div", chart, **_id(ids, measure=of))

    return [
        ("The answer", lead + answer(table, compared, measure, ids)),
        *for_paper(
            table, pool.users_of, marks, measure, compared, ceiling=ceiling, why_no_eq_4=pool.why_no_eq_4, ids=ids
        ),
        ("Eq. 4 in every smaller pool", pools(table, pools_without(pool), marks, ids)),
        ("What is left out", left_out(pool, marks, ids)),
        ("Discoveries by near misses", near_misses(shares, marks, ids)),
        (measure.label, drawn(intervals(table, measure, marks), measure.label)),
        ("Turn by turn", drawn(turn_curves(curves, marks, "Turn by turn"), "found")),
        ("Three turns in a row", drawn(families(manners, marks), "behaviour")),
        ("Tokens against discovery", drawn(tokens_against_discovery(table, marks), "discovery")),
    ]


# -- pairs ------------------------------------------------------------------------------------------------------------


def pairs(
    table: Table,
    compared: Sequence[Comparison],
    measure: Measure,
    marks: Mapping[str, Look],
    *,
    ids: DiscoverId | None = None,
) -> Markup:
    """Every two assistants: row − column, whether they can be told apart, and every verdict in words."""
    order = [name for name in best_first(table, measure.name) if measure.name in table[name]]
    of_pair = {frozenset((each.ours, each.theirs)): each for each in compared}
    rows = []
    for place, ours in enumerate(order[:-1]):
        cells = [tag("td")] * place
        for theirs in order[place + 1 :]:
            each = of_pair.get(frozenset((ours, theirs)))
            cells.append(tag("td") if each is None else _pair(each, ours, theirs, measure, ids))
        rows.append(row(named(ours, marks[ours]), cells))
    caption = (
        f"{measure.label}: row minus column with its 95% interval, on the same users. ▲ the row is better, "
        f"≈ not distinguishable (paired permutation"
        f"{f', Holm over {len(compared)} pairs' if len(compared) > 1 else ''})."
    )
    caption += next((f" ? {each.too_few_says}." for each in compared if each.too_few), "")
    verdicts = bullets(_sentence(each, measure, ids) for each in compared)
    words = f"All {len(compared)} verdicts in words" if len(compared) > 1 else "The verdict in words"
    head = ["", *(named(name, marks[name]) for name in order[1:])]
    grid_of_pairs = captioned(head, rows, caption, "ds-pairs") + more(words, verdicts)
    return tag("div", grid_of_pairs, **_id(ids, measure=measure.label))


def _pair(compared: Comparison, ours: str, theirs: str, measure: Measure, ids: DiscoverId | None) -> Markup:
    difference = compared.facing(ours).difference
    mean, interval = difference.mean, _bounds(difference, measure).strip()
    better = (mean < 0) if measure.fewer_is_better else (mean > 0)
    verdict = "?" if compared.too_few else "≈" if not compared.distinguishable else "▲" if better else "▼"
    tone = "open" if not compared.distinguishable else "apart"
    size = f"{'+' if mean > 0 else '−' if mean < 0 else ''}{measure.shown(abs(mean))}"
    body = tag("b", f"{verdict} {size}") + tag("small", interval)
    id = _id(ids, assistants=ours, against=theirs, measure=measure.label)
    return _cell(body, id, tone, sentence(compared, measure))


# -- how much eq. 4 owes to the pool ----------------------------------------------------------------------------------


def pools(
    table: Table, without: Sequence[PoolWithout], marks: Mapping[str, Look], ids: DiscoverId | None = None
) -> Markup:
    """Eq. 4 in the whole pool and with one assistant left out, beside the raw share, which needs no pool."""
    if not without:
        return quiet("Two assistants have no smaller pool.")
    head = [
        tag("small", "no pool") + term("found"),
        tag("small", "whole pool") + term("discovery score", "eq. 4"),
        *(tag("small", "without") + named(each.without, marks.get(each.without)) for each in without),
    ]
    rows = []
    for name in best_first(table):
        estimates = table[name]
        whole = estimates["discovery"].mean if "discovery" in estimates else None
        cells = [
            stands_on(_stacked(estimates.get(each), MEASURE[each]), ids, assistants=name, measure=MEASURE[each].label)
            for each in ("proportion", "discovery")
        ]
        for each in without:
            mean, left = each.means.get(name), tuple(other for other in table if other != each.without)
            shown = _shifted(mean, whole, each.without == name)
            scored = mean is not None and each.without != name
            of_it = {"assistants": name, "measure": MEASURE["discovery"].label, "pool": left}
            cells.append(stands_on(shown, ids, **of_it) if scored else shown)
        rows.append(row(named(name, marks[name]), map(cell, cells)))
    caption = (
        f"The same conversations, scored with one assistant fewer in the pool: scores move by up to "
        f"{_furthest(table, without):.2f} although no reply changed."
    )
    grid_of_pools = captioned(["assistant", *head], rows, caption, "ds-pools")
    return tag("div", grid_of_pools, **_id(ids, measure=MEASURE["discovery"].label))


def _stacked(estimate: Estimate | None, measure: Measure) -> Markup:
    """A number with its interval below it, for narrow columns."""
    if estimate is None:
        return EMPTY
    return tag("b", measure.shown(estimate.mean)) + tag("small", _bounds(estimate, measure).strip(), class_="ds-below")


def _furthest(table: Table, without: Sequence[PoolWithout]) -> float:
    """How far the score of anybody moves when one assistant leaves the pool."""
    shifts = (
        abs(mean - table[name]["discovery"].mean)
        for each in without
        for name, mean in each.means.items()
        if mean is not None and "discovery" in table[name]
    )
    return max(shifts, default=0.0)


def _shifted(mean: float | None, whole: float | None, itself: bool) -> Markup:
    if itself or mean is None or whole is None:
        why = None if itself else "the remaining assistants all found the same, for every user"
        return tag("span", "–" if itself else "not defined", class_="dl-quiet", title=why)
    shift = mean - whole
    shown = f"{'−' if shift < 0 else '+'}{abs(shift):.2f}"
    size = tag("small", shown, class_="ds-shift", data_far=int(abs(shift) >= 0.03))
    return tag("span", f"{mean:.2f} ", size if round(shift, 2) else EMPTY)


# -- what does not count ----------------------------------------------------------------------------------------------


def left_out(pool: Pool, marks: Mapping[str, Look], ids: DiscoverId | None = None) -> Markup:
    """What the numbers do not stand on: users and leaves left out, conversations unscored, failures and leaks."""
    same, users = len(pool.discovery.left_out), len(pool.users)
    satisfaction = pool.satisfaction
    shared = len(pool.shared())
    why = pool.why_no_eq_4
    lines = [
        f"eq. 4: not defined: {why}"
        if why
        else f"eq. 4: {same} of {shared} users left out, because all assistants found the same for them (the "
        f"denominator is 0 "
        "there)",
        leaves_line(len(pool.assistants), satisfaction.n_counted, satisfaction.n_leaves, satisfaction.leave_out),
    ]
    if shared < users:
        lines.append(
            f"{users - shared} of {users} users left out, because they did not finish a conversation "
            f"with every assistant"
        )
    columns = {"conversations": "", "ended": "stop", "unscored in": "unscored", "leaks of the user": "leaks"}
    rows = [
        row(
            named(name, marks[name]),
            (
                tag("td", told, **_id(ids, assistants=name, measure=measure))
                for told, measure in zip(_endings(pool, name), columns.values(), strict=True)
            ),
        )
        for name in pool.assistants
    ]
    told = (
        stands_on(line, ids, measure=what) for line, what in zip(lines, ("discovery", "satisfaction", ""), strict=False)
    )
    return bullets(told) + captioned(
        ("assistant", *columns), rows, f"How the conversations ended. Unscored in: {meaning('unscored')}", "ds-plain"
    )


def _endings(pool: Pool, name: str) -> tuple[str, ...]:
    members = list(pool.by_user[name].values())
    ends = Counter(ENDINGS[each.stop or "open"] for each in members)
    failed = Counter(part for each in members for part in each.failed)
    unassessed = sum(each.behaviours is None and not each.failed for each in members)
    unscored = [f"{part}: {count}" for part, count in failed.items()]
    unscored += [f"not yet: {unassessed}"] if unassessed else []
    return (
        str(len(members)),
        ", ".join(f"{count} {end}" for end, count in ends.most_common()),
        ", ".join(unscored) or "nothing",
        leaks_told(sum(each.leaks for each in members), sum(each.unchecked for each in members)),
    )


# -- what was collected by near misses --------------------------------------------------------------------------------


def near_misses(shares: Sequence[NearMisses], marks: Mapping[str, Look], ids: DiscoverId | None = None) -> Markup:
    """How much of what each assistant made users discover came by near misses."""
    rows = [
        row(
            named(each.assistant, marks[each.assistant]),
            (tag("td", told, **_id(ids, assistants=each.assistant, measure="near misses")) for told in each.row()[1:]),
        )
        for each in shares
    ]
    caption = f"{meaning('share by near misses')} Shares are means over artifacts. {INTERVAL}."
    return captioned(NEAR_MISS_COLUMNS, rows, caption, "ds-plain")


def farmed_turns(turns: Sequence[FarmedTurn], address: Callable[[FarmedTurn], str]) -> Markup:
    """The turns that moved most by near misses, each a link to its conversation."""
    if not turns:
        return quiet("No near miss changed an intent's state.")
    return bullets(tag("a", each.line, href=address(each)) for each in turns)


# -- what would change under other rules ------------------------------------------------------------------------------

CHANGES = {  # what became of a conclusion → its mark and what that means
    "lost": ("○", "no longer distinguishable"),
    "gained": ("●", "distinguishable only here"),
    "reversed": ("⇄", "reversed"),
}


def sensitivity_map(sensitivity: Mapping[str, Any], measure: Measure) -> Markup:
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
    notes += _unknown(sensitivity)
    body = EMPTY
    if columns:
        head = ["setting", *(tag("span", short(ours), tag("br"), short(theirs)) for ours, theirs in columns)]
        rows = (
            row(label, (_flip(changes.get(pair)) for pair in columns)) for label, changes in flips.items() if changes
        )
        meanings = " ".join(f"{mark} {meaning}." for mark, meaning in CHANGES.values())
        body = captioned(head, rows, f"Conclusions about {measure.label} that change. {meanings}", "ds-flips")
    return body + joined(map(quiet, notes))


def _setting(outcome: Mapping[str, Any]) -> str:
    return f"{outcome['axis']} = {outcome['value']}" if outcome["value"] else outcome["axis"]


def _flip(change: str | None) -> Markup:
    if change is None:
        return tag("td", "·", class_="dl-quiet")
    mark, meaning = CHANGES[change]
    return tag("td", mark, hidden(f" {meaning}"), data_change=change, title=meaning)


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
