"""`Episode` is the user that `discover simulate` talks to, behind two calls."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from scripted import ScriptedJudge

from discover_lib.base.errors import DiscoverError
from discover_lib.core.conversation import Message
from discover_lib.core.roles import VoiceError
from discover_lib.core.rules import Rules
from discover_lib.core.view import UserView
from discover_lib.doors.episode import DoorError, Episode
from discover_lib.engines.miniature.assistants import scripted_assistant
from discover_lib.runs.options import RunOptions, RunOptionsError, lay_out
from discover_lib.runs.units import run_unit

DOMAINS = ("svg_drawing", "creative_writing", "technical_writing")


@pytest.mark.slow
@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("name", ["draft", "ask", "adaptive"])
def test_an_episode_is_the_conversation_of_a_run_with_the_same_seed(domain: str, name: str) -> None:
    run = lay_out(RunOptions((name,), domain=domain, artifacts=3, trials=2, seed=7))
    episode = Episode(domain, assistant=name, artifacts=3)
    assistant = scripted_assistant(name, domain)
    for unit in run.units:
        opening = episode.reset(7, unit.artifact, unit.trial)
        assert opening == episode.messages[0]["content"]
        done = False
        while not done:
            done = episode.step(episode.user.ask(assistant)).done
        assert episode.conversation.to_dict() == run_unit(unit).to_dict()


def test_the_steps_are_the_record() -> None:
    episode = Episode(artifacts=2)
    episode.reset(1, 0)
    steps = [episode.step("a cat, a dog, a bird or a fish?"), *[episode.step("in blue or in red?") for _ in range(4)]]
    turns = episode.conversation.turns
    assert [step.message for step in steps] == [turn.user_message for turn in turns]
    assert [step.reward for step in steps] == [turn.candidate.reward.total for turn in turns if turn.candidate.reward]
    assert [step.done for step in steps] == [False, False, False, False, True]
    assert steps[-1].info["stop"] == episode.conversation.stop == "max_turns"
    assert steps[-1].message is None
    assert all(json.loads(json.dumps(step.info)) == step.info for step in steps)


@pytest.mark.slow
@pytest.mark.parametrize("role", ["engine", "judge", "voice"])
def test_a_missing_key_is_said_before_anybody_talks(role: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(RunOptionsError, match=r"^gpt-4o-mini: OPENAI_API_KEY is not set") as told:
        Episode(artifacts=1, **{role: "gpt-4o-mini"})
    assert "\n" not in str(told.value)


def test_a_restored_episode_goes_on_as_if_nothing_had_been() -> None:
    episode, other = Episode(artifacts=2), Episode("creative_writing", artifacts=1)
    episode.reset(3, 1)
    episode.step("a cat or a dog?")
    other.restore(episode.state)  # the state holds its own tree, rules and domain
    for reply in ("red or blue?", "a small one or a large one?"):
        assert other.step(reply) == episode.step(reply)
    assert other.state == episode.state


def test_places_wrap_around_and_a_seed_alone_chooses_its_artifact() -> None:
    episode = Episode(artifacts=3)
    assert episode.reset(0, 4) == episode.reset(0, 1) == episode.reset(0, episode.artifacts[1])
    assert episode.reset(5) == episode.reset(5, 2)


class _Mute:
    def speak(self, view: UserView, messages: Sequence[Message], seed: int) -> str:
        raise VoiceError("nothing came back")


@pytest.mark.parametrize("broken", ["judge", "voice"])
def test_a_failed_turn_is_unscored_and_ends_the_episode(broken: str) -> None:
    episode = Episode(artifacts=1)
    episode.reset(0)
    if broken == "judge":
        episode.user.judge = ScriptedJudge({})
    else:
        episode.user.voice = _Mute()
    message, reward, done, info = episode.step("a cat?")
    assert (message, reward, done) == (None, None, True)
    assert info["stop"] == "error" and info["error"].startswith(f"{broken}: ")
    assert episode.conversation.turns == ()
    with pytest.raises(DoorError, match="the episode is over"):
        episode.step("a cat?")


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (lambda episode: Episode().step("a cat?"), "reset the episode first"),
        (lambda episode: episode.reset(0, "nobody"), "no artifact 'nobody'"),
        (lambda episode: episode.reset(0, trial=-1), "invalid trial -1"),
        (lambda episode: episode.restore('{"format": "discover-episode/0"}'), "not the state of an episode"),
        (lambda episode: episode.restore(episode.state.replace('"miniature"', '"openai/m"')), "was openai/m, this"),
        (lambda episode: episode.step(None), "a reply is text, not NoneType"),
        (lambda episode: Episode(artifacts=101), "has 100 artifacts"),
        (lambda episode: Episode(turns=0), "invalid turns 0"),
        (lambda episode: Episode(split="test"), "invalid split 'test'; give train or eval"),
        (lambda episode: Episode(rules="ours"), "unknown rules 'ours'; choose one of paper; paper, GRPO; authors"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(wrong: Callable[[Episode], object], told: str) -> None:
    episode = Episode(artifacts=1)
    episode.reset(0)
    with pytest.raises(DiscoverError, match=told):
        wrong(episode)


def test_options_go_by_the_names_of_the_command_line(tmp_path: Path) -> None:
    assert Episode(artifacts=1, rules="authors").options.rules == Rules.authors()
    (tree,) = (unit.tree for unit in lay_out(RunOptions(("ask",), domain="svg_drawing", artifacts=1)).units)
    (tmp_path / "own.json").write_text(json.dumps(tree.to_dict()))
    assert Episode(None, trees=str(tmp_path)).artifacts == ["own"]
