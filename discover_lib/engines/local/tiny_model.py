"""The tiny language model: a small transformer, pretrained from scratch to behave like the assistant *draft*.

The package contains the model of the default recipe (`tiny_base`).  This command makes it again, in six minutes of
processor time.  The same torch on the same processor gives the same weights:

    python -m discover_lib.engines.local.tiny_model discover_lib/engines/local/tiny_base

The model is a plain Llama.  Its embeddings start from the lexicon's taxonomies: a value is the sum of its dimension, of
the broader values above it and of itself.  So it need not learn value by value which draft answers which request.

Pretraining uses made-up conversations in the model's own words, with an assistant that resembles *draft*.  They are not
conversations of the simulator.  A made-up user has a value in some dimensions and asks, likes or doubts at random,
without the rules of intent discovery.  The base model knows the language and follows requests, and it has not met the
users of training and evaluation.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import random
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import torch

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import whole_folder, write_json
from discover_lib.base.records import Record
from discover_lib.base.seeds import derive_rng, derive_seed
from discover_lib.core.conversation import Conversation
from discover_lib.core.rollout import run_conversation
from discover_lib.engines.local.dialect import CARD, Notation
from discover_lib.engines.local.lineage import versions
from discover_lib.engines.local.model import IN_FLIGHT, LocalAssistant, LocalModel
from discover_lib.engines.local.tiny_language import (
    ASSISTANT,
    END,
    MAX_TOKENS,
    PAD,
    USER,
    Vocabulary,
    is_broken,
    save_tokenizer,
    transcript,
    vocabulary,
)
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import SPLIT_SIZES, generate_artifact
from discover_lib.engines.miniature.assistants import ask, draft, final_draft, mixed, options, show
from discover_lib.engines.miniature.lexicon import SHIPPED_DOMAINS, Lexicon, load_lexicon
from discover_lib.engines.miniature.notation import Move, write
from discover_lib.engines.miniature.reading import Beliefs, UserReading, read_reply, read_user
from discover_lib.metrics.intervals import Estimate, bootstrap_mean

FORMAT = "discover-tiny/1"
MADE_BY = "python -m discover_lib.engines.local.tiny_model FOLDER"
LEAST_HONOURED = 0.85  # share of plain requests
MOST_BROKEN = 0.02  # share of replies
GATE_USERS = 60  # over all domains, from the end of the training split; evaluations use another split
REPORT_EVERY = 50
KEY_STEPS = 20  # practice steps at either end that enter a recipe's key
METHOD = 1  # part of the key; raise it when the training method changes
IGNORED = -100  # the label of a token without loss


@dataclass(frozen=True)
class TinyRecipe:
    """How the base model is made.

    Attributes:
        domains: the model's domains.
        steps: of pretraining, each on `batch` practice conversations.
        drills: share of the steps that practice all kinds of replies.  The other steps mostly practice drafts.
        rate: the highest learning rate.  It rises over `warmup` steps and falls on a cosine to 3%.
        width, layers, heads, inner: of the transformer.
        scale: standard deviation of the embeddings.  At the usual 0.02 the model does not learn to copy.
        own: weight of a value's own direction in its embedding; each broader value has weight 1.
        taxonomy: start the embeddings from the lexicon's taxonomies.  Otherwise every word has a random direction.
    """

    domains: tuple[str, ...] = SHIPPED_DOMAINS
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

    @property
    def key(self) -> str:
        """Equal for recipes that make the same model: the same numbers, words, method and practice.

        A sample of the practice represents the lexicons and policies.  A change that affects the practice changes the
        key.
        """
        words = vocabulary(self.domains)
        steps = sorted({*range(self.steps)[:KEY_STEPS], *range(self.steps)[-KEY_STEPS:]})
        practised = [practice_rows(self, words, step) for step in steps]
        numbers = {name: value for name, value in dataclasses.asdict(self).items() if name != "taxonomy" or not value}
        learnt = json.dumps([METHOD, numbers, words.words, practised])
        return hashlib.blake2b(learnt.encode(), digest_size=8).hexdigest()


@dataclass(frozen=True)
class Gate(Record, derived=("passed",)):
    """Measurements of a base with users outside its pretraining.

    Attributes:
        honoured: share of the values requested in the last message that the reply shows or names.
        broken: share of replies that violate the notation.
    """

    honoured: Estimate
    broken: Estimate

    @property
    def passed(self) -> bool:
        return self.honoured.mean > LEAST_HONOURED and self.broken.mean < MOST_BROKEN


def make_base(recipe: TinyRecipe, folder: Path, on_progress: Callable[[str], None] = print) -> Path:
    """Pretrain a recipe's model and write it with its card; replaces the folder.

    Raises:
        DiscoverError: the model's measurements are below the limits; the folder stays as it was.
    """
    model = pretrain(recipe, on_progress)
    with whole_folder(folder) as made:
        save_model(model, vocabulary(recipe.domains), made)
        gate = measure(made, recipe.domains, GATE_USERS)
        if not gate.passed:
            raise DiscoverError(
                f"the base model honors {gate.honoured} of clear requests and breaks {gate.broken} of its replies "
                f"({gate.broken.n_artifacts} users); more than {LEAST_HONOURED} and less than {MOST_BROKEN} are "
                f"needed: raise the recipe's steps beyond {recipe.steps}"
            )
        card: dict[str, Any] = {"format": FORMAT, "domains": list(recipe.domains), "recipe": dataclasses.asdict(recipe)}
        card |= {"measured": gate.to_dict(), "key": recipe.key, "made_by": MADE_BY, "versions": versions()}
        write_json(made / CARD, card)
    return folder


def save_model(model: Any, words: Vocabulary, folder: Path) -> None:
    """Write model and tokenizer as `transformers` reads them."""
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    model.save_pretrained(folder)
    save_tokenizer(words, folder)


# -- pretraining ----------------------------------------------------------------------------------------------------


def new_model(recipe: TinyRecipe) -> Any:
    """An untrained model of a recipe: a small Llama with tied embeddings from the taxonomies."""
    from transformers import LlamaConfig, LlamaForCausalLM

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
    """(words, width): a value is a normalized sum of random directions; any other word has one random direction.

    A value of several domains is the mean over these domains, scaled to the same length.
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


