"""Models on this machine by name: the tiny language model, and any folder of `transformers` with adapters on it.

```
tiny                       the base of the tiny language model, which comes with the package
hf:DIR                     a model's folder, or the folder of a training run: its base and all its adapters
hf:DIR+ADAPTER+ADAPTER     a model with adapters put on it in this order, each a folder of weights
hf:DIR+collaborative       the same with one of the system prompts of API models
hf:RUN+before              the model before a training run, with the run's system message
hf:RUN+step-20             the model at a checkpoint of a run, finished or not
```

`merge` writes such a model as one folder.  vLLM and `transformers serve` offer it to API clients.
"""

from __future__ import annotations

import gc
import os
import re
import shutil
import threading
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from discover_lib.base.files import outputs_folder
from discover_lib.engines.local.dialect import (
    CARD,
    PREFIX,
    TINY,
    LocalModelError,
    Notation,
    PlainChat,
    is_tiny,
    read_card,
    tiny_domains,
)
from discover_lib.engines.local.lineage import (
    ADAPTER,
    BEFORE,
    FILE,
    Chain,
    Lineage,
    Source,
    adapter_chain,
    content_hash,
    run_of,
)
from discover_lib.engines.local.model import LocalAssistant, LocalModel

COLLABORATIVE = "collaborative"
MOMENT = re.compile(rf"{BEFORE}|step-\d+")
MODELS_KEPT = 8  # a base, some models trained on it, and some for comparison; on a GPU one
SHIPPED = Path(__file__).with_name("tiny_base")  # the model of `TinyRecipe()`; `tiny_model` makes it


def base_folder() -> Path:
    """The folder of the tiny base among the outputs, copied from the package at first use.

    Training runs refer to it by a relative path, so that all outputs can be moved together.
    """
    folder = outputs_folder() / "cache" / TINY / read_card(SHIPPED)["key"]
    if not (folder / CARD).is_file():
        partial = folder.with_name(f"{folder.name}.{os.getpid()}.{threading.get_ident()}.partial")
        shutil.copytree(SHIPPED, partial)
        try:
            partial.rename(folder)
        except OSError:  # another process has copied it
            shutil.rmtree(partial)
    return folder


@dataclass(frozen=True)
class LocalName:
    """The parts of a local model's name.

    Attributes:
        folder: None for the tiny base.
        adapters: in order.
        style: of `STYLES`, names a system prompt; "" for none.
        system: the system message of its training; None if unknown.
        thinking: whether it may think before it replies, as in training.
    """

    name: str
    folder: Path | None
    adapters: tuple[Path, ...] = ()
    style: str = ""
    system: str | None = None
    thinking: bool = False

    @property
    def home(self) -> Path:
        """The folder of the base, for the tiny base in the package."""
        return self.folder or SHIPPED

    def check_speaks(self, domains: Iterable[str]) -> None:
        """Check before any work starts that the model can be loaded and speaks these domains.

        Raises:
            LocalModelError: torch is missing; or a tiny model does not know a domain.
        """
        known = tiny_domains(self.home)
        if known is not None and (strange := [domain for domain in domains if domain not in known]):
            what = f"{self.name!r} is a tiny model of {', '.join(known)}"
            raise LocalModelError(f"{what}; it does not speak {strange[0] or 'other domains'!r}")
        for library in ("torch", "transformers", "peft"):
            if find_spec(library) is None:
                needed = f"{self.name!r} needs {library}"
                raise LocalModelError(f"{needed}: install the libraries for training with 'make train'")

    def fingerprint(self) -> str:
        """Equal for names of the same weights, so that another model cannot resume a run."""
        if self.folder is None:
            return str(read_card(SHIPPED)["key"])
        return "+".join(content_hash(each) for each in (self.folder, *self.adapters))


def parse_name(name: str) -> LocalName:
    """Split a name into its parts and check its folders; a training run becomes its base and adapters.

    Raises:
        LocalModelError: a folder is missing, contains no model, or does not fit its adapters.
    """
    from discover_lib.engines.llm.prompting import STYLES

    if name == TINY:
        return LocalName(name, None)
    parts = name.removeprefix(PREFIX).split("+")
    style = parts.pop() if parts[-1] in STYLES else ""
    moment = parts.pop() if len(parts) > 1 and MOMENT.fullmatch(parts[-1]) else ""
    first, *rest = map(Path, parts)
    last = (rest or [first])[-1]
    lineage = Lineage.read(run_of(last)) if _is_run(last) else None
    if moment and (lineage is None or rest):
        raise LocalModelError(f"{last}: no training run (no {FILE}), so it has no model {moment!r}")
    chain = adapter_chain(first, moment) if _is_run(first) else _plain(first)
    adapters = tuple(Path(each.path) for each in chain.adapters) + tuple(map(_adapter_of, rest))
    system, thinking = (lineage.system, lineage.thinking) if lineage else (None, False)
    if system is None and adapters:
        style = style or COLLABORATIVE  # the paper gives its trained models a system prompt (E.10); this one is ours
    return LocalName(name, Path(chain.base.path), adapters, style, system, thinking)


