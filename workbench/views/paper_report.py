"""The report of the paper in miniature: one HTML file made of what its folder holds, without script or network.

Here is what is computed from `results.json`, the stores of the evaluations and the logs of the training runs; how it is
put into words and in which order stands in `static/report_page.html`.  What is missing is said to be.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import whole_file
from discover_lib.base.ids import DiscoverId, LabelledId
from discover_lib.base.words import duration
from discover_lib.core.conversation import Conversation
from discover_lib.core.state import Discovery
from discover_lib.engines.miniature.assistants import USER_BLIND
from discover_lib.metrics.certificate import Certificate
from discover_lib.metrics.evidence import BROKEN
from discover_lib.metrics.intervals import INTERVAL, Estimate, Share, percent, share_of
from discover_lib.metrics.paired import TEST, TOO_FEW, Comparison, p_text
from discover_lib.metrics.results import ALL, MEASURE, MEASURES, Measure, ScopeResults, best_first
from discover_lib.paper import BASE, FORMAT, OPTIONS, RESULTS, TIMES, VARIANTS, PaperOptions, Variant, labelled_id
from discover_lib.runs.store import RunStore, id_of_run
from discover_lib.tasks.certify import panel_folder
from discover_lib.tasks.paper_numbers import beside, our_results
from discover_lib.train.run_files import METRICS
from discover_lib.train.training_job import TrainingJob, standing_lines
from workbench.views import audit_parts as show_audit
from workbench.views import conversation_parts as show
from workbench.views import training as show_training
from workbench.views.figures.charts import SMALL, WIDE, Box, families, turn_curves
from workbench.views.figures.theme import Look, looks, named
from workbench.views.html import EMPTY, Markup, hidden, joined, quiet, tag
from workbench.views.saved_pages import page
from workbench.views.score_parts import captioned, cell, measure_head, pairs, pools, row, stands_on

FILE = "report.html"
BEST = VARIANTS[-1]
LADDER = (BASE, *(each.label for each in VARIANTS))
DISCOVERY, TOKENS = MEASURE["discovery"], MEASURE["tokens"]
_EQUATION = re.compile(r"\b([np]) = ")
Asked = tuple[str, str, str | None]  # measure, ours, theirs


@dataclass(frozen=True)
class Part:
    """One evaluation: with held-out users, or on unseen kinds of artifacts."""

    folder: Path
    scopes: Mapping[str, ScopeResults]
    certificate: Certificate | None
    broken: Mapping[str, Share]
    ceilings: Mapping[str, Estimate]  # scope → what could be found at all
    ids: LabelledId  # of all that was measured in it
    panel: DiscoverId | None  # of what its certificate stands on

    @property
    def whole(self) -> ScopeResults:
        return self.scopes[ALL] if ALL in self.scopes else next(iter(self.scopes.values()))

    def ids_of(self, scope: ScopeResults) -> LabelledId:
        """Of all that a scope's numbers stand on."""
        return replace(self.ids, domain="" if scope.scope == ALL else scope.scope)

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
    user_blind: Part | None = None  # a list that ignores the user, on the users of the evaluation

    @classmethod
    def read(cls, folder: Path) -> PaperRun:
        """
        Raises:
            DiscoverError: no results of this format.
        """
        path = folder / RESULTS
        if not path.is_file():
            raise DiscoverError(
                f"{folder} holds no {RESULTS}; run 'discover miniature --run {folder}' to its end first"
            )
        try:
            results = json.loads(path.read_text(encoding="utf-8"))
            if results.get("format") != FORMAT:
                raise DiscoverError(f"{path} has the format {results.get('format')!r}, not {FORMAT!r}; make it anew")
            parts = {
                name: _part(folder / name, results[name], results["labels"])
                for name in ("evaluation", "generalisation")
                if name in results
            }
            if USER_BLIND in results:
                parts[USER_BLIND] = _part(folder / USER_BLIND, results[USER_BLIND], (USER_BLIND,))
            return cls(folder, results, parts["evaluation"], parts.get("generalisation"), parts.get(USER_BLIND))
        except (KeyError, TypeError, AttributeError, json.JSONDecodeError) as error:
            raise DiscoverError(f"{path} cannot be read ({error}); delete it and run the last step again") from None

    @property
    def options(self) -> Mapping[str, Any]:
        return self.results["options"]

    @property
    def scripted(self) -> tuple[str, ...]:
        return tuple(name for name in self.results["labels"] if name not in LADDER)

    @property
    def unchanged(self) -> dict[str, str]:
        """Variants that kept the model as it was, round 0 of their training → the variant or base which that is."""
        training = self.results["training"]
        return {each.label: each.after or BASE for each in VARIANTS if training[each.label].get("kept_round") == 0}

    @property
    def unchanged_lines(self) -> list[str]:
        """Why two rows are alike."""
        return [
            f"{label} is {before} as it was: in no round of its training more was discovered than before it"
            for label, before in self.unchanged.items()
        ]

    @cached_property
    def marks(self) -> dict[str, Look]:
        return looks(self.results["labels"])

    @property
    def user_blind_line(self) -> str:
        """What the list earns, in one sentence; "" in a run of an earlier version."""
        if self.user_blind is None:
            return ""
        row = self.user_blind.whole.table[USER_BLIND]
        told = (
            f"{MEASURE[name].label} {row[name]}" for name in ("proportion", "reward", "satisfaction") if name in row
        )
        return (
            f"{USER_BLIND}, which names everything and ignores the user, in no pool with the others: {', '.join(told)}"
        )

    def best_scripted(self, scope: ScopeResults) -> str | None:
        """The scripted assistant with the highest discovery."""
        return next((name for name in best_first(scope.table) if name in self.scripted), None)


