"""The roles of a run with stand-ins for some of them."""

from collections.abc import Mapping

from discover_lib.core.roles import Assistant, Judge, SeesIntents
from discover_lib.engines.spec import EngineSpec, RoleEngines


class Cast(RoleEngines):
    """The miniature's roles, with another judge or with assistants of these names where they are given."""

    def __init__(self, judge: Judge | None = None, assistants: Mapping[str, Assistant] | None = None) -> None:
        super().__init__(EngineSpec())
        self._judge, self._assistants = judge, assistants or {}

    def judge(self, domain: str) -> Judge:
        return self._judge or super().judge(domain)

    def assistant(self, name: str, domain: str) -> Assistant | SeesIntents:
        return self._assistants.get(name) or super().assistant(name, domain)
