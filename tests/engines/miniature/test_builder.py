"""The miniature's tree builder and artifacts."""

from dataclasses import replace

import pytest
from msgspec import structs

from discover_lib.base.files import data_folder
from discover_lib.base.words import content_words
from discover_lib.core.conversation import Artifact
from discover_lib.core.roles import BuildError
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import SPLIT_SIZES, generate_artifact, written_artifacts
from discover_lib.engines.miniature.builder import MiniatureBuilder
from discover_lib.engines.miniature.lexicon import ALL_DOMAINS, load_lexicon
from discover_lib.engines.miniature.reading import read_artifact


@pytest.fixture(scope="module", params=ALL_DOMAINS)
def domain(request):
    return request.param


@pytest.mark.slow
def test_what_was_generated_is_what_is_recognised(domain):
    for index in range(20):
        built = engine(domain).builder.build(generate_artifact(domain, "eval", index))
        leaves = {built.tree.text(leaf) for leaf in built.tree.leaves()}
        assert leaves == {each.text for each in built.recognised} == set(built.levels[0])


def test_trees_are_forests_with_one_discovered_root(domain):
    for index in range(20):
        tree = engine(domain).builder.build(generate_artifact(domain, "train", index)).tree
        assert len(tree.roots) >= 5
        assert tree.initially_discovered == ("1",)
        assert len({intent.text for intent in tree.intents.values()}) == len(tree), "duplicates are merged"


@pytest.mark.slow
def test_the_request_gives_nothing_latent_away(domain):
    frame = content_words(" ".join(load_lexicon(domain).requests))
    for index in range(20):
        tree = engine(domain).builder.build(generate_artifact(domain, "train", index)).tree
        latent = {word for key, intent in tree.intents.items() if key != "1" for word in content_words(intent.text)}
        assert not (content_words(tree.initial_request) - frame) & (latent - content_words(tree.text("1")))


@pytest.mark.slow
def test_splits_have_their_sizes_and_share_nothing(domain):
    train, evaluation = (
        [frozenset(read_artifact(generate_artifact(domain, split, index).text, domain)) for index in range(0, size, 5)]
        for split, size in SPLIT_SIZES.items()
    )
    assert not set(train) & set(evaluation)
    with pytest.raises(ValueError, match="has artifacts 0 to 99"):
        generate_artifact(domain, "eval", 100)


def test_hand_written_artifacts_build_trees(domain):
    artifacts = written_artifacts(domain, data_folder())
    assert len(artifacts) >= 6
    for artifact in artifacts:
        built = engine(domain).builder.build(artifact)
        assert len(built.recognised) >= 5, artifact.id
        assert all(each.reason for each in built.recognised)


@pytest.mark.parametrize(
    ("domain", "text", "complaint"),
    [
        ("creative_writing", "", "is empty"),
        ("creative_writing", "He opened it. He made toast.", "recognised nothing.*--engine MODEL"),
        ("technical_writing", "A heat pump moves heat.", "too little.*: recognised something on heat pumps"),
        ("svg_drawing", "<svg xmlns='http://www.w3.org/2000/svg'></svg>", "too little to build from"),
        ("svg_drawing", "not a drawing at all", "SVG"),
        ("svg_drawing", "<svg><rect", "SVG"),
    ],
)
def test_too_little_or_broken_is_refused_in_one_line(domain, text, complaint):
    with pytest.raises(BuildError, match=complaint) as caught:
        engine(domain).builder.build(Artifact("mine", "x", text))
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("mine: ")


STORY = """# The summer of the house

My grandmother kept a dog and a bakery by the harbour, where it rained all summer. She waited for the letter.
I never told her that I had burned it."""


def test_one_word_of_a_requirement_that_says_more_is_read_more_broadly():
    built = engine("creative_writing").builder.build(Artifact("mine", "story", STORY))
    texts = {each.text for each in built.recognised}
    assert "Centers on an unopened letter" not in texts and "Centers on a message on paper" in texts
    assert {"Gives the hero a dog", "Puts a grandmother beside the hero"} <= texts


def test_the_wording_of_a_label_decides_nothing(domain):
    builder = MiniatureBuilder(domain)
    artifacts = written_artifacts(domain, data_folder())
    found = [list(builder.build(artifact).tree.intents) for artifact in artifacts]
    labels = {key: structs.replace(value, text=f"Label {key}") for key, value in builder.lexicon.values.items()}
    builder.lexicon = replace(builder.lexicon, values=labels)
    assert [list(builder.build(artifact).tree.intents) for artifact in artifacts] == found


def test_a_builder_says_what_it_looked_for_in_vain():
    built = engine("creative_writing").builder.build(Artifact("mine", "story", STORY))
    looked, silent = built.notes
    assert "nothing known about" in looked and "the mood" in looked and "the weather" not in looked
    assert "I never told her that I had burned it." in silent
