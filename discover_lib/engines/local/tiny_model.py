"""The tiny language model: a small transformer, pretrained from scratch to behave like the assistant *draft*.

`ensure_base(recipe)` gives the folder of a base model, from the cache or newly pretrained, with the files that
`AutoModelForCausalLM` and `AutoTokenizer` read.  It is a plain Llama whose embeddings begin where the lexicon's
taxonomies put them: a value is the sum of its dimension, of the broader values above it and of itself, so that "an
animal is wanted, draft one" need not be learnt value by value.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import outputs_folder, write_json
from discover_lib.base.records import Record
from discover_lib.base.seeds import derive_rng, derive_seed
from discover_lib.core.conversation import Conversation
from discover_lib.core.rollout import run_conversation
from discover_lib.engines.local.dialect import CARD
from discover_lib.engines.local.model import IN_FLIGHT, LocalAssistant, LocalModel
from discover_lib.engines.local.tiny_language import (
    ASSISTANT,
    END,
    MAX_TOKENS,
    PAD,
    USER,
    Vocabulary,
    is_broken,
    known_domains,
    save_tokenizer,
    vocabulary,
)
from discover_lib.engines.local.tiny_practice import DRILLS, HABITS, Exchange, practice_conversation
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import SPLIT_SIZES, generate_artifact
from discover_lib.engines.miniature.lexicon import load_lexicon
from discover_lib.engines.miniature.reading import read_reply, read_user
from discover_lib.metrics.intervals import Estimate, bootstrap_mean

FORMAT = "discover-tiny/1"
LEAST_HONOURED = 0.85  # of what a user asked for plainly
MOST_BROKEN = 0.02  # of the replies
GATE_USERS = 60  # over all domains, from the end of the training split: no evaluation looks at those of the other
CHECKPOINT_EVERY = 50  # steps
REPORT_EVERY = 10
KEY_STEPS = 20  # of practice, at either end, that a recipe's key is made of
METHOD = 1  # part of the key: to be raised when the same practice is learnt in another way
IGNORED = -100  # the label of a token without loss


class TinyModelError(DiscoverError):
    """A base model that is not good enough to be trained, or a recipe that cannot make one."""


@dataclass(frozen=True)
class TinyRecipe:
    """How the base model is made.

    Attributes:
        domains: that it speaks; none named: all that there is a lexicon of.
        steps: of pretraining, each on `batch` practice conversations.
        drills: share of the steps in which all ways of replying are practised; in the others drafts are the habit.
        rate: the highest learning rate; it rises over `warmup` steps and falls on a cosine to 3 %.
        width, layers, heads, inner: of the transformer.
        scale: standard deviation of the embeddings.  The lever of it all: at the usual 0.02 copying is not learnt.
        own: how much of a value's embedding is its own, against one part each for what stands above it.
        taxonomy: begin the embeddings where the lexicon's taxonomies put them; without it every word is a direction of
            its own, and which values stand below which must be learnt.
    """

    domains: tuple[str, ...] = ()
    steps: int = 1600
    drills: float = 0.65
    batch: int = 10
    rate: float = 3e-3
    warmup: int = 20
    seed: int = 0
    width: int = 128
    layers: int = 2
    heads: int = 4
    inner: int = 384
    scale: float = 0.1
    own: float = 1.0
    taxonomy: bool = True

    def resolved(self) -> TinyRecipe:
        """This recipe with its domains named.

        Raises:
            TinyModelError: an unknown domain, or a number out of range.
        """
        domains = self.domains or known_domains()
        unknown = [name for name in domains if name not in known_domains()]
        if unknown:
            raise TinyModelError(f"unknown domain {unknown[0]!r}; there are {', '.join(known_domains())}")
        if self.steps < 1 or self.batch < 1 or self.width % self.heads:
            raise TinyModelError("a tiny model needs at least one step and one conversation; width divides into heads")
        return dataclasses.replace(self, domains=tuple(domains))

    @property
    def key(self) -> str:
        """Equal for recipes that make the same model: of the numbers, the words, the method, and what is practised.

        A sample of the practice stands for the lexicons and the policies that make it, so that whatever changes it
        makes another model, and nothing else does.
        """
        recipe = self.resolved()
        words = vocabulary(recipe.domains)
        steps = sorted({*range(recipe.steps)[:KEY_STEPS], *range(recipe.steps)[-KEY_STEPS:]})
        practised = [practice_rows(recipe, words, step) for step in steps]
        numbers = {name: value for name, value in dataclasses.asdict(recipe).items() if name != "taxonomy" or not value}
        learnt = json.dumps([METHOD, numbers, words.words, practised])
        return hashlib.blake2b(learnt.encode(), digest_size=8).hexdigest()


@dataclass(frozen=True)
class Pretraining:
    """How pretraining stands.  `loss` is of the last `REPORT_EVERY` steps; `seconds_left` an estimate."""

    step: int
    steps: int
    loss: float
    seconds: float
    seconds_left: float

    def __str__(self) -> str:
        return f"pretraining: step {self.step} of {self.steps}, loss {self.loss:.2f}, {self.seconds_left:.0f} s left"


Progress = Callable[[Pretraining], None]


@dataclass(frozen=True)
class Gate(Record, derived=("passed",)):
    """What was measured of a base on users that it was not pretrained on.

    Attributes:
        honoured: share of the values asked for plainly in the last message that the reply shows or names.
        broken: share of replies that are no notation.
    """

    honoured: Estimate
    broken: Estimate

    @property
    def passed(self) -> bool:
        return self.honoured.mean > LEAST_HONOURED and self.broken.mean < MOST_BROKEN


# -- the cache ------------------------------------------------------------------------------------------------------


def base_folder(recipe: TinyRecipe | None = None) -> Path:
    """Where the base model of a recipe is kept, made or not."""
    return outputs_folder() / "cache" / "tiny" / (recipe or TinyRecipe()).key


def ensure_base(recipe: TinyRecipe | None = None, on_progress: Progress | None = None) -> Path:
    """The folder of a recipe's base model; pretrains it if it is not in the cache, going on where it was stopped.

    Raises:
        TinyModelError: the pretrained model does not do what it is told well enough; nothing is kept.
    """
    recipe = (recipe or TinyRecipe()).resolved()
    folder = base_folder(recipe)
    if (folder / CARD).is_file():
        return folder
    partial = folder.with_name(f"{folder.name}.{os.getpid()}.partial")
    checkpoint = folder.with_name(f"{folder.name}.checkpoint")
    try:
        began = time.monotonic()
        model = pretrain(recipe, on_progress, checkpoint)
        save_model(model, vocabulary(recipe.domains), partial)
        seconds = time.monotonic() - began
        gate = measure(partial, recipe.domains, GATE_USERS)
        checkpoint.unlink(missing_ok=True)
        if not gate.passed:
            raise TinyModelError(
                f"the base model honours {gate.honoured} of clear requests and breaks {gate.broken} of its replies "
                f"({gate.broken.n_artifacts} users); more than {LEAST_HONOURED} and less than {MOST_BROKEN} are "
                f"needed: raise the recipe's steps beyond {recipe.steps}"
            )
        made = {"recipe": dataclasses.asdict(recipe), "seconds": round(seconds, 1), "measured": gate.to_dict()}
        write_json(partial / CARD, {"format": FORMAT, "domains": list(recipe.domains), **made})
        if not (folder / CARD).is_file():  # if somebody was faster, theirs is as good
            partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder


def save_model(model: Any, words: Vocabulary, folder: Path) -> None:
    """Write model and tokenizer as `transformers` reads them."""
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    save_tokenizer(words, folder)


# -- pretraining ----------------------------------------------------------------------------------------------------


def new_model(recipe: TinyRecipe) -> Any:
    """An untrained model of a recipe: a small Llama with tied embeddings that hold the taxonomies."""
    from transformers import LlamaConfig, LlamaForCausalLM

    recipe = recipe.resolved()
    words = vocabulary(recipe.domains)
    torch.manual_seed(derive_seed(recipe.seed, "weights") % 2**32)
    config = LlamaConfig(
        vocab_size=len(words.words),
        hidden_size=recipe.width,
        intermediate_size=recipe.inner,
        num_hidden_layers=recipe.layers,
        num_attention_heads=recipe.heads,
        num_key_value_heads=recipe.heads,
        max_position_embeddings=MAX_TOKENS,
        tie_word_embeddings=True,
        pad_token_id=words.ids[PAD],
        bos_token_id=None,
        eos_token_id=words.ids[END],
    )
    model = LlamaForCausalLM(config)
    with torch.no_grad():
        model.model.embed_tokens.weight.copy_(taxonomy_embeddings(words, recipe))
    return model


def taxonomy_embeddings(words: Vocabulary, recipe: TinyRecipe) -> torch.Tensor:
    """(words, width): values as normalised sums of random directions, everything else as a direction of its own.

    A word that is a value in several domains is the mean of what it is in each, scaled to the same length.
    """
    generator = torch.Generator().manual_seed(derive_seed(recipe.seed, "embeddings") % 2**63)
    table = torch.randn(len(words.words), recipe.width, generator=generator)
    directions: dict[tuple[str, ...], torch.Tensor] = {}

    def direction(*name: str) -> torch.Tensor:
        if name not in directions:
            directions[name] = torch.randn(recipe.width, generator=generator)
        return directions[name]

    senses: dict[str, list[torch.Tensor]] = {}
    for domain in words.domains:
        known = load_lexicon(domain)
        for name in known.dimensions:
            parts = [direction(domain, name), recipe.own * direction("dimension")]
            senses.setdefault(name, []).append(torch.stack(parts).sum(0) / math.sqrt(1 + recipe.own**2))
        for value in known.values.values():
            shared = [direction(domain, value.dimension), direction("leaf" if value.is_leaf else "branch")]
            shared += [direction(domain, "value", above) for above in known.lineages[value.id][1:]]
            own = recipe.own * direction(domain, "value", value.id)
            length = math.sqrt(len(shared) + recipe.own**2)
            senses.setdefault(value.id, []).append(torch.stack([*shared, own]).sum(0) / length)
    for word, vectors in senses.items() if recipe.taxonomy else ():
        table[words.ids[word]] = torch.stack(vectors).sum(0) / math.sqrt(len(vectors))
    return table * recipe.scale


def pretrain(recipe: TinyRecipe, on_progress: Progress | None = None, checkpoint: Path | None = None) -> Any:
    """Train a new model on practice conversations; the loss is on the replies alone.

    Every step's conversations and nothing else decide it, so a run that was stopped goes on to the same model.

    Args:
        checkpoint: file that is written every `CHECKPOINT_EVERY` steps, and begun from if it is there.
    """
    recipe = recipe.resolved()
    torch.set_num_threads(1)
    words, model = vocabulary(recipe.domains), new_model(recipe)
    optimizer = torch.optim.AdamW(model.parameters(), lr=recipe.rate, betas=(0.9, 0.98), weight_decay=0.01, fused=True)
    first = _resume(model, optimizer, checkpoint)
    model.train()
    began, losses = time.monotonic(), []
    for step in range(first, recipe.steps):
        tokens, labels = practice_batch(recipe, words, step)
        for group in optimizer.param_groups:
            group["lr"] = recipe.rate * schedule(step, recipe)
        loss = model(input_ids=tokens, labels=labels).loss
        model.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(float(loss.item()))
        done = step + 1
        if on_progress is not None and (done % REPORT_EVERY == 0 or done == recipe.steps):
            seconds, recent = time.monotonic() - began, losses[-REPORT_EVERY:]
            left = seconds / (done - first) * (recipe.steps - done)
            on_progress(Pretraining(done, recipe.steps, sum(recent) / len(recent), seconds, left))
        if checkpoint is not None and done % CHECKPOINT_EVERY == 0:
            _save_checkpoint(checkpoint, done, model, optimizer)
    return model.eval()


def schedule(step: int, recipe: TinyRecipe) -> float:
    """The share of the highest learning rate at a step: a linear rise, then a cosine down to 3 %."""
    rise = min(1.0, (step + 1) / max(1, recipe.warmup))
    return rise * (0.03 + 0.97 * (1 + math.cos(math.pi * step / recipe.steps)) / 2)


def practice_conversations(recipe: TinyRecipe, step: int) -> Iterator[tuple[str, list[Exchange]]]:
    """The conversations of a step of pretraining, each with its domain."""
    rng = derive_rng(recipe.seed, "practice", step)
    manners = DRILLS if step < recipe.drills * recipe.steps else HABITS
    sizes = [len(load_lexicon(domain).values) for domain in recipe.domains]  # who has more words needs more practice
    for domain in rng.choices(recipe.domains, sizes, k=recipe.batch):
        yield domain, practice_conversation(load_lexicon(domain), rng, manners=manners)


def practice_rows(recipe: TinyRecipe, words: Vocabulary, step: int) -> list[tuple[list[int], list[int]]]:
    """(token ids, labels) of the conversations of a step; labels are `IGNORED` outside replies."""
    rows = []
    for domain, exchanges in practice_conversations(recipe, step):
        tokens, labels = words.encode(domain), [IGNORED]
        for exchange in exchanges:
            asked = words.encode(f"{USER} {exchange.heard} {END} {ASSISTANT}")
            reply = words.encode(f"{exchange.reply} {END}")
            tokens += asked + reply
            labels += [IGNORED] * len(asked) + reply
        rows.append((tokens[:MAX_TOKENS], labels[:MAX_TOKENS]))
    return rows


def practice_batch(recipe: TinyRecipe, words: Vocabulary, step: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids and labels of a step, (batch, longest), padded on the right."""
    rows = practice_rows(recipe, words, step)
    tokens, labels = zip(*rows, strict=True)
    return _padded(tokens, words.ids[PAD]), _padded(labels, IGNORED)


