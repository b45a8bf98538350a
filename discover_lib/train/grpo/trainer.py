"""Group relative policy optimisation with the live simulator as reward (paper, section 4.1).

A run has one or more rounds.  Before a round, prompts can be collected from the model's own conversations.  After it,
the model talks to held-out users in validation rollouts.  The best round's adapter is selected, because the reward of
single turns can rise while discovery over a conversation falls.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from transformers import TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import read_json, write_json, write_lines
from discover_lib.base.seeds import derive_rng, derive_seed
from discover_lib.base.words import counted
from discover_lib.engines.local.dialect import Chat, Dialect
from discover_lib.train import Progress
from discover_lib.train.backend import Backend, common_arguments, configuration, grpo_arguments
from discover_lib.train.data import TrainingRows, domain_of, row_name, starting_users
from discover_lib.train.grpo import turn_advantages
from discover_lib.train.grpo.rollouts import (
    Player,
    Sampler,
    Talk,
    own_prefixes,
    probe,
    probe_text,
    seeded,
)
from discover_lib.train.grpo.simulated_reward import Scored, Scorer, SimulatorReward, Users, log_rewards, sample_of
from discover_lib.train.recipes import GrpoRecipe
from discover_lib.train.trainers import Recorder, settle_reference
from discover_lib.train.training_job import read_lines

ROUNDS = "rounds"
PROBE_TEMPERATURE = 0.7  # of validation rollouts
Probe = Callable[[int], Mapping[str, Any]]  # number of rounds → measurements, with "probe/discovered"


@dataclass(frozen=True)
class Table:
    """The prompts of a round.  Seed and place alone decide their order, so a resumed run has the same order.

    Attributes:
        first: the place of the round's first prompt in the whole run.
    """

    rows: Sequence[Mapping[str, Any]]
    seed: int
    number: int = 0
    first: int = 0

    def row(self, place: int) -> Mapping[str, Any]:
        """The row at a place of the run; every row is used once before any is repeated."""
        epoch, at = divmod(place - self.first, len(self.rows))
        return self.rows[_order(len(self.rows), self.seed, self.number, epoch)[at]]


@lru_cache(maxsize=4)
def _order(n: int, seed: int, number: int, epoch: int) -> list[int]:
    order = list(range(n))
    derive_rng(seed, "order", number, epoch).shuffle(order)
    return order


class RoundsTrainer(GRPOTrainer):
    """GRPO with new prompts in every round: the data set contains places, and `table` maps them to rows."""

    table: Table
    chat: Chat
    current: Sequence[Mapping[str, Any]] = ()
    rounds: Rounds
    reward: SimulatorReward | SeveralTurns
    turns: SeveralTurns | None = None  # gives an advantage per turn instead of one per rollout

    def _generate_and_score_completions(self, inputs: Any) -> Any:
        self.current = [dict(self.table.row(each["place"])) for each in inputs]
        restore = random_state()
        try:
            batch = super()._generate_and_score_completions(list(self.current))
        except DiscoverError:
            restore()  # a resumed run writes the same replies and finds their saved judgments
            self.save_now()
            raise
        if self.turns is not None:
            rows = self.turns.token_advantages(self.num_generations, scaled=self.scale_rewards == "group")
            advantages = torch.zeros(batch["completion_ids"].shape, device=batch["advantages"].device)
            for place, row in enumerate(rows):
                advantages[place, : len(row)] = torch.tensor(row)
            batch["advantages"] = advantages
        return batch

    def samples(self) -> list[dict[str, Any]]:
        """One prompt of the last batch with its replies, as readable text."""
        if not self.reward.last:
            return []
        state = self.reward.last[0][0]
        scores = [score for place, score in self.reward.last if place == state]
        messages = self.rounds.player.scorer.users.user(state).messages
        return [sample_of([{"role": each.role, "content": each.content} for each in messages], scores)]

    def save_now(self) -> None:
        """Save a checkpoint after the last finished step, for a run that has to stop."""
        if self.state.global_step:
            self._save_checkpoint(self.model, None)

    def _tokenize_prompts(self, prompts: Sequence[Any]) -> tuple[list[list[int]], None, dict[str, Any]]:
        return [self.chat.prompt(each) for each in prompts], None, {}


def random_state() -> Callable[[], None]:
    """A function that sets all generators that a step draws from back to their present states."""
    python, numpy, cpu = random.getstate(), np.random.get_state(), torch.get_rng_state()
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []

    def restore() -> None:
        random.setstate(python)
        np.random.set_state(numpy)
        torch.set_rng_state(cpu)
        torch.cuda.set_rng_state_all(cuda)

    return restore


@dataclass
class SeveralTurns:
    """Rollouts of several turns.  The model's words carry loss; the user's words between them are masked."""

    player: Player
    turns: int
    last: list[tuple[str, Scored]] = field(default_factory=list)
    _talks: list[Talk] = field(default_factory=list)

    def roll_out(self, prompts: Sequence[Any], trainer: RoundsTrainer) -> dict[str, Any]:
        """The result of TRL's `rollout_func`, for the users of the current batch."""
        states = [str(each["state"]) for each in trainer.current]
        talks = self.player.roll_out([self.player.scorer.users.fresh(each) for each in states], self.turns)
        if any(not each.completion_ids for each in talks):
            raise DiscoverError("a prompt leaves no room for a reply; lower max_completion or leave longer prompts out")
        self.last = [(state, score) for state, talk in zip(states, talks, strict=True) for score in talk.scores[:1]]
        self._talks = talks
        log_rewards([score for talk in talks for score in talk.scores], self.player.scorer, trainer._log_metric)
        return {
            "prompt_ids": [each.prompt_ids for each in talks],
            "completion_ids": [each.completion_ids for each in talks],
            "logprobs": None,
            "env_mask": [each.own for each in talks],
        }

    def __call__(self, prompts: Sequence[Any], **_: Any) -> list[float | None]:
        """The rewards of the rollouts, in their order."""
        return [each.total for each in self._talks]

    def token_advantages(self, n_generations: int, *, scaled: bool) -> list[list[float]]:
        """The advantage of its turn for every token of the last rollouts; 0 for the user's tokens."""
        rows: list[list[float]] = []
        for start in range(0, len(self._talks), n_generations):
            group = self._talks[start : start + n_generations]
            rewards = [None if each.total is None else [score.total or 0.0 for score in each.scores] for each in group]
            for talk, turns in zip(group, turn_advantages(rewards, scaled=scaled), strict=True):
                # A turn begins where the policy's tokens follow the user's.
                turn = list(accumulate(own > before for own, before in zip(talk.own, [0, *talk.own], strict=False)))
                rows.append([turns[at - 1] if own and turns else 0.0 for own, at in zip(talk.own, turn, strict=True)])
        return rows


