"""The command lines that do what a page's settings do, to be copied from the page.

`tests/shown/test_echo.py` reads every one of them with the command's own parser.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discover_lib.base.files import REPOSITORY
from discover_lib.core.rules import Rules
from discover_lib.dataset.export import Filters
from discover_lib.dataset.rows import GRPO_TAU, RowOptions
from discover_lib.runs.options import RunOptions, RunOptionsError

if TYPE_CHECKING:
    from discover_lib.train.access import Access
    from discover_lib.train.recipes import Recipe
    from discover_lib.train.run_stage import StageSettings


def run_command(folder: Path, configuration: Mapping[str, Any]) -> str:
    """The command that makes the run of this configuration in a folder, or goes on with it.

    "" where the command alone does not say it: the run was begun with files, or under rules without a name.
    """
    try:
        options = RunOptions.from_configuration(configuration)
        named = Rules.named(options.rules.name.partition(" ")[0])
    except (RunOptionsError, ValueError):
        return ""
    cap = options.rules.near_miss_cap
    if options.rules not in (named, named.replace(near_miss_cap=cap)):
        return ""
    given = {
        "run": shown_path(folder),
        "domain": configuration["domain"].split(", "),
        "assistant": options.assistants,
        "split": options.split,
        "artifacts": options.artifacts,
        "trials": options.trials,
        "turns": options.turns,
        "rules": named.name,
        "seed": options.seed,
        "near-miss-cap": cap,
        "candidates": options.candidates,
        "look-ahead": options.look_ahead or None,
        "reward-assistant": options.reward_assistant if options.look_ahead else None,
        "leak-check": options.leak_check or None,
        "final-request": _unless("ours", options.final_request),
        "judge": options.judge,
        "voice": options.voice,
    }
    return _joined(configuration["kind"], given, options.role_options.words())


def export_command(run: Path, out: Path, kind: str, options: RowOptions, filters: Filters, base: str = "") -> str:
    """The command that writes rows of a run.  It labels under the run's own rules, whatever `options.rules` says."""
    given = {
        "format": kind,
        "system": options.system,
        "text": options.text,
        "min-margin": f"{filters.min_margin:g}",
        "max-similarity": f"{filters.max_similarity:g}",
        "max-tokens": filters.max_tokens or None,
        "tau": None if options.grpo_tau in (None, GRPO_TAU) else f"{options.grpo_tau:g}",
        "base": base or None,
        "leaks": filters.leaks,
        "out": shown_path(out),
    }
    return _joined("export", given, argument=shown_path(run))


def train_command(settings: StageSettings, preset: Recipe, folder: Path, access: Access | None = None) -> str:
    """The command that trains a stage, with its recipe as changes of a preset."""
    from discover_lib.train.recipes import changes_between

    client = access.client if access else None
    given = {
        "data": shown_path(Path(settings.data)),
        "base": "tiny" if Path(settings.base).parent.name == "tiny" else settings.base,
        "adapter": shown_path(Path(settings.adapter)) if settings.adapter else None,
        "recipe": preset.name,
        "set": changes_between(preset, settings.recipe, settings.stage),
        "backend": _unless("auto", settings.backend),
        "system": _unless("none", settings.system),
        "thinking": settings.thinking,
        "judge": _unless("miniature", settings.judge),
        "voice": _unless("miniature", settings.voice),
        "seed": settings.seed or None,
        "budget": f"{access.budget_dollars:g}" if access and access.budget_dollars is not None else None,
        "api-base": (client.api_base or None) if client else None,
        "key-variable": (client.key_variable or None) if client else None,
        "run": shown_path(folder),
    }
    return _joined("train", given, settings.spec.role_options.words(), settings.stage)


def _unless(default: str, value: str) -> str | None:
    """A value that is written because it is not the default."""
    return None if value == default else value


def _joined(command: str, given: Mapping[str, Any], more: Sequence[str] = (), argument: str = "") -> str:
    """A command line: None and False are left out, True is a flag alone, and a list repeats its option."""
    words = ["discover", command, *([argument] if argument else [])]
    for name, value in given.items():
        for each in value if isinstance(value, list | tuple) else [value]:
            if each is not None and each is not False:
                words += [f"--{name}"] if each is True else [f"--{name}", str(each)]
    return shlex.join([*words, *more])


def shown_path(path: Path) -> str:
    """A path as one types it in the project's folder."""
    return str(path.relative_to(REPOSITORY)) if path.is_relative_to(REPOSITORY) else str(path)
