"""Shared by desks that hold conversations: access to models, the price before it is paid, a run in a folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from discover_lib.base.errors import DiscoverError
from discover_lib.engines.role_options import EFFORTS, RoleOptions
from discover_lib.runs.options import LaidOut, Snapshot, check_prices, execute, unpriced
from discover_lib.tasks.told import size_told
from discover_lib.tasks.waist import Asked, How, Stopped, Tell, ask, fields_of

if TYPE_CHECKING:  # a run of the miniature calls no model
    from discover_lib.engines.llm.calls.client import ClientSettings

IN_FLIGHT = 16  # conversations with language models at a time, unless asked otherwise


class Server(How, frozen=True):
    """Where language models are reached."""

    api_base: Annotated[
        tuple[str, ...],
        ask(
            "OpenAI-compatible server for models named openai/NAME. Repeat the option to distribute conversations "
            "across servers."
        ),
    ] = ()
    key_variable: Annotated[str | None, ask("Environment variable with the key for --api-base.")] = None

    @property
    def settings(self) -> ClientSettings:
        """
        Raises:
            DiscoverError: an address that cannot be one.
        """
        from discover_lib.engines.llm.calls.client import ClientSettings

        first, *more = self.api_base or (None,)
        try:
            return ClientSettings(first, tuple(each for each in more if each), key_variable=self.key_variable)
        except ValueError as error:
            raise DiscoverError(str(error)) from None


class Access(Server, frozen=True):
    """Where language models are reached, and their prices."""

    prices: Annotated[Path | None, ask("YAML price table. It overrides LiteLLM's (format: docs/commands.md).")] = None

    @property
    def settings(self) -> ClientSettings:
        """
        Raises:
            DiscoverError: an address that cannot be one, or an invalid file of prices.
        """
        from discover_lib.engines.llm.calls.exchange import read_prices

        return replace(super().settings, prices=read_prices(self.prices) if self.prices else {})


class Models(Access, frozen=True):
    """How language models are reached and paid, and how many conversations are held at a time."""

    budget: Annotated[float | None, ask("Maximum cost in US$. Required for language models.", least=0)] = None
    concurrency: Annotated[
        int | None, ask("Parallel conversations (default: 16 with language models, else 1).", least=1)
    ] = None


class Tuning(Asked, frozen=True):
    """How language models answer: VALUE for all, or ROLE=VALUE; roles are those of `RoleOptions`."""

    max_tokens: Annotated[tuple[str, ...], ask("Maximum tokens of one answer, reasoning included.")] = ()
    temperature: Annotated[tuple[str, ...], ask("Temperature from 0 to 2, or 'none' for the provider's default.")] = ()
    timeout: Annotated[tuple[str, ...], ask("Timeout of one API attempt in seconds (default 120).")] = ()
    reasoning_effort: Annotated[tuple[str, ...], ask(f"Reasoning effort of models: {', '.join(EFFORTS)}.")] = ()

    @property
    def role_options(self) -> RoleOptions:
        return RoleOptions.read(**{each.name: getattr(self, each.name) for each in fields_of(Tuning)})


def allowed(run: LaidOut, how: Models, smaller: str) -> None:
    """Refuse to spend without a budget.

    Args:
        smaller: advice that makes the run cheaper.

    Raises:
        DiscoverError: language models take part and there is no budget; the message names the price.
    """
    from discover_lib.runs.plan import plan_run

    if not run.models:
        return
    if how.budget is None:
        price = size_told(plan_run(run, settings=how.settings))
        raise DiscoverError(f"{price}; no call was made; {how_to_pay(run.models, how.settings)}, {smaller}")
    check_prices(run.models, how.settings, how.budget, needed=True)


def how_to_pay(models: Sequence[str], settings: ClientSettings) -> str:
    """The options that allow calls to models."""
    unknown = ", ".join(unpriced(models, settings))
    prices = f" and --prices FILE with the price of {unknown} (0 for your own machine; docs/commands.md)"
    return f"give --budget DOLLARS{prices if unknown else ''}"


def played(run: LaidOut, folder: Path, how: Models, tell: Tell, line: str) -> str:
    """Hold the missing conversations of a run, and return why some are still missing, or "".

    Raises:
        Stopped: a stop was requested; finished conversations are saved.
        DiscoverError: as `discover_lib.runs.options.execute`.
    """

    def on_progress(now: Snapshot) -> None:
        tell.note(now.counts.finished, now.counts.units, line)

    folder.mkdir(parents=True, exist_ok=True)
    report = execute(
        run,
        folder,
        concurrency=how.concurrency or (IN_FLIGHT if run.models else 1),
        settings=how.settings if run.models else None,
        budget_dollars=how.budget,
        on_progress=on_progress,
        stop=tell.stop,
    )
    if report.halted == "stopped":
        raise Stopped("stopped")
    return " ".join(report.message.split())
