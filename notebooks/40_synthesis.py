# /// script
# requires-python = ">=3.11"
#
# [tool.marimo.opengraph]
# title = "40 · Synthesis"
# description = "From conversations to training data: make them, open any pair, filter, see what carries loss, export."
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Synthesis")

with app.setup(hide_code=True):
    import html
    import shlex
    from pathlib import Path

    import marimo as mo

    from discover_lib import Rules
    from discover_lib.app import controls
    from discover_lib.app import jobs as background
    from discover_lib.base.files import REPOSITORY, outputs_folder
    from discover_lib.base.tokens import token_count
    from discover_lib.dataset.export import Source, make_rows, write_rows
    from discover_lib.dataset.filters import REASONS, Filters, sieve
    from discover_lib.dataset.lengths import PairLength, length_report, table_3
    from discover_lib.dataset.pairs import DatasetError, labelled_turns
    from discover_lib.dataset.preview import TEMPLATES, sequences
    from discover_lib.dataset.rows import Origin, RowOptions, examples
    from discover_lib.runs.options import RunOptions, RunOptionsError
    from discover_lib.runs.store import RunStore, StoreError
    from discover_lib.views import audit as show_audit
    from discover_lib.views import conversation as show
    from discover_lib.views import pairs as show_pairs

    RULES = {"paper": Rules.paper, "paper, GRPO": Rules.paper_grpo, "authors' code": Rules.authors}
    OWN = "the run’s own"
    EVERY, KEPT = "every turn", "kept"
    KINDS = {"preference pairs": "preference", "SFT conversations": "sft", "GRPO prompts": "prompt"}
    FIRST_RUN = RunOptions(("draft", "adaptive"), domain="svg_drawing", split="train", artifacts=20, candidates=1)
    SECONDS_WAITED = 20  # for the first run, which takes less than one where nothing else goes on


@app.cell(hide_code=True)
def _():
    mo.md("""
    # From conversations to training data: can I trust my pairs?

    In every turn several assistants answer the same user. All replies are judged against the same state of that user;
    the one of the highest reward goes on and is **chosen**, the one of the lowest is **rejected**.

    **You will see** such conversations being made, the paper's Table 3 of them, whether *length alone* decided the
    labels, every single pair opened up, what each filter drops, and exactly what a trainer gets, with the parts that
    carry loss. **Needs** nothing: the miniature plays every role unless you choose a language model.
    """)
    return


@app.function(hide_code=True)
def place_of(options: RunOptions) -> Path:
    """The folder of a run that this page makes."""
    return outputs_folder() / "synthesis" / background.folder_name(options)


@app.function(hide_code=True)
def shown_path(path: Path) -> str:
    """A path as one types it in the project's folder."""
    return str(path.relative_to(REPOSITORY)) if path.is_relative_to(REPOSITORY) else str(path)


@app.cell(hide_code=True)
def _():
    def opened():
        """The run that the address names, or a small one made on the spot, and a line to tell if something is wrong."""
        asked, trouble = mo.query_params().get("run"), ""
        if asked:
            named = outputs_folder() / asked
            if asked in background.find_runs(outputs_folder()) or background.job_of(named):
                return named, trouble
            trouble = f"there is no run {asked!r} here; this is the small one that is made without asking"
        job = background.start_job(FIRST_RUN, place_of(FIRST_RUN))
        job.wait(SECONDS_WAITED)
        return job.folder, trouble or job.trouble

    first_folder, first_trouble = opened()
    get_folder, set_folder = mo.state(first_folder)
    get_trouble, set_trouble = mo.state(first_trouble)
    # Counters that cells follow: runs begun or ended, and how many conversations were last read.
    get_jobs, set_jobs = mo.state(0)
    get_seen, set_seen = mo.state(0)
    return (
        get_folder,
        get_jobs,
        get_seen,
        get_trouble,
        set_folder,
        set_jobs,
        set_seen,
        set_trouble,
    )


# -- making conversations ----------------------------------------------------------------------------------------------


