"""The options of a run, and its conversations: assistants × artifacts × trials.

Every conversation has its seed, derived from the run's seed, the artifact and the trial.  All assistants meet the same
user with the same thresholds.  So the results do not depend on the number of parallel conversations.  `run_unit` runs
a conversation.  `have` does it with a store: from the start or from the last finished turn, and in an evaluation with
the last step, which asks for the final artifact and scores all.  A role that fails ends its conversation, not the run.
`discover_lib.runs.options` runs many conversations into a store.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from discover_lib.base.json_text import record_json
from discover_lib.base.seeds import derive_seed
from discover_lib.base.tokens import COUNTING
from discover_lib.core.conversation import Candidate, Conversation, FinalTurn, Message, Reply, Stop, Turn
from discover_lib.core.intents import IntentTree
from discover_lib.core.roles import AssistantError, Judge, JudgeError, RoleError, ask
from discover_lib.core.rollout import MAX_TURNS, Map, continue_conversation
from discover_lib.core.rules import Rules
from discover_lib.core.simulator import UserSimulator
from discover_lib.core.state import Evaluation, IntentState
from discover_lib.engines.llm.calls.exchange import RETRIED
from discover_lib.engines.manner import Manner
from discover_lib.engines.role_options import RoleOptions
from discover_lib.engines.spec import MINIATURE, EngineSpec, RoleEngines, RunOptionsError
from discover_lib.metrics.replay import LookAhead
from discover_lib.metrics.satisfaction import FINAL_REQUEST, request_named
from discover_lib.metrics.scorer import Scorer
from discover_lib.metrics.scores import Assessment, ConversationScores, ScoringFailure, scores_of
from discover_lib.runs.store import Failure, RunStore, TurnRow, UnitRow, failed_call, failure_of, turn_row
from discover_lib.runs.work import ParallelMap, beside

Split = Literal["train", "eval"]


@dataclass(frozen=True)
class RunOptions(EngineSpec):
    """The options that decide the results of a run.

    Attributes:
        assistants: scripted ones by name, or LiteLLM models as MODEL or MODEL+STYLE.
        domain: generated artifacts of this domain, or of several separated by ", ", with the miniature's trees; or
        trees: a folder of tree files (JSON).
        split: generated artifacts for training, or for evaluation.
        engine: model for judge and voice, unless `judge` or `voice` names another.
        artifacts: maximum number of artifacts.
        candidates: None gives every assistant separate conversations.  A number makes all of them answer every turn of
            one conversation, this many times each, and the reply with the highest reward is selected.
        leak_check: a model that checks the messages of a language model's voice for paraphrases, or "judge", or None.
        final_request: the paper's sentence or ours, in an evaluation.
        look_ahead: reward candidates for this many turns beyond their own, played by `reward_assistant`.
        taste: number of the taste of generated artifacts; 0 draws evenly.
    """

    assistants: tuple[str, ...]
    domain: str | None = None
    trees: Path | None = None
    engine: InitVar[str] = MINIATURE
    judge: str = field(default="", kw_only=True)
    voice: str = field(default="", kw_only=True)
    artifacts: int = 20
    trials: int = 1
    turns: int = MAX_TURNS
    candidates: int | None = None
    rules: Rules = field(default_factory=Rules.paper)
    seed: int = 0
    split: Split = "eval"
    look_ahead: int = 0
    reward_assistant: str = ""
    final_request: str = "ours"
    taste: int = 0

    def __post_init__(self, engine: str) -> None:
        for role in ("judge", "voice"):
            object.__setattr__(self, role, getattr(self, role) or engine)
        if self.leak_check == "judge":
            object.__setattr__(self, "leak_check", self.judge)

    @property
    def everyone(self) -> tuple[str, ...]:
        """All assistants that take part, including the one that plays the look-ahead."""
        return (*self.assistants, self.reward_assistant) if self.look_ahead else self.assistants

    @classmethod
    def from_configuration(cls, configuration: Mapping[str, Any]) -> RunOptions:
        """The options of a run on generated artifacts, to resume it.

        An evaluation's options name no domain: its configuration lists the domains, separated by ", ".

        Raises:
            RunOptionsError: the run uses files, which only its command knows.
        """
        kind, domain = configuration.get("kind"), configuration.get("domain")
        own = "artifacts" not in configuration  # conversations of people, for one
        if kind not in ("simulate", "synthesize", "evaluate") or not domain or own:
            raise RunOptionsError("this run was begun by a command with files of its own; the same command resumes it")
        # An evaluation lacks the first three; the others are there if they differ from the default.
        if_there = ("candidates", "look_ahead", "reward_assistant", "leak_check", "taste")
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
    """The typing style in a stored configuration; None for the paper's."""
    return Manner.from_dict(configuration["manner"]) if configuration.get("manner") else None