def _part(folder: Path, results: Mapping[str, Any], labels: Sequence[str]) -> Part:
    with RunStore.read(folder) as store:
        ids = labelled_id(folder, dict(zip(store.configuration["assistants"], labels, strict=True)))
    panel = panel_folder(folder)
    scopes = [ScopeResults.from_dict(each) for each in results["scopes"]]
    certificate = results.get("certificate")
    return Part(
        folder,
        {each.scope: each for each in scopes},
        Certificate.from_dict(certificate) if certificate else None,
        {name: share_of(each["broken"], each["replies"]) for name, each in results["broken"].items()},
        {scope: Estimate.from_dict(each) for scope, each in results.get("ceilings", {}).items()},
        ids,
        id_of_run(panel) if panel else None,
    )


def report_html(folder: Path) -> str:
    """The report of a finished run of the paper as a self-contained HTML page.

    Raises:
        DiscoverError: the folder holds no results that can be read.
    """
    run = PaperRun.read(folder)
    parts = {"held-out users": run.evaluation, "unseen kinds": run.generalisation}
    finished = {name: part for name, part in parts.items() if part is not None}
    return page(
        "report_page.html",
        "The paper in miniature",
        ("workbench.css", "report_page.css"),
        BASE=BASE,
        BEST=BEST,
        INTERVAL=INTERVAL,
        TEST=TEST,
        run=run,
        facts=_facts(run),
        answer=_answer(run),
        scores=_scores(run),
        behaviour=_behaviour(run),
        curves=_curves(run),
        unseen=_unseen(run, run.generalisation) if run.generalisation else None,
        base=_base(run),
        stages=[_stage(run, each) for each in VARIANTS],
        exchanges={_plain(domain): _exchange(talks, run.evaluation.ids) for domain, talks in first_talks(run).items()},
        broken=_broken(run, finished),
        satisfaction=[
            tag("span", f"{name}: ", line)
            for name, part in finished.items()
            for line in _sentences(part, part.whole, [("satisfaction", BEST.label, BASE)])
        ],
        user_blind=stands_on(f"{run.user_blind_line}.", run.user_blind.ids, assistants=USER_BLIND, measure="reward")
        if run.user_blind
        else "",
        certificates={name: _certificate(part) for name, part in finished.items()},
        pools=pools(run.evaluation.whole.table, run.evaluation.whole.pools, run.marks, run.evaluation.ids),
        ids=[str(part.ids) for part in parts.values() if part],
        theirs=_theirs(run),
        times=_times(run),
        command=command(run.options),
        versions=", ".join(f"{name} {version}" for name, version in _versions(run).items()),
    )


