# /// script
# requires-python = ">=3.11"
#
# [tool.marimo.opengraph]
# title = "41 · Rows"
# description = "Open any pair, filter, see exactly what a trainer gets and which part carries loss, export."
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Rows", css_file="../workbench/views/static/workbench.css")

with app.setup(hide_code=True):
    from pathlib import Path

    import marimo as mo

    from discover_lib.base.errors import DiscoverError
    from discover_lib.base.files import outputs_folder
    from discover_lib.base.tokens import token_count
    from discover_lib.dataset.export import Source, make_rows, write_rows
    from discover_lib.dataset.filters import REASONS, Filters, sieve
    from discover_lib.dataset.pairs import labelled_turns
    from discover_lib.dataset.preview import TEMPLATES
    from discover_lib.dataset.rows import RowOptions, examples
    from discover_lib.runs.store import StoreError
    from workbench import controls
    from workbench.carried import base_rules, kept, rule_sliders, rules_menu, rules_set
    from workbench.echo import export_command, run_command, shown_path
    from workbench.panel import Certifier, SynthesisedRun, synthesis_panel
    from workbench.views import conversation_parts as show
    from workbench.views import pair_parts as show_pairs
    from workbench.views.navigation import footer

    controls.page_has_sheet()

    EVERY, KEPT = "every turn", "kept"
    KINDS = {"preference pairs": "preference", "SFT conversations": "sft", "GRPO prompts": "prompt"}


@app.cell(hide_code=True)
def introduce():
    mo.md("""
    # Can I trust my pairs, and what exactly does a trainer get?

    In every turn of a run one reply was chosen, and others were not ([page 40](/?file=40_synthesis.py) makes such
    runs). Not every turn is worth learning from, and not everything in a row carries loss.
    """)
    return


@app.cell(hide_code=True)
def show_answer(rules, sieved_pairs):
    _counts = sieved_pairs.counts
    _bar = show_pairs.shares(
        [("kept", len(sieved_pairs.kept)), *((k.replace("_", " "), n) for k, n in _counts.items())]
    )
    _lengths = show_pairs.lengths(sieved_pairs.kept, rules.lam > 0)
    mo.Html(show.styled(show.panel("The turns of this run: kept as pairs, and left out", _bar), _lengths))
    return


@app.cell(hide_code=True)
def open_run():
    panel = synthesis_panel()
    get_folder, get_activity, get_progress = panel.states
    return get_activity, get_folder, get_progress, panel


@app.cell(hide_code=True)
def choose_run(get_activity, get_folder, panel):
    run_choice = panel.choice(get_folder(), get_activity(), label="Run")
    return (run_choice,)


@app.cell(hide_code=True)
def tick(get_activity, get_folder, panel):
    clock = panel.clock(get_folder(), get_activity())
    return (clock,)


@app.cell(hide_code=True)
def show_run(clock, get_activity, get_folder, panel, run_choice):
    panel.view(clock, get_folder(), get_activity(), before=[run_choice])
    return


@app.cell(hide_code=True)
def read_run(get_folder, get_progress, panel):
    get_progress()
    folder = get_folder()
    _run = SynthesisedRun.of_run(folder, panel.most_read)
    configuration, origin, conversations = _run.configuration, _run.origin, _run.conversations
    mo.stop(not conversations, mo.Html(show.styled(_run.note)))
    mo.Html(show.styled(_run.note))
    return configuration, conversations, folder, origin


@app.cell(hide_code=True)
def make_certifier():
    certifier = Certifier()
    get_certifying = certifier.get_progress
    return certifier, get_certifying


@app.cell(hide_code=True)
def show_certificate(certifier, folder, get_certifying):
    certifier.view(folder, get_certifying())
    return


@app.cell(hide_code=True)
def choose_labels(conversations):
    own_rules = conversations[0].rules
    labels_choice = rules_menu("Labels under", "labels", own=True)
    return labels_choice, own_rules


@app.cell(hide_code=True)
def set_labels(labels_choice, own_rules):
    label_base = base_rules(labels_choice.value, own_rules)
    p_slider, tau_slider, lam_slider = rule_sliders(label_base)
    mo.vstack(
        [
            mo.md("""
    The labels follow from the stored judgements; under other rules other replies may be chosen.
    """),
            mo.hstack([labels_choice, p_slider], justify="start", gap=2, wrap=True),
            mo.hstack([tau_slider, lam_slider], justify="start", gap=2, wrap=True),
        ]
    )
    return label_base, lam_slider, p_slider, tau_slider


