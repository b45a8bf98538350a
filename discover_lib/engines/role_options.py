"""How language models are asked, role by role: where it differs from each role's own defaults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from discover_lib.base.errors import DiscoverError

ROLES = ("assistant", "judge", "voice", "scorer", "builder")
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")
DECISIVE = ("max_tokens", "temperature", "reasoning_effort")  # what replies depend on; a timeout is not among it


@dataclass(frozen=True)
class RoleOptions:
    """Options of models.  What is given for an assistant by name wins over its role's, that over what all roles have.

    >>> options = RoleOptions.read(max_tokens=["4096", "judge=8192"], temperature=["voice=none"])
    >>> options.of("judge"), options.of("voice")
    ({'max_tokens': 8192}, {'max_tokens': 4096, 'temperature': None})

    Attributes:
        given: player (a role, an assistant's name, or "" for all roles) → option, as the roles call it → value.
    """

    given: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, hash=False)

    @classmethod
    def read(
        cls,
        *,
        max_tokens: Sequence[str] = (),
        temperature: Sequence[str] = (),
        timeout: Sequence[str] = (),
        reasoning_effort: Sequence[str] = (),
    ) -> RoleOptions:
        """Options as people type them: VALUE for all roles, or ROLE=VALUE; "none" leaves it to the provider.

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

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Player → option → value."""
        return {player: dict(own) for player, own in self.given.items()}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Mapping[str, Any]]) -> RoleOptions:
        """The options of what `to_dict` or `to_store` gave."""
        return cls(plain)

    def of(self, role: str, assistant: str = "") -> dict[str, Any]:
        """What is given for a role, or for an assistant by name: option → value."""
        everyone, own, named = (self.given.get(player, {}) for player in ("", role, assistant or role))
        return {**everyone, **own, **named}

    def to_store(self, players: Mapping[str, str]) -> dict[str, dict[str, Any]]:
        """What of it decides replies and differs from the defaults, by player.

        Args:
            players: those that are language models: an assistant's name, or a role → the role.
        """
        if not self.given:  # finding the defaults imports every role
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
            DiscoverError: naming what can be written.
        """
        known = ["", *ROLES, *assistants]
        for player, own in self.given.items():
            if player not in known:
                raise DiscoverError(
                    f"{_flag(next(iter(own)))}: no role {player!r}; write ROLE=VALUE with one of {', '.join(known[1:])}"
                )

    def words(self) -> list[str]:
        """The options as a command line has them."""
        return [
            word
            for player, own in self.given.items()
            for name, value in own.items()
            for word in (_flag(name), f"{player}{'=' if player else ''}{typed(value)}")
        ]

    def lines(self, players: Mapping[str, str]) -> list[str]:
        """What is given for each player, in words; arguments as of `to_store`."""
        said = {
            player: [
                f"{_flag(name)[2:].replace('-', ' ')} {typed(value)}" for name, value in self.of(role, player).items()
            ]
            for player, role in players.items()
        }
        return [f"{player}: {', '.join(options)}" for player, options in said.items() if options]


NO_OPTIONS = RoleOptions()


def role_defaults(role: str) -> dict[str, Any]:
    """The limit and the temperature that a role has unless told otherwise."""
    from discover_lib.engines.llm import assistants, builder, judge, scoring, voice

    module: Any = dict(zip(ROLES, (assistants, judge, voice, scoring, builder), strict=True))[role]
    return {"max_tokens": module.MAX_TOKENS, "temperature": module.TEMPERATURE}


def _flag(name: str) -> str:
    return "--" + name.removesuffix("_seconds").replace("_", "-")


def typed(value: Any) -> str:
    """A value as one types it."""
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


_FORMS: dict[str, tuple[str, type, float, float]] = {  # what is wanted, its kind, the least and the most
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
