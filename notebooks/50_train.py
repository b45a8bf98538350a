# /// script
# requires-python = ">=3.11"
#
# [tool.marimo.opengraph]
# title = "50 · Train"
# description = "What training changes, and how to do it: data, recipe, checks, live curves, samples on the way."
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Train", css_file="../workbench/views/static/workbench.css")

with app.setup(hide_code=True):
    from pathlib import Path
    from urllib.parse import quote

    import marimo as mo

    from discover_lib.base.files import REPOSITORY, outputs_folder, read_json
    from discover_lib.engines.local.dialect import dialect_of
    from discover_lib.runs.options import RunOptions
    from discover_lib.train.backend import missing_libraries
    from discover_lib.train.recipes import Recipe
    from discover_lib.train.run_files import latest
    from discover_lib.train.run_stage import StageSettings, problems
    from discover_lib.train.training_job import find_jobs
    from workbench import controls
    from workbench.carried import kept
    from workbench.echo import train_command
    from workbench.jobs import Job, folder_of, places_scored, started, training_places
    from workbench.panel import TrainingPanel
    from workbench.training_page import Judging, Rehearser, row_preview, rows_to_train_on, run_folder
    from workbench.views import conversation_parts as show
    from workbench.views import training as show_training
    from workbench.views.navigation import footer

    controls.page_has_sheet()
    STAGES = {
        "SFT: imitate whole chosen conversations": "sft",
        "DPO: prefer the chosen reply to the rejected": "dpo",
        "GRPO: be rewarded by the simulated user": "grpo",
    }
    TINY = "the tiny model of the miniature"
    TINY_NAME = "tiny"
    OTHER = "another model"
    EARLIER = REPOSITORY / "docs" / "results" / "miniature" / "seed-0" / "results.json"
    FIRST_RUN = RunOptions(("draft", "adaptive"), domain="svg_drawing", split="train", artifacts=100, candidates=1)
    SECONDS_WAITED = 30  # for the first data, which take about one where nothing else goes on


@app.cell(hide_code=True)
def introduce():
    mo.md("""
    # How does a model learn to help people find out what they want?

    From conversations in which the better reply is known: it imitates them (**SFT**), prefers them (**DPO**), or is
    rewarded by the simulated user itself (**GRPO**).
    """)
    return


@app.cell(hide_code=True)
def show_what_training_changed():
    _shown = (
        show_training.trained_before(read_json(EARLIER))
        if EARLIER.is_file()
        else show.quiet("The results of a finished run come with the repository, and this is not one.")
    )
    mo.Html(show_training.styled(_shown))
    return


@app.cell(hide_code=True)
def find_libraries():
    missing = missing_libraries()
    _what = f"{missing[0]} and {len(missing) - 1} more libraries" if len(missing) > 1 else " ".join(missing)
    _line = mo.md(f"**To train here, {_what} are missing.** All else on this page works. This installs the rest:")
    mo.callout(mo.vstack([_line, controls.copied("make train")]), kind="warn") if missing else None
    return (missing,)


@app.cell(hide_code=True)
def say_what_tiny_is():
    mo.accordion(
        {
            "What these tiny models are, and are not": mo.md("""
    0.6 million parameters, made from scratch on the miniature's own notation. They understand no English
    and learn *when to offer and when to draw*, not judgement. Their learning rates are 20 to 100 times the paper's
    for an 8B model: their curves say that the method works, and nothing about sizes of effects elsewhere.
    """)
        }
    )
    return


@app.cell(hide_code=True)
def open_training():
    panel = TrainingPanel()
    get_folder, get_activity, get_progress = panel.states
    get_pressed = panel.get_pressed
    return get_activity, get_folder, get_pressed, get_progress, panel


@app.cell(hide_code=True)
def find_data():
    def found_or_made():
        """Places with data; where none is fit, some users of the miniature are simulated on the spot."""
        if places := training_places():
            return places | places_scored(), ""
        job = started(Job(folder_of(FIRST_RUN, outputs_folder() / "synthesis"), FIRST_RUN))
        job.wait(SECONDS_WAITED)
        return training_places(), job.trouble or "the first conversations are still being made; reload the page"

    places, no_data = found_or_made()
    mo.stop(not places, mo.Html(show.styled(show.error_line(no_data))))
    return (places,)


@app.cell(hide_code=True)
def choose_data(places):
    data_choice = kept(mo.ui.dropdown, "data", places, value=next(iter(places)), label="Data", searchable=True)
    stage_choice = kept(mo.ui.radio, "stage", STAGES, value=next(iter(STAGES)), label="Stage")
    mo.vstack(
        [
            mo.md("""
    ## 1 · What it learns from

    Rows: whole conversations to imitate, pairs to prefer by, or prompts to be rewarded on.
    """),
            mo.hstack([data_choice, stage_choice], justify="start", align="start", gap=3, wrap=True),
            mo.md("More conversations: [page 40](/?file=40_synthesis.py); which of them: [41](/?file=41_rows.py)."),
        ]
    )
    return data_choice, stage_choice