def write_report(folder: Path) -> Path:
    """Write `report.html` into the run's folder; it can be made again at any time.

    Raises:
        DiscoverError: as `report_html`.
    """
    html, path = report_html(folder), folder / FILE
    with whole_file(path) as file:
        file.write(html)
    return path


# -- words and cells ---------------------------------------------------------------------------------------------------


def _plain(name: str) -> str:
    """A domain as people write it."""
    return "all together" if name == ALL else name.replace("_", " ")


def _unbroken(text: str) -> str:
    """No line ends within "n = 16" or before a percent sign."""
    return _EQUATION.sub("\\1\u00a0=\u00a0", text).replace(" %", "\u00a0%")


def _pair(measure: str, ours: str, theirs: str) -> dict[str, Any]:
    """A paired difference, as an id names it."""
    return {"measure": MEASURE[measure].label, "assistants": ours, "against": theirs}


def _estimate(each: Estimate | None, measure: Measure, mark: Markup, id: DiscoverId) -> Markup:
    if each is None:
        return tag("td", tag("span", "not scored", class_="dl-quiet"))
    interval = tag("small", _bounds(each, measure) or "no interval")
    return tag("td", tag("b", measure.shown(each.mean)), mark, interval, data_id=str(id))


def _bounds(each: Estimate, measure: Measure) -> str:
    if each.low is None or each.high is None:
        return ""
    return f"[{measure.shown(each.low)}, {measure.shown(each.high)}]"


def _between(scope: ScopeResults, measure: Measure, ours: str, theirs: str | None) -> Comparison | None:
    compared = None if theirs is None else scope.comparison(measure.name, ours, theirs)
    return None if compared is None else compared.facing(ours)


def _sentences(part: Part, scope: ScopeResults, asked: Sequence[Asked]) -> list[Markup]:
    """Verdicts in words, where there are any."""
    compared = ((MEASURE[name], _between(scope, MEASURE[name], ours, theirs)) for name, ours, theirs in asked)
    return [
        stands_on(_unbroken(_verdict(each, measure)), part.ids_of(scope), **_pair(measure.name, each.ours, each.theirs))
        for measure, each in compared
        if each is not None
    ]


def _verdict(compared: Comparison, measure: Measure) -> str:
    return f"{compared.sentence(measure.phrase, measure.worth_seeing, measure.shown)}."


def _mark(compared: Comparison | None, measure: Measure) -> Markup:
    """Whether a cell lies above or below, or cannot be told apart; the whole verdict on pointing at it."""
    if compared is None:
        return EMPTY
    sign = {1: "▲", -1: "▼", 0: "?" if compared.too_few else "≈"}[compared.conclusion]
    tone, verdict = "apart" if compared.distinguishable else "open", _verdict(compared, measure)
    return tag("span", sign, hidden(f" {compared.verdict}"), class_="rp-mark", data_tone=tone, title=verdict)


def _difference(compared: Comparison | None, measure: Measure, ids: DiscoverId) -> Markup:
    """A paired difference with its interval and its verdict in words."""
    if compared is None:
        return cell("–")
    each = compared.difference
    p = "" if compared.too_few else f", p = {p_text(compared.p_adjusted)}"
    return tag(
        "td",
        tag("b", _signed(each.mean, measure)),
        _mark(compared, measure),
        f" {_bounds(each, measure)}",
        tag("small", f"{compared.verdict}{p}"),
        data_id=str(replace(ids, **_pair(measure.name, compared.ours, compared.theirs))),
    )


