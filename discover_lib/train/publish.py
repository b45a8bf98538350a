"""A trained model for others: a folder with card and lineage, for the Hub."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import read_json, write_json
from discover_lib.dataset.export import rendered
from discover_lib.engines.local.dialect import PREFIX
from discover_lib.engines.local.lineage import ADAPTER, FILE, Chain, Lineage, adapter_chain, run_of
from discover_lib.engines.local.names import merge
from discover_lib.train.recipes import holding, refuse

STAGE_NAMES = {"sft": "supervised fine-tuning", "dpo": "preference optimization", "grpo": "reinforcement learning"}


@dataclass(frozen=True)
class Publication:
    """A finished training run for publication.

    Attributes:
        run: its folder.
        base_id: the base's name on the Hub, for a base from a folder.
        merged: publish whole weights instead of the adapter alone.
    """

    run: Path
    base_id: str = ""
    merged: bool = False

    def write(self, folder: Path, name: str = "") -> Path:
        """Weights, card and lineage as a folder, without paths of this machine.

        Args:
            name: its name for loading; "" for its folder.

        Raises:
            LineageError: not a finished training run, or its base is missing.
            DiscoverError: it cannot be published in this form.
        """
        run, chain = run_of(self.run), adapter_chain(self.run)
        base = self._base(chain)
        lines = holding(
            {
                f"{self.run}: this adapter needs earlier stages merged into its base, so it fits no public model; "
                "add --merged": not self.merged and len(chain.adapters) > 1,
                f"{chain.base.path}: this folder is only on this machine; name the base on the Hub with --base-id": (
                    not self.merged and not base
                ),
                f"{folder}: not empty; name a new folder": folder.exists() and any(folder.iterdir()),
            }
        )
        refuse(lines)
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
            DiscoverError: no token, the Hub refuses, or see `write`.
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
        """The model card: description, origin and training."""
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
        settings += [(f"lora.{setting}", value) for setting, value in recipe["lora"].items()]
        return rendered(
            Path(__file__).with_name("model_card.md.jinja"),
            **{"front": front.to_yaml(), "title": run_of(self.run).resolve().name, "name": name, "merged": self.merged},
            **{"base": base, "base_name": base or Path(chain.base.path).name, "licence": licence, "chain": chain},
            **{"lineage": lineage, "rows": Path(str(lineage.data["folder"])).name, "settings": settings},
            stages=[STAGE_NAMES[each] for each in stages],
        )

    def _base(self, chain: Chain) -> str:
        """The base's public name; "" if only this machine has it."""
        path = Path(chain.base.path)
        return self.base_id or ("" if path.is_absolute() or path.is_dir() else chain.base.path)


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
        "data": {**lineage["data"], "folder": Path(str(lineage["data"]["folder"])).name},
    }
