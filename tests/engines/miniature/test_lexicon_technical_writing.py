"""The technical_writing lexicon: its size, its law about lines, and what it reads in prose from elsewhere."""

import random
from pathlib import Path

import pytest

from discover_lib.base.words import words
from discover_lib.engines.miniature.lexicon import Lexicon, load_lexicon

PIECES = sorted((Path(__file__).parents[3] / "data" / "artifacts" / "technical_writing").glob("*.md"))
# What a simulated user says whatever it wants; a requirement in these words could not be told from chatter.
CHATTER = frozenset(
    """feel feels different exactly quality certain change changed clear closer option options direction idea work works
    fine perfect love thanks tell pick wrong says know somehow something kind kinds like want wants missing right sure
    off nice maybe perhaps keep good great another else unsure need should""".split()
)


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    return load_lexicon("technical_writing")


def leaves(lexicon: Lexicon) -> list[str]:
    return [value.id for value in lexicon.values.values() if value.is_leaf]


def dimensions_of(lexicon: Lexicon, values: list[str]) -> set[str]:
    return {lexicon.values[value].dimension for value in values}


def test_it_has_at_least_eleven_dimensions_of_twelve_leaves_on_average(lexicon: Lexicon) -> None:
    counts = [len(dimension.leaves) for dimension in lexicon.dimensions.values()]
    assert len(counts) >= 11
    assert sum(counts) / len(counts) >= 12
    assert min(counts) >= 9


def test_every_leaf_lies_three_or_four_levels_deep_but_the_tables(lexicon: Lexicon) -> None:
    shallow = {leaf for leaf in leaves(lexicon) if lexicon.values[leaf].depth < 3}
    assert shallow == {"lookup-table", "league-table"}
    assert max(value.depth for value in lexicon.values.values()) == 4


def test_two_or_three_dimensions_may_be_asked_and_one_or_two_hold_several_values(lexicon: Lexicon) -> None:
    assert [name for name, each in lexicon.dimensions.items() if each.asked] == ["subject", "reader", "purpose"]
    assert [name for name, each in lexicon.dimensions.items() if each.holds > 1] == ["evidence", "caveat"]


def test_each_line_names_its_own_leaf_and_no_other_value(lexicon: Lexicon) -> None:
    misread = {
        leaf: found for leaf in leaves(lexicon) if (found := lexicon.find_cues(lexicon.values[leaf].line)) != [leaf]
    }
    assert not misread


def test_each_line_is_a_sentence_or_two_of_fifteen_to_forty_words(lexicon: Lexicon) -> None:
    lengths = {leaf: len(lexicon.values[leaf].line.split()) for leaf in leaves(lexicon)}
    assert not {leaf: count for leaf, count in lengths.items() if not 15 <= count <= 40}


def test_each_line_ends_its_sentence(lexicon: Lexicon) -> None:
    assert not [leaf for leaf in leaves(lexicon) if lexicon.values[leaf].line[-1] not in ".?!"]


def test_inner_values_have_no_line(lexicon: Lexicon) -> None:
    assert not [value.id for value in lexicon.values.values() if value.line and not value.is_leaf]


def test_a_composed_piece_is_read_as_exactly_its_values(lexicon: Lexicon) -> None:
    rng = random.Random(7)
    for _ in range(200):
        chosen = [leaf for each in lexicon.dimensions.values() for leaf in rng.sample(each.leaves, each.holds)]
        assert lexicon.find_cues(" ".join(lexicon.values[leaf].line for leaf in chosen)) == chosen


@pytest.mark.slow
def test_no_cue_arises_where_two_lines_meet_even_without_a_full_stop(lexicon: Lexicon) -> None:
    """Heads and tails are enough: a cue has at most four words, so it reaches three words into either line."""
    lines = {leaf: words(lexicon.values[leaf].line) for leaf in leaves(lexicon)}
    heads = {" ".join(line[:3]) for line in lines.values()}
    tails = {" ".join(line[-3:]) for line in lines.values()}
    alone = {part: set(lexicon.find_cues(part)) for part in heads | tails}
    arisen = [
        (tail, head)
        for tail in sorted(tails)
        for head in sorted(heads)
        if not set(lexicon.find_cues(f"{tail} {head}")) <= alone[tail] | alone[head]
    ]
    assert not arisen


def test_what_a_user_says_for_a_value_is_read_as_that_value(lexicon: Lexicon) -> None:
    misread = {
        each.id: each.say for each in lexicon.values.values() if lexicon.find_cues(f"i want {each.say}") != [each.id]
    }
    assert not misread


def test_a_requirement_text_names_nothing_outside_its_own_lineage(lexicon: Lexicon) -> None:
    stray = {
        value.id: found
        for value in lexicon.values.values()
        if not set(found := lexicon.find_cues(value.text)) <= set(lexicon.lineages[value.id])
    }
    assert not stray


def test_requirement_texts_and_sayings_use_no_word_of_chatter(lexicon: Lexicon) -> None:
    phrases = [phrase for value in lexicon.values.values() for phrase in (value.text, value.say)]
    assert not [phrase for phrase in phrases if CHATTER & set(words(phrase))]


def test_requirement_texts_have_at_most_twelve_words(lexicon: Lexicon) -> None:
    assert not [value.text for value in lexicon.values.values() if len(words(value.text)) > 12]


def test_there_are_at_least_eight_pieces_written_by_hand() -> None:
    assert len(PIECES) >= 8


@pytest.mark.parametrize("path", PIECES, ids=lambda path: path.stem)
def test_a_piece_has_a_title_and_a_fitting_length(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert 120 <= len(text.split()) <= 300


@pytest.mark.parametrize("path", PIECES, ids=lambda path: path.stem)
def test_a_piece_is_recognised_in_six_dimensions_or_more_and_never_overfull(path: Path, lexicon: Lexicon) -> None:
    found = lexicon.find_cues(path.read_text(encoding="utf-8"))
    held = [lexicon.values[value].dimension for value in found]
    assert len(set(held)) >= 6
    assert not [name for name in held if held.count(name) > lexicon.dimensions[name].holds]


def test_no_piece_is_assembled_from_the_lines(lexicon: Lexicon) -> None:
    texts = [path.read_text(encoding="utf-8") for path in PIECES]
    assert not [leaf for leaf in leaves(lexicon) if any(lexicon.values[leaf].line in text for text in texts)]


PASTED = {
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


@pytest.mark.parametrize("name", PASTED)
def test_pasted_prose_is_read_for_what_it_says_and_no_more(name: str, lexicon: Lexicon) -> None:
    text, expected = PASTED[name]
    assert set(lexicon.find_cues(text)) == expected


def test_british_and_american_spellings_are_both_read(lexicon: Lexicon) -> None:
    for british, american in (
        ("humour", "humor"),
        ("sceptical", "skeptical"),
        ("operating theatre", "operating theater"),
    ):
        assert lexicon.find_cues(british) == lexicon.find_cues(american) != []
