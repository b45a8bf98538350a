"""Recipes: every number of a training run in small frozen records, with the checks that need no model.

`Recipe.paper()` has the paper's numbers.  Numbers missing from the paper are from its authors' scripts.  Trainers and
backends have different defaults, so each default is a field here or is set in `discover_lib.train.backend`.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec
import yaml
from msgspec import Meta

from discover_lib.base.errors import DiscoverError

Stage = Literal["sft", "dpo", "grpo"]
Optimizer = Literal["adamw_torch", "adamw_torch_fused", "adamw_8bit", "paged_adamw_8bit"]
Schedule = Literal["linear", "cosine", "constant"]
Precision = Literal["auto", "bf16", "fp16", "fp32"]
Generation = Literal["transformers", "vllm-server", "vllm-colocate", "unsloth-fast"]

# Numbers by their range, checked when a recipe is read.
Positive = Annotated[float, Meta(gt=0, lt=1e300)]
PositiveInt = Annotated[int, Meta(gt=0)]
NotNegative = Annotated[float, Meta(ge=0, lt=1e300)]
Share = Annotated[float, Meta(ge=0, lt=1)]
Count = Annotated[int, Meta(ge=0)]  # 0 switches it off

STAGES: tuple[Stage, ...] = ("sft", "dpo", "grpo")
LOOK_AHEAD = "adaptive"
PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


@dataclass(frozen=True)
class LoraRecipe:
    """The adapter.  `targets` lists the modules, so that every backend trains the same ones."""

    r: PositiveInt = 32
    alpha: PositiveInt = 64
    dropout: Share = 0.1
    targets: Annotated[tuple[str, ...], Meta(min_length=1)] = PROJECTIONS


@dataclass(frozen=True, kw_only=True)
class StageRecipe:
    """Fields of all stages.

    Attributes:
        batch: effective batch size: sequences per update (GRPO: completions).
        per_device: sequences at a time on one device.  The rest of the batch is accumulated.
        max_steps: total updates; None for whole `epochs`.
        max_length: of a whole sequence, in tokens.  Longer rows are omitted and counted.
        warmup: updates if at least 1, else a share of all.
        precision: "auto" is bf16 (fp16 on older GPUs) on CUDA, fp32 elsewhere.
        save_steps: updates between checkpoints.
        sample_steps: updates between stored samples of the model's replies; 0 for no samples.
    """

    learning_rate: Positive
    batch: PositiveInt
    per_device: PositiveInt
    epochs: Positive
    max_length: PositiveInt
    max_steps: PositiveInt | None = None
    optimizer: Optimizer = "adamw_torch"
    schedule: Schedule = "cosine"
    warmup: NotNegative = 0.0
    weight_decay: NotNegative = 0.0
    max_grad_norm: NotNegative = 1.0
    precision: Precision = "auto"
    load_in_4bit: bool = False
    gradient_checkpointing: bool = True
    save_steps: PositiveInt = 50
    sample_steps: Count = 50

    @property
    def accumulation(self) -> int:
        """Forward and backward passes per update on one device."""
        return self.batch // self.per_device

    def steps(self, n_rows: int) -> int:
        """Total updates on this many rows."""
        return self.max_steps or math.ceil(self.epochs * math.ceil(n_rows / self.batch))


@dataclass(frozen=True, kw_only=True)
class SupervisedRecipe(StageRecipe):
    """Fields of SFT and DPO, which learn from rows alone.

    Attributes:
        eval_steps: updates between measurements on held-out rows; 0 for no measurement.
        eval_rows: maximum number of held-out rows in a measurement.
    """

    batch: PositiveInt = 16
    epochs: Positive = 3.0
    max_length: PositiveInt = 4096
    eval_steps: Count = 50
    eval_rows: Count = 200


@dataclass(frozen=True, kw_only=True)
class SftRecipe(SupervisedRecipe):
    """Supervised fine-tuning on whole selected conversations; only the assistant's tokens carry loss."""

    learning_rate: Positive = 2e-5
    per_device: PositiveInt = 4


