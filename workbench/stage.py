"""The stage as a widget that plays a session: what a person presses on it is done here, and it is shown the result.

The same object serves marimo, JupyterLab and Colab: `StagePlayer(session).widget`.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from discover_lib.base.errors import DiscoverError
from discover_lib.base.json_text import whole_characters
from workbench.live import Errand
from workbench.pages import conversation_page
from workbench.session import Session
from workbench.sources import Settings, assistant_names
from workbench.views.html import static_text
from workbench.views.moments import Moments, Strip, considered_of, stage_of, stage_script

if TYPE_CHECKING:
    from workbench.controls import Choice


@cache
def _widget_class() -> type[Any]:
    import anywidget
    import traitlets

    class StageWidget(anywidget.AnyWidget):
        """Shows a stage; what is pressed comes back as messages."""

        _esm = stage_script()
        _css = static_text("workbench.css") + static_text("map.css") + static_text("stage.css")
        record = traitlets.Dict().tag(sync=True)  # of `views.stage.stage_of`
        now = traitlets.Dict().tag(sync=True)  # the place looked at, and what is going on
        setup = traitlets.Dict().tag(sync=True)  # what can be chosen, and what is
        shared = traitlets.Dict().tag(sync=True)  # the last answer to "share"

    return StageWidget


def stage(session: Session) -> StagePlayer:
    """A session on the stage; `stage(session).widget` goes into a page."""
    return StagePlayer(session)


class StagePlayer:
    """A session on the stage.

    Args:
        session: the one to begin with; another one takes its place when another user is chosen, and the one before is
            kept, on disk and behind "undo".
        note: a line to begin with.
        widget: what is shown on, where it is no anywidget: an object with the same three values.

    Attributes:
        on_change: called after every change of what is shown.
        on_session: called with each session that takes the place of the one before.
        shows_hidden: whether the visitor has asked to see hidden intents.
    """

    def __init__(self, session: Session, note: str = "", widget: Any = None) -> None:
        self.session, self.note = session, note
        self.on_change: Callable[[], Any] = lambda: None
        self.on_session: Callable[[Session], Any] = lambda session: None
        self._before: Session | None = None
        self._chosen: tuple[Settings, Session | None] | None = None  # what the set-up shows: listing users takes long
        self._moments = Moments()
        self._jumps = self._sent = 0
        self.shows_hidden = False
        self.widget: Any = _widget_class()() if widget is None else widget
        self._errand = Errand(self.show, self._ended)
        self.widget.on_msg(lambda widget, content, buffers: self.do(content))
        self.show()

    # -- what is shown ---------------------------------------------------------------------------------------------

    def show(self) -> None:
        """Bring the widget up to date."""
        session = self.session
        strips = [
            Strip(session.label(number), branch.conversation, branch.origin, session.scored_turns)
            for number, branch in enumerate(session.branches)
        ]
        with self.widget.hold_sync():  # one message: no moment at which place and record do not fit
            record = json.dumps(stage_of(strips, self._moments), ensure_ascii=False)
            self.widget.record = json.loads(whole_characters(record))
            if (session.settings, self._before) != self._chosen:
                self._chosen = (session.settings, self._before)
                self.widget.setup = conversation_page.setup(session, self._before)
            self.widget.now = {
                "strip": session.current,
                "turn": session.cursor,
                "jumps": self._jumps,
                "sent": self._sent,
                "asking": self._errand.running,
                "trouble": _sentence(self.note),
                "over": _sentence(session.why_no_next or ""),
                "mute": _sentence(session.why_no_reply or "" if session.settings.recorded else ""),
                "considered": considered_of(session.tree, session.considered, conversation_page.ABOUT),
                "costs": conversation_page.rules_line(session),
            }
        self.on_change()

    # -- what is pressed -------------------------------------------------------------------------------------------

    def do(self, message: Mapping[str, Any]) -> None:
        """Do what a message of the page asks for; what cannot be done becomes one line on it."""
        session, wish = self.session, message.get("do")
        match wish:
            case "next":
                self._act(session.next)
            case "stop":
                self.session.cancel()
                self.show()
            case "jump":
                self._jumps = int(message["jumps"])
                self._act(session.jump, int(message["turn"]), int(message["strip"]))
            case "branch":
                self._act(session.fork)
            case "reply":
                self._act(session.reply, str(message["text"]), then=lambda: setattr(self, "_sent", self._sent + 1))
            case "consider":
                self._act(session.candidates, conversation_page.compared(session))
            case "take":
                self._act(session.take, int(message["place"]))
            case "show":
                self.shows_hidden = bool(message["all"])
                self.on_change()
            case "rules":
                self.open(dataclasses.replace(session.settings, rules=str(message["name"])))
            case "assistant":
                self._act(session.let_play, dataclasses.replace(session.settings, assistant=str(message["name"])))
            case "open":
                self.open(_settings(session.settings, message))
            case "reset":
                self.open(session.settings)
            case "load":
                self._open(lambda: Session.from_text(str(message["text"]), session.folder))
            case "share":
                self.widget.shared = {"number": message["number"], "file": session.text}
            case "undo":
                self.undo()

    def open(self, settings: Settings) -> None:
        """Begin a new conversation; the one before is kept."""
        self._open(lambda: Session(settings, folder=self.session.folder))

    def _open(self, make: Callable[[], Session]) -> None:
        self.session.cancel()
        try:
            fresh = make()
        except DiscoverError as error:
            self.note = str(error)
        else:
            self._before, self.session, self.note = self.session, fresh, ""
            self._moments = Moments()
            self.on_session(fresh)
        self.show()

    def undo(self) -> None:
        """Back to the conversation before the last new one."""
        self.session.cancel()
        if self._before is not None:
            self.session, self._before, self.note = self._before, self.session, ""
            self._moments = Moments()
            self.on_session(self.session)
        self.show()

    def cast(self, players: Choice) -> None:
        """Have others play the roles from now on."""
        used = self.session.settings
        wanted = dataclasses.replace(
            used,
            judge=players.judge,
            voice=players.voice,
            assistant=players.assistant or (used.assistant if used.assistant in assistant_names() else "adaptive"),
            api_base=players.api_base,
            key_variable=players.key_variable,
            leak_check=players.leak_check or "",
        )
        if wanted != used:
            self._act(self.session.let_play, wanted)

    # -- inside ----------------------------------------------------------------------------------------------------

    def _act(self, action: Callable[..., Any], *arguments: Any, then: Callable[[], Any] | None = None) -> None:
        """Do something; that ends the call that is under way."""
        self.session.cancel()
        self.note = ""
        if conversation_page.asks_a_model(self.session, action):
            self._errand.start(action, *arguments, then=then)
            return
        try:
            action(*arguments)
            if then:
                then()
        except DiscoverError as error:
            self.note = str(error)
        self.show()

    def _ended(self, trouble: str) -> None:
        self.note = trouble
        self.show()


def _settings(used: Settings, wanted: Mapping[str, Any]) -> Settings:
    """The settings of another user: what is not named stays."""
    chosen = {name: str(wanted[name]) for name in ("source", "domain", "artifact") if name in wanted}
    return dataclasses.replace(used, **chosen, seed=int(wanted.get("seed", used.seed)))  # type: ignore[arg-type]


def _sentence(line: str) -> str:
    return f"{line[0].upper()}{line[1:].rstrip('.')}." if line else ""
