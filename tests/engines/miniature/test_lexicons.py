"""The lexicons: what a user says names one value, what is written shows it and no other, plain prose shows nothing."""

import random

import pytest

from discover_lib.base.files import data_folder
from discover_lib.base.words import content_words
from discover_lib.engines.miniature.artifacts import written_artifacts
from discover_lib.engines.miniature.lexicon import ALL_DOMAINS, DRAWN, UNSEEN_DOMAINS, Lexicon, load_lexicon

WRITTEN = [domain for domain in ALL_DOMAINS if domain != DRAWN]
PROSE = ("creative_writing", "technical_writing")
every_domain = pytest.mark.parametrize("lexicon", [load_lexicon(domain) for domain in ALL_DOMAINS], ids=ALL_DOMAINS)
written_domains = pytest.mark.parametrize("lexicon", [load_lexicon(domain) for domain in WRITTEN], ids=WRITTEN)
prose_domains = pytest.mark.parametrize("lexicon", [load_lexicon(domain) for domain in PROSE], ids=PROSE)


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
PASTED = [
    (
        "creative_writing",
        "My grandmother kept the diary in a biscuit tin. I read it all in one night, in January, with the rain coming "
        "down, and in the morning there was a smell of coffee and I could not look at her.",
        {"grandmother", "diary", "rain", "winter", "coffee"},
    ),
    (
        "creative_writing",
        "Jonah said he wasn't afraid of the dark. He said it twice. Then the owl started up, out past the orchard, "
        "and he said it again, closer to his sister.",
        {"fear-of-dark", "owl", "orchard", "relation"},
    ),
    (
        "creative_writing",
        "He paid, put the change in his pocket, and went to find the others. They had already ordered. Nobody asked "
        "where he had been, and after a minute or two he stopped waiting to be asked.",
        set(),
    ),
    (
        "technical_writing",
        "Before you start the installation, read these instructions. Step 1: place the box upright near a socket. "
        "If the lamp stays red, see the section on troubleshooting. The wiring diagram is printed inside the lid. "
        "Danger of electric shock: do not open the housing.",
        {"installation", "numbered-steps", "fault-finding", "circuit-diagram", "electric-shock"},
    ),
    (
        "technical_writing",
        "The council wants a heat network for our seaside town. I am not against it, but the upfront price and the "
        "carbon footprint of the pipes deserve a hearing, and the Dutch experience has been mixed.",
        {"district-heating", "seaside-town", "outlay", "carbon", "netherlands"},
    ),
    (
        "technical_writing",
        "We had a lovely afternoon. Tom cooked, the twins were loud, and in the evening everyone walked down to look "
        "at the boats and argue about where to go next year.",
        set(),
    ),
]


@pytest.mark.parametrize(("domain", "text", "expected"), PASTED)
def test_pasted_prose_is_read_for_what_it_says_and_no_more(domain: str, text: str, expected: set[str]) -> None:
    assert set(load_lexicon(domain).find_cues(text)) == expected


@pytest.mark.parametrize(("british", "american"), [("humour", "humor"), ("sceptical", "skeptical")])
def test_british_and_american_spellings_are_both_read(british: str, american: str) -> None:
    lexicon = load_lexicon("technical_writing")
    assert lexicon.find_cues(british) == lexicon.find_cues(american) != []
