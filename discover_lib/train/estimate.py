"""A stage before it begins: whether it fits a GPU, its updates and time, and the calls of GRPO's judge and voice.

Memory is computed from the recipe and the model's `config.json`.  Weights and adapter are exact.  The part that grows
with the batch may be off by `ERROR`.  It was fitted to eleven runs on one H100, all within 18% (docs/measured.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import read_json
from discover_lib.base.words import duration
from discover_lib.engines.llm.calls.exchange import price_of
from discover_lib.engines.local.dialect import is_tiny
from discover_lib.engines.spec import MINIATURE
from discover_lib.runs.plan import ASKED, TURNS_TAKEN, TYPICAL_BASIS, Plan, Span
from discover_lib.runs.plan import Stage as CallPlan
from discover_lib.train.access import Access
from discover_lib.train.backend import emulated
from discover_lib.train.data import load_rows, starting_users
from discover_lib.train.recipes import GrpoRecipe, LoraRecipe, Recipe, Stage, StageRecipe

if TYPE_CHECKING:
    from discover_lib.train.run_stage import StageSettings

GIB = 2**30
ERROR = 0.4
CONTEXT_GIB = 1.5  # of CUDA, its libraries and the allocator
ADAPTER_BYTES = 8  # a trained weight and its gradient, in fp32
ADAM_BYTES = {"adamw_torch": 8, "adamw_torch_fused": 8, "adamw_8bit": 2, "paged_adamw_8bit": 2}
FOUR_BITS = 0.53  # bytes per weight: NF4 with quantized scales
LOGIT_BYTES = {"sft": 12, "dpo": 10, "grpo": 10}  # copies in fp32 with their gradient; DPO's and GRPO's in 16 bit too
LAYER_BYTES = 5  # an activation inside a layer, with its copies for adapter and dropout
PREFILL_BYTES = 16  # a prompt's token while GRPO reads the prompts of a batch, per unit of a layer's inner size
SECONDS = {"loading": 15.0, "sft": 0.4, "dpo": 1.0, "grpo": 6.0}  # of the tiny model, or of its update, on one core
FORMULA = (
    "memory = weights (2 bytes each; 0.53 in 4 bits) + adapter with gradient (8 bytes each) + optimizer (AdamW 8 bytes "
    "each, 2 in 8 bits) + 1.5 GiB + the input of each layer (2 bytes each) + one layer whole (5 bytes each) or the "
    "logits (SFT 12, else 10 bytes each). GRPO: or the prompts of a batch with their keys and values, if larger"
)


@dataclass(frozen=True)
class Architecture:
    """The shape of a model, which decides its memory."""

    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head: int
    inner: int
    vocabulary: int
    tied: bool

    @property
    def linear(self) -> int:
        """Weights of the layers' projections."""
        attention = self.hidden * self.head * (2 * self.heads + 2 * self.kv_heads)
        return self.layers * (attention + 3 * self.hidden * self.inner)

    @property
    def embedding(self) -> int:
        return self.vocabulary * self.hidden * (1 if self.tied else 2)

    @property
    def weights(self) -> int:
        return self.linear + self.embedding

    @property
    def cache_bytes(self) -> int:
        """Keys and values of one token, in 16 bit."""
        return 2 * self.layers * self.kv_heads * self.head * 2

    def adapter(self, lora: LoraRecipe) -> int:
        """Trained weights."""
        q, kv = self.heads * self.head, self.kv_heads * self.head
        sides = {
            "q_proj": self.hidden + q,
            "k_proj": self.hidden + kv,
            "v_proj": self.hidden + kv,
            "o_proj": q + self.hidden,
            **dict.fromkeys(("gate_proj", "up_proj", "down_proj"), self.hidden + self.inner),
        }
        return self.layers * lora.r * sum(sides.get(name, 2 * self.hidden) for name in lora.targets)


def architecture_of(base: str) -> Architecture:
    """The shape of a base from its `config.json`: a path of the file, or the file in its folder or the hub's cache.

    Raises:
        DiscoverError: the file is not on this machine, or belongs to another kind of model.
    """
    file: Any = Path(base) if Path(base).is_file() else Path(base) / "config.json"
    if not file.is_file() and not Path(base).is_absolute():
        from huggingface_hub import try_to_load_from_cache

        file = try_to_load_from_cache(base, "config.json")  # without a download
    if not isinstance(file, str | Path) or not Path(file).is_file():
        raise DiscoverError(f"{base}: no config.json on this machine, so the memory is not estimated; give its folder")
    configuration = read_json(Path(file))
    text = configuration.get("text_config", configuration)
    try:
        heads = text["num_attention_heads"]
        return Architecture(
            text["hidden_size"],
            text["num_hidden_layers"],
            heads,
            text.get("num_key_value_heads") or heads,
            text.get("head_dim") or text["hidden_size"] // heads,
            text["intermediate_size"],
            text["vocab_size"],
            bool(configuration.get("tie_word_embeddings", text.get("tie_word_embeddings", True))),
        )
    except KeyError as error:
        raise DiscoverError(f"{base}: its config.json has no {error}; only plain decoders have an estimate") from None


