"""Files for others: JSON lines, the table, the files of the authors' code, and chats from elsewhere."""

import copy
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from discover_lib import Conversation, Discovery, Rules
from discover_lib.base.errors import DiscoverError
from discover_lib.core.rollout import run_conversation
from discover_lib.dataset import authors_format as authors
from discover_lib.dataset.formats import read_chats, to_frame
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import generate_artifact
from discover_lib.engines.miniature.assistants import scripted_assistant
from workbench.main import app


def node(intent_id: str, text: str, aware: float = 0, left: tuple[float, ...] = (), **more: Any) -> dict[str, Any]:
    plain = {"id": intent_id, "text": text, "children": [], "aware": aware, "satisfied": 0, "reason": ""}
    return {**plain, "is_update": False, "update_thresholds": list(left), **more}


def criteria(*roots: dict[str, Any]) -> list[dict[str, Any]]:
    checklist = [{"item": "A red fox with a white tail", "satisfied": 0, "aware": 0, "reason": ""}]
    broad = [{"item": "An animal", "satisfied": 0, "aware": 1, "reason": ""}]
    levels = [
        {"description": "An animal.", "checklist": broad, "lateral_alternatives": []},
        {"description": "A fox, as follows.", "checklist": checklist, "lateral_alternatives": []},
    ]
    return [{"criterion": "A fox, as follows.", "abstractions": levels, "hierarchy": list(roots)}]


