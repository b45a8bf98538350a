"""The page Train: what its controls ask for, and a run, its rows and its model as a notebook shows them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import REPOSITORY, outputs_folder, read_json
from discover_lib.core.conversation import Conversation, Message
from discover_lib.dataset.preview import QWEN, tiny_sequences
from discover_lib.engines.local.dialect import dialect_of
from discover_lib.engines.local.lineage import LineageError
from discover_lib.engines.local.names import base_folder
from discover_lib.engines.local.tiny_language import is_broken
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import generate_artifact
from discover_lib.engines.spec import MINIATURE
from discover_lib.metrics.intervals import Estimate, bootstrap_difference, bootstrap_mean, percent
from discover_lib.train.access import Access
from discover_lib.train.backend import missing_libraries
from discover_lib.train.comparison import before_and_after, checkpoints, follow, followed, replies, shares_found
from discover_lib.train.data import Row, default_data, load_rows, overlap
from discover_lib.train.estimate import CARD_OF_RECIPE, CARDS, architecture_of, estimate, forecast, plan_stage
from discover_lib.train.recipes import Recipe, assignments
from discover_lib.train.run_stage import StageSettings, problems
from discover_lib.train.training_job import TrainingJob, find_jobs, is_finished, latest
from workbench.carried import kept
from workbench.controls import (
    Choice,
    ChoiceError,
    chooser,
    displayed,
    in_a_row,
    plan_table,
    read_choice,
)
from workbench.echo import train_command
from workbench.jobs import base_name, configuration_of, labelled, run_label, training_places
from workbench.panel import TrainingPanel, trained_earlier
from workbench.parts import plain_table
from workbench.views import conversation_parts as show
from workbench.views import pair_parts as show_pairs
from workbench.views import training as show_training
from workbench.views.charts import dots
from workbench.views.html import EMPTY, chip, tag

STAGES = {"SFT: imitate": "sft", "DPO: prefer": "dpo", "GRPO: be rewarded": "grpo"}
TINY, OTHER = "tiny (0.6 million parameters, included)", "another model"
CHANGES = "learning_rate=1e-4 lora.r=8, as after --set"
TABS = ("Curves", "Rows", "Recipe", "Before and after", "Ask both")
EARLIER = REPOSITORY / "docs" / "results" / "miniature" / "seed-0" / "results.json"
MEASURED = 20  # users of the evaluation split whom a model meets before and after a training
CARRIES = {
    "sft": "A whole conversation. Only the assistant's words have loss.",
    "dpo": "One prompt, two replies. Training makes the chosen reply likelier than the rejected reply, relative to the "
    "model that training starts from.",
    "grpo": "This row has no loss. The model answers the prompt several times; the simulated user of the row's "
    "state rewards each answer.",
}


# -- what is asked -----------------------------------------------------------------------------------------------------


def stage_menus(activity: int) -> Any:
    """Everything about a stage but its judge, as a dictionary of controls.

    Args:
        activity: read off the panel's state: a run that ends can be started from.
    """
    import marimo as mo

    # In this order: the default data are made at first use.
    default, known, jobs = default_data(), training_places(), find_jobs(outputs_folder()).values()
    first = next(name for name, folder in known.items() if folder == default)
    menu, presets = mo.ui.dropdown, ["automatic", "paper", "80gb", "40gb", "24gb", "t4", "miniature"]
    starts = {"the unchanged base": None} | labelled([job.folder for job in jobs if job.status().state == "finished"])
    return mo.ui.dictionary(
        {
            "base": kept(menu, "base", [TINY, OTHER], value=TINY, label="Base model"),
            "model": kept(mo.ui.text, "model", value="", placeholder="Qwen/Qwen3-0.6B, or a folder", label="Its name"),
            "stage": kept(menu, "stage", STAGES, value=next(iter(STAGES)), label="Stage"),
            "data": kept(menu, "data", known, value=first, label="Data", searchable=True),
            "from": kept(menu, "from", starts, value="the unchanged base", label="Start from", searchable=True),
            "recipe": kept(menu, "recipe", presets, value="automatic", label="Recipe"),
            "backend": kept(menu, "backend", ["auto", "unsloth", "transformers"], value="auto", label="Backend"),
            "seed": kept(mo.ui.number, "seed", 0, 1000, 1, value=0, label="Seed"),
            "system": kept(menu, "system", ["none", "collaborative"], value="none", label="System message"),
            "set": kept(
                mo.ui.text, "set", value="", placeholder=CHANGES, label="Changes to the recipe", full_width=True
            ),
        }
    )


def is_tiny_base(menus: Mapping[str, Any]) -> bool:
    """Whether the chosen base reads the miniature's notation."""
    return menus["base"] == TINY or dialect_of(menus["model"].strip()).text == "notation"


