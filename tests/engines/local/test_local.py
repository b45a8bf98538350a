"""Models on this machine as assistants: names, batches that change nothing, merging, and runs that use them."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from discover_lib.core.conversation import Message
from discover_lib.engines.local.dialect import Notation
from discover_lib.engines.local.model import LocalAssistant, LocalModel
from discover_lib.engines.local.names import LocalModelError, LocalName, load, merge, parse_name
from discover_lib.engines.local.tiny_language import is_broken, save_tokenizer, vocabulary
from discover_lib.runs.options import RunOptions, lay_out

DOMAIN = "creative_writing"
REQUEST = Message("user", "can you write a short story with a waterside place in it?")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny model that has learnt a little: what it says varies, and some of it is notation."""
    import torch

    torch.set_num_threads(1)
    from discover_lib.engines.local.tiny_model import TinyRecipe, pretrain

    recipe = TinyRecipe(domains=(DOMAIN,), steps=20, batch=4, width=64, heads=2, inner=96, rate=1e-2)
    made = tmp_path_factory.mktemp("models") / "tiny"
    made.mkdir()
    pretrain(recipe).save_pretrained(made)
    save_tokenizer(vocabulary((DOMAIN,)), made)
    (made / "tiny.json").write_text(json.dumps({"domains": [DOMAIN]}))
    return made


@pytest.fixture(scope="module")
def model(folder):
    loaded, tokenizer = load(folder)
    return LocalModel("tiny-test", loaded, tokenizer, Notation())


@pytest.fixture(scope="module")
def adapter(folder, tmp_path_factory):
    """An adapter with weights of its own, as a training run leaves one."""
    import peft
    import torch
    from transformers import AutoModelForCausalLM

    torch.manual_seed(1)
    base = AutoModelForCausalLM.from_pretrained(folder)
    wrapped = peft.get_peft_model(base, peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"]))
    for name, weight in wrapped.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=0.2)
    made = tmp_path_factory.mktemp("adapters") / "one"
    wrapped.save_pretrained(made)
    return made


def plain_model(folder: Path) -> Path:
    """A model folder that is no tiny one, as far as names can tell."""
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    return folder


# -- names ------------------------------------------------------------------------------------------------------------


def test_a_name_is_taken_apart(tmp_path):
    base, one = plain_model(tmp_path / "base"), tmp_path / "one"
    one.mkdir()
    (one / "adapter_config.json").write_text("{}")
    assert parse_name("tiny") == LocalName("tiny", None)
    assert parse_name(f"hf:{base}") == LocalName(f"hf:{base}", base)
    trained = parse_name(f"hf:{base}+{one}+{one}")
    assert (trained.folder, trained.adapters, trained.style) == (base, (one, one), "collaborative")
    assert parse_name(f"hf:{base}+co-creation").style == "co-creation"


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("hf:{there}/nothing", "no such folder; name one that holds a model or a training run"),
        ("hf:{there}", "no model here"),
        ("hf:{there}/base+{there}", "no adapter here"),
    ],
)
def test_a_name_that_leads_nowhere_is_refused_in_one_line(tmp_path, name, complaint):
    plain_model(tmp_path / "base")
    with pytest.raises(LocalModelError, match=complaint) as error:
        parse_name(name.format(there=tmp_path))
    assert "\n" not in str(error.value)
    with pytest.raises(LocalModelError, match=complaint):
        lay_out(RunOptions(assistants=(name.format(there=tmp_path),), domain=DOMAIN, artifacts=1))


@pytest.mark.slow
def test_a_tiny_model_is_asked_only_what_it_speaks(tmp_path):
    base = plain_model(tmp_path / "base")
    (base / "tiny.json").write_text(json.dumps({"domains": ["svg_drawing"]}))
    parse_name(f"hf:{base}").check_speaks(["svg_drawing"])
    with pytest.raises(LocalModelError, match="tiny model of svg_drawing; it does not speak 'creative_writing'"):
        parse_name(f"hf:{base}").check_speaks([DOMAIN])


