"""A trained model for others: its card, the folder that is uploaded, and a Hub over HTTP."""

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from discover_lib.base.errors import DiscoverError
from discover_lib.engines.local.lineage import Lineage, Source, content_hash
from discover_lib.train.publish import Publication, hub_name
from discover_lib.train.recipes import Recipe

DATA = {"folder": "/home/someone/secret/rows", "digest": "d1" * 16, "kind": "prompt", "train": 1200, "held_out": 80}
PROBES = [
    {"step": 0, "round": 0, "probe/discovered": 2.0, "probe/discovered_low": 1.5, "probe/discovered_high": 2.5,
     "probe/users": 50},
    {"step": 4, "round": 1, "probe/discovered": 3.25, "probe/discovered_low": 2.75, "probe/discovered_high": 3.75,
     "probe/users": 49},
]  # fmt: skip


def finished(folder: Path, base: str, stage: str = "grpo", earlier: Path | None = None, **lineage: Any) -> Path:
    """A finished run: one matrix of weights, and what a run writes about itself."""
    adapter = folder / "adapter"
    adapter.mkdir(parents=True)
    (adapter / "adapter_model.safetensors").write_bytes(b"weights of " + folder.name.encode())
    (adapter / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": "/home/someone/base", "r": 4}))
    merged = (Source(str(earlier / "adapter"), content_hash(earlier / "adapter"), "sft"),) if earlier else ()
    Lineage(
        stage, Source(base, content_hash(base)), merged, None, Recipe.named("24gb").to_dict(), DATA, folder.name, 7,
        "transformers", {"trl": "1.16.0"}, **{"system": "Ask first.\nThen build.", **lineage},
    ).write(folder)  # fmt: skip
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in PROBES))
    (folder / "result.json").write_text(json.dumps({"kept_round": 1}))
    return folder


@pytest.fixture
def base(tmp_path: Path) -> Path:
    folder = tmp_path / "base"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "README.md").write_text("---\nlicense: apache-2.0\n---\n# A base\n")
    return folder


@pytest.mark.slow
def test_the_card_says_what_it_is_where_it_comes_from_and_what_was_measured(base: Path, tmp_path: Path) -> None:
    run = finished(tmp_path / "my-grpo", str(base))
    folder = Publication(run, base_id="org/base").write(tmp_path / "out", "me/model")
    card = (folder / "README.md").read_text()
    front = card.split("---")[1]
    assert {"base_model: org/base", "library_name: peft", "- grpo"} <= {line.strip() for line in front.splitlines()}
    for line in (
        "- then grpo on 1,200 prompt rows (80 held out) of `rows`, digest d1d1d1d1d1d1",
        f"- base: org/base (content {content_hash(base)[:12]})",
        "| before | 2.00 [1.50, 2.50] | 50 |",
        "| round 1, kept: this model | 3.25 [2.75, 3.75] | 49 |",
        "| load_in_4bit | True |",
        "| lora.r | 32 |",
        "- trl 1.16.0",
        "> Ask first.\n> Then build.",
        'model = PeftModel.from_pretrained(model, "me/model")',
    ):
        assert line in card
    assert (folder / "adapter_model.safetensors").read_bytes() == b"weights of my-grpo"
    assert json.loads((folder / "adapter_config.json").read_text())["base_model_name_or_path"] == "org/base"


@pytest.mark.slow
def test_no_path_of_this_machine_is_given_away(base: Path, tmp_path: Path) -> None:
    folder = Publication(finished(tmp_path / "run", str(base)), base_id="org/base").write(tmp_path / "out")
    texts = [path.read_text() for path in folder.iterdir() if path.suffix in (".md", ".json")]
    assert not [text for text in texts if "/home" in text or str(tmp_path) in text or "../" in text]
    assert json.loads((folder / "lineage.json").read_text())["data"]["digest"] == DATA["digest"]


@pytest.mark.slow
def test_an_evaluation_comes_into_the_card_with_its_intervals(base: Path, tmp_path: Path) -> None:
    run, results = finished(tmp_path / "run", str(base)), tmp_path / "evaluation"
    publication = Publication(run, "org/base", results=results)
    assert publication.problems() == [
        f"{results}: no evaluation here; write one with discover evaluate --run {results}"
    ]
    results.mkdir()
    estimate = {"mean": 0.5, "low": 0.4, "high": 0.61, "n_artifacts": 30, "n_trials": 90}
    row = {f"hf:{run}": {"proportion": estimate}, "draft": {}}
    scope = {"scope": "all", "users": 90, "artifacts": 30, "table": row}
    written = {"scopes": [scope], "interval": "95 %", "measures": {"proportion": "share found", "tokens": "length"}}
    (results / "results.json").write_text(json.dumps(written))
    card = (publication.write(tmp_path / "out") / "README.md").read_text()
    assert "Evaluated on 90 users of 30 artifacts (95 %):" in card and "- proportion: share found" in card
    assert "| run | 0.50 [0.40, 0.61] |" in card and "| draft | not scored |" in card


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("Qwen/Qwen3-8B", "Qwen/Qwen3-8B"),
        ("/home/x/.cache/huggingface/hub/models--Qwen--Qwen3-8B/snapshots/0abc", "Qwen/Qwen3-8B"),
        ("/models/mine", ""),
    ],
)
def test_a_folder_of_the_hub_s_cache_is_known_by_its_name(path: str, name: str) -> None:
    assert hub_name(path) == name