@dataclass
class Rounds:
    """The work between rounds.  Its results are on disk, so a killed run resumes in its round.

    Attributes:
        player: talks to users for prefixes, at the training temperature.
        probe: None without held-out users.
    """

    recipe: GrpoRecipe
    folder: Path
    seed: int
    rows: Sequence[Mapping[str, Any]]
    users: Sequence[Mapping[str, Any]]
    player: Player
    probe: Probe | None
    steps: int
    on_progress: Progress

    @property
    def steps_per_round(self) -> int:
        return max(1, self.steps // self.recipe.rounds)

    @property
    def prompts_per_round(self) -> int:
        return self.steps_per_round * self.recipe.prompts_per_step

    def table(self, number: int) -> Table:
        """The prompts of round `number`, from 0: the rows, or the model's own prefixes."""
        if not self.recipe.own_prefixes:
            return Table(self.rows, self.seed)
        path = self.folder / ROUNDS / f"prompts-{number + 1}.jsonl"
        if not path.exists():
            write_lines(path, self._collect(number))
        return Table(read_lines(path), self.seed, number, number * self.prompts_per_round)

    def _collect(self, number: int) -> list[dict[str, Any]]:
        needed = self.prompts_per_round
        order = list(self.users)
        derive_rng(self.seed, "prefixes", number).shuffle(order)
        turns = self.recipe.probe_turns
        prefixes: list[dict[str, Any]] = []
        with seeded(derive_seed(self.seed, "prefixes", number)):
            while order and len(prefixes) < needed:
                n_users = max(1, -(-(needed - len(prefixes)) // turns))
                some, order = order[:n_users], order[n_users:]
                simulators = [self.player.scorer.users.fresh(each["state"]) for each in some]
                prefixes += own_prefixes(self.player.play(simulators, turns))
        if not prefixes:
            raise DiscoverError("the model's own conversations gave no prompt; set own_prefixes to false")
        self.on_progress(f"round {number + 1}: {len(prefixes)} prompts from the model's own conversations")
        return prefixes

    def measure(self, number: int, model: Any = None) -> Mapping[str, Any]:
        """The validation rollouts after `number` rounds, measured once, together with a copy of the adapter.

        Args:
            model: the model after these rounds, if they may not be measured yet.
        """
        path = self.folder / ROUNDS / f"probe-{number}.json"
        if not path.exists():
            shutil.rmtree(self.adapter(number), ignore_errors=True)
            model.save_pretrained(str(self.adapter(number)), selected_adapters=["default"])
            write_json(path, dict(self.probe(number)) if self.probe else {})
        metrics: Mapping[str, Any] = read_json(path)
        return metrics

    def adapter(self, number: int) -> Path:
        """The folder of the adapter after `number` rounds."""
        return self.folder / ROUNDS / f"round-{number}"

    def told(self, kept: int) -> str:
        """The selected round."""
        if kept == 0:
            return "kept the model before training: no round discovered more intents"
        return f"kept round {kept} of {self.recipe.rounds}, which discovered most intents"

    def best(self) -> int | None:
        """The round with most discovered intents, the first of equals; None without measurements.

        0 is the model before the stage.  Its adapter has no effect.
        """
        rounds = [number for number in range(self.recipe.rounds + 1) if self.adapter(number).is_dir()]
        found = {number: self.measure(number).get("probe/discovered") for number in rounds}
        known = {number: value for number, value in found.items() if value is not None}
        return max(known, key=known.__getitem__) if known else None


class RoundsCallback(TrainerCallback):
    """Runs the rounds beside the trainer's steps."""

    def __init__(self, trainer: RoundsTrainer, recorder: Recorder) -> None:
        self.rounds, self.trainer, self.recorder = trainer.rounds, trainer, recorder

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._between(state)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step % self.rounds.steps_per_round and state.global_step != state.max_steps:
            return
        try:
            self._between(state)
        except DiscoverError:
            self.trainer.save_now()  # a resumed run measures this round first
            raise

    def _between(self, state: Any) -> None:
        """Measure the round that has ended, once, and enter the next round."""
        rounds = self.rounds.recipe.rounds
        number, into = divmod(state.global_step, self.rounds.steps_per_round)
        number = min(number, rounds)
        ended = into == 0 or state.global_step == state.max_steps
        if self.rounds.probe and ended and not self.recorder.has_round(number):
            metrics = self.rounds.measure(number, self.trainer.model)
            self.recorder.write(state, {"round": number, **metrics, **self.rounds.player.scorer.spending()})
            when = f"after round {number} of {rounds}" if number else "before training"
            self.rounds.on_progress(f"{when}: {probe_text(metrics)}")
        if state.global_step < state.max_steps:
            self.trainer.table = self.rounds.table(min(number, rounds - 1))


def grpo_trainer(
    model: Any,
    chat: Chat,
    rows: Sequence[Mapping[str, Any]],
    source: TrainingRows,
    recipe: GrpoRecipe,
    backend: Backend,
    folder: Path,
    seed: int,
    *,
    dialect: Dialect,
    users: Users,
    threads: int,
    on_progress: Progress,
    spending: Callable[[], Mapping[str, float]] = dict,
) -> RoundsTrainer:
    """A trainer of a model that has its adapter; see `trainers.supervised_trainer`.

    Args:
        rows: from `data.trainer_row`: prompt, state and domain.
        source: all rows, for the users of own prefixes and validation rollouts.
        threads: parallel judgments.
        spending: see `Scorer`.
    """
    scorer = Scorer(users, dialect, recipe, threads, spending)
    sampler = Sampler(model, chat, recipe.max_completion, recipe.temperature)
    player = Player(sampler, scorer, dialect, recipe.max_length)
    plain = Scorer(users, dialect, replace(recipe, look_ahead=0, broken_penalty=0.0), threads, spending)
    single = SimulatorReward(scorer, chat.tokenizer, sampler.ends)
    reward = SeveralTurns(player, recipe.multi_turn) if recipe.multi_turn > 1 else single
    steps = recipe.steps(len(rows))
    values = common_arguments(recipe, backend, folder, seed) | grpo_arguments(recipe) | {"max_steps": steps}
    places = range(steps * recipe.prompts_per_step)
    several = {"rollout_func": reward.roll_out} if isinstance(reward, SeveralTurns) else {}
    trainer = RoundsTrainer(
        model=model,
        reward_funcs=[reward],
        args=configuration(GRPOConfig, values),
        train_dataset=Dataset.from_list([{"prompt": rows[0]["prompt"], "place": place} for place in places]),
        processing_class=chat.tokenizer,
        **several,
    )
    trainer.table, trainer.chat = Table(rows, seed), chat
    trainer.turns = reward if isinstance(reward, SeveralTurns) and recipe.reward_to_go else None
    settle_reference(trainer.model)
    trainer.reward = reward
    trainer.rounds = Rounds(
        recipe,
        folder,
        seed,
        rows,
        starting_users(source.train),
        Player(sampler, plain, dialect, recipe.max_length, remember=True),
        _own_probe(recipe, source, sampler, plain, dialect, seed, on_progress),
        steps,
        on_progress,
    )
    return trainer


def _own_probe(
    recipe: GrpoRecipe,
    source: TrainingRows,
    sampler: Sampler,
    scorer: Scorer,
    dialect: Dialect,
    seed: int,
    on_progress: Progress,
) -> Probe | None:
    """Validation rollouts with the same held-out users and the same draws every time; None without such users."""
    rows = starting_users(source.held_out)[: recipe.probe_users]
    if len(rows) < recipe.probe_users:
        on_progress(f"probe_users is {recipe.probe_users}, and these rows have {counted(len(rows), 'held-out user')}")
    if not rows:
        return None
    player = Player(replace(sampler, temperature=PROBE_TEMPERATURE), scorer, dialect, recipe.max_length)
    names = [f"{domain_of(row)}/{row_name(row)}" for row in rows]

    def measure(number: int) -> Mapping[str, Any]:
        users = [scorer.users.fresh(row["state"]) for row in rows]
        return probe(player, users, names, recipe.probe_turns, derive_seed(seed, "probe"))

    return measure
