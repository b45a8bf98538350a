"""HTML fragments for an evaluation: the answer in words, tables with intervals, pairs, pools, what would change.

Like `views.conversation`, whose stylesheet and colours these share: pure functions, every text escaped.  Elements with
`data-pick` can be pressed where a page shows them through `notebook_controls.pickable`; `pick` and `picked` write and
read what they say.
"""

from __future__ import annotations

import html
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from discover_lib.metrics.intervals import INTERVAL, Estimate
from discover_lib.metrics.paired import Comparison
from discover_lib.metrics.results import MEASURE, MEASURES, Measure, Pool, PoolWithout, Table, best_first
from discover_lib.views import conversation as show

COLOURS = {  # Okabe and Ito; the dark ones lightened until they stand 3:1 off the dark paper
    "light": ("#0072b2", "#d55e00", "#00805c", "#b85c94", "#a87400", "#2f8fc4", "#6b7280", "#7a3fa0", "#1a222c"),
    "dark": ("#4aa8e0", "#ff8a3d", "#2fc79b", "#e59cc6", "#f0b429", "#8fd0f5", "#a4afbc", "#c99cf0", "#e9edf2"),
}
SHAPES = (  # plotly's name of a marker, and the character that looks like it
    ("circle", "●"),
    ("square", "■"),
    ("diamond", "◆"),
    ("triangle-up", "▲"),
    ("triangle-down", "▼"),
    ("cross", "✚"),
    ("x", "✖"),
    ("star", "★"),
    ("hexagon", "⬢"),
)
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
SEE_INTENTS = ("oracle",)  # assistants that are told what no assistant can know: upper bounds
LONGEST_NAME = 30  # characters of an assistant's name in headings and figures
STRIP = 100  # units of an interval's drawing; it scales with its cell


class Look(NamedTuple):
    """How one assistant looks everywhere on a page."""

    colour: str
    dark: str
    symbol: str
    character: str
    dash: str


def looks(assistants: Sequence[str]) -> dict[str, Look]:
    """A look for every assistant: told apart by shape and by dash as well as by colour."""
    light, dark = COLOURS["light"], COLOURS["dark"]
    return {
        name: Look(light[at % len(light)], dark[at % len(dark)], *SHAPES[at % len(SHAPES)], DASHES[at % len(DASHES)])
        for at, name in enumerate(assistants)
    }


def styled(*fragments: str) -> str:
    """Fragments ready to be shown, with both stylesheets."""
    return f"{show.styled(*fragments)}<style>{show.static_text('show_scores.css')}</style>"


def pick(*parts: str) -> str:
    """The attribute that lets an element be pressed; `picked` reads it back."""
    return f' data-pick="{html.escape(json.dumps(parts), quote=True)}"'


def picked(said: str) -> tuple[str, ...]:
    """What a pressed element stands for; nothing before one was pressed."""
    return tuple(json.loads(said)) if said else ()


def short(name: str) -> str:
    """A name that fits a heading: its beginning and, since folders and models differ there, more of its end."""
    return name if len(name) <= LONGEST_NAME else f"{name[:8]}…{name[9 - LONGEST_NAME :]}"


def named(name: str, look: Look | None = None) -> str:
    """An assistant's name with its mark; the whole name where it is pointed at."""
    whole = f' title="{html.escape(name, quote=True)}"' if short(name) != name else ""
    if look is None:
        return f"<b{whole}>{html.escape(short(name))}</b>"
    colour = f"light-dark({look.colour},{look.dark})"
    return (
        f'<span class="ds-name"{whole}><span style="color:{colour}" aria-hidden="true">{look.character}</span> '
        f"{html.escape(short(name))}</span>"
    )


def _cells(*cells: str, tag: str = "td") -> str:
    return "".join(f"<{tag}>{each}</{tag}>" for each in cells)


