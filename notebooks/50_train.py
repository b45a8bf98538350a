# /// script
# requires-python = ">=3.11"
#
# [tool.marimo.opengraph]
# title = "50 · Train"
# description = "Train a model on conversations: data, recipe, checks, live curves, and the model before and after."
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Train")

with app.setup(hide_code=True):
    import hashlib
    import json
    from pathlib import Path
    from urllib.parse import quote

    import marimo as mo

    from discover_lib.app import controls
    from discover_lib.app.commands import train_command
    from discover_lib.app.jobs import Job, find_runs, folder_of, started
    from discover_lib.app.panel import TrainingPanel
    from discover_lib.base.files import outputs_folder
    from discover_lib.dataset.export import MARK
    from discover_lib.dataset.preview import TEMPLATES, sequences, tiny_sequences
    from discover_lib.engines.local.dialect import dialect_of
    from discover_lib.runs.options import RunOptions
    from discover_lib.train.data import DataError, load_rows
    from discover_lib.train.jobs import TrainingJob, find_jobs
    from discover_lib.train.recipes import Recipe
    from discover_lib.train.stage import StageSettings, problems
    from discover_lib.views import conversation as show
    from discover_lib.views import pairs as show_pairs
    from discover_lib.views import training as show_training

    STAGES = {
        "SFT: imitate whole chosen conversations": "sft",
        "DPO: prefer the chosen reply to the rejected": "dpo",
        "GRPO: be rewarded by the simulated user": "grpo",
    }
    TINY = "the tiny model of the miniature"
    OTHER = "another model"
    FIRST_RUN = RunOptions(("draft", "adaptive"), domain="svg_drawing", split="train", artifacts=100, candidates=1)
    SECONDS_WAITED = 30  # for the first data, which take about one where nothing else goes on


@app.cell(hide_code=True)
def introduce():
    mo.md("""
    # How does a model learn to help people find out what they want?

    Conversations in which the better reply was chosen become training data, and a low-rank **adapter** of a language
    model learns from them: by imitation (**SFT**), by preference (**DPO**), or rewarded by the simulated user itself
    (**GRPO**).

    **You will see** what the model is given and which part of it carries loss, every setting with its check, live
    curves of a run that goes on when you close this page, and the same prompt answered before and after. **Needs**
    nothing to look around; to train, torch and its companions (`make train`). With the tiny model it all runs on a
    laptop's processor.
    """)
    return


@app.cell(hide_code=True)
def say_what_tiny_is():
    mo.callout(
        mo.md("""
    **The tiny model is a miniature.** It has less than three million parameters, was made from scratch on the
    miniature's own notation and understands no English: it learns *when to offer and when to draw*, not judgement. Its
    learning rates are about a hundred times those of an 8B model, so its curves say that the method works, and nothing
    about sizes of effects elsewhere.
    """),
        kind="neutral",
    )
    return


@app.cell(hide_code=True)
def open_training():
    panel = TrainingPanel()
    get_folder, get_activity, get_progress = panel.states
    return get_activity, get_folder, get_progress, panel


@app.function(hide_code=True)
def data_places() -> dict:
    """What can be trained on: runs of conversations, and folders of rows; name → folder, newest first."""
    runs = {f"run: {name}": folder for name, folder in find_runs(outputs_folder()).items()}
    marks = sorted(outputs_folder().glob(f"rows/**/{MARK}"), key=lambda file: file.stat().st_mtime, reverse=True)
    return runs | {f"rows: {mark.parent.relative_to(outputs_folder())}": mark.parent for mark in marks}


@app.cell(hide_code=True)
def find_data():
    def found_or_made():
        """Places with data; where there is none, some users of the miniature are simulated on the spot."""
        if places := data_places():
            return places, ""
        job = started(Job(folder_of(FIRST_RUN, outputs_folder() / "synthesis"), FIRST_RUN))
        job.wait(SECONDS_WAITED)
        return data_places(), job.trouble or "the first conversations are still being made; reload the page"

    places, no_data = found_or_made()
    mo.stop(not places, mo.Html(show.styled(show.error_line(no_data))))
    return (places,)


@app.cell(hide_code=True)
def choose_data(places):
    data_choice = mo.ui.dropdown(places, value=next(iter(places)), label="Data", searchable=True)
    stage_choice = mo.ui.radio(STAGES, value=next(iter(STAGES)), label="Stage")
    mo.vstack(
        [
            mo.md("""
    ## 1 · What it learns from

    Rows: whole conversations to imitate, pairs to prefer by, or prompts to be rewarded on.
    """),
            mo.hstack([data_choice, stage_choice], justify="start", gap=3, wrap=True),
            mo.md(
                "More conversations: [page 40](/?file=40_synthesis.py); which of them: [page 41](/?file=41_rows.py)."
            ),
        ]
    )
    return data_choice, stage_choice