def _facts(run: PaperRun) -> str:
    whole, options = run.evaluation.whole, run.options
    return (
        f"{len(whole.assistants)} assistants with the same {whole.users:,} held-out users ({whole.artifacts} artifacts "
        f"of {', '.join(map(_plain, options['domains']))}; trials: {options['trials']}), seed {options['seed']}"
    )


# -- the answer --------------------------------------------------------------------------------------------------------


def _answer(run: PaperRun) -> dict[str, Any]:
    whole, certificate = run.evaluation.whole, run.evaluation.certificate
    doubt = certificate.line if certificate else "no certificate was made"
    # Eq. 4 and tokens are told against others; what is measured besides stands against the base.
    measures: list[Asked] = [(each.name, BEST.label, BASE) for each in MEASURES if each not in (DISCOVERY, TOKENS)]
    measures += [(name, BEST.label, BEST.after) for name in ("discovery", "tokens")]
    measures += [("discovery", BEST.label, run.best_scripted(whole))]
    return {
        "headline": tag(
            "div",
            headline(whole),
            *(tag("p", f"{line}.", class_="rp-lead") for line in run.unchanged_lines),
            data_id=str(replace(run.evaluation.ids, **_pair("discovery", BEST.label, BASE))),
        ),
        "doubt": "" if certificate and certificate.result == "passed" else doubt,
        "measures": _sentences(run.evaluation, whole, measures),
        "stages": _sentences(run.evaluation, whole, [("discovery", each.label, BASE) for each in VARIANTS[:-1]]),
        "by_domain": [
            tag("span", f"{_plain(scope.scope)}: ", line)
            for scope in run.evaluation.kinds
            if scope is not whole
            for line in _sentences(run.evaluation, scope, [("discovery", BEST.label, BASE)])
        ],
    }


def headline(scope: ScopeResults) -> Markup:
    """Whether the last variant discovers more than its base, and at what length, in one sentence or two."""
    compared = _between(scope, DISCOVERY, BEST.label, BASE)
    if compared is None:
        return tag("p", f"{BEST.label} and {BASE} could not be compared in discovery.", class_="rp-lead")
    more = f"{BEST.label} helps its users discover {{}} than the {BASE} model that it was trained from"
    open_ = f"Whether {BEST.label} helps its users discover more than the {BASE} model"
    tone, word, verdict = {
        1: ("yes", "Yes", more.format("more")),
        -1: ("no", "No", more.format("less")),
        0: ("open", "Not shown", f"{open_} is not shown: the two are not distinguishable in discovery"),
    }[compared.conclusion]
    certainty = f"p = {p_text(compared.p_adjusted)}, n = {compared.difference.n_artifacts} artifacts"
    if compared.too_few:
        word, verdict, certainty = TOO_FEW.capitalize(), f"{open_} cannot be told here", compared.too_few_says
    sentences = f" {verdict}: {_against(scope, compared, DISCOVERY)} (eq. 4; {certainty}). {_at_what_length(scope)}"
    return tag("p", tag("b", f"{word}."), _unbroken(sentences), class_="rp-lead", data_tone=tone)


def _against(scope: ScopeResults, compared: Comparison, measure: Measure) -> str:
    """ "0.61 against 0.42, a difference of +0.19 [0.15, 0.23], +45 % [+36, +55] of the base’s mean"."""
    each, theirs = compared.difference, scope.table[compared.theirs][measure.name].mean
    ours = scope.table[compared.ours][measure.name].mean
    line = f"{measure.shown(ours)} against {measure.shown(theirs)}, a difference of {_signed(each.mean, measure)}"
    line += f" {_bounds(each, measure)}".rstrip()
    if theirs <= 0:
        return line
    ends = [_percent(end / theirs) for end in (each.low, each.high) if end is not None]
    interval = f" [{', '.join(ends)}]" if ends else ""
    return f"{line}, {_percent(each.mean / theirs)}{interval} of the {compared.theirs}’s mean"


