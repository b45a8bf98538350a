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
    import html
    import json
    import shlex
    from pathlib import Path

    import marimo as mo

    from discover_lib.app import jobs as background
    from discover_lib.app import training_controls as controls
    from discover_lib.app.controls import domain_label
    from discover_lib.base.files import REPOSITORY, outputs_folder
    from discover_lib.core.conversation import Message
    from discover_lib.core.rollout import run_conversation
    from discover_lib.dataset.export import MARK
    from discover_lib.dataset.preview import TEMPLATES, sequences, tiny_sequences
    from discover_lib.engines.local.dialect import dialect_of
    from discover_lib.engines.local.lineage import LineageError
    from discover_lib.engines.local.tiny_language import is_broken
    from discover_lib.engines.miniature import engine
    from discover_lib.engines.miniature.artifacts import SPLIT_SIZES, generate_artifact
    from discover_lib.engines.miniature.lexicon import DOMAINS
    from discover_lib.engines.spec import EngineSpec, RoleEngines
    from discover_lib.runs.options import RunOptions
    from discover_lib.train import jobs
    from discover_lib.train.data import DataError, load_rows
    from discover_lib.train.jobs import JobError
    from discover_lib.train.recipes import Recipe
    from discover_lib.train.stage import StageSettings, before_and_after, problems
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
def _():
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
def _():
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


@app.function(hide_code=True)
def trainings() -> dict:
    """Training runs under the outputs folder, newest first: name → run."""
    return jobs.find_jobs(outputs_folder())


@app.cell(hide_code=True)
def _():
    def opened():
        """The run that the address names, else the newest there is; and a line where the one asked for is not there."""
        found, asked = trainings(), mo.query_params().get("job")
        if asked and asked not in found:
            return None, f"There is no training run {asked!r} here."
        return found.get(asked) or next(iter(found.values()), None), ""

    first_job, first_trouble = opened()
    get_job, set_job = mo.state(first_job)
    get_trouble, set_trouble = mo.state(first_trouble)
    # Counts runs begun, stopped or ended, for the cells that follow them.
    get_turns, set_turns = mo.state(0)
    return get_job, get_trouble, get_turns, set_job, set_trouble, set_turns


# -- what is trained on ------------------------------------------------------------------------------------------------


@app.function(hide_code=True)
def data_places() -> dict:
    """What can be trained on: runs of conversations, and folders of rows; name → folder, newest first."""
    runs = {f"run: {name}": folder for name, folder in background.find_runs(outputs_folder()).items()}
    marks = sorted(outputs_folder().glob(f"rows/**/{MARK}"), key=lambda file: file.stat().st_mtime, reverse=True)
    return runs | {f"rows: {mark.parent.relative_to(outputs_folder())}": mark.parent for mark in marks}


@app.cell(hide_code=True)
def _():
    def found_or_made():
        """Places with data; where there is none, some users of the miniature are simulated on the spot."""
        if places := data_places():
            return places, ""
        job = background.start_job(FIRST_RUN, outputs_folder() / "synthesis" / background.folder_name(FIRST_RUN))
        job.wait(SECONDS_WAITED)
        return data_places(), job.trouble or "the first conversations are still being made; reload the page"

    places, no_data = found_or_made()
    mo.stop(not places, mo.Html(show.styled(show.error_line(no_data))))
    return (places,)


@app.cell(hide_code=True)
def _(places):
    data_choice = mo.ui.dropdown(places, value=next(iter(places)), label="Data", searchable=True)
    stage_choice = mo.ui.radio(STAGES, value=next(iter(STAGES)), label="Stage")
    mo.vstack(
        [
            mo.md("## 1 · What it learns from"),
            mo.hstack([data_choice, stage_choice], justify="start", gap=3, wrap=True),
            mo.md("More conversations, and what is chosen in them: [page 40](/?file=40_synthesis.py)."),
        ]
    )
    return data_choice, stage_choice


@app.cell(hide_code=True)
def _(base_choice, data_choice, name_choice, stage_choice):
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
def _(rows):
    row_choice = mo.ui.slider(1, max(1, len(rows)), 1, value=1, label="Row", show_value=True)
    return (row_choice,)


