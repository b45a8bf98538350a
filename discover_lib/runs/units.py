"""What is asked of a run, and the conversations that it consists of: assistants × artifacts × trials.

Every unit of work has a seed of its own, derived from the run's seed, the artifact and the trial (not the assistant:
all assistants meet the same user with the same thresholds), so the results do not depend on how many run at once.
`discover_lib.runs.runner` has units into a store; `run_unit` has one without.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from discover_lib.base.errors import DiscoverError
from discover_lib.base.seeds import derive_seed
from discover_lib.base.tokens import COUNTING
from discover_lib.core.conversation import Candidate, Conversation, Reply, Turn
from discover_lib.core.intents import IntentTree
from discover_lib.core.roles import AssistantError, Judge, UserVoice
from discover_lib.core.rollout import MAX_TURNS, Map, continue_conversation
from discover_lib.core.rules import Rules
from discover_lib.core.simulator import UserSimulator
from discover_lib.engines.manner import Manner
from discover_lib.engines.role_options import NO_OPTIONS, RoleOptions
from discover_lib.engines.spec import MINIATURE, EngineSpec, RoleEngines
from discover_lib.metrics.look_ahead import LookAhead
from discover_lib.metrics.satisfaction import request_named


class RunOptionsError(DiscoverError):
    """What was asked for cannot be run; the message is one line that says what to do."""


@dataclass(frozen=True)
class RunOptions:
    """What decides the results of a run.

    Attributes:
        assistants: scripted ones by name, or LiteLLM models as MODEL or MODEL+STYLE.
        domain: generated artifacts of this domain, or of several separated by ", ", with the miniature's trees; or
        trees: a folder of tree files (JSON).
        split: which of the generated artifacts: those to train on, or the others, to evaluate on.
        engine: who judges and speaks for the user, unless `judge` or `voice` names another.
        artifacts: artifacts, at most.
        candidates: None lets every assistant have conversations of its own; a number lets all of them answer every
            turn of one conversation, this many times each; the one with the highest reward continues.
        prompts: folder of prompts in place of ours.
        leak_check: who checks the messages of a language model's voice for paraphrases: a model, "judge", or nobody.
        interactivity, final_request: the paper's scale and wording or ours, in an evaluation.
        look_ahead: reward candidates for this many turns beyond their own, played by `reward_assistant`.
        role_options: how the models are asked, where that differs from the roles' defaults.
        taste: number of the taste that generated artifacts are drawn with; 0 for none.
        manner: how the user types; None for the paper's.
    """

    assistants: tuple[str, ...]
    domain: str | None = None
    trees: Path | None = None
    engine: str = MINIATURE
    judge: str | None = None
    voice: str | None = None
    artifacts: int = 20
    trials: int = 1
    turns: int = MAX_TURNS
    candidates: int | None = None
    rules: Rules = field(default_factory=Rules.paper)
    seed: int = 0
    prompts: Path | None = None
    split: Literal["train", "eval"] = "eval"
    look_ahead: int = 0
    reward_assistant: str = ""
    leak_check: str | None = None
    interactivity: str = "ours"
    final_request: str = "ours"
    role_options: RoleOptions = NO_OPTIONS
    taste: int = 0
    manner: Manner | None = None

    @property
    def everyone(self) -> tuple[str, ...]:
        """All assistants that take part, the one that plays the look-ahead included."""
        return (*self.assistants, self.reward_assistant) if self.look_ahead else self.assistants

    @property
    def spec(self) -> EngineSpec:
        return EngineSpec(
            judge=self.judge or self.engine,
            voice=self.voice or self.engine,
            prompts=str(self.prompts) if self.prompts else None,
            leak_check=(self.judge or self.engine) if self.leak_check == "judge" else self.leak_check,
            interactivity=self.interactivity,
            options=self.role_options,
            manner=self.manner,
        )

    @classmethod
    def from_configuration(cls, configuration: Mapping[str, Any]) -> RunOptions:
        """The options that a run on generated artifacts was begun with, to go on with it.

        Those of an evaluation name no domain: its configuration lists them, separated by ", ".

        Raises:
            RunOptionsError: the run was begun with files; only the command that began it knows them.
        """
        kind, domain = configuration.get("kind"), configuration.get("domain")
        own = "artifacts" not in configuration  # conversations of people, for one
        if kind not in ("simulate", "synthesize", "evaluate") or not domain or own:
            raise RunOptionsError("this run was begun by a command with files of its own; the same command resumes it")
        # An evaluation has none of the first three; the rest is there where it is not the default.
        if_there = ("candidates", "look_ahead", "reward_assistant", "leak_check", "interactivity", "taste")
        artifacts, domains = configuration["artifacts"], domain.split(", ")
        return cls(
            tuple(configuration["assistants"]),
            domain=None if kind == "evaluate" else domain,
            split="train" if all("-train-" in artifact_id for artifact_id in artifacts) else "eval",
            **configuration["engine"],
            artifacts=len(artifacts) // len(domains),
            rules=Rules.from_dict(configuration["rules"]),
            role_options=RoleOptions(configuration.get("options", {})),
            manner=manner_in(configuration),
            **{name: configuration[name] for name in ("trials", "turns", "seed")},
            final_request=request_named(configuration.get("final_request")),
            **{name: configuration[name] for name in if_there if configuration.get(name) is not None},
        )


def manner_in(configuration: Mapping[str, Any]) -> Manner | None:
    """How the user of a stored configuration types; None for the paper's."""
    return Manner.from_dict(configuration["manner"]) if configuration.get("manner") else None


