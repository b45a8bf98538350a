"""Whether a stage fits a card and how long it takes there: arithmetic from the model's shape, the recipe and the rows.

No figure here was measured on a GPU by this project.  Weights and adapter are exact; what grows with the batch, and
the time, may be off by half (`ERROR`), and every estimate says so.
"""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from discover_lib.base.errors import DiscoverError
from discover_lib.base.tokens import count_tokens
from discover_lib.train.backend import emulated
from discover_lib.train.data import Row
from discover_lib.train.recipes import STAGES, GrpoRecipe, LoraRecipe, Recipe, Stage, StageRecipe

GIB = 2**30
ERROR = 0.5
CONTEXT_GIB = 1.5  # what CUDA, its libraries and the allocator take beside the tensors
ADAPTER_BYTES = 8  # a trained weight and its gradient, in fp32
ADAM_BYTES = {"adamw_torch": 8, "adamw_torch_fused": 8, "adamw_8bit": 2, "paged_adamw_8bit": 2}
FOUR_BITS = 0.53  # bytes a weight: NF4 with its scales quantised, too
LOGIT_BYTES = 10  # the logits in 16 bit and in fp32, and their gradient
USED = {"transformers": 0.35, "unsloth": 0.45}  # share of a card's peak that training reaches
FOUR_BITS_SLOWER = 0.7
READ = {"transformers": 0.4, "vllm-server": 0.75, "vllm-colocate": 0.75, "unsloth-fast": 0.75}  # share of bandwidth
FORMULA = (
    "memory = weights (2 bytes each; 0.53 in 4 bit) + adapter with gradient (8 bytes each) + optimizer (AdamW 8 bytes "
    "each, in 8 bit 2) + 1.5 GiB + activations "
    "(a layer's input a layer, one layer whole) + logits (10 bytes each); GRPO: or the cache of keys and values, if "
    "that is more",
    "time = tokens × weights × 6 operations (DPO 8: the reference reads, too) ÷ (peak × share reached), and in GRPO "
    "the longest reply × (weights + cache) ÷ (bandwidth × share reached)",
)


class EstimateError(DiscoverError):
    """Nothing can be estimated; the message is one line that says what is missing."""


@dataclass(frozen=True)
class Architecture:
    """What decides a model's memory and speed.

    Attributes:
        source: where these numbers come from.
    """

    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head: int
    inner: int
    vocabulary: int
    tied: bool
    source: str = ""

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


def _as_published(
    hidden: int, layers: int, heads: int, kv_heads: int, head: int, inner: int, vocabulary: int, *, tied: bool
) -> Architecture:
    source = "the table in discover_lib/train/estimate.py, as published with the model"
    return Architecture(hidden, layers, heads, kv_heads, head, inner, vocabulary, tied, source)


# hidden, layers, heads, key and value heads, size of a head, inner size, vocabulary
PUBLISHED = {
    "llama-3.1-8b": _as_published(4096, 32, 32, 8, 128, 14336, 128256, tied=False),
    "llama-3.2-1b": _as_published(2048, 16, 32, 8, 64, 8192, 128256, tied=True),
    "llama-3.2-3b": _as_published(3072, 28, 24, 8, 128, 8192, 128256, tied=True),
    "qwen3-0.6b": _as_published(1024, 28, 16, 8, 128, 3072, 151936, tied=True),
    "qwen3-1.7b": _as_published(2048, 28, 16, 8, 128, 6144, 151936, tied=True),
    "qwen3-4b": _as_published(2560, 36, 32, 8, 128, 9728, 151936, tied=True),
    "qwen3-8b": _as_published(4096, 36, 32, 8, 128, 12288, 151936, tied=False),
    "smollm2-135m": _as_published(576, 30, 9, 3, 64, 1536, 49152, tied=True),
    "smollm2-360m": _as_published(960, 32, 15, 5, 64, 2560, 49152, tied=True),
    "smollm2-1.7b": _as_published(2048, 24, 32, 32, 64, 8192, 49152, tied=True),
    "gemma-2-2b": _as_published(2304, 26, 8, 4, 256, 9216, 256000, tied=True),
    "gemma-2-9b": _as_published(3584, 42, 16, 8, 256, 14336, 256000, tied=True),
    # Of the larger ones, which see, too, what reads and writes text.
    "gemma-3-270m": _as_published(640, 18, 4, 1, 256, 2048, 262144, tied=True),
    "gemma-3-1b": _as_published(1152, 26, 4, 1, 256, 6912, 262144, tied=True),
    "gemma-3-4b": _as_published(2560, 34, 8, 4, 256, 10240, 262208, tied=True),
    "gemma-3-12b": _as_published(3840, 48, 16, 8, 256, 15360, 262208, tied=True),
    "gemma-3-27b": _as_published(5376, 62, 32, 16, 128, 21504, 262208, tied=True),
}

