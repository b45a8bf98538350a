"""Language models in a session: asked for one step at a time, stopped at once, their calls kept and added up.

Nothing here is used, and no model library is loaded, while the miniature plays every role.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from discover_lib.engines.llm.calls.exchange import CallCache, Completion, Request
from discover_lib.engines.spec import EngineSpec, RoleEngines
from discover_lib.runs.outcomes import price_line

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
        self._task = asyncio.get_running_loop().create_task(self._run(action, arguments, then))

    async def _run(self, action: Callable[..., Any], arguments: Any, then: Callable[[], Any] | None) -> None:
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