@dataclass(frozen=True)
class Unit(UnitRow):
    """One planned conversation of a run with these options."""

    options: RunOptions


def seed_of(seed: int, artifact: str, trial: int) -> int:
    """The seed of a conversation: the same for all assistants, which meet the same user."""
    return derive_seed(seed, artifact, trial)


def units_of(options: RunOptions, trees: Mapping[str, tuple[str, IntentTree]]) -> list[Unit]:
    """All units of a run.  `trees` maps artifact id → (domain, tree).

    With `candidates` all assistants take part in every conversation, each with that many candidate replies per turn,
    and the best is selected.  Otherwise every assistant has separate conversations.
    """
    groups: list[tuple[str, ...]] = [(name,) for name in options.assistants]
    if options.candidates is not None:
        groups = [tuple(name for name in options.assistants for _ in range(options.candidates))]
    judge, voice = options.judge, options.voice
    setting: dict[str, Any] = {}
    if options.look_ahead:
        setting |= {"look_ahead": options.look_ahead, "reward_assistant": options.reward_assistant}
    if options.manner:
        setting["manner"] = options.manner.name
    setting["engine"] = judge if judge == voice else f"{judge} (judge), {voice} (voice)"
    units: list[Unit] = []
    for artifact, (domain, tree) in trees.items():
        for trial, assistants in itertools.product(range(options.trials), groups):
            seed = seed_of(options.seed, artifact, trial)
            own = {"domain": domain, "artifact": artifact, "assistants": list(assistants), "trial": trial}
            units.append(Unit(len(units), artifact, domain, tree, assistants, trial, seed, setting | own, options))
    return units


def plan_units(trees: Mapping[str, tuple[str, IntentTree]], assistants: Sequence[str], **options: Any) -> list[Unit]:
    """`units_of` with options by name, for scripts that bring their own trees."""
    return units_of(RunOptions(tuple(assistants), **options), trees)


def simulator_of(unit: Unit, engines: RoleEngines, so_far: Conversation | None = None) -> UserSimulator:
    """The user of a unit, at the start or after the turns of a stored conversation."""
    judge, voice = engines.judge(unit.domain), engines.voice(unit.domain)
    if so_far is not None:
        return UserSimulator.resume(so_far, judge, voice)
    return UserSimulator(unit.tree, judge, voice, rules=unit.options.rules, seed=unit.seed, setting=unit.setting)