MAKERS = {"llama": "meta-llama", "qwen": "Qwen", "smollm": "HuggingFaceTB", "gemma": "google"}
GATED = ("meta-llama", "google")  # their models are downloaded with a login only


def architecture_of(base: str) -> Architecture:
    """The shape of a base: by its folder's `config.json`, by the hub's cache on this machine, or by the table.

    Raises:
        EstimateError: it is in none of these.
    """
    if configuration := config_of(base):
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
                f"config.json of {base}",
            )
        except KeyError as error:
            if name := published_name(base):  # gemma-3's leaves out what is its kind's default
                return PUBLISHED[name]
            raise EstimateError(f"{base}: its config.json has no {error}; only plain decoders are estimated") from None
    if name := published_name(base):
        return PUBLISHED[name]
    raise EstimateError(f"{base}: no config.json on this machine and no entry in the table of known bases")


def config_of(base: str) -> dict[str, Any] | None:
    """A base's `config.json`, if it lies in its folder or in the hub's cache; nothing is fetched."""
    path: Any = Path(base) / "config.json"
    if not path.is_file():
        if Path(base).is_absolute():
            return None
        from huggingface_hub import try_to_load_from_cache

        path = try_to_load_from_cache(base, "config.json")
    return json.loads(Path(path).read_text(encoding="utf-8")) if isinstance(path, str | Path) else None


def published_name(base: str) -> str | None:
    """Which entry of the table a base's name means, by the longest that it begins with; variants have its shape."""
    name = base.rpartition("/")[2].lower().removeprefix("meta-")
    return max((each for each in PUBLISHED if name.startswith(each)), key=len, default=None)


def name_note(base: str) -> str:
    """What is not known of a name that the table alone has answered for; "" where the model lies on this machine."""
    known = published_name(base)
    if known is None or config_of(base) is not None or Path(base).is_absolute():
        return ""
    owner, _, name = base.rpartition("/")
    maker = MAKERS[known.partition("-")[0].rstrip("0123456789.")]
    notes = [f"the name {base} was not looked up (a rehearsal uses no network)"]
    near = difflib.get_close_matches(owner.lower(), [maker.lower()], cutoff=0.7)
    if owner != maker:
        whose = owner or "nobody"
        notes.append(f"did you mean {maker}/{name}?" if near else f"{maker} published it, and the name says {whose}")
    if maker in GATED and (owner == maker or near):
        notes.append(f"{maker} asks to accept its licence on the model's page and for a login (hf auth login)")
    return "; ".join(notes)


@dataclass(frozen=True)
class Card:
    """A GPU: memory in GiB, dense 16-bit operations a second in 10^12, bandwidth in GB a second, as its maker says."""

    name: str
    memory: float
    tflops: float
    bandwidth: float
    bf16: bool = True


CARDS = {
    each.name: each
    for each in (
        Card("t4", 14.7, 65, 320, bf16=False),
        Card("l4", 22.5, 121, 300),
        Card("rtx3090", 24, 71, 936),
        Card("rtx4090", 24, 165, 1008),
        Card("a100-40", 40, 312, 1555),
        Card("a100-80", 80, 312, 2039),
        Card("h100", 80, 989, 3350),
        Card("h200", 141, 989, 4800),
    )
}
CARD_OF_RECIPE = {"t4": "t4", "24gb": "rtx4090", "40gb": "a100-40", "80gb": "a100-80", "paper": "a100-80"}


