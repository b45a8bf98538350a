"""The page Data: what its controls ask for, and its pair, checks, tables and files as a notebook shows them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import outputs_folder
from discover_lib.core.conversation import Conversation
from discover_lib.core.rules import Rules
from discover_lib.dataset.export import REASONS, Filters, Sieved, Source, make_rows, write_rows
from discover_lib.dataset.lengths import Table3, length_line
from discover_lib.dataset.preview import QWEN
from discover_lib.dataset.rows import Example, LabelledTurn, RowOptions, token_count
from discover_lib.metrics.intervals import Estimate, percent
from discover_lib.runs.options import RunOptions, RunOptionsError
from workbench.carried import base_rules, below_outputs, kept, rule_sliders, rules_menu, rules_set
from workbench.controls import (
    Choice,
    ChoiceError,
    chooser,
    displayed,
    domain_labels,
    in_a_row,
    read_choice,
    run_plan,
)
from workbench.echo import export_command, run_command, shown_path
from workbench.jobs import configuration_of
from workbench.panel import FIRST_SYNTHESIS, RunPanel, SynthesisedRun
from workbench.parts import listing
from workbench.parts import selected as selected
from workbench.views import conversation_parts as show
from workbench.views import pair_parts as show_pairs
from workbench.views.audit_parts import certificate_chip
from workbench.views.charts import dots

KINDS = {"preference pairs": "preference", "SFT conversations": "sft", "GRPO prompts": "prompt"}
TABS = ("Pairs", "Rows", "Files")
CARRIES = {
    "preference": "The prompt has no loss. Training makes the chosen reply likelier than the rejected reply.",
    "sft": "One sequence: the whole conversation. Only the assistant's messages have loss.",
    "prompt": "This row has no loss. The model answers the prompt itself, and the user in the column `state` rewards "
    "each answer.",
}
Pair = tuple[Conversation, LabelledTurn]


@contextmanager
def in_one_line() -> Iterator[None]:
    """End a cell with one line where the library refuses what it was asked."""
    import marimo as mo

    try:
        yield
    except DiscoverError as error:
        mo.stop(True, displayed(show.error_line(str(error))))


def read_run(panel: RunPanel, folder: Path, progress: int) -> SynthesisedRun:
    """The conversations of a run; the cell ends with a line where there is no conversation yet.

    Args:
        progress: read off the panel's state, so that the cell runs again when there is more to read.
    """
    import marimo as mo

    run = SynthesisedRun.of_run(folder)
    mo.stop(not run.conversations, displayed(run.note))
    return run


# -- a run to make -----------------------------------------------------------------------------------------------------


def making_form() -> Any:
    """What a new run is asked for, as a dictionary of controls; `read_making` reads its value."""
    import marimo as mo

    from discover_lib.engines.miniature.assistants import SCRIPTED

    menu = partial(kept, mo.ui.dropdown)
    return mo.ui.dictionary(
        {
            "domain": menu("domain", domain_labels(), value="SVG drawing", label="Domain"),
            "scripts": kept(
                mo.ui.multiselect,
                "assistants",
                list(SCRIPTED),
                value=list(FIRST_SYNTHESIS.assistants),
                label="Assistants",
            ),
            "candidates": menu("samples", [1, 2, 3, 4], value=1, label="Samples of each"),
            "artifacts": menu("users", [5, 10, 20, 50, 100, 200, 500], value=20, label="Users"),
            "turns": menu("turns", [1, 2, 3, 4, 5, 6, 8], value=5, label="Turns"),
            "rules": menu("rules", ["paper", "authors"], value="paper", label="Rules"),
            "seed": menu("seed", list(range(30)), value=0, label="Seed"),
            "look_ahead": menu("ahead", [0, 1, 2, 3], value=0, label="Look ahead, turns"),
            "reward_assistant": menu("ahead-by", list(SCRIPTED), value="adaptive", label="played by"),
            "cap": mo.ui.number(0, 1000, 0.5, value=None, label="Maximum cost in US$"),
            "models": chooser(("judge", "voice", "assistant")),
        }
    )


def read_making(asked: Mapping[str, Any]) -> tuple[RunOptions | None, Choice, str]:
    """What the controls of `making_form` ask for, and who plays; or a line that says why it cannot be made."""
    numbers = {name: asked[name] for name in ("domain", "candidates", "artifacts", "turns", "seed", "look_ahead")}
    if asked["look_ahead"]:
        numbers["reward_assistant"] = asked["reward_assistant"]
    try:
        choice = read_choice(asked["models"])
        names = (*asked["scripts"], *([choice.assistant] if choice.assistant else []))
        if len(names) * asked["candidates"] < 2:
            raise RunOptionsError(
                "one reply cannot be compared: choose a second assistant, or several samples per turn"
            )
        rules = Rules.named(asked["rules"])
        return RunOptions(names, split="train", rules=rules, **choice.roles, **numbers), choice, ""
    except (ChoiceError, RunOptionsError) as error:
        return None, Choice(), str(error)


def make(panel: RunPanel, form: Any, pressed: int) -> list[Any]:
    """Tell the panel which run its button begins, and begin it if it was pressed; the form and its plan."""
    import marimo as mo

    options, choice, refusal = read_making(form.value)
    panel.ask(options, choice.client_settings, form.value["cap"], refusal=refusal)
    panel.begin_if_pressed(pressed)
    plan = show.error_line(refusal)
    if options is not None:
        replies = len(options.assistants) * (options.candidates or 1)
        size = f"{options.artifacts} users × {options.turns} turns × {replies} replies"
        plan = show.quiet(f"{size}. The best reply of each turn continues.") + run_plan(options, (), choice)
    *menus, cap, models = form.elements
    models_view = mo.vstack([form.elements[cap], form.elements[models]])
    return [in_a_row(form, *menus), displayed(plan), mo.accordion({"Use language models": models_view})]


def settings(making: Sequence[Any], run: SynthesisedRun, labels: Any, controls: Any) -> Any:
    """Everything with a default, folded away: the next run, the rules that label, and filters; a note on the run."""
    import marimo as mo

    parts = [mo.md("**The next run**"), *making, mo.md("**Labels and filters**"), labels, in_a_row(controls)]
    return mo.vstack([mo.accordion({"Settings": mo.vstack(parts)}), displayed(run.note)])


def next_step(run: Path) -> Any:
    """A link to the page that trains on a run."""
    import marimo as mo

    return mo.md(f"[Train on this run](/?file=5_train.py&data={quote(below_outputs(run))})")


# -- one pair ----------------------------------------------------------------------------------------------------------


def widest(turns: Sequence[Pair]) -> Pair:
    """The pair with the widest margin, preferably of a first turn, which needs no context, and with a chosen artifact.

    A cell that asks where no turn is a pair ends with a line that says so.
    """
    import marimo as mo

    pairs = [pair for pair in turns if pair[1].label.problem is None]
    mo.stop(not pairs, mo.md("No turn of this run is a pair."))
    return max(
        pairs,
        key=lambda pair: (
            pair[1].turn.index == 1,
            pair[1].best.evaluation.kind == "artifact",  # type: ignore[union-attr]
            pair[1].best.reward.total - pair[1].worst.reward.total,  # type: ignore[union-attr]
        ),
    )


def one_pair(conversation: Conversation, labelled: LabelledTurn, rules: Rules) -> Any:
    """The user's words, the chosen and the rejected reply with what they earned, and the reason."""
    turn, sides = labelled.turn, show_pairs.sides_of(labelled)
    said = show.tag("div", conversation.messages(turn.index - 1)[-1].content, class_="dl-text")
    replies = show.beside(*(show_pairs.side(name, each, rules, conversation.tree) for name, each in sides))
    reason = show.tag("p", show_pairs.why(labelled, rules), class_="dl-told dp-why")
    return displayed(show.tag("div", show.bubble("user", said), class_="dl-chat"), replies, reason)


