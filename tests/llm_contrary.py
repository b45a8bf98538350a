"""A model that does its work and gets something wrong in every answer it can: a brain for `llm_server`.

It is the miniature behind the wire (`llm_brain`), held to what the prompts ask of a capable model (five trees), whose
answers pass through a list of *habits*.  A habit is a function of one answer; what it does not concern it returns as
it is:

    def cut(answer: Given) -> str: return answer.text[: len(answer.text) // 2] if answer.task == "user_reply" else ...
    brain = Contrary(habits=(denies_an_edge, cut))
    with FakeServer(brain) as server: ...

`willing` is the same model without habits: what the contrary one is compared with.  In a process of its own:
``python tests/llm_server.py --brain llm_contrary:contrary``.
"""

from __future__ import annotations

import json
import re
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import llm_brain
from llm_server import Cut

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


# -- habits of a builder -------------------------------------------------------------------------------------------


def denies_an_edge(given: Given) -> str:
    """Of every forest one edge is said not to hold, without a better place."""
    if given.task != "superset_check" or isinstance(given.text, Cut):
        return given.text
    data = given.data
    pair = data["pairs"][len(given.prompt) % len(data["pairs"])]  # the same in every run
    pair |= {"narrow_implies_broad": False, "reason": "a counter-example comes to mind"}
    return json.dumps(data, ensure_ascii=False)


def leaks_in_the_request(given: Given) -> str:
    """Every first message gives a hidden intent away, until it is asked for again."""
    if given.task != "initial_request" or given.asked_again or isinstance(given.text, Cut):
        return given.text
    data = given.data
    data["request"] = f"hi, could you make me something? {_LATENT.findall(given.prompt)[-1].lower()}"
    return json.dumps(data, ensure_ascii=False)


# -- habits of every role ------------------------------------------------------------------------------------------

THOUGHT = '<think>Perhaps {"draft": true}? No, better look again.</think>\n'
SAYS_NONE = (["none"], ["n/a"], [""])
LISTS = {"response_evaluation": "intents", "satisfaction_judge": "scores", "behaviour_annotation": "turns"}


class CutsTheTenth:
    """About a tenth of all replies ends in the middle, with the finish reason "length"; asked again, none does."""

    __name__ = "cuts_the_tenth"

    def __init__(self) -> None:
        self._seen: set[tuple[str, str]] = set()
        self._lock = threading.Lock()

    def __call__(self, given: Given) -> str:
        with self._lock:
            known = (given.task, given.prompt) in self._seen
            self._seen.add((given.task, given.prompt))
        tenth = zlib.crc32(f"{given.task}|{given.prompt}".encode()) % 10 == 0  # the same in every run
        return Cut(given.text[: len(given.text) // 2]) if tenth and not known and not given.asked_again else given.text


def gives_stray_ids(given: Given) -> str:
    """Every list about intents or turns has an entry that was not asked for."""
    if given.task not in LISTS or isinstance(given.text, Cut):
        return given.text
    data = given.data
    strange = {"id": "99.9", "turn": 99}
    entry = data[LISTS[given.task]][0]
    data[LISTS[given.task]].append({name: strange.get(name, value) for name, value in entry.items()})
    return json.dumps(data, ensure_ascii=False)


def contradicts_itself(given: Given) -> str:
    """Whatever is met together with something more specific is said to be missed."""
    if given.task != "response_evaluation" or isinstance(given.text, Cut):
        return given.text
    data = given.data
    met = [entry["id"] for entry in data["intents"] if entry["engaged"]]
    for entry in data["intents"]:
        if entry["engaged"] and any(other.startswith(entry["id"] + ".") for other in met):
            entry |= {"engaged": False, "near_misses": ["something else"]}
    return json.dumps(data, ensure_ascii=False)


def lists_none(given: Given) -> str:
    """Where there is no near miss the list says so in words."""
    if given.task != "response_evaluation" or isinstance(given.text, Cut):
        return given.text
    data = given.data
    for at, entry in enumerate(data["intents"]):
        entry["near_misses"] = entry["near_misses"] or list(SAYS_NONE[at % len(SAYS_NONE)])
    return json.dumps(data, ensure_ascii=False)


def thinks_aloud(given: Given) -> str:
    """Every answer and every reply begins with a draft between tags."""
    return given.text if isinstance(given.text, Cut) else THOUGHT + given.text


def contrary_in_everything() -> Contrary:
    """All habits together."""
    builder = (denies_an_edge, leaks_in_the_request)
    return Contrary((CutsTheTenth(), *builder, gives_stray_ids, contradicts_itself, lists_none, thinks_aloud))


willing = Contrary()
contrary = Contrary(habits=(denies_an_edge, leaks_in_the_request))
