"""The training library: Unsloth if it is installed and there is a CUDA device, else transformers with peft.

The choice is made before heavy imports, because Unsloth must be imported before the libraries that it patches.
Trainers get a model that already has its adapter, because the libraries treat a separate adapter differently.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import sys
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import outputs_folder
from discover_lib.engines.local.dialect import end_tokens, is_tiny
from discover_lib.engines.local.names import native_bf16, on_gpu
from discover_lib.train.recipes import (
    DpoRecipe,
    GrpoRecipe,
    LoraRecipe,
    Precision,
    StageRecipe,
    SupervisedRecipe,
    holding,
)

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Asked = Literal["auto", "unsloth", "transformers"]
ASKED: tuple[Asked, ...] = ("auto", "unsloth", "transformers")
NEEDED = ("torch", "transformers", "trl", "peft", "datasets", "accelerate")
INSTALL = "pip install 'discover-lib[train]'"


@dataclass(frozen=True)
class Backend:
    """The training library, its device, and the reason for the choice.

    Attributes:
        bf16: whether the device computes in bf16 itself.  Older GPUs emulate it slowly.
    """

    name: Literal["unsloth", "transformers"]
    device: Literal["cuda", "cpu"]
    why: str
    bf16: bool = True

    @property
    def line(self) -> str:
        return f"trains on the {'GPU' if self.device == 'cuda' else 'processor'} with {self.name} ({self.why})"


def missing_libraries() -> list[str]:
    """Missing libraries for training, found without an import."""
    return [name for name in NEEDED if importlib.util.find_spec(name) is None]


def choose_backend(requested: str = "auto", base: str = "") -> Backend:
    """The backend for this machine.  Imports torch at most, and no library that Unsloth patches.

    Args:
        base: the model to train; `transformers` trains a tiny one.

    Raises:
        DiscoverError: an unknown name, a missing library, or Unsloth on an unsuitable machine.
    """
    if requested not in ASKED:
        raise DiscoverError(f"unknown backend {requested!r}; choose one of {', '.join(ASKED)}")
    if missing := missing_libraries():
        raise DiscoverError(f"training needs {', '.join(missing)}, which is not installed: {INSTALL}")
    installed, cuda = importlib.util.find_spec("unsloth") is not None, on_gpu()
    tiny, bf16 = is_tiny(base), cuda and native_bf16()
    if requested == "unsloth":
        obstacles = {
            "the tiny model is not for Unsloth; use --backend transformers": tiny,
            "Unsloth needs a CUDA device, and this machine has no such device; use --backend transformers": not cuda,
            "Unsloth is not installed: pip install 'discover-lib[gpu]', or --backend transformers": not installed,
        }
        if lines := holding(obstacles):
            raise DiscoverError(lines[0])
        return Backend("unsloth", "cuda", "asked for", bf16)
    if requested == "auto" and cuda and installed and not tiny:
        return Backend("unsloth", "cuda", "a CUDA device and Unsloth are here", bf16)
    why = "the tiny model is not for Unsloth" if installed else "Unsloth is not installed"
    why = "asked for" if requested == "transformers" else why if cuda else "no usable GPU found"
    return Backend("transformers", "cuda" if cuda else "cpu", why, bf16)


def unsuitable(part: StageRecipe, backend: Backend) -> list[str]:
    """Settings of a stage that do not work on this backend, one line each.

    Settings with another meaning under Unsloth are refused.
    """
    cpu, unsloth = backend.device == "cpu", backend.name == "unsloth"
    in_8_bits = part.optimizer.endswith("8bit")
    found = {
        emulated("this GPU"): part.precision == "bf16" and not cpu and not backend.bf16,
        "precision fp16 needs a CUDA device; use fp32 or auto": part.precision == "fp16" and cpu,
        "load_in_4bit needs a CUDA device; set it to false": part.load_in_4bit and cpu,
        f"the optimizer {part.optimizer} needs a CUDA device; use adamw_torch": in_8_bits and cpu,
        "4-bit bases and 8-bit optimizers need bitsandbytes: pip install 'discover-lib[gpu]'": (
            (part.load_in_4bit or in_8_bits) and not cpu and importlib.util.find_spec("bitsandbytes") is None
        ),
        "Unsloth does not train in precision fp32; use auto, or --backend transformers": (
            part.precision == "fp32" and unsloth
        ),
    }
    if isinstance(part, GrpoRecipe):
        writer, vllm = part.generation, part.generation != "transformers"
        needed = "unsloth" if writer == "unsloth-fast" else "transformers"
        fits = backend.name == needed
        lacking = writer != "vllm-server" and importlib.util.find_spec("vllm") is None
        found |= {
            f"generation {writer} goes with --backend {needed}, not {backend.name}": vllm and not fits,
            f"generation {writer} needs a CUDA device; set generation to transformers": vllm and fits and cpu,
            f"generation {writer} needs vLLM: pip install vllm": vllm and fits and not cpu and lacking,
            "under Unsloth the loss dr_grpo leaves rewards unscaled; set scale_rewards to none": (
                unsloth and part.loss_type == "dr_grpo" and part.scale_rewards == "group"
            ),
        }
    return holding(found)


def emulated(device: str) -> str:
    """The refusal of bf16 on a GPU that emulates it."""
    return f"precision bf16 would be emulated on {device}, many times slower; use auto or fp16"


def prepare(backend: Backend) -> None:
    """Import the backend's libraries in the right order, and set up this process.

    Raises:
        DiscoverError: they do not work here, or another library was imported before Unsloth.
    """
    import torch

    if backend.device == "cpu":
        torch.set_num_threads(1)  # on a busy machine, threads mostly wait for each other
    if backend.name == "unsloth" and "unsloth" not in sys.modules:
        os.environ.setdefault("UNSLOTH_COMPILE_LOCATION", str(outputs_folder() / "cache" / "unsloth"))
        early = [name for name in ("trl", "transformers", "peft") if name in sys.modules]
        if early:
            raise DiscoverError(
                f"{', '.join(early)} was imported before Unsloth in this process; train in a new process "
                "('discover train' does), or use the backend 'transformers'"
            )
        try:
            import unsloth  # noqa: F401
        except (ImportError, NotImplementedError, RuntimeError) as error:
            message = " ".join(str(error).split())
            raise DiscoverError(f"Unsloth does not work here ({message:.200}); use --backend transformers") from None
    import datasets
    import transformers

    transformers.logging.set_verbosity_error()  # this library checks and reports the important parts
    transformers.logging.disable_progress_bar()
    datasets.disable_progress_bars()
    warnings.filterwarnings("ignore", category=FutureWarning, module=r"transformers\.")
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")  # rollouts of several turns are experimental in TRL


def precision(requested: Precision, backend: Backend) -> Literal["bf16", "fp16", "fp32"]:
    """The number format of the computation."""
    if requested != "auto":
        return requested
    if backend.device == "cpu":
        return "fp32"
    return "bf16" if backend.bf16 else "fp16"


# Tokens for padding, and unused tokens.
PADDING = ("<|finetune_right_pad_id|>", "<|pad|>", "<pad>", "<|endoftext|>", "<|reserved_special_token_0|>", "<unk>")


def load_tokenizer(base: str) -> PreTrainedTokenizerBase:
    """The base's tokenizer, with a padding token, padding on the left.

    Raises:
        DiscoverError: no tokenizer, or it has no chat template.
    """
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(base)
    except (OSError, ValueError) as error:
        raise _unloadable(base, "tokenizer", error) from None
    if tokenizer.chat_template is None:
        raise DiscoverError(f"{base}: the tokenizer has no chat template; use an instruction-tuned base")
    if tokenizer.pad_token in (None, tokenizer.eos_token):
        tokenizer.pad_token = _padding(tokenizer) or tokenizer.eos_token
    tokenizer.padding_side = "left"
    return tokenizer


def _padding(tokenizer: PreTrainedTokenizerBase) -> str | None:
    """A token that occurs in no conversation.

    Unsloth's GRPO removes every padding token from prompts and loss.  Padding with the end mark would remove the end
    mark of every turn.
    """
    words = tokenizer.get_vocab()
    unused = (name for name in PADDING if name in words and name not in str(tokenizer.chat_template))
    return next((name for name in unused if name != tokenizer.eos_token), None)


def ends_of(base: str, tokenizer: PreTrainedTokenizerBase) -> tuple[int, ...]:
    """Ids of tokens that end a reply, before the model is loaded."""
    from transformers import AutoConfig, GenerationConfig

    try:
        named = GenerationConfig.from_pretrained(base)
    except OSError:  # older models have no such file
        named = AutoConfig.from_pretrained(base)
    return end_tokens(named, tokenizer)


def context_of(base: str) -> int | None:
    """The longest sequence that a base can read, in tokens; None if its configuration has no limit.

    Raises:
        DiscoverError: there is no such model.
    """
    from transformers import AutoConfig

    try:
        tokens = getattr(AutoConfig.from_pretrained(base).get_text_config(), "max_position_embeddings", None)
    except (OSError, ValueError) as error:
        raise _unloadable(base, "model", error) from None
    return int(tokens) if tokens else None


def load_policy(
    base: str,
    adapters: Sequence[str],
    lora: LoraRecipe,
    recipe: StageRecipe,
    backend: Backend,
    *,
    seed: int,
    scratch: Path,
) -> Any:
    """A model with a fresh adapter on the merged earlier stages.

    The reference policy is the model without this adapter: exactly the earlier stage.

    Args:
        adapters: folders of the earlier stages' adapters, in order.
        scratch: folder for the files of a merged base.

    Raises:
        DiscoverError: a model cannot be loaded.
    """
    from transformers import set_seed

    set_seed(seed)  # a fresh adapter has random weights
    scratch.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=scratch) as made:
        if adapters and (backend.name == "unsloth" or recipe.load_in_4bit):
            # The merge is in 16 bits and uses files: an adapter must not be merged into a base of 4 bits.
            merged_model(base, adapters).save_pretrained(made)
            load_tokenizer(base).save_pretrained(made)
            base, adapters = made, []
        if backend.name == "unsloth":
            return _unsloth(base, lora, recipe, backend, seed)
        return _transformers(base, adapters, lora, recipe, backend)


def merged_model(base: str, adapters: Sequence[str], *, dtype: str = "auto") -> Any:
    """A base with adapters merged into it, as a plain model.

    Args:
        dtype: a name of torch's, or "auto" for the format of the base's files.

    Raises:
        DiscoverError: the base cannot be loaded.
    """
    from peft import PeftModel
    from safetensors import SafetensorError
    from transformers import AutoModelForCausalLM

    try:
        model = AutoModelForCausalLM.from_pretrained(base, dtype=dtype)
        for adapter in adapters:
            model = PeftModel.from_pretrained(model, adapter).merge_and_unload()
    except (OSError, ValueError, SafetensorError) as error:
        raise _unloadable(base, "model", error) from None
    return model


def _transformers(base: str, merged: Sequence[str], lora: LoraRecipe, recipe: StageRecipe, backend: Backend) -> Any:
    import torch
    from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig

    # fp16 steps cannot train fp16 weights: the base has fp16, the adapter fp32.
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}[precision(recipe.precision, backend)]
    if recipe.load_in_4bit:
        quantised = BitsAndBytesConfig(
            load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True, bnb_4bit_compute_dtype=dtype
        )
        model = AutoModelForCausalLM.from_pretrained(
            base, quantization_config=quantised, dtype=dtype, device_map={"": 0}
        )
        model = prepare_model_for_kbit_training(model, use_gradient_checkpointing=recipe.gradient_checkpointing)
    else:
        model = merged_model(base, merged).to(dtype)
    config = LoraConfig(
        r=lora.r,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules=list(lora.targets),
        bias="none",
        task_type="CAUSAL_LM",
    )
    try:
        return get_peft_model(model, config)
    except ValueError as error:
        raise DiscoverError(f"{base}: the adapter does not fit ({_first_line(error)})") from None


def _unsloth(base: str, lora: LoraRecipe, recipe: StageRecipe, backend: Backend, seed: int) -> Any:
    import torch
    from unsloth import FastLanguageModel

    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}[precision(recipe.precision, backend)]
    fast: dict[str, Any] = {"fast_inference": False}
    if isinstance(recipe, GrpoRecipe) and recipe.generation == "unsloth-fast":  # a vLLM with shared weights
        memory = recipe.generation_memory
        fast = {"fast_inference": True, "max_lora_rank": lora.r, "gpu_memory_utilization": memory}
    model, _ = FastLanguageModel.from_pretrained(
        model_name=base,
        max_seq_length=recipe.max_length,
        dtype=dtype,
        load_in_4bit=recipe.load_in_4bit,
        **fast,
        use_exact_model_name=True,  # otherwise Unsloth silently loads its re-upload
    )
    return FastLanguageModel.get_peft_model(
        model,
        r=lora.r,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules=list(lora.targets),
        bias="none",
        use_gradient_checkpointing="unsloth" if recipe.gradient_checkpointing else False,
        random_state=seed,
    )


def _unloadable(base: str, what: str, error: Exception) -> DiscoverError:
    hint = "" if Path(base).is_absolute() else "; is the name right, and is it a model that asks for hf auth login?"
    return DiscoverError(f"{base}: no {what} can be loaded ({_first_line(error)}){hint}")


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__


# -- from a recipe to a trainer's configuration ------------------------------------------------------------------------

# Every field and every default is set explicitly, because Unsloth changes many defaults.  So a recipe trains the same
# on both backends.  `unsuitable` refuses the settings that Unsloth changes anyway.

CHECKPOINTS = "checkpoints"
KEPT_CHECKPOINTS = 2  # a kill can leave one incomplete


def _same(names: str) -> dict[str, str]:
    return {name: name for name in names.split()}


# A recipe's field → the configuration's; this library uses the recipe's other fields.
COMMON = {
    **_same("learning_rate weight_decay max_grad_norm gradient_checkpointing save_steps"),
    "per_device": "per_device_train_batch_size",
    "epochs": "num_train_epochs",
    "optimizer": "optim",
    "schedule": "lr_scheduler_type",
    "warmup": "warmup_steps",
}
DPO = _same("max_length beta")
GRPO = {
    **_same("temperature beta epsilon loss_type scale_rewards disable_dropout"),
    "n_generations": "num_generations",
    "generation_memory": "vllm_gpu_memory_utilization",
    "max_completion": "max_completion_length",
}
# Writer of the replies → TRL's options.  Unsloth's vLLM shares the model's weights in the trainer's process.
GENERATION: Mapping[str, Mapping[str, Any]] = {
    "transformers": {"use_vllm": False},
    "vllm-server": {"use_vllm": True, "vllm_mode": "server"},
    "vllm-colocate": {"use_vllm": True, "vllm_mode": "colocate"},
    "unsloth-fast": {"use_vllm": True, "vllm_mode": "colocate"},
}
# Passed only to versions that know them; older versions behave the same without them.
NEWER = {"use_bias_correction_kl", "top_entropy_quantile", "entropy_coef", "pad_to_multiple_of", "eval_packing"}


def common_arguments(recipe: StageRecipe, backend: Backend, folder: Path, seed: int) -> dict[str, Any]:
    """Values of all three trainers."""
    kind = precision(recipe.precision, backend)
    return _picked(recipe, COMMON) | {
        "output_dir": str(folder / CHECKPOINTS),
        "max_steps": recipe.max_steps or -1,
        "gradient_accumulation_steps": recipe.accumulation,
        "gradient_checkpointing_kwargs": {"use_reentrant": False} if recipe.gradient_checkpointing else None,
        "bf16": kind == "bf16",
        "fp16": kind == "fp16",
        "use_cpu": backend.device == "cpu",
        "seed": seed,
        "data_seed": seed,
        "adam_beta1": 0.9,
        "adam_beta2": 0.999,
        "adam_epsilon": 1e-8,
        "logging_strategy": "steps",
        "logging_steps": 1,
        "logging_first_step": True,
        "logging_nan_inf_filter": False,
        "save_strategy": "steps",
        "save_total_limit": KEPT_CHECKPOINTS,
        "eval_strategy": "no",
        "report_to": "none",
        "push_to_hub": False,
        "disable_tqdm": True,
        "dataloader_num_workers": 0,
        "dataloader_pin_memory": backend.device == "cuda",
        "neftune_noise_alpha": None,
    }


def sft_arguments(recipe: SupervisedRecipe, *, held_out: bool) -> dict[str, Any]:
    """Further values of the SFT trainer.  Longer rows are already omitted, so no row is cut."""
    return _held_out(recipe, held_out) | {
        "max_length": recipe.max_length,
        "packing": False,
        "eval_packing": False,
        "padding_free": False,
        "pad_to_multiple_of": None,
        "assistant_only_loss": False,  # the rows' labels mark the tokens with loss
        "completion_only_loss": False,
        "loss_type": "nll",
        "dataset_num_proc": None,
    }


def dpo_arguments(recipe: DpoRecipe, *, held_out: bool) -> dict[str, Any]:
    """Further values of the DPO trainer."""
    added = recipe.sft_weight > 0
    return (
        _held_out(recipe, held_out)
        | _picked(recipe, DPO)
        | {
            "loss_type": ["sigmoid", "sft"] if added else ["sigmoid"],
            "loss_weights": [1.0, recipe.sft_weight] if added else None,
            "label_smoothing": 0.0,
            "disable_dropout": False,
            "precompute_ref_log_probs": False,
            "sync_ref_model": False,
            "use_weighting": False,
            "padding_free": False,
            "pad_to_multiple_of": None,
            "dataset_num_proc": None,
        }
    )


def grpo_arguments(recipe: GrpoRecipe) -> dict[str, Any]:
    """Further values of the GRPO trainer."""
    return _picked(recipe, GRPO) | {
        "epsilon_high": recipe.epsilon,
        "num_iterations": 1,
        "importance_sampling_level": "token",
        "mask_truncated_completions": False,
        "steps_per_generation": recipe.accumulation,
        "shuffle_dataset": False,  # `grpo.trainer.Table` orders the rows
        "remove_unused_columns": False,
        "top_p": 1.0,
        "top_k": 0,
        "min_p": None,
        "repetition_penalty": 1.0,
        "reward_weights": None,
        **GENERATION[recipe.generation],
        # vLLM's probabilities differ slightly from the trained model's; the correction removes the effect.
        "vllm_importance_sampling_correction": recipe.generation != "transformers",
        "sync_ref_model": False,
        "log_completions": False,
        "top_entropy_quantile": 1.0,
        "entropy_coef": 0.0,
        "pad_to_multiple_of": None,
    }


def configuration(kind: type, values: Mapping[str, Any]) -> Any:
    """A trainer's configuration from values, all of which it must know.

    Raises:
        DiscoverError: the installed version has no such setting.
    """
    known = {each.name for each in dataclasses.fields(kind)}
    lost = sorted(set(values) - known - NEWER)
    if lost:
        raise DiscoverError(
            f"the installed TRL has no {', '.join(lost)}; install a version that the extra [train] allows"
        )
    return kind(**{name: value for name, value in values.items() if name in known})


def _picked(recipe: StageRecipe, names: Mapping[str, str]) -> dict[str, Any]:
    return {theirs: getattr(recipe, ours) for ours, theirs in names.items()}


def _held_out(recipe: SupervisedRecipe, held_out: bool) -> dict[str, Any]:
    if not held_out or not recipe.eval_steps:
        return {"eval_strategy": "no"}
    return {
        "eval_strategy": "steps",
        "eval_steps": recipe.eval_steps,
        "eval_on_start": False,
        "per_device_eval_batch_size": recipe.per_device,
    }
