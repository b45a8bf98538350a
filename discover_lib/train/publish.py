"""A trained model for others: a folder with card and lineage, for the Hub."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import read_json, write_json
from discover_lib.dataset.export import table
from discover_lib.engines.local.dialect import PREFIX
from discover_lib.engines.local.lineage import ADAPTER, FILE, Chain, Lineage, adapter_chain, run_of
from discover_lib.engines.local.names import merge
from discover_lib.metrics.intervals import Estimate
from discover_lib.train.grpo.rollouts import probed
from discover_lib.train.recipes import holding
from discover_lib.train.training_job import METRICS, RESULT, read_lines, standing_lines

RESULTS = "results.json"  # what `discover evaluate` writes into its run
STAGE_NAMES = {"sft": "supervised fine-tuning", "dpo": "preference optimization", "grpo": "reinforcement learning"}


@dataclass(frozen=True)
class Publication:
    """A finished training run for publication.

    Attributes:
        run: its folder.
        base_id: the base's name on the Hub, for a base from a folder.
        merged: publish whole weights instead of the adapter alone.
        results: folder of an evaluation whose table goes into the card.
    """

    run: Path
    base_id: str = ""
    merged: bool = False
    results: Path | None = None

    def problems(self) -> list[str]:
        """Why it cannot be published in this form, one line each.

        Raises:
            LineageError: not a finished training run, or its base is missing.
        """
        chain = adapter_chain(self.run)
        return holding(
            {
                f"{self.run}: this adapter needs earlier stages merged into its base, so it fits no public model; "
                "add --merged": not self.merged and len(chain.adapters) > 1,
                f"{chain.base.path}: this folder is only on this machine; name the base on the Hub with --base-id": (
                    not self.merged and not self._base(chain)
                ),
                f"{self.results}: no evaluation here; write one with discover evaluate --run {self.results}": (
                    self.results is not None and not (self.results / RESULTS).is_file()
                ),
            }
        )

    def write(self, folder: Path, name: str = "") -> Path:
        """Weights, card and lineage as a folder, without paths of this machine.

        Args:
            name: its name for loading; "" for its folder.

        Raises:
            DiscoverError: see `problems`.
        """
        if lines := self.problems():
            raise DiscoverError("; ".join(lines))
        if folder.exists() and any(folder.iterdir()):
            raise DiscoverError(f"{folder}: not empty; name a new folder")
        run, chain = run_of(self.run), adapter_chain(self.run)
        base = self._base(chain)
        if self.merged:
            merge(f"{PREFIX}{run}", folder)
        else:
            shutil.copytree(run / ADAPTER, folder)
            configuration = read_json(folder / "adapter_config.json")
            write_json(folder / "adapter_config.json", configuration | {"base_model_name_or_path": base})
        write_json(folder / FILE, _without_paths(read_json(run / FILE), base))
        card = self.card(Lineage.read(run), chain, name or folder.name)
        (folder / "README.md").write_text(card, encoding="utf-8")
        return folder

    def push(self, repository: str, *, private: bool = False) -> str:
        """Upload it; returns the address.

        Raises:
            DiscoverError: no token, the Hub refuses, or see `problems`.
        """
        import httpx
        from huggingface_hub import HfApi, get_token
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError

        if not get_token():
            raise DiscoverError("no token for the Hub here: run hf auth login, or set HF_TOKEN (one that may write)")
        hub = HfApi()
        with tempfile.TemporaryDirectory() as place:
            folder = self.write(Path(place) / "model", repository)
            try:
                address = hub.create_repo(repository, private=private, exist_ok=True)
                hub.upload_folder(repo_id=address.repo_id, folder_path=folder, commit_message="Trained with discover")
            except (HfHubHTTPError, HFValidationError, httpx.HTTPError, OSError, ValueError) as error:
                reason = " ".join(str(error).split())[:300]
                raise DiscoverError(f"the Hub did not take {repository}: {reason}") from None
        return str(address)

    def card(self, lineage: Lineage, chain: Chain, name: str) -> str:
        """The model card: description, origin, training and measurements."""
        from huggingface_hub import ModelCardData

        base = self._base(chain)
        licence = _licence(Path(chain.base.path), base)
        front = ModelCardData(
            base_model=base or None,
            base_model_relation="finetune" if self.merged else "adapter",
            license=licence,
            library_name="transformers" if self.merged else "peft",
            pipeline_tag="text-generation",
            tags=["discoverllm", "intent-discovery", "simulated-users", lineage.stage],
        )
        stages = [*(source.stage for source in chain.adapters[:-1]), lineage.stage]
        recipe = lineage.recipe
        settings = [("recipe", recipe["name"]), *recipe[lineage.stage].items()]
        settings += [(f"lora.{name}", value) for name, value in recipe["lora"].items()]
        parts = [
            f"---\n{front.to_yaml()}\n---\n",
            f"# {run_of(self.run).resolve().name}\n",
            f"{base or Path(chain.base.path).name} after {', then '.join(STAGE_NAMES[each] for each in stages)} on "
            "conversations with simulated users, who discover their intents from the replies (after *DiscoverLLM*, "
            "arXiv 2602.03429). " + ("Whole weights.\n" if self.merged else "A LoRA adapter to be put on that base.\n"),
            f"**License.** The base's: {licence}.\n"
            if licence
            else "**License.** The base's, which is unknown here. Look it up before you share this model.\n",
            "## Origin\n",
            *(f"- {line}\n" for line in _origins(lineage, chain, base)),
            "## Measurements\n",
            *measured(run_of(self.run)),
            *(_evaluation(self.results) if self.results else ()),
            "## Training\n",
            table(("setting", "value"), settings),
            "## Use\n",
            _use(lineage, name, base, self.merged),
        ]
        return "\n".join(parts)

    def _base(self, chain: Chain) -> str:
        """The base's public name; "" if only this machine has it."""
        path = Path(chain.base.path)
        return self.base_id or ("" if path.is_absolute() or path.is_dir() else chain.base.path)