@dataclass(frozen=True)
class Card:
    """A GPU and its memory in GiB."""

    name: str
    memory: float
    bf16: bool = True

    @classmethod
    def of_driver(cls, line: str) -> Card:
        """From a line of the driver, as `runs.doctor.find_gpu` gives it: ``Tesla T4, 15360 MiB``."""
        name, _, memory = line.rpartition(",")
        return cls(name.strip(), float(memory.split()[0]) / 1024)


CARDS = {
    each.name: each
    for each in (
        Card("t4", 14.7, bf16=False),
        Card("l4", 22.5),
        Card("rtx3090", 24),
        Card("rtx4090", 24),
        Card("a100-40", 40),
        Card("a100-80", 80),
        Card("h100", 80),
        Card("h200", 141),
    )
}
CARD_OF_RECIPE = {"t4": "t4", "24gb": "rtx4090", "40gb": "a100-40", "80gb": "a100-80", "paper": "a100-80"}


@dataclass(frozen=True)
class Estimate:
    """The needs of a stage on a card.

    Attributes:
        fixed: GiB that do not depend on the batch: weights, adapter, optimizer and `CONTEXT_GIB`.
        batch: GiB that grow with the batch, ± `ERROR`.
        tokens: upper limit of the tokens of one update.
    """

    card: Card
    fixed: float
    batch: float
    tokens: int

    @property
    def fits(self) -> Literal["yes", "perhaps", "no"]:
        if self.fixed + self.batch * (1 - ERROR) > self.card.memory:
            return "no"
        return "yes" if self.fixed + self.batch * (1 + ERROR) <= self.card.memory else "perhaps"

    @property
    def line(self) -> str:
        """The verdict, the memory and the tokens of an update."""
        needed = f"{self.fixed:.1f} + {self.batch:.1f} (± {self.batch * ERROR:.1f}) of {self.card.memory:g} GiB"
        return f"{FITS[self.fits]} on {self.card.name} ({needed}), at most {self.tokens:,} tokens per update"


FITS = {"yes": "fits", "perhaps": "may fit", "no": "does not fit"}


def estimate(stage: Stage, base: Architecture, recipe: Recipe, card: Card, backend: str = "transformers") -> Estimate:
    """The needs of one stage on one card.

    Args:
        backend: "unsloth" stores no logits of SFT and fewer activations.
    """
    part = recipe.of(stage)
    each = 4 if part.precision == "fp32" else 2
    size = base.linear * FOUR_BITS + base.embedding * each if part.load_in_4bit else base.weights * each
    trained = base.adapter(recipe.lora)
    batch = _activations(base, part, stage, unsloth=backend == "unsloth")
    if isinstance(part, GrpoRecipe) and part.generation != "vllm-server":
        prompt = (part.max_length - part.max_completion) * (base.cache_bytes + PREFILL_BYTES * base.inner)
        batch = max(batch, part.batch * max(prompt, part.max_length * base.cache_bytes) / GIB)
    fixed = (size + trained * (ADAPTER_BYTES + ADAM_BYTES[part.optimizer])) / GIB + CONTEXT_GIB
    return Estimate(card, fixed, batch, part.batch * part.max_length * (2 if stage == "dpo" else 1))


def misfit(stage: Stage, base: str, recipe: Recipe, card: Card, backend: str) -> list[str]:
    """Why a stage cannot fit a card even at the low end of the estimate; [] if it may fit or the base is unknown."""
    try:
        return list(filter(None, [refusal(stage, architecture_of(base), recipe, card, backend)]))
    except DiscoverError:
        return []


def without_bf16(stage: Stage, recipe: Recipe, card: Card) -> str:
    """Why a stage's precision is refused on a card, or ""."""
    return f"{stage}: {emulated(card.name)}" if recipe.of(stage).precision == "bf16" and not card.bf16 else ""