@app.cell(hide_code=True)
def load_data(base_choice, data_choice, name_choice, stage_choice, system_choice):
    given_name = name_choice.value.strip()
    tiny = base_choice.value == TINY or dialect_of(given_name).text == "notation"
    stage = stage_choice.value

    system = "none" if tiny else system_choice.value  # the tiny model reads no system message
    rows, unfit = rows_to_train_on(data_choice.value, stage, tiny, system)
    mo.Html(show.styled(show.error_line(f"{unfit[0].upper()}{unfit[1:]}."))) if unfit else None
    return given_name, rows, stage, system, tiny, unfit


@app.cell(hide_code=True)
def choose_row(rows):
    row_choice = kept(mo.ui.slider, "row", 1, max(1, len(rows)), 1, value=1, label="Row", show_value=True)
    return (row_choice,)


@app.cell(hide_code=True)
def show_row(row_choice, rows, stage, tiny):
    _row = row_preview(rows, row_choice.value, stage, tiny)
    mo.vstack(
        [
            *([row_choice] if len(rows) > 1 else []),
            mo.Html(show.styled(show.tag("div", _row, data_rows=len(rows)))),
        ]
    )
    return


@app.cell(hide_code=True)
def choose_model(get_activity):
    get_activity()

    def finished():
        """Runs whose adapter another stage can start from."""
        return {name: job for name, job in find_jobs(outputs_folder()).items() if job.status().state == "finished"}

    base_choice = kept(mo.ui.dropdown, "base", [TINY, OTHER], value=TINY, label="Base model")
    _starts = {"the base as it is": None} | finished()
    earlier_choice = kept(
        mo.ui.dropdown, "from", _starts, value="the base as it is", label="Start from", searchable=True
    )
    _hint = "Qwen/Qwen3-0.6B, or a folder"
    name_choice = kept(mo.ui.text, "model", value="", placeholder=_hint, label="Its name", full_width=True)
    system_choice = kept(mo.ui.dropdown, "system", ["none", "collaborative"], value="none", label="System message")
    return base_choice, earlier_choice, name_choice, system_choice


@app.cell(hide_code=True)
def choose_recipe(tiny):
    _presets = ["miniature"] if tiny else ["paper", "80gb", "40gb", "24gb", "t4", "miniature"]
    preset_choice = kept(mo.ui.dropdown, "recipe", _presets, value=_presets[0], label="Recipe")
    _backends = ["auto", "unsloth", "transformers"]
    backend_choice = kept(mo.ui.dropdown, "backend", _backends, value="auto", label="Backend")
    seed_choice = kept(mo.ui.number, "seed", 0, 1000, 1, value=0, label="Seed")
    return backend_choice, preset_choice, seed_choice


@app.cell(hide_code=True)
def show_model(
    backend_choice,
    base_choice,
    earlier_choice,
    name_choice,
    preset_choice,
    seed_choice,
    system_choice,
    tiny,
):
    mo.vstack(
        [
            mo.md("""
    ## 2 · Which model

    The base stays as it is; what is learnt is an adapter, and a stage can start from the adapter of an earlier one.
    """),
            mo.hstack(
                [
                    base_choice,
                    *([name_choice] if base_choice.value == OTHER else []),
                    *(earlier_choice, preset_choice),
                ],
                justify="start",
                gap=1.5,
                wrap=True,
            ),
            mo.hstack(
                [backend_choice, seed_choice, *([] if tiny else [system_choice])], justify="start", gap=1.5, wrap=True
            ),
        ]
    )
    return


@app.cell(hide_code=True)
def fill_fields(preset_choice, stage):
    preset = Recipe.named(preset_choice.value)
    _address = f"{preset.name}.{stage}."  # a field that was changed stays so in its own recipe
    _own, _lora = (preset.of(stage), ""), (preset.lora, "lora.")
    recipe_choice = mo.ui.dictionary(
        {name: control for part in (_own, _lora) for name, control in controls.field_controls(*part, _address).items()}
    )
    return preset, recipe_choice


@app.cell(hide_code=True)
def read_recipe(preset, recipe_choice, stage):
    _values = recipe_choice.value
    try:
        _changes = controls.changed_fields(preset.of(stage), _values)
        _lora = controls.changed_fields(preset.lora, _values, "lora.")
        recipe = preset.changed(stage, _changes | {f"lora.{name}": value for name, value in _lora.items()})
        recipe_problems = recipe.problems(stage)
    except ValueError as _error:
        recipe, recipe_problems = preset, [str(_error)]
    return recipe, recipe_problems


