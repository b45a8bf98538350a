"""Models on this machine by name: the tiny language model, and any folder of `transformers` with adapters on it.

```
tiny                       the base of the tiny language model, pretrained at first use
hf:DIR                     a model's folder, or the folder of a training run: its base and all its adapters
hf:DIR+ADAPTER+ADAPTER     a model with adapters put on it in this order, each a folder of weights
hf:DIR+collaborative       the same with one of the system prompts that API models have, too
hf:RUN+before              what a training run began with, asked as what came out of it is
```

`merge` writes such a model as one folder, which vLLM or `transformers serve` then offer to everything that speaks to
an API (`serving`).
"""

from __future__ import annotations

import gc
import json
import sys
import threading
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from discover_lib.engines.local.dialect import CARD, PREFIX, TINY, LocalModelError, is_tiny, tiny_domains
from discover_lib.engines.local.lineage import ADAPTER, FILE, Lineage, adapter_chain, content_hash, run_of
from discover_lib.engines.local.model import LocalAssistant, LocalModel
from discover_lib.engines.local.tiny_language import known_domains

COLLABORATIVE = "collaborative"
BEFORE = "before"
MODELS_KEPT = 8  # a base, what was trained on it, and some more to compare with; on a GPU one
TOLD_EVERY = 100  # steps of pretraining


@dataclass(frozen=True)
class LocalName:
    """A local model's name, taken apart.

    Attributes:
        folder: None for the tiny base.
        adapters: in order.
        style: of `STYLES`, names a system prompt; "" for none.
        system: the system message that it was trained with; None where that is not known.
        thinking: whether it may think before it replies, as it was trained.
    """

    name: str
    folder: Path | None
    adapters: tuple[Path, ...] = ()
    style: str = ""
    system: str | None = None
    thinking: bool = False


def parse_name(name: str) -> LocalName:
    """Take a name apart and look its folders up; the folder of a training run becomes its base and adapters.

    Raises:
        LocalModelError: a folder is missing or holds no model, or the adapters do not fit it any more.
    """
    from discover_lib.engines.llm.assistants import STYLES

    if name == TINY:
        return LocalName(name, None)
    parts = name.removeprefix(PREFIX).split("+")
    style = parts.pop() if parts[-1] in STYLES else ""
    before = len(parts) > 1 and parts[-1] == BEFORE
    first, *rest = _folders(parts[:-1] if before else parts)
    base, adapters = _with_adapters(first)
    for each in rest:
        adapters += _adapters_of(each)
    last = (rest or [first])[-1]
    lineage = Lineage.read(run_of(last)) if _is_run(last) else None
    system, thinking = (lineage.system, lineage.thinking) if lineage else (None, False)
    if system is None and adapters:
        style = style or COLLABORATIVE  # the paper gives its trained models a system prompt (E.10); this one is ours
    if before:
        if lineage is None:
            raise LocalModelError(f"{last}: no finished training run (no {FILE}), so there is nothing before it")
        adapters = (*adapters[:-1], *([Path(lineage.continued.path)] if lineage.continued else []))
    return LocalName(name, base, adapters, style, system, thinking)


def _folders(parts: Sequence[str]) -> list[Path]:
    """The folders that a name lists; a "+" may belong to a folder's own name, the longest that is there is meant."""
    folders, rest = [], list(parts)
    while rest:
        taken = next((n for n in range(len(rest), 0, -1) if Path("+".join(rest[:n])).is_dir()), 1)
        folders.append(Path("+".join(rest[:taken])))
        rest = rest[taken:]
    return folders


def _with_adapters(folder: Path) -> tuple[Path, tuple[Path, ...]]:
    """The base that a folder stands for, and what belongs on it."""
    if _is_run(folder):
        chain = adapter_chain(folder)
        return Path(chain.base.path), tuple(Path(each.path) for each in chain.adapters)
    if not (folder / "config.json").is_file():
        why = f"no model here (no config.json) and no finished training run (no {FILE})"
        why = why if folder.is_dir() else "no such folder; name one that holds a model or a training run"
        raise LocalModelError(f"{folder}: {why}")
    return folder, ()