def preset_of(menus: Mapping[str, Any]) -> Recipe:
    """The chosen recipe; the automatic one is that of the miniature for a tiny base, else the paper's."""
    automatic = "miniature" if is_tiny_base(menus) else "paper"
    return Recipe.named(automatic if menus["recipe"] == "automatic" else menus["recipe"])


def read_recipe(menus: Mapping[str, Any]) -> tuple[Recipe, list[str]]:
    """The recipe with its changes, and its contradictions."""
    preset, stage = preset_of(menus), menus["stage"]
    try:
        recipe = preset.changed(stage, assignments(menus["set"].split()))
    except ValueError as error:
        return preset, [str(error)]
    return recipe, recipe.problems(stage)


def read_menus(menus: Mapping[str, Any]) -> dict[str, Any]:
    """What the settings of a stage hold of the menus: data, base, adapter, backend, seed and system message."""
    name, earlier = menus["model"].strip(), menus["from"]
    base = str(Path(name).resolve()) if name and Path(name).is_dir() else name
    return {
        "data": str(menus["data"].resolve()),
        "base": str(base_folder().resolve()) if menus["base"] == TINY else base,
        "adapter": str(earlier.resolve()) if earlier else "",
        "backend": menus["backend"],
        "seed": int(menus["seed"] or 0),
        "system": "none" if is_tiny_base(menus) else menus["system"],  # a tiny model reads no system message
    }


def page_controls() -> tuple[Any, Any]:
    """The tabs of the page, and which user's earlier conversations are shown."""
    import marimo as mo

    talk = kept(mo.ui.slider, "talk", 1, max(2, len(talks_earlier())), 1, value=1, label="User", show_value=True)
    return kept(mo.ui.tabs, "tab", dict.fromkeys(TABS, ""), value=TABS[0]), talk


def judge_form() -> Any:
    """Who judges in GRPO and speaks for the user, and what that may cost."""
    import marimo as mo

    cap, models = mo.ui.number(0, 10_000, 1, value=None, label="Maximum cost in US$"), chooser(("judge", "voice"))
    return mo.ui.dictionary({"cap": cap, "models": models})


@dataclass(frozen=True)
class Judging:
    """Who judges and speaks in GRPO, and how they are reached; `refusal` says why the choice cannot be used."""

    choice: Choice = field(default_factory=Choice)
    access: Access | None = None
    refusal: str = ""

    @classmethod
    def of(cls, stage: str, form: Any, cap_dollars: float | None) -> Judging:
        """What the form of models asks for; in other stages than GRPO no model judges."""
        if stage != "grpo":
            return cls()
        try:
            choice = read_choice(form)
            if choice.leak_check:
                raise ChoiceError("training does not check the voice's messages for paraphrases; turn off this check")
            models = {choice.judge, choice.voice} != {MINIATURE}
            access = Access(choice.client_settings, cap_dollars or None) if models else None
        except ChoiceError as error:
            return cls(refusal=str(error))
        free = access is None or cap_dollars or choice.api_base  # a private server has no price
        return cls(choice, access, "" if free else "language models cost money: enter the maximum cost")

    @property
    def settings(self) -> dict[str, Any]:
        """The part of a stage's settings that names them."""
        return {"judge": self.choice.judge, "voice": self.choice.voice}


def cost(judging: Judging, settings: StageSettings) -> Any:
    """What language models that judge and speak will take, before money is spent."""
    if judging.access is None:
        return displayed(EMPTY)
    try:
        plan = plan_stage(settings, judging.access)
    except (DiscoverError, OSError) as error:
        return displayed(show.error_line(str(error)))
    return displayed(plan_table(plan.stages, f"Estimated cost: {'; '.join(plan.assumptions[:1])}"))


