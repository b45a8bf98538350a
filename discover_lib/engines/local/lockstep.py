"""Conversations side by side with models on this machine, so that these answer many at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from discover_lib.core.conversation import Conversation
from discover_lib.core.roles import Assistant, SeesIntents
from discover_lib.engines.local.model import IN_FLIGHT, LocalAssistant, LocalModel
from discover_lib.engines.spec import Engines, EngineSpec, RoleEngines
from discover_lib.runs.units import Unit, run_unit


class LocalEngines(RoleEngines):
    """Engines in which some names mean models that are already in memory.

    Args:
        models: assistant's name → its model; other names mean what they always do.
    """

    def __init__(self, spec: EngineSpec, models: Mapping[str, LocalModel]) -> None:
        super().__init__(spec)
        self._models = dict(models)

    def assistant(self, name: str, domain: str) -> Assistant | SeesIntents:
        if name in self._models:
            return LocalAssistant(self._models[name], domain)
        return super().assistant(name, domain)


def run_lockstep(
    units: Sequence[Unit], engines: Engines | None = None, *, in_flight: int = IN_FLIGHT
) -> Iterator[Conversation]:
    """Conversations in the order of `units`, the same as one by one (`discover_lib.runs.units.run_unit`).

    Raises:
        RoleError: a role could not do its part.
    """
    pool = ThreadPoolExecutor(max(1, min(in_flight, len(units))))
    try:
        yield from pool.map(lambda unit: run_unit(unit, engines), units)
    finally:
        pool.shutdown(cancel_futures=True)
