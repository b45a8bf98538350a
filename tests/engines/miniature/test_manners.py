"""Manners of typing change the words of the miniature's user, and nothing else."""

from itertools import product

import pytest

from discover_lib.base.leak_words import find_leaks
from discover_lib.core.conversation import Conversation
from discover_lib.core.rollout import run_conversation
from discover_lib.core.simulator import UserSimulator
from discover_lib.core.view import hidden_texts, known_texts
from discover_lib.engines.manner import MANNERS, Manner
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import generate_artifact
from discover_lib.engines.miniature.assistants import POLICIES, scripted_assistant
from discover_lib.engines.miniature.lexicon import ALL_DOMAINS, DOMAINS, load_lexicon
from discover_lib.engines.miniature.reading import read_user
from discover_lib.metrics.manners import LONG, SHORT


def talk(domain: str, assistant: str, index: int, manner: Manner | None) -> Conversation:
    user = engine(domain, manner=manner)
    tree = user.builder.build(generate_artifact(domain, "train", index)).tree
    return run_conversation(tree, user.judge, user.voice, [scripted_assistant(assistant, domain)], seed=index)


@pytest.fixture(scope="module", params=MANNERS)
def talks(request: pytest.FixtureRequest) -> list[Conversation]:
    """Conversations of one manner: every policy in every domain, 260 user turns and more."""
    places = enumerate(product(ALL_DOMAINS, sorted(POLICIES)))
    return [talk(domain, name, index, MANNERS[request.param]) for index, (domain, name) in places]


def messages_of(talks: list[Conversation]) -> list[str]:
    return [turn.user_message for each in talks for turn in each.turns if turn.user_message is not None]


@pytest.mark.slow
def test_no_message_of_any_manner_leaks(talks: list[Conversation]) -> None:
    leaks = []
    for place, each in enumerate(talks):
        domain = list(product(ALL_DOMAINS, POLICIES))[place][0]
        categories = [dimension.aspect for dimension in load_lexicon(domain).dimensions.values()]
        for turn in each.turns:
            before = [message.content for message in each.messages(turn.index)[:-1]]
            known = [*known_texts(each.tree, turn.after), *categories, *before]
            leaks += [turn.user_message for _ in turn.leaks]
            leaks += find_leaks(turn.user_message or "", hidden_texts(each.tree, turn.after), known)
    assert leaks == [] and len(messages_of(talks)) > 200


@pytest.mark.slow
@pytest.mark.parametrize(("name", "index"), [(name, index) for index in (0, 1) for name in MANNERS])
def test_the_same_replies_lead_to_the_same_states_and_rewards_and_are_heard_alike(name: str, index: int) -> None:
    domain = DOMAINS[index]
    user, other = engine(domain), engine(domain, manner=MANNERS[name])
    tree = user.builder.build(generate_artifact(domain, "train", index)).tree
    plain = UserSimulator(tree, user.judge, user.voice, seed=7)
    formed = UserSimulator(tree, other.judge, other.voice, seed=7)
    assistant = scripted_assistant("adaptive", domain)
    for _ in range(5):
        reply = plain.ask(assistant)
        one, another = plain.step(reply), formed.step(reply)
        assert (one.after, one.candidate.reward, one.view) == (another.after, another.candidate.reward, another.view)
        assert read_user(one.user_message or "", domain) == read_user(another.user_message or "", domain)


@pytest.mark.slow
def test_terse_is_short_and_rambling_is_long() -> None:
    for name, at_least, counts in (
        ("terse", 0.5, lambda words: words <= SHORT),
        ("rambling", 0.25, lambda words: words > LONG),
    ):
        said = messages_of([talk(domain, "adaptive", index, MANNERS[name]) for domain in DOMAINS for index in range(6)])
        assert sum(counts(len(message.split())) for message in said) >= at_least * len(said)
