"""How the answers of a capable model to every structured prompt are read today: one line for each.

    python tools/by_hand.py

The calls are in tests/data/by-hand.  What each prompt showed is put together again from the prompt itself, so that the
answer goes through the checks of its role: accepted, accepted after a repair, or asked again.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discover_lib.base.words import content_words
from discover_lib.core.conversation import Message
from discover_lib.core.intents import Intent, IntentTree
from discover_lib.core.rules import Rules
from discover_lib.core.state import Discovery, IntentState
from discover_lib.core.view import UserView
from discover_lib.engines.llm import answers, builder, judge, organisation, voice
from discover_lib.engines.llm.asking import Read, UnusableError, each_once, read_answer

FOLDER = Path(__file__).parents[1] / "tests" / "data" / "by-hand"
RULES = Rules.paper()
OPENINGS = {
    "You work backwards": "requirement_synthesis",
    "People come to know": "abstraction",
    "You are given requirements": "hierarchy",
    "You are given pairs": "superset_check",
    "Somebody is about": "initial_request",
}
_QUOTED = re.compile(r"<(user|assistant)(\d*)>\n(.*?)\n</\1\2>", re.DOTALL)
_ITEM = re.compile(r"^- \[([\d.]+)\] (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Call:
    """One call: the prompt, the request after its system part, and the answer."""

    number: str
    prompt: str
    asked: str
    answer: str
    again: bool  # the request named an error in an earlier answer


def calls() -> dict[str, Call]:
    """All structured calls by number, in order."""
    found = []
    for line in (FOLDER / "builder.jsonl").read_text("utf-8").splitlines():
        data = json.loads(line)
        system, asked, *more = (message["content"] for message in data["messages"])
        prompt = next(name for opening, name in OPENINGS.items() if system.startswith(opening))
        found.append(Call(data["number"], prompt, asked, data["answer"], bool(more)))
    for line in (FOLDER / "roles.jsonl").read_text("utf-8").splitlines():
        data = json.loads(line)
        asked, *more = data["asked"]
        found.append(Call(data["number"], data["prompt"], asked, data["answer"], bool(more)))
    return {call.number: call for call in sorted(found, key=lambda call: call.number)}


def read(call: Call) -> Read[Any]:
    """The answer as its role reads it.

    Raises:
        UnusableError: the role would ask again, with these words.
    """
    return READERS[call.prompt](call)


# -- the builder's ---------------------------------------------------------------------------------------------------


def head(call: Call, name: str) -> str:
    """The value of a line such as "Topic: gossip"."""
    return re.findall(rf"^{name}: (.*)$", call.asked, re.MULTILINE)[0]


def items_of(call: Call) -> organisation.Items:
    return organisation.Items(dict(_ITEM.findall(call.asked)), {})


def bare_tree(call: Call) -> IntentTree:
    """The roots and the latent intents below the first, which is enough to detect leaks."""
    roots = re.findall(r"^- \[(\d+)\] (.*)$", call.asked, re.MULTILINE)
    latent = re.findall(r"^- (?!\[)(.*)$", call.asked, re.MULTILINE)
    below = tuple(Intent(f"1.{place}", text) for place, text in enumerate(latent, start=1))
    trees = tuple(Intent(key, text, below if key == "1" else ()) for key, text in roots)
    return IntentTree(head(call, "Type of artifact"), head(call, "Topic"), "", (), trees)


def _synthesis(call: Call) -> Read[Any]:
    return read_answer(call.answer, answers.Synthesis, builder.synthesis_defect)


def _abstraction(call: Call) -> Read[Any]:
    specific = re.findall(r"^- (.*)$", call.asked, re.MULTILINE)
    known = content_words(f"{head(call, 'Type of artifact')} {head(call, 'Topic')}")

    def check(answer: answers.Abstraction) -> str | None:
        return builder.abstraction_defect([specific, *(level.items for level in answer.levels)], known)

    return read_answer(call.answer, answers.Abstraction, check)


def _hierarchy(call: Call) -> Read[Any]:
    items = items_of(call)
    return read_answer(call.answer, answers.Hierarchy, lambda each: organisation.hierarchy_defect(each, items))


def _direction(call: Call) -> Read[Any]:
    return read_answer(call.answer, answers.SupersetCheck, lambda _: None)


def _request(call: Call) -> Read[Any]:
    tree = bare_tree(call)

    def check(answer: answers.InitialRequest) -> str | None:
        opened = builder._opened(tree, answer.chosen, answer.request)
        return builder.request_defect(answer, tree.roots) or builder.leak_defect(opened)

    return read_answer(call.answer, answers.InitialRequest, check)


# -- the judge's and the voice's -------------------------------------------------------------------------------------


def part(call: Call, title: str) -> str:
    """The text under the last occurrence of a heading, because a conversation may hold the same words."""
    return call.asked.rpartition(f"\n# {title}\n")[2].partition("\n# ")[0].strip()


def judged_tree(call: Call) -> tuple[IntentTree, IntentState]:
    """The trees and the state that the judge saw, without the hidden rest."""
    shown = re.findall(
        r"^ *- \[([\d.]+)\] \((\w+)\) (.*)$", part(call, "Intents, from broad to specific"), re.MULTILINE
    )
    wishes = _ITEM.findall(part(call, "Known wishes outside the tree"))
    texts = {key: text for key, _, text in shown} | dict(wishes)
    statuses = {key: status for key, status, _ in shown} | {key: "discovered" for key, _ in wishes}

    def grown(key: str) -> Intent:
        return Intent(key, texts[key], tuple(grown(each) for each in texts if each.rpartition(".")[0] == key))

    tree = IntentTree(head(call, "Type of artifact"), "", "", (), tuple(grown(key) for key in texts if "." not in key))
    discovery = {key: Discovery.DISCOVERED if s == "settled" else Discovery[s.upper()] for key, s in statuses.items()}
    return tree, IntentState(discovery, satisfied=frozenset(key for key, s in statuses.items() if s == "settled"))


def _evaluation(call: Call) -> Read[Any]:
    tree, state = judged_tree(call)
    shown = judge.askable(tree, state, RULES)
    return read_answer(
        call.answer, answers.ResponseEvaluation, lambda each: judge.defect(each, shown, tree, state, RULES)
    )


def spoken_view(call: Call) -> tuple[UserView, tuple[Message, ...]]:
    """What the voice was told is in the user's mind, and the conversation."""
    achieved, kind, wanting = re.split(r"^Still wanting \((\w+)\):$", part(call, "In your mind"), flags=re.MULTILINE)
    had, wanted = dict(_ITEM.findall(achieved)), dict(_ITEM.findall(wanting))
    pursuing: Any = None if kind == "nothing" else kind
    view = UserView(tuple(had), pursuing, tuple(wanted), had | wanted)
    return view, tuple(Message(role, text) for role, _, text in _QUOTED.findall(call.asked))  # type: ignore[arg-type]


