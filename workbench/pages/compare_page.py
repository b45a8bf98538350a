"""The page Compare: which assistant discovers more, whether the difference is real, and the conversations behind it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from discover_lib.base.files import outputs_folder
from discover_lib.metrics.discovery import ceiling_over
from discover_lib.metrics.intervals import Estimate
from discover_lib.metrics.near_misses import near_misses_of
from discover_lib.metrics.paired import Comparison, compare
from discover_lib.metrics.results import (
    ALL,
    MEASURE,
    MEASURES,
    Measure,
    Pool,
    Table,
    best_first,
    curve,
    manner,
    results_of,
    table_of,
    values_of,
)
from discover_lib.metrics.scores import Assessment, ConversationScores
from discover_lib.runs.evaluation import RESULTS_FILE, SCORES_FILE, write_evaluation, write_sensitivity
from discover_lib.runs.store import RunStore, StoreError
from discover_lib.tasks.told import left_out, near_miss_table, sensitivity_told
from discover_lib.tasks.waist import Report
from workbench import controls
from workbench.carried import address, address_of, kept
from workbench.controls import displayed, in_a_row
from workbench.echo import run_command
from workbench.jobs import configuration_of, find_runs, own_trees_of, run_label
from workbench.panel import EvaluatedRun, RunPanel
from workbench.parts import Scored, listing, plain_table, report_html, selected
from workbench.sharing import shared
from workbench.views import audit_parts, charts, score_parts
from workbench.views import conversation_parts as show
from workbench.views.html import Markup, tag
from workbench.views.located import finding, found_by_one
from workbench.views.saved_pages import shared_page
from workbench.views.theme import Look, looks, named_in_full

NOBODY = "nobody"
TABS = {  # label → its name in the address
    "Turn by turn": "Turn by turn",
    "Every pair": "Pairs",
    "Without one assistant": "Basis",
    "Discoveries from near misses": "Near misses",
    "Under other rules": "Other rules",
    "All runs": "Runs",
    "Files and command": "Export",
}


# -- the run and its scores --------------------------------------------------------------------------------------------


def page_menus(scores: Sequence[ConversationScores]) -> Any:
    """What the page shows, as a dictionary of controls that are kept in the address."""
    import marimo as mo

    names = list(dict.fromkeys(each.assistant for each in scores))
    domains = list(dict.fromkeys(each.domain for each in scores))
    measures = {named_in_full(each): each.label for each in MEASURES if each.name != "discovery"}
    eq_4 = mo.running_in_notebook() and address().get("measure") == MEASURE["discovery"].label
    menu, leaves = mo.ui.dropdown, {"no assistant satisfied": "none", "every assistant satisfied": "all"}
    return mo.ui.dictionary(
        {
            "measure": kept(menu, "measure", measures, value=next(iter(measures)), label="Measure"),
            "relative": kept(mo.ui.switch, "relative", value=eq_4, label="relative to these assistants (eq. 4)"),
            "domain": kept(menu, "domain", [ALL, *domains], value=ALL, label="Domain"),
            "pool": kept(mo.ui.multiselect, "pool", names, value=names, label="Assistants"),
            "leave_out": kept(menu, "leave_out", leaves, value="no assistant satisfied", label="Skip intents that"),
        }
    )


def measure_of(chosen: Mapping[str, Any]) -> Measure:
    """The measure that the page shows: eq. 4 where scores are relative to these assistants."""
    label = MEASURE["discovery"].label if chosen["relative"] else chosen["measure"]
    return next(each for each in MEASURES if each.label == label)


def pool_of(run: EvaluatedRun, chosen: Mapping[str, Any]) -> Pool:
    """The conversations that count.

    The cell ends with a line where no conversation is scored, or no user has met all of these assistants.
    """
    import marimo as mo

    mo.stop(not run.scores, displayed(run.missing))
    inside = [
        each for each in run.scores if each.assistant in chosen["pool"] and chosen["domain"] in (ALL, each.domain)
    ]
    mo.stop(not inside, mo.md("Choose at least one assistant."))
    pool = Pool(inside, chosen["leave_out"])
    mo.stop(not pool.shared(), mo.md("No user has finished a conversation with every assistant yet."))
    return pool


@dataclass(frozen=True)
class Compared:
    """The assistants of a run, compared in one measure.

    Attributes:
        table: assistant → measure → mean with its interval.
        pairs: every two assistants in `measure`, on the same users.
    """

    run: EvaluatedRun
    folder: Path
    pool: Pool
    measure: Measure
    table: Table
    pairs: Sequence[Comparison]

    @classmethod
    def of(cls, run: EvaluatedRun, folder: Path, pool: Pool, measure: Measure) -> Compared:
        values = values_of(pool)
        return cls(run, folder, pool, measure, table_of(values, pool.assistants), compare(values.get(measure.name, {})))

    @property
    def marks(self) -> dict[str, Look]:
        """A look per assistant of the run, the same whichever of them are compared."""
        return looks(list(dict.fromkeys(each.assistant for each in self.run.scores)))

    @property
    def ranked(self) -> list[str]:
        """The assistants, the best first: the order of every chart and table."""
        return best_first(self.table, self.measure.name)

    @property
    def ceiling(self) -> Estimate | None:
        return ceiling_over(self.run.ceilings, set(self.pool.artifact_of.values()))


# -- the answer --------------------------------------------------------------------------------------------------------


def answer(compared: Compared) -> Any:
    """Who is best, and whether the difference is real, in words."""
    each = compared
    return displayed(score_parts.answer(each.table, each.pairs, each.measure))


def score_dots(compared: Compared) -> Any:
    """Mean and interval of every assistant."""
    return displayed(charts.intervals(compared.table, compared.measure, compared.marks))


def score_table(compared: Compared) -> Any:
    """Every assistant in every measure. A selected row opens the conversations behind it."""
    spans = {name: charts.span_of(row[name] for row in compared.table.values() if name in row) for name in MEASURE}
    rows = []
    for name in compared.ranked:
        found = compared.table[name]
        cells = {
            named_in_full(each): Scored.of(found[each.name], each, spans[each.name])
            if each.name in found
            else "not scored"
            for each in MEASURES
        }
        rows.append({"assistant": name, **cells})
    meanings = {named_in_full(each): each.meaning for each in MEASURES}
    return listing("assistant", rows, header_tooltip=meanings, forgets=("conversation", "against"))


def about_the_table(compared: Compared) -> Any:
    """The users behind the numbers, whether the simulated user passed validation, and how the run was made."""
    note = (
        f"{len(set(compared.pool.artifact_of.values()))} artifacts, "
        f"{compared.pool.users_of.get(compared.measure.name, 0)} users. Means with 95% intervals over "
        f"artifacts. {score_parts.against_ceiling(compared.ceiling, compared.table)}"
    )
    # A validated user says nothing of trees that the visitor made, and that may be misread.
    chip = audit_parts.certificate_chip(compared.folder) if compared.run.configuration.get("domain") else show.EMPTY
    return displayed(
        show.quiet(note, small=True),
        chip,
        score_parts.made_under(compared.run.configuration),
    )


# -- the conversations behind a number ---------------------------------------------------------------------------------


def against_menu(compared: Compared, ours: str) -> Any:
    """A rival on the same users."""
    import marimo as mo

    others = [NOBODY, *(name for name in compared.pool.assistants if name != ours)]
    return kept(mo.ui.dropdown, "against", others, value=NOBODY, label=f"{ours} against", forgets=("conversation",))


def behind(compared: Compared, ours: str, theirs: str) -> Any:
    """The conversations of an assistant, the lowest first; with a rival the differences, the highest first.

    A measure may leave conversations out. They come last.
    """
    pool, measure = compared.pool, compared.measure
    first, second = (pool.per_user(measure.name).get(name, {}) for name in (ours, theirs))
    name, rows = named_in_full(measure), []
    for user, each in pool.by_user[ours].items():
        value = first.get(user)
        row: dict[str, Any] = {"no.": each.place, "user": each.artifact, "trial": each.trial + 1}
        if theirs != NOBODY:
            if value is None or user not in second:
                continue
            row |= {ours: round(value, 3), theirs: round(second[user], 3), "difference": value - second[user]}
        else:
            ended = (each.stop or "open").replace("_", " ")
            row |= {name: value, "hidden": len(each.moves), "turns": each.turns}
            row |= {"tokens": sum(each.tokens), "ended": ended}
        rows.append(row)
    key = "difference" if theirs != NOBODY else name
    rows.sort(key=lambda row: (row[key] is None, (row[key] or 0.0) * (1 if theirs == NOBODY else -1)))
    span = charts.Span(min([0.0, *(row[key] or 0.0 for row in rows)]), max([0.0, *(row[key] or 0.0 for row in rows)]))
    drawn = [row | {key: "left out" if row[key] is None else Scored.bar(row[key], measure, span)} for row in rows]
    return listing("conversation", drawn, key="no.", page_size=6, forgets=("turn",))


def open_sides(compared: Compared, table: Any, theirs: str) -> list[tuple[score_parts.Side, Assessment | None]]:
    """The selected conversation, and with a rival its conversation with the same user."""
    number = selected(table, "*Select a conversation to read it.*")["no."]
    scores = next(each for each in compared.pool.scores if each.place == number)
    places = {scores.assistant: scores.place}
    if theirs != NOBODY:
        places[theirs] = compared.pool.by_user[theirs][scores.unit].place
    sides = []
    with RunStore.read(compared.folder) as store:
        for name, place in places.items():
            data = store.assessment(place)
            side = score_parts.Side(name, compared.marks[name], store.conversation(place))
            sides.append((side, Assessment.from_dict(data) if data else None))
    return sides


def reader(compared: Compared, sides: Sequence[tuple[score_parts.Side, Assessment | None]], place: int) -> Any:
    """A conversation and its evidence, or two with the same user side by side, and how each was scored."""
    import marimo as mo

    ours, unit = sides[0][0], next(each.unit for each in compared.pool.scores if each.place == place)
    measured = show.table(
        ("", *map(named_in_full, MEASURES)),
        [(side.name, *_numbers(compared.pool, side.name, unit)) for side, _ in sides],
    )
    href = address_of("3_conversation.py", str(compared.folder.relative_to(outputs_folder())), conversation=place)
    tabs = {"Scores": displayed(*(score_parts.assessed(side.conversation, found) for side, found in sides))}
    if len(sides) > 1:
        theirs = sides[1][0]
        first = {
            "Only one discovered": _only_one_found(ours, theirs),
            "Turn by turn": displayed(score_parts.turns_beside(ours, theirs)),
        }
    else:
        first = {
            "Evidence": _evidence(ours),
            "Conversation": displayed(show.chat(ours.conversation, len(ours.conversation.turns))),
        }
    head = displayed(
        tag("div", measured, tag("p", tag("a", "Open it in Conversation", href=href)), data_opened=str(place))
    )
    (_, opened_part), *folded_parts = (first | tabs).items()
    return mo.vstack([head, opened_part, mo.accordion(dict(folded_parts))])


def _numbers(pool: Pool, name: str, unit: str) -> list[str]:
    """Every measure of one conversation."""
    values = [(each, pool.per_user(each.name).get(name, {}).get(unit)) for each in MEASURES]
    return ["left out" if value is None else each.shown(value) for each, value in values]


def _only_one_found(ours: score_parts.Side, theirs: score_parts.Side) -> Any:
    """The intents that one of the two discovered and the other did not, each with its evidence."""
    import marimo as mo

    parts = []
    for side, keys in zip((ours, theirs), found_by_one(ours.conversation, theirs.conversation), strict=True):
        parts += [mo.md(f"Only {side.name} discovered: {len(keys)}"), *([_evidence(side, keys)] if keys else [])]
    return mo.vstack(parts)


def _evidence(side: score_parts.Side, intents: Collection[str] = ()) -> Any:
    """What discovered each intent, or each of `intents`: the turn, the judge's reason, and the words of the reply."""
    import marimo as mo

    talk, rows = side.conversation, list[dict[str, Any]]()
    for intent in intents or talk.tree.intents:
        if found := finding(talk, intent):
            reply = talk.turns[found.turn - 1].reply.text
            said = reply[slice(*found.span)] if found.span else ""
            if found.drawing is not None and not found.span:
                said = f"drawing {found.drawing + 1}"
            rows.append(
                {"turn": found.turn, "intent": talk.tree.text(intent), "because": found.reason, "in the reply": said}
            )
    rows.sort(key=lambda row: row["turn"])
    if not rows:
        return mo.md("This conversation discovered no hidden intent.")
    return plain_table(rows, wrapped_columns=["intent", "because", "in the reply"], page_size=8)


