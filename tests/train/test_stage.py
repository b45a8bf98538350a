"""The three trainers, from rows to adapter, on a tiny model: loss masks, references, rewards, stopping and going on."""

import json
import math
import os
import random
import shutil
import signal
from collections.abc import Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from cast import Cast
from training import DOMAIN, lines, short_recipe

from discover_lib.base.errors import DiscoverError
from discover_lib.core.conversation import Message, Reply
from discover_lib.core.roles import Judge, JudgeError
from discover_lib.dataset.export import read_rows
from discover_lib.dataset.rows import restore
from discover_lib.engines.local import names as local_names
from discover_lib.engines.local.dialect import Chat, Notation
from discover_lib.engines.local.lineage import adapter_chain
from discover_lib.engines.local.tiny_language import encode_messages
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import generate_artifact
from discover_lib.engines.miniature.judge import MiniatureJudge
from discover_lib.engines.miniature.lexicon import load_lexicon
from discover_lib.engines.miniature.notation import parse
from discover_lib.engines.miniature.rendering import make_reply
from discover_lib.engines.spec import EngineSpec, RoleEngines
from discover_lib.train import comparison, data
from discover_lib.train.backend import Backend, choose_backend, load_policy, load_tokenizer, merged_model, prepare
from discover_lib.train.comparison import before_and_after, conversations, replies
from discover_lib.train.grpo.simulated_reward import Scorer, SimulatorReward, Users
from discover_lib.train.recipes import GrpoRecipe, Recipe
from discover_lib.train.run_stage import StageResult, StageSettings, problems, run_stage

pytestmark = pytest.mark.slow


def settings(tiny: Path, stage: Any, recipe: Recipe | None = None, **changes: Any) -> StageSettings:
    return StageSettings(
        stage, str(tiny / "data" / stage), str(tiny / "base"), recipe=recipe or short_recipe(), **changes
    )


def train(tiny: Path, folder: Path, stage: Any, recipe: Recipe, adapter: str = "", **options: Any) -> StageResult:
    made = settings(tiny, stage, recipe, adapter=adapter)
    return run_stage(made, folder, **{"on_progress": lambda line: None, **options})


def logged(result: StageResult, column: str) -> list[float]:
    return [line[column] for line in lines(result.folder) if column in line]


def same(one: Path, other: Path) -> bool:
    left, right = ((each / "adapter_model.safetensors").read_bytes() for each in (one, other))
    return left == right


def test_the_loss_mask_is_trl_s_and_no_word_of_the_user_is_in_it(tiny: Path, tmp_path: Path) -> None:
    from discover_lib.train.trainers import supervised_trainer

    recipe, base = short_recipe(), str(tiny / "base")
    backend, tokenizer = choose_backend("transformers"), load_tokenizer(base)
    rows = data.load_rows(tiny / "data" / "sft", "sft", "notation")
    made = data.fit(rows.train, Notation(), Chat(tokenizer), 512, "rows")[0]
    model = load_policy(base, [], recipe.lora, recipe.sft, backend, seed=0, scratch=tmp_path)
    trainer = supervised_trainer(model, tokenizer, made, (), recipe.sft, backend, tmp_path / "masks", 0)
    assert len(made) == len(trainer.train_dataset) == 3
    for row, fed in zip(rows.train, trainer.train_dataset, strict=True):
        learnt = [token for token, label in zip(fed["input_ids"], fed["labels"], strict=True) if label != -100]
        said = [each["content"] + " <e>" for each in row["messages"] if each["role"] == "assistant"]
        assert tokenizer.decode(learnt) == " ".join(said)