def _message(call: Call) -> Read[Any]:
    view, messages = spoken_view(call)

    def check(answer: answers.UserMessage) -> str | None:
        return "; ".join(voice.find_flaws(voice.plain(answer.message), view, messages).values()) or None

    return read_answer(call.answer, answers.UserMessage, check)


# -- the scorers' ----------------------------------------------------------------------------------------------------


def _grades(call: Call) -> Read[Any]:
    wanted = dict(_ITEM.findall(part(call, "Requirements")))

    def check(answer: answers.SatisfactionScores) -> str | None:
        return each_once([each.id for each in answer.scores], wanted, "id")

    return read_answer(call.answer, answers.SatisfactionScores, check)


def _rating(call: Call) -> Read[Any]:
    return read_answer(call.answer, answers.Interactivity, lambda _: None)


def _behaviour(call: Call) -> Read[Any]:
    wanted = re.findall(r"annotate: (.*)$", call.asked)[0].split(", ")

    def check(answer: answers.BehaviourAnnotation) -> str | None:
        return each_once([str(each.turn) for each in answer.turns], wanted, "turn")

    return read_answer(call.answer, answers.BehaviourAnnotation, check)


READERS = {
    "requirement_synthesis": _synthesis,
    "abstraction": _abstraction,
    "hierarchy": _hierarchy,
    "superset_check": _direction,
    "initial_request": _request,
    "response_evaluation": _evaluation,
    "user_reply": _message,
    "satisfaction_judge": _grades,
    "interactivity_judge": _rating,
    "behaviour_annotation": _behaviour,
}


def main() -> None:
    outcomes: Counter[str] = Counter()
    for call in calls().values():
        try:
            outcome = line = "accepted" if read(call).clean else "accepted, form mended"
        except UnusableError as error:
            outcome, line = "asked again", f"asked again: {error}"
        outcomes[outcome] += 1
        print(f"{call.number}  {call.prompt}{' (second try)' if call.again else ''}: {line}")
    print(f"{sum(outcomes.values())} answers: {', '.join(f'{n} {what}' for what, n in outcomes.most_common())}")


if __name__ == "__main__":
    main()