def whole_pair(turns: Sequence[Pair], place: int, rules: Rules) -> Any:
    """Everything about one label: the conversation so far, both replies, both receipts, the intents that moved."""
    return displayed(show.tag("div", show_pairs.pair(*turns[place], rules), data_pair=place))


# -- checks ------------------------------------------------------------------------------------------------------------


def length_check(sieved: Sieved) -> Any:
    """How often the longer reply is chosen among the pairs that are kept, in words."""
    pairs = [each.provenance for each in sieved.kept]
    if not pairs:
        return displayed(show.quiet("No pair is kept, so lengths cannot be compared."))
    return displayed(show.tag("p", length_line(pairs), class_="dp-why"))


def table_3_view(table: Table3, rules: Rules) -> Any:
    """The paper's Table 3: how many turns each assistant won, as a bar, and the whole table."""
    caption = f"Rewards: mean ± sd over turns [95% interval over artifacts]; {rules.name} rules, "
    caption += f"λ = {rules.lam:g}, τ = {rules.tau:g} {rules.token_unit}"
    counts = {**table.wins, "several assistants tie": table.shared, "all tie, no pair": table.ties}
    turns = sum(counts.values())
    won = {name: Estimate(count / turns, None, None, turns, turns) for name, count in counts.items() if count}
    whole = show.more("The whole table", show.table(("", ""), list(table.rows()), caption))
    return displayed(dots(won, "share of the turns won", shown=percent, to_one=True), whole)