@app.cell(hide_code=True)
def label_turns(conversations, label_base, lam_slider, own_rules, p_slider, tau_slider):
    rules = rules_set(label_base, p_slider.value, tau_slider.value, lam_slider.value)
    relabel = None if rules == own_rules else rules
    try:
        turns, _refusal = [(each, turn) for each in conversations for turn in labelled_turns(each, relabel)], ""
    except DiscoverError as _error:
        turns, _refusal = [], str(_error)
    mo.stop(bool(_refusal), mo.Html(show.styled(show.error_line(_refusal))))
    return relabel, rules, turns


@app.cell(hide_code=True)
def choose_filters():
    margin_slider = kept(mo.ui.slider, "margin", 0, 3, 0.05, value=0, label="Drop margins below", show_value=True)
    similarity_slider = kept(
        mo.ui.slider, "alike", 0.1, 1.05, 0.05, value=0.9, label="Drop near-duplicates above", show_value=True
    )
    budget_choice = kept(mo.ui.number, "budget", 0, 100_000, 100, value=0, label="Token budget (0: any)")
    leaks_choice = kept(mo.ui.checkbox, "leaks", value=False, label="keep turns in which the user leaked")
    kind_choice = kept(mo.ui.radio, "kind", KINDS, value="preference pairs", label="Count for", inline=True)
    base_choice = kept(
        mo.ui.text, "tokenizer", value="", placeholder="the documented rule", label="Count with the tokenizer of"
    )
    text_choice = kept(
        mo.ui.dropdown,
        "text",
        {"what people read": "content", "the miniature’s notation": "notation"},
        value="what people read",
        label="Replies hold",
    )
    system_choice = kept(mo.ui.dropdown, "system", ["none", "collaborative"], value="none", label="System message")
    return (
        base_choice,
        budget_choice,
        kind_choice,
        leaks_choice,
        margin_slider,
        similarity_slider,
        system_choice,
        text_choice,
    )


@app.cell(hide_code=True)
def show_filters(
    base_choice, budget_choice, kind_choice, leaks_choice, margin_slider, similarity_slider, system_choice, text_choice
):
    mo.vstack(
        [
            mo.md("""
    ## 1 · What is kept, and what is left out

    Ties, single replies and replies whose judgement failed (*unscored*: no reward, which is not a reward of 0) have no
    label and never make a pair. The rest is up to you: drop small margins, or set λ to 0, and see whether the verdict
    on length changes above.
    """),
            mo.hstack(
                [margin_slider, similarity_slider, budget_choice, leaks_choice], justify="start", gap=1.5, wrap=True
            ),
            mo.hstack([text_choice, system_choice, base_choice], justify="start", gap=1.5, wrap=True),
            kind_choice,
        ]
    )
    return


@app.cell(hide_code=True)
def read_row_options(base_choice, relabel, system_choice, text_choice):
    row_options = RowOptions(
        rules=relabel,
        system=system_choice.value,
        text=text_choice.value,
        tokens=token_count(base_choice.value.strip() or None),
    )
    return (row_options,)


@app.cell(hide_code=True)
def read_filters(budget_choice, leaks_choice, margin_slider, similarity_slider):
    filters = Filters(
        min_margin=margin_slider.value,
        max_similarity=similarity_slider.value,
        max_tokens=int(budget_choice.value) if budget_choice.value else None,
        leaks=leaks_choice.value,
    )
    return (filters,)


@app.cell(hide_code=True)
def make_pairs(conversations, origin, row_options):
    try:
        pair_examples, _refusal = list(examples("preference", conversations, origin, row_options)), ""
    except DiscoverError as _error:
        pair_examples, _refusal = [], str(_error)
    mo.stop(bool(_refusal), mo.Html(show.styled(show.error_line(_refusal))))
    return (pair_examples,)


@app.cell(hide_code=True)
def introduce_sieve():
    mo.md("""
    A conversation makes one SFT row; a turn makes one prompt and, where it has a label, one pair. Each example that the
    filters leave out keeps its reasons:
    """)
    return


@app.cell
def filter_rows(conversations, filters, kind_choice, origin, pair_examples, row_options):
    kind, made = kind_choice.value, pair_examples
    if kind != "preference":
        made = examples(kind, conversations, origin, row_options)
    result = sieve(made, filters)
    mo.show_code()
    return kind, result