def _percent(value: float) -> str:
    """A change in whole percent, with its sign unless it is 0."""
    whole = round(100 * value)
    return f"{whole:+d} %".replace("-", "−") if whole else "0 %"


def _signed(value: float, measure: Measure) -> str:
    return f"{'+' if value > 0 else ''}{measure.shown(value)}"


def _at_what_length(scope: ScopeResults) -> str:
    compared = _between(scope, TOKENS, BEST.label, BASE)
    if compared is None:
        return "Tokens could not be compared."
    open_ = f"In length they are {TOO_FEW}" if compared.too_few else "In length the two are not distinguishable"
    verdict = {1: "It writes more", -1: "It writes less", 0: open_}[compared.conclusion]
    p = "" if compared.too_few else f", p = {p_text(compared.p_adjusted)}"
    return f"{verdict}: {_against(scope, compared, TOKENS)} (thousand tokens per conversation{p})."


# -- table 1 -----------------------------------------------------------------------------------------------------------


def _scores(run: PaperRun) -> dict[str, Any]:
    whole = run.evaluation.whole
    comparisons = whole.comparisons.get(DISCOVERY.name, ())
    return {
        "tables": {
            _plain(scope.scope).capitalize(): score_table(run, run.evaluation, scope)
            for scope in run.evaluation.scopes.values()
        },
        "meanings": [f"{each.label}: {each.meaning}" for each in MEASURES],
        "pairs": pairs(whole.table, comparisons, DISCOVERY, run.marks, ids=run.evaluation.ids),
    }


def score_table(run: PaperRun, part: Part, scope: ScopeResults) -> Markup:
    """Assistants × measures as in table 1, with intervals, n, and verdicts against the base and the best scripted."""
    scripted = run.best_scripted(scope)
    against = [BASE, *([scripted] if scripted else [])]
    ceiling, why, ids = part.ceilings.get(scope.scope), scope.why_no_eq_4, part.ids_of(scope)
    head: list[str] = ["assistant"]
    head += [measure_head(each, scope.table, scope.users_of, ceiling, why, ids) for each in MEASURES]
    head += [f"discovery − {BASE}"]
    head += [tag("span", f"discovery − {scripted}", tag("small", "the best scripted one"))] if scripted else []
    rows = []
    for name in run.results["labels"]:
        cells = [
            _estimate(
                scope.table[name].get(each.name),
                each,
                _mark(_between(scope, each, name, BASE), each),
                replace(ids, assistants=name, measure=each.label),
            )
            for each in MEASURES
        ]
        cells += [_difference(_between(scope, DISCOVERY, name, other), DISCOVERY, ids) for other in against]
        kind = "trained" if name in LADDER else "scripted"
        apart = "rp-apart" if run.scripted[:1] == (name,) else None
        rows.append(row(named(name, run.marks[name]), cells, data_kind=kind, class_=apart))
    caption = (
        f"Means over {scope.artifacts} artifacts with 95 % intervals; {scope.users:,} users; {scope.same_for_all} of "
        f"them left out of eq. 4 because all assistants found the same."
    )
    return tag("div", captioned(head, rows, caption, "rp-table"), data_id=str(ids))


# -- figures -----------------------------------------------------------------------------------------------------------


def _behaviour(run: PaperRun) -> dict[str, Any]:
    manners, ids = run.evaluation.whole.manners, replace(run.evaluation.ids, measure="behaviour")
    return {
        "id": str(ids),
        "families": families(manners, run.marks),
        "shares": [
            stands_on(
                _unbroken(
                    f"{name}: {each.divergent} of its turns open up (n = {each.divergent.n_artifacts} artifacts)"
                ),
                ids,
                assistants=name,
            )
            for name, each in manners.items()
            if name in LADDER and each.divergent
        ],
        "neither": f"{sum(each.turns_of_neither for each in manners.values()):,}",
    }


