"""The report of the paper in miniature: one HTML file without script or network.

This module reads `results.json`, the stores of the evaluations and the logs of the training runs. The template
`static/report_page.html` contains the words and the tables. The report names each part that is missing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import whole_file
from discover_lib.engines.miniature.assistants import USER_BLIND
from discover_lib.metrics.certificate import Certificate
from discover_lib.metrics.intervals import INTERVAL, Estimate, Share, share_of
from discover_lib.metrics.paired import TEST, TOO_FEW, Comparison
from discover_lib.metrics.results import ALL, MEASURE, MEASURES, Measure, ScopeResults
from discover_lib.paper import BASE, FORMAT, OPTIONS, RESULTS, VARIANTS, PaperOptions, Variant
from discover_lib.runs.store import RunStore
from discover_lib.tasks.certify import Trust
from discover_lib.tasks.certify import told as certificate_told
from discover_lib.tasks.told import results_told
from discover_lib.tasks.waist import Report, Table
from discover_lib.train.training_job import TrainingJob
from workbench.parts import report_html as told_as_html
from workbench.views import training as show_training
from workbench.views.charts import turn_curves
from workbench.views.html import Markup, quiet
from workbench.views.saved_pages import page
from workbench.views.score_parts import pools
from workbench.views.theme import looks

FILE = "report.html"
BEST = VARIANTS[-1]
LADDER = (BASE, *(each.label for each in VARIANTS))
DISCOVERY, TOKENS = MEASURE["discovery"], MEASURE["tokens"]


@dataclass(frozen=True)
class Part:
    """One evaluation: with held-out users, or on unseen kinds of artifacts.

    Attributes:
        broken: model → share of its replies that are not valid notation.
        ceilings: scope → share of hidden intents that perfect replies would discover.
    """

    folder: Path
    scopes: Mapping[str, ScopeResults]
    certificate: Certificate | None
    broken: Mapping[str, Share]
    ceilings: Mapping[str, Estimate]

    @property
    def whole(self) -> ScopeResults:
        return self.scopes[ALL] if ALL in self.scopes else next(iter(self.scopes.values()))


@dataclass(frozen=True)
class PaperRun:
    """The results of a finished run of the paper."""

    folder: Path
    results: Mapping[str, Any]
    evaluation: Part
    generalisation: Part | None
    user_blind: Part | None = None  # a list that ignores the user, with the users of the evaluation

    @classmethod
    def read(cls, folder: Path) -> PaperRun:
        """
        Raises:
            DiscoverError: no results of this format.
        """
        path = folder / RESULTS
        if not path.is_file():
            raise DiscoverError(
                f"{folder} contains no {RESULTS}; run 'discover miniature --run {folder}' and let it finish first"
            )
        try:
            results = json.loads(path.read_text(encoding="utf-8"))
            if results.get("format") != FORMAT:
                raise DiscoverError(f"{path} has the format {results.get('format')!r}, not {FORMAT!r}; create it again")
            parts = {
                name: _part(folder / name, results[name])
                for name in ("evaluation", "generalisation", USER_BLIND)
                if name in results
            }
            return cls(folder, results, parts["evaluation"], parts.get("generalisation"), parts.get(USER_BLIND))
        except (KeyError, TypeError, AttributeError, json.JSONDecodeError) as error:
            raise DiscoverError(f"{path} cannot be read ({error}); delete it and run the last step again") from None

    @property
    def options(self) -> Mapping[str, Any]:
        return self.results["options"]

    @property
    def unchanged_lines(self) -> list[str]:
        """Variants whose training kept round 0, the unchanged model, and so equal another row."""
        training = self.results["training"]
        return [
            f"{each.label} equals {each.after or BASE}: no round of its training discovered more than "
            f"{each.after or BASE} did"
            for each in VARIANTS
            if training[each.label].get("kept_round") == 0
        ]

    @property
    def user_blind_line(self) -> str:
        """The results of the list in one sentence. "" in a run of an earlier version."""
        if self.user_blind is None:
            return ""
        row = self.user_blind.whole.table[USER_BLIND]
        told = (
            f"{MEASURE[name].label} {row[name]}" for name in ("proportion", "reward", "satisfaction") if name in row
        )
        return (
            f"{USER_BLIND}, which names everything and ignores the user (not in a pool with the other "
            f"assistants): {', '.join(told)}"
        )


def _part(folder: Path, results: Mapping[str, Any]) -> Part:
    scopes = [ScopeResults.from_dict(each) for each in results["scopes"]]
    certificate = results.get("certificate")
    return Part(
        folder,
        {each.scope: each for each in scopes},
        Certificate.from_dict(certificate) if certificate else None,
        {name: share_of(each["broken"], each["replies"]) for name, each in results["broken"].items()},
        {scope: Estimate.from_dict(each) for scope, each in results.get("ceilings", {}).items()},
    )


def report_html(folder: Path) -> str:
    """The report of a finished run of the paper as a self-contained HTML page.

    Raises:
        DiscoverError: the folder contains no readable results.
    """
    run = PaperRun.read(folder)
    parts = {"held-out users": run.evaluation, "unseen kinds": run.generalisation}
    finished = {name: part for name, part in parts.items() if part is not None}
    whole, certificate = run.evaluation.whole, run.evaluation.certificate
    pretrained = set(run.results["base"].get("domains") or ())
    return page(
        "report_page.html",
        "The paper in miniature",
        ("workbench.css", "report_page.css"),
        BEST=BEST,
        INTERVAL=INTERVAL,
        TEST=TEST,
        MEASURES=MEASURES,
        run=run,
        facts=_facts(run),
        headline=headline(whole),
        validated=certificate is not None and certificate.result == "passed",
        # The table, the comparisons and the omissions of each domain, as the terminal tells them.
        scores={
            name: told_as_html(Report(tuple(results_told(part.scopes, "paper", "none", part.ceilings))))
            for name, part in finished.items()
        },
        curves=[_curve(run, scope) for scope in run.evaluation.scopes.values()],
        pretrained=[_plain(name) for name in run.options["unseen"] if name in pretrained],
        stages=[_stage(run, each) for each in VARIANTS],
        broken=_broken(finished),
        trust={name: _validated(part) for name, part in finished.items()},
        pools=told_as_html(pools(whole.table, whole.pools)),
        command=command(run.options),
        version=_version(run),
    )


def write_report(folder: Path) -> Path:
    """Write `report.html` into the run's folder and return its path.

    Raises:
        DiscoverError: as `report_html`.
    """
    html, path = report_html(folder), folder / FILE
    with whole_file(path) as file:
        file.write(html)
    return path


# -- the answer --------------------------------------------------------------------------------------------------------


def _plain(name: str) -> str:
    """A domain as people write it."""
    return "all domains" if name == ALL else name.replace("_", " ")


def _facts(run: PaperRun) -> str:
    whole, options = run.evaluation.whole, run.options
    return (
        f"{len(whole.assistants)} assistants with the same {whole.users:,} held-out users ({whole.artifacts} artifacts "
        f"of {', '.join(map(_plain, options['domains']))}; trials: {options['trials']}), seed {options['seed']}"
    )


def headline(scope: ScopeResults) -> tuple[str, str, str]:
    """(tone, word, sentences): whether the last variant discovers more than its base, and at what length."""
    compared, lengths = (scope.comparison(each.name, BEST.label, BASE) for each in (DISCOVERY, TOKENS))
    if compared is None:
        return "open", "Not shown", f"{BEST.label} and {BASE} could not be compared in discovery."
    compared = compared.facing(BEST.label)
    tone, word = {1: ("yes", "Yes"), -1: ("no", "No"), 0: ("open", "Not shown")}[compared.conclusion]
    told = _sentence(compared, DISCOVERY)
    before = scope.table[BASE][DISCOVERY.name].mean
    if compared.conclusion and before > 0:
        change = f"{100 * compared.difference.mean / before:+.0f}%".replace("-", "−")
        told += f" That is {change} of the {BASE}’s mean."
    if lengths:
        told += f" {_sentence(lengths.facing(BEST.label), TOKENS)}"
    return tone, TOO_FEW.capitalize() if compared.too_few else word, told


def _sentence(compared: Comparison, measure: Measure) -> str:
    return f"{compared.sentence(measure.label, measure.shown)}."


# -- tables and curves -------------------------------------------------------------------------------------------------


def _curve(run: PaperRun, scope: ScopeResults) -> tuple[str, Markup]:
    """The curves of a domain under their title."""
    title = f"{_plain(scope.scope).capitalize()}, n = {scope.artifacts} artifacts"
    return title, turn_curves(scope.curves, looks(run.results["labels"]), title, (BASE, BEST.label))


# -- training ----------------------------------------------------------------------------------------------------------


def _stage(run: PaperRun, variant: Variant) -> dict[str, Any]:
    known = run.results["training"].get(variant.label) or {}
    after = f", after {variant.after}" if variant.after else f", from {BASE}"
    facts = f"{variant.stage.upper()}{after}; updates: {known.get('step')}, rows: {known.get('rows')}"
    try:
        job = TrainingJob(run.folder / variant.folder)
        lines, total = job.metrics(), job.status().total_steps
    except DiscoverError as error:
        lines, total, facts = [], None, f"{facts}; its log is missing ({error})"
    return {
        "label": variant.label,
        "facts": facts,
        "kept": show_training.kept_round(known),
        "curves": show_training.curves(lines, total) if lines else quiet("The log is empty."),
    }


# -- side effects and trust --------------------------------------------------------------------------------------------


def _broken(parts: Mapping[str, Part]) -> Markup:
    """Replies of each model that are not valid notation."""
    rows = [(name, *(str(part.broken.get(name, "–")) for part in parts.values())) for name in LADDER]
    title = "Replies that are not valid notation, with the finished artifact; 95% Wilson intervals over replies"
    return told_as_html(Report((Table(("", *parts), tuple(rows), title),)))


def _validated(part: Part) -> Markup:
    """The validation of the simulated user."""
    trust = Trust((part.certificate,)) if part.certificate else Trust(missing="This user was not validated.")
    return told_as_html(certificate_told(trust))


# -- scope and reproduction --------------------------------------------------------------------------------------------


def command(options: Mapping[str, Any]) -> str:
    """The command that repeats a run."""
    seed, domains, taste, quick = options["seed"], options["domains"], options.get("taste", 0), options["quick"]
    usual = PaperOptions.small(seed, domains, taste) if quick else PaperOptions(seed, tuple(domains), taste=taste)
    if usual.to_dict() != options:
        return f"Paper(folder, PaperOptions(...)).run()  # the options are in {OPTIONS}"
    named_ones = "".join(f" --domain {each}" for each in domains)
    return f"discover miniature --seed {seed}{named_ones}{f' --taste {taste}' if taste else ''}{' --quick' * quick}"


def _version(run: PaperRun) -> str:
    """The version of this library that made the evaluation."""
    with RunStore.read(run.evaluation.folder) as store:
        return str(store.configuration.get("code_version"))