@app.cell(hide_code=True)
def _():
    from discover_lib.engines.miniature.assistants import SCRIPTED

    domain_choice = mo.ui.dropdown(controls.domain_labels(), value="SVG drawing", label="Domain")
    assistants_choice = mo.ui.multiselect(list(SCRIPTED), value=["draft", "adaptive"], label="Assistants")
    samples_choice = mo.ui.dropdown([1, 2, 3, 4], value=1, label="Samples of each")
    artifacts_choice = mo.ui.dropdown([5, 10, 20, 50, 100, 200, 500], value=20, label="Artifacts")
    turns_choice = mo.ui.dropdown([1, 2, 3, 4, 5, 6, 8], value=5, label="Turns")
    run_rules_choice = mo.ui.dropdown({"paper": "paper", "authors' code": "authors"}, value="paper", label="Rules")
    seed_choice = mo.ui.dropdown(list(range(30)), value=0, label="Seed")
    ahead_choice = mo.ui.dropdown([0, 1, 2, 3], value=0, label="Look ahead, turns")
    ahead_assistant_choice = mo.ui.dropdown(list(SCRIPTED), value="adaptive", label="played by")
    models_form = controls.chooser(("judge", "voice", "assistant"))
    return (
        ahead_assistant_choice,
        ahead_choice,
        artifacts_choice,
        assistants_choice,
        domain_choice,
        models_form,
        run_rules_choice,
        samples_choice,
        seed_choice,
        turns_choice,
    )


@app.cell(hide_code=True)
def _(
    ahead_assistant_choice,
    ahead_choice,
    artifacts_choice,
    assistants_choice,
    domain_choice,
    models_form,
    run_rules_choice,
    samples_choice,
    seed_choice,
    turns_choice,
):
    mo.vstack(
        [
            mo.md("## 1 · Make conversations"),
            mo.hstack(
                [
                    *(domain_choice, assistants_choice, samples_choice, artifacts_choice, turns_choice),
                    *(run_rules_choice, seed_choice, ahead_choice, ahead_assistant_choice),
                ],
                justify="start",
                gap=1.5,
                wrap=True,
            ),
            mo.accordion({"Let language models take part (nothing is asked before you say so)": models_form}),
        ]
    )
    return


@app.function(hide_code=True)
def options_asked_for(names, samples, choice, **others) -> RunOptions:
    """The options of a run with these assistants and, if one was chosen, a language model's beside them.

    Raises:
        RunOptionsError: there would be nothing to choose from.
    """
    assistants = (*names, *([choice.assistant] if choice.assistant else []))
    if len(assistants) * samples < 2:
        raise RunOptionsError("the best of one is no choice: take a second assistant, or several samples of one")
    return RunOptions(assistants, candidates=samples, judge=choice.judge, voice=choice.voice, split="train", **others)


@app.cell(hide_code=True)
def _(
    ahead_assistant_choice,
    ahead_choice,
    artifacts_choice,
    assistants_choice,
    domain_choice,
    models_form,
    run_rules_choice,
    samples_choice,
    seed_choice,
    turns_choice,
):
    def asked_for():
        """What the controls ask for (options, who plays), or a line that says why it cannot be."""
        try:
            choice = controls.read_choice(models_form.value)
            found = options_asked_for(
                assistants_choice.value,
                samples_choice.value,
                choice,
                domain=domain_choice.value,
                artifacts=artifacts_choice.value,
                turns=turns_choice.value,
                rules=Rules.named(run_rules_choice.value),
                seed=seed_choice.value,
                look_ahead=ahead_choice.value,
                reward_assistant=ahead_assistant_choice.value if ahead_choice.value else "",
            )
        except (controls.ChoiceError, RunOptionsError) as error:
            return None, None, str(error)
        return found, choice, ""

    options, choice, refusal = asked_for()
    with_models = options is not None and bool(options.spec.models(options.assistants))
    return choice, options, refusal, with_models


@app.cell(hide_code=True)
def _(with_models):
    cap_choice = mo.ui.number(0, 1000, 0.5, value=None, label="Spend at most, in dollars")
    cap_choice if with_models else None
    return (cap_choice,)


