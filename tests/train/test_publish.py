"""A trained model for others: its card, the folder that is uploaded, and what goes up."""

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest

from discover_lib.base.errors import DiscoverError
from discover_lib.engines.local.lineage import Lineage, Source, content_hash
from discover_lib.train.backend import merged_model
from discover_lib.train.publish import Publication
from discover_lib.train.recipes import Recipe

DATA = {"folder": "/home/someone/secret/rows", "digest": "d1" * 16, "kind": "prompt", "train": 1200, "held_out": 80}


def finished(folder: Path, base: str, stage: str = "grpo", earlier: Path | None = None, **lineage: Any) -> Path:
    adapter = folder / "adapter"
    adapter.mkdir(parents=True)
    (adapter / "adapter_model.safetensors").write_bytes(b"weights of " + folder.name.encode())
    (adapter / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": "/home/someone/base", "r": 4}))
    merged = (Source(str(earlier / "adapter"), content_hash(earlier / "adapter"), "sft"),) if earlier else ()
    Lineage(
        stage, Source(base, content_hash(base)), merged, Recipe.named("24gb").to_dict(), DATA, folder.name, 7,
        "transformers", {"trl": "1.16.0"}, **{"system": "Ask first.\nThen build.", **lineage},
    ).write(folder)  # fmt: skip
    return folder


@pytest.fixture
def base(tmp_path: Path) -> Path:
    folder = tmp_path / "base"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "README.md").write_text("---\nlicense: apache-2.0\n---\n# A base\n")
    return folder


@pytest.mark.slow
def test_the_card_says_what_it_is_and_where_it_comes_from(base: Path, tmp_path: Path) -> None:
    run = finished(tmp_path / "my-grpo", str(base))
    folder = Publication(run, base_id="org/base").write(tmp_path / "out", "me/model")
    card = (folder / "README.md").read_text()
    front = card.split("---")[1]
    assert {"base_model: org/base", "library_name: peft", "- grpo"} <= {line.strip() for line in front.splitlines()}
    for line in (
        "- then grpo on 1,200 prompt rows (80 held out) of `rows`, digest d1d1d1d1d1d1",
        f"- base: org/base (content {content_hash(base)[:12]})",
        "| load_in_4bit | True |",
        "| lora.r | 32 |",
        "- trl 1.16.0",
        "> Ask first.\n> Then build.",
        'model = PeftModel.from_pretrained(model, "me/model")',
    ):
        assert line in card
    texts = [path.read_text() for path in folder.iterdir() if path.suffix in (".md", ".json")]
    assert not [text for text in texts if "/home" in text or str(tmp_path) in text or "../" in text]
    assert json.loads((folder / "lineage.json").read_text())["data"]["digest"] == DATA["digest"]
    assert json.loads((folder / "adapter_config.json").read_text())["base_model_name_or_path"] == "org/base"


def test_what_others_could_not_use_is_refused_in_a_line(base: Path, tmp_path: Path) -> None:
    sft = finished(tmp_path / "sft", str(base), "sft")
    dpo = finished(tmp_path / "dpo", str(base), "dpo", sft)
    line = f"{base}: this folder is only on this machine; name the base on the Hub with --base-id"
    for publication, expected in (
        (Publication(sft), f"^{line}$"),
        (Publication(dpo, "org/base"), "needs earlier stages.*add --merged$"),
    ):
        with pytest.raises(DiscoverError, match=expected):
            publication.write(tmp_path / "out")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(DiscoverError, match="not empty; name a new folder"):
        Publication(sft, "org/base").write(tmp_path / "full")


@pytest.mark.slow
def test_pushed_adapter_is_whole_and_refusal_line(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    class Hub:
        """Takes a folder, and is told from then on that its token is none."""

        files: ClassVar[dict[str, bytes]] = {}

        def create_repo(self, name: str, *, private: bool, exist_ok: bool) -> Any:
            if self.files:
                raise ValueError("401: Invalid\ntoken")
            return huggingface_hub.RepoUrl(f"https://huggingface.co/{name}")

        def upload_folder(self, *, repo_id: str, folder_path: Path, commit_message: str) -> None:
            self.files.update({path.name: path.read_bytes() for path in folder_path.iterdir()})

    monkeypatch.setattr(huggingface_hub, "HfApi", Hub)
    monkeypatch.setattr(huggingface_hub, "get_token", lambda: None)
    publication = Publication(finished(tmp_path / "run", str(base)), "org/base")
    with pytest.raises(DiscoverError, match="run hf auth login, or set HF_TOKEN"):
        publication.push("me/model")
    monkeypatch.setattr(huggingface_hub, "get_token", lambda: "secret")
    assert publication.push("me/model") == "https://huggingface.co/me/model"
    assert set(Hub.files) == {"README.md", "adapter_config.json", "adapter_model.safetensors", "lineage.json"}
    assert Hub.files["adapter_model.safetensors"] == b"weights of run"
    assert b"license: apache-2.0" in Hub.files["README.md"]  # the base's, as its card says
    with pytest.raises(DiscoverError, match=r"^the Hub did not take me/model: 401: Invalid token$"):
        publication.push("me/model")


@pytest.mark.slow
def test_merged_weights_are_those_of_the_base_with_the_adapter(tmp_path: Path) -> None:
    import peft
    import torch
    from training import make_base
    from transformers import AutoModelForCausalLM

    base = make_base(tmp_path / "base")
    run = finished(tmp_path / "run", str(base))
    worn = peft.get_peft_model(merged_model(str(base), []), peft.LoraConfig(r=2, init_lora_weights=False))
    worn.save_pretrained(run / "adapter")
    folder = Publication(run, merged=True).write(tmp_path / "out")
    ids = torch.tensor([[3, 4, 5]])
    whole = AutoModelForCausalLM.from_pretrained(folder)
    assert torch.allclose(whole(ids).logits, worn.eval()(ids).logits, atol=1e-4)
    assert "library_name: transformers" in (folder / "README.md").read_text() and (folder / "lineage.json").is_file()
