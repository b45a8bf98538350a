"""Simulated participants: each reads the pages of the study, fills in their forms and sends them.

A bot has a tree of intents and the simulated user's voice. Its ratings follow from its discovered share. So bots
rehearse a whole study, and their data can be compared with that of people.
"""

from __future__ import annotations

import html
import random
import re
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from http.cookiejar import CookieJar
from typing import Any

import msgspec

from discover_lib.base.seeds import derive_rng, derive_seed
from discover_lib.core.simulator import UserSimulator
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import generate_artifact
from discover_lib.metrics.discovery import share_discovered
from workbench.study.design import Study

MOST_PAGES = 400  # of one bot; more pages mean a loop
TOGETHER = 8  # bots at a time
NOISE = 1.2  # standard deviation of a bot's ratings, in points
CONTENT = "Thank you, I like it. Please continue."
OPINION = "It showed me things that I could like or dislike, and so I found out what I wanted."


_STEP, _SENT = re.compile(r'name="step" value="(\w+)"'), re.compile(r'name="n" value="(\d+)"')
_REPLY = re.compile(r'<li data-role="assistant" data-text="([^"]*)"')


class Bot:
    """One simulated participant.

    Args:
        number: number of the participant. The same number gives the same answers on the same pages.
    """

    def __init__(self, url: str, study: Study, number: int, seed: int = 0) -> None:
        self.url, self.study, self.number = url, study, number
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
        page = self.ask("/?bot=1")
        for _ in range(MOST_PAGES):
            step = _STEP.search(page)
            if step is None:
                return "done"
            page = self.ask("/", {"step": step[1], **self.filled(step[1], page)})
        raise RuntimeError(f"bot {self.number} still has forms to fill in after {MOST_PAGES} pages")

    def ask(self, path: str, fields: Mapping[str, str] | None = None) -> str:
        """The page at a path, or the page that answers a form with these fields."""
        body = None if fields is None else urllib.parse.urlencode(fields).encode("utf-8")
        with self._opener.open(self.url + path, body, timeout=60) as answer:
            return answer.read().decode("utf-8")

    def filled(self, step: str, page: str) -> dict[str, str]:
        """The fields of the page's form with this participant's answers."""
        study, replies = self.study, [html.unescape(text) for text in _REPLY.findall(page)]
        match step:
            case "consent":
                return {"agreed": "1", "action": "yes"}
            case "eligibility":
                return {question.id: question.admitted[0] for question in study.eligibility}
            case "task":
                shown = html.unescape(page)
                task = next(task for task in study.tasks.values() if task.text in shown)
                self._domain = task.domain
                return {"topic": self.rng.choice(task.topics)}
            case "rating":
                return {"rating": self.rating(study.rating.points)}
            case "final":
                rated = {name: self.rating(scale.points) for name, scale in study.final.scales.items()}
                return rated | dict.fromkeys(study.final.texts, OPINION)
        if 'value="finish"' in page:
            self._found, self._user, self._heard = self.found, None, 0
            return {"action": "finish"}
        sent = _SENT.findall(page)[0]
        if 'value="resume"' in page:
            return {"action": "resume", "n": sent}
        return {"action": "send", "n": sent, "text": self.message(replies)}

    def message(self, replies: list[str]) -> str:
        """The simulated user's next message."""
        if self._user is None:
            roles = engine(self._domain)
            tree = roles.builder.build(generate_artifact(self._domain, "eval", self.number % 100)).tree
            self._user = UserSimulator(tree, roles.judge, roles.voice, seed=derive_seed(self.number, "bot"))
            return tree.initial_request
        for reply in replies[self._heard :]:
            self._heard += 1
            if self._user.conversation.stop is None:
                self._user.step(reply)
        turns = self._user.conversation.turns
        return (turns[-1].user_message if turns else None) or CONTENT

    def rating(self, points: int) -> str:
        """A point of a scale: the discovered share of the intents, with noise."""
        drawn = round(1 + (points - 1) * self.found + self.rng.gauss(0, NOISE))
        return str(min(points, max(1, drawn)))

    @property
    def found(self) -> float:
        """Share of hidden intents discovered, now or at the end of the conversation."""
        if self._user is None:
            return self._found
        share = share_discovered(self._user.conversation)
        return 1.0 if share is None else share


def quick(study: Study) -> Study:
    """The study without waiting times, which bots do not need."""
    return msgspec.structs.replace(study, chat=msgspec.structs.replace(study.chat, reply_seconds=0.0))


def run_bots(url: str, study: Study, n: int, seed: int = 0) -> Counter[str]:
    """Send simulated participants through the pages. Returns last step → number of participants."""

    def run(number: int) -> Any:
        try:
            return Bot(url, study, number, seed).run()
        except (urllib.error.URLError, RuntimeError, OSError) as error:
            return f"failed: {error}"

    with ThreadPoolExecutor(TOGETHER) as pool:
        return Counter(pool.map(run, range(n)))
