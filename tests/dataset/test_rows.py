"""Rows for training: labels that can be taken again, states that restore, filters that count, splits that hold."""

import dataclasses
import json
from collections.abc import Sequence

import pytest
from scripted import EchoVoice, ScriptedJudge, artifact, forest, question
from training import make_talks

from discover_lib import Conversation, IntentTree, Rules, UserSimulator, replay
from discover_lib.base.errors import DiscoverError
from discover_lib.core.conversation import FinalTurn, Reply
from discover_lib.dataset.export import REASONS, Filters, Sieved, sieve, split_by_artifact
from discover_lib.dataset.rows import (
    Example,
    Origin,
    RowOptions,
    TokenCount,
    examples,
    label,
    labelled_turns,
    plain,
    restore,
    similarity_of,
    system_text,
)
from discover_lib.engines.miniature import engine

ORIGIN = Origin("a run", "miniature", "miniature", {}, "1")
TREE = forest("1 1.1 1.1.1 2", discovered="1")
READINGS = {
    "one": question("1.1"), "two": artifact("1.1", "1.1.1"), "same": question("1.1"), "Two!": artifact("1.1", "1.1.1"),
    "root": question("2"), "nothing": question(), "": question(),
}  # fmt: skip


@pytest.fixture(scope="module")
def synthesised() -> list[Conversation]:
    """Two assistants a turn, on some artifacts of each of two domains."""
    domains = ("svg_drawing", "creative_writing")
    return [talk for domain in domains for talk in make_talks(domain, 6, 5, trials=2, seed=3)]


def talk(*candidates: Sequence[str], tree: IntentTree = TREE, rules: Rules | None = None) -> Conversation:
    """A conversation whose turns have these candidates, read by `READINGS`; an unknown text fails to be judged."""
    simulator = UserSimulator(
        tree, ScriptedJudge(READINGS), EchoVoice(), rules=rules, setting={"artifact": "a", "assistants": ["x", "y"]}
    )
    for texts in candidates:
        simulator.step(list(texts))
    return simulator.conversation


def made(kind, *conversations: Conversation, **options) -> list[Example]:
    return list(examples(kind, conversations, ORIGIN, RowOptions(**options)))


@pytest.mark.slow
def test_labels_taken_again_from_the_stored_judgements_are_those_of_the_run(synthesised: list[Conversation]) -> None:
    rows = made("preference", *synthesised)
    turns = [(talk, turn) for talk in map(replay, synthesised) for turn in talk.turns]
    assert len(rows) == len(turns)
    for row, (conversation, turn) in zip(rows, turns, strict=True):
        again = label(turn, conversation.rules, conversation.seed)
        assert row.problem == again.problem
        assert (row.provenance["chosen_index"], row.provenance["rejected_index"]) == (again.best, again.worst)
        assert row.provenance["chosen_reward"] == turn.candidates[again.best].reward.total
        assert row.provenance["went_on"] == again.best
    assert all(replay(each) == each for each in synthesised)


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{"p": 1.0}, {"p": 0.0, "tau": 0}])
def test_other_numbers_label_anew_without_a_judge(synthesised: list[Conversation], changes: dict) -> None:
    rules = Rules.paper().replace(**changes)
    rows = made("preference", *synthesised, rules=rules)
    turns = [turn for talk in synthesised for turn in replay(talk, rules).turns]
    for row, turn in zip(rows, turns, strict=True):
        totals = [round(each.reward.total, 12) for each in turn.candidates]
        assert (row.problem == "tie") == (min(totals) == max(totals))
        assert totals[row.provenance["chosen_index"]] == max(totals)
        assert row.provenance["rules"] == rules.name and row.provenance["relabelled"]
    as_run = made("preference", *synthesised)
    assert [row.provenance["margin"] for row in rows] != [row.provenance["margin"] for row in as_run]