@app.cell(hide_code=True)
def _(row_choice, rows, stage, tiny, unreadable):
    TOLD = {
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
            else " Other bases have other templates; page 40 shows them."
        )
        note = f'<p class="dl-quiet">{TOLD[stage]} As {template} sees it.{heard}</p>'
        return show.panel(
            f"Row {row_choice.value} of {len(rows):,}, and what carries loss", note, show_pairs.loss(made)
        )

    mo.vstack(
        [
            *([row_choice] if len(rows) > 1 else []),
            mo.Html(show_pairs.styled(f"<div data-rows={len(rows)}>{preview()}</div>")),
        ]
    )
    return


# -- how ---------------------------------------------------------------------------------------------------------------


@app.cell(hide_code=True)
def _(get_turns):
    get_turns()

    def finished():
        """Runs whose adapter another stage can start from."""
        return {name: job for name, job in trainings().items() if job.status().state == "finished"}

    base_choice = mo.ui.dropdown([TINY, OTHER], value=TINY, label="Base model")
    earlier_choice = mo.ui.dropdown(
        {"the base as it is": None} | finished(), value="the base as it is", label="Start from", searchable=True
    )
    name_choice = mo.ui.text(placeholder="Qwen/Qwen3-0.6B, or a folder", label="Its name", full_width=True)
    return base_choice, earlier_choice, name_choice


@app.cell(hide_code=True)
def _(tiny):
    _presets = ["miniature"] if tiny else ["paper", "t4", "miniature"]
    preset_choice = mo.ui.dropdown(_presets, value=_presets[0], label="Recipe")
    backend_choice = mo.ui.dropdown(["auto", "unsloth", "transformers"], value="auto", label="Backend")
    seed_choice = mo.ui.number(0, 1000, 1, value=0, label="Seed")
    return backend_choice, preset_choice, seed_choice


