"""Language models in a session: asked for one step at a time, stopped at once, their calls kept and added up.

Nothing here is used, and no model library is loaded, while the miniature plays every role.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from discover_lib.base.errors import DiscoverError
from discover_lib.base.words import price_line
from discover_lib.core.intents import IntentTree
from discover_lib.core.roles import BuiltTree, Recognised, RoleError
from discover_lib.engines.llm.calls.exchange import CallCache, Completion, Request
from discover_lib.engines.role_options import NO_OPTIONS, RoleOptions
from discover_lib.engines.spec import EngineSpec, RoleEngines
from workbench.views.html import Markup, error_line, quiet

if TYPE_CHECKING:
    from discover_lib.core.conversation import Artifact
    from discover_lib.engines.llm.builder import Stage
    from discover_lib.engines.llm.calls.client import ClientSettings
    from workbench.controls import Choice

ATTEMPTS = 3  # a person is waiting, who can press the button again


class Calls(CallCache):
    """Finished calls of a session: the client's `CallCache`, and what they took.  Thread-safe; kept in memory only."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._done: dict[str, Completion] = {}

    def get(self, key: str) -> Completion | None:
        with self._lock:
            return self._done.get(key)

    def put(self, key: str, request: Request, completion: Completion) -> None:
        with self._lock:
            self._done[key] = completion

    @property
    def line(self) -> str:
        """What was called so far, in words; a price that is not known is said to be so.  "" before the first call."""
        with self._lock:
            done = list(self._done.values())
        if not done:
            return ""
        unknown = sum(each.cost is None for each in done)
        price = price_line(sum(each.cost or 0.0 for each in done), unknown, len(done))
        return f"{len(done)} calls to models, {price}"


@contextmanager
def open_roles(
    spec: EngineSpec, assistants: tuple[str, ...], api_base: str, key_variable: str, calls: Calls, stop: threading.Event
) -> Iterator[RoleEngines]:
    """The roles for one step; where a language model plays one, with a client that ends when `stop` is set.

    Raises:
        ValueError: an invalid address.
    """
    if not spec.models(assistants):
        yield RoleEngines(spec)
        return
    from discover_lib.engines.llm.calls.client import ClientSettings, LLMClient

    settings = ClientSettings(api_base=api_base or None, key_variable=key_variable or None, max_attempts=ATTEMPTS)
    with LLMClient(settings, cache=calls, stop=stop) as client:
        yield RoleEngines(spec, client)


class StagedBuild:
    """A tree that a language model builds, one stage at a time.

    Attributes:
        done: what the stages gave so far; the last of four is the built tree.
    """

    STAGES = ("synthesis", "abstraction", "organisation", "initial request")

    def __init__(
        self, artifact: Artifact, model: str, settings: ClientSettings, calls: Calls, options: RoleOptions = NO_OPTIONS
    ) -> None:
        self.artifact, self.model, self._options = artifact, model, options
        self.done: tuple[Stage, ...] = ()
        self._settings, self._calls = settings, calls
        self._stop = threading.Event()

    @property
    def upcoming(self) -> str | None:
        """The stage that comes next; None after the last."""
        return self.STAGES[len(self.done)] if len(self.done) < len(self.STAGES) else None

    @property
    def recognised(self) -> tuple[Recognised, ...] | None:
        """The result of stage 1, None before it."""
        first = self.done[0] if self.done else None
        return getattr(first, "items", None)

    @property
    def levels(self) -> tuple[tuple[str, ...], ...] | None:
        """The result of stage 2, None before it."""
        return getattr(self.done[1], "levels", None) if len(self.done) > 1 else None

    @property
    def forest(self) -> IntentTree | None:
        """The result of stage 3 as a tree without a request, with it after stage 4; None before."""
        from discover_lib.engines.llm.builder import Organised

        match self.done[-1] if self.done else None:
            case BuiltTree() as built:
                return built.tree
            case Organised() as organised:
                topic = organised.abstracted.synthesised.topic
                return IntentTree(self.artifact.type, topic, "", (), organised.roots)
        return None

    def advance(self) -> None:
        """Ask for the next stage; after the last there is none.

        Raises:
            DiscoverError: it failed, naming the stage, or was cancelled; the stages before it stay.
        """
        from discover_lib.engines.llm.builder import LLMBuilder
        from discover_lib.engines.llm.calls.client import LLMClient
        from discover_lib.engines.llm.calls.exchange import LLMError

        if self.upcoming is None:
            return
        self._stop = stop = threading.Event()
        with LLMClient(self._settings, cache=self._calls, stop=stop) as client:
            builder = LLMBuilder(client, self.model, **self._options.of("builder"))
            stages: tuple[Callable[[Any], Stage], ...] = (
                builder.synthesise,
                builder.abstract,
                builder.organise,
                builder.open,
            )
            try:
                stage = stages[len(self.done)](self.done[-1] if self.done else self.artifact)
            except (RoleError, LLMError) as error:
                raise DiscoverError(" ".join(str(error).split())) from error
        if stop.is_set():
            raise DiscoverError("stopped; the unfinished stage was not kept")
        self.done = (*self.done, stage)

    def advance_to_the_end(self) -> None:
        """All stages that are left.  Raises as `advance`."""
        while self.upcoming:
            self.advance()

    def cancel(self) -> None:
        """End the stage under way at once."""
        self._stop.set()


