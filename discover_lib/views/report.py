"""The report of the paper in miniature: one HTML file made of what its folder holds, without script or network.

Every sentence with a number is computed from `results.json`, the stores of the evaluations and the logs of the training
runs; what is missing is said to be.  Texts of models are escaped, and drawings are cleaned images.
"""

from __future__ import annotations

import dataclasses
import html
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from discover_lib.audit.certificate import Certificate
from discover_lib.audit.tables import BESIDE_COLUMNS, BESIDE_NOTE, beside, our_results
from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import whole_file
from discover_lib.core.conversation import Conversation
from discover_lib.core.state import Discovery
from discover_lib.metrics.intervals import INTERVAL, Estimate
from discover_lib.metrics.paired import TEST, Comparison, p_text
from discover_lib.metrics.results import ALL, MEASURE, MEASURES, Measure, ScopeResults, best_first
from discover_lib.metrics.shares import Share, share_of
from discover_lib.paper import BASE, FORMAT, RESULTS, TIMES, VARIANTS, PaperOptions, Variant
from discover_lib.runs.store import RunStore
from discover_lib.train.jobs import JobError, TrainingJob, standing_lines
from discover_lib.views import conversation as show
from discover_lib.views import training as show_training
from discover_lib.views.figures.report_figures import WIDE, Box, curve_figure, family_figures
from discover_lib.views.pages import fill
from discover_lib.views.scores import Look, looks, named, pairs, pools

FILE = "report.html"
SHEETS = ("show.css", "show_scores.css", "show_training.css", "report_page.css")
BEST = VARIANTS[-1]
LADDER = (BASE, *(each.label for each in VARIANTS))
SMALL = Box(520, 320)
DISCOVERY, TOKENS = MEASURE["discovery"], MEASURE["tokens"]
WORDS = {  # measures as a sentence needs them
    "discovery": "discovery (eq. 4)",
    "proportion": "the share found",
    "tokens": "thousand tokens per conversation",
    "reward": "reward per turn",
}
_EQUATION = re.compile(r"\b([np]) = ")
Asked = tuple[str, str, str | None]  # measure, ours, theirs


class ReportError(DiscoverError):
    """There is nothing to report on; one line that says what to do."""


@dataclass(frozen=True)
class Part:
    """One evaluation: with held-out users, or on unseen kinds of artifacts."""

    folder: Path
    scopes: Mapping[str, ScopeResults]
    certificate: Certificate | None
    broken: Mapping[str, Share]

    @property
    def whole(self) -> ScopeResults:
        return self.scopes[ALL] if ALL in self.scopes else next(iter(self.scopes.values()))

    @property
    def kinds(self) -> list[ScopeResults]:
        """Every domain by itself; the whole, where there is only one."""
        return [each for each in self.scopes.values() if each.scope != ALL] or [self.whole]


@dataclass(frozen=True)
class PaperRun:
    """What a finished run of the paper left in its folder."""

    folder: Path
    results: Mapping[str, Any]
    evaluation: Part
    generalisation: Part | None

    @classmethod
    def read(cls, folder: Path) -> PaperRun:
        """
        Raises:
            ReportError: no results of this format.
        """
        path = folder / RESULTS
        if not path.is_file():
            raise ReportError(f"{folder} holds no {RESULTS}; run 'discover miniature --run {folder}' to its end first")
        try:
            results = json.loads(path.read_text(encoding="utf-8"))
            if results.get("format") != FORMAT:
                raise ReportError(f"{path} has the format {results.get('format')!r}, not {FORMAT!r}; make it anew")
            parts = {
                name: _part(folder / name, results[name])
                for name in ("evaluation", "generalisation")
                if name in results
            }
            return cls(folder, results, parts["evaluation"], parts.get("generalisation"))
        except (KeyError, TypeError, AttributeError, json.JSONDecodeError) as error:
            raise ReportError(f"{path} cannot be read ({error}); delete it and run the last step again") from None

    @property
    def options(self) -> Mapping[str, Any]:
        return self.results["options"]

    @property
    def scripted(self) -> tuple[str, ...]:
        return tuple(name for name in self.results["labels"] if name not in LADDER)

    @cached_property
    def marks(self) -> dict[str, Look]:
        return looks(self.results["labels"])

    def best_scripted(self, scope: ScopeResults) -> str | None:
        """The scripted assistant with the highest discovery."""
        return next((name for name in best_first(scope.table) if name in self.scripted), None)


def _part(folder: Path, found: Mapping[str, Any]) -> Part:
    scopes = [ScopeResults.from_dict(each) for each in found["scopes"]]
    certificate = found.get("certificate")
    return Part(
        folder,
        {each.scope: each for each in scopes},
        Certificate.from_dict(certificate) if certificate else None,
        {name: share_of(each["broken"], each["replies"]) for name, each in found["broken"].items()},
    )