@app.cell(hide_code=True)
def show_kept(kind, result, row_options):
    _unit = f"Lengths: {row_options.tokens.name}. Likeness: Jaccard of three-word runs."
    mo.Html(
        show.styled(
            show.tag("div", show_pairs.sieved(result, kind), data_kept=len(result.kept)), show.quiet(_unit, small=True)
        )
    )
    return


@app.cell(hide_code=True)
def find_reasons(filters, pair_examples):
    # Which pairs are kept, whatever kind of rows the counts above are about.
    sieved_pairs = sieve(pair_examples, filters)
    _reasons = {id(example): reasons for example, reasons in sieved_pairs.dropped}
    pair_reasons = [_reasons.get(id(example), ()) for example in pair_examples]
    return pair_reasons, sieved_pairs


@app.cell(hide_code=True)
def choose_reason(sieved_pairs):
    _names = {EVERY: None, KEPT: ()} | {f"left out: {name.replace('_', ' ')}": name for name in sieved_pairs.counts_all}
    show_choice = kept(mo.ui.dropdown, "show", _names, value=KEPT if sieved_pairs.kept else EVERY, label="Show")
    return (show_choice,)


@app.cell(hide_code=True)
def list_pairs(pair_examples, pair_reasons, show_choice):
    def fits(reasons):
        wanted_reason = show_choice.value
        return wanted_reason is None or (reasons == () if wanted_reason == () else wanted_reason in reasons)

    places = [place for place, reasons in enumerate(pair_reasons) if fits(reasons)]
    _lines = {place: (pair_examples[place].provenance, pair_reasons[place]) for place in places}
    pair_list = controls.picking("pair", show.styled(show_pairs.listing(_lines)), list(map(str, places)))
    mo.vstack(
        [
            mo.md("""
    ## 2 · The pair microscope

    Every pair, or what was left out for one reason; press one to see both replies and both receipts.
    The miniature counts a reply in its notation, 16 tokens a word: so an SVG of thousands of characters has few.
    """),
            show_choice if places else mo.vstack([show_choice, mo.md("No turn is like this.")]),
        ]
    )
    return pair_list, places


@app.cell(hide_code=True)
def pick_pair(pair_list, places):
    place = int(pair_list.value["picked"]) if places else None
    return (place,)


@app.cell(hide_code=True)
def show_pair(pair_list, pair_reasons, place, rules, turns):
    mo.stop(place is None)
    conversation, labelled_turn = turns[place]
    _left_out = "; ".join(REASONS[reason] for reason in pair_reasons[place])
    _note = show.error_line(f"Left out: {_left_out}.") if _left_out else show.EMPTY
    _pair = show_pairs.pair(conversation, labelled_turn, rules)
    _detail = show.tag("div", _note, _pair, data_pair=place, data_opened=str(place))
    _list = show.tag("div", controls.placed(pair_list))
    mo.Html(show.styled(show.tag("div", _list, _detail, class_="dl-list-detail")))
    return conversation, labelled_turn


@app.cell(hide_code=True)
def choose_preview():
    preview_choice = kept(mo.ui.radio, "as", KINDS, value="preference pairs", label="As", inline=True)
    template_choice = kept(mo.ui.dropdown, "template", list(TEMPLATES), value="Qwen2.5", label="Chat template of")
    mo.vstack(
        [
            mo.md("""
    ## 3 · Exactly what a trainer gets

    The row that the turn above makes, and the text that a trainer makes of it under a chat template. What is marked
    carries loss: it is what the model learns to write. The Qwen2.5 and Llama 3 texts and marks are those of TRL's own
    training templates; the project's tests compare them character by character.
    """),
            mo.hstack([preview_choice, template_choice], justify="start", gap=2, wrap=True),
        ]
    )
    return preview_choice, template_choice