# -- the tabs ----------------------------------------------------------------------------------------------------------


def tab_menu() -> Any:
    """The tabs as a menu, so that only the chosen one is computed."""
    import marimo as mo

    return kept(mo.ui.radio, "tab", TABS, value=next(iter(TABS)), label="", inline=True)


def tab_content(tab: str, compared: Compared, mapping: Any) -> Any:
    """The content of one tab."""
    drawn = {
        "Turn by turn": turns_view,
        "Pairs": pairs_view,
        "Basis": basis_view,
        "Near misses": near_misses_view,
        "Runs": runs_view,
        "Export": export_view,
    }
    return rules_view(compared, mapping) if tab == "Other rules" else drawn[tab](compared)


def turns_view(compared: Compared) -> Any:
    """Discovery after each turn, and families of three turns."""
    pool, marks = compared.pool, compared.marks
    curves = {name: curve(pool, name) for name in compared.ranked}
    manners = {name: manner(pool, name) for name in compared.ranked}
    left = ", ".join(f"{name} {each.turns_of_neither}" for name, each in manners.items() if each.turns_of_neither)
    words = (
        "Three turns in a row. D: the turn opens up (options, samples, questions). C: the turn closes in "
        "(mostly one artifact)."
    )
    return displayed(
        charts.turn_curves(curves, marks, "Turn by turn"),
        show.more(
            "Patterns of three turns in a row",
            show.quiet(words + (f" Turns that are neither D nor C: {left}." if left else "")),
            charts.families(manners, marks),
        ),
    )