@dataclass(frozen=True)
class Estimate:
    """What a stage needs.

    Attributes:
        weights, adapter, optimizer: GiB that are there whatever the batch is, as `CONTEXT_GIB` is.
        batch: GiB that grow with what is processed at a time; give or take half.
        hours: of training, with generation in GRPO; give or take half.  A judge's answers are not in it.
    """

    stage: Stage
    card: Card
    architecture: Architecture
    weights: float
    adapter: float
    optimizer: float
    batch: float
    hours: float
    steps: int
    tokens: float  # of a mean row

    @property
    def fixed(self) -> float:
        return self.weights + self.adapter + self.optimizer + CONTEXT_GIB

    @property
    def parts(self) -> str:
        """What `fixed` consists of, as the formula has it."""
        return (
            f"{self.fixed:.1f} GiB whatever the batch is: weights {self.weights:.1f}, adapter with gradient "
            f"{self.adapter:.1f}, optimizer {self.optimizer:.1f}, CUDA and its libraries {CONTEXT_GIB:.1f}"
        )

    @property
    def fits(self) -> Literal["yes", "perhaps", "no"]:
        if self.fixed + self.batch * (1 - ERROR) > self.card.memory:
            return "no"
        return "yes" if self.fixed + self.batch * (1 + ERROR) <= self.card.memory else "perhaps"

    @property
    def line(self) -> str:
        low, high = self.hours * (1 - ERROR), self.hours * (1 + ERROR)
        time = f"; {self.steps:,} updates, {_span(low, high)}" if self.steps else ""
        more = f"{self.fixed:.1f} + {self.batch:.1f} (± {self.batch * ERROR:.1f})"
        return f"{self.stage} on {self.card.name}: {more} GiB of {self.card.memory:g}: {FITS[self.fits]}{time}"


FITS = {"yes": "fits", "perhaps": "may fit", "no": "does not fit"}


def estimate(
    stage: Stage, base: Architecture, recipe: Recipe, card: Card, rows: Sequence[Row], backend: str = "transformers"
) -> Estimate:
    """What one stage takes on one card.

    Args:
        rows: those to train on; their number and mean length decide the time.
        backend: "unsloth" keeps no logits of SFT and fewer activations.
    """
    part = recipe.of(stage)
    n_weights, unsloth = base.weights, backend == "unsloth"
    size = base.linear * FOUR_BITS + base.embedding * 2 if part.load_in_4bit else n_weights * 2
    if part.precision == "fp32":
        size *= 2
    trained = base.adapter(recipe.lora)
    mean = _mean_tokens(rows) + (min(450, part.max_completion) * part.multi_turn if isinstance(part, GrpoRecipe) else 0)
    steps = part.steps(len(rows)) if rows else part.max_steps or 0
    batch = _activations(base, part, stage, unsloth=unsloth)
    used = USED["unsloth" if unsloth else "transformers"] * (FOUR_BITS_SLOWER if part.load_in_4bit else 1)
    sequences = 2 * part.batch if stage == "dpo" else part.batch
    operations = sequences * mean * 2 * n_weights * (4 if stage == "dpo" else 3 if part.gradient_checkpointing else 2)
    seconds = operations / (card.tflops * 1e12 * used)
    if isinstance(part, GrpoRecipe):
        cache = part.batch * part.max_length * base.cache_bytes
        batch = max(batch, cache / GIB)
        half = part.batch * mean * base.cache_bytes  # what is read of it, on average over a reply
        written = part.multi_turn + part.replies_ahead
        rate = card.bandwidth * 1e9 * READ[part.generation]
        seconds = seconds * part.iterations + part.max_completion * written * (size + half) / rate
    adapter, optimizer = trained * ADAPTER_BYTES / GIB, trained * ADAM_BYTES[part.optimizer] / GIB
    return Estimate(stage, card, base, size / GIB, adapter, optimizer, batch, steps * seconds / 3600, steps, mean)


def misfit(stage: Stage, base: str, recipe: Recipe, card: Card, backend: str) -> list[str]:
    """Why a stage cannot fit a card, at the least that it may need; [] where it may, or where nothing is known."""
    try:
        line = refusal(stage, architecture_of(base), recipe, card, backend)
    except EstimateError:
        return []
    return [line] if line else []


def without_bf16(stage: Stage, recipe: Recipe, card: Card) -> str:
    """Why a stage's precision is refused on a card; "" where it is not."""
    return f"{stage}: {emulated(card.name)}" if recipe.of(stage).precision == "bf16" and not card.bf16 else ""


def refusal(stage: Stage, base: Architecture, recipe: Recipe, card: Card, backend: str) -> str:
    """Why a stage cannot be trained on a card, in one line with what to do; "" where it can, or may."""
    if line := without_bf16(stage, recipe, card):
        return line
    needed = estimate(stage, base, recipe, card, (), backend)
    if needed.fits != "no":
        return ""
    return (
        f"{stage}: {base.weights / 1e9:.1f} billion weights need about {needed.fixed + needed.batch:.0f} GiB, "
        f"and {card.name} has {card.memory:.0f}; {_remedy(stage, base, recipe, card, backend)}"
    )