@app.cell(hide_code=True)
def show_recipe(preset, recipe, recipe_choice, recipe_problems, stage):
    _part = recipe.of(stage)
    _steps = "" if recipe_problems else f"{_part.accumulation} × {_part.per_device} sequences an update"

    def grid(names):
        fields = (show.tag("div", controls.placed(recipe_choice.elements[name])) for name in names)
        return show.tag("div", *fields, class_="dt-fields")

    _own = [name for name in recipe_choice.elements if not name.startswith("lora.")]
    _lora = [name for name in recipe_choice.elements if name.startswith("lora.")]
    _changed = recipe.name if recipe.name != preset.name else f"{preset.name}, as it stands"
    mo.vstack(
        [
            mo.md("""
    ## 3 · The recipe

    Every number of a stage in one record; each field is checked against the others.
    """),
            mo.Html(show_training.styled(show.quiet(f"{_changed}. {_steps}"), *map(show.error_line, recipe_problems))),
            mo.accordion(
                {
                    f"Every field of {stage.upper()}": mo.Html(show_training.styled(grid(_own))),
                    "The adapter (LoRA)": mo.Html(show_training.styled(grid(_lora))),
                }
            ),
        ]
    )
    return


@app.cell(hide_code=True)
def find_tiny(base_choice, missing):
    def found():
        """Where the tiny base model is, or will be.  Looked up once: it takes torch."""
        if base_choice.value != TINY or missing:
            return None
        from discover_lib.engines.local.names import base_folder

        return base_folder().resolve()

    tiny_base = found()
    return (tiny_base,)


@app.cell(hide_code=True)
def name_base(base_choice, earlier_choice, given_name, tiny_base):
    def model_named():
        """The base as settings name it, what has to be made first, and what is wrong with it."""
        if base_choice.value == OTHER:
            local = str(Path(given_name).resolve()) if given_name and Path(given_name).is_dir() else given_name
            return local, "", "" if given_name else "name the base model"
        if tiny_base is None:
            return TINY_NAME, "", ""
        return str(tiny_base), "" if tiny_base.is_dir() else "There is no tiny base yet: the run makes it first.", ""

    base_name, making_first, base_problem = model_named()
    adapter = str(earlier_choice.value.folder.resolve()) if earlier_choice.value else ""
    mo.md("""
    A stage is its settings: what it learns from, which model, which recipe. `run_stage(settings, folder)` trains it
    here and now; the button below starts it as a process of its own.
    """)
    return adapter, base_name, base_problem, making_first


@app.cell(hide_code=True)
def choose_judge(stage):
    models_form = controls.chooser(("judge", "voice"))
    cap_choice = mo.ui.number(0, 10_000, 1, value=None, label="Spend at most, in dollars")
    _choices = mo.vstack([cap_choice, models_form])
    mo.accordion({"Let language models judge and speak for the user": _choices}) if stage == "grpo" else None
    return cap_choice, models_form


@app.cell(hide_code=True)
def read_judge(cap_choice, models_form, stage):
    judging = Judging.of(stage, models_form.value, cap_choice.value)
    return (judging,)


@app.cell
def settle(adapter, backend_choice, base_name, data_choice, judging, recipe, seed_choice, stage, system):
    data = str(data_choice.value.resolve())
    how = {"recipe": recipe, "backend": backend_choice.value, "seed": int(seed_choice.value or 0)}
    settings = StageSettings(stage, data, base_name, adapter=adapter, system=system, **how, **judging.settings)
    mo.show_code()
    return (settings,)


@app.cell(hide_code=True)
def find_obstacles(base_problem, judging, making_first, missing, recipe, recipe_problems, rows, settings, stage, unfit):
    standing_in_the_way = [each for each in (base_problem, unfit, judging.refusal) if each] + recipe_problems
    if not standing_in_the_way and not making_first and not missing:
        standing_in_the_way = problems(settings, run_folder(settings), judging.access)
    if missing:
        standing_in_the_way.append(f"training needs {', '.join(missing)}; make train installs the rest")
    steps_planned = 0 if recipe_problems else recipe.of(stage).steps(len(rows))
    return standing_in_the_way, steps_planned


@app.cell(hide_code=True)
def ask(get_pressed, judging, making_first, missing, panel, preset, settings, standing_in_the_way, steps_planned):
    def ready():
        """What stands in the way, or how far it is to go; what is only not installed stands at the top."""
        if missing:
            return show.notice("Without the libraries nothing can be trained here.", tone="open")
        if standing_in_the_way:
            return show.joined(show.error_line(f"{each[0].upper()}{each[1:]}.") for each in standing_in_the_way)
        return show.tag("p", f"Ready: {steps_planned:,} updates. {making_first}", class_="dp-why")

    _folder = run_folder(settings)
    panel.ask(settings, _folder, "; ".join(standing_in_the_way), judging.access)
    panel.begin_if_pressed(get_pressed())
    command = train_command(settings, preset, _folder, judging.access)
    _ready = mo.Html(show.styled(show.tag("div", ready(), data_ready=int(not standing_in_the_way))))
    _command = mo.accordion({"The same at a command line": mo.md(f"```text\n{command}\n```")})
    _plan = mo.Html(show.styled(judging.plan(settings)))
    mo.vstack([_ready] if missing else [_ready, _plan, _command])
    return (command,)