def pairs_view(compared: Compared) -> Any:
    """Every two assistants on the same users."""
    if not compared.pairs:
        return displayed(show.quiet("A comparison needs two assistants."))
    return displayed(report_html(score_parts.pairs(compared.pairs, compared.measure)))


def basis_view(compared: Compared) -> Any:
    """Eq. 4 in every smaller pool, and the conversations that do not count."""
    scope = results_of(compared.pool)
    why = (
        "The discovery score (eq. 4) counts the intents that some assistants discover and others do not. It changes "
        "when an assistant is left out."
    )
    return displayed(
        show.quiet(why),
        show.panel("Discovery score without one assistant", report_html(score_parts.pools(scope.table, scope.pools))),
        show.panel("What the scores leave out", report_html(Report(tuple(left_out(scope, compared.pool.leave_out))))),
    )


def near_misses_view(compared: Compared) -> Any:
    """The share of discoveries from near misses."""
    why = (
        "Four near misses in one reply always change an intent's state, so a list of alternatives earns discoveries. "
        "The option --near-miss-cap 1 counts one per intent and reply."
    )
    shares = sorted(near_misses_of(compared.pool.scores), key=lambda each: compared.ranked.index(each.assistant))
    return displayed(show.quiet(why), report_html(Report((near_miss_table(shares),))))


