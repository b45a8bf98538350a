"""`discover serve`: the simulated user as an OpenEnv server on localhost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from discover_lib.cli.common import Engine, RulesName, SplitName, Turns, with_flags
from discover_lib.core.rollout import MAX_TURNS


@dataclass(frozen=True, kw_only=True)
class ServeFlags:
    domain: Annotated[str, typer.Option(help="Generated artifacts of this domain.")] = "svg_drawing"
    split: Annotated[SplitName, typer.Option(help="Generated artifacts to train on, or to evaluate on.")] = (
        SplitName.train
    )
    artifacts: Annotated[int, typer.Option(min=1, help="How many artifacts.")] = 100
    turns: Turns = MAX_TURNS
    engine: Engine = "miniature"
    rules: RulesName = RulesName.paper
    sessions: Annotated[int, typer.Option(min=1, help="Conversations at a time, at most.")] = 64
    port: Annotated[int, typer.Option(min=1, max=65535)] = 8000


@with_flags(ServeFlags)
def serve(flags: ServeFlags) -> None:
    """Serve simulated users to other people's trainers, by the OpenEnv protocol, on localhost."""
    from discover_lib.base.localhost import HOST, OwnPages, choose_port
    from discover_lib.doors import openenv

    openenv.serve(
        HOST,
        choose_port(flags.port),
        flags.sessions,
        OwnPages,
        domain=flags.domain,
        split=flags.split.value,
        artifacts=flags.artifacts,
        turns=flags.turns,
        engine=flags.engine,
        rules=flags.rules.rules,
    )
