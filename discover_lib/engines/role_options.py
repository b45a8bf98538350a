"""Options of the language models, role by role, where they differ from each role's defaults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from discover_lib.base.errors import DiscoverError

ROLES = ("assistant", "judge", "voice", "scorer", "builder")
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")
DECISIVE = ("max_tokens", "temperature", "reasoning_effort")  # they change replies; a timeout does not


@dataclass(frozen=True)
class RoleOptions:
    """Options of models.  An assistant's own option wins over its role's, and the role's over that of all roles.

    >>> options = RoleOptions.read(max_tokens=["4096", "judge=8192"], temperature=["voice=none"])
    >>> options.of("judge"), options.of("voice")
    ({'max_tokens': 8192}, {'max_tokens': 4096, 'temperature': None})

    Attributes:
        given: player (a role, an assistant's name, or "" for all roles) → option → value; plain, as runs store it.
    """

    given: Mapping[str, dict[str, Any]] = field(default_factory=dict, hash=False)

    @classmethod
    def read(
        cls,
        *,
        max_tokens: Sequence[str] = (),
        temperature: Sequence[str] = (),
        timeout: Sequence[str] = (),
        reasoning_effort: Sequence[str] = (),
    ) -> RoleOptions:
        """Options as typed: VALUE for all roles, or ROLE=VALUE; "none" means the provider's default.

        Raises:
            DiscoverError: an invalid value, or the same option twice for one role.
        """
        texts = {
            "max_tokens": max_tokens,
            "temperature": temperature,
            "timeout_seconds": timeout,
            "reasoning_effort": reasoning_effort,
        }
        given: dict[str, dict[str, Any]] = {}
        for name, text in ((name, text) for name, values in texts.items() for text in values):
            player, equals, value = text.rpartition("=")
            player = player.strip()
            if equals and not player:
                raise DiscoverError(f"{_flag(name)}: no role before the = in {text!r}")
            if name in given.setdefault(player, {}):
                raise DiscoverError(f"{_flag(name)} is given twice for {player or 'all roles'}")
            given[player][name] = _read(name, value.strip())
        return cls(given)

    def of(self, role: str, assistant: str = "") -> dict[str, Any]:
        """The options of a role, or of an assistant by name: option → value."""
        everyone, own, named = (self.given.get(player, {}) for player in ("", role, assistant or role))
        return {**everyone, **own, **named}

    def to_store(self, players: Mapping[str, str]) -> dict[str, dict[str, Any]]:
        """The options that change replies and differ from the defaults: player → option → value.

        Args:
            players: the language models: an assistant's name, or a role → the role.
        """
        if not self.given:  # `role_defaults` imports every role
            return {}
        stored: dict[str, dict[str, Any]] = {}
        for player, role in players.items():
            own, defaults = self.of(role, player), role_defaults(role)
            own = {name: own[name] for name in DECISIVE if name in own and own[name] != defaults.get(name)}
            stored |= {player: own} if own else {}
        return stored

    def check_names(self, assistants: Iterable[str]) -> None:
        """Check that every option is for a role or for one of these assistants.

        Raises:
            DiscoverError: an unknown role; the message lists the roles.
        """
        known = ["", *ROLES, *assistants]
        for player, own in self.given.items():
            if player not in known:
                raise DiscoverError(
                    f"{_flag(next(iter(own)))}: no role {player!r}; write ROLE=VALUE with one of {', '.join(known[1:])}"
                )

    def words(self) -> list[str]:
        """The options as words of a command line."""
        return [
            word
            for player, own in self.given.items()
            for name, value in own.items()
            for word in (_flag(name), f"{player}{'=' if player else ''}{typed(value)}")
        ]


NO_OPTIONS = RoleOptions()


def role_defaults(role: str) -> dict[str, Any]:
    """The default limit and temperature of a role."""
    from discover_lib.engines.llm import assistants, builder, judge, scoring, voice

    module: Any = dict(zip(ROLES, (assistants, judge, voice, scoring, builder), strict=True))[role]
    return {"max_tokens": module.MAX_TOKENS, "temperature": module.TEMPERATURE}


def _flag(name: str) -> str:
    return "--" + name.removesuffix("_seconds").replace("_", "-")


def typed(value: Any) -> str:
    """A value as it is typed."""
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


_FORMS: dict[str, tuple[str, type, float, float]] = {  # option → valid values, type, minimum, maximum
    "max_tokens": ("a whole number of tokens from 1, or none", int, 1, 1e300),
    "temperature": ("a number from 0 to 2, or none", float, 0, 2),
    "timeout_seconds": ("a number of seconds above 0", float, 0.001, 1e300),
    "reasoning_effort": (f"one of {', '.join(EFFORTS)}", str, 0, 0),
}


def _read(name: str, text: str) -> Any:
    wanted, kind, least, most = _FORMS[name]
    if text == "none" and wanted.endswith("or none"):
        return None
    if text in EFFORTS and kind is str:
        return text
    with suppress(ValueError):
        if kind is not str and least <= (number := kind(text)) <= most:
            return number
    raise DiscoverError(f"{_flag(name)}: {wanted}, not {text!r}")
