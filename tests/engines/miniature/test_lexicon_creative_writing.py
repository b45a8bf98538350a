"""The creative-writing lexicon: a story is recognised as what it is made of, plain prose as nothing."""

import random
from pathlib import Path

import pytest

from discover_lib.base.words import words
from discover_lib.engines.miniature.lexicon import Lexicon, load_lexicon

STORIES = sorted((Path(__file__).parents[3] / "data" / "artifacts" / "creative_writing").glob("*.md"))

# Prose as people paste it, and every value it names.
PASTED = {
    "My grandmother kept the diary in a biscuit tin. I read it all in one night, in January, with the rain coming "
    "down, and in the morning there was a smell of coffee and I could not look at her.": {
        "grandmother",
        "diary",
        "rain",
        "winter",
        "coffee",
    },
    "The clockmaker had no apprentice, only a cat, and when the flood reached the second step he carried the cat "
    "upstairs and went back down for the clocks.": {"clockmaker", "cat", "flood"},
    "Jonah said he wasn't afraid of the dark. He said it twice. Then the owl started up, out past the orchard, and he "
    "said it again, closer to his sister.": {"fear-of-dark", "owl", "orchard", "relation"},
    "It was an eerie little railway station, fog on both sides of it, and the only other passenger was a nurse who had "
    "missed the train before and showed no surprise.": {"eerie", "railway-station", "fog", "nurse", "missed-train"},
    "She'd found the key years ago, or one like it, and the wind was getting up, and nothing had been forgiven. "
    "They stood at the crossroads with the dog.": {"wind", "forgiveness", "crossroads", "dog"},
    "In a small fishing village, a runaway finds an old map; a boastful rival wants it too.": {
        "fishing-harbour",
        "runaway",
        "map",
        "boaster",
    },
}

PLAIN = [
    "He paid, put the change in his pocket, and went to find the others. They had already ordered. Nobody asked where "
    "he had been, and after a minute or two he stopped waiting to be asked.",
    "Please find attached the minutes of Tuesday's meeting. Two points are still open, and I would be grateful for "
    "your comments before the end of the week.",
    "She wound the clock, sprang up the stairs, smiled sadly and set her feet on the fender.",
]


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    return load_lexicon("creative_writing")


def leaves(lexicon: Lexicon) -> list[str]:
    return [leaf for dimension in lexicon.dimensions.values() for leaf in dimension.leaves]


def composition(lexicon: Lexicon, rng: random.Random) -> list[str]:
    """As many leaves as a piece can hold in each of eight dimensions, in the order of a piece."""
    chosen = set(rng.sample(list(lexicon.dimensions), 8))
    rows = [dimension for name, dimension in lexicon.dimensions.items() if name in chosen]
    return [leaf for dimension in rows for leaf in rng.sample(dimension.leaves, dimension.holds)]


def test_it_is_broad_enough(lexicon: Lexicon) -> None:
    counts = [len(dimension.leaves) for dimension in lexicon.dimensions.values()]
    assert len(counts) >= 11
    assert min(counts) >= 9
    assert sum(counts) / len(counts) >= 12


def test_every_leaf_lies_three_levels_deep(lexicon: Lexicon) -> None:
    assert {lexicon.values[leaf].depth for leaf in leaves(lexicon)} == {3}


def test_companions_and_sensory_details_can_be_several_and_a_few_dimensions_can_be_asked_for(lexicon: Lexicon) -> None:
    rows = lexicon.dimensions.values()
    assert {row.name for row in rows if row.holds > 1} == {"companion", "senses"}
    assert {row.name for row in rows if row.asked} == {"setting", "hero", "companion"}


def test_only_leaves_have_a_line_and_it_is_one_or_two_sentences_long(lexicon: Lexicon) -> None:
    for value in lexicon.values.values():
        assert bool(value.line) == value.is_leaf, value.id
        if value.is_leaf:
            assert 15 <= len(words(value.line)) <= 40, value.id


def test_a_line_names_its_own_value_and_no_other(lexicon: Lexicon) -> None:
    for leaf in leaves(lexicon):
        assert lexicon.find_cues(lexicon.values[leaf].line) == [leaf]


def test_a_line_ends_its_sentence_so_that_no_cue_spans_two_lines(lexicon: Lexicon) -> None:
    for leaf in leaves(lexicon):
        assert lexicon.values[leaf].line[-1] in ".!?", leaf


def test_a_line_can_stand_first_because_it_never_refers_back_to_the_hero_by_pronoun_alone(lexicon: Lexicon) -> None:
    heroic = {"they", "their", "them", "theirs"}
    for name in ("hero", "companion", "object", "wish", "secret"):
        for leaf in lexicon.dimensions[name].leaves:
            spoken = words(lexicon.values[leaf].line)
            pronouns = [at for at, word in enumerate(spoken) if word in heroic]
            named = [at for at, word in enumerate(spoken) if word in ("wren", "wren's")]
            assert not pronouns or named, leaf


@pytest.mark.parametrize("seed", range(100))
def test_a_composed_story_is_recognised_as_exactly_what_it_was_made_of(lexicon: Lexicon, seed: int) -> None:
    chosen = composition(lexicon, random.Random(seed))
    for joint in (" ", "\n\n"):
        assert lexicon.find_cues(joint.join(lexicon.values[leaf].line for leaf in chosen)) == chosen


def test_what_a_user_says_is_read_as_the_value(lexicon: Lexicon) -> None:
    for value in lexicon.values.values():
        assert lexicon.find_cues(f"I want {value.say}.") == [value.id]


def test_a_requirement_text_names_its_own_value_and_nothing_beside_it(lexicon: Lexicon) -> None:
    for value in lexicon.values.values():
        assert lexicon.find_cues(value.text) == [value.id], value.text


def test_there_are_at_least_eight_written_stories() -> None:
    assert len(STORIES) >= 8


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_a_written_story_is_recognised_in_six_dimensions_and_never_overfull(lexicon: Lexicon, path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert 120 <= len(words(text)) <= 300
    found = [lexicon.values[value_id].dimension for value_id in lexicon.find_cues(text)]
    assert len(set(found)) >= 6
    for name in set(found):
        assert found.count(name) <= lexicon.dimensions[name].holds, name


def test_written_stories_are_not_assembled_from_lines(lexicon: Lexicon) -> None:
    stories = [path.read_text(encoding="utf-8") for path in STORIES]
    for leaf in leaves(lexicon):
        assert not any(lexicon.values[leaf].line in story for story in stories), leaf


@pytest.mark.parametrize("text", PASTED, ids=lambda text: text[:30])
def test_pasted_prose_is_recognised_as_what_it_tells(lexicon: Lexicon, text: str) -> None:
    assert set(lexicon.find_cues(text)) == PASTED[text]


@pytest.mark.parametrize("text", PLAIN, ids=lambda text: text[:30])
def test_plain_prose_is_recognised_as_nothing(lexicon: Lexicon, text: str) -> None:
    assert lexicon.find_cues(text) == []