def pretrain(recipe: TinyRecipe, on_progress: Callable[[str], None] = print) -> Any:
    """Train a new model on practice conversations.  Only replies carry loss; the recipe alone decides the result."""
    torch.set_num_threads(1)
    words, model = vocabulary(recipe.domains), new_model(recipe)
    optimizer = torch.optim.AdamW(model.parameters(), lr=recipe.rate, betas=(0.9, 0.98), weight_decay=0.01, fused=True)
    model.train()
    losses: list[float] = []
    for step in range(recipe.steps):
        tokens, labels = practice_batch(recipe, words, step)
        for group in optimizer.param_groups:
            group["lr"] = recipe.rate * schedule(step, recipe)
        loss = model(input_ids=tokens, labels=labels).loss
        model.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(float(loss.item()))
        if len(losses) % REPORT_EVERY == 0 or len(losses) == recipe.steps:
            on_progress(f"pretraining: step {len(losses)} of {recipe.steps}, loss {fmean(losses[-REPORT_EVERY:]):.2f}")
    return model.eval()


def schedule(step: int, recipe: TinyRecipe) -> float:
    """The share of the highest learning rate at a step: a linear rise, then a cosine down to 3%."""
    rise = min(1.0, (step + 1) / max(1, recipe.warmup))
    return rise * (0.03 + 0.97 * (1 + math.cos(math.pi * step / recipe.steps)) / 2)


