"""How language models are asked, role by role: where it differs from each role's own defaults."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discover_lib.base.errors import DiscoverError

ROLES = ("assistant", "judge", "voice", "scorer", "builder")
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")
DECISIVE = ("max_tokens", "temperature", "reasoning_effort")  # what replies depend on; a timeout is not among it


class RoleOptionError(DiscoverError):
    """An option that cannot be used; the message is one line that says what to write."""


@dataclass(frozen=True)
class RoleOption:
    """One option: `player` is a role, an assistant's name, or "" for all roles."""

    name: str  # as the roles call it: max_tokens, temperature, timeout_seconds, reasoning_effort
    player: str
    value: Any


@dataclass(frozen=True)
class RoleOptions:
    """Options of models.  What is given for an assistant by name wins over its role's, that over what all roles have.

    >>> options = RoleOptions.read(max_tokens=["4096", "judge=8192"], temperature=["voice=none"])
    >>> options.of("judge"), options.of("voice")
    ({'max_tokens': 8192}, {'max_tokens': 4096, 'temperature': None})
    """

    given: tuple[RoleOption, ...] = ()

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
            RoleOptionError: an invalid value, or the same option twice for one role.
        """
        texts = {
            "max_tokens": max_tokens,
            "temperature": temperature,
            "timeout_seconds": timeout,
            "reasoning_effort": reasoning_effort,
        }
        return cls(tuple(option for name, values in texts.items() for option in _read_all(name, values)))

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Player → option → value."""
        plain: dict[str, dict[str, Any]] = {}
        for option in self.given:
            plain.setdefault(option.player, {})[option.name] = option.value
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Mapping[str, Any]]) -> RoleOptions:
        """The options of what `to_dict` or `to_store` gave."""
        return cls(tuple(RoleOption(name, who, value) for who, its in plain.items() for name, value in its.items()))

    def of(self, role: str, assistant: str = "") -> dict[str, Any]:
        """What is given for a role, or for an assistant by name: option → value."""
        return {
            option.name: option.value
            for player in ("", role, assistant or role)
            for option in self.given
            if option.player == player
        }

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
            RoleOptionError: naming what can be written.
        """
        known = [*ROLES, *assistants]
        for option in self.given:
            if option.player and option.player not in known:
                raise RoleOptionError(
                    f"{_flag(option.name)}: no role {option.player!r}; write ROLE=VALUE with one of {', '.join(known)}"
                )

    def words(self) -> list[str]:
        """The options as a command line has them."""
        return [
            word
            for option in self.given
            for word in (
                _flag(option.name),
                f"{option.player}{'=' if option.player else ''}{typed(option.value)}",
            )
        ]

    def lines(self, players: Mapping[str, str]) -> list[str]:
        """What is given for each player, in words; arguments as of `to_store`."""
        lines = []
        for player, role in players.items():
            own = self.of(role, player)
            said = ", ".join(f"{_flag(name)[2:].replace('-', ' ')} {typed(value)}" for name, value in own.items())
            lines += [f"{player}: {said}"] if said else []
        return lines


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


def _read_all(name: str, values: Sequence[str]) -> list[RoleOption]:
    options = []
    for text in values:
        player, equals, value = text.rpartition("=")
        if equals and not player.strip():
            raise RoleOptionError(f"{_flag(name)}: no role before the = in {text!r}")
        options.append(RoleOption(name, player.strip(), _read(name, value.strip())))
    players = [option.player for option in options]
    for player in players:
        if players.count(player) > 1:
            raise RoleOptionError(f"{_flag(name)} is given twice for {player or 'all roles'}")
    return options


def _read(name: str, text: str) -> Any:
    wanted, read = _FORMS[name]
    try:
        return read(text)
    except ValueError:
        raise RoleOptionError(f"{_flag(name)}: {wanted}, not {text!r}") from None


def _limit(text: str) -> int | None:
    return None if text == "none" else int(_between(text, 1, math.inf, whole=True))


def _temperature(text: str) -> float | None:
    return None if text == "none" else _between(text, 0, 2)


def _seconds(text: str) -> float:
    return _between(text, 0.001, math.inf)


def _effort(text: str) -> str:
    if text not in EFFORTS:
        raise ValueError(text)
    return text


def _between(text: str, low: float, high: float, *, whole: bool = False) -> float:
    number = int(text) if whole else float(text)
    if not low <= number <= high or math.isinf(number):
        raise ValueError(text)
    return number


_FORMS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "max_tokens": ("a whole number of tokens from 1, or none", _limit),
    "temperature": ("a number from 0 to 2, or none", _temperature),
    "timeout_seconds": ("a number of seconds above 0", _seconds),
    "reasoning_effort": (f"one of {', '.join(EFFORTS)}", _effort),
}
