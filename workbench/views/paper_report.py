"""The report of the paper in miniature: one HTML file without script or network.

This module reads `results.json`, the stores of the evaluations and the logs of the training runs. The template
`static/report_page.html` contains the words and the tables. The report names each part that is missing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import whole_file
from discover_lib.base.words import duration
from discover_lib.core.conversation import Conversation
from discover_lib.engines.miniature.assistants import USER_BLIND
from discover_lib.metrics.certificate import Certificate
from discover_lib.metrics.intervals import INTERVAL, Estimate, Share, share_of
from discover_lib.metrics.paired import TEST, TOO_FEW, Comparison, p_text
from discover_lib.metrics.results import ALL, MEASURE, MEASURES, Measure, ScopeResults, best_first
from discover_lib.metrics.summary import newly_discovered
from discover_lib.paper import BASE, FORMAT, OPTIONS, RESULTS, TIMES, VARIANTS, PaperOptions, Variant
from discover_lib.runs.store import RunStore
from discover_lib.train.training_job import TrainingJob, standing_lines
from workbench.views import conversation_parts as show
from workbench.views import training as show_training
from workbench.views.charts import SMALL, WIDE, Box, families, turn_curves
from workbench.views.html import Markup, quiet
from workbench.views.saved_pages import page
from workbench.views.score_parts import bounds, for_paper, pools, sentence
from workbench.views.theme import Look, looks, named

FILE = "report.html"
BEST = VARIANTS[-1]
LADDER = (BASE, *(each.label for each in VARIANTS))
DISCOVERY, FOUND, TOKENS = MEASURE["discovery"], MEASURE["proportion"], MEASURE["tokens"]
Asked = tuple[str, str, str | None]  # measure, ours, theirs


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

    @property
    def kinds(self) -> list[ScopeResults]:
        """Each domain. With one domain, the whole evaluation."""
        return [each for each in self.scopes.values() if each.scope != ALL] or [self.whole]


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
                for name in ("evaluation", "generalisation")
                if name in results
            }
            if USER_BLIND in results:
                parts[USER_BLIND] = _part(folder / USER_BLIND, results[USER_BLIND])
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
    def unchanged_lines(self) -> list[str]:
        """Why two rows are equal: no round of a training was kept."""
        training = self.results["training"]
        return [
            f"{each.label} equals {each.after or BASE}: no round of its training discovered more than that did"
            for each in VARIANTS
            if training[each.label].get("kept_round") == 0
        ]

    @cached_property
    def marks(self) -> dict[str, Look]:
        return looks(self.results["labels"])

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

    def best_scripted(self, scope: ScopeResults) -> str | None:
        """The scripted assistant with the highest discovery."""
        return next((name for name in best_first(scope.table) if name in self.scripted), None)


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
    whole = run.evaluation.whole
    return page(
        "report_page.html",
        "The paper in miniature",
        ("workbench.css", "report_page.css"),
        BASE=BASE,
        BEST=BEST,
        LADDER=LADDER,
        USER_BLIND=USER_BLIND,
        FOUND=FOUND,
        INTERVAL=INTERVAL,
        TEST=TEST,
        MEASURES=MEASURES,
        run=run,
        parts=finished,
        named=named,
        between=bounds,
        signed=_signed,
        facts=_facts(run),
        answer=_answer(run),
        tables_of_run=_tables(run, run.evaluation),
        families=families(whole.manners, run.marks),
        curves=[_curve(run, whole, Box(WIDE.width, 340))],
        small_curves=[_curve(run, scope, SMALL) for scope in run.evaluation.kinds if scope is not whole],
        unseen=_unseen(run, run.generalisation) if run.generalisation else None,
        base=_base(run),
        stages=[_stage(run, each) for each in VARIANTS],
        exchanges={_plain(domain): _exchange(talks) for domain, talks in first_talks(run).items()},
        satisfaction={
            name: _sentences(part.whole, [("satisfaction", BEST.label, BASE)]) for name, part in finished.items()
        },
        pools=pools(whole.table, whole.pools, run.marks),
        times=_times(run),
        command=command(run.options),
        versions=", ".join(f"{name} {version}" for name, version in _versions(run).items()),
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


# -- words -------------------------------------------------------------------------------------------------------------


def _plain(name: str) -> str:
    """A domain as people write it."""
    return "all domains" if name == ALL else name.replace("_", " ")


def _between(scope: ScopeResults, measure: Measure, ours: str, theirs: str | None) -> Comparison | None:
    compared = None if theirs is None else scope.comparison(measure.name, ours, theirs)
    return None if compared is None else compared.facing(ours)


def _sentences(scope: ScopeResults, asked: Sequence[Asked]) -> list[str]:
    """The verdicts in words. Pairs without a comparison are omitted."""
    compared = ((MEASURE[name], _between(scope, MEASURE[name], ours, theirs)) for name, ours, theirs in asked)
    return [sentence(each, measure) for measure, each in compared if each is not None]


def _facts(run: PaperRun) -> str:
    whole, options = run.evaluation.whole, run.options
    return (
        f"{len(whole.assistants)} assistants with the same {whole.users:,} held-out users ({whole.artifacts} artifacts "
        f"of {', '.join(map(_plain, options['domains']))}; trials: {options['trials']}), seed {options['seed']}"
    )


# -- the answer --------------------------------------------------------------------------------------------------------


def _answer(run: PaperRun) -> dict[str, Any]:
    part, whole, certificate = run.evaluation, run.evaluation.whole, run.evaluation.certificate
    doubt = certificate.line if certificate else "no validation was made"
    measures: list[Asked] = [(each.name, BEST.label, BASE) for each in MEASURES if each not in (DISCOVERY, TOKENS)]
    measures += [(name, BEST.label, BEST.after) for name in ("discovery", "tokens")]
    measures += [("discovery", BEST.label, run.best_scripted(whole))]
    return {
        "headline": headline(whole),
        "doubt": "" if certificate and certificate.result == "passed" else doubt,
        "measures": _sentences(whole, measures),
        "stages": _sentences(whole, [("discovery", each.label, BASE) for each in VARIANTS[:-1]]),
        "by_domain": {
            _plain(scope.scope): _sentences(scope, [("discovery", BEST.label, BASE)])
            for scope in part.kinds
            if scope is not whole
        },
    }


def headline(scope: ScopeResults) -> tuple[str, str, str]:
    """(tone, word, sentences): whether the last variant discovers more than its base, and at what length."""
    compared = _between(scope, DISCOVERY, BEST.label, BASE)
    if compared is None:
        return "open", "Not shown", f"{BEST.label} and {BASE} could not be compared in discovery."
    more = f"{BEST.label} helps its users discover {{}} than the {BASE} model that it was trained from"
    tone, word, verdict = {
        1: ("yes", "Yes", more.format("more")),
        -1: ("no", "No", more.format("less")),
        0: ("open", "Not shown", f"{BEST.label} and the {BASE} model are not distinguishable in discovery"),
    }[compared.conclusion]
    certainty = compared.certainty
    if compared.too_few:
        word, verdict, certainty = TOO_FEW.capitalize(), "The run has too few artifacts", compared.too_few_says
    sentences = f"{verdict}: {_against(scope, compared, DISCOVERY)} (eq. 4; {certainty}). {_at_what_length(scope)}"
    return tone, word, sentences


def _against(scope: ScopeResults, compared: Comparison, measure: Measure) -> str:
    """ "0.61 against 0.42, a difference of +0.19 [0.15, 0.23], +45% [+36%, +55%] of the base’s mean"."""
    each, theirs = compared.difference, scope.table[compared.theirs][measure.name].mean
    ours = scope.table[compared.ours][measure.name].mean
    line = f"{measure.shown(ours)} against {measure.shown(theirs)}, a difference of {_signed(each.mean, measure)}"
    line += f" {bounds(each, measure)}".rstrip()
    if theirs <= 0:
        return line
    ends = [_percent(end / theirs) for end in (each.low, each.high) if end is not None]
    interval = f" [{', '.join(ends)}]" if ends else ""
    return f"{line}, {_percent(each.mean / theirs)}{interval} of the {compared.theirs}’s mean"


def _percent(value: float) -> str:
    """A change in whole percent. It has a sign unless it is 0."""
    whole = round(100 * value)
    return f"{whole:+d}%".replace("-", "−") if whole else "0%"


def _signed(value: float, measure: Measure) -> str:
    return f"{'+' if value > 0 else ''}{measure.shown(value)}"


def _at_what_length(scope: ScopeResults) -> str:
    compared = _between(scope, TOKENS, BEST.label, BASE)
    if compared is None:
        return "Tokens could not be compared."
    open_ = f"Lengths: {TOO_FEW}" if compared.too_few else "The lengths of the two are not distinguishable"
    verdict = {1: "It writes more", -1: "It writes less", 0: open_}[compared.conclusion]
    p = "" if compared.too_few else f", p = {p_text(compared.p_adjusted)}"
    return f"{verdict}: {_against(scope, compared, TOKENS)} (thousand tokens per conversation{p})."


# -- tables and curves -------------------------------------------------------------------------------------------------


def _tables(run: PaperRun, part: Part) -> dict[str, list[tuple[str, Markup]]]:
    """Domain → its table 1 and its pairs of assistants, each under a heading."""
    return {
        _plain(scope.scope).capitalize(): for_paper(
            scope.table,
            scope.users_of,
            run.marks,
            DISCOVERY,
            scope.comparisons.get(DISCOVERY.name, ()),
            ceiling=part.ceilings.get(scope.scope),
            why_no_eq_4=scope.why_no_eq_4,
        )
        for scope in part.scopes.values()
    }


def _curve(run: PaperRun, scope: ScopeResults, size: Box) -> tuple[str, Markup]:
    """The curves of a domain under their title."""
    title = f"{_plain(scope.scope).capitalize()}, n = {scope.artifacts} artifacts"
    return title, turn_curves(scope.curves, run.marks, title, (BASE, BEST.label), size)


def _unseen(run: PaperRun, part: Part) -> dict[str, Any]:
    asked: list[Asked] = [(name, BEST.label, BASE) for name in ("discovery", "proportion", "satisfaction", "tokens")]
    known = set(run.results["base"].get("domains") or ())
    return {
        "pretrained": [_plain(name) for name in run.options["unseen"] if name in known],
        "sentences": _sentences(part.whole, [*asked, ("discovery", BEST.label, BEST.after)]),
        "tables": _tables(run, part),
    }


# -- training ----------------------------------------------------------------------------------------------------------


def _base(run: PaperRun) -> str:
    """The measurements of the base before any training in this run."""
    measured = run.results["base"].get("measured") or {}
    known = (("honoured", "plain requests that the base satisfies"), ("broken", "replies that are not valid notation"))
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
        lines, total, facts = [], None, f"{facts}; its log is missing ({error})"
    return {
        "label": variant.label,
        "facts": facts,
        "kept": show_training.kept_round(known),
        "curves": show_training.curves(lines, total) if lines else quiet("The log is empty."),
    }


# -- before and after --------------------------------------------------------------------------------------------------


def first_talks(run: PaperRun) -> dict[str, dict[str, Conversation]]:
    """Domain → base and variants → their conversation with the first user with whom each of them finished."""
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


def _exchange(talks: Mapping[str, Conversation]) -> dict[str, Any]:
    request = talks[BASE].tree.initial_request
    first = {label: talk.turns[0].candidate for label, talk in talks.items()}
    marks = {label: show_training.judged(each) for label, each in first.items()}
    return {
        "request": show.rich_text(request),
        "replies": show_training.exchange((), {label: each.reply.text for label, each in first.items()}, marks),
        "outcomes": {label: _outcome(talk) for label, talk in talks.items()},
        "finals": {label: show.rich_text(talk.final.reply.text) for label, talk in talks.items() if talk.final},
    }


def _outcome(talk: Conversation) -> tuple[str, ...]:
    """Turns, discovered intents, tokens and mean reward."""
    hidden = len(talk.tree) - len(talk.start.discovered)
    rewards = [turn.candidate.reward.total for turn in talk.turns if turn.candidate.reward]
    mean = show.signed(sum(rewards) / len(rewards)) if rewards else "unscored"
    tokens = sum(turn.reply.n_tokens for turn in talk.turns)
    return str(len(talk.turns)), f"{newly_discovered(talk)} of {hidden}", f"{tokens:,}", mean


# -- scope and reproduction --------------------------------------------------------------------------------------------


def _times(run: PaperRun) -> dict[str, str]:
    """Step → its wall time. Empty if the times were not recorded."""
    path = run.folder / TIMES
    seconds = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    total = {"all steps": sum(seconds.values())} if seconds else {}
    return {name: duration(each) for name, each in (seconds | total).items()}


def command(options: Mapping[str, Any]) -> str:
    """The command that repeats a run."""
    seed, domains, taste, quick = options["seed"], options["domains"], options.get("taste", 0), options["quick"]
    usual = PaperOptions.small(seed, domains, taste) if quick else PaperOptions(seed, tuple(domains), taste=taste)
    if usual.to_dict() != options:
        return f"Paper(folder, PaperOptions(...)).run()  # the options are in {OPTIONS}"
    named_ones = "".join(f" --domain {each}" for each in domains)
    return f"discover miniature --seed {seed}{named_ones}{f' --taste {taste}' if taste else ''}{' --quick' * quick}"


def _versions(run: PaperRun) -> dict[str, str]:
    """The version of this library in the evaluation, and the versions of the packages that trained the last variant."""
    from discover_lib.engines.local.lineage import Lineage, LineageError

    with RunStore.read(run.evaluation.folder) as store:
        versions = {"discover_lib": str(store.configuration.get("code_version"))}
    try:
        return versions | dict(Lineage.read(run.folder / BEST.folder).versions)
    except (LineageError, OSError):
        return versions
