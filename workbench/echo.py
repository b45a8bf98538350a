"""The command lines that do what a page's settings do, to be copied from the page.

`tests/shown/test_echo.py` reads every one of them with the command's own parser.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discover_lib.base.files import REPOSITORY
from discover_lib.core.rules import Rules
from discover_lib.dataset.filters import Filters
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
    words = ["discover", configuration["kind"], "--run", shown_path(folder)]
    for domain in configuration["domain"].split(", "):
        words += ["--domain", domain]
    for name in options.assistants:
        words += ["--assistant", name]
    words += ["--split", options.split, "--artifacts", str(options.artifacts), "--trials", str(options.trials)]
    words += ["--turns", str(options.turns), "--rules", named.name, "--seed", str(options.seed)]
    words += ["--near-miss-cap", str(cap)] if cap is not None else []
    words += ["--candidates", str(options.candidates)] if options.candidates is not None else []
    if options.look_ahead:
        words += ["--look-ahead", str(options.look_ahead), "--reward-assistant", options.reward_assistant]
    words += ["--leak-check", options.leak_check] if options.leak_check else []
    for name in ("interactivity", "final_request"):
        words += [f"--{name.replace('_', '-')}", getattr(options, name)] if getattr(options, name) != "ours" else []
    words += ["--judge", str(options.judge), "--voice", str(options.voice)]
    return shlex.join([*words, *options.role_options.words()])


def export_command(
    run: Path, out: Path, kind: str, files: str, options: RowOptions, filters: Filters, base: str = ""
) -> str:
    """The command that writes rows of a run.  It labels under the run's own rules, whatever `options.rules` says."""
    words = ["discover", "export", shown_path(run), "--format", kind, "--files", files]
    words += ["--system", options.system, "--text", options.text]
    words += ["--min-margin", f"{filters.min_margin:g}", "--max-similarity", f"{filters.max_similarity:g}"]
    words += ["--max-tokens", str(filters.max_tokens)] if filters.max_tokens else []
    words += ["--tau", f"{options.grpo_tau:g}"] if options.grpo_tau not in (None, GRPO_TAU) else []
    words += ["--base", base] if base else []
    words += ["--leaks"] if filters.leaks else []
    return shlex.join([*words, "--out", shown_path(out)])


def train_command(settings: StageSettings, preset: Recipe, folder: Path, access: Access | None = None) -> str:
    """The command that trains a stage, with its recipe as changes of a preset."""
    from discover_lib.train.recipes import changes_between

    words = ["discover", "train", settings.stage, "--data", shown_path(Path(settings.data))]
    words += ["--base", "tiny" if Path(settings.base).parent.name == "tiny" else settings.base]
    words += ["--adapter", shown_path(Path(settings.adapter))] if settings.adapter else []
    words += ["--recipe", preset.name]
    for change in changes_between(preset, settings.recipe, settings.stage):
        words += ["--set", change]
    words += ["--backend", settings.backend] if settings.backend != "auto" else []
    words += ["--system", settings.system] if settings.system != "none" else []
    words += ["--thinking"] if settings.thinking else []
    for role in ("judge", "voice"):
        words += [f"--{role}", getattr(settings, role)] if getattr(settings, role) != "miniature" else []
    words += ["--seed", str(settings.seed)] if settings.seed else []
    if access is not None:
        words += ["--budget", f"{access.budget_dollars:g}"] if access.budget_dollars is not None else []
        words += ["--api-base", access.client.api_base] if access.client.api_base else []
        words += ["--key-variable", access.client.key_variable] if access.client.key_variable else []
    words += settings.spec.role_options.words()
    return shlex.join([*words, "--run", shown_path(folder)])


def shown_path(path: Path) -> str:
    """A path as one types it in the project's folder."""
    return str(path.relative_to(REPOSITORY)) if path.is_relative_to(REPOSITORY) else str(path)
