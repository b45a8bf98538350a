"""Somebody who takes part in a study over HTTP, and one who does so by a line that breaks."""

import time
import urllib.error
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from starlette.testclient import TestClient

from discover_lib.app.study.bots import Bot, Form, PageReader
from discover_lib.app.study.design import Study

PAPER = Path(__file__).resolve().parents[1] / "data" / "study" / "paper.yaml"
LONG = "It showed me several openings, and I could choose among them."
FINAL = {"step": "final", "interaction": "8", "satisfaction": "6", "strengths": LONG, "weaknesses": LONG}


def changed(study: Study, **changes: Any) -> Study:
    return msgspec.structs.replace(study, **changes)


def with_chat(study: Study, **changes: Any) -> Study:
    return changed(study, chat=msgspec.structs.replace(study.chat, **changes))


@dataclass
class Person:
    """A browser without a script: follows redirects, keeps cookies and every byte that it was sent."""

    client: TestClient
    served: list[bytes]

    def get(self, path: str = "/") -> PageReader:
        return self._read(self.client.get(path))

    def post(self, fields: Mapping[str, str], path: str = "/") -> PageReader:
        return self._read(self.client.post(path, data=dict(fields)))

    def _read(self, answer: Any) -> PageReader:
        for each in (*answer.history, answer):
            self.served += [each.content, repr(sorted(each.headers.items())).encode(), str(each.url).encode()]
        self.page = answer.text
        self.status = answer.status_code
        return PageReader(answer.text)

    def admitted(self, path: str = "/") -> PageReader:
        """Through consent and eligibility, to the task."""
        self.get(path)
        self.post({"step": "consent", "agreed": "1", "action": "yes"})
        return self.post({"step": "eligibility", "adult": "yes", "english": "yes", "weekly": "yes"})

    def chosen(self) -> PageReader:
        topics = self.admitted().forms[0].radios["topic"]
        return self.post({"step": "task", "topic": topics[0]})

    def say(self, text: str, n: int, **more: str) -> PageReader:
        return self.post({"step": "chat", "action": "send", "n": str(n), "text": text, **more})

    def finish(self) -> PageReader:
        """Two exchanges, the rating and the final answers."""
        self.say("I would like something about the sea", 0)
        self.say("a bit warmer, please", 1)
        self.post({"step": "rating", "rating": "7"})
        self.post({"step": "chat", "action": "finish"})
        return self.post(FINAL)


class PatientBot(Bot):
    """Sends again what was lost, as the page's script does; remembers what it has said."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.said: list[str] = []

    def get(self, path: str) -> str:
        return self._again(lambda: super(PatientBot, self).get(path))

    def post(self, path: str, fields: Mapping[str, str]) -> str:
        return self._again(lambda: super(PatientBot, self).post(path, fields))

    def _again(self, ask: Any) -> str:
        for _ in range(200):
            try:
                return str(ask())
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        raise TimeoutError("the server does not come back")

    def filled(self, form: Form, reader: PageReader) -> dict[str, str]:
        fields = super().filled(form, reader)
        if fields["step"] == "chat" and fields.get("action") == "send":
            self.said.append(fields["text"])
        return fields