def test_relabelling_says_where_the_judge_would_have_been_shown_another_tree() -> None:
    # Five near misses cross no threshold at p = 0 and all at p = 1, so the focus moves on under the latter only.
    tree = forest("1 1.1 2 2.1", discovered="1 2")
    judge = ScriptedJudge({"near": artifact(n1_1=5)})
    simulator = UserSimulator(tree, judge, EchoVoice(), rules=Rules.paper().replace(p=0.0))
    for _ in range(3):
        simulator.step("near")
    kept = [each.focus_kept for each in labelled_turns(simulator.conversation, Rules.paper().replace(p=1.0))]
    assert kept == [True, True, False]  # emerging after the first, discovered after the second
    assert all(each.focus_kept for each in labelled_turns(simulator.conversation))


def test_the_longer_of_equally_bad_replies_is_the_worse() -> None:
    (turn,) = talk(["nothing", "two", "same nothing", ""]).turns
    read = label(turn, Rules.paper(), 0)
    assert (read.best, read.worst, read.leaders) == (1, 0, (1,))  # the third could not be judged, the fourth is empty


def test_rewards_without_judgements_keep_their_labels_and_refuse_others() -> None:
    conversation = talk(["one", "two"])
    (turn,) = conversation.turns
    blind = tuple(dataclasses.replace(each, evaluation=None) for each in turn.candidates)
    imported = dataclasses.replace(conversation, turns=(dataclasses.replace(turn, candidates=blind),))
    (row,) = made("preference", imported)
    assert row.problem is None and row.provenance["chosen_kind"] == ""
    assert made("prompt", imported, grpo_tau=None)
    with pytest.raises(DiscoverError, match="without the judgements"):
        made("preference", imported, rules=Rules.paper().replace(p=1.0))
    with pytest.raises(DiscoverError, match="its own τ"):
        made("prompt", imported)


def test_a_pair_is_the_best_against_the_worst_after_the_same_prompt() -> None:
    first, second = made("preference", talk(["one", "nothing", "two"], ["nothing", "root"]))
    assert first.train == {
        "prompt": [{"role": "user", "content": "a story please"}],
        "chosen": [{"role": "assistant", "content": "two"}],
        "rejected": [{"role": "assistant", "content": "nothing"}],
    }
    assert first.margin == first.provenance["margin"] == 2
    assert json.loads(first.provenance["chosen_shares"]) == {"1.1": 1.0, "1.1.1": 1.0}
    assert [message["content"] for message in second.train["prompt"][:2]] == ["a story please", "two"]
    assert second.train["prompt"][2]["role"] == "user" and second.train["chosen"][0]["content"] == "root"


def test_a_conversation_is_one_sft_row_that_ends_with_the_assistant() -> None:
    conversation = talk(["nothing"], ["one", "nothing"])
    (row,) = made("sft", dataclasses.replace(conversation, stop="max_turns"))
    assert [message["role"] for message in row.train["messages"]] == ["user", "assistant", "user", "assistant"]
    assert row.train["messages"][-1]["content"] == "one"
    assert row.provenance["reward"] == 1 and row.provenance["n_candidates"] == 2
    (open_,) = made("sft", conversation)
    assert open_.problem == "unfinished" and not open_.train


def test_the_system_message_opens_prompts_and_conversations_and_never_a_reply() -> None:
    conversation = dataclasses.replace(talk(["one", "nothing"]), stop="max_turns")
    for policy in ("collaborative", "Be kind."):
        for kind in ("sft", "preference", "prompt"):
            (row,) = made(kind, conversation, system=policy)
            opening = row.train.get("messages") or row.train["prompt"]
            assert opening[0] == {"role": "system", "content": system_text(policy)}
            assert all(message["role"] != "system" for message in opening[1:])
        (pair,) = made("preference", conversation, system=policy)
        assert len(pair.train["chosen"]) == len(pair.train["rejected"]) == 1
    assert pair.provenance["system_policy"] == "own text"
    assert "options" in system_text("collaborative") and system_text("none") == ""