def _adapters_of(folder: Path) -> tuple[Path, ...]:
    """An adapter alone, or that of a run."""
    own = folder / ADAPTER if (folder / ADAPTER).is_dir() else folder
    if not (own / "adapter_config.json").is_file():
        raise LocalModelError(f"{folder}: no adapter here (no adapter_config.json)")
    return (own,)


def _is_run(folder: Path) -> bool:
    return (folder / FILE).is_file() or (folder.name == ADAPTER and (folder.parent / FILE).is_file())


def check_local(name: str, domain: str) -> None:
    """Check a name before any work starts.

    Raises:
        LocalModelError: what `parse_name` raises; no torch; a tiny model that does not speak the domain; or a file that
            is missing or damaged.
    """
    parts = parse_name(name)
    folder = parts.folder
    domains = tiny_domains(folder) if folder else known_domains()
    if domains is not None and domain not in domains:
        spoken = ", ".join(domains)
        raise LocalModelError(f"{name!r} is a tiny model of {spoken}; it does not speak {domain or 'other domains'!r}")
    for library in ("torch", "transformers", "peft"):
        if find_spec(library) is None:
            raise LocalModelError(f"{name!r} needs {library}: install what training needs with 'make train'")
    if folder and (problems := damaged(folder, parts.adapters)):
        raise LocalModelError(problems[0])


def damaged(base: Path, adapters: Sequence[Path] = ()) -> list[str]:
    """What cannot be read of a model and its adapters: their settings, and the beginnings of their weights.

    A file each, in a line that says what to do; weights are not read, which would take as long as loading them.
    """
    files = [folder / "adapter_config.json" for folder in adapters]
    for folder in adapters:
        files += sorted(folder.glob("adapter_model.*")) or [folder / "adapter_model.safetensors"]
    files += sorted(base.glob("*.safetensors"))
    return [f"{file}: {why}; put the whole file back, or make it anew" for file in files if (why := _defect(file))]


def _defect(file: Path) -> str:
    """Why a file of a model cannot be read, as far as its beginning tells; "" where it can."""
    try:
        if file.suffix == ".json":
            json.loads(file.read_text(encoding="utf-8"))
        elif file.suffix == ".safetensors" and find_spec("safetensors"):
            import safetensors

            safetensors.safe_open(file, framework="numpy").keys()
    except FileNotFoundError:
        return "missing"
    except Exception as error:  # safetensors has errors of its own
        return f"damaged ({error})"
    return ""


def fingerprint(name: str) -> str:
    """Equal for names that mean the same weights, so that a run is not gone on with by another model.

    Raises:
        LocalModelError: see `parse_name`.
    """
    parts = parse_name(name)
    if parts.folder is None:
        from discover_lib.engines.local.tiny_model import TinyRecipe

        return TinyRecipe().key
    return "+".join(content_hash(each) for each in (parts.folder, *parts.adapters))


_LOADING = threading.Lock()
_MODELS: dict[str, LocalModel] = {}


def local_assistant(name: str, domain: str) -> LocalAssistant:
    """The assistant of that name; a model is loaded once for all domains and threads.

    Raises:
        LocalModelError: see `check_local`.
    """
    check_local(name, domain)
    with _LOADING:
        return LocalAssistant(_loaded(name), domain)


def _loaded(name: str) -> LocalModel:
    """The model of a name; one that is not kept any more is free for the memory of the next."""
    if name not in _MODELS:
        while len(_MODELS) >= (1 if on_gpu() else MODELS_KEPT):
            _MODELS.pop(next(iter(_MODELS)))
        gc.collect()
        if on_gpu():
            import torch

            torch.cuda.empty_cache()
        parts = parse_name(name)
        folder = parts.folder or _tiny_base()
        model, tokenizer = load(folder, parts.adapters)
        tiny = is_tiny(folder)
        system = "" if tiny else _system(parts.style) or parts.system or ""
        _MODELS[name] = LocalModel(name, model, tokenizer, tiny, system, parts.thinking)
    return _MODELS[name]