def run_unit(
    unit: Unit,
    engines: RoleEngines | None = None,
    *,
    simulator: UserSimulator | None = None,
    on_turn: Callable[[Turn], None] | None = None,
    parallel_map: Map = map,
    on_left_out: Callable[[AssistantError], None] = lambda _: None,
) -> Conversation:
    """Run one unit of work, from the start or from the state of `simulator`.  The miniature is the default player.

    A candidate without a reply is left out: it has no score and is never selected.

    Args:
        on_left_out: called with each reason, in the order of the candidates.

    Raises:
        RoleError: a role failed; the turns so far are in `simulator`.
    """
    engines = engines or RoleEngines(EngineSpec(manner=unit.options.manner))
    assistants = [engines.assistant(name, unit.domain) for name in unit.assistants]
    simulator = simulator or simulator_of(unit, engines)
    ahead = None
    if unit.options.look_ahead:
        ahead = LookAhead(unit.options.look_ahead, engines.assistant(unit.options.reward_assistant, unit.domain))
    candidates = partial(_without_failed, unit, simulator, parallel_map, on_left_out)
    return continue_conversation(
        simulator, assistants, turns=unit.options.turns, on_turn=on_turn, parallel_map=candidates, ahead=ahead
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
    """The candidates of a turn, unscored if an assistant failed; if all failed, the turn fails with the first error."""
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


# -- the last step of a conversation: its scores ----------------------------------------------------------------------

SCORING = ("satisfaction", "interactivity", "behaviour")  # of a conversation, in the order of their records
T = TypeVar("T")


def scored(
    conversation: Conversation, place: int, engines: RoleEngines, request: str, parallel_map: ParallelMap = map
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The assessment of a finished conversation and its digest, as `RunStore.put_assessment` takes them.

    Args:
        request: the message that asks for the final artifact.
        parallel_map: asks for the scores; it must keep their order.
    """
    domain = conversation.setting["domain"]
    assistant = engines.assistant(conversation.setting["assistants"][0], domain)
    messages, seed = final_question(conversation, request)

    def final() -> FinalTurn:
        return FinalTurn(request, ask(assistant, conversation.tree, conversation.state, messages, seed))

    found = assessed(conversation, engines.scorer(domain), _tried("final", final), parallel_map=parallel_map)
    return found.to_dict(), scores_of(conversation, place, found).digest()


def final_question(conversation: Conversation, request: str = FINAL_REQUEST) -> tuple[tuple[Message, ...], int]:
    """The messages that ask the assistant for the final artifact, and the seed."""
    messages, seed = conversation.messages(), derive_seed(conversation.seed, "final")
    if messages[-1].role == "user":  # the user answered the last turn, and the request follows that message
        return (*messages[:-1], Message("user", f"{messages[-1].content}\n\n{request}")), seed
    return (*messages, Message("user", request)), seed


def assessed(
    conversation: Conversation, scorer: Scorer, final: FinalTurn | ScoringFailure, *, parallel_map: ParallelMap = map
) -> Assessment:
    """All scores of a finished conversation; a part that fails is unscored.

    Args:
        parallel_map: asks for the scores; it must keep their order.
    """

    def score(name: str) -> Any:
        if name != "satisfaction":
            return _tried(name, lambda: getattr(scorer, name)(conversation))
        if isinstance(final, ScoringFailure):
            return final
        return _tried(name, lambda: scorer.satisfaction(conversation.tree, final.reply))

    parts = {"final": final} | dict(zip(SCORING, parallel_map(score, SCORING), strict=True))
    failures = tuple(parts[name] for name in SCORING if isinstance(parts[name], ScoringFailure))
    found = {name: None if isinstance(part, ScoringFailure) else part for name, part in parts.items()}
    return Assessment(scorer.name, **found, failures=failures)


def _tried(name: str, score: Callable[[], T]) -> T | ScoringFailure:
    try:
        return score()
    except RoleError as error:
        failure = failure_of(error, 0)
        return ScoringFailure(name, failure.message, failure.came_back)


def digest_of(conversation: Conversation, place: int) -> bytes:
    """The digest of a finished conversation that was not assessed."""
    return record_json(scores_of(conversation, place).digest())


# -- a conversation with a store --------------------------------------------------------------------------------------

Step = tuple[Unit, Conversation | None]  # the conversation so far, or None at the start; if finished, to be scored


class JudgeUnreachable(RoleError):
    """The judge could not be asked.  Unlike a `JudgeError` it must not decide between candidates: the turn fails."""

    role = "judge"


class _WatchedJudge:
    """A judge whose failures are recorded with the raw answers, for one conversation."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self.errors: list[JudgeError] = []  # since the last turn

    def evaluate(
        self, tree: IntentTree, state: IntentState, messages: Sequence[Message], reply: Reply, rules: Rules
    ) -> Evaluation:
        try:
            return self._judge.evaluate(tree, state, messages, reply, rules)
        except JudgeError as error:
            if failed_call(error) in RETRIED:
                raise JudgeUnreachable(str(error)) from error
            self.errors.append(error)
            raise


def have(
    step: Step,
    engines: RoleEngines,
    store: RunStore | Notes,
    final_request: str | None,
    *,
    parallel_map: ParallelMap = map,
    on_turn: Callable[[], None] = lambda: None,
    given_up: Callable[[], bool] = lambda: False,
) -> Failure | None:
    """Do the rest of a conversation and write it to the store: turns, the reason for its end, failures, scores.

    Args:
        final_request: the message that asks for the final artifact, if the conversation is scored.
        on_turn: called after a turn is written.
        given_up: whether the run is ending; an error is then no failure.

    Returns:
        The failure that ended the conversation, if a role failed.
    """
    unit, conversation = step
    left_out: list[AssistantError] = []
    if conversation is None or conversation.stop is None:
        simulator = simulator_of(unit, engines, conversation)
        judge = simulator.judge = _WatchedJudge(simulator.judge)

        def keep(turn: Turn) -> None:
            unscored = [failure_of(error, turn.index, ended=False) for error in (*left_out, *judge.errors)]
            left_out.clear()
            judge.errors.clear()
            talk = simulator.conversation
            digest = digest_of(talk, unit.place) if talk.stop else None
            store.put_turns(unit.place, [turn_row(turn)], talk.stop, unscored, digest)
            on_turn()

        how: dict[str, Any] = {"simulator": simulator, "on_turn": keep, "on_left_out": left_out.append}
        try:
            conversation = run_unit(unit, engines, parallel_map=parallel_map, **how)
        except RoleError as error:
            if given_up():
                return None
            cause = judge.errors[-1] if isinstance(error, JudgeError) and judge.errors else error
            failure = failure_of(cause, len(simulator.conversation.turns) + 1)
            store.put_turns(unit.place, (), "error", [failure])
            return failure
    if final_request is not None and not given_up():
        store.put_assessment(unit.place, *scored(conversation, unit.place, engines, final_request, parallel_map))
    return None


class Notes:
    """Replaces the store in another process: collects the turns, failures and scores of a conversation."""

    def __init__(self) -> None:
        self.turns: list[TurnRow] = []
        self.failures: list[Failure] = []
        self.end: tuple[int, Stop | None, bytes | None] | None = None  # the place, the last stop and the last digest
        self.assessment: tuple[Any, ...] | None = None

    def put_turns(
        self,
        place: int,
        turns: Sequence[TurnRow],
        stop: Stop | None,
        failures: Iterable[Failure] = (),
        digest: bytes | None = None,
    ) -> None:
        self.turns += turns
        self.failures += failures
        self.end = place, stop, digest

    def put_assessment(self, *what: Any) -> None:
        self.assessment = what

    def tell(self, store: RunStore) -> None:
        """Write everything to the store, all turns at once."""
        if self.end:
            place, stop, digest = self.end
            store.put_turns(place, self.turns, stop, self.failures, digest)
        if self.assessment:
            store.put_assessment(*self.assessment)


_engines = cache(RoleEngines)  # of a worker process: one for all conversations of a run


def have_apart(final_request: str | None, steps: Sequence[Step]) -> list[Notes]:
    """`have` of conversations in another process with its own roles.

    Several run in parallel: a model on this machine answers them in one batch.
    """

    def noted(step: Step) -> Notes:
        notes = Notes()
        have(step, _engines(step[0].options), notes, final_request)
        return notes

    with beside(len(steps) - 1) as parallel_map:
        return list(parallel_map(noted, steps))


def stored_scores(store: RunStore) -> Iterator[ConversationScores]:
    """The scores of every finished conversation, assessed or not, in the order of the plan.

    A conversation without a digest is read whole.
    """
    for place, digest in store.digests():
        scores = ConversationScores.from_json(digest, place) if digest else None
        if scores is None:
            data = store.assessment(place)
            scores = scores_of(store.conversation(place), place, Assessment.from_dict(data) if data else None)
        yield scores
