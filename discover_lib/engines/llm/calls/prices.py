"""What a model's tokens cost, by the name that was asked for.

The default source is the table that comes with LiteLLM, read from its file without importing LiteLLM.  Own prices win
over it.  A model that neither knows has no price: None, which is "unknown" and never 0.  Discounts for cached prompts
and surcharges for very long ones are left out, so a cost is an estimate of what the provider will bill.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import load_yaml

TABLE_FILE = "model_prices_and_context_window_backup.json"
# Where a price of zero is true.  Elsewhere a zero in the table means that nobody entered the price.
RUNS_ON_OWN_MACHINE = frozenset({"ollama", "ollama_chat", "lemonade", "lm_studio", "llamafile"})
# An address in these variables sends the provider's calls elsewhere, so the provider's prices no longer hold.
ADDRESS_VARIABLES = {"openai": ("OPENAI_BASE_URL", "OPENAI_API_BASE"), "anthropic": ("ANTHROPIC_API_BASE",)}


@dataclass(frozen=True)
class Price:
    """Dollars per million tokens, and where that is from."""

    input_per_million: float
    output_per_million: float
    source: str = "own"
    as_of: str = ""  # a date, or the version of the table

    def cost(self, prompt_tokens: float, completion_tokens: float) -> float:
        """Dollars."""
        return (prompt_tokens * self.input_per_million + completion_tokens * self.output_per_million) / 1e6


def provider_of(model: str) -> str:
    """The provider in a LiteLLM model name: what stands before the slash, or what LiteLLM's table says."""
    if "/" in model:
        return model.partition("/")[0]
    return str(_table().get(model, {}).get("litellm_provider", model))


def price_of(model: str, own: Mapping[str, Price] | None = None, api_base: str | None = None) -> Price | None:
    """The price of a model by the name it is asked for, or None if it is unknown.

    With an `api_base` only `own` prices count: what stands behind an address of one's own may be called anything.
    """
    if own and model in own:
        return own[model]
    provider = provider_of(model)
    if api_base or any(os.environ.get(name) for name in ADDRESS_VARIABLES.get(provider, ())):
        return None
    entry = _table().get(model)
    if entry is None and "/" in model:
        entry = _table().get(model.partition("/")[2])
        if entry is not None and entry.get("litellm_provider") != provider:
            return None  # the same name at another provider
    return _price(entry) if entry else None


def read_prices(path: Path) -> dict[str, Price]:
    """Own prices from a YAML or JSON file.

        as_of: 2026-11-01
        dollars_per_million_tokens:
          openai/my-model: {input: 0.5, output: 1.5}

    Raises:
        DiscoverError: the file is missing, or not of this form.
    """
    data = load_yaml(path)
    try:
        as_of = str(data["as_of"])
        return {
            str(model): Price(_dollars(entry["input"]), _dollars(entry["output"]), path.name, as_of)
            for model, entry in data["dollars_per_million_tokens"].items()
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        form = "'as_of' (a date) and 'dollars_per_million_tokens' (model: {input: .., output: ..})"
        raise DiscoverError(f"{path}: no price table ({type(error).__name__}: {error}); it holds {form}") from None


def _dollars(value: Any) -> float:
    amount = float(value)
    if not 0 <= amount < float("inf"):
        raise ValueError(f"not a price: {value!r}")
    return amount


def _price(entry: Mapping[str, Any]) -> Price | None:
    into, out = entry.get("input_cost_per_token"), entry.get("output_cost_per_token")
    if into is None or out is None:
        return None
    if not into and not out and entry.get("litellm_provider") not in RUNS_ON_OWN_MACHINE:
        return None
    return Price(float(into) * 1e6, float(out) * 1e6, "LiteLLM's table", f"litellm {_version()}")


@lru_cache(maxsize=1)
def _version() -> str:
    try:
        return importlib.metadata.version("litellm")
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    found = importlib.util.find_spec("litellm")
    if found is None or not found.origin:
        return {}
    path = Path(found.origin).parent / TABLE_FILE
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}