@app.cell(hide_code=True)
def _(
    backend_choice,
    base_choice,
    earlier_choice,
    name_choice,
    preset_choice,
    seed_choice,
):
    mo.vstack(
        [
            mo.md("## 2 · Which model"),
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
def _(preset_choice, stage):
    preset = Recipe.named(preset_choice.value)
    _fields = controls.field_controls(preset.of(stage)) | controls.field_controls(preset.lora, "lora.")
    recipe_choice = mo.ui.dictionary(_fields)
    return preset, recipe_choice


@app.cell(hide_code=True)
def _(preset, recipe_choice, stage):
    def read():
        """The recipe that the fields hold, and what is wrong with it."""
        try:
            given = controls.changed_fields(preset.of(stage), recipe_choice.value)
            given |= {
                f"lora.{name}": value
                for name, value in controls.changed_fields(preset.lora, recipe_choice.value, "lora.").items()
            }
            changed = preset.changed(stage, given)
        except ValueError as error:
            return preset, [str(error)]
        return changed, changed.problems(stage)

    recipe, recipe_problems = read()
    return recipe, recipe_problems


@app.cell(hide_code=True)
def _(preset, recipe, recipe_choice, recipe_problems, stage):
    def steps_told():
        part = recipe.of(stage)
        return f"{part.accumulation} × {part.per_device} sequences an update" if not recipe_problems else ""

    def grid(names):
        cells = "".join(f"<div>{recipe_choice.elements[name]}</div>" for name in names)
        return f'<div class="dt-fields">{cells}</div>'

    _own = [name for name in recipe_choice.elements if not name.startswith("lora.")]
    _lora = [name for name in recipe_choice.elements if name.startswith("lora.")]
    _changed = recipe.name if recipe.name != preset.name else f"{preset.name}, as it stands"
    mo.vstack(
        [
            mo.md("## 3 · The recipe"),
            mo.Html(
                show_training.styled(
                    f'<p class="dl-quiet">{html.escape(_changed)}. {steps_told()}</p>',
                    "".join(show.error_line(each) for each in recipe_problems),
                )
            ),
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
def _(base_choice):
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
def _(
    backend_choice,
    base_choice,
    data_choice,
    earlier_choice,
    given_name,
    recipe,
    recipe_problems,
    rows,
    seed_choice,
    stage,
    tiny_base,
    tiny_missing,
    unreadable,
):
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
    settings = StageSettings(
        stage,
        str(data_choice.value.resolve()),
        base_name,
        adapter=str(earlier_choice.value.folder.resolve()) if earlier_choice.value else "",
        recipe=recipe,
        backend=backend_choice.value,
        seed=int(seed_choice.value or 0),
    )

    def obstacles():
        """All that stands in the way, one line each."""
        found = [each for each in (base_problem, unreadable) if each] + recipe_problems
        if not found and not making_first:
            found = problems(settings)
        return found

    standing_in_the_way = obstacles()
    steps_planned = 0 if recipe_problems else recipe.of(stage).steps(len(rows))
    return making_first, settings, standing_in_the_way, steps_planned


@app.function(hide_code=True)
def run_folder(settings: StageSettings) -> Path:
    """A readable folder, the same for the same settings, so that training them again goes on with the run."""
    decided = hashlib.blake2b(json.dumps(settings.to_dict(), sort_keys=True).encode(), digest_size=4).hexdigest()
    base = Path(settings.base)
    name = "tiny" if base.parent.name == "tiny" else base.name
    after = f"-after-{Path(settings.adapter).name.split('-')[0]}" if settings.adapter else ""
    return outputs_folder() / "train" / f"{settings.stage}{after}-{name}-{decided}"


@app.function(hide_code=True)
def command_of(changes_between, preset, settings):
    """The same run at a command line."""
    changes = changes_between(preset, settings.recipe, settings.stage)
    words = ["discover", "train", settings.stage, "--data", controls.shown_path(Path(settings.data), REPOSITORY)]
    words += ["--base", "tiny" if Path(settings.base).parent.name == "tiny" else settings.base]
    words += ["--adapter", controls.shown_path(Path(settings.adapter), REPOSITORY)] if settings.adapter else []
    words += ["--recipe", preset.name, *(word for change in changes for word in ("--set", change))]
    words += ["--backend", settings.backend] if settings.backend != "auto" else []
    words += ["--seed", str(settings.seed)] if settings.seed else []
    return shlex.join([*words, "--run", controls.shown_path(run_folder(settings), REPOSITORY)])


@app.cell(hide_code=True)
def _():
    # What the button acts on.  It reads it when it is pressed, so no control has to make it anew.
    wanted = {}
    return (wanted,)


@app.cell(hide_code=True)
def _(making_first, preset, settings, standing_in_the_way, steps_planned, tiny_missing, wanted):
    def told(line, not_installed):
        """What is wrong, in red; what is only not installed yet, as a note."""
        return f'<p class="dl-told">{html.escape(line)}</p>' if not_installed else show.error_line(line)

    wanted.update(settings=settings, folder=run_folder(settings), refusal="; ".join(standing_in_the_way))
    _ready = (
        f'<p class="dp-why">Ready: {steps_planned:,} updates. {html.escape(making_first)}</p>'
        if not standing_in_the_way
        else "".join(told(f"{each[0].upper()}{each[1:]}.", each == tiny_missing) for each in standing_in_the_way)
    )
    mo.vstack(
        [
            mo.Html(show_pairs.styled(f'<div data-ready="{int(not standing_in_the_way)}">{_ready}</div>')),
            mo.accordion({"The same at a command line": mo.md(f"```\n{command_of(settings, preset)}\n```")}),
        ]
    )
    return


# -- a run, live -------------------------------------------------------------------------------------------------------


@app.cell(hide_code=True)
def _(get_job, set_job, set_trouble, set_turns, wanted):
    def look_at(job):
        mo.query_params().set("job", str(job.folder.relative_to(outputs_folder())))
        set_job(job)
        set_turns(lambda count: count + 1)

    def attempt(action):
        """Do it and look at the run; what is refused becomes one line on the page."""

        def pressed(_):
            try:
                set_trouble("")
                look_at(action())
            except (JobError, OSError) as error:
                set_trouble(str(error))

        return pressed

    def begin():
        if wanted["refusal"]:
            raise JobError(wanted["refusal"])
        return jobs.start(wanted["settings"], wanted["folder"])

    def halt():
        get_job().stop()
        return get_job()

    begin_button = mo.ui.button(label="Train", kind="success", on_click=attempt(begin))
    stop_button = mo.ui.button(label="■ Stop", on_click=attempt(halt))
    resume_button = mo.ui.button(label="Go on with this run", on_click=attempt(lambda: get_job().resume()))
    return begin_button, look_at, resume_button, stop_button


@app.cell(hide_code=True)
def _(get_job, get_turns, look_at):
    get_turns()
    _found = trainings()
    _now = get_job()
    _name = next((name for name, job in _found.items() if job == _now), None)
    job_choice = mo.ui.dropdown(_found, value=_name, label="or look at a run", searchable=True, on_change=look_at)
    return (job_choice,)


@app.cell(hide_code=True)
def _(get_job, get_turns):
    # Ticks only while the run is going.
    get_turns()
    watching = get_job() is not None and get_job().status().going
    clock = mo.ui.refresh(options=["1s"], default_interval="1s") if watching else mo.md("")
    return clock, watching


@app.cell(hide_code=True)
def _():
    # What was read of the run on the page so far; a tick reads on from there.
    reading = {"job": None, "lines": [], "position": 0}
    return (reading,)


@app.cell(hide_code=True)
def _(clock, get_job, get_turns, reading, set_turns, watching):
    getattr(clock, "value", None), get_turns()

    def looked(job):
        """Where the run stands and all that it has logged."""
        if reading["job"] != job:
            reading.update(job=job, lines=[], position=0)
        fresh = job.metrics(reading["position"])
        reading["lines"] = jobs.standing_lines([*reading["lines"], *fresh.lines])
        reading["position"] = fresh.position
        return job.status(), tuple(reading["lines"])

    status, logged = looked(get_job()) if get_job() else (None, ())
    if watching and not status.going:  # the last tick
        set_turns(lambda count: count + 1)
    return logged, status


@app.function(hide_code=True)
def kept_round(job: jobs.TrainingJob) -> str:
    """Which round's adapter a finished GRPO run has kept, if its rounds were measured."""
    if job.status().state != "finished" or (kept := job.result().get("kept_round")) is None:
        return ""
    why = "after it most was discovered in whole conversations with held-out users"
    return f'<p class="dl-quiet dl-small">The adapter is that of round {kept}: {why}.</p>'


@app.cell(hide_code=True)
def _(
    begin_button,
    clock,
    get_job,
    get_trouble,
    job_choice,
    logged,
    resume_button,
    status,
    stop_button,
):
    _buttons = [
        begin_button,
        *([stop_button, clock] if status and status.going else []),
        *([resume_button] if status and status.resumable else []),
        *([job_choice] if job_choice.options else []),
    ]
    _trouble = show.error_line(get_trouble()) if get_trouble() else ""
    if status is None:
        _body = '<p class="dl-quiet">No training run yet: press <b>Train</b>.</p>'
    else:
        _resumed = [each.from_step for each in status.attempts]
        _standing = show_training.standing(get_job().name, status, show_training.latest(logged))
        _body = show.panel(
            "The run", _standing, kept_round(get_job()), show_training.curves(logged, status.total_steps, _resumed)
        )
    mo.vstack(
        [
            mo.md("""
    ## 4 · Train

    The run is a process of its own. Close this page, restart the server: it goes on, and this address finds it again.
    Stopped, or killed at any step, it goes on from its last checkpoint.
    """),
            mo.hstack(_buttons, justify="start", align="center", gap=1, wrap=True),
            mo.Html(show_training.styled(_trouble, _body)),
        ]
    )
    return


# -- what it writes ----------------------------------------------------------------------------------------------------


@app.cell(hide_code=True)
def _(get_job, logged):
    # Read again whenever something was logged; samples come at intervals.
    samples = get_job().samples().lines if get_job() and logged else ()
    sampled_steps = sorted({each["step"] for each in samples})
    return sampled_steps, samples


@app.cell(hide_code=True)
def _(sampled_steps):
    step_choice = (
        mo.ui.slider(steps=sampled_steps, value=sampled_steps[-1], label="Sampled at step", show_value=True)
        if sampled_steps
        else None
    )
    return (step_choice,)


@app.cell(hide_code=True)
def _(samples, step_choice):
    _at = [each for each in samples if step_choice is not None and each["step"] == step_choice.value]
    _panels = [
        show.panel(f"Prompt {place}", show_training.sample(each["prompt"], each["replies"]))
        for place, each in enumerate(_at, start=1)
    ]
    _none = mo.md("Nothing was sampled yet; the recipe’s *sample steps* say how often.")
    mo.vstack(
        [
            mo.md("## 5 · What it writes while it learns"),
            *([step_choice] if step_choice is not None else []),
            mo.Html(show_training.styled(*_panels)) if _panels else _none,
        ]
    )
    return


# -- before and after --------------------------------------------------------------------------------------------------


@app.cell(hide_code=True)
def _(get_job, get_turns):
    get_turns()

    def both():
        """The model before and after the run, as names of assistants; None until the run is finished."""
        job = get_job()
        if job is None or job.status().state != "finished":
            return None
        try:
            return before_and_after(job.folder)
        except (LineageError, OSError):
            return None

    talkers = both()
    return (talkers,)


@app.cell(hide_code=True)
def _():
    get_heard, set_heard = mo.state(None)
    get_asking, set_asking = mo.state("")
    return get_asking, get_heard, set_asking, set_heard


@app.cell(hide_code=True)
def _():
    domain_choice = mo.ui.dropdown({domain_label(each): each for each in DOMAINS}, value="SVG drawing", label="Domain")
    number_choice = mo.ui.slider(0, SPLIT_SIZES["eval"] - 1, 1, value=0, label="User", show_value=True)
    draw_choice = mo.ui.slider(0, 20, 1, value=0, label="Draw", show_value=True)
    return domain_choice, draw_choice, number_choice


@app.cell(hide_code=True)
def _(domain_choice, number_choice):
    domain = domain_choice.value
    met = engine(domain).builder.build(generate_artifact(domain, "eval", number_choice.value)).tree
    text_choice = mo.ui.text_area(value=met.initial_request, label="You say", rows=2, full_width=True)
    return domain, met, text_choice


@app.cell(hide_code=True)
def _(
    domain,
    draw_choice,
    met,
    set_asking,
    set_heard,
    talkers,
    text_choice,
):
    def assistants():
        engines = RoleEngines(EngineSpec())
        return {label: engines.assistant(name, domain) for label, name in talkers.items()}

    def both_answer():
        said = [Message("user", text_choice.value.strip() or met.initial_request)]
        return (
            "replies",
            said[0].content,
            {label: each.reply(said, draw_choice.value) for label, each in assistants().items()},
        )

    def both_meet():
        world = engine(domain)
        talks = {
            label: run_conversation(
                met, world.judge, world.voice, [each], seed=draw_choice.value, setting={"domain": domain}
            )
            for label, each in assistants().items()
        }
        return "conversations", met.initial_request, talks

    def in_the_background(work):
        """Loading a model takes seconds, and the page stays usable meanwhile."""

        def at_work():
            try:
                set_heard(work())
            except Exception as error:
                set_heard(("error", "", f"{type(error).__name__}: {error}"))
            set_asking("")

        def pressed(_):
            set_asking("The models are being asked …")
            mo.Thread(target=at_work).start()

        return pressed

    ask_button = mo.ui.button(label="Ask both", kind="success", on_click=in_the_background(both_answer))
    meet_button = mo.ui.button(
        label="Let both talk with the same simulated user", on_click=in_the_background(both_meet)
    )
    return ask_button, meet_button


@app.cell(hide_code=True)
def _(
    ask_button,
    domain_choice,
    draw_choice,
    get_asking,
    get_heard,
    meet_button,
    number_choice,
    talkers,
    text_choice,
):
    def conversations_shown(talks):
        """Both conversations, and what the user had discovered at the end of each."""
        sides = []
        for label, talk in talks.items():
            known = len(talk.state.discovered) - len(talk.start.discovered)
            tokens = sum(turn.reply.n_tokens for turn in talk.turns)
            title = f"{label}: {known} intents newly discovered in {len(talk.turns)} turns, {tokens:,} tokens"
            sides.append(
                show.panel(title, show.chat(talk), show.state_legend(), show.outline(talk.tree, talk.state, talk.rules))
            )
        note = '<p class="dl-quiet">One conversation each: an illustration, no measurement. Page 60 measures.</p>'
        return f"{show.beside(*sides)}{note}"

    def heard():
        if get_heard() is None:
            return ""
        kind, said, found = get_heard()
        if kind == "error":
            return show.error_line(found)
        if kind == "conversations":
            return conversations_shown(found)
        broken = [label for label, reply in found.items() if is_broken(reply)]
        texts = {label: reply.notation if label in broken else reply.text for label, reply in found.items()}
        return show_training.exchange([{"role": "user", "content": said}], texts, broken)

    _title = mo.md("## 6 · Before and after")
    _waiting = f'<p class="dl-quiet" role="status">{get_asking()}</p>' if get_asking() else ""
    (
        mo.vstack(
            [
                _title,
                mo.hstack([domain_choice, number_choice, draw_choice], justify="start", gap=1.5, wrap=True),
                text_choice,
                mo.hstack([ask_button, meet_button], justify="start", gap=1, wrap=True),
                mo.Html(show_training.styled(f'<div data-heard="{int(bool(get_heard()))}">{_waiting}{heard()}</div>')),
            ]
        )
        if talkers
        else mo.vstack([_title, mo.md("When the run above is finished, the same prompt is answered here by both.")])
    )
    return


if __name__ == "__main__":
    app.run()