@dataclass(frozen=True, kw_only=True)
class DpoRecipe(SupervisedRecipe):
    """Direct preference optimization on chosen and rejected replies to one prompt.

    Attributes:
        beta: strength of the pull to the reference.
        sft_weight: weight of an additional likelihood term on the chosen reply.  It keeps a small model's language
            intact.  0 is plain DPO, as in the paper.
    """

    learning_rate: Positive = 5e-6
    per_device: PositiveInt = 2
    beta: Positive = 0.1
    sft_weight: NotNegative = 0.0


@dataclass(frozen=True, kw_only=True)
class GrpoRecipe(StageRecipe):
    """Group relative policy optimization, rewarded by the live simulator.

    Attributes:
        batch: completions per update, `n_generations` to a prompt.
        max_completion: longest reply, in tokens; it is part of `max_length`.
        beta: weight of the KL term; 0 uses no reference.
        generation: writer of the replies: "transformers", the model itself; "vllm-server", a vLLM from
            `trl vllm-serve`; "vllm-colocate", vLLM on the same GPU; "unsloth-fast", Unsloth's vLLM.
        generation_memory: share of the GPU for a vLLM beside the model.
        tau: τ of the reward, in the rows' unit of tokens; None for the rows' value (500 in the paper).
        broken_penalty: subtracted from the reward of a reply that breaks the notation.  The paper has no such penalty;
            it keeps small models from forgetting their language.
        look_ahead: further turns in the reward of a reply, which the scripted assistant `LOOK_AHEAD` plays.  The
            single-turn reward pays for endless alternatives, and does not pay for preparation.
        multi_turn: turns of a rollout.  Above 1 the model plays several turns itself, the user's words carry no loss,
            and the reward is the sum over the turns.
        reward_to_go: credit each reply with the reward from its turn on, compared with the same turn of the other
            rollouts.  Otherwise each reply gets the whole sum.
        own_prefixes: collect the prompts of each round from the model's own conversations with the training users.
            Otherwise the rows are the prompts.
        rounds: equal parts of the run.  After each, validation rollouts measure the model; the best round is selected.
        probe_users: held-out users of the validation rollouts; 0 switches them off.
        probe_turns: turns of a validation rollout.
        workers: parallel judgments of a language model.
    """

    learning_rate: Positive = 5e-6
    batch: PositiveInt = 32
    per_device: PositiveInt = 4
    epochs: Positive = 1.0
    max_length: PositiveInt = 5120
    n_generations: Annotated[int, Meta(ge=2)] = 4
    max_completion: PositiveInt = 1024
    temperature: Positive = 0.6
    beta: NotNegative = 0.0
    epsilon: Positive = 0.28
    generation: Generation = "transformers"
    generation_memory: Annotated[float, Meta(gt=0, lt=1)] = 0.3
    loss_type: Literal["grpo", "dapo", "dr_grpo", "bnpo"] = "grpo"
    scale_rewards: Literal["group", "batch", "none"] = "group"
    disable_dropout: bool = False
    tau: NotNegative | None = None
    broken_penalty: NotNegative = 0.0
    look_ahead: Count = 0
    multi_turn: PositiveInt = 1
    reward_to_go: bool = False
    own_prefixes: bool = False
    rounds: PositiveInt = 1
    probe_users: Count = 50
    probe_turns: PositiveInt = 5
    workers: PositiveInt = 16

    @property
    def prompts_per_step(self) -> int:
        return self.batch // self.n_generations

    def steps(self, n_rows: int) -> int:
        """Total updates on this many prompts; an incomplete batch at the end of an epoch is omitted."""
        return self.max_steps or math.ceil(self.epochs * (n_rows // self.prompts_per_step))


@dataclass(frozen=True)
class Recipe:
    """The numbers of all stages."""

    name: str = "paper"
    lora: LoraRecipe = field(default_factory=LoraRecipe)
    sft: SftRecipe = field(default_factory=SftRecipe)
    dpo: DpoRecipe = field(default_factory=DpoRecipe)
    grpo: GrpoRecipe = field(default_factory=GrpoRecipe)

    @classmethod
    def paper(cls) -> Recipe:
        """The paper's numbers, for an 8B model on one large GPU."""
        return cls()

    @classmethod
    def miniature(cls) -> Recipe:
        """For the tiny language model on a CPU.

        The paper's rates have no effect at its size, so these are 20 to 100 times larger.  DPO has a likelihood term.
        GRPO has a KL term, its own prefixes and a penalty for broken replies.
        """
        return cls.named("miniature")

    @classmethod
    def named(cls, name: str) -> Recipe:
        """`paper`, `miniature`, or the paper's numbers for a card's memory: `t4`, `24gb`, `40gb`, `80gb`.

        Raises:
            DiscoverError: any other name.
        """
        known = {"paper": {}, **_presets()}
        if name not in known:
            raise DiscoverError(f"unknown recipe {name!r}; choose one of {', '.join(known)}")
        return cls.from_dict({"name": name, **known[name]})

    def of(self, stage: Stage) -> StageRecipe:
        """The part for a stage."""
        part: StageRecipe = getattr(self, stage)
        return part

    def replace(self, **parts: Any) -> Recipe:
        """This recipe with whole parts replaced."""
        return dataclasses.replace(self, **parts)

    def changed(self, stage: Stage, changes: Mapping[str, Any]) -> Recipe:
        """This recipe with single fields changed: ``{"learning_rate": 1e-4, "lora.r": 8}``.

        A name without a part belongs to `stage`.  The recipe's name then lists the changes.

        Raises:
            DiscoverError: an unknown field, or a value of the wrong kind.
        """
        data, labels = self.to_dict(), []
        for name, value in changes.items():
            part, _, inner = name.rpartition(".")
            part = part or stage
            if part not in _PARTS:
                raise DiscoverError(_unknown(part, _PARTS, "part of a recipe"))
            if inner not in data[part] or data[part][inner] != value:
                labels.append(f"{part}.{inner}={value}")
            data[part] = {**data[part], inner: value}
        if labels:
            data["name"] = f"{self.name}{', ' if ' with ' in self.name else ' with '}{', '.join(labels)}"
        return Recipe.from_dict(data)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        data: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Recipe:
        """A recipe from plain values; missing parts and fields keep the paper's numbers.

        Raises:
            DiscoverError: an unknown part or field, or a value of the wrong kind.
        """
        for name in data:
            if name not in ("name", *_PARTS):
                raise DiscoverError(_unknown(name, ("name", *_PARTS), "part of a recipe"))
        parts = {name: _record(_PARTS[name], data[name], name) for name in _PARTS if name in data}
        return cls(name=str(data.get("name", "paper")), **parts)

    def problems(self, stage: Stage, *, n_rows: int | None = None, context: int | None = None) -> list[str]:
        """Contradictions in the recipe, one line each.

        Args:
            n_rows: number of training rows, if known.
            context: longest sequence that the base can read, if known.
        """
        part = self.of(stage)
        lines = holding(_contradictions(part, context))
        if not lines and n_rows is not None:
            lines = holding(_row_problems(part, n_rows))
        return [f"{stage}: {line}" for line in lines]


_PARTS: Mapping[str, type] = {"lora": LoraRecipe, "sft": SftRecipe, "dpo": DpoRecipe, "grpo": GrpoRecipe}


@cache
def _presets() -> Mapping[str, Mapping[str, Any]]:
    """Name → part → changes to the paper's numbers."""
    text = Path(__file__).with_name("recipes.yaml").read_text(encoding="utf-8")
    return {name: parts for name, parts in yaml.safe_load(text).items() if name != "shared"}


# -- checks ------------------------------------------------------------------------------------------------------------


def holding(found: Mapping[str, bool]) -> list[str]:
    """The sentences that hold, of sentence → whether it holds."""
    return [sentence for sentence, holds in found.items() if holds]


def refuse(lines: Sequence[str]) -> None:
    """Raise all lines as one error, if there are any."""
    if lines:
        raise DiscoverError("; ".join(lines))


def _contradictions(part: StageRecipe, context: int | None) -> dict[str, bool]:
    """Sentence about a contradiction → whether the fields have it."""
    found = {
        f"batch {part.batch} is not a multiple of per_device {part.per_device}": part.batch % part.per_device != 0,
        f"max_length {part.max_length} is more than the {context} tokens that the base can read": (
            context is not None and part.max_length > context
        ),
    }
    if isinstance(part, GrpoRecipe):
        found |= {
            f"batch {part.batch} counts completions and must be a multiple of n_generations {part.n_generations}": (
                part.batch % part.n_generations != 0
            ),
            f"max_completion {part.max_completion} leaves no room for a prompt in max_length {part.max_length}": (
                part.max_completion >= part.max_length
            ),
            f"{part.generation} writes no replies of several turns; set generation to transformers": (
                part.generation != "transformers" and part.multi_turn > 1
            ),
            "reward_to_go is for several turns; raise multi_turn": part.reward_to_go and part.multi_turn == 1,
            "look_ahead and multi_turn both reward later turns; use one of them": (
                part.look_ahead > 0 and part.multi_turn > 1
            ),
            f"max_steps {part.max_steps} cannot be divided into {part.rounds} equal rounds": (
                part.max_steps is not None and part.max_steps % part.rounds != 0
            ),
            "own_prefixes collects new prompts, so epochs have no length; set max_steps": (
                part.own_prefixes and part.max_steps is None
            ),
            "rounds divide a fixed number of updates; set max_steps": part.rounds > 1 and part.max_steps is None,
        }
    return found


def _row_problems(part: StageRecipe, n_rows: int) -> dict[str, bool]:
    found = {"no rows to train on": n_rows < 1}
    if isinstance(part, GrpoRecipe):
        needed = part.prompts_per_step
        found[f"{n_rows} prompts are fewer than the {needed} of one update; use a smaller batch"] = (
            not part.own_prefixes and 0 < n_rows < needed
        )
    return found


# -- reading -----------------------------------------------------------------------------------------------------------


def _record(kind: type, data: Any, part: str) -> Any:
    """A part of a recipe from plain values, with the type and range of every field checked."""
    if not isinstance(data, Mapping):
        raise DiscoverError(f"{part}: a mapping of fields is needed, got {data!r:.60}")
    hints, values = get_type_hints(kind, include_extras=True), {}
    for name, value in data.items():
        if name not in hints:
            raise DiscoverError(_unknown(name, tuple(hints), f"field of {part}"))
        try:
            values[name] = msgspec.convert(value, hints[name])
        except msgspec.ValidationError as error:
            choices = get_args(hints[name]) if get_origin(hints[name]) is Literal else ()
            hint = f"; choose one of {', '.join(choices)}" if choices else ""
            raise DiscoverError(f"{part}.{name}: {error} (got {value!r:.60}){hint}") from None
    return kind(**values)


def _unknown(name: str, known: Sequence[str] | Mapping[str, Any], what: str) -> str:
    within = [each for each in known if name in each]
    near = within if len(within) == 1 else difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
    return f"{name!r} is not a {what}; {hint}"


def beside_the_paper(recipe: Recipe) -> str:
    """A recipe's changes to the paper's numbers, in one line."""
    changes = {stage: ", ".join(changes_between(Recipe.paper(), recipe, stage)) for stage in STAGES}
    return "; ".join(f"{stage}: {own}" for stage, own in changes.items() if own) or "nothing"


def changes_between(preset: Recipe, recipe: Recipe, stage: Stage) -> list[str]:
    """Changes from a preset to a recipe for one stage, in the form of `assignments`: ``learning_rate=1e-4``."""
    changes = []
    for part, prefix in ((stage, ""), ("lora", "lora.")):
        before, after = preset.to_dict()[part], recipe.to_dict()[part]
        changes += [f"{prefix}{name}={json.dumps(after[name])}" for name in after if after[name] != before.get(name)]
    return changes


def assignments(pairs: Sequence[str]) -> dict[str, Any]:
    """``name=value`` texts of a command line as a mapping; values that are not JSON are text.

    Raises:
        DiscoverError: a text is not of that form, or a name is given twice.
    """
    values: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name.strip():
            raise DiscoverError(f"{pair!r} has no value; write name=value, e.g. learning_rate=1e-4")
        if name.strip() in values:
            raise DiscoverError(f"{name.strip()} is set twice")
        try:
            values[name.strip()] = json.loads(text)
        except ValueError:
            values[name.strip()] = {"True": True, "False": False, "None": None}.get(text.strip(), text.strip())
    return values