def _table(head: Sequence[str], rows: Iterable[str], caption: str, kind: str) -> str:
    """A table of finished rows under finished headings."""
    columns = "".join(f'<th scope="col">{each}</th>' for each in head)
    said = html.escape(caption, quote=True)
    return (  # the caption stands above what scrolls, so that a narrow page does not cut it off
        f'<p class="ds-caption">{said}</p><div class="dl-scroll"><table class="ds-table {kind}" aria-label="{said}">'
        f"<thead><tr>{columns}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def made_under(configuration: Mapping[str, Any]) -> str:
    """What decides the numbers of a run, in one line: rules, who judged, spoke and scored, how long, how often."""
    engine = configuration.get("engine") or {}
    judge, voice = (engine.get(role, "not recorded") for role in ("judge", "voice"))
    scorer = "the miniature’s counterparts of a judge" if judge == "miniature" else judge
    facts = (
        ("Domain", (configuration.get("domain") or "trees of your own").replace("_", " ")),
        ("Rules", configuration["rules"]["name"]),
        ("Judge", judge),
        ("Voice", voice),
        ("Satisfaction, interactivity and behaviour by", scorer),
        ("Turns", configuration.get("turns", "not recorded")),
        ("Trials", configuration.get("trials", "not recorded")),
        ("Seed", configuration.get("seed", "not recorded")),
    )
    told = "; ".join(f"{name.lower() if at else name}: {value}" for at, (name, value) in enumerate(facts))
    return f'<p class="dl-quiet">{html.escape(told)}.</p>'


# -- the answer -------------------------------------------------------------------------------------------------------


def answer(table: Table, compared: Sequence[Comparison], measure: Measure) -> str:
    """Who is highest in a measure, and from whom the data can tell it apart, in sentences."""
    ranked = [name for name in best_first(table, measure.name) if measure.name in table[name]]
    rivals = [name for name in ranked if name not in SEE_INTENTS]
    if len(rivals) < 2:
        return '<p class="ds-answer">Nothing to compare: fewer than two assistants have this measure.</p>'
    first = rivals[0]
    of_first = [each for each in compared if first in (each.ours, each.theirs) and _other(each, first) in rivals]
    of_first.sort(key=lambda each: (each.distinguishable, abs(each.difference.mean)))
    close = [_other(each, first) for each in of_first if not each.distinguishable]
    estimate = table[first][measure.name]
    told = (
        f"<b>{html.escape(first)}</b> has the highest {measure.label}: {_written(estimate, measure)} "
        f"(n = {estimate.n_artifacts} artifacts), "
    )
    if close:
        told += f"but it is <b>not distinguishable</b> from {html.escape(' and '.join(close))}."
    else:
        told += "and it can be told apart from every other assistant."
    items = "".join(f"<li>{html.escape(sentence(each, measure))}</li>" for each in of_first[: max(2, len(close))])
    bounds = "".join(
        f" {html.escape(name)} is no rival but a bound: it sees the hidden intents."
        for name in ranked
        if name in SEE_INTENTS
    )
    apart = sum(each.distinguishable for each in compared)
    tally = f"{apart} of {len(compared)} pairs can be told apart in {measure.label}.{bounds}"
    return f'<div class="ds-answer"><p>{told}</p><ul>{items}</ul><p class="dl-quiet">{tally}</p></div>'


def _other(compared: Comparison, name: str) -> str:
    return compared.theirs if compared.ours == name else compared.ours


def sentence(compared: Comparison, measure: Measure) -> str:
    """The verdict on one pair, with what it would take to see a difference that matters."""
    return f"{compared.sentence(measure.label, measure.worth_seeing, measure.shown)}."


def _written(estimate: Estimate, measure: Measure) -> str:
    return f"{measure.shown(estimate.mean)}{_bounds(estimate, measure)}"


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
    pressable: bool = True,
) -> str:
    """Assistants × measures, every number with its interval and n.

    Args:
        users_of: how many users each measure is taken over.
        pressable: every cell stands for its conversations.
    """
    head = ["assistant", *(_measure_head(each, table, users_of) for each in MEASURES)]
    spans = {each.name: _span(row[each.name] for row in table.values() if each.name in row) for each in MEASURES}
    rows = (
        f'<tr><th scope="row">{named(name, marks[name])}</th>'
        + "".join(_result(name, each, table[name].get(each.name), spans[each.name], pressable) for each in MEASURES)
        + "</tr>"
        for name in best_first(table, order_by)
    )
    hint = " Press a number to see its conversations." if pressable else ""
    return _table(head, rows, f"Means over artifacts; {INTERVAL}.{hint}", "ds-results")


