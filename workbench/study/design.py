"""The study file: one YAML file that defines a study. It is checked before the first participant."""

from __future__ import annotations

import datetime
import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import load_yaml
from discover_lib.base.seeds import derive_rng
from discover_lib.engines.miniature.assistants import SCRIPTED
from discover_lib.engines.miniature.lexicon import ALL_DOMAINS
from discover_lib.engines.spec import asked_assistants, check_assistant

PLACEHOLDER = "CHANGE-ME"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Part of the study file. An unknown field is an error."""


class Condition(_Part, frozen=True):
    assistant: str


class Task(_Part, frozen=True):
    text: str
    topics: list[str]
    domain: str = ""  # domain of the miniature, for scripted assistants


class Chat(_Part, frozen=True):
    minimum: int = 8  # exchanges
    maximum: int = 30
    rate_every: int = 3
    reply_seconds: float = 4.0
    budget_dollars: float | None = None


class Scale(_Part, frozen=True):
    question: str
    low: str
    high: str
    points: int = 10


class FreeText(_Part, frozen=True):
    question: str
    minimum: int = 50  # characters


class Final(_Part, frozen=True):
    scales: dict[str, Scale]
    texts: dict[str, FreeText] = {}


class Question(_Part, frozen=True):
    id: str
    question: str
    answers: list[str]
    admitted: list[str]


class Consent(_Part, frozen=True):
    purpose: str
    procedure: str
    risks: str
    benefits: str
    withheld: str = ""  # told at the end only; follows "We had not told you"


class Contact(_Part, frozen=True):
    name: str
    institution: str
    email: str
    board: str = ""


class Data(_Part, frozen=True):
    model_provider: str
    trains_on_it: str
    published: str
    keep_until: datetime.date
    backups: str = "none"


class Rights(_Part, frozen=True):
    """The rights of participants for the information sheet. `discover study check` names each field to be filled in."""

    legal_basis: str = PLACEHOLDER
    complaints: str = PLACEHOLDER
    distress: str = PLACEHOLDER
    withdraw_until: datetime.date | None = None


class Pay(_Part, frozen=True):
    amount: float
    currency: str
    minutes: int


class Codes(_Part, frozen=True):
    completed: str
    screened_out: str
    no_consent: str


class Cell(NamedTuple):
    """The assignment of a participant."""

    task: str
    condition: str


class Study(_Part, frozen=True):
    """A study. `data/study/paper.yaml` explains the fields."""

    name: str
    title: str
    participants: int
    conditions: dict[str, Condition]
    tasks: dict[str, Task]
    rating: Scale
    final: Final
    consent: Consent
    contact: Contact
    data: Data
    rights: Rights = Rights()
    seed: int = 0
    chat: Chat = Chat()
    eligibility: list[Question] = []
    pay: Pay | None = None
    prolific: Codes | None = None
    timeout_minutes: float = 120

    @property
    def assistants(self) -> list[str]:
        return [condition.assistant for condition in self.conditions.values()]

    @property
    def cells(self) -> list[Cell]:
        """Each task with each condition."""
        return [Cell(task, condition) for task in self.tasks for condition in self.conditions]

    def cell(self, slot: int) -> Cell:
        """The assignment of a slot. Each block contains each cell once, in a random order."""
        block, place = divmod(slot, len(self.cells))
        return _block(tuple(self.cells), self.seed, block)[place]

    @property
    def version(self) -> str:
        """A hash of the whole study file, stored with each answer."""
        return hashlib.sha256(msgspec.json.encode(self, order="sorted")).hexdigest()[:12]


@lru_cache(maxsize=4096)
def _block(cells: tuple[Cell, ...], seed: int, block: int) -> tuple[Cell, ...]:
    drawn = list(cells)
    derive_rng(seed, "block", block).shuffle(drawn)
    return tuple(drawn)


def load_study(path: Path) -> Study:
    """Read and check a study file.

    Raises:
        DiscoverError: a field is missing, unknown or impossible. The message names it.
    """
    if not path.exists():
        raise DiscoverError(f"{path}: no such file; copy data/study/paper.yaml and change it for your study")
    plain = load_yaml(path)
    try:
        study = msgspec.convert(plain, Study, strict=False)
    except msgspec.ValidationError as error:
        raise DiscoverError(f"{path}: {error}") from None
    if problem := _problem(study):
        raise DiscoverError(f"{path}: {problem}")
    return study


def _problem(study: Study) -> str:
    """The first problem of a study, or ""."""
    chat, scales = study.chat, {"rating": study.rating, **study.final.scales}
    impossible: Mapping[str, bool] = {
        "conditions: give at least two": len(study.conditions) < 2,
        "tasks: give at least one": not study.tasks,
        "tasks: give each at least one topic": not all(task.topics for task in study.tasks.values()),
        "participants: at least one for every cell of a block": study.participants < len(study.cells),
        "chat: 1 ≤ minimum ≤ maximum": not 1 <= chat.minimum <= chat.maximum,
        "chat.rate_every and chat.reply_seconds: not negative": chat.rate_every < 0 or chat.reply_seconds < 0,
        "final.scales: at least one": not study.final.scales,
        "scales: 2 to 11 points": not all(1 < scale.points < 12 for scale in scales.values()),
        "conditions: the oracle is shown intents, and the intents of people are unknown; choose another assistant": (
            "oracle" in study.assistants
        ),
        "name: use letters, digits, - and _ only, because it names the folder": not _NAME.fullmatch(study.name),
        "eligibility: admitted answers are among the answers": not all(
            set(question.admitted) <= set(question.answers) for question in study.eligibility
        ),
    }
    if problems := [text for text, wrong in impossible.items() if wrong]:
        return "; ".join(problems)
    scripted = [name for name in study.assistants if name in SCRIPTED]
    for assistant in study.assistants:
        try:
            check_assistant(assistant, {task.domain for task in study.tasks.values()})
        except DiscoverError as error:
            return f"conditions: {error}"
    for name, task in study.tasks.items():
        if scripted and task.domain not in ALL_DOMAINS:
            known = ", ".join(ALL_DOMAINS)
            return f"tasks.{name}.domain: {scripted[0]} is scripted and needs a domain of the miniature ({known})"
    return ""


def unfilled(study: Study) -> list[str]:
    """The fields with the example's words. Fill them in before you show the study to others."""
    rights = msgspec.structs.asdict(study.rights)
    empty = [name for name, value in rights.items() if not value or PLACEHOLDER in str(value)]
    found = [f"rights.{name}: to be filled in" for name in empty]
    if study.prolific and any(PLACEHOLDER in code for code in msgspec.structs.astuple(study.prolific)):
        found.append("prolific: replace the example's completion codes")
    if "example.org" in study.contact.email:
        found.append("contact: replace the example's address")
    return found


def hints(study: Study) -> list[str]:
    """Settings that are possible, but may be mistakes."""
    cells, models = len(study.cells), asked_assistants(study.assistants)
    scripted = [name for name in study.assistants if name in SCRIPTED]
    until = study.rights.withdraw_until
    possible: Mapping[str, object] = {
        f"{study.participants} participants do not fill blocks of {cells}, so the last block is not balanced": (
            study.participants % cells
        ),
        **dict.fromkeys(unfilled(study), True),
        "rights.withdraw_until is after data.keep_until, when the data is already deleted": (
            until and until > study.data.keep_until
        ),
        f"texts of participants go to {', '.join(dict.fromkeys(models))}: name them in data.model_provider": models,
        "chat.budget_dollars: without a budget a participant may spend without limit": models
        and study.chat.budget_dollars is None,
        f"{', '.join(dict.fromkeys(scripted))}: for rehearsals; it understands few words of people": scripted,
        "conditions: two have the same assistant": len(set(study.assistants)) < len(study.assistants),
        "data.keep_until is in the past": study.data.keep_until < datetime.date.today(),
        "chat.reply_seconds is 0: the time of a reply may reveal the condition": not study.chat.reply_seconds,
    }
    return [hint for hint, holds in possible.items() if holds]
