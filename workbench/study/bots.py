"""Simulated participants: each reads the pages of the study, fills in their forms and sends them.

A bot has a tree of intents and the simulated user's voice. Its ratings follow from its discovered share. So bots
rehearse a whole study, and their data can be compared with that of people.
"""

from __future__ import annotations

import html
import random
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from html.parser import HTMLParser
from http.cookiejar import CookieJar
from typing import Any

import msgspec

from discover_lib.base.seeds import derive_rng, derive_seed
from discover_lib.core.simulator import UserSimulator
from discover_lib.engines.manner import Manner
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import generate_artifact
from workbench.study.design import Study

MOST_PAGES = 400  # of one bot; more pages mean a loop
NOISE = 1.2  # standard deviation of a bot's ratings, in points
CONTENT = "Thank you, I like it. Please continue."
OPINION = "It showed me things that I could like or dislike, and so I found out what I wanted."


@dataclass
class Form:
    """A form of a page: its hidden fields, its other fields by kind, and the values of its buttons."""

    action: str
    hidden: dict[str, str] = field(default_factory=dict)
    radios: dict[str, list[str]] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    boxes: dict[str, str] = field(default_factory=dict)
    buttons: list[str] = field(default_factory=list)


class PageReader(HTMLParser):
    """The parts of a page that a bot reads: its forms and the assistant's messages."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self.replies: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append(Form(given.get("action", "")))
        elif tag == "li" and given.get("data-role") == "assistant":
            self.replies.append(given["data-text"])
        if not self.forms:
            return
        form, name, value = self.forms[-1], given.get("name", ""), given.get("value", "")
        if tag == "textarea" or (tag == "input" and given.get("type") == "text"):
            form.texts.append(name)
        elif tag == "button":
            form.buttons.append(value)
        elif tag == "input":
            match given.get("type"):
                case "hidden":
                    form.hidden[name] = value
                case "radio":
                    form.radios.setdefault(name, []).append(value)
                case "checkbox":
                    form.boxes[name] = value

    def form(self, step: str) -> Form | None:
        return next((form for form in self.forms if form.hidden.get("step") == step), None)


class Bot:
    """One simulated participant.

    Args:
        number: number of the participant. The same number gives the same answers on the same pages.
        manner: typing style. None means the paper's.
    """

    def __init__(self, url: str, study: Study, number: int, seed: int = 0, manner: Manner | None = None) -> None:
        self.url, self.study, self.number, self.manner = url, study, number, manner
        self.rng: random.Random = derive_rng(seed, "bot", number)
        opener = urllib.request.HTTPCookieProcessor(CookieJar())
        self._opener = urllib.request.build_opener(opener)
        self._user: UserSimulator | None = None
        self._heard, self._found, self._domain = 0, 0.0, ""

    def run(self) -> str:
        """Take part to the end. Returns the last step.

        Raises:
            RuntimeError: the pages do not end.
        """
        page = self.get("/?bot=1")
        for _ in range(MOST_PAGES):
            reader = PageReader(page)
            form = next((form for form in reader.forms if "step" in form.hidden), None)
            if form is None:
                return "done"
            if form.hidden["step"] == "task":
                shown = html.unescape(page)
                self._domain = next(task.domain for task in self.study.tasks.values() if task.text in shown)
            page = self.post("/", self.filled(form, reader))
        raise RuntimeError(f"bot {self.number} still has forms to fill in after {MOST_PAGES} pages")

    def get(self, path: str) -> str:
        with self._opener.open(self.url + path, timeout=60) as answer:
            return answer.read().decode("utf-8")

    def post(self, path: str, fields: Mapping[str, str]) -> str:
        body = urllib.parse.urlencode(fields).encode("utf-8")
        with self._opener.open(self.url + path, body, timeout=60) as answer:
            return answer.read().decode("utf-8")

    def filled(self, form: Form, reader: PageReader) -> dict[str, str]:
        """The fields of the form with this participant's answers."""
        step = form.hidden["step"]
        fields = form.hidden | form.boxes
        admitted = {question.id: question.admitted[0] for question in self.study.eligibility}
        for name, values in form.radios.items():
            fields[name] = admitted.get(name) or self.rng.choice(values)
        if step == "chat":
            ready = [each for each in reader.forms if "finish" in each.buttons]
            if ready:
                self._found, self._user, self._heard = self.found, None, 0
                return ready[0].hidden | {"action": "finish"}
            fields["action"] = form.buttons[0]
            if "text" in form.texts:
                fields["text"] = self.message(reader.replies)
        elif step in ("rating", "final"):
            fields |= {name: self.rating(values) for name, values in form.radios.items()}
            fields |= dict.fromkeys(self.study.final.texts, OPINION) if step == "final" else {}
            if "text" in form.texts and reader.replies:
                fields["text"] = reader.replies[-1]
        elif step == "consent":
            fields["action"] = "yes"
        return fields

    def message(self, replies: list[str]) -> str:
        """The simulated user's next message."""
        if self._user is None:
            roles = engine(self._domain, manner=self.manner)
            tree = roles.builder.build(generate_artifact(self._domain, "eval", self.number % 100)).tree
            self._user = UserSimulator(tree, roles.judge, roles.voice, seed=derive_seed(self.number, "bot"))
            return tree.initial_request
        for reply in replies[self._heard :]:
            self._heard += 1
            if self._user.conversation.stop is None:
                self._user.step(reply)
        turns = self._user.conversation.turns
        return (turns[-1].user_message if turns else None) or CONTENT

    def rating(self, values: list[str]) -> str:
        """A point of a scale: the discovered share of the intents, with noise."""
        points = [int(value) for value in values if value.isdecimal()]
        drawn = round(1 + (points[-1] - 1) * self.found + self.rng.gauss(0, NOISE))
        return str(min(points[-1], max(points[0], drawn)))

    @property
    def found(self) -> float:
        """Share of hidden intents discovered, now or at the end of the conversation."""
        if self._user is None:
            return self._found
        start, state = self._user.conversation.start, self._user.state
        hidden = len(start.discovery) - len(start.discovered)
        return (len(state.discovered) - len(start.discovered)) / hidden if hidden else 1.0


def quick(study: Study) -> Study:
    """The study without waiting times, which bots do not need."""
    return msgspec.structs.replace(study, chat=msgspec.structs.replace(study.chat, reply_seconds=0.0))


def run_bots(
    url: str, study: Study, n: int, seed: int = 0, together: int = 8, manner: Manner | None = None
) -> Counter[str]:
    """Send simulated participants through the pages. Returns last step → number of participants."""

    def run(number: int) -> Any:
        try:
            return Bot(url, study, number, seed, manner).run()
        except (urllib.error.URLError, RuntimeError, OSError) as error:
            return f"failed: {error}"

    with ThreadPoolExecutor(together) as pool:
        return Counter(pool.map(run, range(n)))
