"""Controls that notebooks share: who plays which role, and the plan before spending.

marimo is imported where it is used: the library itself does without it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discover_lib.base.errors import DiscoverError
from discover_lib.core.rules import NAMED_RULES, Rules
from discover_lib.engines.spec import MINIATURE
from discover_lib.metrics.satisfaction import request_named
from discover_lib.tasks.told import cost_told, stage_table
from discover_lib.tasks.waist import Lines, Report
from workbench.parts import report_html
from workbench.sources import domain_label
from workbench.views.html import EMPTY, Markup, error_line, leave_out_sheet, static_text, styled

if TYPE_CHECKING:
    from discover_lib.engines.llm.calls.client import ClientSettings
    from discover_lib.runs.options import RunOptions
    from discover_lib.runs.plan import Stage

MODEL = "a language model"
ADDRESS_VARIABLE = "DISCOVER_API_BASE"  # prefills the address of one's own server
STYLES = {
    "as it is": "",
    "with the collaborative prompt": "collaborative",
    "with the co-creation prompt": "co-creation",
    "with the clarifying prompt": "clarifying",
}


class ChoiceError(DiscoverError):
    """What was chosen cannot be used; the message is one line that says what to do."""


@dataclass(frozen=True)
class Choice:
    """Who plays what.  `assistant` is None where a script answers, `leak_check` where nobody checks the voice."""

    builder: str = MINIATURE
    judge: str = MINIATURE
    voice: str = MINIATURE
    assistant: str | None = None
    api_base: str = ""
    key_variable: str = ""
    leak_check: str | None = None

    @property
    def client_settings(self) -> ClientSettings:
        """Raises `ChoiceError` for an invalid address."""
        from discover_lib.engines.llm.calls.client import ClientSettings

        try:
            return ClientSettings(api_base=self.api_base or None, key_variable=self.key_variable or None)
        except ValueError as error:
            raise ChoiceError(str(error)) from error

    @property
    def roles(self) -> dict[str, Any]:
        """What of it a run is asked for."""
        return {"judge": self.judge, "voice": self.voice, "leak_check": self.leak_check}


def chooser(roles: Sequence[str], now: Choice | None = None, submit: str = "Use these") -> Any:
    """A form: for each role of "builder", "judge", "voice", "assistant" the miniature or a language model, and where
    models are.  Its value is None until it is sent; `read_choice` reads it.
    """
    import marimo as mo

    from discover_lib.engines.llm.prompting import model_and_style

    now = now or Choice()
    used = [player for role in roles if (player := getattr(now, role)) not in (None, MINIATURE)]
    elements: dict[str, Any] = {}
    for role in roles:
        offline = "a script" if role == "assistant" else MINIATURE
        value = offline if getattr(now, role) in (None, MINIATURE) else MODEL
        elements[role] = mo.ui.dropdown([offline, MODEL], value=value, label=f"The {role} is")
    model = model_and_style(used[0])[0] if used else ""
    elements["model"] = mo.ui.text(
        value=model, placeholder="provider/model, e.g. anthropic/claude-haiku-4-5", label="Model", full_width=True
    )
    if "assistant" in roles:
        answering, style = model_and_style(now.assistant or "")
        elements["other"] = mo.ui.text(
            value="" if answering == model else answering,
            placeholder="the same",
            label="Another model for the assistant",
            full_width=True,
        )
        shown = next(label for label, name in STYLES.items() if name == style)
        elements["style"] = mo.ui.dropdown(STYLES, value=shown, label="The assistant’s model", full_width=True)
    elements["api_base"] = mo.ui.text(
        value=now.api_base or os.environ.get(ADDRESS_VARIABLE, ""),
        placeholder="http://localhost:8000/v1, for models named openai/NAME",
        label="Own server",
        full_width=True,
    )
    elements["key_variable"] = mo.ui.text(
        value=now.key_variable, placeholder="none", label="Variable with that server’s key", full_width=True
    )
    if "voice" in roles:
        elements["leak_check"] = mo.ui.checkbox(
            value=now.leak_check is not None,
            label="The model checks that the voice reveals no undiscovered intent",
        )
    row = '<div style="display:flex;flex-wrap:wrap;gap:8px 16px;align-items:center">{}</div>'
    grid = (
        '<div style="display:grid;grid-template-columns:repeat(auto-fill,minmax(250px,1fr));gap:8px 16px;'
        'align-items:end">{}</div>'
    )
    first = row.format("".join(f"{{{name}}}" for name in roles))
    second = grid.format("".join(f"<div>{{{name}}}</div>" for name in elements if name not in roles))
    note = (
        '<p style="opacity:.75;font-size:13px;margin:6px 0 0">Keys are read from environment variables or '
        "<code>.env</code> (ANTHROPIC_API_KEY, OPENAI_API_KEY …) and are never shown, stored or exported.</p>"
    )
    layout = mo.Html(f'<div style="display:grid;gap:10px">{first}{second}{note}</div>')
    return layout.batch(**elements).form(submit_button_label=submit)


def placed(control: Any) -> Markup:
    """A marimo control, or anything that marimo has made, to stand in a fragment."""
    return Markup(f"{control}")


def domain_labels() -> dict[str, str]:
    """What choosers call the kinds of artifacts → the domain: the paper's three, then its five that are unseen."""
    from discover_lib.engines.miniature.lexicon import ALL_DOMAINS

    return {domain_label(domain): domain for domain in ALL_DOMAINS}