@app.cell(hide_code=True)
def load_data(base_choice, data_choice, name_choice, stage_choice):
    given_name = name_choice.value.strip()
    tiny = base_choice.value == TINY or dialect_of(given_name).text == "notation"
    stage = stage_choice.value

    def loaded():
        try:
            return load_rows(data_choice.value, stage, "notation" if tiny else "content").train, ""
        except DataError as error:
            return (), str(error)

    rows, unreadable = loaded()
    return given_name, rows, stage, tiny, unreadable


@app.cell(hide_code=True)
def choose_row(rows):
    row_choice = mo.ui.slider(1, max(1, len(rows)), 1, value=1, label="Row", show_value=True)
    return (row_choice,)


@app.cell(hide_code=True)
def show_row(row_choice, rows, stage, tiny, unreadable):
    CARRIES = {
        "sft": "A whole conversation. What the assistant said carries loss, and nothing else.",
        "dpo": "One prompt, two replies. The chosen one is made likelier than the rejected one, relative to the model "
        "that training starts from.",
        "grpo": "Nothing here carries loss. The model answers this prompt itself, several times; the simulated user "
        "that the row’s state restores rewards each answer.",
    }

    def preview():
        if not rows:
            return show.error_line(unreadable or "there is no such row in these data: choose others")
        row = rows[row_choice.value - 1]
        template = "the tiny model" if tiny else "Qwen2.5"
        made = tiny_sequences(row, row["domain"]) if tiny else sequences(row, TEMPLATES["Qwen2.5"])
        heard = (
            " The user’s words reach the tiny model through what the miniature’s lexicon hears in them."
            if tiny
            else " Other bases have other templates; page 41 shows them."
        )
        note = show.quiet(f"{CARRIES[stage]} As {template} sees it.{heard}")
        return show.panel(
            f"Row {row_choice.value} of {len(rows):,}, and what carries loss", note, show_pairs.loss(made)
        )

    mo.vstack(
        [
            *([row_choice] if len(rows) > 1 else []),
            mo.Html(show.styled(show.tag("div", preview(), data_rows=len(rows)))),
        ]
    )
    return


@app.cell(hide_code=True)
def choose_model(get_activity):
    get_activity()

    def finished():
        """Runs whose adapter another stage can start from."""
        return {name: job for name, job in find_jobs(outputs_folder()).items() if job.status().state == "finished"}

    base_choice = mo.ui.dropdown([TINY, OTHER], value=TINY, label="Base model")
    earlier_choice = mo.ui.dropdown(
        {"the base as it is": None} | finished(), value="the base as it is", label="Start from", searchable=True
    )
    name_choice = mo.ui.text(placeholder="Qwen/Qwen3-0.6B, or a folder", label="Its name", full_width=True)
    return base_choice, earlier_choice, name_choice


@app.cell(hide_code=True)
def choose_recipe(tiny):
    _presets = ["miniature"] if tiny else ["paper", "t4", "miniature"]
    preset_choice = mo.ui.dropdown(_presets, value=_presets[0], label="Recipe")
    backend_choice = mo.ui.dropdown(["auto", "unsloth", "transformers"], value="auto", label="Backend")
    seed_choice = mo.ui.number(0, 1000, 1, value=0, label="Seed")
    return backend_choice, preset_choice, seed_choice


@app.cell(hide_code=True)
def show_model(backend_choice, base_choice, earlier_choice, name_choice, preset_choice, seed_choice):
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
                    *(earlier_choice, preset_choice, backend_choice, seed_choice),
                ],
                justify="start",
                gap=1.5,
                wrap=True,
            ),
        ]
    )
    return


@app.cell(hide_code=True)
def fill_fields(preset_choice, stage):
    preset = Recipe.named(preset_choice.value)
    _fields = controls.field_controls(preset.of(stage)) | controls.field_controls(preset.lora, "lora.")
    recipe_choice = mo.ui.dictionary(_fields)
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
def find_tiny(base_choice):
    def found():
        """Where the tiny base model is, or will be, and why there is none.  Looked up once: it takes torch."""
        if base_choice.value != TINY:
            return None, ""
        try:
            from discover_lib.engines.local.tiny_model import base_folder
        except ImportError as error:
            return None, f"training needs {error.name}, which is not installed; make train adds what is missing"
        return base_folder().resolve(), ""

    tiny_base, tiny_missing = found()
    return tiny_base, tiny_missing


@app.cell(hide_code=True)
def name_base(base_choice, earlier_choice, given_name, tiny_base, tiny_missing):
    def model_named():
        """The base as settings name it, what has to be made first, and what is wrong with it."""
        if base_choice.value == OTHER:
            local = str(Path(given_name).resolve()) if given_name and Path(given_name).is_dir() else given_name
            return local, "", "" if given_name else "name the base model"
        if tiny_base is None:
            return "", "", tiny_missing
        making = "" if tiny_base.is_dir() else "The tiny base model is not there yet: the run makes it first."
        return str(tiny_base), making, ""

    base_name, making_first, base_problem = model_named()
    adapter = str(earlier_choice.value.folder.resolve()) if earlier_choice.value else ""
    mo.md("""
    A stage is its settings: what it learns from, which model, which recipe. `run_stage(settings, folder)` trains it
    here and now; the button below starts it as a process of its own.
    """)
    return adapter, base_name, base_problem, making_first


