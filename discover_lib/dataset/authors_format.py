"""The file formats of the authors' released code (github.com/tsook/discoverllm): its run files.

Reading a run file gives a `Conversation` under `Rules.authors()` with the file's states, messages, replies and
rewards.  It has no verdicts and no near misses, so a turn from it cannot be scored under other rules.
What their files hold and our records do not (prompts of assistants, abstractions, marks on intents, times) is left out.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import read_json, write_json
from discover_lib.base.tokens import COUNTING, count_tokens
from discover_lib.core.advance import focus
from discover_lib.core.conversation import Candidate, Conversation, Reply, Stop, Turn
from discover_lib.core.intents import Intent, IntentTree, TreeError
from discover_lib.core.reward import Reward, length_penalty, reward
from discover_lib.core.rules import Rules
from discover_lib.core.state import Discovery, Evaluation, IntentState, Threshold, Transition
from discover_lib.core.view import leaked_words, user_view
from discover_lib.dataset.formats import Foreign, Number, keep_run, parse

RULES = Rules.authors()
ENGINE = "authors' code"
NO_VERDICTS = "the authors' files keep no verdicts, only their effects"
LEVELS = {0: Discovery.UNDISCOVERED, 0.5: Discovery.EMERGING, 1: Discovery.DISCOVERED}
STOPS: dict[str, Stop | None] = {
    "max_turns_reached": "max_turns",
    "all_criteria_satisfied": "all_satisfied",
    "in_progress": None,
    "unknown": None,
}
REASONS = {
    "max_turns": "max_turns_reached",
    "all_satisfied": "all_criteria_satisfied",
    "all_discovered": "unknown",
    "error": "error: not recorded",
    None: "in_progress",
}
JUDGED = ("interactivity_evaluations", "quality_evaluations")  # folders into which their judges copy run files
UNSCORED = "the authors' file holds no score for it"
NOT_HELD = (
    "the judge's verdicts and near misses",
    "the rules, their numbers and the random seed",
    "what the user was shown, and leaks",
    "tokens of single replies, and how they were counted",
    "that everything was discovered (their runs end when everything is satisfied)",
)


# -- the fields that are read of a run file ------------------------------------------------------------------------


class Node(Foreign):
    """An intent with its state.  An id that is not quoted came out of YAML as a number."""

    id: str | int | float
    text: str
    aware: float
    satisfied: Number
    update_thresholds: tuple[Number, ...]
    children: list[Node] | None = None

    def __post_init__(self) -> None:
        self.id = str(self.id)
        if self.aware not in LEVELS:
            raise ValueError(f"aware must be 0, 0.5 or 1, got {self.aware}")


class Criterion(Foreign):
    hierarchy: list[Node]


Criteria = Annotated[list[Criterion], Meta(min_length=1, max_length=1)]  # the authors' code makes one and no more


class Config(Foreign):
    model_name: str
    assistant_index: int | None = None  # else its place in the list


class Said(Foreign):
    role: str
    content: str


class TheirCandidate(Foreign):
    """A reply; without a reward, unless it is the chosen one, where it was not judged."""

    assistant_index: int
    assistant_response: str
    delta_awareness: Number | None = None
    reward: Number | None = None
    updated_criteria_objs: Criteria | None = None


class Candidates(Foreign):
    """The candidates of one turn."""

    candidates: list[TheirCandidate]
    chosen_assistant_index: int


class Score(Foreign):
    delta_awareness: Number


class RunFile(Foreign):
    """`per_turn_candidates` of a best_of_n file alone, `turnwise_scores` and `assistant_id` of a best_of_1 file."""

    artifact_id: str
    mode: str
    assistant_configs: Annotated[list[Config], Meta(min_length=1)]
    conversation: Annotated[list[Said], Meta(min_length=1)]
    criteria_history: Annotated[list[Criteria], Meta(min_length=1)]
    terminated_reason: str
    per_turn_candidates: list[Candidates] | None = None
    turnwise_scores: list[Score] | None = None
    assistant_id: int | None = None
    trial_id: Any = None


class SeedFile(Foreign):
    artifact_type: str


# -- criteria: a tree and a state in one ---------------------------------------------------------------------------


def _nodes(nodes: Sequence[Node]) -> Iterator[Node]:
    for node in nodes:
        yield node
        yield from _nodes(node.children or ())


def _tree(criteria: Sequence[Criterion], artifact_type: str, request: str) -> IntentTree:
    def intent(node: Node) -> Intent:
        return Intent(str(node.id), node.text, tuple(map(intent, node.children or ())))

    roots = criteria[0].hierarchy
    known = tuple(str(node.id) for node in _nodes(roots) if node.aware == 1)
    return IntentTree(artifact_type, "", request, known, tuple(map(intent, roots)))


def _state(criteria: Sequence[Criterion], drawn: Mapping[str, Threshold] | None = None) -> IntentState:
    """The state in a snapshot; `drawn` are the thresholds of the first one."""
    nodes = {str(node.id): node for node in _nodes(criteria[0].hierarchy)}
    left = {name: node.update_thresholds for name, node in nodes.items()}
    satisfied = frozenset(name for name, node in nodes.items() if node.satisfied)
    levels = {name: LEVELS[node.aware] for name, node in nodes.items()}
    return IntentState(levels, satisfied, left, left if drawn is None else drawn)


def _criteria(
    tree: IntentTree, state: IntentState, judged: Evaluation | None = None, moves: Sequence[Transition] = ()
) -> list[dict[str, Any]]:
    """A state as a `criteria_objs`.

    The one description and its checklist are the most specific intents, from which the tree was grown.
    """
    marks = {each.intent_id: each for each in moves if each.cause == "direct"}
    reasons = {each.intent_id: each.reason for each in judged.verdicts if each.engaged} if judged else {}
    kind = "satisfaction" if judged is None or judged.kind == "artifact" else "awareness"

    def node(intent: Intent) -> dict[str, Any]:
        return {
            "id": intent.id,
            "text": intent.text,
            "children": [node(child) for child in intent.children],
            **known(intent.id),
            "is_update": False,
            "update_thresholds": _thresholds_left(state, intent.id),
            "update": {"type": kind, "status": 1} if intent.id in marks else None,
        }

    def known(intent_id: str) -> dict[str, Any]:
        level = state[intent_id].level
        return {
            "aware": int(level) if level.is_integer() else level,
            "satisfied": int(intent_id in state.satisfied),
            "reason": reasons.get(intent_id, "") if kind == "satisfaction" else "",
        }

    leaves = tree.leaves()
    description = "; ".join(map(tree.text, leaves))
    checklist = [{"item": tree.text(leaf), **known(leaf)} for leaf in leaves]
    only = {"description": description, "checklist": checklist, "lateral_alternatives": []}
    return [{"criterion": description, "abstractions": [only], "hierarchy": list(map(node, tree.roots))}]


def _thresholds_left(state: IntentState, intent_id: str) -> list[float]:
    """One threshold per step that is left.  A single θ that resets after use is the next one, and then as drawn."""
    left = state.thresholds.get(intent_id, ())
    if isinstance(left, tuple):
        return list(left)
    drawn = (state.initial_thresholds or {}).get(intent_id, left)
    assert isinstance(drawn, float | int)
    return {0: [left, drawn], 1: [left], 2: []}[state[intent_id].value]


# -- run files: reading --------------------------------------------------------------------------------------------


class BrokenOffError(DiscoverError):
    """A run file of a conversation that ended in an error before the first message; their code leaves it empty."""


def read_run_file(path: Path) -> Conversation:
    """A run file (best_of_1 or best_of_n); a seed.json beside it tells the artifact's type.

    Raises:
        BrokenOffError: it has no conversation.
        DiscoverError: naming the field that is missing or wrong.
    """
    data = read_json(path)
    if isinstance(data, dict) and data.get("conversation") == [] and "error" in str(data.get("terminated_reason")):
        raise BrokenOffError(f"{path}: ended in an error before the first message")
    beside = path.parent / "seed.json"
    artifact_type = parse(SeedFile, read_json(beside), str(beside)).artifact_type if beside.is_file() else ""
    try:
        return _Reader(parse(RunFile, data, str(path)), path).conversation(artifact_type)
    except DiscoverError:
        raise
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise DiscoverError(f"{path}: its parts do not go together ({type(error).__name__}: {error})") from None


@dataclass(frozen=True)
class _Reader:
    """A run file whose fields are of their types; whether they go together is found out on the way."""

    run: RunFile
    path: Path

    def conversation(self, artifact_type: str) -> Conversation:
        run = self.run
        try:
            tree = _tree(run.criteria_history[0], artifact_type, self.said(0, "user"))
        except TreeError as error:
            raise self.wrong(f"criteria_history[0][0].hierarchy is not an intent tree: {error}") from None
        names = self.names()
        start = state = _state(run.criteria_history[0])
        turns: list[Turn] = []
        texts = [tree.initial_request]
        for index in range(1, len(run.criteria_history)):
            turn = self.turn(tree, state, index, names)
            texts.append(turn.reply.text)
            answer = self.said(2 * index, "user") if 2 * index < len(run.conversation) else None
            leaks = leaked_words(answer, tree, turn.after, texts) if answer is not None else ()
            turns.append(dataclasses.replace(turn, user_message=answer, leaks=leaks))
            state = turn.after
            texts += [answer] if answer is not None else []
        setting = {
            "engine": ENGINE,
            "domain": "",
            "artifact": run.artifact_id,
            "assistants": [turns[0].reply.assistant] if turns and run.mode == "best_of_1" else [*names.values()],
            "trial": 0 if run.trial_id is None else run.trial_id,
            "note": f"read from {self.path.name}: {NO_VERDICTS}",
        }
        stop = STOPS.get(run.terminated_reason, "error")  # theirs say "error: ..."
        return Conversation(tree, RULES, 0, start, tuple(turns), stop, setting)

    def names(self) -> dict[int, str]:
        """The names of the assistants, by their number in the file."""
        configs, number = self.run.assistant_configs, self.run.assistant_id
        numbered = {
            place if each.assistant_index is None else each.assistant_index: each.model_name
            for place, each in enumerate(configs)
        }
        if number is not None and number not in numbered:  # the file of one of several names that one alone
            numbered = {number: configs[0].model_name if len(configs) == 1 else "assistant"} | numbered
        return {place: f"{name} #{place + 1}" for place, name in numbered.items()}

    def turn(self, tree: IntentTree, before: IntentState, index: int, names: Mapping[int, str]) -> Turn:
        """Turn `index`; the user's answer to it is added by the caller."""
        run, reply = self.run, self.said(2 * index - 1, "assistant")
        if run.per_turn_candidates is None:
            name = next(iter(names.values())) if run.assistant_id is None else names[run.assistant_id]
            after = self.state(tree, run.criteria_history[index], before, f"criteria_history[{index}]")
            delta = (run.turnwise_scores or [])[index - 1].delta_awareness
            candidates, chosen = [_candidate(tree, before, after, reply, name, delta, None)], 0
        else:
            where, entry = f"per_turn_candidates[{index - 1}]", run.per_turn_candidates[index - 1]
            candidates = [
                self.candidate(tree, before, each, names[each.assistant_index], f"{where}.candidates[{number}]")
                for number, each in enumerate(entry.candidates)
            ]
            chosen = [each.assistant_index for each in entry.candidates].index(entry.chosen_assistant_index)
            if candidates[chosen].reward is None:
                one_of = "reward, delta_awareness or updated_criteria_objs"
                raise self.wrong(f"{where}.candidates[{chosen}] has no {one_of}, and is the reply that went on")
        after, moves = candidates[chosen].after, candidates[chosen].transitions
        view = user_view(tree, after, RULES, None, moves)
        return Turn(index, before, tuple(candidates), chosen, focus(tree, before, RULES), view)

    def state(self, tree: IntentTree, criteria: Sequence[Criterion], before: IntentState, where: str) -> IntentState:
        """The state in a later snapshot, which must be of the same tree."""
        state = _state(criteria, before.initial_thresholds)
        if other := sorted(state.discovery.keys() ^ tree.intents.keys()):
            raise self.wrong(f"{where}[0].hierarchy has not the intents of criteria_history[0]: {', '.join(other):.60}")
        return state

    def candidate(
        self, tree: IntentTree, before: IntentState, each: TheirCandidate, name: str, where: str
    ) -> Candidate:
        text, delta, after = each.assistant_response, each.delta_awareness, each.updated_criteria_objs
        if each.reward is None or delta is None or after is None:
            return Candidate(Reply(text, count_tokens(text), COUNTING, name), None, before, error=UNSCORED)
        state = self.state(tree, after, before, f"{where}.updated_criteria_objs")
        return _candidate(tree, before, state, text, name, delta, each.reward)

    def said(self, index: int, role: str) -> str:
        """The text of message `index`, which must be of that role."""
        message = self.run.conversation[index]
        if message.role != role:
            raise self.wrong(f"conversation[{index}].role must be {role!r}, got {message.role!r}")
        return str(message.content)

    def wrong(self, what: str) -> DiscoverError:
        return DiscoverError(f"{self.path}: {what}")