def test_in_rollouts_of_several_turns_only_the_model_s_words_carry_loss(tiny: Path, tmp_path: Path) -> None:
    import torch

    from discover_lib.train.grpo.trainer import SeveralTurns, grpo_trainer

    recipe = short_recipe(multi_turn=2, max_completion=40, own_prefixes=False)
    backend, tokenizer = choose_backend("transformers"), load_tokenizer(str(tiny / "base"))
    prepare(backend)
    source = data.load_rows(tiny / "data" / "grpo", "grpo", "notation")
    rows = data.fit(source.train, Notation(), Chat(tokenizer), 400, "rows")[0]
    model = load_policy(str(tiny / "base"), [], recipe.lora, recipe.grpo, backend, seed=0, scratch=tmp_path)
    users = Users(RoleEngines(EngineSpec()))
    trainer = grpo_trainer(
        model, Chat(tokenizer), rows, source, recipe.grpo, backend, tmp_path / "turns", 0,
        dialect=Notation(), users=users, threads=1, on_progress=print,
    )  # fmt: skip
    assert isinstance(trainer.reward, SeveralTurns)

    torch.manual_seed(0)
    talks = trainer.reward.player.roll_out([users.fresh(row["state"]) for row in rows], 2)
    assert sum(len(each.scores) == 2 for each in talks) > 1
    for talk in talks:
        heard = encode_messages(talk.simulator.messages, DOMAIN)[-2]["content"]  # the user's answer to the first reply
        others = tokenizer.decode([token for token, own in zip(talk.completion_ids, talk.own, strict=True) if not own])
        assert others.removeprefix("<e> ") == (f"<u> {heard} <e> <a>" if len(talk.scores) == 2 else "")
        said = [score.reply.notation for score in talk.scores]
        assert talk.total == sum(score.total for score in talk.scores if score.total is not None) and all(said)

    torch.manual_seed(0)
    fed = trainer._generate_and_score_completions([{"place": place} for place in (0, 0, 0, 0, 4, 4, 4, 4)])
    masked = 0
    for ids, real, own in zip(fed["completion_ids"], fed["completion_mask"], fed["tool_mask"], strict=True):
        others = [int(token) for token, here, mine in zip(ids, real, own, strict=True) if here and not mine]
        told = tokenizer.decode(others).removeprefix("<e> ")
        assert not told or (told.startswith("<u> ") and told.endswith(" <e> <a>"))
        masked += len(others)
    assert masked > 0

    trainer.turns = trainer.reward
    torch.manual_seed(0)
    fed = trainer._generate_and_score_completions([{"place": place} for place in (0, 0, 0, 0, 4, 4, 4, 4)])
    heard = (fed["completion_mask"] == 0) | (fed["tool_mask"] == 0)
    assert fed["advantages"].shape == heard.shape and not fed["advantages"][heard].any()
    for row, talk in zip(fed["advantages"].tolist(), trainer.reward._talks, strict=True):
        spans = ["".join("1" if own else " " for own in talk.own)][0].split()
        assert len(set(filter(None, row))) <= len(talk.scores) == len(spans)
    assert fed["advantages"].any()


@pytest.fixture(scope="module")
def dpo(tiny: Path, sft: StageResult) -> StageResult:
    recipe = short_recipe().changed("dpo", {"sft_weight": 0.0, "learning_rate": 1e-2, "lora.dropout": 0.1})
    return train(tiny, tiny / "dpo", "dpo", recipe, str(sft.folder))


def test_the_first_preference_loss_is_ln_2_because_the_merged_stage_is_the_reference(dpo: StageResult) -> None:
    first, second = logged(dpo, "loss")
    assert first == pytest.approx(math.log(2), abs=5e-4) and abs(second - math.log(2)) > 1e-3
    assert not list(dpo.folder.rglob("ref"))


