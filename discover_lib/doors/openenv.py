"""OpenEnv: the user as an environment server (`discover serve`), with one user per session."""

from __future__ import annotations

from collections.abc import Callable
from random import randrange
from typing import Any
from uuid import uuid4

from discover_lib.doors.episode import DoorError, Episode, absent

try:
    from fastapi.responses import JSONResponse
    from openenv.core.env_server import http_server, interfaces, types
except ImportError as error:
    raise absent("openenv", error) from error


class Reply(types.Action):
    """The assistant's reply."""

    text: str


class UserTurn(types.Observation):
    """The user's message; None at the end of the episode.  `reward` is None for an unscored turn."""

    message: str | None = None


class UserState(types.State):
    """`episode` is the state as JSON, with the user's hidden intents: for trainers, not for the assistant."""

    episode: str = ""


class DiscoverUser(interfaces.Environment):
    """A simulated user; `reset` also accepts `artifact` and `trial`, and draws a seed if it gets none."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.episode = Episode(**options)
        self._id: str | None = None

    def reset(self, seed: int | None = None, episode_id: str | None = None, **whom: Any) -> UserTurn:
        self._id = episode_id or str(uuid4())
        seed = randrange(2**31) if seed is None else seed
        opening, talk = self.episode.reset(seed, **whom), self.episode.conversation.setting
        return UserTurn(message=opening, metadata={"seed": seed, "artifact": talk["artifact"], "trial": talk["trial"]})

    def step(self, action: Reply, timeout_s: float | None = None, **_: Any) -> UserTurn:
        message, reward, done, info = self.episode.step(action.text)
        return UserTurn(message=message, reward=reward, done=done, metadata=info)

    @property
    def state(self) -> UserState:
        taken = len(self.episode.conversation.turns) if self._id else 0
        return UserState(episode_id=self._id, step_count=taken, episode=self.episode.state if self._id else "")

    def close(self) -> None:
        self.episode.close()


def app(sessions: int = 64, **options: Any) -> Any:
    """The server as an ASGI application, for at most so many sessions at once."""
    Episode(**options).close()  # check the options before serving
    users = http_server.create_app(
        lambda: DiscoverUser(**options), Reply, UserTurn, "discover", max_concurrent_envs=sessions, state_cls=UserState
    )
    users.add_exception_handler(DoorError, lambda _, error: JSONResponse({"detail": str(error)}, status_code=409))
    return users


def serve(host: str, port: int, sessions: int, guard: Callable[[Any], Any], **options: Any) -> None:
    """Serve until interrupted; `guard` wraps the application."""
    import uvicorn

    users = guard(app(sessions, **options))
    print(f"simulated users at http://{host}:{port} (OpenEnv; Ctrl-C ends it)", flush=True)
    uvicorn.run(users, host=host, port=port, log_level="warning")
