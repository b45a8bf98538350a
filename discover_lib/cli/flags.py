"""The options that several commands share, and how a command's help is laid out.

A command declares an option by its name, type and default.  Its sentence and its metavar come from `SHARED`, unless the
command writes its own.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from copy import copy
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer
from typer.models import ArgumentInfo

from discover_lib.engines.role_options import EFFORTS

SHARED = {  # parameter → metavar, sentence
    "adapter": ("FOLDER", "Training run of the stage before."),
    "api_base": (
        "URL",
        "OpenAI-compatible server for models named openai/NAME. Repeat it to share conversations among servers.",
    ),
    "artifacts": ("N", "Number of artifacts."),
    "assistant": (
        "NAME",
        "Assistant to run; repeatable. A script such as draft, ask or adaptive; tiny; hf:DIR for a local model or a "
        "training run; or a LiteLLM model, as MODEL or MODEL+STYLE.",
    ),
    "backend": (None, "Training library: auto, unsloth or transformers."),
    "budget": ("USD", "Maximum cost in US$. The work stops before it exceeds this; raise it to resume."),
    "builder": ("MODEL", "Also plan the tree building of your own artifacts with this model."),
    "candidates": ("N", "Replies of each assistant per turn. The reply with the highest reward is selected."),
    "changes": ("NAME=X", "Change a setting of the recipe, such as learning_rate=1e-4 or lora.r=16; repeatable."),
    "concurrency": ("N", "Parallel processes (miniature, default 1) or conversations (language models, default 64)."),
    "data": ("FOLDER", "Run folder, or a folder of rows from `discover export`."),
    "domain": ("NAME", "Domain of the generated artifacts; repeatable."),
    "engine": ("MODEL", "Model for judge and voice: miniature or a LiteLLM model."),
    "final_request": (None, "Wording that asks for the final artifact: ours, or the paper's."),
    "folder": ("FOLDER", "Study store (default: outputs/study-NAME)."),
    "interactivity": (None, "Scale on which a language model rates interactivity: ours, or the paper's."),
    "judge": ("MODEL", "Model for the judge, in place of --engine."),
    "key_variable": ("NAME", "Environment variable with the key for --api-base."),
    "labels": ("FILE", ""),
    "leak_check": (
        "MODEL",
        "Model that checks every user message for paraphrased leaks. 'judge' uses the judge's model.",
    ),
    "look_ahead": ("N", "Reward each candidate over N more turns, played by --reward-assistant."),
    "manner": ("STYLE", "Typing style of the users: paper, terse, rambling or people."),
    "max_tokens": ("[ROLE=]N", "Maximum tokens of one answer, reasoning included."),
    "near_miss_cap": ("N", "Count at most N near misses per intent and reply (default: no limit)."),
    "on": ("ray[://HOST:PORT]", "Run on a Ray cluster in place of this machine's processes (docs/scale.md)."),
    "out": ("FOLDER", "Output folder."),
    "port": ("N", "Port on localhost."),
    "prices": ("FILE", "YAML price table, used before LiteLLM's (format: docs/commands.md)."),
    "prompts": ("FOLDER", "Prompt templates that replace the built-in ones."),
    "reasoning_effort": ("[ROLE=]LEVEL", f"Reasoning effort of models: {', '.join(EFFORTS)}."),
    "requests_per_minute": ("X", "Maximum requests per minute to one provider."),
    "reward_assistant": ("NAME", "Assistant that plays the look-ahead turns."),
    "rules": (None, "Reward rules: the paper's, or those of the authors' released code."),
    "run": ("FOLDER", "Run folder. Repeat the command to resume."),
    "seed": ("N", "Random seed. The same seed gives the same results."),
    "split": (None, "Generated artifacts for training, or those kept for evaluation."),
    "system": ("TEXT", "System message of training rows: none, collaborative, or its text."),
    "temperature": ("[ROLE=]X", "Temperature from 0 to 2, or 'none' for the provider's default."),
    "timeout": ("[ROLE=]SECONDS", "Timeout of one API attempt in seconds (default 120)."),
    "tokens_per_minute": ("X", "Maximum tokens per minute to one provider."),
    "trees": ("FOLDER", "Use the intent trees (JSON) in this folder, in place of --domain."),
    "trials": ("N", "Conversations per assistant and artifact."),
    "turns": ("N", "Maximum number of assistant turns."),
    "voice": ("MODEL", "Model that writes the user's messages, in place of --engine."),
}
OWN_PANEL = "Options"
LAST_PANELS = {  # in the order of the help, after the command's own options
    "Simulated user": {"rules", "near_miss_cap", "manner", "leak_check", "interactivity", "final_request"},
    "Cost and speed": {"budget", "prices", "concurrency", "requests_per_minute", "tokens_per_minute", "on", "patience"},
    "Language models": {"engine", "judge", "voice", "prompts", "api_base", "key_variable"},
    "Model tuning": {"max_tokens", "temperature", "timeout", "reasoning_effort"},
}
BY_TYPE = {bool: "", int: "N", float: "X", Path: "FOLDER", str: "NAME"}


def signed(run: Callable[..., Any], parameters: Iterable[inspect.Parameter], help: str | None) -> Callable[..., Any]:
    """The function as Typer reads one of these parameters, described, in the order of the help."""
    described = [_described(each) for each in parameters]
    places = [OWN_PANEL, *LAST_PANELS]
    described.sort(
        key=lambda each: (
            places.index(_note(each).rich_help_panel or OWN_PANEL),
            each.default is not inspect.Parameter.empty,
        )
    )
    run.__signature__ = inspect.Signature(described)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in described}
    run.__doc__ = help
    return run


def parameters_of(command: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters of a function, their annotations read."""
    hints = get_type_hints(command, include_extras=True)
    found = inspect.signature(command).parameters.values()
    return [each.replace(annotation=hints[each.name]) for each in found]


def example_of(words: str) -> str:
    """The last line of a command's help."""
    return f"Example:\n\ndiscover {words}"


def _note(parameter: inspect.Parameter) -> Any:
    return get_args(parameter.annotation)[1]


def _described(parameter: inspect.Parameter) -> inspect.Parameter:
    """A parameter with its sentence, its metavar and its panel."""
    noted = get_origin(parameter.annotation) is Annotated
    hint, note = get_args(parameter.annotation)[:2] if noted else (parameter.annotation, typer.Option())
    metavar, sentence = SHARED.get(parameter.name, (None, ""))
    note = copy(note)
    note.help = note.help or sentence
    if isinstance(note, ArgumentInfo):
        note.metavar = note.metavar or parameter.name.upper()
    else:
        note.metavar = next((each for each in (note.metavar, metavar) if each), _metavar(hint))
        panels = (panel for panel, names in LAST_PANELS.items() if parameter.name in names)
        note.rich_help_panel = note.rich_help_panel or next(panels, OWN_PANEL)
    return parameter.replace(annotation=Annotated[hint, note], kind=inspect.Parameter.KEYWORD_ONLY)


def _metavar(hint: Any) -> str:
    """The choices of one value, or a word for its type; empty for a switch."""
    if get_origin(hint) is Literal:
        return "|".join(get_args(hint))
    kinds = [each for each in get_args(hint) if each is not type(None)]
    return _metavar(kinds[0]) if kinds else BY_TYPE.get(hint, "NAME")
