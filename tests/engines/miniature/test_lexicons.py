"""The lexicons: what a user says names one value, what is written shows it and no other, plain prose shows nothing."""

import random

import pytest

from discover_lib.base.files import data_folder
from discover_lib.base.words import content_words, words
from discover_lib.engines.miniature.artifacts import written_artifacts
from discover_lib.engines.miniature.lexicon import ALL_DOMAINS, DRAWN, UNSEEN_DOMAINS, Lexicon, load_lexicon

WRITTEN = [domain for domain in ALL_DOMAINS if domain != DRAWN]
PROSE = ("creative_writing", "technical_writing")
every_domain = pytest.mark.parametrize("lexicon", [load_lexicon(domain) for domain in ALL_DOMAINS], ids=ALL_DOMAINS)
written_domains = pytest.mark.parametrize("lexicon", [load_lexicon(domain) for domain in WRITTEN], ids=WRITTEN)
prose_domains = pytest.mark.parametrize("lexicon", [load_lexicon(domain) for domain in PROSE], ids=PROSE)
# What a simulated user says whatever it wants; a requirement in these words could not be told from chatter.
CHATTER = frozenset(
    """feel feels different exactly quality certain change changed clear closer option options direction idea work works
    fine perfect love thanks tell pick wrong says know somehow something kind kinds like want wants missing right sure
    off nice maybe perhaps keep good great another else unsure need should""".split()
)


def leaves(lexicon: Lexicon) -> list[str]:
    return [value.id for value in lexicon.values.values() if value.is_leaf]


@every_domain
def test_what_a_user_says_is_read_as_the_value(lexicon: Lexicon) -> None:
    for value in lexicon.values.values():
        assert lexicon.find_cues(f"I want {value.say}.") == [value.id]


@written_domains
def test_a_requirement_says_something_and_names_nothing_outside_its_lineage(lexicon: Lexicon) -> None:
    kind, talk = content_words(lexicon.artifact_type), lexicon.domain in UNSEEN_DOMAINS
    for value in lexicon.values.values():
        assert set(lexicon.find_cues(value.text, talk=talk)) <= set(lexicon.lineages[value.id]), value.text
        assert not content_words(value.text) <= kind, value.text


@every_domain
def test_words_that_only_name_a_value_in_talk_name_nothing_in_a_finished_piece(lexicon: Lexicon) -> None:
    for value in lexicon.values.values():
        for phrase in value.talk:
            assert value.id in lexicon.find_cues(phrase, talk=True), phrase
            assert value.id not in lexicon.find_cues(phrase), phrase


@written_domains
def test_a_leaf_and_nothing_else_has_a_line_which_names_it_alone(lexicon: Lexicon) -> None:
    for value in lexicon.values.values():
        assert bool(value.line) == value.is_leaf, value.id
        assert not value.is_leaf or lexicon.find_cues(value.line) == [value.id]


@prose_domains
def test_a_composed_piece_is_read_as_exactly_its_values(lexicon: Lexicon) -> None:
    rng = random.Random(7)
    for _ in range(100):
        chosen = [leaf for each in lexicon.dimensions.values() for leaf in rng.sample(each.leaves, each.holds)]
        for joint in (" ", "\n\n"):
            assert lexicon.find_cues(joint.join(lexicon.values[leaf].line for leaf in chosen)) == chosen
    assert not [leaf for leaf in leaves(lexicon) if lexicon.values[leaf].line[-1] not in ".?!"]


def test_requirement_texts_use_no_word_of_chatter() -> None:
    values = load_lexicon("technical_writing").values.values()
    assert not [value.text for value in values if CHATTER & set(words(value.text))]


@prose_domains
def test_a_written_piece_is_recognised_in_six_dimensions_never_overfull_and_not_assembled(lexicon: Lexicon) -> None:
    pieces = written_artifacts(lexicon.domain, data_folder())
    assert len(pieces) >= 8
    for piece in pieces:
        found = [lexicon.values[value].dimension for value in lexicon.find_cues(piece.text)]
        assert len(set(found)) >= 6
        assert not [name for name in found if found.count(name) > lexicon.dimensions[name].holds]
        assert not [leaf for leaf in leaves(lexicon) if lexicon.values[leaf].line in piece.text]


# Prose as people paste it, and every value it names.
STORIES = {
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
ARTICLES = {
    "a router manual": (
        "Before you start the installation, read these instructions. Step 1: place the box upright near a socket. "
        "If the lamp stays red, see the section on troubleshooting. The wiring diagram is printed inside the lid. "
        "Danger of electric shock: do not open the housing.",
        {"installation", "numbered-steps", "fault-finding", "circuit-diagram", "electric-shock"},
    ),
    "a science news item": (
        "The work, a systematic review of 41 trials, looked at how long vaccination protects older people. It was led "
        "by a hospital in Oslo. The authors give wide confidence intervals and call for further research.",
        {"meta-analysis", "vaccine", "hospital", "error-bars", "next-study"},
    ),
    "a blog post on code": (
        "I wrote a bit of Python to see which pages our cache was throwing away. The line graph surprised everyone. "
        "In a nutshell: we had been storing the wrong thing, and it took a spare Sunday to notice.",
        {"python", "cache", "line-chart", "one-sentence"},
    ),
    "a letter about a scheme": (
        "The council wants a heat network for our seaside town. I am not against it, but the upfront price and the "
        "carbon footprint of the pipes deserve a hearing, and the Dutch experience has been mixed.",
        {"district-heating", "seaside-town", "outlay", "carbon", "netherlands"},
    ),
    "a note on a bridge": (
        "Built in 1931, the suspension bridge has outlived its designers. A cross-section of the main cable shows "
        "37 strands. Steam engines hauled the stone. Nobody has ever replaced a strand; an expert panel "
        "recommends starting now.",
        {"suspension-bridge", "cutaway", "steam-engine", "expert-panel"},
    ),
    "small talk": (
        "We had a lovely afternoon. Tom cooked, the twins were loud, and in the evening everyone walked down to look "
        "at the boats and argue about where to go next year.",
        set(),
    ),
    "a delivery note": (
        "Hello, your order left us this morning and should be with you by Friday. Reply to this message should "
        "anything be broken.",
        set(),
    ),
}
PLAIN = [
    "He paid, put the change in his pocket, and went to find the others. They had already ordered. Nobody asked where "
    "he had been, and after a minute or two he stopped waiting to be asked.",
    "Please find attached the minutes of Tuesday's meeting. Two points are still open, and I would be grateful for "
    "your comments before the end of the week.",
    "She wound the clock, sprang up the stairs, smiled sadly and set her feet on the fender.",
]


@pytest.mark.parametrize(
    ("domain", "text", "expected"),
    [
        *(("creative_writing", text, expected) for text, expected in STORIES.items()),
        *(("creative_writing", text, set()) for text in PLAIN),
        *(("technical_writing", text, expected) for text, expected in ARTICLES.values()),
    ],
)
def test_pasted_prose_is_read_for_what_it_says_and_no_more(domain: str, text: str, expected: set[str]) -> None:
    assert set(load_lexicon(domain).find_cues(text)) == expected


@pytest.mark.parametrize(
    ("british", "american"),
    [("humour", "humor"), ("sceptical", "skeptical"), ("operating theatre", "operating theater")],
)
def test_british_and_american_spellings_are_both_read(british: str, american: str) -> None:
    lexicon = load_lexicon("technical_writing")
    assert lexicon.find_cues(british) == lexicon.find_cues(american) != []