def _measure_head(measure: Measure, table: Table, users_of: Mapping[str, int]) -> str:
    sizes = {row[measure.name].n_artifacts for row in table.values() if measure.name in row}
    n = f"n = {max(sizes)} artifacts, {users_of.get(measure.name, 0)} users" if sizes else "not scored"
    meaning = html.escape(measure.meaning, quote=True)
    return f'<span title="{meaning}">{html.escape(measure.label)}</span><small>{n}</small>'


def _result(name: str, measure: Measure, estimate: Estimate | None, span: tuple[float, float], pressable: bool) -> str:
    if estimate is None:
        return '<td class="dl-quiet">not scored</td>'
    interval = _bounds(estimate, measure).strip() or "no interval: 1 artifact"
    body = f"<b>{measure.shown(estimate.mean)}</b><small>{interval}</small>{_strip(estimate, span)}"
    pressed = ("cell", name, measure.name) if pressable else ()
    return _cell(body, f"{name}, {measure.label}: show its conversations", pressed)


def _cell(body: str, said: str, pressed: Sequence[str], tone: str = "") -> str:
    """A cell that can be pressed, where there is something that it stands for."""
    look = f' class="ds-cell"{f" data-tone={tone}" if tone else ""}'
    if not pressed:
        return f"<td><span{look}>{body}</span></td>"
    return (
        f'<td><button type="button"{look} title="{html.escape(said, quote=True)}"{pick(*pressed)}>{body}</button></td>'
    )


def _span(estimates: Iterable[Estimate]) -> tuple[float, float]:
    """From the lowest to the highest end of all intervals, 0 included."""
    ends = [end for each in estimates for end in (each.mean, each.low, each.high) if end is not None]
    return min([0.0, *ends]), max([0.0, *ends])


def _strip(estimate: Estimate, span: tuple[float, float]) -> str:
    """The interval as a line and the mean as a tick, on the scale of its column."""
    low, high = span
    reach = (high - low) or 1.0

    def at(value: float) -> float:
        return STRIP * (value - low) / reach

    line = ""
    if estimate.low is not None and estimate.high is not None:
        start, width = at(estimate.low), max(1.0, at(estimate.high) - at(estimate.low))
        line = f'<rect x="{start:.1f}" y="3" width="{width:.1f}" height="2"/>'
    return (
        f'<svg class="ds-strip" viewBox="0 0 {STRIP} 8" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="ds-rail" x="0" y="3.6" width="{STRIP}" height=".8"/>{line}'
        f'<rect x="{min(STRIP - 2.0, max(0.0, at(estimate.mean) - 1)):.1f}" y="0" width="2" height="8"/></svg>'
    )


# -- pairs ------------------------------------------------------------------------------------------------------------


def pairs(
    table: Table,
    compared: Sequence[Comparison],
    measure: Measure,
    marks: Mapping[str, Look],
    *,
    pressable: bool = True,
) -> str:
    """Every two assistants: row − column, whether they can be told apart, and every verdict in words.

    Args:
        pressable: every cell stands for its pair.
    """
    order = [name for name in best_first(table, measure.name) if measure.name in table[name]]
    found = {frozenset((each.ours, each.theirs)): each for each in compared}
    head = ["", *(named(name, marks[name]) for name in order[1:])]
    rows = []
    for place, ours in enumerate(order[:-1]):
        cells = ["<td></td>"] * place
        for theirs in order[place + 1 :]:
            each = found.get(frozenset((ours, theirs)))
            cells.append("<td></td>" if each is None else _pair(each, ours, theirs, measure, pressable))
        rows.append(f'<tr><th scope="row">{named(ours, marks[ours])}</th>{"".join(cells)}</tr>')
    caption = (
        f"{measure.label}: row minus column with its 95 % interval, both on the same users. ▲ the row is above, "
        f"≈ not distinguishable (paired permutation, Holm over {len(compared)} pairs)."
    )
    caption += " Press a pair to read both." if pressable else ""
    items = "".join(f"<li>{html.escape(sentence(each, measure))}</li>" for each in compared)
    return (
        _table(head, rows, caption, "ds-pairs")
        + f'<details class="dl-more"><summary>All {len(compared)} verdicts in words</summary><ul>{items}</ul></details>'
    )


