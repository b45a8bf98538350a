"""One event loop for the whole process, in a thread of its own, and the calls that a client has in flight there.

One and not one per client, because LiteLLM keeps connections and workers that belong to the loop that first used them.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")

STOP_LOOK_SECONDS = 0.05  # how often calls in flight look whether they are to stop
END_SECONDS = 10.0  # how long cancelled calls may take to let go


class _LoopThread:
    """An event loop that runs until the process ends."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="llm-calls", daemon=True)
        self._thread.start()
        atexit.register(self._end)

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()
        rest = asyncio.all_tasks(self.loop)
        for task in rest:
            task.cancel()
        self.loop.run_until_complete(asyncio.gather(*rest, return_exceptions=True))
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.close()

    def _end(self) -> None:
        if self.alive:
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join(END_SECONDS)


_lock = threading.Lock()
_running: list[_LoopThread] = []


def process_loop() -> asyncio.AbstractEventLoop:
    """The process's loop for calls; started when it is first needed, and anew in a forked process."""
    with _lock:
        if not _running or not _running[-1].alive:
            _running.append(_LoopThread())
        return _running[-1].loop


class CallsInFlight:
    """What one client has running in the loop; all of it ends when `stop` is set."""

    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop
        self._tasks: set[asyncio.Task[Any]] = set()
        self._watcher: asyncio.Task[None] | None = None

    def submit(self, call: Coroutine[Any, Any, Result]) -> concurrent.futures.Future[Result]:
        """Start a call; may be used from any thread."""
        return asyncio.run_coroutine_threadsafe(self._track(call), process_loop())

    def end(self, *afterwards: Coroutine[Any, Any, None]) -> None:
        """Cancel what is running, wait until it has let go, then run `afterwards`."""
        asyncio.run_coroutine_threadsafe(self._end(afterwards), process_loop()).result(END_SECONDS)

    async def _track(self, call: Coroutine[Any, Any, Result]) -> Result:
        task = asyncio.current_task()
        assert task
        self._tasks.add(task)
        if self._watcher is None or self._watcher.done():
            self._watcher = asyncio.create_task(self._watch())
        try:
            return await call
        finally:
            self._tasks.discard(task)

    async def _watch(self) -> None:
        while self._tasks:
            if self._stop.is_set():
                self._cancel_all()
            await asyncio.sleep(STOP_LOOK_SECONDS)

    def _cancel_all(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()

    async def _end(self, afterwards: tuple[Coroutine[Any, Any, None], ...]) -> None:
        self._cancel_all()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for each in afterwards:
            await each