@app.cell
def settle(adapter, backend_choice, base_name, data_choice, recipe, seed_choice, stage):
    data = str(data_choice.value.resolve())
    how = {"recipe": recipe, "backend": backend_choice.value, "seed": int(seed_choice.value or 0)}
    settings = StageSettings(stage, data, base_name, adapter=adapter, **how)
    mo.show_code()
    return (settings,)


@app.cell(hide_code=True)
def find_obstacles(base_problem, making_first, recipe, recipe_problems, rows, settings, stage, unreadable):
    standing_in_the_way = [each for each in (base_problem, unreadable) if each] + recipe_problems
    if not standing_in_the_way and not making_first:
        standing_in_the_way = problems(settings)
    steps_planned = 0 if recipe_problems else recipe.of(stage).steps(len(rows))
    return standing_in_the_way, steps_planned


@app.function(hide_code=True)
def run_folder(settings: StageSettings) -> Path:
    """A readable folder, the same for the same settings, so that training them again goes on with the run."""
    decided = hashlib.blake2b(json.dumps(settings.to_dict(), sort_keys=True).encode(), digest_size=4).hexdigest()
    base = Path(settings.base)
    name = "tiny" if base.parent.name == "tiny" else base.name
    after = f"-after-{Path(settings.adapter).name.split('-')[0]}" if settings.adapter else ""
    return outputs_folder() / "train" / f"{settings.stage}{after}-{name}-{decided}"


@app.cell(hide_code=True)
def ask(making_first, panel, preset, settings, standing_in_the_way, steps_planned, tiny_missing):
    def told(problem):
        """What is wrong, in red; what is only not installed yet, as a note."""
        line = f"{problem[0].upper()}{problem[1:]}."
        return show.notice(line) if problem == tiny_missing else show.error_line(line)

    _folder, _refusal = run_folder(settings), "; ".join(standing_in_the_way)
    panel.ask(settings, _folder, _refusal)
    command = train_command(settings, preset, _folder)
    _ready = (
        show.joined(map(told, standing_in_the_way))
        if standing_in_the_way
        else show.tag("p", f"Ready: {steps_planned:,} updates. {making_first}", class_="dp-why")
    )
    mo.vstack(
        [
            mo.Html(show.styled(show.tag("div", _ready, data_ready=int(not standing_in_the_way)))),
            mo.accordion({"The same at a command line": mo.md(f"```\n{command}\n```")}),
        ]
    )
    return (command,)


@app.cell(hide_code=True)
def choose_training(get_activity, get_folder, panel):
    run_choice = panel.choice(get_folder(), get_activity(), label="or look at a run")
    return (run_choice,)


@app.cell(hide_code=True)
def tick(get_activity, get_folder, panel):
    clock = panel.clock(get_folder(), get_activity())
    return (clock,)


@app.cell(hide_code=True)
def show_buttons(clock, get_activity, get_folder, panel, run_choice):
    _view = panel.view(
        clock,
        get_folder(),
        get_activity(),
        before=[panel.begin_button],
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


@app.function(hide_code=True)
def kept_round(job: TrainingJob) -> show.Markup:
    """Which round's adapter a finished GRPO run has kept, if its rounds were measured."""
    if job.status().state != "finished" or (kept := job.result().get("kept_round")) is None:
        return show.EMPTY
    why = "after it most was discovered in whole conversations with held-out users"
    return show.quiet(f"The adapter is that of round {kept}: {why}.", small=True)


@app.cell(hide_code=True)
def show_training_run(logged, panel, status):
    mo.stop(status is None, mo.md("Press **Train** to begin one."))
    _resumed = [each.from_step for each in status.attempts]
    _standing = show_training.standing(panel.job.name, status, show_training.latest(logged))
    _curves = show_training.curves(logged, status.total_steps, _resumed)
    mo.Html(show_training.styled(show.panel("The run", _standing, kept_round(panel.job), _curves)))
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
        mo.ui.slider(steps=sampled_steps, value=sampled_steps[-1], label="Sampled at step", show_value=True)
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
def lead_on(get_activity, get_folder):
    get_activity()
    _run = f"&job={quote(str(get_folder().relative_to(outputs_folder())))}" if get_folder() else ""
    mo.md(f"""
    ## 6 · Before and after

    When a run is finished, [page 52](/?file=52_before_after.py{_run}) answers the same prompt with both models and lets
    both meet the same user; [page 51](/?file=51_grpo_by_hand.py) takes one GRPO update apart.
    """)
    return


if __name__ == "__main__":
    app.run()
