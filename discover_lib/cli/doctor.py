"""`discover doctor`: what this machine can do."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Annotated

import typer

from discover_lib.cli.common import (
    ApiBase,
    Engine,
    KeyVariable,
    ModelFlags,
    RoleModel,
    console,
    with_flags,
)
from discover_lib.tasks.playing import client_settings


@dataclass(frozen=True, kw_only=True)
class DoctorFlags(ModelFlags):
    engine: Engine = "miniature"
    judge: RoleModel = None
    voice: RoleModel = None
    assistant: RoleModel = None
    backend: Annotated[str, typer.Option(help="auto, unsloth or transformers.")] = "auto"
    api_base: ApiBase = None
    key_variable: KeyVariable = None


@with_flags(DoctorFlags)
def doctor(flags: DoctorFlags) -> None:
    """Say what this machine has, and whether what is chosen can work on it.

    Every language model that is named is asked for one word, with the options given for its role.
    """
    from rich.table import Table
    from rich.text import Text

    from discover_lib.runs.doctor import NO_MODEL, examine

    options = flags.role_options
    options.check_names([flags.assistant] if flags.assistant else ())
    settings = client_settings(api_base=flags.api_base, key_variable=flags.key_variable)
    roles = {role: who for role in ("judge", "voice", "assistant") if (who := getattr(flags, role))}
    findings = examine(flags.engine, flags.backend, roles=roles, settings=settings, options=options)
    table = Table(box=None, show_header=False)
    for (text, problem, present), alike in groupby(findings, lambda each: (each.text, each.problem, each.present)):
        topics = [each.topic for each in alike]
        mark = Text("✗", "bold red") if problem else (Text("✓", "green") if present else Text("·"))
        for topic in [", ".join(topics)] if topics[0] in NO_MODEL else topics:  # of roles the same is said once
            table.add_row(mark, topic, text)
    console().print(table)
    if any(finding.problem for finding in findings):
        raise typer.Exit(1)