@app.cell(hide_code=True)
def show_preview(conversation, filters, labelled_turn, origin, preview_choice, row_options, template_choice):
    CARRIES = {
        "preference": "Two sequences. The prompt carries no loss; the chosen reply is made likelier than the other.",
        "sft": "One sequence: the whole conversation as it went. With TRL’s assistant_only_loss the assistant’s "
        "messages carry loss, and nothing else.",
        "prompt": "Nothing here carries loss: the model writes replies of its own after this prompt, and the user "
        "that the column state restores rewards them.",
    }

    def previewed():
        kind = preview_choice.value
        made = list(examples(kind, [conversation], origin, row_options))
        example = made[0] if kind == "sft" else made[labelled_turn.turn.index - 1]
        reasons = filters.reasons(example)
        if not example.train:
            return show.error_line(f"This turn makes no such row: {', '.join(REASONS[each] for each in reasons)}.")
        note = ", ".join(REASONS[each] for each in reasons)
        parts = [show.error_line(f"The filters leave this row out: {note}.")] if note else []
        marked = show_pairs.loss(TEMPLATES[template_choice.value].sequences(example.train))
        parts.append(show.panel("The text, and what carries loss", show.quiet(CARRIES[kind]), marked))
        parts.append(show.panel("The row", show_pairs.row_json(example.row, example.train)))
        return show.joined(parts)

    try:
        _preview = previewed()
    except DiscoverError as _error:
        _preview = show.error_line(str(_error))
    mo.Html(show.styled(_preview))
    return


@app.cell(hide_code=True)
def choose_export(set_exported, to_export):
    def export(_):
        # Thousands of rows take seconds, in which the page stays usable.
        set_exported(show.quiet("Writing …"))
        asked = dict(to_export)
        mo.Thread(target=lambda: set_exported(write_all(**asked))).start()

    export_kinds = kept(mo.ui.multiselect, "rows", KINDS, value=list(KINDS), label="Rows")
    files_choice = kept(mo.ui.dropdown, "files", ["jsonl", "parquet", "datasets"], value="jsonl", label="Files")
    export_button = mo.ui.button(label="Export", kind="success", on_click=export)
    mo.vstack(
        [
            mo.md("""
    ## 4 · Take it

    Rows as filtered above, 90 % of the artifacts to train on and 10 % to test on (no artifact is in both), with a card
    that says where they come from and a list of everything left out.
    """),
            mo.hstack([export_kinds, files_choice, export_button], justify="start", align="end", gap=1.5, wrap=True),
        ]
    )
    return export_kinds, files_choice


@app.cell(hide_code=True)
def remember_export():
    to_export = {}  # what the button writes; it is read when pressed
    get_exported, set_exported = mo.state(show.EMPTY)
    return get_exported, set_exported, to_export


@app.cell(hide_code=True)
def set_export(export_kinds, files_choice, filters, get_folder, row_options, to_export):
    to_export.update(
        run=get_folder(), kinds=export_kinds.value, files=files_choice.value, options=row_options, filters=filters
    )
    return


@app.function(hide_code=True)
def rows_folder(run: Path, kind: str) -> Path:
    """Where this page writes rows of a run."""
    return outputs_folder() / "rows" / run.name / kind


@app.function
def write_all(run: Path, kinds, files: str, options: RowOptions, filters: Filters) -> show.Markup:
    """Write rows of a run, one folder a kind; what was written, a line each."""
    parts = []
    for kind in kinds:
        folder = rows_folder(run, kind)
        try:
            rows = make_rows(kind, [Source.of_run(run)], options, filters)
            write_rows(rows, folder, files)
        except (DiscoverError, StoreError, OSError) as error:
            parts.append(show.error_line(f"{kind}: {error}"))
            continue
        splits = ", ".join(f"{len(kept)} to {split}" for split, kept in rows.splits.items())
        made = show.tag("b", f"{len(rows.sieved.kept)} {kind} rows")
        where = show.tag("code", shown_path(folder))
        parts.append(show.tag("p", "✓ ", made, f" of {rows.sieved.considered} ({splits}) → ", where))
    return show.joined(parts) or show.error_line("choose what to export")


@app.cell(hide_code=True)
def show_commands(
    base_choice, configuration, export_kinds, files_choice, filters, get_exported, get_folder, relabel, row_options
):
    def commands():
        run = get_folder()
        made = run_command(run, configuration)
        lines = ["# the conversations (again: go on where it was left)", made, ""] if made else []
        lines.append("# the rows")
        given = (files_choice.value, row_options, filters, base_choice.value.strip())
        lines += [export_command(run, rows_folder(run, kind), kind, *given) for kind in export_kinds.value]
        return "\n".join(lines)

    _note = (
        "The labels are read under other rules here. The command reads them under the run’s own; in Python, "
        "RowOptions(rules=…) does what this page does."
    )
    mo.Html(
        show.styled(
            show.tag("div", get_exported(), role="log", aria_label="Exported"),
            show.quiet("The same by command:"),
            show.code(commands()),
            show.quiet(_note) if relabel else show.EMPTY,
            footer("41_rows.py"),
        )
    )
    return


if __name__ == "__main__":
    app.run()