@app.cell(hide_code=True)
def open_rehearsal():
    rehearser = Rehearser()
    get_rehearsed = rehearser.get_progress
    return get_rehearsed, rehearser


@app.cell(hide_code=True)
def show_rehearsal(get_rehearsed, missing, preset, rehearser, settings, standing_in_the_way, tiny):
    _count, _useful = get_rehearsed(), not (tiny or missing or standing_in_the_way)
    rehearser.view(settings, preset, run_folder(settings), _count) if _useful else None
    return


@app.cell(hide_code=True)
def choose_training(get_activity, get_folder, panel):
    run_choice = panel.choice(get_folder(), get_activity(), label="or look at a run")
    return (run_choice,)


@app.cell(hide_code=True)
def tick(get_activity, get_folder, panel):
    clock = panel.clock(get_folder(), get_activity())
    return (clock,)


@app.cell(hide_code=True)
def show_buttons(clock, get_activity, get_folder, missing, panel, run_choice):
    _view = panel.view(
        clock,
        get_folder(),
        get_activity(),
        before=[] if missing else [panel.begin_button],
        after=[run_choice] if run_choice.options else [],
    )
    mo.vstack(
        [
            mo.md("""
    ## 4 · Train

    The run is a process of its own. Close this page, restart the server: it goes on, and this address finds it again.
    Stopped, or killed at any step, it goes on from its last checkpoint.
    """),
            _view,
        ]
    )
    return


@app.cell(hide_code=True)
def read_training(clock, get_activity, get_folder, get_progress, panel):
    getattr(clock, "value", None), get_activity(), get_folder(), get_progress()
    status, logged = panel.status, panel.logged
    return logged, status


@app.cell(hide_code=True)
def show_training_run(logged, panel, status):
    mo.stop(status is None, mo.md("No training run yet."))
    _resumed = [each.from_step for each in status.attempts]
    _standing = show_training.standing(panel.job.name, status, latest(logged))
    _curves = show_training.curves(logged, status.total_steps, _resumed)
    _kept = show_training.kept_round(panel.job.result()) if status.state == "finished" else show.EMPTY
    _turned = show_training.turning(logged, panel.job.rows()) + show_training.alarm_lines(logged)
    mo.Html(show_training.styled(show.panel("The run", _standing, _kept, _turned, _curves)))
    return


@app.cell(hide_code=True)
def read_samples(logged, panel):
    # Read again whenever something was logged; samples come at intervals.
    samples = panel.job.samples().lines if panel.job and logged else ()
    sampled_steps = sorted({each["step"] for each in samples})
    return sampled_steps, samples


@app.cell(hide_code=True)
def choose_step(sampled_steps):
    step_choice = (
        kept(mo.ui.slider, "step", steps=sampled_steps, value=sampled_steps[-1], label="After step", show_value=True)
        if sampled_steps
        else None
    )
    return (step_choice,)


@app.cell(hide_code=True)
def show_samples(samples, step_choice):
    _at = [each for each in samples if step_choice is not None and each["step"] == step_choice.value]
    _panels = [
        show.panel(f"Prompt {place}", show_training.sample(each["prompt"], each["replies"]))
        for place, each in enumerate(_at, start=1)
    ]
    _none = mo.md("Nothing was sampled yet; the recipe’s *sample steps* say how often.")
    mo.vstack(
        [
            mo.md("""
    ## 5 · What it writes while it learns

    The same prompts, answered at intervals; early samples show how far a model had to come.
    """),
            *([step_choice] if step_choice is not None else []),
            mo.Html(show_training.styled(*_panels)) if _panels else _none,
        ]
    )
    return


@app.cell(hide_code=True)
def lead_on(get_activity, get_folder, panel):
    get_activity()
    _run = f"&job={quote(panel.name_of(get_folder()))}" if get_folder() else ""
    _text = mo.md(f"""
    ## 6 · Before and after

    When a run is finished, [page 52](/?file=52_before_after.py{_run}) answers the same prompt with both models and lets
    both meet the same user; [page 51](/?file=51_grpo_by_hand.py) takes one GRPO update apart.
    """)
    mo.vstack([_text, mo.Html(show.styled(footer("50_train.py")))])
    return


if __name__ == "__main__":
    app.run()