def animal(*foxes: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    return criteria(node("1", "An animal", 1, children=list(foxes), **more))


MET: dict[str, Any] = {"satisfied": 1, "update": {"type": "satisfaction", "status": 1}}
START = animal(node("1.1", "A fox", 0, (0.7, 0.2), children=[node("1.1.1", "Red", 0, (0.4, 0.9))]))
WARMER = animal(node("1.1", "A fox", 0.5, (0.2,), children=[node("1.1.1", "Red", 0, (0.15, 0.9))]))
FOUND = animal(
    node("1.1", "A fox", 1, **MET, children=[node("1.1.1", "Red", 0, (0.4, 0.9), update=None)]),
    reason="shows one",
    **MET,
)


def best_of_n() -> dict[str, Any]:
    def candidate(place: int, text: str, delta: float, reward: float, after: Any) -> dict[str, Any]:
        numbers = {"delta_awareness": delta, "delta_satisfaction": 0.0, "reward": reward}
        return {
            "assistant_index": place, "assistant_response": text, **numbers,
            "updated_criteria_objs": copy.deepcopy(after),
            "full_results": {"singleturn": numbers, "multiturn": numbers},
            "future_trajectory": {"criteria_history": [], "chat_history": []},
        }  # fmt: skip

    say = [("user", "Draw an animal."), ("assistant", "Here is a fox."), ("user", "Nearly."), ("assistant", "A wolf?")]
    first = [candidate(0, "A cat.", 0, -0.03, START), candidate(1, "Here is a fox.", 0.5, 0.38, WARMER)]
    second = [candidate(0, "A wolf?", 0.5, 0.5, FOUND), candidate(1, "Hm.", 0, -1.0, WARMER)]
    turns = [{"turn": turn, "chosen_assistant_index": 2 - turn, "candidates": said}
             for turn, said in enumerate((first, second), 1)]  # fmt: skip
    return {
        **{"mode": "best_of_n", "artifact_id": "artifact_7", "artifact_text": "<svg/>"},
        "assistant_configs": [
            {"assistant_index": place, "model_name": "gpt-5-mini", "system_prompt": text, "user_prompt": None}
            for place, text in enumerate(("", "Co-create."))
        ],
        "conversation": [{"role": role, "content": text} for role, text in [*say, ("user", "Yes, that.")]],
        "criteria_history": [copy.deepcopy(each) for each in (START, WARMER, FOUND)],
        "metrics": {"initial_satisfaction": 0.0, "final_awareness": 0.61},
        "turnwise_scores": [{"turn": 1, "delta_awareness": 0.5}, {"turn": 2, "delta_awareness": 0.5}],
        **{"num_turns": 2, "terminated_reason": "max_turns_reached", "terminated": True, "total_tokens": 913},
        "initial_criteria_objs": copy.deepcopy(START),
        "per_turn_candidates": turns,
        **{"assistant_id": None, "trial_id": 2, "timestamp": "2026-02-01T10:00:00"},
    }


def best_of_1() -> dict[str, Any]:
    data = best_of_n()
    data |= {"mode": "best_of_1", "per_turn_candidates": None, "assistant_id": 1}
    return data


def written(folder: Path, data: Any, name: str = "best_of_n.json") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def test_a_run_file_becomes_a_conversation_with_what_it_knows(tmp_path: Path) -> None:
    written(tmp_path, {"artifact_id": "artifact_7", "artifact_type": "SVG drawing"}, "seed.json")
    talk = authors.read_run_file(written(tmp_path, best_of_n()))
    assert talk.rules == Rules.authors() and talk.stop == "max_turns"
    assert talk.tree.artifact_type == "SVG drawing" and talk.tree.initially_discovered == ("1",)
    first, second = talk.turns
    assert first.chosen == 1 and first.reply.assistant == "gpt-5-mini #2"
    assert first.candidate.reward is not None and first.candidate.reward.total == pytest.approx(0.38)
    assert [(each.intent_id, each.cause, each.score) for each in first.candidate.transitions] == [
        ("1.1", "tangential", None),
        ("1.1.1", "tangential", pytest.approx(0.25)),
    ]
    assert talk.state["1.1"] is Discovery.DISCOVERED and talk.state.satisfied == {"1", "1.1"}
    assert all(each.evaluation is None and each.error for turn in talk.turns for each in turn.candidates)
    assert second.user_message == "Yes, that." and "no verdicts" in talk.setting["note"]
    assert Conversation.from_dict(json.loads(json.dumps(talk.to_dict()))) == talk


def wrong(place: str, value: Any = None) -> dict[str, Any]:
    """A run file with another value at a place such as `conversation/0/role`."""
    data = best_of_n()
    *way, last = (int(step) if step.isdigit() else step for step in place.split("/"))
    found: Any = data
    for step in way:
        found = found[step]
    found[last] = value
    return data


ROOTS, CANDIDATE = "criteria_history/0/0/hierarchy", "per_turn_candidates/1/candidates/0"
OTHER_TREE = [node("1", "An animal", 1), node("2", "A mood", 1)]


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        ("conversation", [], "$.conversation"),
        ("conversation/0/role", "system", "conversation[0].role must be 'user'"),
        ("conversation", best_of_n()["conversation"][:3], "its parts do not go together (IndexError"),
        (f"{ROOTS}/0/aware", 0.7, "aware must be 0, 0.5 or 1, got 0.7 - at `$.criteria_history[0][0].hierarchy[0]`"),
        (ROOTS, [*START[0]["hierarchy"], node("1", "Twice")], "is not an intent tree: duplicate id '1'"),
        (f"{CANDIDATE}/reward", "0.5", "$.per_turn_candidates[1].candidates[0].reward"),
        (f"{CANDIDATE}/reward", float("nan"), "$.per_turn_candidates[1].candidates[0].reward"),
        (f"{CANDIDATE}/reward", None, "per_turn_candidates[1].candidates[0] has no reward"),
        ("per_turn_candidates/0/chosen_assistant_index", 5, "its parts do not go together (ValueError: 5"),
        ("criteria_history/1", [*START, {}], "of length <= 1"),
        (
            "per_turn_candidates/0/candidates/0/updated_criteria_objs/0/hierarchy",
            OTHER_TREE,
            "updated_criteria_objs[0].hierarchy has not the intents of criteria_history[0]: 1.1, 1.1.1, 2",
        ),
    ],
)
def test_a_malformed_run_file_is_one_line(place: str, value: Any, said: str, tmp_path: Path) -> None:
    path = written(tmp_path, wrong(place, value))
    with pytest.raises(DiscoverError) as raised:
        authors.read_run_file(path)
    line = str(raised.value)
    assert said in line and line.startswith(f"{path}: ") and "\n" not in line