def test_two_stages_two_adapters(tiny: Path, dpo: StageResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch
    from peft import PeftModel

    chain = adapter_chain(dpo.folder)
    assert [each.stage for each in chain.adapters] == ["sft", "dpo"]
    assert chain.base.path == str(tiny / "base")
    base, recipe = chain.base.path, short_recipe()
    first, second = (each.path for each in chain.adapters)
    whole = merged_model(base, [first, second]).eval()
    worn = PeftModel.from_pretrained(merged_model(base, [first]), second)
    ids = torch.tensor([[7, 8, 9, 10]])
    with torch.no_grad():
        assert torch.allclose(whole(ids).logits, worn.eval()(ids).logits, atol=1e-4)
        assert not torch.allclose(whole(ids).logits, merged_model(base, [])(ids).logits, atol=1e-4)

    def unsloth(files: str, *_: Any) -> Any:  # which takes a merge through files
        assert load_tokenizer(files).chat_template
        return merged_model(files, [])

    monkeypatch.setattr("discover_lib.train.backend._unsloth", unsloth)
    gpu = Backend("unsloth", "cuda", "")
    filed = load_policy(base, [first, second], recipe.lora, recipe.dpo, gpu, seed=0, scratch=tmp_path / "cache")
    with torch.no_grad():
        assert torch.allclose(whole(ids).logits, filed.eval()(ids).logits, atol=1e-4)
    assert not list((tmp_path / "cache").iterdir())


class Failing:
    def __init__(self, words: str) -> None:
        self.real, self.words = MiniatureJudge(DOMAIN), words

    def evaluate(self, tree: Any, state: Any, messages: Sequence[Message], reply: Reply, rules: Any) -> Any:
        if reply.notation and self.words in reply.notation:
            raise JudgeError("no verdict")
        return self.real.evaluate(tree, state, messages, reply, rules)


class Words:
    """Stands for a tokenizer: one token a word."""

    pad_token_id = 1

    def __init__(self) -> None:
        self.words = ["<e>", "<pad>"]

    def ids(self, text: str) -> list[int]:
        for word in text.split():
            if word not in self.words:
                self.words.append(word)
        return [self.words.index(word) for word in text.split()] + [0]

    def __call__(self, text: str, add_special_tokens: bool = False) -> dict[str, list[int]]:
        return {"input_ids": self.ids(text)[:-1]}

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        return " ".join(self.words[each] for each in ids)


@pytest.fixture(scope="module")
def states(tiny: Path) -> list[str]:
    rows = read_rows(tiny / "data" / "grpo")
    return [row["state"] for split in rows.values() for row in split if row["turn"] == 1]


def rewards(
    states: list[str], replies: list[str], judge: Judge | None = None, **recipe: Any
) -> tuple[Any, dict[str, float]]:
    """What each reply earns with its user, and what is logged."""
    words, found = Words(), {}
    scorer = Scorer(Users(Cast(judge)), Notation(), GrpoRecipe(**recipe))
    reward = SimulatorReward(scorer, words, ends=(0,))
    got = reward(
        [None] * len(replies), [None] * len(replies), [words.ids(each) for each in replies], states, found.__setitem__
    )
    return got, found


def test_the_reward_is_the_simulator_s_and_its_parts_are_logged(states: list[str]) -> None:
    lexicon, engines = load_lexicon(DOMAIN), RoleEngines(EngineSpec())
    rng = random.Random(0)
    said = [
        " ".join(["draft", *(f"{name} {rng.choice(each.leaves)}" for name, each in lexicon.dimensions.items())])
        for _ in range(8)
    ]
    got, found = rewards(states[:1] * 8, said)
    user = restore(states[0], engines.judge(DOMAIN), engines.voice(DOMAIN))
    expected = [user.consider(make_reply(parse(each, lexicon), lexicon, "x")).reward for each in said]
    assert got == [each.total for each in expected if each]
    assert found["reward/discovered"] == pytest.approx(sum(each.discovered for each in expected if each) / 8)
    assert (found["share/building"], found["share/broken"], found["share/unscored"]) == (1.0, 0.0, 0.0)
    assert user.rules.tau == 500


@pytest.mark.parametrize(
    ("reply", "kind", "earned"),
    [
        ("pass", None, 0.0),
        ("maybe colours ocean / forest ?", "diverging", None),
        ("draft", "broken", -1.0),
        ("colours colours", "broken", -1.0),
        ("show subject afloat / vehicle", "broken", -1.0),  # too broad to be made
    ],
)
def test_what_a_reply_is_and_what_breaking_the_language_costs(
    reply: str, kind: str | None, earned: float | None, states: list[str]
) -> None:
    got, found = rewards(states[:1], [reply], broken_penalty=1.0)
    assert earned is None or got == [earned]
    assert [name for name in ("diverging", "building", "broken") if found[f"share/{name}"]] == ([kind] if kind else [])


def test_a_failed_judgement_is_none_and_many_of_them_stop_the_run(states: list[str]) -> None:
    judge = Failing("autumn")
    good, bad = "maybe colours ocean / forest ?", "maybe colours autumn / ocean ?"
    got, found = rewards(states[:3], [good, bad, good], judge)
    assert got[1] is None and None not in (got[0], got[2]) and found["share/unscored"] == pytest.approx(1 / 3)
    with pytest.raises(DiscoverError, match="2 of 3 replies could not be judged; the last: judge: no verdict"):
        rewards(states[:3], [good, bad, bad], judge)


def test_looking_ahead_pays_a_reply_for_what_it_prepares(states: list[str]) -> None:
    said = ["pass"] * len(states)
    alone, _ = rewards(states, said)
    window, found = rewards(states, said, look_ahead=2)
    assert alone == [0.0] * len(states) and min(window) >= 0 and max(window) > 0
    assert found["reward/discovered"] > 0


def killed_at(step: int, made: StageSettings, folder: Path) -> None:
    """Train in a process of its own, which is killed after it has logged this step and before it saves it."""

    def work() -> None:
        from discover_lib.train.trainers import Recorder

        def log(self: Any, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            whole(self, args, state, control, logs)
            if state.global_step == step:
                os.kill(os.getpid(), signal.SIGKILL)

        whole, Recorder.on_log = Recorder.on_log, log  # type: ignore[method-assign]
        run_stage(made, folder, on_progress=lambda line: None)

    process = get_context("fork").Process(target=work)
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL


def test_stopped_killed_and_resumed_is_the_same_as_undisturbed(tiny: Path, sft: StageResult, tmp_path: Path) -> None:
    recipe = short_recipe().changed("sft", {"max_steps": 6})
    made, folder = settings(tiny, "sft", recipe), tmp_path / "parted"

    def stop(line: str) -> None:
        (folder / "STOP").touch()

    first = run_stage(made, folder, on_progress=stop)
    assert first.stopped and first.adapter is None and first.step == 1
    (folder / "STOP").unlink()
    killed_at(4, made, folder)
    for name in ("metrics.jsonl", "samples.jsonl"):  # as a killed process may leave them
        with (folder / name).open("a") as file:
            file.write('{"step": 9, "lo')
    torn = folder / "checkpoints" / "checkpoint-4"
    torn.mkdir(exist_ok=True)
    (torn / "trainer_state.json").write_text("{")
    told: list[str] = []
    second = run_stage(made, folder, on_progress=told.append)
    assert "resuming from step 3" in told and not second.stopped and second.step == 6
    for name in ("metrics.jsonl", "samples.jsonl"):
        one, other = ((each.folder / name).read_text().splitlines() for each in (sft, second))
        assert [json.loads(line)["step"] for line in one] == [json.loads(line)["step"] for line in other]
    assert logged(second, "loss") == logged(sft, "loss") and len(set(logged(sft, "loss"))) > 1
    assert sft.adapter and second.adapter and same(sft.adapter, second.adapter)
    with pytest.raises(DiscoverError, match="this training is finished"):
        run_stage(made, folder)


def test_grpo_measures_talks_and_keeps_best_round(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    discovered, told = iter([1.0, 3.0, 2.0]), list[str]()

    def probe(*_: Any) -> dict[str, Any]:
        value = next(discovered)
        return {"probe/discovered": value, "probe/users": 3}

    monkeypatch.setattr("discover_lib.train.grpo.trainer.probe", probe)
    recipe = short_recipe(max_completion=40)
    result = train(tiny, tmp_path / "rounds", "grpo", recipe, on_progress=told.append)
    measured = [(line["round"], line["probe/discovered"]) for line in lines(result.folder) if "round" in line]
    assert measured == [(0, 1.0), (1, 3.0), (2, 2.0)]
    assert result.kept_round == 1 and result.adapter
    assert "kept round 1 of 2, which discovered most intents" in told
    assert same(result.adapter, result.folder / "rounds" / "round-1")
    assert not same(result.adapter, result.folder / "rounds" / "round-2")
    prompts = [lines(result.folder / "rounds", f"prompts-{number}.jsonl") for number in (1, 2)]
    assert all(prompts) and {row["domain"] for found in prompts for row in found} == {DOMAIN}
    steps = [line for line in lines(result.folder) if "reward" in line]
    assert [line["step"] for line in steps] == [1, 2] and all(0 < line["simulator/share"] < 1 for line in steps)
    assert steps[0]["memory_mb"] > 100 and result.peak_memory_mb >= steps[-1]["memory_mb"]
    sample = lines(result.folder, "samples.jsonl")[0]
    assert sample["prompt"][0]["role"] == "user" and len(sample["replies"]) == 4


def test_everything_that_stands_in_the_way_is_told_at_once(tmp_path: Path) -> None:
    recipe = Recipe.miniature().changed("grpo", {"n_generations": 5})
    made = StageSettings("grpo", str(tmp_path / "none"), "base", str(tmp_path), recipe, judge="unknown")
    told = "\n".join(problems(made))
    for expected in ("no lineage.json", "neither exported rows nor a run", "n_generations 5", "'unknown'"):
        assert expected in told
    with pytest.raises(DiscoverError) as caught:
        run_stage(made, tmp_path / "run", on_progress=print)
    assert str(caught.value) == "; ".join(problems(made)) and len(problems(made)) == 4
    assert not (tmp_path / "run").exists()


def test_rows_that_are_too_long_are_counted_and_named_before_training(tiny: Path, tmp_path: Path) -> None:
    told: list[str] = []
    with pytest.raises(DiscoverError, match="no rows to train on"):
        recipe = short_recipe().changed("sft", {"max_length": 8})
        train(tiny, tmp_path / "long", "sft", recipe, on_progress=told.append)
    assert told[1].startswith("3 of 3 training rows are longer than 8 tokens and omitted: ") and "(" in told[1]


def test_before_and_after_answer_the_same_prompt_and_user(sft: StageResult, monkeypatch: pytest.MonkeyPatch) -> None:
    names = before_and_after(sft.folder)
    monkeypatch.setattr(local_names, "_MODELS", {})
    said = replies(names, DOMAIN, [Message("user", "could you draw me a cat?")], 0)
    assert list(said) == ["before", "after"] and all(each.n_tokens for each in said.values())
    assert len(local_names._MODELS) == 2
    tree = engine(DOMAIN).builder.build(generate_artifact(DOMAIN, "eval", 0)).tree
    assert all(talk.turns for talk in conversations(names, DOMAIN, tree, 0).values())


def test_a_user_is_followed_through_the_checkpoints_of_a_run(sft: StageResult, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = engine(DOMAIN).builder.build(generate_artifact(DOMAIN, "eval", 0)).tree
    after = comparison.conversations({"after": f"hf:{sft.folder}"}, DOMAIN, tree, 0, turns=5)["after"]
    run = sft.folder.with_name("going")
    shutil.copytree(sft.folder, run, ignore=shutil.ignore_patterns("adapter", "result.json"))
    (run / "steps" / ".step-9.partial").mkdir()  # as a killed process leaves it

    followed = dict(comparison.follow(run, DOMAIN, tree, turns=5))
    assert list(followed) == [0, 1, 2, 3, 4, 5, 6]
    replies = [[turn.reply.text for turn in talk.turns] for talk in followed.values()]
    assert replies[6] == [turn.reply.text for turn in after.turns] and replies[0] != replies[6]
    done: list[int] = []
    found = comparison.found(run, 6, DOMAIN, users=2, on_done=done.append)
    assert found is not None and found.n_artifacts == 2 and done == [1, 2]

    monkeypatch.setattr(comparison, "conversations", None)  # all of it is stored
    assert dict(comparison.follow(run, DOMAIN, tree, turns=5)) == followed
    assert comparison.found(run, 6, DOMAIN, users=2) == found
    assert followed in comparison.followed(run)
    assert comparison.checkpoints(run.with_name("nothing")) == {}