def refusal(stage: Stage, base: Architecture, recipe: Recipe, card: Card, backend: str) -> str:
    """Why a stage does not fit a card, in one line with a remedy; "" if it fits or may fit."""
    needed = estimate(stage, base, recipe, card, backend)
    if needed.fits != "no":
        return ""
    part = recipe.of(stage)
    lower: dict[str, Any] = {"per_device": 1, "load_in_4bit": True, "max_length": part.max_length // 2}
    fits = estimate(stage, base, recipe.replace(**{stage: replace(part, **lower)}), card, backend).fits
    changes = ", ".join(f"{stage}.{name}={str(value).lower()}" for name, value in lower.items())
    remedy = f"set {changes}" if fits != "no" else "choose a larger card or a smaller base"
    return (
        f"{stage}: {base.weights / 1e9:.1f} billion weights need about {needed.fixed + needed.batch:.0f} GiB, "
        f"and {card.name} has {card.memory:.0f}; {remedy}"
    )


def present_card() -> Card:
    """The CUDA device of this process."""
    import torch

    return Card(torch.cuda.get_device_name(), torch.cuda.get_device_properties(0).total_memory / GIB)


def _activations(base: Architecture, part: StageRecipe, stage: Stage, *, unsloth: bool) -> float:
    """GiB of the stored activations and the logits, for the longest rows."""
    tokens = part.per_device * part.max_length * (2 if stage == "dpo" else 1)
    inside = LAYER_BYTES * (2 * (base.heads + base.kv_heads) * base.head + 3 * base.inner + 4 * base.hidden)
    # Unsloth moves the layers' inputs to main memory.
    kept = (0 if unsloth else 2 * base.hidden) if part.gradient_checkpointing else inside
    predicted = part.per_device * part.max_completion if isinstance(part, GrpoRecipe) else tokens
    logits = 0 if unsloth and stage == "sft" else predicted * base.vocabulary * LOGIT_BYTES[stage]
    return (tokens * base.layers * kept + max(tokens * inside, logits)) / GIB


# -- updates and time --------------------------------------------------------------------------------------------------


def forecast(settings: StageSettings, n_rows: int) -> str:
    """The updates and the time of a stage on this machine, in words.

    The tiny model's time is a measurement on one processor core and contains the loading of the libraries.  Other
    models' time is unknown.
    """
    stage, part = settings.stage, settings.recipe.of(settings.stage)
    updates = part.steps(n_rows)
    if is_tiny(settings.base) and part.batch == Recipe.miniature().of(stage).batch:
        return (
            f"{updates:,} updates of the model, about {duration(SECONDS['loading'] + updates * SECONDS[stage])} "
            "with loading, on one processor core"
        )
    return f"{updates:,} updates; the time on this machine is unknown"


# -- calls of a judge and a voice -------------------------------------------------------------------------------------


def plan_stage(settings: StageSettings, access: Access) -> Plan:
    """Calls, tokens and dollars of a GRPO stage's judge and voice.  The policy makes no calls.

    Raises:
        DiscoverError: there are no such rows.
    """
    rows = load_rows(Path(settings.data), "grpo", None, system=settings.system, seed=settings.seed)
    part = settings.recipe.grpo
    steps = part.steps(len(rows.train))
    completions = steps * part.batch
    talks = Span(1, part.multi_turn, part.multi_turn) if part.multi_turn > 1 else Span.exactly(1)
    judged = talks * ((1 + part.look_ahead) * completions)
    spoken = (talks + Span.exactly(-1.0) + Span.exactly(part.look_ahead)) * completions
    probed = min(part.probe_users, len(starting_users(rows.held_out))) * ((part.rounds + 1) if part.probe_users else 0)
    collected = completions / part.n_generations if part.own_prefixes else 0.0
    for conversations in (probed, collected / part.probe_turns):
        judged += TURNS_TAKEN * (conversations * part.probe_turns)
        spoken += TURNS_TAKEN * (conversations * (part.probe_turns - 1))
    stages = []
    for role, calls in (("judge", judged), ("voice", spoken)):
        model = getattr(settings, role)
        if model != MINIATURE:
            price = price_of(model, access.client.prices, access.client.address_of(model))
            stages.append(CallPlan(role, model, calls * ASKED, price))
    assumptions: tuple[str, ...] = (
        f"{steps:,} updates of {part.batch} replies, {probed} conversations to measure it",
        TYPICAL_BASIS,
    )
    if part.multi_turn > 1:
        assumptions += (f"a rollout has 1 to {part.multi_turn} turns: it ends when all intents are discovered",)
    return Plan(completions + probed, judged, tuple(stages), assumptions)
