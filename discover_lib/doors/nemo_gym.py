"""NeMo Gym: the two coroutines of its `resources_servers.gymnasium.GymnasiumServer`, in plain Python.

Mix `UserSessions` into a server of that class: ``class Server(UserSessions, GymnasiumServer): ...``.  Its package needs
a newer Python than this project, so this module does not import it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from discover_lib.doors.episode import Episode


class UserSessions:
    """A simulated user per session; a row's `verifier_metadata` may have `seed`, `artifact` and `trial`.

    Attributes:
        episode_options: of `Episode`, the same for all sessions.
    """

    episode_options: Mapping[str, Any] = {}

    async def reset(self, metadata: Mapping[str, Any], session_id: str | None = None) -> tuple[str | None, dict]:
        """The user's opening message."""
        self.sessions[session_id] = episode = Episode(**self.episode_options)
        whom = {name: metadata[name] for name in ("seed", "artifact", "trial") if name in metadata}
        return episode.reset(**whom), {"artifact": episode.conversation.setting["artifact"]}

    async def step(
        self, action: Any, metadata: Mapping[str, Any], session_id: str | None = None
    ) -> tuple[str | None, float | None, bool, bool, dict]:
        """The user's next message; an unscored turn's reward is None."""
        episode = self.sessions[session_id]
        message, reward, done, info = await episode.take(said(action))
        cut = info["stop"] in ("max_turns", "error")
        if done:
            self.sessions.pop(session_id)
        return message, reward, done and not cut, cut, info

    @cached_property
    def sessions(self) -> dict[str | None, Episode]:
        """The episodes that are not over, by session."""
        return {}


def said(response: Any) -> str:
    """The text of a reply, given as text or as an OpenAI response."""
    if isinstance(response, str):
        return response
    items = response.model_dump() if hasattr(response, "model_dump") else response
    parts = [part for item in items["output"] if item.get("type") == "message" for part in item["content"]]
    return "".join(part.get("text", "") for part in parts)