@pytest.mark.slow
def test_a_damaged_file_of_weights_is_told_in_one_line(folder, tmp_path):
    broken = tmp_path / "broken"
    shutil.copytree(folder, broken)
    (broken / "model.safetensors").write_bytes(b"half")
    with pytest.raises(LocalModelError, match=r"broken: cannot be loaded \(.*\)$") as error:
        load(broken)
    assert "\n" not in str(error.value)


# -- replies ----------------------------------------------------------------------------------------------------------


def questions():
    """Conversations of different lengths, each with a seed."""
    talks = [(REQUEST,), (REQUEST, Message("assistant", "pass"), Message("user", "please make it a riverbank"))]
    return [(talks[place % 2], place) for place in range(12)]


def at_once(assistant):
    """The replies to all questions, each asked in a thread of its own."""
    with ThreadPoolExecutor(len(questions())) as pool:
        return list(pool.map(lambda question: assistant.reply(*question), questions()))


@pytest.mark.slow
def test_a_batch_is_the_same_as_one_by_one(model):
    assistant = LocalAssistant(model, DOMAIN)
    together = at_once(assistant)
    assert together == [assistant.reply(messages, seed) for messages, seed in questions()]
    assert len({each.notation for each in together}) > 6  # the seeds say different things


@pytest.mark.slow
def test_a_model_that_fails_is_heard_of_by_all_that_wait(model):
    from discover_lib.core.roles import AssistantError

    class Failing:
        def __getattr__(self, name):
            raise RuntimeError("out of memory")

    broken = LocalModel("tiny-test", model.model, model.tokenizer, Notation())
    broken.model = Failing()

    def heard(question):
        with pytest.raises(AssistantError, match="tiny-test did not reply: out of memory"):
            LocalAssistant(broken, DOMAIN).reply(*question)
        return True

    with ThreadPoolExecutor(len(questions())) as pool:
        assert all(pool.map(heard, questions()))


@pytest.mark.slow
def test_a_choice_falls_where_the_chance_does():
    """Probabilities 0.2, 0.5, 0.3: chances below 0.2 take the first token, below 0.7 the second."""
    import torch

    from discover_lib.engines.local.model import choose

    logits = torch.log(torch.tensor([[0.2, 0.5, 0.3]])).repeat(5, 1)
    chances = torch.tensor([0.0, 0.19, 0.21, 0.69, 0.999], dtype=torch.float64)
    assert choose(logits, chances, 1.0).tolist() == [0, 0, 1, 1, 2]
    assert choose(logits, chances, 0).tolist() == [1] * 5


@pytest.mark.slow
def test_a_merged_folder_says_what_base_and_adapter_say(folder, adapter, tmp_path):
    from discover_lib.engines.local.names import local_assistant

    name = f"hf:{folder}+{adapter}"
    merged = merge(name, tmp_path / "merged")
    said = [
        [each.notation for each in at_once(local_assistant(one, DOMAIN))]
        for one in (name, f"hf:{merged}", f"hf:{folder}")
    ]
    assert said[0] == said[1] != said[2]
    with pytest.raises(LocalModelError, match="not empty"):
        merge(name, merged)


@pytest.mark.slow
def test_a_run_with_a_local_model_is_resumed_and_assessed_like_any_other(folder, tmp_path):
    from discover_lib.runs.evaluation import load_scores
    from discover_lib.runs.options import execute
    from discover_lib.runs.store import RunStore

    name = f"hf:{folder}"
    run = lay_out(RunOptions(assistants=(name, "draft"), domain=DOMAIN, artifacts=3, turns=2))
    assert (run.models, run.local) == ([], [name]) and set(run.configuration["local"]) == {name}
    where = tmp_path / "run"
    where.mkdir()
    execute(run, where)
    with RunStore.read(where) as store:
        first = list(store.conversations())
    assert execute(run, where, score=True).unscored == 0
    scores = load_scores(where)
    assert len(scores) == len(first) == 6
    replies = [turn.reply for talk in first if talk.setting["assistants"] == [name] for turn in talk.turns]
    assert {each.assistant for each in replies} == {name}
    assert all(is_broken(each) or each.notation for each in replies)