@pytest.mark.parametrize(
    ("configs", "name"),
    [
        ([{"model_name": "a"}, {"model_name": "b"}], "b #2"),
        ([{"assistant_index": 1, "model_name": "b"}], "b #2"),
        ([{"model_name": "b"}], "b #2"),  # else both files of two assistants would be one assistant's
    ],
)
def test_an_assistant_is_called_by_its_number_in_the_file(configs: list[Any], name: str, tmp_path: Path) -> None:
    data = best_of_1() | {"assistant_configs": configs}
    talk = authors.read_run_file(written(tmp_path, data))
    assert talk.setting["assistants"] == [name] and {turn.reply.assistant for turn in talk.turns} == {name}


def test_a_reply_that_their_judge_failed_on_is_kept_unscored(tmp_path: Path) -> None:
    data = wrong("per_turn_candidates/0/candidates/0/delta_awareness")
    del data["per_turn_candidates"][1]["candidates"][1]["reward"]
    talk = authors.read_run_file(written(tmp_path, data))
    first, second = (turn.candidates[not turn.chosen] for turn in talk.turns)
    assert (first.reward, second.reward, first.error) == (None, None, authors.UNSCORED)
    assert [turn.candidate.reward is None for turn in talk.turns] == [False, False]


def talk_of(rules: Rules, names: tuple[str, ...] = ("adaptive",)) -> Conversation:
    domain = "svg_drawing"
    world, artifact = engine(domain), generate_artifact(domain, "eval", 3)
    setting = {"engine": "miniature", "domain": domain, "artifact": artifact.id, "assistants": list(names), "trial": 0}
    assistants = [scripted_assistant(name, domain) for name in names]
    tree = world.builder.build(artifact).tree
    return run_conversation(tree, world.judge, world.voice, assistants, rules=rules, seed=5, setting=setting)


@pytest.mark.slow
@pytest.mark.parametrize("rules", [Rules.authors(), Rules.paper()])
@pytest.mark.parametrize("names", [("adaptive",), ("draft", "options", "ask")])
def test_our_conversation_survives_their_format(rules: Rules, names: tuple[str, ...], tmp_path: Path) -> None:
    talk = talk_of(rules, names)
    assert authors.export_runs(tmp_path, [talk]) == 1
    (path,) = authors.run_files(tmp_path)
    assert path.parent.name.startswith("artifact_")
    back = authors.read_run_file(path)
    assert back.messages() == tuple(dataclasses.replace(each, notation=None) for each in talk.messages())
    for turn, known in zip(back.turns, talk.turns, strict=True):
        assert (turn.chosen, len(turn.candidates)) == (known.chosen, len(known.candidates))
        for ours, theirs in zip(turn.candidates, known.candidates, strict=True):
            assert ours.after.discovery == theirs.after.discovery and ours.after.satisfied == theirs.after.satisfied
            if rules.thresholds == 2:
                assert ours.after.thresholds == theirs.after.thresholds
            if len(names) > 1:
                assert ours.reward is not None and theirs.reward is not None
                assert ours.reward.total == pytest.approx(theirs.reward.total)