def read_choice(values: Mapping[str, Any] | None) -> Choice:
    """What was chosen; the miniature throughout before the form is sent.

    Raises:
        ChoiceError: a language model was chosen and none named, or the name or the address is invalid.
    """
    from discover_lib.engines.spec import is_model

    if values is None:
        return Choice()
    model = values["model"].strip()
    asked = {role for role in ("builder", "judge", "voice", "assistant") if values.get(role) == MODEL}
    answering = (values.get("other") or "").strip() or model
    needed = ([model] if asked - {"assistant"} else []) + ([answering] if "assistant" in asked else [])
    for name in needed:
        if not is_model(name):
            what = f"invalid model name {name!r}" if name else "no model is named"
            raise ChoiceError(f"{what}; write provider/model, such as openai/NAME")
    style = values.get("style") or ""
    choice = Choice(
        **dict.fromkeys(asked - {"assistant"}, model),
        assistant=(f"{answering}+{style}" if style else answering) if "assistant" in asked else None,
        api_base=values["api_base"].strip() if asked else "",
        key_variable=values["key_variable"].strip() if asked else "",
        leak_check=model if values.get("leak_check") and "voice" in asked else None,
    )
    if asked:
        _ = choice.client_settings
    return choice


def run_plan(options: RunOptions, domains: Sequence[str], choice: Choice) -> Markup:
    """The cost of a run or, with `domains`, of an evaluation, where language models take part; else nothing.

    What cannot be laid out is said in one line.
    """
    from discover_lib.runs.plan import plan_run
    from workbench.jobs import laid_out

    if not options.models(options.everyone):
        return EMPTY
    try:
        forecast = plan_run(laid_out(options, domains), settings=choice.client_settings)
    except (DiscoverError, OSError) as error:
        return error_line(str(error))
    return plan_table(forecast.stages, "Estimated cost")


def trained_assistants() -> dict[str, str]:
    """Finished training runs as assistants, newest first: name → how a run names it."""
    from discover_lib.base.files import outputs_folder
    from discover_lib.train.training_job import find_jobs

    names = {}
    for name, run in find_jobs(outputs_folder()).items():
        try:
            # "+" in a folder's name would be taken for an adapter
            if run.status().state == "finished" and "+" not in str(run.folder):
                names[name] = f"hf:{run.folder}"
        except DiscoverError:  # the page Train says what is wrong with it
            continue
    return names


def plan_table(stages: Sequence[Stage], caption: str) -> Markup:
    """Calls, tokens and dollars by stage, and the dollars in all; an unknown price is said to be unknown."""
    from discover_lib.runs.plan import Plan, Span

    whole = Plan(0, Span.exactly(0), tuple(stages))
    return report_html(Report((stage_table(stages, caption), Lines((f"In all {cost_told(whole)}.",)))))


# -- an evaluation -----------------------------------------------------------------------------------------------------

OWN_TREES = "your own artifacts"
COMPARED = ("draft", "ask", "options", "adaptive")  # of the scripted assistants, unless others are chosen