def _candidate(
    tree: IntentTree, before: IntentState, after: IntentState, text: str, name: str, delta: float, total: float | None
) -> Candidate:
    """A reply with the reward of the file and our count of its tokens."""
    reply = Reply(text, count_tokens(text), COUNTING, name)
    penalty = length_penalty(reply.n_tokens, RULES) if total is None else total - delta
    shares = reward(tree, before, after, reply.n_tokens, RULES).shares
    worth = Reward(delta, penalty, reply.n_tokens, shares)
    return Candidate(reply, None, after, tuple(_moves(tree, before, after)), worth, NO_VERDICTS)


def _moves(tree: IntentTree, before: IntentState, after: IntentState) -> Iterator[Transition]:
    """The transitions between two states; a step of one level that kept a threshold was a near miss."""
    for intent_id in tree.intents:
        was, now = before[intent_id], after[intent_id]
        new = intent_id in after.satisfied and intent_id not in before.satisfied
        left, still = before.thresholds.get(intent_id), after.thresholds.get(intent_id)
        if was == now and not new and left == still:
            continue
        assert isinstance(left, tuple) and isinstance(still, tuple)
        if now - was == 1 and not new and len(left) - len(still) == 1:
            yield Transition(intent_id, was, now, "tangential", theta=left[0])
        elif was == now and not new and left and still:
            yield Transition(intent_id, was, now, "tangential", False, left[0] - still[0], left[0], still[0])
        else:
            yield Transition(intent_id, was, now, "direct", new)