def _curves(run: PaperRun) -> dict[str, Any]:
    part = run.evaluation
    whole = part.whole
    turns = max(map(len, whole.curves.values()), default=0)
    ids = replace(part.ids, measure=MEASURE["proportion"].label)
    rows = [
        row(
            named(name, run.marks[name]),
            [
                *(
                    tag("td", str(each), data_id=str(replace(ids, assistants=name, turn=at)))
                    for at, each in enumerate(curve, 1)
                ),
                *[cell("–")] * (turns - len(curve)),
            ],
        )
        for name, curve in whole.curves.items()
    ]
    head = ["assistant", *(f"turn {at}" for at in range(1, turns + 1))]
    return {
        "id": str(ids),
        "whole": _curve(run, whole, Box(WIDE.width, 340)),
        "by_domain": [_curve(run, scope, SMALL) for scope in part.kinds] if len(part.scopes) > 1 else [],
        "table": captioned(head, rows, f"n = {whole.artifacts} artifacts", "rp-table"),
    }


def _curve(run: PaperRun, scope: ScopeResults, size: Box) -> Markup:
    title = f"{_plain(scope.scope).capitalize()}, n = {scope.artifacts} artifacts"
    drawn = turn_curves(scope.curves, run.marks, title, (BASE, BEST.label), size)
    return tag("figure", tag("figcaption", title), drawn, class_="rp-curve")


# -- unseen kinds ------------------------------------------------------------------------------------------------------


def _unseen(run: PaperRun, part: Part) -> dict[str, Any]:
    head: list[str] = ["kind", *(named(name, run.marks[name]) for name in LADDER), f"{BEST.label} − {BASE}"]
    head.append(tag("span", "thousand tokens", tag("small", f"{BEST.label} − {BASE}")))
    rows = []
    for scope in part.scopes.values():
        ids = part.ids_of(scope)
        cells = [
            _estimate(
                scope.table[name].get(DISCOVERY.name),
                DISCOVERY,
                _mark(_between(scope, DISCOVERY, name, BASE), DISCOVERY),
                replace(ids, assistants=name, measure=DISCOVERY.label),
            )
            for name in LADDER
        ]
        cells += [_difference(_between(scope, each, BEST.label, BASE), each, ids) for each in (DISCOVERY, TOKENS)]
        size = tag("small", f"n = {scope.artifacts} artifacts, {scope.users} users")
        title = tag("span", _plain(scope.scope), size, data_id=str(ids))
        rows.append(row(title, cells, data_kind=None if scope.scope == ALL else "kind"))
    asked: list[Asked] = [(name, BEST.label, BASE) for name in ("discovery", "proportion", "satisfaction", "tokens")]
    return {
        "pretraining": _pretraining(run),
        "sentences": _sentences(part, part.whole, [*asked, ("discovery", BEST.label, BEST.after)]),
        "table": captioned(head, rows, "Discovery (eq. 4) with 95 % intervals, marks against the base", "rp-table"),
        "every_measure": score_table(run, part, part.whole),
    }


def _pretraining(run: PaperRun) -> str:
    known = set(run.results["base"].get("domains") or ())
    taught = [_plain(name) for name in run.options["unseen"] if name in known]
    return f" The base was pretrained to write about {', '.join(taught)}, as large models are." if taught else ""


# -- training ----------------------------------------------------------------------------------------------------------


def _base(run: PaperRun) -> str:
    """What is known of the base before any training here."""
    measured = run.results["base"].get("measured") or {}
    known = (("honoured", "plain wishes that the base honours"), ("broken", "replies that it breaks"))
    estimates = ((what, Estimate.from_dict(measured[name])) for name, what in known if measured.get(name))
    return "; ".join(f"{what}: {each} (n = {each.n_artifacts} users)" for what, each in estimates).capitalize()