@app.cell(hide_code=True)
def _(choice, options, refusal, with_models):
    def planned():
        """What the run will take, in words, and as a table where models are asked."""
        from discover_lib.runs.options import lay_out
        from discover_lib.runs.plan import plan_run

        replies = len(options.assistants) * options.candidates
        size = f"{options.artifacts} artifacts × {options.turns} turns × {replies} replies"
        parts = [
            f'<p class="dl-quiet">{size}, the best of each turn goes on. The same choices come to the same run.</p>'
        ]
        if with_models:
            forecast = plan_run(lay_out(options), settings=choice.client_settings, concurrency=background.IN_FLIGHT)
            minutes = forecast.minutes
            caption = (
                f"Before anything is spent: about {minutes.expected:.0f} min ({minutes.low:.0f} to {minutes.high:.0f})"
            )
            parts.append(controls.plan_table(forecast.stages, caption))
        return show.styled(*parts)

    try:
        _shown = show.styled(show.error_line(refusal)) if refusal else planned()
    except background.REFUSALS as _error:
        _shown = show.styled(show.error_line(str(_error)))
    mo.Html(_shown)
    return


@app.cell(hide_code=True)
def _():
    # What the buttons act on.  They read it when they are pressed, so no control has to make them anew.
    wanted = {}
    return (wanted,)


@app.cell(hide_code=True)
def _(cap_choice, choice, options, refusal, wanted, with_models):
    wanted.update(
        options=options,
        refusal=refusal,
        settings=choice.client_settings if with_models else None,
        cap=cap_choice.value,
        spends=with_models,
    )
    return


@app.cell(hide_code=True)
def _(get_folder, set_folder, set_jobs, set_seen, set_trouble, wanted):
    def look_at(folder):
        mo.query_params().set("run", str(folder.relative_to(outputs_folder())))
        set_seen(0)
        set_folder(folder)
        set_jobs(lambda count: count + 1)

    def begin(_):
        if wanted["refusal"]:
            return set_trouble(wanted["refusal"])
        if wanted["spends"] and not wanted["cap"]:
            return set_trouble("language models cost money: say how much may be spent at most, then press again")
        set_trouble("")
        job = background.start_job(
            wanted["options"],
            place_of(wanted["options"]),
            wanted["settings"],
            wanted["cap"] if wanted["spends"] else None,
        )
        return look_at(job.folder)

    def halt(_):
        job = background.job_of(get_folder())
        if job is not None:
            job.stop()

    def go_on(_):
        try:
            with RunStore.read(get_folder()) as store:
                begun = background.options_of(store.configuration)
            if begun.spec.models(begun.assistants):
                raise RunOptionsError(
                    "language models take part: choose them above as they were, with a cap, and press"
                )
            set_trouble("")
            background.start_job(begun, get_folder())
        except background.REFUSALS as error:
            set_trouble(str(error))
        set_jobs(lambda count: count + 1)

    begin_button = mo.ui.button(label="Synthesise", kind="success", on_click=begin)
    stop_button = mo.ui.button(label="■ Stop", on_click=halt)
    resume_button = mo.ui.button(label="Go on with this run", on_click=go_on)
    return begin_button, look_at, resume_button, stop_button


@app.cell(hide_code=True)
def _(get_folder, get_jobs, look_at):
    get_jobs()
    _folder = get_folder()
    _runs = background.find_runs(outputs_folder())
    _name = str(_folder.relative_to(outputs_folder()))
    _runs.setdefault(_name, _folder)
    run_choice = mo.ui.dropdown(_runs, value=_name, label="or open a run", searchable=True, on_change=look_at)
    return (run_choice,)


@app.cell(hide_code=True)
def _(get_folder, get_jobs):
    # Ticks only while something is being made here.
    get_jobs()
    _job = background.job_of(get_folder())
    watching = _job is not None and _job.running
    clock = mo.ui.refresh(options=["1s"], default_interval="1s") if watching else mo.md("")
    return clock, watching


