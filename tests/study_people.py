"""People for a study: over HTTP, over a line that breaks, and in a browser."""

import html
import random
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import msgspec
from playwright.sync_api import Page

from workbench.study.design import Study

PAPER = Path(__file__).resolve().parents[1] / "data" / "study" / "paper.yaml"
LONG = "It showed me several openings, and I could choose among them."
FINAL = {"step": "final", "interaction": "8", "satisfaction": "6", "strengths": LONG, "weaknesses": LONG}
ANSWERS = {
    "consent": {"agreed": "1", "action": "yes"},
    "eligibility": {"adult": "yes", "english": "yes", "weekly": "yes"},
    "rating": {"rating": "7"},
}


def changed(study: Study, **changes: Any) -> Study:
    return msgspec.structs.replace(study, **changes)


def with_chat(study: Study, **changes: Any) -> Study:
    return changed(study, chat=msgspec.structs.replace(study.chat, **changes))


@dataclass
class Seen:
    page: str

    def values(self, name: str) -> list[str]:
        """The values of the fields of a name, such as the steps of its forms."""
        return [html.unescape(each) for each in re.findall(rf'name="{name}" value="([^"]*)"', self.page)]

    @property
    def replies(self) -> list[str]:
        return re.findall(r'<li data-role="assistant" data-text="([^"]*)"', self.page)


@dataclass
class Person:
    """A browser without a script: follows redirects, keeps cookies and every byte that it was sent."""

    client: httpx.Client
    name: str = "kim"
    rated: int = 8  # at the end
    served: list[bytes] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def get(self, path: str = "/") -> Seen:
        return self._read(self.client.get(path))

    def post(self, fields: Mapping[str, str], path: str = "/") -> Seen:
        return self._read(self.client.post(path, data=dict(fields)))

    def _read(self, answer: Any) -> Seen:
        for each in (*answer.history, answer):
            self.served += [each.content, repr(sorted(each.headers.items())).encode(), str(each.url).encode()]
        self.page = answer.text
        self.status = answer.status_code
        return Seen(answer.text)

    def admitted(self, path: str = "/") -> Seen:
        self.get(path)
        self.post({"step": "consent", **ANSWERS["consent"]})
        return self.post({"step": "eligibility", **ANSWERS["eligibility"]})

    def chosen(self) -> Seen:
        topics = self.admitted().values("topic")
        return self.post({"step": "task", "topic": topics[0]})

    def say(self, text: str, n: int, **more: str) -> Seen:
        return self.post({"step": "chat", "action": "send", "n": str(n), "text": text, **more})

    def take_part(self) -> None:
        """From the first page to the last."""
        seen = self.get()
        while seen.values("step"):
            step = seen.values("step")[0]
            answers = ANSWERS | {"final": FINAL | {"interaction": str(self.rated)}}
            seen = self.post({"step": step, **(answers.get(step) or self._chosen_of(seen))})

    def _chosen_of(self, seen: Seen) -> Mapping[str, str]:
        """A topic, the end of a conversation that may end, the reply that is due, or a message."""
        if topics := seen.values("topic"):
            return {"topic": topics[0]}
        actions, n = re.findall(r'value="(finish|resume)"', seen.page), seen.values("n")[0]
        if actions:
            return {"action": actions[0], "n": n}
        self.said.append(f"{self.name} wants the sea, try {len(self.said)}")
        return {"action": "send", "n": n, "text": self.said[-1]}

    def finish(self) -> Seen:
        """Two exchanges, the rating and the final answers."""
        self.say("I would like something about the sea", 0)
        self.say("a bit warmer, please", 1)
        self.post({"step": "rating", "rating": "7"})
        self.post({"step": "chat", "action": "finish"})
        return self.post(FINAL)


class PatientPerson(Person):
    """Sends again what was lost, as the page's script does."""

    def get(self, path: str = "/") -> Seen:
        return self._patient(lambda: super(PatientPerson, self).get(path))

    def post(self, fields: Mapping[str, str], path: str = "/") -> Seen:
        return self._patient(lambda: super(PatientPerson, self).post(fields, path))

    def _patient(self, ask: Callable[[], Seen]) -> Seen:
        for _ in range(900):
            try:
                return ask()
            except httpx.TransportError:  # refused, or cut off in the middle of an answer
                time.sleep(0.1)
        raise TimeoutError("the server does not come back")


class BrowserPerson:
    """Somebody at a browser, who may reload or lose the line.

    Args:
        reload, drop: chances before every form that is sent; the line is back a moment later.
    """

    def __init__(self, page: Page, rng: random.Random, *, reload: float = 0, drop: float = 0) -> None:
        self.page, self.rng, self.reload, self.drop = page, rng, reload, drop
        self.said: list[str] = []
        self.reloads = self.drops = 0

    def take_part(self, url: str, most: int = 60) -> str:
        self.page.goto(f"{url}/?PROLIFIC_PID=kim&SESSION_ID=s-kim")
        for _ in range(most):
            if self.rng.random() < self.reload:
                self.reloads += 1
                self.page.reload()
            step = self.page.locator("input[name=step]").first
            if not step.count():
                break
            self.answer(str(step.input_value()))
        return str(self.page.locator("h1").inner_text())

    def answer(self, step: str) -> None:
        page, button = self.page, self.page.locator("main button").first
        for group in page.locator("fieldset").all():
            choices = group.locator("input[type=radio]")
            yes = group.get_by_label("yes", exact=True)
            (yes if yes.count() else choices.nth(self.rng.randrange(min(10, choices.count())))).check()
        for box in page.locator("input[type=checkbox]").all():
            box.check()
        finish = page.get_by_role("button", name="Finish the conversation")
        if step == "chat" and finish.count():
            button = finish
        for place, area in enumerate(page.locator("textarea").all()):
            text = f"kim wants the sea, try {len(self.said)}" if step == "chat" else f"{LONG} {place}"
            area.fill(text)
            if step == "chat" and button is not finish:
                self.said.append(text)
        dropped = self.rng.random() < self.drop
        page.evaluate("document.querySelector('main').dataset.seen = '1'")
        if dropped:
            self.drops += 1
            page.context.set_offline(True)
            with page.expect_event("requestfailed"):
                button.click()
            page.context.set_offline(False)
        else:
            button.click()
        page.locator("main:not([data-seen]) h1").wait_for()
        page.locator("form[data-resume]").wait_for(state="detached")