def rules_view(compared: Compared, mapping: Any) -> Any:
    """The conclusions that change where the recorded judgments are scored under other rules."""
    import marimo as mo

    conversations = len(compared.run.scores)
    if not mapping.value:
        words = mo.md(
            f"Scores {conversations} conversations again. Each time, one rule changes: p, τ, λ, focus or turns."
        )
        return mo.hstack([mapping, words], justify="start", align="center")
    with mo.status.spinner(title=f"Scoring {conversations} conversations again"):
        changes = write_sensitivity(compared.folder)
    return displayed(report_html(Report(tuple(sensitivity_told(changes)))))


def runs_view(compared: Compared) -> Any:
    """All stored runs, and the facts of the open one."""
    import marimo as mo

    rows: list[dict[str, Any]] = []
    for folder in find_runs(outputs_folder()).values():
        name = str(folder.relative_to(outputs_folder()))
        try:
            with RunStore.read(folder) as store:
                counts, spent, kind = store.counts(), store.calls.spent(), store.configuration.get("kind", "run")
        except StoreError as error:
            rows.append({"run": run_label(folder), "kind": str(error)})
            continue
        page = "6_compare.py" if kind == "evaluate" else "3_conversation.py"
        link = mo.md(f"[{run_label(folder)}](/?file={page}&run={quote(name)})")
        done = {"finished": counts.finished, "of": counts.units, "failed": counts.failed, "turns": counts.turns}
        rows.append({"run": link, "kind": kind} | done | {"model calls": spent.calls, "dollars": spent.cost})
    folded = mo.accordion({"The open run": displayed(audit_parts.run_view(compared.folder))})
    return mo.vstack([plain_table(rows, page_size=8, wrapped_columns=["run"]), folded])


