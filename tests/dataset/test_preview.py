"""The preview of what a trainer gets: exact texts, exact boundaries of the loss, against TRL's own templates."""

from importlib.resources import files

import pytest

from discover_lib.dataset.preview import TEMPLATES, ChatTemplate, Piece, sequences

TALK = [
    {"role": "user", "content": "draw a boat"},
    {"role": "assistant", "content": "  <svg>…</svg>\nLike this? "},
    {"role": "user", "content": "bluer"},
    {"role": "assistant", "content": "Done."},
]
SYSTEM = {"role": "system", "content": "Explore first."}
# TRL's training template of each of ours that stands for a real model.
OF_TRL = {"Qwen2.5": "qwen2_5_training.jinja", "Llama 3": "llama3_training.jinja"}


def text(pieces: list[Piece]) -> str:
    return "".join(piece.text for piece in pieces)


def learnt(pieces: list[Piece]) -> list[str]:
    """The stretches that carry loss, neighbours together."""
    stretches: list[str] = []
    before = False
    for piece in pieces:
        if piece.loss:
            stretches = [*stretches[:-1], stretches[-1] + piece.text] if before else [*stretches, piece.text]
        before = piece.loss
    return stretches


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_TRL)
@pytest.mark.parametrize("messages", [TALK, [SYSTEM, *TALK], TALK[:2]], ids=["plain", "system", "short"])
def test_texts_and_loss_are_those_of_the_trainer(name: str, messages: list[dict[str, str]]) -> None:
    pytest.importorskip("trl", reason="compares with the templates that TRL trains with")
    render = pytest.importorskip("transformers.utils.chat_template_utils").render_jinja_template
    template = (files("trl") / "chat_templates" / OF_TRL[name]).read_text(encoding="utf-8")
    given = {"chat_template": template, "bos_token": "<|begin_of_text|>"}
    (whole,), (spans,) = render([messages], return_assistant_tokens_mask=True, **given)
    ours = TEMPLATES[name].conversation(messages)
    assert text(ours) == whole
    assert learnt(ours) == [whole[begin:end] for begin, end in spans]
    (prompt,), _ = render([messages[:-1]], add_generation_prompt=True, **given)
    row = {"prompt": messages[:-1], "chosen": messages[-1:], "rejected": TALK[-1:]}
    pair = sequences(row, TEMPLATES[name])
    assert text(sequences({"prompt": messages[:-1]}, TEMPLATES[name])["prompt"]) == prompt
    assert text(pair["chosen"]) == whole
    assert learnt(pair["chosen"]) == [whole.removeprefix(prompt)]


@pytest.mark.parametrize("template", TEMPLATES.values(), ids=list(TEMPLATES))
def test_only_the_assistant_is_learnt_and_never_a_prompt(template: ChatTemplate) -> None:
    (whole,) = sequences({"messages": TALK}, template).values()
    assert [piece.text.strip() for piece in whole if piece.loss and piece.kind != "template"] == [
        TALK[1]["content"].strip(),
        "Done.",
    ]
    assert len(learnt(whole)) == 2 and all(template.tail.strip() in stretch for stretch in learnt(whole))
    (prompt,) = sequences({"prompt": TALK[:3]}, template).values()
    assert learnt(prompt) == []
    pair = sequences({"prompt": TALK[:3], "chosen": TALK[3:], "rejected": TALK[1:2]}, template)
    assert [learnt(side) for side in pair.values()] == [
        ["Done." + template.tail],
        [(TALK[1]["content"].strip() if template.trims else TALK[1]["content"]) + template.tail],
    ]