def report_html(folder: Path) -> str:
    """The report of a finished run of the paper as a self-contained HTML page.

    Raises:
        ReportError: the folder holds no results that can be read.
    """
    run = PaperRun.read(folder)
    sections: list[tuple[str, str]] = [(title, make(run)) for title, make in SECTIONS]
    contents = "".join(f'<li><a href="#part-{at}">{title}</a></li>' for at, (title, _) in enumerate(sections, 1))
    body = "".join(
        f'<section class="rp-part" id="part-{at}"><h2>{at}. {title}</h2>{part}</section>'
        for at, (title, part) in enumerate(sections, 1)
    )
    return fill(
        show.static_text("report_page.html"),
        {
            "title": "The paper in miniature",
            "facts": _text(_facts(run)),
            "styles": "\n".join(map(show.static_text, SHEETS)),
            "contents": f"<ol>{contents}</ol>",
            "sections": body,
        },
    )


def write_report(folder: Path) -> Path:
    """Write `report.html` into the run's folder; it can be made again at any time.

    Raises:
        ReportError: as `report_html`.
    """
    page, path = report_html(folder), folder / FILE
    with whole_file(path) as file:
        file.write(page)
    return path


# -- words and cells ---------------------------------------------------------------------------------------------------


def _text(text: object) -> str:
    return html.escape(str(text))


def _plain(name: str) -> str:
    """A domain as people write it."""
    return "all together" if name == ALL else name.replace("_", " ")


def _unbroken(text: str) -> str:
    """No line ends within "n = 16" or before a percent sign."""
    return _EQUATION.sub("\\1\u00a0=\u00a0", text).replace(" %", "\u00a0%")


