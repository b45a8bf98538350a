"""Python's side of the site: the notebooks' widgets, played on pages of a browser instead of anywidget's models.

The worker of the site (`views/static/site_worker.js`) makes one `Host` and hands it what a page sends. Nothing here is
of the browser alone: a test plays the same messages without one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from discover_lib.app.session import Session
from discover_lib.app.stage import StagePlayer
from discover_lib.app.story import PEOPLE, StoryTeller, answering

OPENING = "opening.json"  # the session that the simulator's page opens with, beside the data


class PageModel:
    """Stands where anywidget's model would: a value that is set is posted to the page, and its messages come in.

    Args:
        post: takes names and values that have changed.
    """

    _post: Callable[[Mapping[str, Any]], Any]
    _held: dict[str, Any] | None
    _observers: dict[str, Callable[[Mapping[str, Any]], Any]]
    _on_message: Callable[[Any, Any, Any], Any] | None

    def __init__(self, post: Callable[[Mapping[str, Any]], Any], **values: Any) -> None:
        self.__dict__.update(values, _post=post, _held=None, _observers={}, _on_message=None)

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__[name] = value
        if self._held is None:
            self._post({name: value})
        else:
            self._held[name] = value

    @contextmanager
    def hold_sync(self) -> Iterator[None]:
        """What is set inside is posted at once at the end."""
        held: dict[str, Any] = {}
        self.__dict__["_held"] = held
        try:
            yield
        finally:
            self.__dict__["_held"] = None
            self._post(held)

    def observe(self, call: Callable[[Mapping[str, Any]], Any], name: str) -> None:
        self._observers[name] = call

    def on_msg(self, call: Callable[[Any, Any, Any], Any]) -> None:
        self.__dict__["_on_message"] = call

    def receive(self, sent: Mapping[str, Any]) -> None:
        """Take what a page sent: values that it `set`, or a `message`."""
        self.__dict__.update(sent.get("set", {}))
        for name, value in sent.get("set", {}).items():
            if name in self._observers:
                self._observers[name]({"name": name, "new": value})
        if "message" in sent and self._on_message:
            self._on_message(self, sent["message"], [])


class Host:
    """All pages' models; each is made when its page first sends something.

    Args:
        post: takes the name of a model and a JSON text of what has changed.
        data: the folder with the session that the simulator opens with.
    """

    def __init__(self, post: Callable[[str, str], Any], data: Path) -> None:
        self._post, self._data = post, data
        self._models: dict[str, PageModel] = {}

    def receive(self, name: str, text: str) -> None:
        """Hand a page's message to its model."""
        sent = json.loads(text)
        if name not in self._models:
            model = PageModel(lambda values: self._post(name, json.dumps(values, ensure_ascii=False)))
            self._models[name] = _MODELS[name](self, model)
        self._models[name].receive(sent)

    def _story(self, model: PageModel) -> PageModel:
        model.__dict__["person"] = 0
        return answering(model, StoryTeller(PEOPLE))

    def _stage(self, model: PageModel) -> PageModel:
        session = Session.from_text((self._data / OPENING).read_text(encoding="utf-8"))
        StagePlayer(session, widget=model)
        return model


_MODELS = {"story": Host._story, "stage": Host._stage}
