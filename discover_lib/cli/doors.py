"""`discover serve`: the simulated user as an OpenEnv server on localhost."""

from __future__ import annotations

from typing import Annotated

import typer

from discover_lib.cli.common import RulesName, SplitName, Turns
from discover_lib.core.rollout import MAX_TURNS
from discover_lib.core.rules import Rules
from discover_lib.engines.spec import MINIATURE


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