def _items(sentences: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{_unbroken(_text(each))}</li>' for each in sentences)}</ul>" if sentences else ""


def _table(head: Sequence[str], rows: Sequence[str], caption: str, kind: str = "") -> str:
    """Finished rows under finished headings; the caption stands above what scrolls."""
    columns = "".join(f'<th scope="col">{each}</th>' for each in head)
    return (
        f'<p class="ds-caption">{_text(caption)}</p><div class="dl-scroll">'
        f'<table class="ds-table rp-table {kind}"><thead><tr>{columns}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _row(name: str, cells: Sequence[str], attributes: str = "") -> str:
    """A row under a finished heading and of finished cells."""
    return f'<tr{attributes}><th scope="row">{name}</th>{"".join(f"<td>{each}</td>" for each in cells)}</tr>'


def _estimate(each: Estimate | None, measure: Measure, mark: str = "") -> str:
    if each is None:
        return '<span class="dl-quiet">not scored</span>'
    return f"<b>{measure.shown(each.mean)}</b>{mark}<small>{_bounds(each, measure) or 'no interval'}</small>"


def _bounds(each: Estimate, measure: Measure) -> str:
    if each.low is None or each.high is None:
        return ""
    return f"[{measure.shown(each.low)}, {measure.shown(each.high)}]"


def facing(compared: Comparison, ours: str) -> Comparison:
    """The same comparison seen from one of its two sides: the difference is `ours` minus the other."""
    if compared.ours == ours:
        return compared
    there = compared.difference
    low, high = (None if end is None else 0.0 - end for end in (there.high, there.low))  # 0.0 − 0.0 is not −0.0
    turned = Estimate(0.0 - there.mean, low, high, there.n_artifacts, there.n_trials)
    return dataclasses.replace(compared, ours=ours, theirs=compared.ours, difference=turned)


def _between(scope: ScopeResults, measure: Measure, ours: str, theirs: str | None) -> Comparison | None:
    found = None if theirs is None else scope.comparison(measure.name, ours, theirs)
    return None if found is None else facing(found, ours)


def _sentences(scope: ScopeResults, asked: Sequence[Asked]) -> list[str]:
    """Verdicts in words, where there are any."""
    found = ((MEASURE[name], _between(scope, MEASURE[name], ours, theirs)) for name, ours, theirs in asked)
    return [_verdict(each, measure) for measure, each in found if each is not None]


def _verdict(compared: Comparison, measure: Measure) -> str:
    what = WORDS.get(measure.name, measure.label)
    return f"{compared.sentence(what, measure.worth_seeing, measure.shown)}."


def _mark(compared: Comparison | None, measure: Measure) -> str:
    """Whether a cell lies above or below, or cannot be told apart; the whole verdict on pointing at it."""
    if compared is None:
        return ""
    tone, word, sign = {
        1: ("apart", "higher", "▲"),
        -1: ("apart", "lower", "▼"),
        0: ("open", "not distinguishable", "≈"),
    }[compared.conclusion]
    said = html.escape(_verdict(compared, measure), quote=True)
    return f'<span class="rp-mark" data-tone="{tone}" title="{said}">{sign}<span class="dl-sr"> {word}</span></span>'


def _difference(compared: Comparison | None, measure: Measure) -> str:
    """A paired difference with its interval and its verdict in words."""
    if compared is None:
        return "–"
    each = compared.difference
    sign = "+" if each.mean > 0 else ""
    verdict = {1: "higher", -1: "lower", 0: "not distinguishable"}[compared.conclusion]
    return (
        f"<b>{sign}{measure.shown(each.mean)}</b>{_mark(compared, measure)} {_bounds(each, measure)}"
        f"<small>{verdict}, p = {_p(compared)}</small>"
    )


def _p(compared: Comparison) -> str:
    return p_text(compared.p_adjusted)


def _facts(run: PaperRun) -> str:
    whole, options = run.evaluation.whole, run.options
    return (
        f"{len(whole.assistants)} assistants with the same {whole.users:,} held-out users ({whole.artifacts} artifacts "
        f"of {', '.join(map(_plain, options['domains']))}; trials: {options['trials']}), seed {options['seed']}"
    )


# -- 1: the answer -----------------------------------------------------------------------------------------------------


def _answer(run: PaperRun) -> str:
    whole = run.evaluation.whole
    asked: list[Asked] = [
        (name, BEST.label, BASE) for name in ("proportion", "satisfaction", "interactivity", "reward")
    ]
    asked += [(name, BEST.label, BEST.after) for name in ("discovery", "tokens")]
    asked += [("discovery", BEST.label, run.best_scripted(whole))]
    stages: list[Asked] = [("discovery", each.label, BASE) for each in VARIANTS[:-1]]
    by_kind = [
        f"{_plain(scope.scope)}: {line}"
        for scope in run.evaluation.kinds
        if scope is not whole
        for line in _sentences(scope, [("discovery", BEST.label, BASE)])
    ]
    quick = (
        '<p class="dl-told rp-warn" data-tone="warn">Made in the quick size, which shows that every step works. '
        "Its numbers rest on too few users and too little training to say anything.</p>"
        if run.options["quick"]
        else ""
    )
    return (
        f"{quick}{headline(whole)}{_doubt(run.evaluation)}"
        "<h3>The same comparison in the other measures, and with others</h3>"
        f"{_items(_sentences(whole, asked))}"
        f"<h3>The other stages against the base</h3>{_items(_sentences(whole, stages))}"
        + (f"<h3>Domain by domain</h3>{_items(by_kind)}" if by_kind else "")
        + f'<p class="dl-quiet dl-small">Interval: {INTERVAL}. Test: {TEST}. An interval belongs to its one comparison '
        "and p is corrected for all of them, so an interval can leave out zero where two are not distinguishable. "
        "Percentages are of the other’s mean, whose own uncertainty they leave out.</p>"
    )


def _doubt(part: Part) -> str:
    """A line where the simulated user is not certified."""
    if part.certificate is not None and part.certificate.result == "passed":
        return ""
    why = part.certificate.line if part.certificate else "no certificate was made"
    return (
        f'<p class="dl-told rp-warn" data-tone="warn">The simulated user is not certified: {_text(why)}. Rest no '
        f'conclusion on these numbers; see <a href="#trust">whether to believe it</a>.</p>'
    )


def headline(scope: ScopeResults) -> str:
    """Whether the last variant discovers more than its base, and at what length, in one sentence or two."""
    compared = _between(scope, DISCOVERY, BEST.label, BASE)
    if compared is None:
        return f'<p class="rp-lead">{BEST.label} and {BASE} could not be compared in discovery.</p>'
    answers = {
        1: ("yes", "Yes", f"{BEST.label} helps its users discover more than the {BASE} model that it was trained from"),
        -1: ("no", "No", f"{BEST.label} helps its users discover less than the {BASE} model that it was trained from"),
        0: ("open", "Not shown", f"{BEST.label} and the {BASE} model are not distinguishable in discovery"),
    }
    tone, word, said = answers[compared.conclusion]
    told = (
        f"{said}: {_against(scope, compared, DISCOVERY)} (eq. 4, p = {_p(compared)}, "
        f"n = {compared.difference.n_artifacts} artifacts). {_at_what_length(scope)}"
    )
    return f'<p class="rp-lead" data-tone="{tone}"><b>{word}.</b> {_unbroken(_text(told))}</p>'


def _against(scope: ScopeResults, compared: Comparison, measure: Measure) -> str:
    """ "0.61 against 0.42, a difference of +0.19 [0.15, 0.23], +45 % [+36, +55] of the base’s mean"."""
    each, theirs = compared.difference, scope.table[compared.theirs][measure.name].mean
    ours = scope.table[compared.ours][measure.name].mean
    said = f"{measure.shown(ours)} against {measure.shown(theirs)}, a difference of {_signed(each.mean, measure)}"
    said += f" {_bounds(each, measure)}".rstrip()
    if theirs <= 0:
        return said
    ends = [_percent(end / theirs) for end in (each.low, each.high) if end is not None]
    interval = f" [{', '.join(ends)}]" if ends else ""
    return f"{said}, {_percent(each.mean / theirs)}{interval} of the {compared.theirs}’s mean"


def _percent(value: float) -> str:
    """A change in whole percent, with its sign unless it is none."""
    whole = round(100 * value)
    return f"{whole:+d} %" if whole else "0 %"


def _signed(value: float, measure: Measure) -> str:
    return f"{'+' if value > 0 else ''}{measure.shown(value)}"


def _at_what_length(scope: ScopeResults) -> str:
    compared = _between(scope, TOKENS, BEST.label, BASE)
    if compared is None:
        return "Tokens could not be compared."
    said = {1: "It writes more", -1: "It writes less", 0: "In length the two are not distinguishable"}
    return (
        f"{said[compared.conclusion]}: {_against(scope, compared, TOKENS)} "
        f"(thousand tokens per conversation, p = {_p(compared)})."
    )


# -- 2: table 1 --------------------------------------------------------------------------------------------------------


def _scores(run: PaperRun) -> str:
    part = run.evaluation
    scopes = list(part.scopes.values())
    legend = (
        f"<p>Beside each number stands how it compares with <b>{BASE}</b> on the same users: ▲ higher, ▼ lower, ≈ not "
        "distinguishable. Fewer tokens are better; of the other measures more is.</p>"
    )
    meanings = _items([f"{each.label}: {each.meaning}" for each in MEASURES])
    return (
        legend
        + "".join(f"<h3>{_text(_plain(scope.scope).capitalize())}</h3>{score_table(run, scope)}" for scope in scopes)
        + f'<details class="dl-more"><summary>What the columns measure</summary>{meanings}</details>'
        + '<details class="dl-more"><summary>Every two assistants in discovery, all together</summary>'
        + f"{_every_pair(run)}</details>"
    )


def _every_pair(run: PaperRun) -> str:
    whole = run.evaluation.whole
    return pairs(whole.table, whole.comparisons.get(DISCOVERY.name, ()), DISCOVERY, run.marks, pressable=False)


def score_table(run: PaperRun, scope: ScopeResults) -> str:
    """Assistants × measures as in table 1, with intervals, n, and verdicts against the base and the best scripted."""
    scripted = run.best_scripted(scope)
    head = ["assistant", *(_measure_head(each, scope) for each in MEASURES), f"discovery − {BASE}"]
    head += [f"discovery − {_text(scripted)}<small>the best scripted one</small>"] if scripted else []
    rows = []
    for name in run.results["labels"]:
        cells = [
            _estimate(scope.table[name].get(each.name), each, _mark(_between(scope, each, name, BASE), each))
            for each in MEASURES
        ]
        cells.append(_difference(_between(scope, DISCOVERY, name, BASE), DISCOVERY))
        if scripted:
            cells.append(_difference(_between(scope, DISCOVERY, name, scripted), DISCOVERY))
        kind = "trained" if name in LADDER else "scripted"
        apart = ' class="rp-apart"' if run.scripted[:1] == (name,) else ""
        rows.append(_row(named(name, run.marks[name]), cells, f' data-kind="{kind}"{apart}'))
    caption = (
        f"Means over {scope.artifacts} artifacts with 95 % intervals; {scope.users:,} users; {scope.same_for_all} of "
        f"them left out of eq. 4 because all assistants found the same."
    )
    return _table(head, rows, caption)


def _measure_head(measure: Measure, scope: ScopeResults) -> str:
    sizes = [row[measure.name].n_artifacts for row in scope.table.values() if measure.name in row]
    n = f"n = {max(sizes)}, {scope.users_of.get(measure.name, 0):,} users" if sizes else "not scored"
    return f'<span title="{html.escape(measure.meaning, quote=True)}">{_text(measure.label)}</span><small>{n}</small>'


# -- 3 and 4: figures --------------------------------------------------------------------------------------------------


def _behaviour(run: PaperRun) -> str:
    whole = run.evaluation.whole
    shares = [
        f"{name}: {each.divergent} of its turns open up (n = {each.divergent.n_artifacts} artifacts)"
        for name, each in whole.manners.items()
        if name in LADDER and each.divergent
    ]
    none = sum(each.turns_of_neither for each in whole.manners.values())
    return (
        "<p>A turn opens up (D: several samples, options or questions) or closes in (C: mostly one piece). Every three "
        "turns in a row belong to one of four families (Fig 3); bars are shares of them, with 95\u00a0% intervals.</p>"
        f"{family_figures(whole.manners, run.marks)}<h3>Single turns</h3>{_items(shares)}"
        f'<p class="dl-quiet dl-small">{none:,} turns are neither and count in no family.</p>'
    )


def _curves(run: PaperRun) -> str:
    part = run.evaluation
    figures = [_curve(run, scope, SMALL) for scope in part.kinds] if len(part.scopes) > 1 else []
    return (
        "<p>How much of what was hidden had been found after each turn, emerging intents as half (Fig 7). Bands are "
        "95\u00a0% intervals over artifacts; solid and dashed lines are told apart by their shapes as well.</p>"
        f'<div class="rp-wide">{_curve(run, part.whole, WIDE)}</div>'
        f'<div class="rp-slim">{_curve(run, part.whole, SMALL)}</div>'
        + (f'<div class="rp-small">{"".join(figures)}</div>' if figures else "")
        + f'<details class="dl-more"><summary>The same as numbers</summary>{_curve_table(run, part.whole)}</details>'
    )


def _curve(run: PaperRun, scope: ScopeResults, size: Box) -> str:
    title = f"{_plain(scope.scope).capitalize()}, n = {scope.artifacts} artifacts"
    drawn = curve_figure(scope.curves, run.marks, title, size, (BASE, BEST.label))
    return f'<figure class="rp-curve"><figcaption>{_text(title)}</figcaption>{drawn}</figure>'


def _curve_table(run: PaperRun, scope: ScopeResults) -> str:
    turns = max(map(len, scope.curves.values()), default=0)
    rows = [
        _row(named(name, run.marks[name]), [_text(each) for each in curve] + ["–"] * (turns - len(curve)))
        for name, curve in scope.curves.items()
    ]
    return _table(
        ["assistant", *(f"turn {at}" for at in range(1, turns + 1))], rows, f"n = {scope.artifacts} artifacts"
    )


# -- 5: generalisation -------------------------------------------------------------------------------------------------


def _generalisation(run: PaperRun) -> str:
    part = run.generalisation
    if part is None:
        return '<p class="dl-quiet">Not evaluated in this run.</p>'
    head = ["kind", *(named(name, run.marks[name]) for name in LADDER)]
    head += [f"{BEST.label} − {BASE}", f"thousand tokens<small>{BEST.label} − {BASE}</small>"]
    rows = []
    for scope in part.scopes.values():
        cells = [
            _estimate(
                scope.table[name].get(DISCOVERY.name),
                DISCOVERY,
                _mark(_between(scope, DISCOVERY, name, BASE), DISCOVERY),
            )
            for name in LADDER
        ]
        cells += [_difference(_between(scope, each, BEST.label, BASE), each) for each in (DISCOVERY, TOKENS)]
        title = f"{_text(_plain(scope.scope))}<small>n = {scope.artifacts} artifacts, {scope.users} users</small>"
        rows.append(_row(title, cells, "" if scope.scope == ALL else ' data-kind="kind"'))
    asked = [(name, BEST.label, BASE) for name in ("discovery", "proportion", "satisfaction", "tokens")]
    return (
        f"<p>Kinds of artifacts that no stage of training has seen.{_pretraining(run)}</p>"
        f"{_items(_sentences(part.whole, [*asked, ('discovery', BEST.label, BEST.after)]))}"
        f"{_table(head, rows, 'Discovery (eq. 4) with 95 % intervals, marks against the base')}"
        '<details class="dl-more"><summary>Every measure, and the scripted assistants</summary>'
        f"{score_table(run, part.whole)}</details>"
    )


def _pretraining(run: PaperRun) -> str:
    known = set(run.results["base"].get("domains") or ())
    taught = [_plain(name) for name in run.options["unseen"] if name in known]
    return f" The base was pretrained to write about {_text(', '.join(taught))}, as large models are." if taught else ""


# -- 6: training -------------------------------------------------------------------------------------------------------


def _training(run: PaperRun) -> str:
    return (
        f"{_base_line(run)}<p>Rewards in training are those of single turns. Whether they add up over a conversation "
        "is measured with held-out users of the training split; the round after which most was discovered is kept.</p>"
        + "".join(_stage(run, each) for each in VARIANTS)
    )


def _base_line(run: PaperRun) -> str:
    measured = run.results["base"].get("measured") or {}
    said = [
        f"{what}: {each} (n = {each.n_artifacts} users)"
        for name, what in (("honoured", "plain wishes that the base honours"), ("broken", "replies that it breaks"))
        if (found := measured.get(name)) and (each := Estimate(**found))
    ]
    return f"<p>The base, before any training here. {_text('; '.join(said).capitalize())}.</p>" if said else ""


def _stage(run: PaperRun, variant: Variant) -> str:
    known = run.results["training"].get(variant.label) or {}
    after = f", after {variant.after}" if variant.after else f", from {BASE}"
    facts = f"{variant.stage.upper()}{after}; updates: {known.get('step')}, rows: {known.get('rows')}"
    try:
        job = TrainingJob(run.folder / variant.folder)
        lines, total = standing_lines(job.metrics().lines), job.status().total_steps
    except JobError as error:
        lines, total, facts = [], None, f"{facts}; its log is gone ({error})"
    drawn = show_training.curves(lines, total) if lines else '<p class="dl-quiet">No line of its log is there.</p>'
    opened = " open" if variant is BEST else ""
    return (
        f'<details class="rp-stage"{opened}><summary>{_text(variant.label)} <span>{_text(facts)}</span></summary>'
        f"{_probes(lines, known.get('kept_round'))}{drawn}</details>"
    )


PROBE_COLUMNS = {
    "discovered": "discovered in a conversation",
    "tokens": "tokens",
    "diverging": "replies that open up",
    "building": "that build",
    "broken": "broken",
}


def _probes(lines: Sequence[Mapping[str, Any]], kept: int | None) -> str:
    """Whole conversations during training: what they discovered, round by round."""
    rounds = [line for line in lines if isinstance(line.get("probe/discovered"), int | float)]
    if not rounds:
        return ""
    rows = []
    for line in rounds:
        cells = [_probe(line, name) for name in PROBE_COLUMNS]
        cells[0] += f"<small>n = {line.get('probe/users')} users</small>"
        number = line.get("round")
        name = "before" if number == 0 else f"round {number}"
        chip = ' <span class="dl-chip" data-tone="known">kept</span>' if kept is not None and number == kept else ""
        rows.append(_row(f"{name}{chip}<small>update {line['step']}</small>", cells))
    return _table(["", *PROBE_COLUMNS.values()], rows, "Whole conversations with held-out users during training")


def _probe(line: Mapping[str, Any], name: str) -> str:
    value = line.get(f"probe/{name}")
    if not isinstance(value, int | float):
        return "–"
    low, high = line.get(f"probe/{name}_low"), line.get(f"probe/{name}_high")
    if low is None or high is None:
        return f"<b>{show_training.number(value)}</b>"
    return f"<b>{value:.2f}</b> [{low:.2f}, {high:.2f}]"


# -- 7: before and after -----------------------------------------------------------------------------------------------


def _before_after(run: PaperRun) -> str:
    talks = first_talks(run)
    if not talks:
        return '<p class="dl-quiet">No user was met by the base and every variant to the end.</p>'
    intro = (
        "<p>The first held-out user of each domain: the same request, and what each model answered first. One user is "
        "an example and no evidence.</p>"
    )
    return intro + "".join(
        f"<h3>{_text(_plain(domain).capitalize())}</h3>{_exchange(held)}" for domain, held in talks.items()
    )


def first_talks(run: PaperRun) -> dict[str, dict[str, Conversation]]:
    """Domain → base and variants → their conversation with the first user whom all of them met to the end."""
    found: dict[str, dict[str, Conversation]] = {}
    with RunStore.read(run.evaluation.folder) as store:
        labels = dict(zip(store.configuration["assistants"], run.results["labels"], strict=True))
        places: dict[str, dict[tuple[str, int], dict[str, int]]] = {}
        for row in store.listing():
            label = labels["+".join(row.assistants)]
            if label in LADDER and row.stop not in (None, "error") and row.turns:
                places.setdefault(row.domain, {}).setdefault((row.artifact, row.trial), {})[label] = row.place
        for domain, users in places.items():
            met = next((user for user in users.values() if len(user) == len(LADDER)), None)
            if met is not None:
                found[domain] = {label: store.conversation(met[label]) for label in LADDER}
    return found


def _exchange(held: Mapping[str, Conversation]) -> str:
    asked = held[BASE].tree.initial_request
    first = show_training.replies({label: each.turns[0].candidate for label, each in held.items()})
    rows = [_row(f"<b>{_text(label)}</b>", _outcome(each)) for label, each in held.items()]
    finals = {
        label: show.rich_text(each.final.reply.text) if each.final else '<p class="dl-quiet">None was had.</p>'
        for label, each in held.items()
    }
    panels = "".join(show.panel(label, f'<div class="dt-reply">{piece}</div>') for label, piece in finals.items())
    return (
        f'<div class="dl-chat rp-first"><div class="dl-msg" data-role="user">{show.rich_text(asked)}</div></div>{first}'
        f"{_table(OUTCOME_COLUMNS, rows, 'How it went on', 'rp-narrow')}"
        '<details class="dl-more"><summary>The finished piece that each handed over</summary>'
        f'<div class="dt-replies">{panels}</div></details>'
    )


OUTCOME_COLUMNS = ("", "turns", "hidden intents discovered", "tokens", "mean reward")


def _outcome(talk: Conversation) -> list[str]:
    hidden = [intent for intent in talk.tree.intents if talk.start[intent] is not Discovery.DISCOVERED]
    known = sum(talk.state[intent] is Discovery.DISCOVERED for intent in hidden)
    tokens = sum(turn.reply.n_tokens for turn in talk.turns)
    rewards = [turn.candidate.reward.total for turn in talk.turns if turn.candidate.reward]
    mean = show.signed(sum(rewards) / len(rewards)) if rewards else "unscored"
    return [str(len(talk.turns)), f"{known} of {len(hidden)}", f"{tokens:,}", mean]


# -- 8: what it cost in other ways -------------------------------------------------------------------------------------


def _soundness(run: PaperRun) -> str:
    parts = {"held-out users": run.evaluation, "unseen kinds": run.generalisation}
    there = {name: part for name, part in parts.items() if part is not None}
    rows = [
        _row(named(name, run.marks[name]), [_share(part.broken.get(name)) for part in there.values()])
        for name in LADDER
    ]
    caption = (
        "Replies that cannot be read as the models’ notation, of all replies with the finished piece; 95 % Wilson "
        "intervals, which take replies as independent"
    )
    broken = [f"{name}: {line}" for name, part in there.items() if (line := breaks_more(part.broken))]
    worse = [f"{name}: {line}" for name, part in there.items() if (line := not_below(part.whole))]
    return (
        f"{_table(['', *there], rows, caption, 'rp-narrow')}{_items(broken)}"
        f"<h3>Is satisfaction the price?</h3>{_items(worse)}"
    )


def _share(share: Share | None) -> str:
    if share is None or share.value is None or share.low is None or share.high is None:
        return "–"
    interval = f"[{share.low:.1%}, {share.high:.1%}]<small>{share.hits:,} of {share.n:,}</small>"
    return f"<b>{share.value:.1%}</b> {interval}".replace("%", " %")


def breaks_more(broken: Mapping[str, Share]) -> str:
    """Whether the last variant breaks the notation more often than the base, by their intervals; "" where unknown."""
    ours, theirs = broken.get(BEST.label), broken.get(BASE)
    if ours is None or theirs is None or None in (ours.low, ours.high, theirs.low, theirs.high):
        return ""
    if ours.low > theirs.high:  # type: ignore[operator]
        verdict = "more often than"
    elif ours.high < theirs.low:  # type: ignore[operator]
        verdict = "less often than"
    else:
        verdict = "with an interval that overlaps with that of"
    return f"{BEST.label} breaks its notation {verdict} {BASE} ({ours} against {theirs})."


def not_below(scope: ScopeResults) -> str:
    """Whether the last variant lost satisfaction against the base, and how much the interval leaves possible."""
    measure = MEASURE["satisfaction"]
    compared = _between(scope, measure, BEST.label, BASE)
    if compared is None:
        return "satisfaction could not be compared."
    said = _verdict(compared, measure)
    low = compared.difference.low
    if compared.conclusion or low is None:
        return said
    return f"{said} Losses of more than {measure.shown(max(0.0, -low))} lie outside the interval."


# -- 9: can the numbers be trusted -------------------------------------------------------------------------------------


def _trust(run: PaperRun) -> str:
    parts = {"held-out users": run.evaluation, "unseen kinds": run.generalisation}
    certificates = "".join(
        f"<h3>The simulated user, {name}</h3>{_certificate(part.certificate)}"
        for name, part in parts.items()
        if part is not None
    )
    whole = run.evaluation.whole
    return (
        '<p id="trust">Scripted assistants whose order can be argued for beforehand talk with the same simulated '
        f"users. Only if they come out in that order can the simulator say anything about others.</p>{certificates}"
        "<h3>How much eq. 4 owes to who else took part</h3><p>Its bounds come from the pool of assistants, so the same "
        "conversations score differently in another pool; the plain share that was found does not.</p>"
        f"{pools(whole.table, whole.pools, run.marks)}"
    )


def _certificate(certificate: Certificate | None) -> str:
    if certificate is None:
        return '<p class="dl-told" data-tone="warn">No certificate was made.</p>'
    tone = {"passed": "known", "failed": "warn", "undecided": "open"}[certificate.result]
    shown = MEASURE["proportion"]
    rows = [
        _row(
            _text(each.relation.text),
            [
                f"<b>{_signed(each.difference.mean, shown)}</b> {_bounds(each.difference, shown)}",
                _text(each.holds),
                _text(each.relation.why),
            ],
        )
        for each in certificate.tested
    ]
    size = f"Paired differences in the share found, n = {certificate.artifacts} artifacts, 95 % intervals"
    verdict = certificate.result.capitalize()
    return (
        f'<p class="dl-told" data-tone="{tone}"><b>{verdict}</b>: {_text(certificate.line)}.</p>'
        '<details class="dl-more"><summary>Every relation</summary>'
        f"{_table(['relation', 'difference', 'verdict', 'argued for by'], rows, size, 'rp-wrap')}</details>"
    )


# -- 10: what this is --------------------------------------------------------------------------------------------------


def _about(run: PaperRun) -> str:
    return (
        "<p>A miniature of the paper: its method with every step computed by the code that drives large models, in a "
        "world small enough for a laptop. The user and the judge are programs with a written-down notion of what can "
        "be wanted; the model is a small transformer that writes a compact notation, pretrained from nothing; tokens "
        "are counted on that notation. It can show whether the method does what it says in this world. It cannot show "
        "how people, or large models, would fare, and its numbers are not the paper’s.</p>"
        f"<h3>The paper’s own table 1, beside</h3>{_theirs(run)}"
        f"<h3>Time</h3>{_times(run)}<h3>To make it again</h3>{_again(run)}"
    )


def _theirs(run: PaperRun) -> str:
    with RunStore.read(run.evaluation.folder) as store:
        configuration = store.configuration
    scopes = [each.to_dict() for each in run.evaluation.kinds]
    told = {"run": configuration, "rules": configuration["rules"], "scopes": scopes}
    ours = [each for each in our_results(told) if each.assistant in (BASE, BEST.label)]
    try:
        rows = [each.row() for each in beside(ours)]
    except OSError:
        return '<p class="dl-quiet">The paper’s printed numbers are not on this machine.</p>'
    head = "".join(f'<th scope="col">{_text(name)}</th>' for name in BESIDE_COLUMNS)
    listed = "".join(_beside_row(each) for each in rows)
    return (
        f'<p>{_text(BESIDE_NOTE)}</p><div class="dl-scroll"><table class="ds-table">'
        f"<thead><tr>{head}</tr></thead><tbody>{listed}</tbody></table></div>"
    )


def _beside_row(cells: Sequence[str]) -> str:
    whose = ' class="rp-ours"' if cells[0].startswith("ours") else ""
    return f"<tr{whose}>{''.join(f'<td>{_text(cell)}</td>' for cell in cells)}</tr>"


def _times(run: PaperRun) -> str:
    path = run.folder / TIMES
    if not path.is_file():
        return '<p class="dl-quiet">Not recorded.</p>'
    seconds = json.loads(path.read_text(encoding="utf-8"))
    rows = [_row(_text(name), [_text(show_training.duration(each))]) for name, each in seconds.items()]
    rows.append(_row("<b>all steps</b>", [f"<b>{_text(show_training.duration(sum(seconds.values())))}</b>"]))
    caption = "Wall time of each step in the sitting that finished it, on the machine that it ran on"
    return _table(["step", "time"], rows, caption, "rp-narrow")


def _again(run: PaperRun) -> str:
    found = _versions(run)
    versions = ", ".join(f"{name} {each}" for name, each in found.items())
    return (
        f"<pre>{_text(command(run.options))}</pre>"
        "<p>The same seed gives the same users, rows and order of training. Floating point may still differ between "
        f"machines.</p><p>Made with {_text(versions) or 'versions that were not recorded'}.</p>"
    )


def command(options: Mapping[str, Any]) -> str:
    """What makes the same run again: the command where it can say it, else the call."""
    seed, domains = options["seed"], tuple(options["domains"])
    for flag, made in (("", PaperOptions(seed, domains)), (" --quick", PaperOptions.small(seed, domains))):
        if json.loads(json.dumps(made.to_dict())) == options:
            usual = PaperOptions().domains[:1] if flag else PaperOptions().domains
            named_ones = "" if domains == usual else "".join(f" --domain {each}" for each in domains)
            return f"discover miniature --seed {seed}{named_ones}{flag}"
    usual_ones = json.loads(json.dumps(PaperOptions().to_dict()))
    changed = ", ".join(f"{name}={value!r}" for name, value in options.items() if value != usual_ones.get(name))
    return f"Paper(folder, PaperOptions({changed})).run()"


def _versions(run: PaperRun) -> dict[str, str]:
    """Of this library, as the evaluation recorded it, and of what trained the last variant."""
    from discover_lib.engines.local.lineage import Lineage, LineageError

    with RunStore.read(run.evaluation.folder) as store:
        found = {"discover_lib": str(store.configuration.get("code_version"))}
    try:
        return found | dict(Lineage.read(run.folder / BEST.folder).versions)
    except (LineageError, OSError):
        return found


SECTIONS: tuple[tuple[str, Callable[[PaperRun], str]], ...] = (
    ("The answer", _answer),
    ("Scores", _scores),
    ("What the assistants do", _behaviour),
    ("Turn by turn", _curves),
    ("Unseen kinds", _generalisation),
    ("Training", _training),
    ("Before and after", _before_after),
    ("What it might have cost", _soundness),
    ("Whether to believe it", _trust),
    ("What this is, and how to repeat it", _about),
)