def _pair(compared: Comparison, ours: str, theirs: str, measure: Measure, pressable: bool) -> str:
    sign = 1 if compared.ours == ours else -1
    mean = sign * compared.difference.mean
    ends = [sign * end for end in (compared.difference.low, compared.difference.high) if end is not None]
    interval = f"[{', '.join(measure.shown(end) for end in sorted(ends))}]" if ends else ""
    verdict = "≈" if not compared.distinguishable else "▲" if mean > 0 else "▼"
    tone = "open" if not compared.distinguishable else "apart"
    size = f"{'+' if mean > 0 else '−' if mean < 0 else ''}{measure.shown(abs(mean))}"
    body = f"<b>{verdict} {size}</b><small>{interval}</small>"
    return _cell(body, sentence(compared, measure), ("pair", ours, theirs) if pressable else (), tone)


# -- how much eq. 4 owes to the pool ----------------------------------------------------------------------------------


def pools(table: Table, without: Sequence[PoolWithout], marks: Mapping[str, Look]) -> str:
    """Eq. 4 in the whole pool and with one assistant left out, beside the raw share, which needs no pool."""
    if not without:
        return '<p class="dl-quiet">With two assistants there is no smaller pool to look at.</p>'
    head = [
        "assistant",
        "<small>no pool</small>found",
        "<small>whole pool</small>eq. 4",
        *(f"<small>without</small>{named(each.without, marks.get(each.without))}" for each in without),
    ]
    rows = []
    for name in best_first(table):
        row = table[name]
        whole = row["discovery"].mean if "discovery" in row else None
        cells = [
            *(_stacked(row.get(each), MEASURE[each]) for each in ("proportion", "discovery")),
            *(_shifted(each.means.get(name), whole, each.without == name) for each in without),
        ]
        rows.append(f'<tr><th scope="row">{named(name, marks[name])}</th>{_cells(*cells)}</tr>')
    caption = (
        f"The same conversations, scored with one assistant fewer in the pool: scores move by up to "
        f"{_furthest(table, without):.2f} although nobody did anything else."
    )
    return _table(head, rows, caption, "ds-pools")


def _stacked(estimate: Estimate | None, measure: Measure) -> str:
    """A number with its interval below it, for narrow columns."""
    if estimate is None:
        return ""
    return f'<b>{measure.shown(estimate.mean)}</b><small class="ds-below">{_bounds(estimate, measure).strip()}</small>'


def _furthest(table: Table, without: Sequence[PoolWithout]) -> float:
    """How far the score of anybody moves when one assistant leaves the pool."""
    shifts = (
        abs(mean - table[name]["discovery"].mean)
        for each in without
        for name, mean in each.means.items()
        if mean is not None and "discovery" in table[name]
    )
    return max(shifts, default=0.0)


def _shifted(mean: float | None, whole: float | None, itself: bool) -> str:
    if itself or mean is None or whole is None:
        return f'<span class="dl-quiet">{"–" if itself else "not defined"}</span>'
    shift = mean - whole
    size = (
        f'<small class="ds-shift" data-far="{int(abs(shift) >= 0.03)}">{show.signed(round(shift, 2))}</small>'
        if round(shift, 2)
        else ""
    )
    return f"{mean:.2f} {size}"


# -- what does not count ----------------------------------------------------------------------------------------------


def left_out(pool: Pool, marks: Mapping[str, Look]) -> str:
    """What the numbers do not stand on: users and leaves left out, conversations unscored, failures and leaks."""
    same, users = len(pool.discovery.left_out), len(pool.users)
    satisfaction = pool.satisfaction
    shared = len(pool.shared())
    lines = [
        f"eq. 4: {same} of {shared} users left out, on whom all assistants found the same (its denominator is 0 there)",
        f"satisfaction: {satisfaction.n_counted} of {satisfaction.n_leaves} leaves count; left out are those that "
        f"{satisfaction.leave_out} of the assistants satisfied",
    ]
    if shared < users:
        lines.append(f"{users - shared} of {users} users left out, whose conversation is not finished with everybody")
    rows = [_endings(pool, name, marks[name]) for name in pool.assistants]
    head = ("assistant", "conversations", "ended", "unscored in", "leaks of the user")
    items = "".join(f"<li>{html.escape(each)}</li>" for each in lines)
    return f"<ul>{items}</ul>" + _table(head, rows, "How the conversations ended", "ds-plain")