class Errand:
    """Does one thing at a time beside the page, which stays alive while a model is waited for.

    All that it calls is called on the page's own loop.

    Args:
        on_begin: when it starts.
        on_end: with what went wrong in one line, "" if nothing did.
    """

    def __init__(self, on_begin: Callable[[], Any], on_end: Callable[[str], Any]) -> None:
        self._on_begin, self._on_end = on_begin, on_end
        self._task: asyncio.Task[None] | None = None
        self.running = False

    def start(self, action: Callable[..., Any], *arguments: Any, then: Callable[[], Any] | None = None) -> None:
        """Run `action(*arguments)` in a thread, then `then` if it went well."""
        self._task = asyncio.get_running_loop().create_task(self.run(action, *arguments, then=then))

    async def run(self, action: Callable[..., Any], *arguments: Any, then: Callable[[], Any] | None = None) -> None:
        """As `start`, awaited."""
        self.running, trouble = True, ""
        self._on_begin()
        try:
            await asyncio.to_thread(action, *arguments)
        except ValueError as error:  # a session's refusal is one
            trouble = str(error)
        except asyncio.CancelledError:
            trouble = "stopped"
            raise
        except Exception as error:  # nobody else would see what a task raised
            trouble = f"{type(error).__name__}: {error}"
        finally:
            self.running = False
            if then and not trouble:
                then()
            self._on_end(trouble)


def connection_button(chosen: Callable[[], Choice], roles: tuple[str, ...], tell: Callable[[Markup], Any]) -> Any:
    """A button that asks every chosen model for one word.

    Args:
        chosen: the choice at the moment of the press; it may raise `ChoiceError`.
        tell: takes the note, and then the answers.
    """
    import marimo as mo

    from discover_lib.runs.doctor import check_connection
    from workbench.controls import ChoiceError, connection_lines

    held: set[asyncio.Task[None]] = set()  # the loop drops a task without a reference

    async def test() -> None:
        try:
            choice = chosen()
            lines = await asyncio.to_thread(
                check_connection, choice.players(roles), choice.client_settings, choice.options
            )
        except ChoiceError as error:
            tell(error_line(str(error)))
        else:
            tell(connection_lines(lines))

    def start(_: Any) -> None:
        tell(quiet("Asking every chosen model for one word …"))
        held.add(task := asyncio.get_running_loop().create_task(test()))
        task.add_done_callback(held.discard)

    return mo.ui.button(label="Test the connection", on_click=start)