def _stage(run: PaperRun, variant: Variant) -> dict[str, Any]:
    known = run.results["training"].get(variant.label) or {}
    after = f", after {variant.after}" if variant.after else f", from {BASE}"
    facts = f"{variant.stage.upper()}{after}; updates: {known.get('step')}, rows: {known.get('rows')}"
    try:
        job = TrainingJob(run.folder / variant.folder)
        lines, total = standing_lines(job.metrics().lines), job.status().total_steps
    except DiscoverError as error:
        lines, total, facts = [], None, f"{facts}; its log is gone ({error})"
    return {
        "label": variant.label,
        "file": f"{variant.folder}/{METRICS}",
        "facts": facts,
        "kept": show_training.kept_round(known),
        "curves": show_training.curves(lines, total) if lines else quiet("No line of its log is there."),
    }


# -- before and after --------------------------------------------------------------------------------------------------


def first_talks(run: PaperRun) -> dict[str, dict[str, Conversation]]:
    """Domain → base and variants → their conversation with the first user whom all of them met to the end."""
    talks: dict[str, dict[str, Conversation]] = {}
    with RunStore.read(run.evaluation.folder) as store:
        labels = dict(zip(store.configuration["assistants"], run.results["labels"], strict=True))
        places: dict[str, dict[tuple[str, int], dict[str, int]]] = {}
        for row in store.listing():
            label = labels["+".join(row.assistants)]
            if label in LADDER and row.stop not in (None, "error") and row.turns:
                places.setdefault(row.domain, {}).setdefault((row.artifact, row.trial), {})[label] = row.place
        for domain, users in places.items():
            shared = next((user for user in users.values() if len(user) == len(LADDER)), None)
            if shared is not None:
                talks[domain] = {label: store.conversation(shared[label]) for label in LADDER}
    return talks


OUTCOME_COLUMNS = ("", "turns", "hidden intents discovered", "tokens", "mean reward")


def _exchange(talks: Mapping[str, Conversation], ids: DiscoverId) -> dict[str, Any]:
    finals = {
        label: show.rich_text(talk.final.reply.text) if talk.final else quiet("None was had.")
        for label, talk in talks.items()
    }
    setting = talks[BASE].setting
    user = replace(ids, artifact=setting["artifact"], trial=setting["trial"])
    rows = [
        row(tag("b", label), map(cell, _outcome(talk)), data_id=str(replace(user, assistants=label)))
        for label, talk in talks.items()
    ]
    return {
        "id": str(user),
        "request": show.rich_text(talks[BASE].tree.initial_request),
        "replies": show_training.replies({label: talk.turns[0].candidate for label, talk in talks.items()}),
        "outcomes": captioned(OUTCOME_COLUMNS, rows, "How it went on", "rp-table rp-narrow"),
        "finals": joined(show.panel(label, tag("div", piece, class_="dt-reply")) for label, piece in finals.items()),
    }


def _outcome(talk: Conversation) -> list[str]:
    hidden_intents = [intent for intent in talk.tree.intents if talk.start[intent] is not Discovery.DISCOVERED]
    known = sum(talk.state[intent] is Discovery.DISCOVERED for intent in hidden_intents)
    tokens = sum(turn.reply.n_tokens for turn in talk.turns)
    rewards = [turn.candidate.reward.total for turn in talk.turns if turn.candidate.reward]
    mean = show.signed(sum(rewards) / len(rewards)) if rewards else "unscored"
    return [str(len(talk.turns)), f"{known} of {len(hidden_intents)}", f"{tokens:,}", mean]


# -- what it cost in other ways ----------------------------------------------------------------------------------------


def _broken(run: PaperRun, parts: Mapping[str, Part]) -> Markup:
    rows = [
        row(
            named(name, run.marks[name]),
            [
                _share(part.broken.get(name), replace(part.ids, assistants=name, measure=BROKEN))
                for part in parts.values()
            ],
        )
        for name in LADDER
    ]
    caption = (
        "Replies that cannot be read as the models’ notation, of all replies with the finished piece; 95 % Wilson "
        "intervals, which take replies as independent"
    )
    return captioned(["", *parts], rows, caption, "rp-table rp-narrow")