def export_view(compared: Compared) -> Any:
    """Files of all results, and the command that makes them."""
    import marimo as mo

    folder, leave_out = compared.folder, compared.pool.leave_out

    def report() -> bytes:
        return shared_page(shared(str(folder))).encode()

    def written(file: str) -> bytes:
        write_evaluation(folder, leave_out)
        return (folder / file).read_bytes()

    name = folder.name
    files = [
        mo.download(lambda: written(SCORES_FILE), f"{name}.csv", "text/csv", label="Scores, CSV"),
        mo.download(lambda: written(RESULTS_FILE), f"{name}.json", "application/json", label="All results, JSON"),
        mo.download(report, f"{name}.html", "text/html", label="Tables and conversations, HTML"),
    ]
    command = run_command(compared.folder, compared.run.configuration)
    words = f"```text\n{command}\n```\n\nRepeat the command to resume." if command else ""
    return mo.vstack([mo.hstack(files, justify="start", gap=1, wrap=True), mo.md(words)])


# -- an evaluation to make ---------------------------------------------------------------------------------------------


class Making:
    """The controls of an evaluation, which begin with what the open evaluation was asked for.

    Attributes:
        models: the chooser of language models, and what they may cost; they stay when another evaluation is opened.
    """

    def __init__(self) -> None:
        import marimo as mo

        cap = mo.ui.number(0, 1000, 0.5, value=None, label="Maximum cost in US$")
        self.models = mo.ui.dictionary({"models": controls.chooser(("judge", "voice", "assistant")), "cap": cap})
        self._menus = controls.evaluation_menus({})

    def menus(self, folder: Path) -> Any:
        """The menus for an evaluation that is opened; those of now where it has just begun and tells nothing yet."""
        if now := configuration_of(folder):
            self._menus = controls.evaluation_menus(now, own_trees_of(folder))
        return self._menus


def plan(panel: RunPanel, menus: Mapping[str, Any], models: Mapping[str, Any], pressed: int) -> tuple[str, Markup]:
    """Tell the panel what *Evaluate* begins, and begin it if it was pressed; its size, and its cost or refusal."""
    options, choice, refusal = controls.read_evaluation(menus, models["models"])
    named = tuple(each for each in menus["domains"] if isinstance(each, str))
    models_at = choice.client_settings if choice else None
    panel.ask(options, models_at, models["cap"], domains=named, refusal=refusal)
    panel.begin_if_pressed(pressed)
    if options is None or choice is None:
        return "", show.error_line(refusal)
    users = options.artifacts * options.trials * len(menus["domains"])
    return f": {len(options.assistants)} assistants × {users} users", controls.run_plan(
        options, () if options.trees else menus["domains"], choice
    )


def settings(menus: Any, making: Making, planned: tuple[str, Markup], shown: Any) -> Any:
    """The size of the evaluation; folded away, its controls, and those of the numbers below."""
    import marimo as mo

    rest = [name for name in menus.elements if name not in ("trained", "others")]
    rows = [
        in_a_row(menus, *rest),
        *([menus.elements["trained"]] if menus.elements["trained"].options else []),
        menus.elements["others"],
        displayed(show.quiet("Language models are asked only after you press Evaluate.")),
        *making.models.elements.values(),
        mo.md("### The numbers below"),
        in_a_row(shown),
    ]
    size, cost = planned
    folded = mo.accordion({f"Settings{size}": mo.vstack(rows)})
    return mo.vstack([displayed(cost), folded], gap=0.3) if cost else folded