def _plain(folder: Path) -> Chain:
    """A model's folder without adapters."""
    if not (folder / "config.json").is_file():
        why = f"no model here (no config.json) and no finished training run (no {FILE})"
        why = why if folder.is_dir() else "no such folder; name one that holds a model or a training run"
        raise LocalModelError(f"{folder}: {why}")
    return Chain(Source(str(folder)))


def _adapter_of(folder: Path) -> Path:
    """The folder of an adapter, from itself or its run."""
    own = folder / ADAPTER if (folder / ADAPTER).is_dir() else folder
    if not (own / "adapter_config.json").is_file():
        raise LocalModelError(f"{folder}: no adapter here (no adapter_config.json)")
    return own


def _is_run(folder: Path) -> bool:
    return (run_of(folder) / FILE).is_file()


_LOADING = threading.Lock()
_MODELS: dict[str, LocalModel] = {}


def local_assistant(name: str, domain: str) -> LocalAssistant:
    """The assistant of that name; a model is loaded once for all domains and threads.

    Raises:
        LocalModelError: from `parse_name` and `LocalName.check_speaks`.
    """
    parse_name(name).check_speaks([domain])
    with _LOADING:
        return LocalAssistant(_loaded(name), domain)


def _loaded(name: str) -> LocalModel:
    """The model of a name; an older model is released to free memory for the next."""
    if name not in _MODELS:
        while len(_MODELS) >= (1 if on_gpu() else MODELS_KEPT):
            _MODELS.pop(next(iter(_MODELS)))
        gc.collect()
        if on_gpu():
            import torch

            torch.cuda.empty_cache()
        parts = parse_name(name)
        model, tokenizer = load(parts.home, parts.adapters)
        dialect = Notation() if is_tiny(parts.home) else PlainChat(name, _system(parts.style) or parts.system or "")
        _MODELS[name] = LocalModel(name, model, tokenizer, dialect, parts.thinking)
    return _MODELS[name]


def _system(style: str) -> str:
    from discover_lib.engines.llm.prompting import STYLES, PromptSet

    return PromptSet().render(STYLES[style])[0]["content"] if style else ""


def on_gpu() -> bool:
    """Whether models are put on a GPU here."""
    import torch

    return bool(torch.cuda.is_available())


def native_bf16() -> bool:
    """Whether the GPU computes in bf16 itself.  Emulation on older GPUs is very slow."""
    import torch

    return bool(torch.cuda.is_bf16_supported(including_emulation=False))


def load(folder: Path, adapters: tuple[Path, ...] = ()) -> tuple[Any, Any]:
    """(model, tokenizer), with the adapters merged in their order; on the GPU in its own precision if there is one.

    Raises:
        LocalModelError: the files cannot be loaded.
    """
    import torch
    from peft import PeftModel
    from safetensors import SafetensorError
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    cuda = on_gpu()
    if not cuda:
        torch.set_num_threads(1)  # threads wait for each other; parallel processes gain more
    try:
        model = AutoModelForCausalLM.from_pretrained(folder, dtype="auto" if cuda else torch.float32)
        if cuda and model.dtype is torch.bfloat16 and not native_bf16():
            model = model.half()
        tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of peft about a coming change in transformers
            for adapter in adapters:
                model = PeftModel.from_pretrained(model, adapter).merge_and_unload()
        if cuda:
            model = model.to("cuda")
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        line = " ".join(str(error).split())
        raise LocalModelError(f"{folder}: cannot be loaded ({line:.200})") from error
    return model.eval(), tokenizer


# -- one folder, for serving ----------------------------------------------------------------------------------------


def merge(name: str, folder: Path) -> Path:
    """Write a local model with all its adapters as one folder.

    Raises:
        LocalModelError: no such model, or the folder is not empty.
    """
    parts = parse_name(name)
    if folder.exists() and any(folder.iterdir()):
        raise LocalModelError(f"{folder}: not empty; name a new folder for the merged model")
    base = parts.folder or SHIPPED
    model, tokenizer = load(base, parts.adapters)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    if is_tiny(base):
        shutil.copy(base / CARD, folder / CARD)
    return folder