def _endings(pool: Pool, name: str, look: Look) -> str:
    members = list(pool.by_user[name].values())
    ends = Counter((each.stop or "open").replace("_", " ") for each in members)
    failed = Counter(part for each in members for part in each.failed)
    unassessed = sum(each.behaviours is None and not each.failed for each in members)
    unscored = [f"{part}: {count}" for part, count in failed.items()] + (
        [f"not yet: {unassessed}"] if unassessed else []
    )
    cells = (
        str(len(members)),
        ", ".join(f"{end}: {count}" for end, count in ends.most_common()),
        ", ".join(unscored) or "nothing",
        str(sum(each.leaks for each in members)),
    )
    return f'<tr><th scope="row">{named(name, look)}</th>{_cells(*map(html.escape, cells))}</tr>'


# -- what would change under other rules ------------------------------------------------------------------------------

CHANGES = {  # what became of a conclusion → its mark and what that means
    "lost": ("○", "no longer distinguishable"),
    "gained": ("●", "distinguishable only here"),
    "reversed": ("⇄", "the other way round"),
}


def sensitivity_map(found: Mapping[str, Any], measure: Measure) -> str:
    """Which conclusions flip under which setting, of one measure; settings and pairs that never flip are named below.

    Args:
        found: a `discover_lib.metrics.rescore.SensitivityMap` in plain form.
    """
    flips = {
        _setting(each): {
            (row["ours"], row["theirs"]): row["change"]
            for row in each["changes"][measure.name]
            if row["change"] != "same"
        }
        for each in found["outcomes"]
    }
    columns = list(dict.fromkeys(pair for row in flips.values() for pair in row))
    n_pairs = len(found["base"][measure.name])
    steady = [label for label, row in flips.items() if not row]
    same = f"{n_pairs - len(columns)} of {n_pairs} conclusions about {measure.label} hold under every setting."
    notes = [same, *([f"Nothing flips under: {', '.join(steady)}."] if steady else []), *_unknown(found)]
    legend = " ".join(f"{mark} {meaning}." for mark, meaning in CHANGES.values())
    body = ""
    if columns:
        head = ["setting", *(f"{html.escape(short(ours))}<br>{html.escape(short(theirs))}" for ours, theirs in columns)]
        rows = (
            f'<tr><th scope="row">{html.escape(label)}</th>{"".join(_flip(row.get(pair)) for pair in columns)}</tr>'
            for label, row in flips.items()
            if row
        )
        body = _table(head, rows, f"Conclusions about {measure.label} that change. {legend}", "ds-flips")
    return body + "".join(f'<p class="dl-quiet">{html.escape(note)}</p>' for note in notes)


def _setting(outcome: Mapping[str, Any]) -> str:
    return f"{outcome['axis']} = {outcome['value']}" if outcome["value"] else outcome["axis"]


def _flip(change: str | None) -> str:
    if change is None:
        return '<td class="dl-quiet">·</td>'
    mark, meaning = CHANGES[change]
    return f'<td data-change="{change}" title="{meaning}">{mark}<span class="dl-sr"> {meaning}</span></td>'


def _unknown(found: Mapping[str, Any]) -> Iterator[str]:
    """What replaying recorded judgements cannot know."""
    recheck = found["recheck"]
    equal = recheck["conversations"] - len(recheck["unequal"])
    yield f"{equal} of {recheck['conversations']} conversations score again as recorded under the run’s own rules."
    worst = max(found["outcomes"], key=lambda each: each["unjudged"] / max(1, each["asked"]), default=None)
    if worst and worst["unjudged"]:
        share = worst["unjudged"] / worst["asked"]
        yield (
            f"Messages and replies stay as they were; verdicts that were never given count as not met, at most "
            f"{share:.0%} of those that a setting calls for ({_setting(worst)})."
        )
