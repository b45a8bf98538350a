"""`Episode`: the simulated user of `discover simulate` behind `reset` and `step`.

Equal seed, artifact and trial give the same conversation as in a run: same opening, thresholds, words and rewards.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from discover_lib.base.errors import DiscoverError
from discover_lib.base.json_text import to_json
from discover_lib.base.records import RecordError
from discover_lib.base.tokens import COUNTING, WireMessage, count_tokens
from discover_lib.core.conversation import Conversation, Reply, Turn
from discover_lib.core.roles import RoleError
from discover_lib.core.rules import Rules
from discover_lib.core.simulator import UserSimulator
from discover_lib.engines.miniature.artifacts import SPLIT_SIZES
from discover_lib.engines.spec import RoleEngines
from discover_lib.runs.options import RunOptions, check_models, lay_out
from discover_lib.runs.units import Unit, seed_of, simulator_of

if TYPE_CHECKING:
    from discover_lib.engines.llm.calls.client import LLMClient

FORMAT = "discover-episode/1"
OUTSIDE = "outside/assistant"  # the default name of the assistant


class DoorError(DiscoverError):
    """An integration cannot be used like this; the message is one line with the remedy."""


def absent(extra: str, error: ImportError) -> DoorError:
    """The error of an integration whose package cannot be imported: one line that names the extra."""
    return DoorError(f"this door needs another package ({error}): pip install 'discover-lib[{extra}]'")


class Step(NamedTuple):
    """The result of one reply.

    Attributes:
        message: the user's message; None at the end of the episode.
        reward: the turn's reward (paper, section 3.3); None, and not 0, for a failed and unscored turn.
        info: plain values, see `Episode.step`.
    """

    message: str | None
    reward: float | None
    done: bool
    info: dict[str, Any]


class Episode:
    """A simulated user to talk to, one conversation after the other.

    Args:
        domain: generated artifacts of this domain; None with `trees`, a folder of tree files.
        assistant: name of the assistant in the record of the conversation.
        client: calls the language models that `engine`, `judge` or `voice` name; by default the episode makes one.
        options: further options of `RunOptions`: artifacts, split, turns, rules (or their name), engine ...

    Raises:
        DoorError: an option has an invalid value.
        RunOptionsError and others of `discover_lib.runs.options.lay_out`: an impossible option, or a model's key
            variable that is not set.
    """

    def __init__(
        self,
        domain: str | None = "svg_drawing",
        *,
        assistant: str = OUTSIDE,
        client: LLMClient | None = None,
        **options: Any,
    ) -> None:
        self.options = RunOptions((assistant,), domain=domain, **_checked(options))
        self._units = _units(self.options)
        self._waits = bool(self.options.models())
        self._own_client = _client(self.options) if self._waits and client is None else None
        self._engines = RoleEngines(self.options, client or self._own_client)
        self._user: UserSimulator | None = None

    @property
    def artifacts(self) -> list[str]:
        """The artifacts of the users, in the order of their places."""
        return list(self._units)

    def reset(self, seed: int = 0, artifact: str | int | None = None, trial: int = 0) -> str:
        """Begin a conversation and return the user's opening request.

        Args:
            seed: seed of the run; with the artifact and the trial it gives the conversation's seed.
            artifact: an id, or a place in `artifacts`, modulo their number; by default the seed.

        Raises:
            DoorError: no such artifact or trial.
        """
        if not _whole(trial, 0):
            raise DoorError(f"invalid trial {trial!r}; trials count from 0")
        if not isinstance(artifact, str):
            artifact = self.artifacts[(seed if artifact is None else artifact) % len(self._units)]
        if artifact not in self._units:
            raise DoorError(f"no artifact {artifact!r}; there are {', '.join(self.artifacts[:5])} ...")
        first = self._units[artifact]
        setting, own_seed = {**first.setting, "trial": trial}, seed_of(seed, artifact, trial)
        unit = dataclasses.replace(first, trial=trial, seed=own_seed, setting=setting)
        self._user = simulator_of(unit, self._engines.for_conversation(unit.setting, unit.seed))
        self._user.turns = self.options.turns
        return self._user.tree.initial_request

    def step(self, reply: str | Reply, n_tokens: int | None = None) -> Step:
        """Take one turn.

        Args:
            n_tokens: length of the reply in the assistant's tokens; by default counted by the documented rule.

        The step's `info` has `turn`, `stop` (reason of the end, or None), `kind` of the reply, `discovered` and
        `satisfied` (ids, new in this turn), `reward_discovered` and `reward_length` (the reward's parts), `n_tokens`
        and `leaks`.  If the judge or the voice fails, the episode ends unscored with stop "error" and `error`.

        Raises:
            DoorError: the episode is over or was not reset, or the reply is not text.
        """
        user = self.user
        if not isinstance(reply, str | Reply):
            raise DoorError(f"a reply is text, not {type(reply).__name__}")
        if user.conversation.stop is not None:
            raise DoorError(f"the episode is over ({user.conversation.stop}); reset it")
        if isinstance(reply, str):
            counting = COUNTING if n_tokens is None else "the assistant's tokenizer"
            n_tokens = count_tokens(reply) if n_tokens is None else n_tokens
            reply = Reply(reply, n_tokens, counting, self.options.assistants[0])
        try:
            turn = user.step(reply)
        except RoleError as error:
            user.conversation = dataclasses.replace(user.conversation, stop="error")
            number = len(user.conversation.turns) + 1
            return Step(None, None, True, {"turn": number, "stop": "error", "error": f"{error.role}: {error}"})
        stop = user.conversation.stop
        reward = turn.candidate.reward
        return Step(turn.user_message, reward.total if reward else None, stop is not None, _info(turn, stop))

    async def take(self, reply: str | Reply, n_tokens: int | None = None) -> Step:
        """`step` for coroutines; a call to a language model does not block the others."""
        if self._waits:
            return await asyncio.to_thread(self.step, reply, n_tokens)
        return self.step(reply, n_tokens)

    @property
    def user(self) -> UserSimulator:
        """The simulator of the conversation.

        Raises:
            DoorError: the episode was not reset.
        """
        if self._user is None:
            raise DoorError("reset the episode first")
        return self._user

    @property
    def conversation(self) -> Conversation:
        """The record so far, as a run stores it."""
        return self.user.conversation

    @property
    def messages(self) -> list[WireMessage]:
        """The conversation as chat messages."""
        return [{"role": each.role, "content": each.content} for each in self.conversation.messages()]

    @property
    def state(self) -> str:
        """The whole episode as JSON; `restore` resumes from it, also in another process."""
        return to_json({"format": FORMAT, "turns": self.user.turns, "conversation": self.conversation.to_dict()})

    def restore(self, state: str) -> None:
        """Resume from a `state`, which contains the tree and the rules.

        Raises:
            DoorError: a state of another version or of another engine.
        """
        try:
            data = json.loads(state)
            if not isinstance(data, Mapping) or data.get("format") != FORMAT:
                raise DoorError(f"not the state of an episode of this version ({FORMAT})")
            talk = Conversation.from_dict(data["conversation"])
        except (json.JSONDecodeError, TypeError, KeyError, RecordError) as error:
            raise DoorError(f"not the state of an episode ({type(error).__name__}: {error})") from None
        ours = next(iter(self._units.values())).setting["engine"]
        if (theirs := talk.setting.get("engine", ours)) != ours:
            raise DoorError(f"the user of this state was {theirs}, this episode's is {ours}; make it with that engine")
        engines = self._engines.for_conversation(talk.setting, talk.seed)
        domain = str(talk.setting.get("domain", ""))
        judge, voice = engines.judge(domain), engines.voice(domain)
        self._user = UserSimulator.resume(talk, judge, voice, data["turns"])

    def close(self) -> None:
        """Close the client that the episode made, if any."""
        if self._own_client is not None:
            self._own_client.close()


def _checked(options: dict[str, Any]) -> dict[str, Any]:
    """Options of `RunOptions`; the name of rules becomes the rules, and a folder's name a path.

    Raises:
        DoorError: an option has an invalid value.
    """
    checked = dict(options)
    for name in ("artifacts", "turns"):
        if name in checked and not _whole(checked[name], 1):
            raise DoorError(f"invalid {name} {checked[name]!r}; give a whole number from 1")
    if (split := checked.get("split", "eval")) not in SPLIT_SIZES:
        raise DoorError(f"invalid split {split!r}; give {' or '.join(SPLIT_SIZES)}")
    if isinstance(rules := checked.get("rules"), str):
        try:
            checked["rules"] = Rules.named(rules)
        except ValueError as error:
            raise DoorError(str(error)) from None
    if isinstance(trees := checked.get("trees"), str):
        checked["trees"] = Path(trees)
    return checked


def _whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _info(turn: Turn, stop: str | None) -> dict[str, Any]:
    reward, evaluation = turn.candidate.reward, turn.candidate.evaluation
    return {
        "turn": turn.index,
        "stop": stop,
        "kind": evaluation.kind if evaluation else None,
        "discovered": sorted(turn.after.discovered - turn.before.discovered),
        "satisfied": sorted(turn.after.satisfied - turn.before.satisfied),
        "reward_discovered": reward.discovered if reward else None,
        "reward_length": reward.penalty if reward else None,
        "n_tokens": turn.reply.n_tokens,
        "leaks": list(turn.leaks),
    }


@lru_cache(maxsize=8)  # simultaneous episodes share their trees
def _units(options: RunOptions) -> dict[str, Unit]:
    return {unit.artifact: unit for unit in lay_out(options).units if unit.trial == 0}


def _client(options: RunOptions) -> LLMClient:
    """A client for the models of these options, after a check of their keys."""
    from discover_lib.engines.llm.calls.client import LLMClient

    check_models(options.models(), None)
    return LLMClient()
