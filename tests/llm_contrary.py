"""A model that does its work and gets something wrong in every answer it can: a brain for `llm_server`.

The answers of the miniature behind the wire (`llm_brain`) pass through a list of *habits*.  A habit is a function of
one answer and returns other answers as they are.  `Contrary()` is the same model without habits.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import llm_brain

from discover_lib.base.tokens import count_tokens

MOST_ASPECTS = 5
TOPIC = "everyday life"
_ROOT = re.compile(r"^- \[([\d.]+)\] (.*)$", re.MULTILINE)
_LATENT = re.compile(r"^- (?!\[)(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Given:
    """One answer on its way out.

    Attributes:
        task: name of the prompt that it answers; "assistant" for a reply to a conversation.
        number: how many requests of this task came before.
        prompt: the last message of the request.
        asked_again: the request names what was wrong with an answer before.
    """

    task: str
    number: int
    prompt: str
    asked_again: bool
    text: str

    @property
    def data(self) -> dict[str, Any]:
        """A structured answer as an object; what a habit changes in it is no other's."""
        return json.loads(self.text)


Habit = Callable[[Given], str]


@dataclass
class Contrary:
    """The model with these habits; `counts` tells how often each did something, and how many requests there were."""

    habits: Sequence[Habit] = ()
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers: Counter[str] = Counter()

    def __call__(self, messages: list[dict[str, Any]], body: Mapping[str, Any]) -> tuple[str, int]:
        task = llm_brain.TASKS.get(str(messages[0]["content"]), "assistant")
        with self._lock:
            number, self._numbers[task] = self._numbers[task], self._numbers[task] + 1
        text, tokens = llm_brain.answer(messages, body)
        text = _as_the_prompts_ask(task, messages, text)
        prompt = str(messages[1]["content"]) if task != "assistant" else str(messages[-1]["content"])
        given = Given(task, number, prompt, task != "assistant" and len(messages) > 2, text)
        for habit in self.habits:
            changed = replace(given, text=habit(given))
            if changed.text != given.text:
                with self._lock:
                    self.counts[habit.__name__] += 1
            given = changed
        return given.text, tokens if given.text == text else count_tokens(given.text)


def _as_the_prompts_ask(task: str, messages: list[dict[str, Any]], text: str) -> str:
    """A capable model keeps to few aspects and a topic that gives no requirement away, and names one of them first."""
    if task not in ("requirement_synthesis", "initial_request") or not text.startswith("{"):
        return text
    data = json.loads(text)
    if task == "requirement_synthesis":
        aspects = list(dict.fromkeys(item["aspect"] for item in data["items"]))[:MOST_ASPECTS]
        data |= {"topic": TOPIC, "items": [item for item in data["items"] if item["aspect"] in aspects]}
    elif not data["chosen"]:
        root_id, wish = _ROOT.findall(str(messages[1]["content"]))[0]
        data = {"chosen": [root_id], "request": f"hi! {wish[:1].lower()}{wish[1:]}, can you do that?"}
    return json.dumps(data, ensure_ascii=False)


def denies_an_edge(given: Given) -> str:
    """One edge of every forest is denied, without a better place."""
    if given.task != "superset_check":
        return given.text
    data = given.data
    pair = data["pairs"][len(given.prompt) % len(data["pairs"])]  # the same in every run
    pair |= {"narrow_implies_broad": False, "reason": "a counter-example comes to mind"}
    return json.dumps(data, ensure_ascii=False)


def leaks_in_the_request(given: Given) -> str:
    """Every first message reveals a hidden intent, until it is asked for again."""
    if given.task != "initial_request" or given.asked_again:
        return given.text
    leak = _LATENT.findall(given.prompt)[-1].lower()
    return json.dumps(given.data | {"request": f"hi, could you make me something? {leak}"}, ensure_ascii=False)


contrary = Contrary(habits=(denies_an_edge, leaks_in_the_request))