def rows_to_train_on(settings: StageSettings) -> tuple[Sequence[Row], str]:
    """The rows of a stage, and why there is no row or why they must not be trained on."""
    try:
        rows = load_rows(Path(settings.data), settings.stage, dialect_of(settings.base).text, system=settings.system)
    except DiscoverError as error:
        return (), str(error)
    return rows.train, overlap(rows)


def run_folder(settings: StageSettings) -> Path:
    """A readable folder, the same for the same settings: training them again continues the run."""
    decided = hashlib.blake2b(json.dumps(settings.to_dict(), sort_keys=True).encode(), digest_size=4).hexdigest()
    after = f"-after-{Path(settings.adapter).name.split('-')[0]}" if settings.adapter else ""
    return outputs_folder() / "train" / f"{settings.stage}{after}-{base_name(settings.base)}-{decided}"


def obstacles(settings: StageSettings, judging: Judging, recipe_problems: Sequence[str], unfit: str) -> list[str]:
    """Why a stage cannot be trained here."""
    lines = [each for each in (unfit, judging.refusal) if each] + list(recipe_problems)
    if not settings.base:
        lines.insert(0, "name the base model")
    if missing := missing_libraries():
        lines.append(f"training needs {', '.join(missing)}; `make train` installs them")
    return lines or problems(settings, judging.access)


# -- before and while it runs ------------------------------------------------------------------------------------------


def ask(panel: TrainingPanel, settings: StageSettings, judging: Judging, stands: Sequence[str], pressed: int) -> None:
    """Tell the panel which stage its button trains, and begin it if the button was pressed."""
    panel.ask(settings, run_folder(settings), "; ".join(stands), judging.access)
    panel.begin_if_pressed(pressed)


def before_the_press(settings: StageSettings, rows: Sequence[Row], stands: Sequence[str]) -> Any:
    """The updates and the minutes of a stage, or why it cannot be trained."""
    lines = [show.error_line(f"{line[0].upper()}{line[1:]}.") for line in stands]
    told = (
        "Already trained. For another run, change the stage, the data or the seed (tab Recipe)."
        if is_trained(settings)
        else forecast(settings, len(rows))
    )
    data = tag("p", f"On {run_label(Path(settings.data))}", style="margin-bottom:0.8rem")
    return displayed(tag("div", data, EMPTY if stands else tag("p", told), *lines, data_ready=int(not stands)))


def is_trained(settings: StageSettings) -> bool:
    """Whether the button would train what is trained already."""
    return is_finished(settings, run_folder(settings))


def stage_row(panel: TrainingPanel, menus: Any, ready: Any = "estimating …", done: bool = False) -> Any:
    """The stage, Train, and the estimate `ready`; Train waits until the estimate is of the chosen stage.

    Args:
        done: whether this is trained already.
    """
    import marimo as mo

    waits = panel.going or done or isinstance(ready, str)
    label = "Training …" if panel.going else "Trained ✓" if done else "Train"
    train = mo.ui.button(label=label, disabled=True) if waits else panel.begin_button
    return mo.hstack([menus.elements["stage"], train, ready], justify="start", align="end", gap=1, wrap=True)


def run_row(panel: TrainingPanel, clock: Any, run_choice: Any) -> Any:
    """A menu of runs, Stop or Resume, and one bar over the whole work."""
    import marimo as mo

    view = panel.view(clock, panel.get_folder(), panel.get_activity(), before=[run_choice])
    standing = show_training.standing(panel.status, latest(panel.logged)) if panel.status else EMPTY
    return mo.vstack([view, displayed(standing)])


@dataclass(frozen=True)
class Moment:
    """What a model answered to one user at one update of its training; `earned` is None where no judge heard it."""

    step: int
    asked: Sequence[Mapping[str, str]]
    text: str
    earned: float | None = None

    @property
    def title(self) -> str:
        return f"after update {self.step:,}" if self.step else "before training"

    @classmethod
    def of(cls, step: int, talk: Conversation) -> Moment:
        """The reply to the request that a conversation opens with."""
        turn, reward = talk.turns[0], talk.turns[0].candidate.reward
        said = [{"role": "user", "content": talk.tree.initial_request}]
        return cls(step, said, turn.reply.text, reward.total if reward else None)