def _tiny_base() -> Path:
    """The tiny model's base; pretraining it for the first time takes minutes, which standard error says."""
    from discover_lib.engines.local.tiny_model import Pretraining, ensure_base

    def tell(now: Pretraining) -> None:
        if now.step % TOLD_EVERY == 0 or now.step == now.steps:
            print(f"tiny model, made once: {now}", file=sys.stderr, flush=True)

    return ensure_base(on_progress=tell)


def _system(style: str) -> str:
    from discover_lib.engines.llm.assistants import STYLES
    from discover_lib.engines.llm.prompting import default_prompts

    return default_prompts().render(STYLES[style])[0]["content"] if style else ""


def on_gpu() -> bool:
    """Whether models are put on a GPU here."""
    import torch

    return bool(torch.cuda.is_available())


def native_bf16() -> bool:
    """Whether the GPU computes in bf16 itself: what older ones emulate is slower than anything else."""
    import torch

    return bool(torch.cuda.is_bf16_supported(including_emulation=False))


def load(folder: Path, adapters: tuple[Path, ...] = ()) -> tuple[Any, Any]:
    """(model, tokenizer), with the adapters merged in their order; on the GPU in its own precision if there is one.

    Raises:
        LocalModelError: what lies there cannot be loaded.
    """
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    cuda = on_gpu()
    if not cuda:
        torch.set_num_threads(1)  # more of them wait for each other; processes side by side gain more
    try:
        model = AutoModelForCausalLM.from_pretrained(folder, dtype="auto" if cuda else torch.float32)
        if cuda and model.dtype is torch.bfloat16 and not native_bf16():
            model = model.half()
        tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # peft asks transformers in a way that is going to change
            for adapter in adapters:
                model = PeftModel.from_pretrained(model, adapter).merge_and_unload()
        if cuda:
            model = model.to("cuda")
    except (OSError, ValueError, RuntimeError) as error:
        line = " ".join(str(error).split())
        raise LocalModelError(f"{folder}: cannot be loaded ({line:.200})") from error
    return model.eval(), tokenizer


# -- one folder, to be served ---------------------------------------------------------------------------------------


def merge(name: str, folder: Path) -> Path:
    """Write a local model with all its adapters as one folder.

    Raises:
        LocalModelError: no such model, or the folder holds something already.
    """
    import shutil

    parts = parse_name(name)
    if folder.exists() and any(folder.iterdir()):
        raise LocalModelError(f"{folder}: not empty; name a new folder for the merged model")
    base = parts.folder or _tiny_base()
    model, tokenizer = load(base, parts.adapters)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    if is_tiny(base):
        shutil.copy(base / CARD, folder / CARD)
    return folder


def serving(folder: Path, *, served_as: str = "discover", port: int = 8000) -> dict[str, str]:
    """How to serve a merged model and use it as any other: the commands, by what they are for.

    A tiny model is not for serving: its ear and its notation live in this library.

    Raises:
        LocalModelError: the folder holds a tiny model, or none.
    """
    if not (folder / "config.json").is_file():
        raise LocalModelError(f"{folder}: no merged model here; write one with merge() first")
    if is_tiny(folder):
        raise LocalModelError(f"{folder}: a tiny model speaks the notation; use it as hf:{folder}, no server can")
    where = f"http://localhost:{port}/v1"
    return {
        "vllm": f"vllm serve {folder} --served-model-name {served_as} --port {port}",
        "transformers": f"transformers serve {folder} --port {port}",
        "assistant (vllm)": f"openai/{served_as} --api-base {where}",
        "assistant (transformers)": f"openai/{folder} --api-base {where}",
    }