@app.cell(hide_code=True)
def _(
    clock,
    get_folder,
    get_jobs,
    get_seen,
    get_trouble,
    set_jobs,
    set_seen,
    set_trouble,
    watching,
):
    getattr(clock, "value", None), get_jobs()

    def standing():
        """How far the run is: (finished, units, its failures), or None while there is nothing to read yet."""
        try:
            with RunStore.read(get_folder()) as store:
                counts = store.counts()
                return counts.finished, counts.units, counts.failed
        except StoreError:
            return None

    _job, _now = background.job_of(get_folder()), standing()
    going = _job is not None and _job.running
    if watching and not going:  # the last tick: no more of them, and what went wrong
        set_trouble(_job.trouble)
        set_jobs(lambda count: count + 1)
    # A long run is read again when it has doubled, not at every tick: the page stays quick.
    if _now and _now[0] != get_seen() and (not going or _now[0] >= 2 * get_seen() + 2):
        set_seen(_now[0])

    def status():
        name = html.escape(get_folder().name)
        if _now is None or not _now[1]:
            return f"<b>{name}</b>: {'laying out the conversations …' if going else 'nothing here yet'}"
        finished, units, failed = _now
        words = f"<b>{name}</b>: {finished} of {units} conversations"
        words += f", {failed} failed" if failed else ""
        if going:
            words += " · being made; what is finished is on disk"
        elif finished < units:
            words += " · not finished; it can go on"
        return f'{words}<div class="dp-bar"><i style="width:{finished / max(1, units):.1%}"></i></div>'

    unfinished = not going and _now is not None and _now[0] < _now[1]
    _trouble = show.error_line(f"{get_trouble()[0].upper()}{get_trouble()[1:]}") if get_trouble() else ""
    status_html = show_pairs.styled(f'<div role="status">{status()}</div>{_trouble}')
    return going, status_html, unfinished


@app.cell(hide_code=True)
def _(
    begin_button,
    clock,
    going,
    resume_button,
    run_choice,
    status_html,
    stop_button,
    unfinished,
):
    _buttons = [
        begin_button,
        *([stop_button, clock] if going else []),
        *([resume_button] if unfinished else []),
        run_choice,
    ]
    mo.vstack([mo.hstack(_buttons, justify="start", align="center", gap=1, wrap=True), mo.Html(status_html)])
    return


# -- what came out -----------------------------------------------------------------------------------------------------


@app.cell(hide_code=True)
def _(get_folder, get_seen):
    get_seen()

    def read():
        """The conversations of the run so far, where they come from, and why they cannot be read."""
        folder = get_folder()
        try:
            with RunStore.read(folder) as store:
                configuration = store.configuration
                origin = Origin.of_run(folder.name, configuration)
                kept = tuple(each for each in store.conversations(finished=False) if each.turns)
                return kept, origin, configuration, ""
        except (StoreError, KeyError) as error:
            return (), None, {}, str(error)

    conversations, origin, configuration, unreadable = read()
    several = any(len(turn.candidates) > 1 for each in conversations for turn in each.turns)
    _empty = "No conversation is finished yet." if not unreadable else f"Nothing to read yet ({unreadable})."
    _plain = (
        "In this run every turn has one reply only, so there is nothing to prefer it to: it can be exported as SFT and "
        "prompt rows, and holds no pairs."
    )
    mo.stop(not conversations, mo.md(_empty))
    _told = [] if several else [f'<p class="dl-quiet">{_plain}</p>']
    mo.Html(show.styled(*_told, show_audit.certificate_line(get_folder())))
    return configuration, conversations, origin


@app.cell(hide_code=True)
def _(conversations):
    labels_choice = mo.ui.dropdown([OWN, *RULES], value=OWN, label="Labels under")
    own_rules = conversations[0].rules
    return labels_choice, own_rules


@app.cell(hide_code=True)
def _(labels_choice, own_rules):
    base_rules = (
        own_rules
        if labels_choice.value == OWN
        else RULES[labels_choice.value]().replace(token_unit=own_rules.token_unit)
    )
    p_slider = mo.ui.slider(0, 1, 0.05, value=base_rules.p, label="p", show_value=True)
    tau_slider = mo.ui.slider(0, 1000, 10, value=base_rules.tau, label="τ", show_value=True)
    lam_slider = mo.ui.slider(0, 10, 0.5, value=base_rules.lam * 1000, label="1000 λ", show_value=True)
    mo.vstack(
        [
            mo.md("""
    ## 2 · What came out: the paper's Table 3

    The labels follow from the stored judgements, so they can be read again under other rules: nothing is asked anew.
    """),
            mo.hstack([labels_choice, p_slider, tau_slider, lam_slider], justify="start", gap=2, wrap=True),
        ]
    )
    return base_rules, lam_slider, p_slider, tau_slider


