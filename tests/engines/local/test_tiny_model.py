"""The tiny language model: pretraining is reproducible and resumable, its files are what `transformers` reads."""

import dataclasses
import json
import math

import pytest

from discover_lib.core.conversation import Message
from discover_lib.engines.local.tiny_language import END, USER, encode_messages, vocabulary
from discover_lib.engines.miniature.lexicon import load_lexicon

DOMAIN = "creative_writing"
pytestmark = pytest.mark.slow  # all of it imports torch and transformers, which alone takes seconds


@pytest.fixture(scope="module")
def tiny():
    import torch

    torch.set_num_threads(1)
    from discover_lib.engines.local import tiny_model as tiny_lm

    return tiny_lm


@pytest.fixture
def recipe(tiny):
    return tiny.TinyRecipe(domains=(DOMAIN,), steps=6, batch=2, width=32, heads=2, inner=48)


def test_the_key_changes_with_whatever_decides_the_model(tiny, recipe, monkeypatch):
    keys = {recipe.key, dataclasses.replace(recipe, seed=1).key, dataclasses.replace(recipe, steps=7).key}
    monkeypatch.setattr("discover_lib.engines.local.tiny_practice.FINAL_SHARE", 0.0)
    assert len(keys | {recipe.key}) == 4
    assert dataclasses.replace(recipe, taxonomy=False).key not in keys | {recipe.key}


def test_loss_is_on_the_replies_alone(tiny, recipe):
    words = vocabulary((DOMAIN,))
    for tokens, labels in tiny.practice_rows(recipe, words, 0):
        spoken = words.decode(tokens).split()
        replying = False
        for word, label in zip(spoken, labels, strict=True):
            if word == USER:
                replying = False
            assert (label != tiny.IGNORED) == replying
            if word == "<a>":
                replying = True
            elif word == END:
                replying = False


def test_embeddings_stand_as_close_as_the_taxonomy_says(tiny):
    """Parts shared / parts in all: siblings at depth 3 share dimension, leafness and two values above of five parts."""
    import torch

    words = vocabulary((DOMAIN,))
    recipe = tiny.TinyRecipe(domains=(DOMAIN,), width=4096, heads=2, own=1.0)
    table = tiny.taxonomy_embeddings(words, recipe)
    lexicon = load_lexicon(DOMAIN)
    leaf = lexicon.dimensions["mood"].leaves[0]
    sibling, stranger = lexicon.siblings(leaf)[0], lexicon.dimensions["hero"].leaves[0]

    def cosine(one: str, other: str) -> float:
        return float(torch.cosine_similarity(table[words.ids[one]], table[words.ids[other]], dim=0))

    assert cosine(leaf, sibling) == pytest.approx(4 / 5, abs=0.07)
    assert cosine(leaf, stranger) == pytest.approx(1 / 5, abs=0.07)
    assert float(table.std()) == pytest.approx(recipe.scale, rel=0.1)


def test_pretraining_is_the_same_again_and_after_a_stop(tiny, recipe, tmp_path, monkeypatch):
    import torch

    monkeypatch.setattr(tiny, "CHECKPOINT_EVERY", 2)
    seen = []
    whole = tiny.pretrain(recipe, seen.append).state_dict()
    assert (seen[-1].step, seen[-1].seconds_left) == (6, 0)
    assert math.isfinite(seen[-1].loss)

    class Stopped(Exception):
        pass

    def practice_until(step):
        real = tiny.practice_batch

        def batch(recipe, words, at):
            if at == step:
                raise Stopped
            return real(recipe, words, at)

        return batch

    with monkeypatch.context() as patched:
        patched.setattr(tiny, "practice_batch", practice_until(5))
        with pytest.raises(Stopped):
            tiny.pretrain(recipe, checkpoint=tmp_path / "kept")
    resumed = tiny.pretrain(recipe, checkpoint=tmp_path / "kept").state_dict()
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)


def test_a_base_that_does_not_do_what_it_is_told_is_not_kept(tiny, recipe, tmp_path, monkeypatch):
    monkeypatch.setenv("DISCOVER_OUTPUTS", str(tmp_path))
    monkeypatch.setattr(tiny, "GATE_USERS", 2)
    with pytest.raises(
        tiny.TinyModelError, match=r"honours .* of clear requests and breaks .* raise the recipe's steps"
    ):
        tiny.ensure_base(recipe)
    assert not tiny.base_folder(recipe).exists()
    assert not list(tmp_path.glob("cache/tiny/*.partial"))


def test_the_files_are_what_transformers_reads(tiny, recipe, tmp_path):
    import transformers

    words = vocabulary((DOMAIN,))
    model = tiny.new_model(recipe)
    tiny.save_model(model, words, tmp_path)
    again = transformers.AutoModelForCausalLM.from_pretrained(tmp_path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert (tokenizer.eos_token_id, tokenizer.padding_side) == (words.ids[END], "left")
    assert again.get_input_embeddings().weight is again.get_output_embeddings().weight
    wire = encode_messages(
        [Message("user", "a story with a lighthouse"), Message("assistant", "", "ask mood ?")], DOMAIN
    )
    text = tokenizer.apply_chat_template(wire, tokenize=False)
    heard = wire[1]["content"]
    assert text.split() == f"{DOMAIN} <u> {heard} {END} <a> ask mood ? {END}".split()
    asked = tokenizer.apply_chat_template(wire[:2], tokenize=False, add_generation_prompt=True)
    assert asked.split() == f"{DOMAIN} <u> {heard} {END} <a>".split()
    marked = tokenizer.apply_chat_template(wire, return_dict=True, return_assistant_tokens_mask=True)
    learnt = [words.words[at] for at, mask in zip(marked["input_ids"], marked["assistant_masks"], strict=True) if mask]
    assert learnt == ["ask", "mood", "?", END]


def test_a_card_says_what_was_measured(tiny, recipe, tmp_path, monkeypatch):
    """With the bars lowered for a model of six steps, the folder is kept, found again, and described."""
    monkeypatch.setenv("DISCOVER_OUTPUTS", str(tmp_path))
    for name, value in {"GATE_USERS": 2, "LEAST_HONOURED": -1.0, "MOST_BROKEN": 1.1}.items():
        monkeypatch.setattr(tiny, name, value)
    folder = tiny.ensure_base(recipe)
    card = json.loads((folder / "tiny.json").read_text())
    assert card["domains"] == [DOMAIN] and card["recipe"]["steps"] == 6
    assert card["measured"]["broken"]["n_artifacts"] == 2
    monkeypatch.setattr(tiny, "pretrain", None)  # from the cache: nothing is trained
    assert tiny.ensure_base(recipe) == folder
