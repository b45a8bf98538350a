"""Replies in prose: one hero a user, forms that do what they say, and noun phrases that fit their frames."""

import pytest

from discover_lib.core.conversation import Message
from discover_lib.engines.miniature.assistants import scripted_assistant
from discover_lib.engines.miniature.lexicon import ALL_DOMAINS, load_lexicon
from discover_lib.engines.miniature.notation import Move
from discover_lib.engines.miniature.phrases import other_than, the
from discover_lib.engines.miniature.reading import read_reply, read_user
from discover_lib.engines.miniature.rendering import hero_of, line_told, make_reply

STORY, ARTICLE = load_lexicon("creative_writing"), load_lexicon("technical_writing")
LEAVES = [value for value in STORY.values.values() if value.is_leaf]


def test_a_line_is_read_as_its_value_whoever_the_hero_is() -> None:
    assert len(STORY.heroes) == 12
    for hero in STORY.heroes:
        for value in LEAVES:
            assert STORY.find_cues(line_told(value, hero)) == [value.id]


def test_a_user_has_one_hero_in_every_reply() -> None:
    request = "can you write me a short story set by the water?"
    name = hero_of(request, STORY).partition(" ")[0]
    assistant, messages = scripted_assistant("draft", "creative_writing"), [Message("user", request)]
    for seed in range(4):
        reply = assistant.reply(messages, seed)
        assert name in reply.text and "Wren" not in reply.text.replace(name, "")
        messages += [reply.message, Message("user", "can i see another?")]


FORMS = {
    "numbered-steps": "> 2. ",
    "checklist": "> - ☐ ",
    "glossary": "> **",
    "faq": "> **Q:** How does it work?\n> **A:** ",
    "transcript": "> **Interviewer:** ",
    "pros-and-cons": "> | For | Against |\n> |---|---|\n> | ",
    "by-hour": "> **8:00.** ",
}


@pytest.mark.parametrize("structure", ARTICLE.dimensions["structure"].leaves)
def test_an_article_has_the_form_that_it_names_and_is_read_as_its_values(structure: str) -> None:
    others = [dimension.leaves[0] for name, dimension in ARTICLE.dimensions.items() if name != "structure"]
    reply = make_reply([Move("draft", (*others, structure))], ARTICLE, "x", request="hello")
    assert {*read_reply(reply.text, "technical_writing").options[0]} == {*others, structure}
    assert FORMS.get(structure, "> # ") in reply.text


@pytest.mark.parametrize("domain", ALL_DOMAINS)
def test_noun_phrases_that_a_frame_is_filled_with_still_name_their_value(domain: str) -> None:
    values = load_lexicon(domain).values.values()
    for value in (value for value in values if not value.is_leaf and " need" not in value.say):
        assert read_user(f"maybe {other_than(value)}?", domain).hinted == (value.id,)
        sounds_doubtful = any(word in value.say for word in ("off-center", "different", "another"))
        assert sounds_doubtful or read_user(f"good, {the(value)}", domain).liked == (value.id,)


def test_another_value_of_a_kind_is_said_in_its_number() -> None:
    said = {value.say: other_than(value) for value in ARTICLE.values.values()}
    assert said["a humorous tone"] == "a different humorous tone"
    assert said["published sources"] == "different published sources"
    assert said["something on heating"] == "something else on heating"
    assert {value.say: other_than(value) for value in STORY.values.values()}["rain"] == "a different kind of rain"