def _padded(rows: Sequence[Sequence[int]], filler: int) -> torch.Tensor:
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[filler] * (longest - len(row))] for row in rows])


def _save_checkpoint(path: Path, step: int, model: Any, optimizer: torch.optim.Optimizer) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    torch.save({"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, partial)
    partial.replace(path)


def _resume(model: Any, optimizer: torch.optim.Optimizer, path: Path | None) -> int:
    """Load a checkpoint if there is one; the number of steps done."""
    if path is None or not path.is_file():
        return 0
    kept = torch.load(path, weights_only=True)
    model.load_state_dict(kept["model"])
    optimizer.load_state_dict(kept["optimizer"])
    return int(kept["step"])


# -- the gate -------------------------------------------------------------------------------------------------------


def measure(folder: Path, domains: Sequence[str], users: int, seed: int = 0) -> Gate:
    """Let a model talk with users of the simulator and see whether it does what it is told.

    The users are the last ones of the training split, this many in all domains together.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    base = LocalModel("tiny", model, AutoTokenizer.from_pretrained(folder), speaks_notation=True)

    def talk(place: int) -> Conversation:
        domain = domains[place % len(domains)]
        artifact = generate_artifact(domain, "train", SPLIT_SIZES["train"] - 1 - place // len(domains))
        plays = engine(domain)
        return run_conversation(
            plays.builder.build(artifact).tree,
            plays.judge,
            plays.voice,
            [LocalAssistant(base, domain)],
            seed=derive_seed(seed, artifact.id),
            setting={"domain": domain, "artifact": artifact.id},
        )

    with ThreadPoolExecutor(min(users, IN_FLIGHT)) as pool:
        conversations = list(pool.map(talk, range(users)))
    honoured: dict[str, list[float]] = {}
    broken: dict[str, list[float]] = {}
    for conversation in conversations:
        domain, artifact = conversation.setting["domain"], conversation.setting["artifact"]
        messages = [conversation.tree.initial_request, *(turn.user_message for turn in conversation.turns)]
        for message, turn in zip(messages, conversation.turns, strict=False):
            broken.setdefault(artifact, []).append(float(is_broken(turn.reply)))
            shown = [value for option in read_reply(turn.reply.text, domain).options for value in option]
            for wish in read_user(str(message), domain).wanted:
                met = any(load_lexicon(domain).covers(wish, value) for value in shown)
                honoured.setdefault(artifact, []).append(float(met))
    return Gate(bootstrap_mean(honoured), bootstrap_mean(broken))