def test_what_others_could_not_use_is_refused_in_a_line(base: Path, tmp_path: Path) -> None:
    sft = finished(tmp_path / "sft", str(base), "sft")
    dpo = finished(tmp_path / "dpo", str(base), "dpo", sft)
    assert Publication(sft).problems() == [f"{base}: others do not have this folder; name it on the Hub with --base-id"]
    (line,) = Publication(dpo, "org/base").problems()
    assert "stands on earlier stages" in line and line.endswith("add --merged")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(DiscoverError, match="not empty; name a new folder"):
        Publication(sft, "org/base").write(tmp_path / "full")


@dataclass
class Hub:
    """A Hub that takes whatever a token sends, and keeps it."""

    files: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    port: int = 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def answer(self, path: str, body: bytes, token: str | None) -> tuple[int, Any]:
        self.asked.append(path)
        if token != "Bearer secret":
            return 401, {"error": "Invalid token"}
        if path == "/api/repos/create":
            made = json.loads(body)
            return 200, {"url": f"{self.address}/{made['organization']}/{made['name']}"}
        if path == "/api/validate-yaml":
            return 200, {"errors": [], "warnings": []}
        if path == "/api/models/me/model/preupload/main":
            regular = [{"path": each["path"], "uploadMode": "regular"} for each in json.loads(body)["files"]]
            return 200, {"files": [{**each, "shouldIgnore": False} for each in regular]}
        if path == "/api/models/me/model/commit/main":
            lines = [json.loads(line) for line in body.splitlines()]
            for line in lines:
                if line["key"] == "file":
                    self.files[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
            return 200, {"commitUrl": f"{self.address}/me/model/commit/1", "commitOid": "1" * 40}
        return 404, {"error": "unknown"}


@pytest.fixture
def hub() -> Iterator[Hub]:
    made = Hub()

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, answer = made.answer(self.path.partition("?")[0], body, self.headers.get("Authorization"))
            text = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = _answer

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.port = server.server_address[1]
    Thread(target=server.serve_forever, daemon=True).start()
    yield made
    server.shutdown()


def push(run: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch, token: str | None = "secret") -> str:
    from huggingface_hub import constants

    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(constants, "ENDPOINT", hub.address)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(run.parent / "token"))
    if token:
        monkeypatch.setenv("HF_TOKEN", token)
    return Publication(run, "org/base").push("me/model")


@pytest.mark.slow
def test_a_pushed_adapter_is_on_the_hub_with_card_and_lineage(
    base: Path, tmp_path: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert push(finished(tmp_path / "run", str(base)), hub, monkeypatch) == f"{hub.address}/me/model"
    assert set(hub.files) == {"README.md", "adapter_config.json", "adapter_model.safetensors", "lineage.json"}
    assert hub.files["adapter_model.safetensors"] == b"weights of run"
    assert b"license: apache-2.0" in hub.files["README.md"]  # the base's, as its card says


@pytest.mark.slow
@pytest.mark.parametrize(("token", "said"), [(None, "run hf auth login, or set HF_TOKEN"), ("stolen", ".*401")])
def test_without_a_token_or_with_a_wrong_one_nothing_is_pushed_and_a_line_says_why(
    token: str | None, said: str, base: Path, tmp_path: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DiscoverError, match=said) as error:
        push(finished(tmp_path / "run", str(base)), hub, monkeypatch, token)
    assert "\n" not in str(error.value) and not hub.files


@pytest.mark.slow
def test_merged_weights_are_those_of_the_base_with_the_adapter(tmp_path: Path) -> None:
    import peft
    import torch
    from training import make_base
    from transformers import AutoModelForCausalLM

    from discover_lib.train.backend import merged_model

    base = make_base(tmp_path / "base")
    run = finished(tmp_path / "run", str(base))
    worn = peft.get_peft_model(merged_model(str(base), []), peft.LoraConfig(r=2, init_lora_weights=False))
    worn.save_pretrained(run / "adapter")
    folder = Publication(run, merged=True).write(tmp_path / "out")
    ids = torch.tensor([[3, 4, 5]])
    whole = AutoModelForCausalLM.from_pretrained(folder)
    assert torch.allclose(whole(ids).logits, worn.eval()(ids).logits, atol=1e-4)
    assert "library_name: transformers" in (folder / "README.md").read_text() and (folder / "lineage.json").is_file()
