"""A dry run: every stage of a recipe on a CPU, with the chosen model's architecture and chat template at toy size.

Weights are random, so the model learns no skill.  The dry run shows whether rows, template, masks, trainers,
checkpoints and adapters fit together, before a GPU is paid for.
"""

from __future__ import annotations

import functools
import os
import re
import tempfile
import time
import types
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from discover_lib.base.errors import DiscoverError
from discover_lib.engines.spec import MINIATURE
from discover_lib.runs.options import RunOptions, execute, lay_out
from discover_lib.train import Progress
from discover_lib.train.backend import load_tokenizer
from discover_lib.train.data import Row, domain_of, load_rows
from discover_lib.train.estimate import config_of
from discover_lib.train.recipes import STAGES, Recipe, Stage
from discover_lib.train.run_stage import StageSettings, run_stage
from discover_lib.train.training_job import METRICS, read_lines

TOY = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "head_dim": 16}
TOY_WORDS = 2000  # of a tokenizer made from the rows, if the model's tokenizer is not on this machine
REAL_WORDS_LENGTH = 1024  # longest sequence with the model's tokenizer, whose logits are large
SMOLLM2 = (
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\n"
    "You are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n' }}{% endif %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
# Beginning of a known base's name → its kind of model, TRL's copy of its template, its end mark
FAMILIES = {
    "llama-3.1": ("llama", "llama3_1.jinja", "<|eot_id|>"),
    "llama-3.2": ("llama", "llama3_2.jinja", "<|eot_id|>"),
    "qwen3": ("qwen3", "qwen3.jinja", "<|im_end|>"),
    "smollm2": ("llama", SMOLLM2, "<|im_end|>"),
    "gemma-2": ("gemma2", "gemma.jinja", "<end_of_turn>"),
    "gemma-3": ("gemma3_text", "gemma3.jinja", "<end_of_turn>"),
}
BEGINNINGS = ("<|begin_of_text|>", "<bos>")
MARKS = re.compile(r"<\|[\w]+\|>|<(?:start|end)_of_turn>|<bos>")
CONVERSATIONS = RunOptions(
    ("draft", "adaptive"), domain="technical_writing", split="train", artifacts=8, candidates=1, turns=3
)
QUIET = {"TORCHDYNAMO_DISABLE": "1", "UNSLOTH_COMPILE_DISABLE": "1"}


def rehearse(settings: StageSettings, *, unsloth: bool = False, on_progress: Progress = print) -> float:
    """Run all three stages, each on the one before; returns the seconds.

    Its files are temporary, and the miniature judges without cost.

    Args:
        unsloth: use Unsloth's trainers.  This process can then train no other run.

    Raises:
        DiscoverError: an error that the stage itself would have.
    """
    begun = time.monotonic()
    if unsloth:
        rehearse_on_unsloth()
    with tempfile.TemporaryDirectory() as place:
        folder, adapter = Path(place), ""
        run = folder / "conversations"
        run.mkdir()
        execute(lay_out(CONVERSATIONS), run)
        own_rows = _own_rows(settings)
        texts = [*_texts(load_rows(run, "sft", "content").train), *_texts(own_rows)]
        base, own_words = toy_base(settings.base, folder / "base", texts)
        for stage in STAGES:
            data, own = str(run), stage == settings.stage and bool(own_rows)
            if own and (own_words or _some_fit(own_rows, base, settings)):
                data = settings.data
            elif own:
                on_progress(f"{stage}: your rows are too long for the toy tokenizer; the miniature's rows are used")
            recipe = _small(settings.recipe, stage, own_words)
            rehearsed = replace(settings, stage=stage, data=data, base=str(base), adapter=adapter, recipe=recipe,
                                backend="auto", judge=MINIATURE, voice=MINIATURE, options={})  # fmt: skip
            result = run_stage(rehearsed, folder / stage, on_progress=lambda line: None)
            took = f"{result.step} updates in {result.seconds:.0f} s"
            on_progress(f"rehearsed {stage}: {took}, {_figures(folder / stage)}")
            adapter = str(folder / stage)
    return time.monotonic() - begun


def _own_rows(settings: StageSettings) -> Sequence[Row]:
    """The chosen rows, if the miniature can judge them; else []."""
    try:
        rows = load_rows(Path(settings.data), settings.stage, "content", system=settings.system).train
    except DiscoverError:
        return []
    return rows if settings.stage != "grpo" or all(map(domain_of, rows)) else []


def _some_fit(rows: Sequence[Row], base: Path, settings: StageSettings) -> bool:
    """Whether enough rows for an update fit.  The toy tokenizer needs more tokens than the model's tokenizer."""
    tokenizer, limit = load_tokenizer(str(base)), settings.recipe.of(settings.stage).max_length // 2
    return sum(len(tokenizer(" ".join(_texts([row])))["input_ids"]) < limit for row in rows) >= 2


def _texts(rows: Sequence[Row]) -> Iterable[str]:
    parts = ("messages", "prompt", "chosen")
    return (message["content"] for row in rows for part in parts for message in row.get(part, ()))


def _figures(folder: Path) -> str:
    """Loss and gradient norm from the first update to the last."""
    lines = read_lines(folder / METRICS)
    parts = []
    for column, name in (("loss", "loss"), ("grad_norm", "gradient norm")):
        if values := [line[column] for line in lines if line.get(column) is not None]:
            first, last = (round(value, 3) + 0.0 for value in (values[0], values[-1]))  # zero has no sign
            parts.append(f"{name} {first:.3f} to {last:.3f}")
    return ", ".join(parts)


def _small(recipe: Recipe, stage: Stage, own_words: bool) -> Recipe:
    """The recipe with two updates of few sequences, and otherwise unchanged."""
    part, grpo = recipe.of(stage), recipe.grpo
    changes: dict[str, Any] = {"max_steps": 2, "batch": 2, "per_device": 1, "save_steps": 1, "sample_steps": 2}
    changes |= {"precision": "auto", "load_in_4bit": False, "optimizer": "adamw_torch", "reference": "merged"}
    if own_words:
        changes["max_length"] = min(part.max_length, REAL_WORDS_LENGTH)
    if stage == "grpo":
        changes |= {"batch": 4, "per_device": 4, "n_generations": 2, "max_completion": 16, "tau": 0, "probe_users": 2}
        changes |= {"multi_turn": min(2, grpo.multi_turn), "rounds": min(2, grpo.rounds), "probe_turns": 2}
    else:
        changes |= {"eval_steps": 2, "eval_rows": 2}
    return recipe.replace(**{stage: replace(part, **changes), "lora": replace(recipe.lora, r=4, alpha=8)})


def toy_base(base: str, folder: Path, texts: Iterable[str]) -> tuple[Path, bool]:
    """A model with random weights, and the architecture and template of `base`; whether it has the base's tokenizer.

    Raises:
        DiscoverError: the model's files are not on this machine and its family is unknown.
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    here = config_of(base) is not None
    name = base.rpartition("/")[2].lower().removeprefix("meta-")
    family = next((FAMILIES[each] for each in FAMILIES if name.startswith(f"{each}-")), None)
    if not here and family is None:
        raise DiscoverError(f"{base}: not on this machine, and not one of the known bases ({', '.join(FAMILIES)})")
    tokenizer, own = _tokenizer(base, family, texts)
    given = AutoConfig.from_pretrained(base).get_text_config() if here else AutoConfig.for_model(family[0])  # type: ignore[index]
    shared = not here or (given.num_key_value_heads or given.num_attention_heads) < given.num_attention_heads
    config = given.__class__.from_dict(
        given.to_dict()
        | TOY
        | {
            "num_key_value_heads": 2 if shared else 4,
            "vocab_size": len(tokenizer),
            "layer_types": None,
            **{f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("bos", "eos", "pad")},
        }
    )
    config.max_position_embeddings = max(8192, config.max_position_embeddings or 0)
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config)
    # Replies of random weights discover no intents and never end, so all rewards would be equal without a gradient.
    # These replies end at every eighth word, and `_small` rewards shorter ones.
    model.generation_config.eos_token_id = sorted({tokenizer.eos_token_id, *range(7, len(tokenizer), 8)})
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder, own


def _tokenizer(base: str, family: tuple[str, str, str] | None, texts: Iterable[str]) -> tuple[Any, bool]:
    """The model's tokenizer if it is on this machine, else one made from the rows with its chat template."""
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    try:
        return AutoTokenizer.from_pretrained(base, local_files_only=True), True
    except (OSError, ValueError) as error:
        if family is None:
            raise DiscoverError(f"{base}: its tokenizer is not on this machine") from error
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    _, template, end = family
    if template.endswith(".jinja"):
        import trl

        template = (Path(trl.__file__).parent / "chat_templates" / template).read_text(encoding="utf-8")
    marks = sorted({*MARKS.findall(template), end, "<|pad|>"})
    words = Tokenizer(models.BPE())
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=TOY_WORDS, special_tokens=marks, initial_alphabet=alphabet)
    words.train_from_iterator(texts, trainer)
    first = next((each for each in BEGINNINGS if each in marks), None)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, eos_token=end, pad_token="<|pad|>", bos_token=first)
    tokenizer.chat_template = template
    return tokenizer, False