def moments(panel: TrainingPanel, folder: Path | None, activity: int, progress: int, ready: Any) -> list[Moment]:
    """The same user's request and the replies to it, by update.

    The model of a finished run here answers at every checkpoint, and its replies are judged.  Of other runs these are
    the samples that were written during the training.

    Args:
        folder, activity, progress: read off the panel's states, so that the cell runs again when the run has grown.
        ready: the row above with the button. It is shown first, because the answers take a while.
    """
    import marimo as mo

    job = panel.job
    if job is None:
        return []
    stored = followed(job.folder)
    if checkpoints(job.folder) and not (panel.going or panel.ticking) and not missing_libraries():
        domain = domain_of(job)
        tree = engine(domain).builder.build(generate_artifact(domain, "eval", 0)).tree
        with mo.status.spinner(title="The model of every checkpoint answers the same user: about 10 seconds"):
            stored = [dict(follow(job.folder, domain, tree))]
    if stored:
        return [Moment.of(step, talk) for step, talk in stored[0].items()]
    lines = job.samples()
    first = [line for line in lines if line["prompt"] == lines[0]["prompt"]]
    return [
        Moment(line["step"], line["prompt"], each["text"], each.get("reward"))
        for line in first
        for each in line["replies"][:1]
    ]


def domain_of(job: TrainingJob) -> str:
    """The first domain of the conversations that a run was trained on."""
    named = configuration_of(Path(job.settings()["data"])).get("domain")
    return named.split(", ")[0] if named else "svg_drawing"


def step_slider(listed: Sequence[Moment]) -> Any:
    """Which update is looked at, by default the last one."""
    import marimo as mo

    steps = [each.step for each in listed]
    if len(steps) < 2:
        return mo.ui.slider(steps=steps or [0], label="After update")
    return kept(mo.ui.slider, "step", steps=steps, value=steps[-1], label="After update", show_value=True)


def loss_curve(panel: TrainingPanel) -> Any:
    """The loss or the reward of the open run, and that of the run before it in grey."""
    status, logged = panel.status, panel.logged
    if status is None:
        return displayed(show.quiet("No training run yet."))
    curve = show_training.main_curve(logged, status.total_steps, status.resumed, run_before(panel))
    waiting = "" if logged or not status.going else "The curve of this run appears after the first update."
    return displayed(curve, show.quiet(waiting), show_training.alarm_lines(logged))


def run_before(panel: TrainingPanel) -> Sequence[Mapping[str, Any]]:
    """What the newest other run of the same stage has logged."""
    stage = panel.job.settings()["stage"] if panel.job else ""
    others = [TrainingJob(folder) for folder in panel.known().values() if folder != panel.get_folder()]
    return next((job.metrics() for job in others if job.settings()["stage"] == stage), ())


def same_user(listed: Sequence[Moment], update: Any) -> Any:
    """One user's request, and the replies to it before training and after the update of a slider."""
    import marimo as mo

    shown = [each for each in listed if each.step == update.value] or list(listed[-1:])
    if not shown:
        return displayed(show.quiet("One user's request and the model's replies appear here during the training."))
    both = [*([] if listed[0].step == shown[0].step else [listed[0]]), *shown]
    marks = {
        each.title: chip(f"reward {show.signed(each.earned)}", "known" if each.earned > 0 else "plain")
        for each in both
        if each.earned is not None
    }
    replies_shown = displayed(show_training.exchange(shown[0].asked, {each.title: each.text for each in both}, marks))
    return mo.vstack([update, replies_shown]) if len(listed) > 1 else replies_shown


def settings_view(menus: Any, settings: StageSettings) -> Any:
    """The base and the data, folded away; another base than the tiny one has a name. Then the price on a GPU."""
    import marimo as mo

    named = ("base", "model", "data") if menus.value["base"] == OTHER else ("base", "data")
    return mo.accordion(dict([("Settings: base model and data", in_a_row(menus, *named)), gpu_price(settings)]))