def test_notation_takes_the_place_of_text_in_what_assistants_say_only(synthesised: list[Conversation]) -> None:
    content, notation = (
        made("sft", synthesised[0], text=form)[0].train["messages"] for form in ("content", "notation")
    )
    for one, other, said in zip(content, notation, synthesised[0].messages(), strict=False):
        assert one["content"] == said.content
        assert other["content"] == (said.notation if said.role == "assistant" else said.content)
    with pytest.raises(DiscoverError, match="no notation"):
        made("sft", dataclasses.replace(talk(["one"]), stop="max_turns"), text="notation")


@pytest.mark.slow
def test_every_row_names_where_it_comes_from(synthesised: list[Conversation]) -> None:
    shared = {"run", "artifact", "domain", "trial", "seed", "judge", "voice", "prompts_hash", "rules", "rules_hash"}
    shared |= {"code_version", "system_policy", "text_form", "length_counting", "n_tokens", "relabelled"}
    taken_by_trainers = {"text", "prompts", "completion", "completions", "label", "labels", "images", "tools"}
    for kind in ("sft", "preference", "prompt"):
        rows = [row for row in made(kind, *synthesised) if not row.problem]
        columns = set(rows[0].row)
        assert shared <= columns and not taken_by_trainers & columns
        assert all(set(row.row) == columns for row in rows)
        assert all(isinstance(value, str | int | float | bool) for row in rows for value in row.provenance.values())


@pytest.mark.slow
def test_prompt_rows_restore_the_same_user_who_gives_the_same_rewards(synthesised: list[Conversation]) -> None:
    count = 0
    for conversation in synthesised:
        user = engine(conversation.setting["domain"])
        scored = replay(conversation, Rules.paper_grpo())
        for row, turn in zip(made("prompt", conversation), scored.turns, strict=True):
            restored = restore(json.loads(json.dumps(row.row)), user.judge, user.voice)
            assert restored.state == turn.before and restored.focus == turn.focus
            assert restored.rules == Rules.paper_grpo() and restored.tree == conversation.tree
            assert restored.messages == conversation.messages(turn.index - 1)
            assert [restored.consider(each.reply) for each in turn.candidates] == list(turn.candidates)
            went_on = restored.step(turn.reply, speak=turn.user_message is not None)
            assert (went_on.index, went_on.after, went_on.user_message) == (turn.index, turn.after, turn.user_message)
            count += 1
    assert count == sum(len(each.turns) for each in synthesised) > 100


@pytest.mark.parametrize(
    "wrong", ["", "{", "[]", "{}", '{"format": "discover-state/9"}', '{"format": "discover-state/1"}']
)
def test_what_is_no_state_is_refused_in_one_line(wrong: str) -> None:
    with pytest.raises(DiscoverError) as told:
        restore({"state": wrong}, ScriptedJudge({}), EchoVoice())
    assert "\n" not in str(told.value)


def counted(rows: list[Example], **filters) -> dict[str, int]:
    kept: Sieved = sieve(rows, Filters(**filters))
    assert kept.considered == len(rows) == len(kept.kept) + sum(kept.counts.values())
    assert set(kept.counts) <= set(REASONS)
    return kept.counts


def test_what_has_no_label_is_counted_and_never_kept() -> None:
    assert counted(made("preference", talk(["one"]))) == {"one_candidate": 1}
    assert counted(made("preference", talk(["one", "unreadable"]))) == {"failed_judgement": 1}
    assert counted(made("preference", talk(["one", "same"]))) == {"tie": 1}
    assert counted(made("preference", talk(["one", "unreadable", "two"]))) == {}
    assert counted(made("sft", talk(["one"]))) == {"unfinished": 1}


