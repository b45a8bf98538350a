"""Conversations as tokens under the chat templates of real families: masks, thoughts, turns, end marks."""

from types import SimpleNamespace
from typing import Any

import pytest
from chat_models import FAMILIES, make_tokenizer

from discover_lib.engines.local.dialect import Chat, LocalModelError, PlainChat, end_tokens, said

pytestmark = pytest.mark.slow

TALK: list[Any] = [
    {"role": "user", "content": "write a short story about a river"},
    {"role": "assistant", "content": "Once there was a river.\n\nIt ran far."},
    {"role": "user", "content": "make it sad"},
    {"role": "assistant", "content": "It dried up."},
]
TEXTS = [each["content"] for each in TALK] * 20


@pytest.fixture(scope="module")
def tokenizers() -> dict[str, Any]:
    return {name: make_tokenizer(family, TEXTS) for name, family in FAMILIES.items()}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("thinking", [False, True])
def test_every_prompt_is_a_beginning_of_the_whole_conversation(family: str, thinking: bool, tokenizers: Any) -> None:
    chat = Chat(tokenizers[family], thinking)
    whole, first = chat.labelled(TALK), chat.prompt(TALK[:1])
    assert whole.ids[: len(first)] == first and chat.prompt(TALK[:3]) == whole.ids[: len(chat.prompt(TALK[:3]))]
    reply = chat._ids(TALK[1]["content"])
    opened = chat._ids(chat._extra)  # what a model that may think writes before its reply
    assert chat.prompt(TALK[:3]) == first + opened + reply + chat.between(TALK[:3])


@pytest.mark.parametrize("family", FAMILIES)
def test_the_mask_is_the_replies_with_their_end_marks(family: str, tokenizers: Any) -> None:
    tokenizer = tokenizers[family]
    chat = Chat(tokenizer)
    whole = chat.labelled(TALK)
    own = tokenizer.decode([token for token, mine in zip(whole.ids, whole.own, strict=True) if mine])
    end, thought = tokenizer.decode(chat.closing), "<think>\n\n</think>\n\n" if family.startswith("qwen3") else ""
    assert own == f"{thought}{TALK[1]['content']}{end}{thought}{TALK[3]['content']}{end}"
    named = SimpleNamespace(eos_token_id=tokenizer.convert_tokens_to_ids(list(FAMILIES[family].ends)))
    assert chat.closing[0] in end_tokens(named, tokenizer)


@pytest.mark.parametrize("family", ["llama3", "qwen3", "gemma", "qwen2.5"])
def test_tokens_and_mask_are_those_of_trl_where_it_has_a_training_template(family: str, tokenizers: Any) -> None:
    from trl.chat_template_utils import get_training_chat_template

    tokenizer, whole = tokenizers[family], Chat(tokenizers[family]).labelled(TALK)
    theirs = tokenizer.apply_chat_template(
        TALK, chat_template=get_training_chat_template(tokenizer), return_dict=True, return_assistant_tokens_mask=True
    )
    mask = [bool(each) for each in theirs["assistant_masks"]]
    assert theirs["input_ids"] == whole.ids
    if family == "qwen2.5":  # TRL's also marks the line end of the prompt, which no model writes
        before = [place for place, (one, other) in enumerate(zip(mask, whole.own, strict=True)) if one != other]
        assert [whole.own[place + 1] for place in before] == [True, True]
        assert {tokenizer.decode([whole.ids[place]]) for place in before} == {"\n"}
    else:
        assert mask == whole.own


@pytest.mark.parametrize(
    ("written", "text", "n_tokens"),
    [
        ("It dried up.<|im_end|>", "It dried up.", None),
        ("It dried up.<|endoftext|>", "It dried up.", None),
        ("<think>\nsad, dry\n</think>\n\nIt dried up.<|im_end|>", "It dried up.", None),
        ("sad, dry\n</think>\n\nIt dried up.<|im_end|>", "It dried up.", None),
        ("<think>\nIt dried up. No: it ran far, and", "", 0),
    ],
)
def test_thoughts_are_not_said_and_not_counted(written: str, text: str, n_tokens: int | None, tokenizers: Any) -> None:
    tokenizer = tokenizers["qwen3"]
    ends = tokenizer.convert_tokens_to_ids(["<|im_end|>", "<|endoftext|>"])
    ids = tokenizer(written)["input_ids"]
    counted = len(tokenizer(text)["input_ids"]) if n_tokens is None else n_tokens
    assert said(ids, tokenizer, ends) == (text, counted)


def test_leftover_thoughts_in_rows_are_no_words_of_the_assistant() -> None:
    row = [{"role": "user", "content": "what is <think>?"}, {"role": "assistant", "content": "<think>hm</think>A tag."}]
    wire = PlainChat("base").encode(row, "")
    assert [each["content"] for each in wire] == ["what is <think>?", "A tag."]


@pytest.mark.parametrize(
    ("template", "messages", "complaint"),
    [
        ("gemma", [{"role": "system", "content": "Be kind."}, *TALK], "refuses .*: System role not supported"),
        ("{{ messages[0]['content'] }}", TALK, "omits replies"),
    ],
)
def test_a_template_that_cannot_take_a_conversation_is_refused_in_one_line(
    template: str, messages: Any, complaint: str, tokenizers: Any
) -> None:
    tokenizer = make_tokenizer(FAMILIES["gemma"], TEXTS)
    tokenizer.chat_template = template if "{" in template else tokenizer.chat_template
    with pytest.raises(LocalModelError, match=complaint) as error:
        Chat(tokenizer).labelled(messages)
    assert "\n" not in str(error.value)