def gpu_price(settings: StageSettings) -> tuple[str, Any]:
    """Whether this base fits each card with this recipe, and the tokens of an update, with and without Unsloth.

    The title says it of the card that the recipe is made for.
    """
    import marimo as mo

    try:
        base = architecture_of(settings.base)
    except DiscoverError as error:
        return "On a GPU", displayed(show.error_line(str(error)))

    def price(card: str, backend: str) -> str:
        return estimate(settings.stage, base, settings.recipe, CARDS[card], backend).line

    lines = [
        {"with transformers and TRL": price(card, "transformers"), "with Unsloth": price(card, "unsloth")}
        for card in CARDS
    ]
    note = (
        f"{base.weights / 1e6:,.1f} million weights. Unsloth is a library that trains the same adapter in less memory. "
        "The backend “auto” uses it where it is installed and a GPU is present."
    )
    card = CARD_OF_RECIPE.get(settings.recipe.name.partition(" ")[0], "t4")
    shown = mo.vstack([displayed(show.quiet(note)), plain_table(lines)])
    return f"On a GPU: {price(card, 'transformers').partition(' (')[0]}", shown


# -- the tabs ----------------------------------------------------------------------------------------------------------


def all_curves(panel: TrainingPanel) -> Any:
    """What the open run has logged besides its main curve, and which round was kept."""
    status, logged = panel.status, panel.logged
    if status is None or panel.job is None or not logged:
        return displayed(EMPTY)
    return displayed(
        show_training.kept_round(panel.job.result() if status.state == "finished" else {}),
        show_training.curves(logged, status.total_steps, status.resumed, show_training.main_chart(logged)),
    )


def row_slider(rows: Sequence[Row]) -> Any:
    """Which row is shown, from 1."""
    import marimo as mo

    return kept(mo.ui.slider, "row", 1, max(2, len(rows)), 1, value=1, label="Row", show_value=True)


def row_preview(rows: Sequence[Row], number: int, settings: StageSettings) -> Any:
    """One row as the model reads it, with what carries loss; `number` counts from 1."""
    if not rows:
        return displayed(show.quiet("There is no such row in these data: choose others."))
    row, tiny = rows[min(number, len(rows)) - 1], dialect_of(settings.base).text == "notation"
    made = tiny_sequences(row, row["domain"]) if tiny else QWEN.sequences(row)
    heard = (
        "A message parser translates the user’s words for the tiny model."
        if tiny
        else "Other bases have other chat templates."
    )
    note = f"{CARRIES[settings.stage]} This is how {'the tiny model' if tiny else 'Qwen2.5'} reads the row. {heard}"
    return displayed(show.panel(f"Row {number} of {len(rows):,}", show.quiet(note), show_pairs.loss(made)))


def recipe_view(menus: Any, recipe: Recipe, judge: Any) -> Any:
    """The other menus of a stage, the values of its recipe and the field that changes them, and who judges in GRPO."""
    import marimo as mo

    stage, part = menus.value["stage"], recipe.of(menus.value["stage"])
    batch = f"{recipe.name}: {part.batch} sequences per update, {part.per_device} at a time."
    folded = {f"Every value of {stage.upper()}": mo.json(asdict(part) | {"lora": asdict(recipe.lora)})}
    if stage == "grpo":
        folded["Use language models as the judge and the voice"] = mo.vstack(list(judge.elements.values()))
    named = ("from", "recipe", "backend", "seed", *([] if is_tiny_base(menus.value) else ["system"]))
    return mo.vstack(
        [in_a_row(menus, *named), menus.elements["set"], displayed(show.quiet(batch)), mo.accordion(folded)]
    )


def command(settings: StageSettings, menus: Mapping[str, Any], access: Access | None) -> Any:
    """The command that trains the same stage."""
    return displayed(show.code(train_command(settings, preset_of(menus), run_folder(settings), access)))


def measured_in_words() -> str:
    """What SFT changed in a finished run of the paper in miniature, in one sentence."""
    curves = read_json(EARLIER)["evaluation"]["scopes"][0]["curves"] if EARLIER.is_file() else {}
    ends = [Estimate(**curves[name][-1]) for name in ("base", "SFT") if curves]
    return f"A larger run of SFT, made earlier. {show_training.change(*ends)}" if ends else ""