@dataclass(frozen=True)
class Unit:
    """One conversation to be had."""

    asked: RunOptions
    domain: str
    artifact_id: str
    tree: IntentTree
    assistants: tuple[str, ...]  # one, or several whose best goes on
    trial: int
    seed: int
    place: int  # in the run

    @property
    def engine(self) -> str:
        """Who judges and speaks, as the record names it."""
        judge, voice = self.asked.judge or self.asked.engine, self.asked.voice or self.asked.engine
        return judge if judge == voice else f"{judge} (judge), {voice} (voice)"

    @property
    def setting(self) -> dict[str, Any]:
        """What the conversation's record says about how it came about."""
        ahead, manner = ("look_ahead", "reward_assistant"), self.asked.manner
        return {
            **({name: getattr(self.asked, name) for name in ahead} if self.asked.look_ahead else {}),
            **({"manner": manner.name} if manner else {}),
            "engine": self.engine,
            "domain": self.domain,
            "artifact": self.artifact_id,
            "assistants": list(self.assistants),
            "trial": self.trial,
        }


def seed_of(run_seed: int, artifact_id: str, trial: int) -> int:
    """The seed of a conversation: the same for all assistants, which meet the same user."""
    return derive_seed(run_seed, artifact_id, trial)


def units_of(asked: RunOptions, trees: Mapping[str, tuple[str, IntentTree]]) -> list[Unit]:
    """All units of a run.  `trees` maps artifact id → (domain, tree).

    With `candidates` all assistants take part in every conversation, each with that many candidate replies a turn, and
    the best goes on; without it every assistant has conversations of its own.
    """
    groups: list[tuple[str, ...]] = [(name,) for name in asked.assistants]
    if asked.candidates is not None:
        groups = [tuple(name for name in asked.assistants for _ in range(asked.candidates))]
    places = itertools.count()
    return [
        Unit(asked, domain, artifact, tree, group, trial, seed_of(asked.seed, artifact, trial), next(places))
        for artifact, (domain, tree) in trees.items()
        for trial in range(asked.trials)
        for group in groups
    ]


def plan_units(trees: Mapping[str, tuple[str, IntentTree]], assistants: Sequence[str], **asked: Any) -> list[Unit]:
    """`units_of` with options by name, for scripts that bring their own trees."""
    return units_of(RunOptions(tuple(assistants), **asked), trees)


@runtime_checkable
class CheckedAgainstTree(Protocol):
    """A voice that may have what it says checked against a tree, which it does not speak from."""

    def checked_against(self, tree: IntentTree) -> UserVoice: ...


def user_of(engines: RoleEngines, domain: str, tree: IntentTree) -> tuple[Judge, UserVoice]:
    """Who judges and who speaks for a user of this tree."""
    voice = engines.voice(domain)
    return engines.judge(domain), voice.checked_against(tree) if isinstance(voice, CheckedAgainstTree) else voice


def simulator_of(unit: Unit, engines: RoleEngines, so_far: Conversation | None = None) -> UserSimulator:
    """The user of a unit, at the start or where a stored conversation stands."""
    judge, voice = user_of(engines, unit.domain, unit.tree)
    if so_far is not None:
        return UserSimulator.resume(so_far, judge, voice)
    return UserSimulator(unit.tree, judge, voice, rules=unit.asked.rules, seed=unit.seed, setting=unit.setting)


def run_unit(
    unit: Unit,
    engines: RoleEngines | None = None,
    *,
    simulator: UserSimulator | None = None,
    on_turn: Callable[[Turn], None] | None = None,
    parallel_map: Map = map,
    on_left_out: Callable[[AssistantError], None] = lambda _: None,
) -> Conversation:
    """Run one unit of work, from the start or from where `simulator` stands; the miniature plays unless told otherwise.

    Of several candidates of a turn one without a reply is left out: it stays unscored and never wins.

    Args:
        on_left_out: takes why, in the order of the candidates.

    Raises:
        RoleError: a role could not do its part; what was taken so far is in `simulator`.
    """
    engines = engines or RoleEngines(EngineSpec(manner=unit.asked.manner))
    assistants = [engines.assistant(name, unit.domain) for name in unit.assistants]
    simulator = simulator or simulator_of(unit, engines)
    ahead = None
    if unit.asked.look_ahead:
        ahead = LookAhead(unit.asked.look_ahead, engines.assistant(unit.asked.reward_assistant, unit.domain))
    candidates = partial(_without_failed, unit, simulator, parallel_map, on_left_out)
    return continue_conversation(
        simulator, assistants, turns=unit.asked.turns, on_turn=on_turn, parallel_map=candidates, ahead=ahead
    )


def _without_failed(
    unit: Unit,
    simulator: UserSimulator,
    parallel_map: Map,
    on_left_out: Callable[[AssistantError], None],
    function: Callable[[int], Candidate],
    places: Iterable[int],
    /,
) -> list[Candidate]:
    """The candidates of a turn, unscored where an assistant failed; if all failed, the turn fails with the first."""
    errors: dict[int, AssistantError] = {}

    def candidate(place: int) -> Candidate:
        try:
            return function(place)
        except AssistantError as error:
            errors[place] = error
            reply = Reply("", 0, COUNTING, unit.assistants[place])
            return Candidate(reply, None, simulator.state, error=f"{error.role}: {error}")

    candidates = list(parallel_map(candidate, places))
    failed = [errors[place] for place in sorted(errors)]
    if len(failed) == len(candidates):
        raise failed[0]
    for error in failed:
        on_left_out(error)
    return candidates


def run_units(units: Iterable[Unit]) -> Iterator[Conversation]:
    """The conversations of units, one after the other, kept nowhere."""
    return map(run_unit, units)