# -- run files: writing --------------------------------------------------------------------------------------------


def run_file(talk: Conversation) -> dict[str, Any]:
    """A conversation as a run file of the authors' code; `NOT_HELD` lists the losses."""
    names = list(talk.setting.get("assistants") or dict.fromkeys(turn.reply.assistant for turn in talk.turns))
    several = any(len(turn.candidates) > 1 for turn in talk.turns)
    snapshots = [_criteria(talk.tree, talk.start)]
    snapshots += [
        _criteria(talk.tree, turn.after, turn.candidate.evaluation, turn.candidate.transitions) for turn in talk.turns
    ]
    levels = [_levels(talk.tree, state) for state in (talk.start, *(turn.after for turn in talk.turns))]
    (satisfied, aware), (satisfied_now, aware_now) = levels[0], levels[-1]
    size = len(talk.tree)
    return {
        "mode": "best_of_n" if several else "best_of_1",
        "artifact_id": str(talk.setting.get("artifact", "")),
        "artifact_text": "",
        "assistant_configs": [
            {"assistant_index": place, "model_name": name, "system_prompt": "", "user_prompt": None}
            for place, name in enumerate(names)
        ],
        "conversation": [{"role": each.role, "content": each.content} for each in talk.messages()],
        "criteria_history": snapshots,
        "metrics": {
            "initial_satisfaction": satisfied / size,
            "initial_awareness": aware / size,
            "final_satisfaction": satisfied_now / size,
            "final_awareness": aware_now / size,
            "satisfaction_improvement": (satisfied_now - satisfied) / size,
            "awareness_improvement": (aware_now - aware) / size,
        },
        "turnwise_scores": [
            {
                "turn": turn.index,
                "delta_satisfaction": now[0] - was[0],
                "delta_awareness": now[1] - was[1],
                "satisfaction_level": now[0] / size,
                "awareness_level": now[1] / size,
            }
            for turn, was, now in zip(talk.turns, levels[:-1], levels[1:], strict=True)
        ],
        "num_turns": len(talk.turns),
        "terminated_reason": REASONS[talk.stop],
        "total_tokens": sum(turn.reply.n_tokens for turn in talk.turns),
        "initial_criteria_objs": snapshots[0],
        "per_turn_candidates": [_candidates(talk, turn) for turn in talk.turns] if several else None,
        "assistant_id": None if several else 0,
        "trial_id": talk.setting.get("trial"),
        "timestamp": datetime.now(UTC).isoformat(timespec="seconds"),
        "terminated": talk.stop is not None,
    }