def measured_before() -> Any:
    """How much users discovered with models trained in a finished run of the paper in miniature, with intervals."""
    if EARLIER.is_file():
        return displayed(show_training.trained_before(read_json(EARLIER)))
    return displayed(show.quiet("The results of a finished run are part of the repository."))


def talk_before_and_after(panel: TrainingPanel, talk: Any) -> Any:
    """The conversations of the user of a slider before and after the open run, or a run made earlier until measured."""
    own = talks_measured(panel.job.folder) if panel.job else []
    talks = own or talks_earlier()
    if not talks:
        return displayed(show.quiet("Earlier conversations are part of the repository."))
    title, both = talks[min(talk.value, len(talks)) - 1]
    earlier = f"A run made earlier, not yours: {title}. For yours, train a run and press “Measure the change”."
    return displayed(tag("p", f"The selected run: {title}." if own else earlier), show_training.before_after(both))


def talks_earlier() -> list[tuple[str, dict[str, Conversation]]]:
    """Conversations with the same user before and after that training: what kind of user, and both by name."""
    file = trained_earlier() / "talks.json"
    return [
        (each["title"], {name: Conversation.from_dict(talk) for name, talk in each["talks"].items()})
        for each in (read_json(file) if file.is_file() else [])
    ]


def talks_measured(run: Path) -> list[tuple[str, dict[str, Conversation]]]:
    """The whole conversations that a measurement of a run has stored, as of `talks_earlier`."""
    return [
        (f"“{user[0].tree.initial_request}”", {"before": user[0], "after": user[max(user)]})
        for user in followed(run)
        if len(user) > 1 and any(len(talk.turns) > 1 for talk in user.values())
    ]


def sides(panel: TrainingPanel) -> dict[str, str]:
    """The models before and after the open run as names of assistants; {} until one can be asked."""
    if missing_libraries() or panel.job is None or panel.job.status().state != "finished":
        return {}
    try:
        return before_and_after(panel.job.folder)
    except (LineageError, OSError):
        return {}


def ask_both(panel: TrainingPanel) -> Any:
    """A chat in which the models before and after the open run both answer."""
    import marimo as mo

    names, job = sides(panel), panel.job
    if job is None or not names:
        return mo.md("When a run of yours is finished, you can ask both models here.")
    domain = domain_of(job)

    def answer(messages: Sequence[Any]) -> Any:
        answers = replies(names, domain, [Message("user", str(messages[-1].content))], seed=0)
        broken = [label for label, reply in answers.items() if is_broken(reply)]
        texts = {label: (reply.notation or "") if label in broken else reply.text for label, reply in answers.items()}
        return displayed(show_training.exchange((), texts, dict.fromkeys(broken, chip("broken notation", "bad"))))

    tree = engine(domain).builder.build(generate_artifact(domain, "eval", 0)).tree
    return mo.ui.chat(answer, prompts=[tree.initial_request], max_height=520)


def what_changed(panel: TrainingPanel, measure: Any, users: int = MEASURED) -> Any:
    """What the open run changed: the share that users of the evaluation split discover before and after it, in words.

    Args:
        measure: the button that lets the users meet both models.
    """
    import marimo as mo

    job = panel.job
    if job is None or not sides(panel):
        return displayed(show.quiet(measured_in_words() if job and not panel.going else ""))
    if measure.value != job.folder:
        return measure
    run, domain = job.folder, domain_of(job)
    with mo.status.progress_bar(
        total=2 * users, title="Conversations before and after training", show_rate=False, remove_on_exit=True
    ) as bar:
        before, after = (
            shares_found(run, step, domain, users, on_done=lambda _: bar.update())
            for step in (0, max(checkpoints(run)))
        )
    shown = {"before": bootstrap_mean(before), "after": bootstrap_mean(after)}
    words = show.notice(show_training.change(shown["before"], shown["after"], bootstrap_difference(after, before)))
    title = f"Share of the hidden intents discovered, {users} users that no model was trained on, 95% interval"
    return displayed(words, dots(shown, title, shown=percent, to_one=True))