def test_each_filter_drops_what_it_is_for() -> None:
    clean = made("preference", talk(["two", "nothing"]))
    assert counted(clean) == {}
    assert counted(clean, min_margin=2.0) == {} and counted(clean, min_margin=2.01) == {"margin": 1}
    assert counted(clean, max_tokens=clean[0].n_tokens) == {}
    assert counted(clean, max_tokens=clean[0].n_tokens - 1) == {"too_long": 1}
    assert counted(made("preference", talk(["two", ""]))) == {"empty": 1}
    assert counted(clean + clean) == {"duplicate": 1}
    simulator = UserSimulator(TREE, ScriptedJudge({"half \ud83d": question("1.1"), "": question()}), EchoVoice())
    simulator.step(["half \ud83d", ""])
    ((_, reasons),) = sieve(made("preference", simulator.conversation)).dropped
    assert "invalid" in reasons
    letters = TokenCount("letters", lambda messages: sum(len(each["content"]) for each in messages))
    (row,) = made("preference", talk(["one", "nothing"]), tokens=letters)
    assert row.n_tokens == len("a story please") + len("nothing") and row.provenance["length_counting"] == "letters"


def test_replies_that_are_the_same_or_nearly_so_are_told_apart() -> None:
    (pair,) = made("preference", talk(["two", "nothing"]))
    same = dataclasses.replace(pair, identical=True, similarity=1.0)
    near = dataclasses.replace(pair, similarity=0.95)
    assert counted([same, near]) == {"identical": 1, "near_identical": 1}
    assert counted([same, near], max_similarity=1.1) == {"identical": 1}
    assert plain("Two, three!") == plain("two  THREE") and plain("->") == plain(" - >") != plain("<-")
    assert similarity_of("a b c d", "a b c d") == 1 and similarity_of("a b c d", "e f g h") == 0
    assert 0 < similarity_of("a b c d e", "a b c d x") < 1


def test_a_leaking_user_drops_what_comes_after_and_not_what_was_before() -> None:
    conversation = talk(["nothing", "one"], ["nothing", "two"])
    first, second = conversation.turns
    leaking = dataclasses.replace(
        conversation, turns=(dataclasses.replace(first, leaks=("secret",)), second), stop="max_turns"
    )
    assert [row.leaks for row in made("preference", leaking)] == [0, 1]
    assert [row.leaks for row in made("prompt", leaking)] == [0, 1]
    assert counted(made("sft", leaking)) == {"leak": 1} and counted(made("sft", leaking), leaks=True) == {}


@pytest.mark.slow
def test_no_artifact_is_in_two_splits_and_no_row_is_lost(synthesised: list[Conversation]) -> None:
    rows = made("prompt", *synthesised)
    splits = split_by_artifact(rows, 0.2)
    artifacts = {split: {row.artifact for row in kept} for split, kept in splits.items()}
    assert sum(map(len, splits.values())) == len(rows)
    assert len(set.union(*artifacts.values())) == sum(map(len, artifacts.values())) == 12
    assert {split: len(names) for split, names in artifacts.items()} == {"train": 10, "test": 2}
    assert split_by_artifact(list(reversed(rows)), 0.2)["test"] == splits["test"][::-1]
    assert split_by_artifact(rows, 0.2, seed=1) != splits


def test_every_split_gets_an_artifact_or_the_error_says_why(synthesised: list[Conversation]) -> None:
    rows = made("sft", *synthesised)
    assert all(all(split_by_artifact(rows, share).values()) for share in (0.01, 0.99))
    one = [row for row in rows if row.artifact == rows[0].artifact]
    with pytest.raises(DiscoverError, match="1 artifact cannot be split 2 ways"):
        split_by_artifact(one, 0.1)
    assert split_by_artifact(one, 0) == {"train": one}


def test_an_sft_row_ends_with_the_finished_piece_where_there_is_one(synthesised):
    bare = synthesised[0]
    final = FinalTurn("the final piece, please", Reply("Here it is.", 32, "words", "draft", "draft setting riverbank"))
    asked = dataclasses.replace(bare, final=final)
    (without,) = examples("sft", [bare], ORIGIN, RowOptions(text="notation"))
    (row,) = examples("sft", [asked], ORIGIN, RowOptions(text="notation"))
    assert row.train["messages"] == [
        *without.train["messages"],
        {"role": "user", "content": "the final piece, please"},
        {"role": "assistant", "content": "draft setting riverbank"},
    ]
    assert (without.provenance["with_final"], row.provenance["with_final"]) == (False, True)