def read_back(path: Path) -> list[Conversation]:
    return [Conversation.from_dict(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.slow
def test_the_table_has_a_row_per_candidate_and_adds_up(tmp_path: Path) -> None:
    talk = talk_of(Rules.paper(), ("draft", "options"))
    imported = authors.read_run_file(written(tmp_path, best_of_n()))
    frame = to_frame([talk, imported])
    assert len(frame) == sum(len(turn.candidates) for each in (talk, imported) for turn in each.turns)
    chosen = frame[frame.chosen & (frame.conversation == 0)]
    assert list(chosen.reward) == [turn.candidate.reward.total for turn in talk.turns if turn.candidate.reward]
    assert (frame.discovered + frame.emerging + frame.hidden == frame.conversation.map({0: len(talk.tree), 1: 3})).all()
    assert (chosen.reward == chosen.reward_discovered + chosen.reward_length).all()
    assert frame[frame.conversation == 1].error.str.contains("no verdicts").all()


def discover(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(each) for each in arguments], catch_exceptions=False)
    return result.exit_code, result.output


@pytest.mark.slow
def test_a_folder_of_theirs_becomes_a_run_and_a_folder_of_theirs_again(tmp_path: Path) -> None:
    written(tmp_path / "theirs" / "artifact_7", best_of_n())
    written(tmp_path / "theirs" / "artifact_7", best_of_1(), "assistant_1_trial_2.json")
    run, back = tmp_path / "run", tmp_path / "back"
    code, said = discover("import", tmp_path / "theirs", "--format", "authors", "--run", run)
    assert (code, "2 conversations" in said, "no verdicts" in said) == (0, True, True), said
    assert len(read_back(run / "conversations.jsonl")) == 2
    code, said = discover("export", run, "--format", "authors", "--out", back)
    assert code == 0 and "cannot hold the judge's verdicts" in said
    files = authors.run_files(back)
    assert sorted(json.loads(path.read_text())["mode"] for path in files) == ["best_of_1", "best_of_n"]
    code, said = discover("export", run, "--format", "jsonl", "--out", back)
    assert code == 0 and read_back(back / "conversations.jsonl") == read_back(run / "conversations.jsonl")


def test_what_an_output_folder_of_theirs_holds_is_counted_once_each(tmp_path: Path) -> None:
    beast = json.loads(json.dumps(best_of_n()).replace("An animal", "A beast"))
    theirs, run, back = tmp_path / "theirs", tmp_path / "run", tmp_path / "back"
    broken = best_of_n() | {"conversation": [], "criteria_history": [], "terminated_reason": "error: timed out"}
    written(theirs / "monday" / "artifact_7", best_of_n())
    written(theirs / "tuesday" / "artifact_7", beast)  # another user under the same name, as they number them
    written(theirs / "wednesday" / "artifact_7", best_of_n())  # the same user again
    written(theirs / "monday" / "artifact_8", broken, "assistant_0.json")
    written(theirs / "monday" / "interactivity_evaluations" / "artifact_7", best_of_n())  # their judge's copy
    code, said = discover("import", theirs, "--run", run)
    assert code == 0 and "3 conversations" in said and "artifact_8/assistant_0.json: ended in an error" in said
    talks = read_back(run / "conversations.jsonl")
    assert [each.setting["artifact"] for each in talks] == ["artifact_7", "artifact_7'", "artifact_7"]
    assert len({each.tree for each in talks}) == 2
    assert discover("export", run, "--format", "authors", "--out", back)[0] == 0
    files = [json.loads(path.read_text()) for path in authors.run_files(back)]
    texts = [each["criteria_history"][0][0]["hierarchy"][0]["text"] for each in files]
    assert sorted(texts) == ["A beast", "An animal", "An animal"]
    code, said = discover("import", theirs / "monday" / "artifact_8", "--run", tmp_path / "none")
    assert code == 2 and "ended in an error before the first message" in said and not (tmp_path / "none").exists()


SHARE_GPT = [{"conversations": [{"from": "human", "value": "an owl"}, {"from": "gpt", "value": "here"}]}]
LINES = [
    {"conversation": [{"role": "user", "content": "an owl"}, {"role": "assistant", "content": "x"}], "toxic": False},
    {"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "a boat"}]},
    {"conversation": []},
]
STUDY = """participant,place,turn,role,text,seconds
p-1,1,1,user,an owl,0
p-1,1,1,assistant,here,1
p-1,1,2,user,'- warmer,2
p-2,1,1,user,a boat,0"""


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("sharegpt.json", json.dumps(SHARE_GPT), [["an owl"]]),
        ("wildchat.jsonl", "\n".join(map(json.dumps, LINES)) + "\n", [["an owl"], ["a boat"]]),
        ("messages.csv", STUDY, [["an owl", "- warmer"], ["a boat"]]),
    ],
)
def test_the_user_s_messages_of_every_form_are_read(name: str, text: str, said: list[Any], tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    assert read_chats(tmp_path / name) == said


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(("a.json", text) for text in ("[]", "{}", "[{}, 2]", '[{"messages": 7}]', "no json", "[" * 100_000)),
        ("a.jsonl", '{"messages": []}\n\n{"mess'),
        ("a.csv", "participant,text\np-1,an owl\n"),
    ],
)
def test_what_holds_no_chat_is_one_plain_error(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, "utf-8")
    with pytest.raises(
        DiscoverError, match=r"^[^\n]*a\.\w+: (no (file of chats|chat found); ShareGPT|not JSON|nested|line 3 is)"
    ):
        read_chats(path)
