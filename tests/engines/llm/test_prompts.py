"""Prompts: rendered strictly, versioned by content, replaceable, and true to the answers that the code expects."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from discover_lib.base.errors import DiscoverError
from discover_lib.engines.llm import answers
from discover_lib.engines.llm.prompting import BY_CHOICE, PROMPT_FOLDER, PromptSet, quoted

OURS = PromptSet()
STRUCTURED = sorted(name for name, template in OURS.templates.items() if len(template.parts) == 2)
ANSWER_OF = {
    name: re.search(r"Answer: discover_lib\.engines\.llm\.answers\.(\w+)", _text)
    for name, _text in ((name, (PROMPT_FOLDER / f"{name}.md").read_text("utf-8")) for name in OURS.templates)
}


def write(folder: Path, name: str, text: str) -> PromptSet:
    (folder / f"{name}.md").write_text(text, encoding="utf-8")
    return PromptSet(folder)


@pytest.mark.parametrize("name", STRUCTURED)
def test_instructions_are_the_same_in_every_call(name: str) -> None:
    """Values stand in the last message only, so that providers can cache what comes before."""
    (first, instructions), (second, asked) = OURS[name].parts
    assert (first, second) == ("system", "user")
    assert "{{" not in instructions and "{{" in asked


@pytest.mark.parametrize("name", STRUCTURED)
def test_the_example_in_a_prompt_is_an_answer_that_the_code_accepts(name: str) -> None:
    found = ANSWER_OF[name]
    assert found, f"{name}.md does not say which answer it expects"
    model: type[BaseModel] = getattr(answers, found.group(1))
    (example,) = re.findall(r"```json\n(.*?)\n```", OURS[name].parts[0][1], re.DOTALL)
    assert model.model_validate_json(example).model_fields_set == set(model.model_fields)


# -- rendering -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "values", "said"),
    [
        ("interactivity_judge", {}, "'interactivity_judge' needs conversation"),
        ("interactivity_judge", {"conversation": "hi", "mood": "calm"}, "has no place for mood"),
        ("voise", {}, "unknown prompt 'voise'; there are abstraction, "),
    ],
)
def test_a_missing_and_an_unknown_value_are_refused(name: str, values: dict[str, str], said: str) -> None:
    with pytest.raises(DiscoverError, match=said):
        OURS.render(name, **values)


def test_a_value_that_looks_like_a_placeholder_stays_as_it_is() -> None:
    asked = OURS.render("interactivity_judge", conversation="{{ conversation }} and {{ other }}")[1]
    assert asked == {"role": "user", "content": "{{ conversation }} and {{ other }}"}


@pytest.mark.slow
@given(st.text(alphabet="</>aeplry2 \n", max_size=60))
def test_a_quotation_cannot_end_itself(text: str) -> None:
    framed = quoted("reply", text)
    tag = framed.partition("\n")[0]
    assert framed == f"{tag}\n{text}\n{tag.replace('<', '</')}"
    assert framed.count(tag.replace("<", "</")) == 1


# -- versions and replacements ---------------------------------------------------------------------------------------


def test_a_prompt_is_known_by_what_it_sends(tmp_path: Path) -> None:
    assert set(OURS.hashes()) == set(OURS.templates) - BY_CHOICE
    assert set(OURS.hashes({"leak_check"})) == set(OURS.hashes()) | {"leak_check"}
    assert all(re.fullmatch(r"[0-9a-f]{64}", sha) for sha in OURS.hashes().values())
    text = (PROMPT_FOLDER / "clarifying.md").read_text("utf-8")
    assert write(tmp_path, "clarifying", text).hashes() == OURS.hashes()
    (tmp_path / "clarifying.md").write_bytes(text.replace("\n", "\r\n").encode())
    assert PromptSet(tmp_path).hashes() == OURS.hashes(), "line endings are no content"
    assert write(tmp_path, "clarifying", text.replace("CollabLLM", "others")).hashes() == OURS.hashes(), "a comment"
    changed = write(tmp_path, "clarifying", text + "\nNever ask twice.\n").hashes()
    assert {name for name, sha in changed.items() if sha != OURS.hashes()[name]} == {"clarifying"}


def test_a_folder_replaces_prompts_by_name(tmp_path: Path) -> None:
    prompts = write(tmp_path, "interactivity_judge", "--- user ---\nHow lively?\n{{ conversation }}\n")
    assert prompts.render("interactivity_judge", conversation="hi") == ({"role": "user", "content": "How lively?\nhi"},)
    assert prompts["user_reply"] == OURS["user_reply"]


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("interactivity_juge", "--- user ---\nhello", "unknown prompt 'interactivity_juge'"),
        ("interactivity_judge", "--- user ---\n{{ talk }}", "must use the values conversation; it uses talk"),
        ("interactivity_judge", "{{ conversation }}", "a template starts with a line such as"),
        ("interactivity_judge", "--- system ---\n\n--- user ---\n{{ conversation }}", "an empty system message"),
        ("interactivity_judge", "--- user ---\n{{ the conversation }}", "opens no value"),
    ],
)
def test_a_replacement_that_would_go_wrong_is_refused_before_work_starts(tmp_path, name, text, complaint) -> None:
    with pytest.raises(DiscoverError, match=re.escape(complaint)):
        write(tmp_path, name, text)