def caution(stage: Stage, base: Architecture, recipe: Recipe, card: Card, backend: str) -> str:
    """What to do where a stage may not fit a card, to be sure; "" where it fits, or cannot."""
    if estimate(stage, base, recipe, card, (), backend).fits != "perhaps":
        return ""
    return f"{stage} may not fit {card.name}: to be sure, {_remedy(stage, base, recipe, card, backend, sure=True)}"


def _remedy(stage: Stage, base: Architecture, recipe: Recipe, card: Card, backend: str, *, sure: bool = False) -> str:
    """The fewest fields to lower with which a stage fits a card, and the preset with which all of them do.

    Args:
        sure: what may fit does not count.
    """
    part = recipe.of(stage)
    lower: dict[str, Any] = {"per_device": 1, "load_in_4bit": True, "max_length": part.max_length // 2}
    one, bits, length = ({name: value} for name, value in lower.items())
    remedies: dict[str, list[str]] = {"yes": [], "perhaps": [], "no": []}
    for changes in (one, bits, one | bits, one | bits | length):
        lowered = {name: value for name, value in changes.items() if value != getattr(part, name)}
        fits = estimate(stage, base, recipe.replace(**{stage: replace(part, **lowered)}), card, (), backend).fits
        if lowered:
            remedies[fits].append(", ".join(f"{stage}.{name}={str(value).lower()}" for name, value in lowered.items()))
    enough = ("yes",) if sure else ("yes", "perhaps")
    fields = [f"set {each}" for each in [line for fits in enough for line in remedies[fits]][:1]]
    presets = [
        name
        for name in CARD_OF_RECIPE
        if all(estimate(each, base, Recipe.named(name), card, (), backend).fits in enough for each in STAGES)
    ]
    fields += [f"take the recipe {name}" for name in presets[-1:]]
    return ", or ".join(fields) or "take a larger card or a smaller base"


def present_card() -> Card:
    """The CUDA device of this process, by its memory; how fast it is does not matter to whether a stage fits."""
    import torch

    return Card(torch.cuda.get_device_name(), torch.cuda.get_device_properties(0).total_memory / GIB, 1, 1)


def _activations(base: Architecture, part: StageRecipe, stage: Stage, *, unsloth: bool) -> float:
    """GiB of what is kept for the backward pass and of the logits, at the longest rows."""
    sequences = part.per_device * (2 if stage == "dpo" else 1)
    tokens = sequences * part.max_length
    inside = 2 * (base.heads + base.kv_heads) * base.head + 3 * base.inner + 4 * base.hidden
    kept = base.layers * base.hidden if part.gradient_checkpointing else base.layers * inside
    kept = 0 if unsloth and part.gradient_checkpointing else kept  # Unsloth moves them to the main memory
    predicted = sequences * part.max_completion if isinstance(part, GrpoRecipe) else tokens
    logits = 0 if unsloth and stage == "sft" else predicted * base.vocabulary * LOGIT_BYTES
    return (tokens * (kept + inside) * 2 + logits) / GIB


def _mean_tokens(rows: Sequence[Row]) -> float:
    """Of what is read in training, by our own way of counting; a preference row's two sequences count as one."""
    some = rows[:: max(1, len(rows) // 50)][:50]
    if not some:
        return 1000.0
    return math.fsum(_tokens(row) for row in some) / len(some)


def _tokens(row: Row) -> float:
    talk: Sequence[Mapping[str, str]] = row["messages"] if "messages" in row else row["prompt"]
    replies = [row[name] for name in ("chosen", "rejected") if name in row]
    texts = [reply if isinstance(reply, str) else reply[-1]["content"] for reply in replies]
    shared = sum(count_tokens(each["content"]) for each in talk)
    return shared + (sum(map(count_tokens, texts)) / len(texts) if texts else 0)


def _span(low: float, high: float) -> str:
    """Two numbers of hours, in words."""
    if high * 60 < 1:
        return "under a minute"
    ends = [f"{hours:.1f} h" if hours >= 1 else f"{max(1, hours * 60):.0f} min" for hours in (low, high)]
    return " to ".join(dict.fromkeys(ends))
