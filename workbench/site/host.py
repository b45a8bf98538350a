"""Python's side of the site: the notebooks' widgets, played on a page of a browser instead of anywidget's model.

The worker of the site (`views/static/site_worker.js`) opens the page's model and hands it what the page sends. Nothing
here is of the browser alone: a test plays the same messages without one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from workbench.session import Session
from workbench.stage import StagePlayer
from workbench.story import PEOPLE, StoryTeller, answering

OPENING = "opening.json"  # the session that the simulator's page opens with, beside the data


class PageModel:
    """Stands where anywidget's model would: a value that is set is posted to the page, and its messages come in.

    Args:
        post: takes a JSON text of the values that have changed.
    """

    _post: Callable[[str], Any]
    _held: dict[str, Any] | None
    _observers: dict[str, Callable[[Mapping[str, Any]], Any]]
    _on_message: Callable[[Any, Any, Any], Any] | None

    def __init__(self, post: Callable[[str], Any] = lambda text: None, **values: Any) -> None:
        self.__dict__.update(values, _post=post, _held=None, _observers={}, _on_message=None)

    def __setattr__(self, name: str, value: Any) -> None:
        with self.hold_sync() as held:
            self.__dict__[name] = held[name] = value

    @contextmanager
    def hold_sync(self) -> Iterator[dict[str, Any]]:
        """What is set inside is posted at once at the end."""
        if self._held is not None:
            yield self._held
            return
        held = self.__dict__["_held"] = {}
        try:
            yield held
        finally:
            self.__dict__["_held"] = None
            self._post(json.dumps(held, ensure_ascii=False))

    def observe(self, call: Callable[[Mapping[str, Any]], Any], name: str) -> None:
        self._observers[name] = call

    def on_msg(self, call: Callable[[Any, Any, Any], Any]) -> None:
        self.__dict__["_on_message"] = call

    def receive(self, text: str) -> None:
        """Take what the page sent: values that it `set`, or a `message`."""
        sent = json.loads(text)
        self.__dict__.update(sent.get("set", {}))
        for name, value in sent.get("set", {}).items():
            if name in self._observers:
                self._observers[name]({"name": name, "new": value})
        if "message" in sent and self._on_message:
            self._on_message(self, sent["message"], [])


def open_page(name: str, post: Callable[[str], Any], data: Path) -> PageModel:
    """The model of a page; it begins with the values that the page has been built with, and posts what changes.

    Args:
        name: "story" or "stage".
        data: the folder with the session that the simulator opens with.
    """
    model = PageModel(person=0)
    if name == "story":
        answering(model, StoryTeller(PEOPLE))
    else:
        StagePlayer(Session.from_text((data / OPENING).read_text(encoding="utf-8")), widget=model)
    model.__dict__["_post"] = post
    return model