def evaluation_menus(now: Mapping[str, Any], own_trees: Path | None = None) -> Any:
    """What an evaluation is asked for, as a dictionary of menus; `read_evaluation` reads its value.

    Args:
        now: the configuration of the open evaluation, with which the menus begin; empty for the default.
        own_trees: the folder of its trees, where they are the visitor's own.
    """
    import marimo as mo

    from discover_lib.engines.miniature.assistants import SCRIPTED

    trained, asked = trained_assistants(), now.get("assistants", COMPARED)
    domains: dict[str, Any] = dict(domain_labels())
    chosen = [domain_label(each) for each in (now.get("domain") or "svg_drawing").split(", ")]
    per_domain = len(now["artifacts"]) // len(chosen) if "artifacts" in now else 50
    others = [each for each in asked if each not in (*SCRIPTED, *trained.values())]
    rules = now.get("rules", {"name": "paper"})
    caps = {"all": None, "1": 1, "2": 2, "3": 3}
    cap = str(rules.get("near_miss_cap") or "all")
    place = "tiny, hf:FOLDER, hf:FOLDER+ADAPTER"
    menu, menus, number = mo.ui.dropdown, mo.ui.multiselect, mo.ui.number
    if own_trees:
        domains, chosen = {OWN_TREES: own_trees}, [OWN_TREES]
    return mo.ui.dictionary(
        {
            "domains": menus(domains, chosen, label="Domains"),
            "scripts": menus(list(SCRIPTED), [each for each in asked if each in SCRIPTED], label="Assistants"),
            "artifacts": number(1, 1000, value=per_domain, label="Artifacts"),
            "trials": number(1, 20, value=now.get("trials", 1), label="Trials"),
            "turns": number(1, 50, value=now.get("turns", 5), label="Turns"),
            "rules": menu(list(NAMED_RULES), rules["name"].partition(" with ")[0], label="Rules"),
            "cap": menu(caps, cap, label="Near misses per reply"),
            "seed": number(0, 2**31, value=now.get("seed", 0), label="Seed"),
            "final_request": menu(["ours", "paper"], request_named(now.get("final_request")), label="Final request"),
            "trained": menus(trained, [key for key, name in trained.items() if name in asked], label="Trained here"),
            "others": mo.ui.text(", ".join(others), place, label="Models on this machine", full_width=True),
        }
    )


def read_evaluation(
    menus: Mapping[str, Any], models: Mapping[str, Any] | None
) -> tuple[RunOptions | None, Choice | None, str]:
    """What the menus and the chooser of models ask for, and who plays; or a line that says why it cannot be."""
    from discover_lib.runs.options import RunOptions, RunOptionsError

    numbers: dict[str, Any] = {name: int(menus[name] or 0) for name in ("artifacts", "trials", "turns", "seed")}
    named = [name.strip() for name in menus["others"].split(",") if name.strip()]
    try:
        choice = read_choice(models)
        names = (*menus["scripts"], *menus["trained"], *named, *([choice.assistant] if choice.assistant else []))
        if not names or not menus["domains"]:
            raise RunOptionsError("choose at least one domain and one assistant")
        rules = Rules.named(menus["rules"])
        if menus["cap"] is not None:
            rules = rules.replace(near_miss_cap=menus["cap"])
        whose: dict[str, Any] = {"final_request": menus["final_request"]}
        if isinstance(trees := menus["domains"][0], Path):
            whose |= {"trees": trees}
        options = RunOptions(tuple(dict.fromkeys(names)), **choice.roles, **numbers, **whose, rules=rules)
    except (ChoiceError, RunOptionsError) as error:
        return None, None, str(error)
    return options, choice, ""


def page_has_sheet() -> None:
    """For the setup of a notebook whose `css_file` is the workbench's stylesheet: its outputs go without their own.

    A dozen outputs with 40 kB of stylesheet each are half a second of work for the server and the browser.  Where the
    notebook's code is run by other means than marimo's pages, each output stays complete.
    """
    import marimo as mo

    if mo.running_in_notebook():
        leave_out_sheet()


# -- widgets ----------------------------------------------------------------------------------------------------------


def brought_into_view(shown: Any) -> Any:
    """A result that the page scrolls to when it appears."""
    import anywidget
    import marimo as mo

    class Arrival(anywidget.AnyWidget):
        _esm = static_text("arrival.js")

    return mo.vstack([shown, mo.ui.anywidget(Arrival())])


def displayed(*fragments: Markup) -> Any:
    """Finished fragments as one output of a notebook's cell."""
    import marimo as mo

    return mo.Html(styled(*fragments))


def in_a_row(controls: Any, *names: str) -> Any:
    """Controls of a dictionary beside each other, all or those named."""
    import marimo as mo

    elements = controls.elements
    return mo.hstack([elements[name] for name in names or elements], justify="start", align="end", gap=1.5, wrap=True)