# -- tables ------------------------------------------------------------------------------------------------------------


def _with_reasons(examples: Sequence[Example], sieved: Sieved) -> list[tuple[Example, tuple[str, ...]]]:
    """Every example, and why it is left out: () where it is kept."""
    dropped = {id(example): reasons for example, reasons in sieved.dropped}
    return [(example, dropped.get(id(example), ())) for example in examples]


def pairs_table(examples: Sequence[Example], sieved: Sieved) -> Any:
    """Every turn as a line of a table of which one can be opened: search, sort, CSV."""
    lines = []
    for place, (example, why) in enumerate(_with_reasons(examples, sieved)):
        known, tied = example.provenance, "tie" in why
        longer = known["chosen_tokens"] - known["rejected_tokens"] if "chosen_tokens" in known else None
        lines.append(
            {
                "#": place,
                "chosen": "tie" if tied else known.get("chosen_assistant", ""),
                "over": "" if tied else known.get("rejected_assistant", ""),
                "margin": None if example.margin is None else round(example.margin, 3),
                "tokens longer": longer,
                "artifact": known["artifact"],
                "turn": known["turn"],
                "left out": _said(why),
            }
        )
    return listing("pair", lines, key="#", page_size=8)


def _said(reasons: Sequence[str]) -> str:
    return ", ".join(reason.replace("_", " ") for reason in reasons)


def rows_table(examples: Sequence[Example], sieved: Sieved) -> Any:
    """Every row that could be made, kept or not, as a table of which one can be opened."""
    return listing(
        "row",
        [
            {
                "#": place,
                "artifact": example.artifact,
                "turn": example.provenance.get("turn", "all"),
                "tokens": example.n_tokens,
                "left out": _said(why),
            }
            for place, (example, why) in enumerate(_with_reasons(examples, sieved))
        ],
        key="#",
        page_size=8,
    )


def kept_and_left_out(sieved: Sieved, options: RowOptions) -> Any:
    """How many rows are kept, and how many are left out for each reason."""
    import marimo as mo

    told = [("rows kept", len(sieved.kept), f"of {sieved.considered} considered")]
    told += [(f"left out: {_said([why])}", count, REASONS[why]) for why, count in sieved.counts.items()]
    stats = [mo.stat(count, label=label, caption=caption, bordered=True) for label, count, caption in told]
    unit = (
        f"Lengths: {options.tokens.name}. Similarity: Jaccard of three-word runs. A row counts under its first reason."
    )
    counted = show.tag("div", show.quiet(unit, small=True), data_kept=len(sieved.kept))
    return mo.vstack([mo.hstack(stats, justify="start", wrap=True), displayed(counted)])


def trainer_reads(example: Example, filters: Filters) -> Any:
    """The text that a trainer makes of a row for Qwen2.5, with the loss marked; then the row itself."""
    import marimo as mo

    why = ", ".join(REASONS[each] for each in filters.reasons(example))
    note = show.error_line(f"The filters leave this row out: {why}.") if why else show.EMPTY
    if not example.train:
        return displayed(note)
    marked = show_pairs.loss(QWEN.sequences(example.train))
    text = show.panel("The text for Qwen2.5, with the loss marked", show.quiet(CARRIES[example.kind]), marked)
    whole = mo.accordion({"The whole row, with the columns on its origin": mo.json(example.row)})
    return mo.vstack([displayed(note, text), whole])


# -- filters and files -------------------------------------------------------------------------------------------------