def _share(share: Share | None, id: DiscoverId) -> Markup:
    if share is None or share.value is None or share.low is None or share.high is None:
        return cell("–")
    value, interval = percent(share.value, 1), f" [{percent(share.low, 1)}, {percent(share.high, 1)}]"
    return tag("td", tag("b", value), interval, tag("small", f"{share.hits:,} of {share.n:,}"), data_id=str(id))


# -- can the numbers be trusted ----------------------------------------------------------------------------------------


def _certificate(part: Part) -> dict[str, Any] | None:
    certificate = part.certificate
    if certificate is None:
        return None
    shown, panel = MEASURE["proportion"], part.panel or part.ids
    rows = [
        row(
            each.relation.text,
            [
                tag(
                    "td",
                    tag("b", _signed(each.difference.mean, shown)),
                    f" {_bounds(each.difference, shown)}",
                    data_id=str(
                        replace(
                            panel,
                            assistants=each.relation.better,
                            against=each.relation.worse,
                            measure=MEASURE["share"].label,
                        )
                    ),
                ),
                cell(f"{each.holds} (reported)" if each.relation.reported else each.holds),
                cell(each.relation.why),
            ],
        )
        for each in certificate.tested
    ]
    size = f"Paired differences in the share found, n = {certificate.artifacts} artifacts, 95 % intervals"
    head = ("relation", "difference", "verdict", "argued for by")
    return {
        "tone": {"passed": "known", "failed": "warn", "undecided": "open"}[certificate.result],
        "id": str(panel),
        "verdict": certificate.result.capitalize(),
        "line": ". ".join(filter(None, (certificate.line, certificate.reported_line.capitalize()))),
        "relations": captioned(head, rows, size, "rp-table rp-wrap"),
    }


# -- what this is ------------------------------------------------------------------------------------------------------


def _theirs(run: PaperRun) -> Markup:
    """The paper's own table 1 beside base and last variant."""
    with RunStore.read(run.evaluation.folder) as store:
        configuration = store.configuration
    scopes = [each.to_dict() for each in run.evaluation.kinds]
    results = {"run": configuration, "rules": configuration["rules"], "scopes": scopes}
    ours = [each for each in our_results(results) if each.who in (BASE, BEST.label)]
    try:
        return show_audit.beside(beside(ours))
    except OSError:
        return quiet("The paper’s printed numbers are not on this machine.")


def _times(run: PaperRun) -> Markup:
    path = run.folder / TIMES
    if not path.is_file():
        return quiet("Not recorded.")
    seconds = json.loads(path.read_text(encoding="utf-8"))
    seconds["all steps"] = sum(seconds.values())
    rows = [row(name, [cell(duration(each))]) for name, each in seconds.items()]
    caption = "Wall time of each step in the attempt that finished it, on the machine that it ran on"
    return captioned(("step", "time"), rows, caption, "rp-table rp-narrow")


def command(options: Mapping[str, Any]) -> str:
    """What makes the same run again."""
    seed, domains, taste, quick = options["seed"], options["domains"], options.get("taste", 0), options["quick"]
    usual = PaperOptions.small(seed, domains, taste) if quick else PaperOptions(seed, tuple(domains), taste=taste)
    if usual.to_dict() != options:
        return f"Paper(folder, PaperOptions(...)).run()  # the options are in {OPTIONS}"
    named_ones = "".join(f" --domain {each}" for each in domains)
    return f"discover miniature --seed {seed}{named_ones}{f' --taste {taste}' if taste else ''}{' --quick' * quick}"


def _versions(run: PaperRun) -> dict[str, str]:
    """Of this library, as the evaluation recorded it, and of what trained the last variant."""
    from discover_lib.engines.local.lineage import Lineage, LineageError

    with RunStore.read(run.evaluation.folder) as store:
        versions = {"discover_lib": str(store.configuration.get("code_version"))}
    try:
        return versions | dict(Lineage.read(run.folder / BEST.folder).versions)
    except (LineageError, OSError):
        return versions