def measured(run: Path) -> Iterator[str]:
    """A run's measurements in Markdown: validation rollouts with intervals, or losses on held-out rows."""
    lines = standing_lines(read_lines(run / METRICS).lines)
    probes = [line for line in lines if line.get("probe/discovered") is not None]
    losses = [line["eval_loss"] for line in lines if line.get("eval_loss") is not None]
    kept = read_json(run / RESULT).get("kept_round")
    if probes:
        yield "Intents discovered in a whole conversation with held-out simulated users [95% interval, by artifact]:\n"
        rows = []
        for line in probes:
            when = f"round {line['round']}" if line["round"] else "before"
            when += ", kept: this model" if line["round"] == kept else ""
            rows.append((when, probed(line), line["probe/users"]))
        yield table(("after", "discovered", "users"), rows)
    if losses:
        yield f"Loss on held-out rows: {losses[0]:.3f} at first, {losses[-1]:.3f} at the end.\n"
    if not probes and not losses:
        yield "There are no measurements on held-out users or rows.\n"


def _evaluation(folder: Path) -> Iterator[str]:
    """The table of an evaluation over all its domains."""
    results = read_json(folder / RESULTS)
    scope = results["scopes"][0]
    names = [name for name in results["measures"] if any(name in row for row in scope["table"].values())]
    yield f"Evaluated on {scope['users']} users of {scope['artifacts']} artifacts ({results['interval']}):\n"
    rows = []
    for assistant, row in scope["table"].items():
        cells = [str(Estimate.from_dict(row[name])) if name in row else "not scored" for name in names]
        rows.append((Path(assistant).name if "/" in assistant else assistant, *cells))
    yield table(("assistant", *names), rows)
    yield "".join(f"- {name}: {results['measures'][name]}\n" for name in names)


def _origins(lineage: Lineage, chain: Chain, base: str) -> Iterator[str]:
    known = f" (content {chain.base.hash[:12]})" if chain.base.hash else ""
    yield f"base: {base or Path(chain.base.path).name}{known}"
    for source in chain.adapters[:-1]:
        yield f"then {source.stage}, adapter {source.hash[:12]}"
    data = lineage.data
    yield (
        f"then {lineage.stage} on {data['train']:,} {data['kind']} rows ({data['held_out']:,} held out) of "
        f"`{Path(str(data['folder'])).name}`, digest {str(data['digest'])[:12]}"
    )
    yield f"seed {lineage.seed}, trained by {lineage.backend}"
    yield ", ".join(f"{name} {version}" for name, version in lineage.versions.items())


def _use(lineage: Lineage, name: str, base: str, merged: bool) -> str:
    thinking = (
        "It was trained to answer without thinking first (`enable_thinking=False` in templates with this switch).\n"
    )
    lines = [
        "```python\nfrom transformers import AutoModelForCausalLM\n"
        + ("" if merged else "from peft import PeftModel\n")
        + f'\nmodel = AutoModelForCausalLM.from_pretrained("{name if merged else base}")'
        + ("" if merged else f'\nmodel = PeftModel.from_pretrained(model, "{name}")')
        + "\n```\n",
        "" if lineage.thinking else thinking,
    ]
    if lineage.system:
        quoted = "".join(f"> {line}\n" for line in lineage.system.splitlines())
        lines.append(f"It was trained with this system message and needs it in use:\n\n{quoted}")
    return "\n".join(lines)


def _licence(folder: Path, name: str) -> str | None:
    """The base's license from the card in its folder or in the Hub's cache; None if unknown."""
    from huggingface_hub import ModelCard, try_to_load_from_cache

    cached = try_to_load_from_cache(name, "README.md") if name else None
    cards = (card for card in (folder / "README.md", cached) if isinstance(card, str | Path) and Path(card).is_file())
    return next((ModelCard.load(card).data.get("license") for card in cards), None)


def _without_paths(lineage: Mapping[str, Any], base: str) -> dict[str, Any]:
    """A stored lineage with names instead of folders; hashes identify the contents."""

    def plain(source: Mapping[str, Any]) -> dict[str, Any]:
        return {**source, "path": Path(source["path"]).parent.name or source["path"]}

    own = lineage["base"]
    return {
        **lineage,
        "base": {**own, "path": base or Path(own["path"]).name},
        "merged": [plain(each) for each in lineage["merged"]],
        "continued": plain(lineage["continued"]) if lineage.get("continued") else None,
        "data": {**lineage["data"], "folder": Path(str(lineage["data"]["folder"])).name},
    }