@app.cell(hide_code=True)
def _(
    base_rules,
    conversations,
    lam_slider,
    own_rules,
    p_slider,
    tau_slider,
):
    _asked = {"p": p_slider.value, "tau": tau_slider.value, "lam": lam_slider.value / 1000}
    _changes = {name: value for name, value in _asked.items() if value != getattr(base_rules, name)}
    rules = base_rules.replace(**_changes)
    relabel = None if rules == own_rules else rules

    def labelled():
        """Every turn with its label, in order; and why it cannot be labelled so."""
        try:
            turns = [(each, turn) for each in conversations for turn in labelled_turns(each, relabel)]
            return turns, table_3(conversations, relabel), ""
        except DatasetError as error:
            return [], None, str(error)

    turns, table, not_labelled = labelled()
    mo.stop(bool(not_labelled), mo.Html(show.styled(show.error_line(not_labelled))))
    mo.Html(show_pairs.styled(show.panel("Table 3", show_pairs.table_3(table, rules))))
    return relabel, rules, table, turns


# -- filters -----------------------------------------------------------------------------------------------------------


@app.cell(hide_code=True)
def _():
    margin_slider = mo.ui.slider(0, 3, 0.05, value=0, label="Least margin", show_value=True)
    similarity_slider = mo.ui.slider(0.1, 1.05, 0.05, value=0.9, label="As alike as this is too alike", show_value=True)
    budget_choice = mo.ui.number(0, 100_000, 100, value=0, label="Token budget (0: any)")
    leaks_choice = mo.ui.checkbox(label="keep turns in which the user leaked")
    kind_choice = mo.ui.radio(KINDS, value="preference pairs", label="Count for", inline=True)
    base_choice = mo.ui.text(placeholder="none: the documented rule", label="Count with the tokenizer of")
    text_choice = mo.ui.dropdown(
        {"what people read": "content", "the miniature’s notation": "notation"},
        value="what people read",
        label="Replies hold",
    )
    system_choice = mo.ui.dropdown(["none", "collaborative"], value="none", label="System message")
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
def _(
    base_choice,
    budget_choice,
    kind_choice,
    leaks_choice,
    margin_slider,
    similarity_slider,
    system_choice,
    text_choice,
):
    mo.vstack(
        [
            mo.md("""
    ## 3 · What is kept, and what is left out

    Ties, single replies and replies whose judgement failed have no label and never make a pair. The rest is up to you.
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
def _(base_choice, relabel, system_choice, text_choice):
    row_options = RowOptions(
        rules=relabel,
        system=system_choice.value,
        text=text_choice.value,
        tokens=token_count(base_choice.value.strip() or None),
    )
    return (row_options,)


@app.cell(hide_code=True)
def _(conversations, origin, row_options):
    def paired():
        try:
            return list(examples("preference", conversations, origin, row_options)), ""
        except DatasetError as error:
            return [], str(error)

    pair_examples, not_paired = paired()
    mo.stop(bool(not_paired), mo.Html(show.styled(show.error_line(not_paired))))
    return (pair_examples,)


@app.cell(hide_code=True)
def _(conversations, kind_choice, origin, pair_examples, row_options):
    kind_examples = (
        pair_examples
        if kind_choice.value == "preference"
        else list(examples(kind_choice.value, conversations, origin, row_options))
    )
    return (kind_examples,)


@app.cell(hide_code=True)
def _(budget_choice, leaks_choice, margin_slider, similarity_slider):
    filters = Filters(
        min_margin=margin_slider.value,
        max_similarity=similarity_slider.value,
        max_tokens=int(budget_choice.value) if budget_choice.value else None,
        leaks=leaks_choice.value,
    )
    return (filters,)


@app.cell(hide_code=True)
def _(filters, kind_choice, kind_examples, row_options):
    result = sieve(kind_examples, filters)
    _unit = html.escape(f"Lengths: {row_options.tokens.name}. Likeness: Jaccard of three-word runs.")
    _counts = show_pairs.sieved(result, kind_choice.value)
    mo.Html(
        show_pairs.styled(
            f'<div data-kept="{len(result.kept)}">{_counts}</div>',
            f'<p class="dl-quiet dl-small">{_unit}</p>',
        )
    )
    return (result,)


@app.cell(hide_code=True)
def _(filters, pair_examples):
    # Which pairs are kept, whatever kind of rows the counts above are about.
    sieved_pairs = sieve(pair_examples, filters)
    _reasons = {id(example): reasons for example, reasons in sieved_pairs.dropped}
    pair_reasons = [_reasons.get(id(example), ()) for example in pair_examples]
    return pair_reasons, sieved_pairs


@app.cell(hide_code=True)
def _(sieved_pairs):
    def lengths():
        """Margins, length differences, and the verdict in words; for pairs only."""
        pairs = [PairLength.of_row(each.row) for each in sieved_pairs.kept]
        if not pairs:
            return '<p class="dl-quiet">No pair is kept, so nothing can be said about lengths.</p>'
        report = length_report(pairs)
        tone = {"predicts": "bad", "some": "tie"}.get(report.verdict, "pair")
        verdict = f'<p class="dp-why" data-tone="{tone}">{html.escape(report.sentence)}</p>'
        margins = show_pairs.histogram([each.margin for each in sieved_pairs.kept], "Margin of the pairs", "reward")
        differences = show_pairs.histogram(
            [each.difference for each in pairs],
            "Length of the chosen less that of the rejected",
            "tokens",
            "chosen is shorter",
            "chosen is longer",
        )
        return f"{verdict}{explained(pairs, report)}{show.beside(margins, differences)}"

    def explained(pairs, report):
        """What is behind the verdict: labels that length alone makes, and the rest without them."""
        others = [each for each in pairs if not each.equal_discovery]
        text = (
            f"In {report.by_penalty} of {report.n_pairs} pairs both replies discover equally much, and the charge for "
            "length alone makes the label. "
        )
        if others and report.by_penalty:
            rest = length_report(others)
            text += f"Without these: {rest.sentence[0].lower()}{rest.sentence[1:]} "
        if report.flagged:
            text += "A model trained on these pairs may learn length first: raise the least margin, or read the labels "
            text += "with λ = 0, and look again."
        return f'<p class="dl-quiet">{html.escape(text)}</p>'

    mo.vstack(
        [mo.md("## 4 · Does length alone predict the label?"), mo.Html(show_pairs.styled(f"<div>{lengths()}</div>"))]
    )
    return


# -- the pair microscope -----------------------------------------------------------------------------------------------


@app.cell(hide_code=True)
def _():
    get_picked, set_picked = mo.state(None)
    return get_picked, set_picked


@app.cell(hide_code=True)
def _(sieved_pairs):
    _names = {EVERY: None, KEPT: ()} | {f"left out: {name.replace('_', ' ')}": name for name in sieved_pairs.counts_all}
    show_choice = mo.ui.dropdown(_names, value=KEPT if sieved_pairs.kept else EVERY, label="Show")
    return (show_choice,)


@app.cell(hide_code=True)
def _(get_picked, pair_examples, pair_reasons, set_picked, show_choice):
    def fits(reasons):
        wanted_reason = show_choice.value
        return wanted_reason is None or (reasons == () if wanted_reason == () else wanted_reason in reasons)

    def line(place):
        known = pair_examples[place].provenance
        return {
            "no.": place,
            "artifact": known["artifact"],
            "turn": known["turn"],
            "chosen": known.get("chosen_assistant", ""),
            "rejected": known.get("rejected_assistant", ""),
            "margin": round(known["margin"], 3) if "margin" in known else None,
            "longer by": known["chosen_tokens"] - known["rejected_tokens"] if "chosen_tokens" in known else None,
            "row": ", ".join(pair_reasons[place]).replace("_", " ") or KEPT,
        }

    places = [place for place, reasons in enumerate(pair_reasons) if fits(reasons)]
    _picked = get_picked() if get_picked() in places else (places[0] if places else None)
    pairs_table = mo.ui.table(
        [line(each) for each in places],
        selection="single",
        initial_selection=[places.index(_picked)] if places else None,
        page_size=6,
        show_column_summaries=False,
        show_data_types=False,
        show_download=False,
        on_change=lambda rows: set_picked(rows[0]["no."] if rows else None),
        label="“longer by”: tokens of the chosen less those of the rejected reply",
    )
    mo.vstack(
        [
            mo.md("## 5 · The pair microscope"),
            show_choice,
            pairs_table if places else mo.md("No turn is like this."),
        ]
    )
    return (places,)


@app.cell(hide_code=True)
def _(get_picked, places):
    # In a cell of its own: the cell of a table does not run again for what its own table sets.
    place = get_picked() if get_picked() in places else (places[0] if places else None)
    return (place,)


@app.cell(hide_code=True)
def _(pair_reasons, place, rules, turns):
    mo.stop(place is None)
    conversation, labelled_turn = turns[place]
    _left_out = "; ".join(REASONS[reason] for reason in pair_reasons[place])
    _note = show.error_line(f"Left out: {_left_out}.") if _left_out else ""
    mo.Html(
        show_pairs.styled(
            f'<div data-pair="{place}">{_note}</div>', show_pairs.pair(conversation, labelled_turn, rules)
        )
    )
    return conversation, labelled_turn


# -- what a trainer gets -----------------------------------------------------------------------------------------------


@app.cell(hide_code=True)
def _():
    preview_choice = mo.ui.radio(KINDS, value="preference pairs", label="As", inline=True)
    template_choice = mo.ui.dropdown(list(TEMPLATES), value="Qwen2.5", label="Chat template of")
    mo.vstack(
        [
            mo.md("""
    ## 6 · Exactly what a trainer gets

    The row that the turn above makes, and the text that a trainer makes of it under a chat template. What is marked
    carries loss: it is what the model learns to write. The Qwen2.5 and Llama 3 texts and marks are those of TRL's own
    training templates; the project's tests compare them character by character.
    """),
            mo.hstack([preview_choice, template_choice], justify="start", gap=2, wrap=True),
        ]
    )
    return preview_choice, template_choice


@app.cell(hide_code=True)
def _(
    conversation,
    filters,
    labelled_turn,
    origin,
    preview_choice,
    row_options,
    template_choice,
):
    TOLD = {
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
        marked = show_pairs.loss(sequences(example.train, TEMPLATES[template_choice.value]))
        parts.append(show.panel("The text, and what carries loss", f'<p class="dl-quiet">{TOLD[kind]}</p>', marked))
        parts.append(show.panel("The row", show_pairs.row_json(example.row, example.train)))
        return "".join(parts)

    try:
        _preview = previewed()
    except DatasetError as _error:
        _preview = show.error_line(str(_error))
    mo.Html(show_pairs.styled(f"<div>{_preview}</div>"))
    return


# -- export ------------------------------------------------------------------------------------------------------------


@app.cell(hide_code=True)
def _(set_exported, to_export):
    def export(_):
        # Thousands of rows take seconds, in which the page stays usable.
        set_exported('<p class="dl-quiet">Writing …</p>')
        asked = dict(to_export)
        mo.Thread(target=lambda: set_exported(write_all(**asked))).start()

    export_kinds = mo.ui.multiselect(KINDS, value=list(KINDS), label="Rows")
    files_choice = mo.ui.dropdown(["jsonl", "parquet", "datasets", "sharegpt"], value="jsonl", label="Files")
    export_button = mo.ui.button(label="Export", kind="success", on_click=export)
    mo.vstack(
        [
            mo.md("""
    ## 7 · Take it

    Rows as filtered above, 90 % of the artifacts to train on and 10 % to test on (no artifact is in both), with a card
    that says where they come from and a list of everything left out.
    """),
            mo.hstack([export_kinds, files_choice, export_button], justify="start", align="end", gap=1.5, wrap=True),
        ]
    )
    return export_kinds, files_choice


@app.cell(hide_code=True)
def _():
    to_export = {}  # what the button writes; it is read when pressed
    get_exported, set_exported = mo.state("")
    return get_exported, set_exported, to_export


@app.cell(hide_code=True)
def _(
    export_kinds,
    files_choice,
    filters,
    get_folder,
    row_options,
    to_export,
):
    to_export.update(
        run=get_folder(), kinds=export_kinds.value, files=files_choice.value, options=row_options, filters=filters
    )
    return


@app.function(hide_code=True)
def write_all(run: Path, kinds, files: str, options: RowOptions, filters: Filters) -> str:
    """Write rows of a run, one folder a kind; what was written, as HTML, a line each."""
    parts = []
    for kind in kinds:
        folder = outputs_folder() / "rows" / run.name / kind
        try:
            rows = make_rows(kind, [Source.of_run(run)], options, filters)
            write_rows(rows, folder, files)
        except (DatasetError, StoreError, OSError) as error:
            parts.append(show.error_line(f"{kind}: {error}"))
            continue
        splits = ", ".join(f"{len(kept)} to {split}" for split, kept in rows.splits.items())
        parts.append(
            f"<p>✓ <b>{len(rows.sieved.kept)} {kind} rows</b> of {rows.sieved.considered} ({splits}) → "
            f"<code>{html.escape(shown_path(folder))}</code></p>"
        )
    return "".join(parts) or show.error_line("choose what to export")


@app.function(hide_code=True)
def export_command(run: Path, kind: str, files: str, options: RowOptions, filters: Filters, base: str) -> str:
    """The command that writes the same rows."""
    words = ["discover", "export", shown_path(run), "--format", kind, "--files", files]
    words += ["--system", options.system, "--text", options.text]
    words += ["--min-margin", f"{filters.min_margin:g}", "--max-similarity", f"{filters.max_similarity:g}"]
    words += ["--max-tokens", str(filters.max_tokens)] if filters.max_tokens else []
    words += ["--base", base] if base else []
    words += ["--leaks"] if filters.leaks else []
    return shlex.join([*words, "--out", shown_path(outputs_folder() / "rows" / run.name / kind)])


@app.function(hide_code=True)
def synthesis_command(run: Path, configuration: dict) -> str:
    """The command that makes this run, or goes on with it; "" if it was begun with files of one's own."""
    try:
        begun = background.options_of(configuration)
    except RunOptionsError:
        return ""
    words = ["discover", "synthesize", "--domain", str(begun.domain), "--split", begun.split]
    for name in begun.assistants:
        words += ["--assistant", name]
    words += ["--candidates", str(begun.candidates), "--artifacts", str(begun.artifacts), "--turns", str(begun.turns)]
    words += ["--rules", begun.rules.name, "--seed", str(begun.seed)]
    if begun.look_ahead:
        words += ["--look-ahead", str(begun.look_ahead), "--reward-assistant", begun.reward_assistant]
    words += [part for role in ("judge", "voice") for part in (f"--{role}", getattr(begun, role))]
    return shlex.join([*words, "--run", shown_path(run)])


@app.cell(hide_code=True)
def _(
    base_choice,
    configuration,
    export_kinds,
    files_choice,
    filters,
    get_exported,
    get_folder,
    relabel,
    row_options,
):
    def commands():
        run = get_folder()
        made = synthesis_command(run, configuration)
        lines = ["# the conversations (again: go on where it was left)", made, ""] if made else []
        lines.append("# the rows")
        given = (files_choice.value, row_options, filters, base_choice.value.strip())
        lines += [export_command(run, kind, *given) for kind in export_kinds.value]
        return "\n".join(lines)

    _note = (
        '<p class="dl-quiet">The labels are read under other rules here. The command reads them under the run’s own; '
        "in Python, <code>RowOptions(rules=…)</code> does what this page does.</p>"
        if relabel
        else ""
    )
    _commands = f'<p class="dl-quiet">The same by command:</p><pre class="dl-code">{html.escape(commands())}</pre>'
    mo.Html(show_pairs.styled(f'<div role="log" aria-label="Exported">{get_exported()}</div>{_commands}{_note}'))
    return


if __name__ == "__main__":
    app.run()