def practice_rows(recipe: TinyRecipe, words: Vocabulary, step: int) -> list[tuple[list[int], list[int]]]:
    """(token ids, labels) of the conversations of a step of pretraining; labels are `IGNORED` outside replies."""
    rng, rows = derive_rng(recipe.seed, "practice", step), []
    manners = DRILLS if step < recipe.drills * recipe.steps else HABITS
    sizes = [len(load_lexicon(domain).values) for domain in recipe.domains]  # more words need more practice
    for domain in rng.choices(recipe.domains, sizes, k=recipe.batch):
        tokens, labels = words.encode(domain), [IGNORED]
        for heard, said in practice_conversation(load_lexicon(domain), rng, manners=manners):
            asked = words.encode(f"{USER} {heard} {END} {ASSISTANT}")
            reply = words.encode(f"{said} {END}")
            tokens += asked + reply
            labels += [IGNORED] * len(asked) + reply
        rows.append((tokens[:MAX_TOKENS], labels[:MAX_TOKENS]))
    return rows


def practice_batch(recipe: TinyRecipe, words: Vocabulary, step: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids and labels of a step, (batch, longest), padded on the right."""
    tokens, labels = zip(*practice_rows(recipe, words, step), strict=True)
    return _padded(tokens, words.ids[PAD]), _padded(labels, IGNORED)


def _padded(rows: Sequence[Sequence[int]], filler: int) -> torch.Tensor:
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[filler] * (longest - len(row))] for row in rows])


# -- practice -------------------------------------------------------------------------------------------------------

Policy = Callable[[Beliefs, random.Random], list[Move]]

TURNS = 5
DIMENSIONS_WISHED = (5, 9)
WISHES_AT_ONCE = (1, 1, 2, 3, 4)  # more than a user says, for more practice in following requests
FINAL_SHARE = 0.5  # of the conversations end with a request for the finished artifact
# The drills practice every kind of reply, samples most of all: they are short, and choosing another value than the
# last one is the hardest task.  The later steps mostly practice drafts, so that the base behaves like `draft` and can
# still explore the other kinds.
Manners = tuple[tuple[Policy, float], ...]
DRILLS: Manners = ((draft, 0.32), (show, 0.48), (mixed, 0.09), (options, 0.08), (ask, 0.03))
HABITS: Manners = ((draft, 0.80), (show, 0.12), (mixed, 0.03), (options, 0.03), (ask, 0.02))


class _Wisher:
    """A made-up user with one value in some dimensions, who names each value from its broadest form to a leaf."""

    def __init__(self, lexicon: Lexicon, rng: random.Random) -> None:
        self.lexicon = lexicon
        self.rng = rng
        low, high = (min(number, len(lexicon.dimensions)) for number in DIMENSIONS_WISHED)
        names = rng.sample(list(lexicon.dimensions), rng.randint(low, high))
        self.chains = {
            name: tuple(reversed(lexicon.lineages[rng.choice(lexicon.dimensions[name].leaves)])) for name in names
        }
        self.said = dict.fromkeys(names, 0)  # position in each chain

    def opens(self) -> UserReading:
        asked = [name for name in self.chains if self.lexicon.dimensions[name].asked]
        others = [name for name in self.chains if name not in asked]
        names = [*asked[:1], *self.rng.sample(others, len(others))][: self.rng.choice(WISHES_AT_ONCE)]
        return UserReading(wanted=tuple(self._next(name) for name in names))

    def goes_on(self, drafted: Sequence[str]) -> UserReading:
        """A request, a hint, a doubt, or only that something is missing."""
        kind = self.rng.random()
        if kind < 0.45:
            names = self._open()[: self.rng.choice(WISHES_AT_ONCE)]
            return UserReading(wanted=tuple(self._next(name) for name in names))
        name = self._open()[0]
        known = self.chains[name][: self.said[name]]
        if kind < 0.60:
            return UserReading(hinted=known[-1:], doubted=(name,))
        liked = self._met(name, drafted)
        if kind < 0.80 and liked:
            return UserReading(liked=liked, doubted=(name,))
        return UserReading(liked=self._met(self.rng.choice(list(self.chains)), drafted))

    def _open(self) -> list[str]:
        """Dimensions in random order, unfinished ones first."""
        names = self.rng.sample(list(self.chains), len(self.chains))
        return sorted(names, key=lambda name: self.said[name] == len(self.chains[name]))

    def _next(self, name: str) -> str:
        """A value further down a chain, by one step or several."""
        chain = self.chains[name]
        self.said[name] = min(len(chain), self.said[name] + self.rng.choice((1, 1, 2, 3)))
        return chain[self.said[name] - 1]

    def _met(self, name: str, drafted: Sequence[str]) -> tuple[str, ...]:
        """The most specific value of a chain that the draft shows."""
        met = [value for value in self.chains[name] if any(self.lexicon.covers(value, each) for each in drafted)]
        return tuple(met[-1:])


def practice_conversation(
    lexicon: Lexicon, rng: random.Random, turns: int = TURNS, manners: Manners = HABITS
) -> list[tuple[str, str]]:
    """One conversation of `turns` turns, each reply of a random kind; `FINAL_SHARE` of them end with the artifact."""
    wisher, beliefs = _Wisher(lexicon, rng), Beliefs(lexicon)
    exchanges = []
    for turn in range(turns):
        reading = wisher.opens() if turn == 0 else wisher.goes_on(beliefs.draft)
        wanted, liked = [*beliefs.wanted, *reading.wanted], [*beliefs.liked, *reading.liked]
        # A new record, because derived facts are computed once per record.
        beliefs = dataclasses.replace(beliefs, wanted=wanted, liked=liked, latest=reading)
        policy = rng.choices([each for each, _ in manners], [share for _, share in manners])[0]
        moves = policy(beliefs, rng)
        exchanges.append((transcript(reading, lexicon.domain), write(moves, lexicon)))
        for move in moves:
            beliefs.tried += move.values
            if move.verb == "draft":
                beliefs.draft = move.values
            elif move.verb == "ask":
                beliefs.asked.append(str(move.dimension))
            elif move.dimension:
                beliefs.explored.append(move.dimension)
    if rng.random() < FINAL_SHARE:
        moves = [Move("draft", final_draft(beliefs, rng))]
        exchanges.append((transcript(UserReading(final=True), lexicon.domain), write(moves, lexicon)))
    return exchanges


# -- the gate -------------------------------------------------------------------------------------------------------


def measure(folder: Path, domains: Sequence[str], users: int, seed: int = 0) -> Gate:
    """Let a model talk with users of the simulator, and measure whether its replies follow their requests.

    The users are the last of the training split; `users` is their number over all domains.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    base = LocalModel("tiny", model, AutoTokenizer.from_pretrained(folder), Notation())

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

    honoured: dict[str, list[float]] = defaultdict(list)
    broken: dict[str, list[float]] = defaultdict(list)
    with ThreadPoolExecutor(min(users, IN_FLIGHT)) as pool:
        conversations = list(pool.map(talk, range(users)))
    for conversation in conversations:
        domain, artifact = conversation.setting["domain"], conversation.setting["artifact"]
        messages = [conversation.tree.initial_request, *(turn.user_message for turn in conversation.turns)]
        for message, turn in zip(messages, conversation.turns, strict=False):
            broken[artifact].append(float(is_broken(turn.reply)))
            shown = [value for option in read_reply(turn.reply.text, domain).options for value in option]
            for intent in read_user(str(message), domain).wanted:
                honoured[artifact].append(float(any(load_lexicon(domain).covers(intent, value) for value in shown)))
    return Gate(bootstrap_mean(honoured), bootstrap_mean(broken))


def main() -> None:
    """Make the base of the default recipe in the folder of the first argument."""
    print(make_base(TinyRecipe(), Path(sys.argv[1])))


if __name__ == "__main__":
    main()