def label_controls(labels: str, own: Rules) -> Any:
    """The rules that label, which rows are kept, and what a row holds; `read_labels` reads the value.

    Args:
        labels: the rules that the menu names.
        own: the rules of the run.
    """
    import marimo as mo

    texts = {"what people read": "content", "the miniature’s notation": "notation"}
    slider, menu = partial(kept, mo.ui.slider, show_value=True), mo.ui.dropdown
    p, tau, lam = rule_sliders(base_rules(labels, own))
    return mo.ui.dictionary(
        {
            **{"p": p, "tau": tau, "lam": lam},
            "margin": slider("margin", 0, 3, 0.05, value=0, label="Drop margins below"),
            "alike": slider("alike", 0.1, 1.05, 0.05, value=0.9, label="Drop near-duplicates above"),
            "budget": kept(mo.ui.number, "budget", 0, 100_000, 100, value=0, label="Token limit (0: no limit)"),
            "leaks": kept(mo.ui.checkbox, "leaks", value=False, label="keep turns in which the user leaked"),
            "text": kept(menu, "text", texts, value="what people read", label="Replies hold"),
            "system": kept(menu, "system", ["none", "collaborative"], value="none", label="System message"),
            "tokenizer": kept(mo.ui.text, "tokenizer", value="", placeholder="a base model", label="Tokenizer of"),
        }
    )


def read_labels(labels: str, values: Mapping[str, Any], own: Rules) -> tuple[Rules, Filters, RowOptions]:
    """The rules that label, the filters, and what a row holds.

    Raises:
        DiscoverError: there is no such tokenizer on this machine.
    """
    rules = rules_set(base_rules(labels, own), values["p"], values["tau"], values["lam"])
    filters = Filters(values["margin"], values["alike"], int(values["budget"] or 0) or None, values["leaks"])
    tokens = token_count(values["tokenizer"].strip() or None)
    relabel = None if rules == own else rules
    return rules, filters, RowOptions(rules=relabel, system=values["system"], text=values["text"], tokens=tokens)


def page_menus() -> tuple[Any, Any, Any, Any]:
    """The rules that label, what is listed and written, the tabs of the page, and the button that writes rows."""
    import marimo as mo

    menus = mo.ui.dictionary(
        {
            "kind": kept(mo.ui.radio, "kind", KINDS, value="preference pairs", label="Rows", inline=True),
            "kinds": kept(mo.ui.multiselect, "rows", KINDS, value=list(KINDS), label="Rows"),
        }
    )
    labels, tabs = rules_menu("Labels under", "labels", own=True), dict.fromkeys(TABS, "")
    write = mo.ui.run_button(label="Write rows", kind="success")
    return labels, menus, kept(mo.ui.tabs, "tab", tabs, value=TABS[0]), write


def rows_folder(run: Path, kind: str) -> Path:
    """Where this page writes rows of a run."""
    return outputs_folder() / "rows" / run.name / kind


def write_all(run: Path, menus: Mapping[str, Any], options: RowOptions, filters: Filters) -> Any:
    """Write rows of a run, one folder a kind; what was written, a line each."""
    parts = [] if menus["kinds"] else [show.error_line("choose what to write")]
    for kind in menus["kinds"]:
        folder = rows_folder(run, kind)
        try:
            rows = make_rows(kind, [Source.of_run(run)], options, filters)
            write_rows(rows, folder)
            splits = ", ".join(f"{len(made)} to {split}" for split, made in rows.splits.items())
            kept_rows = f"{len(rows.sieved.kept)} {kind} rows of {rows.sieved.considered}"
            parts.append(show.tag("p", f"✓ {kept_rows} ({splits}) → {shown_path(folder)}"))
        except (DiscoverError, OSError) as error:
            parts.append(show.error_line(f"{kind}: {error}"))
    return displayed(show.tag("div", *parts, certificate_chip(run), role="log", aria_label="Written"))


def commands(run: Path, menus: Mapping[str, Any], options: RowOptions, filters: Filters, base: str) -> str:
    """The commands that make the run and write the same rows.

    Args:
        base: the model whose tokenizer counts.
    """
    made = run_command(run, configuration_of(run))
    first = ["# the conversations (repeat the command to resume)", made, ""] if made else []
    rows = [
        export_command(run, rows_folder(run, kind), kind, options, filters, base.strip()) for kind in menus["kinds"]
    ]
    other = "# labels under the run’s own rules; RowOptions(rules=…) labels under others, as this page does"
    return "\n".join([*first, "# the rows", *rows, *([other] if options.rules else [])])


def files_view(menus: Any, button: Any, written: Any, lines: str) -> Any:
    """What to write, what was written, and the commands that do the same.

    Args:
        written: as `write_all` shows it, or None before the button was pressed.
    """
    import marimo as mo

    row = mo.hstack([menus["kinds"], button], justify="start", align="end", wrap=True)
    split = "The training split has 90% of the artifacts, and the test split has 10%. No artifact is in both."
    return mo.vstack([row, displayed(show.quiet(split), show.code(lines)), *([written] if written else [])])