def _candidates(talk: Conversation, turn: Turn) -> dict[str, Any]:
    def plain(place: int, each: Candidate) -> dict[str, Any]:
        (satisfied, aware), (then_satisfied, then_aware) = (
            _levels(talk.tree, state) for state in (turn.before, each.after)
        )
        # An unscored reply has no number here: theirs would be 0, which would mean a reply without a discovery.
        numbers = {
            "delta_awareness": then_aware - aware if each.reward else None,
            "delta_satisfaction": then_satisfied - satisfied if each.reward else None,
            "reward": each.reward.total if each.reward else None,
        }
        return {
            "assistant_index": place,
            "assistant_response": each.reply.text,
            **numbers,
            "updated_criteria_objs": _criteria(talk.tree, each.after, each.evaluation, each.transitions),
            "full_results": {"singleturn": numbers, "multiturn": numbers},
            "future_trajectory": {"criteria_history": [], "chat_history": []},
        }

    return {
        "turn": turn.index,
        "chosen_assistant_index": turn.chosen,
        "candidates": [plain(place, each) for place, each in enumerate(turn.candidates)],
    }


def _levels(tree: IntentTree, state: IntentState) -> tuple[float, float]:
    """Satisfaction and awareness as the authors add them up: emerging ½, a parent 1 once all its children are."""
    met = IntentState(dict.fromkeys(state.satisfied, Discovery.DISCOVERED))
    satisfied, aware = (reward(tree, IntentState({}), each, 0, RULES).discovered for each in (met, state))
    return satisfied, aware