def rehearse_on_unsloth() -> None:
    """Make every stage of this process use Unsloth's trainers on the CPU.  Call it before transformers is imported.

    Unsloth can be imported without a GPU.  It writes and patches its trainers as on a GPU.  Its kernels and its loading
    of models are not tried: `transformers` loads the model, and Unsloth's modes are added.
    """
    os.environ.update(QUIET, UNSLOTH_ALLOW_CPU="1")
    os.environ.setdefault("UNSLOTH_COMPILE_LOCATION", tempfile.mkdtemp(prefix="unsloth-"))  # for its generated code
    import unsloth  # noqa: F401
    from unsloth.models import rl
    from unsloth.models.llama import FastLlamaModel, unsloth_fast_generate

    os.environ["UNSLOTH_ALLOW_CPU"] = "0"
    rl.patch_trl_disable_gradient_checkpointing()
    for trainer in ("sft_trainer", "dpo_trainer", "grpo_trainer"):
        rl._patch_trl_rl_trainers(trainer)
    from discover_lib.train import backend
    from discover_lib.train import run_stage as stage

    def load(base: str, lora: Any, recipe: Any, chosen: Any, seed: int) -> Any:
        model = backend._transformers(base, [], lora, recipe, backend.Backend("transformers", "cpu", ""))
        model._unsloth_gradient_checkpointing = "unsloth" if recipe.gradient_checkpointing else False
        model._old_generate, model.generate = model.generate, types.MethodType(unsloth_fast_generate, model)
        model.for_training = functools.partial(FastLlamaModel.for_training, model)
        model.for_inference = functools.partial(FastLlamaModel.for_inference, model)
        return model

    backend._unsloth = load  # type: ignore[assignment]
    stage.choose_backend = lambda *_: backend.Backend("unsloth", "cpu", "as on a GPU")
