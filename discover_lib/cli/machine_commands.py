"""`discover doctor` and `discover serve`: check this machine, and serve simulated users from it."""

from __future__ import annotations

from itertools import groupby
from typing import Annotated

import typer

from discover_lib.cli.common import ModelFlags, RulesName, SplitName, Turns, console, with_flags
from discover_lib.core.rollout import MAX_TURNS
from discover_lib.core.rules import Rules
from discover_lib.engines.spec import MINIATURE
from discover_lib.tasks.playing import client_settings
from discover_lib.tasks.waist import Mark, Table


@with_flags(ModelFlags)
def doctor(
    flags: ModelFlags,
    assistant: Annotated[str | None, typer.Option(help="Assistant to check: a local or a LiteLLM model.")] = None,
    backend: str = "auto",
    engine: str = MINIATURE,
    judge: str | None = None,
    voice: str | None = None,
    api_base: list[str] | None = None,
    key_variable: str | None = None,
) -> None:
    """Check hardware, packages and API keys, and whether the selected roles can work.

    Every named language model is asked for one word, with the options of its role.
    """
    from discover_lib.runs.doctor import NO_MODEL, examine

    options = flags.role_options
    options.check_names([assistant] if assistant else ())
    settings = client_settings(api_base=api_base, key_variable=key_variable)
    roles = {role: who for role, who in (("judge", judge), ("voice", voice), ("assistant", assistant)) if who}
    findings = examine(engine, backend, roles=roles, settings=settings, options=options)
    rows: list[tuple[Mark, str, str]] = []
    for (text, works, present), alike in groupby(findings, lambda each: (each.text, each.works, each.present)):
        parts = [each.role for each in alike]
        mark = Mark("✗", "bad") if not works else Mark("✓", "good") if present else Mark("·")
        for part in [", ".join(parts)] if parts[0] in NO_MODEL else parts:  # equal roles are one row
            rows.append((mark, part, text))
    Table(("", "checked", "found"), tuple(rows)).print(console())
    if not all(finding.works for finding in findings):
        raise typer.Exit(1)


def serve(
    domain: Annotated[str, typer.Option(help="Domain of the generated artifacts.")] = "svg_drawing",
    split: SplitName = "train",
    artifacts: Annotated[int, typer.Option(min=1)] = 100,
    turns: Turns = MAX_TURNS,
    engine: str = MINIATURE,
    rules: RulesName = "paper",
    sessions: Annotated[int, typer.Option(min=1, help="Maximum number of conversations at a time.")] = 64,
    port: Annotated[int, typer.Option(min=1, max=65535)] = 8000,
) -> None:
    """Serve simulated users to other trainers on localhost, over the OpenEnv protocol."""
    from discover_lib.base.localhost import HOST, OwnPages, choose_port
    from discover_lib.doors import openenv

    openenv.serve(
        HOST,
        choose_port(port),
        sessions,
        OwnPages,
        domain=domain,
        split=split,
        artifacts=artifacts,
        turns=turns,
        engine=engine,
        rules=Rules.named(rules),
    )