# -- folders -------------------------------------------------------------------------------------------------------


def run_files(path: Path) -> list[Path]:
    """The run files at a path: the file itself, or those of an output folder of the authors' code.

    Copies that their judges made beside the originals are left out, so each conversation counts once.

    Raises:
        DiscoverError: the folder has no run file.
    """
    if path.is_file():
        return [path]
    found = sorted((*path.rglob("assistant_*.json"), *path.rglob("best_of_n*.json")))
    files = [each for each in found if not set(JUDGED) & set(each.relative_to(path).parts)]
    if not files:
        raise DiscoverError(f"{path}: no run files here (assistant_*.json, best_of_n.json)")
    return files


def import_run(path: Path, folder: Path) -> tuple[int, list[Path]]:
    """Read run files into a run of ours in `folder`.

    Returns:
        The number of conversations, and the files left out, which ended in an error before the first message.

    Raises:
        DiscoverError: a file is wrong (the message names its field), or no file has a conversation; no run is written.
        StoreError: the folder holds something else.
    """
    talks, empty = [], []
    for file in run_files(path):
        try:
            talks.append(read_run_file(file))
        except BrokenOffError as error:
            empty.append((file, error))
    if not talks:
        raise empty[0][1]
    count = keep_run(folder, talks, {"kind": "import", "files": [str(path)], "rules": RULES.to_dict()})
    return count, [file for file, _ in empty]


def export_runs(folder: Path, conversations: Sequence[Conversation] | Iterator[Conversation]) -> int:
    """Write conversations as the authors' code lays them out, `ARTIFACT/assistant_K_trial_N.json`; returns how many.

    Conversations that would share a file name get numbers from the second on.
    """
    places: dict[str, int] = {}
    written: Counter[Path] = Counter()
    for talk in conversations:
        place = places.setdefault("+".join(talk.setting.get("assistants", ())), len(places))
        data, trial = run_file(talk), int(talk.setting.get("trial") or 0)
        stem = "best_of_n" if data["mode"] == "best_of_n" else f"assistant_{place}"
        stem = f"{stem}_trial_{trial}" if trial else stem
        file = folder / _folder_name(data["artifact_id"]) / f"{stem}.json"
        written[file] += 1
        write_json(file.with_stem(f"{stem}_{written[file]}") if written[file] > 1 else file, data)
    return written.total()


def _folder_name(artifact_id: str) -> str:
    """An artifact's id as one folder name; their tools find folders by the prefix `artifact_` alone."""
    plain = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in artifact_id).strip(".")
    return plain if plain.startswith("artifact_") else f"artifact_{plain or 'unnamed'}"
