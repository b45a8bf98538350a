"""Make what pages 50 to 52 show where training is not installed: a finished run, conversations around it, one update.

    DISCOVER_OUTPUTS=FOLDER python tools/train_earlier.py

Takes some minutes.  Repeat the command to resume.
"""

import importlib.util
import json
import shutil
from pathlib import Path
from typing import Any

from discover_lib.base.files import REPOSITORY, outputs_folder, rounded, write_json
from discover_lib.core.rollout import run_conversation
from discover_lib.engines.local.names import base_folder
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import generate_artifact
from discover_lib.engines.spec import EngineSpec, RoleEngines
from discover_lib.runs.options import RunOptions, execute, lay_out
from discover_lib.train.comparison import before_and_after
from discover_lib.train.recipes import Recipe
from discover_lib.train.run_stage import StageSettings
from discover_lib.train.training_job import TrainingJob, run_here
from workbench.panel import trained_earlier

DOMAIN, USERS = "svg_drawing", 12
KEPT = ("status.json", "settings.json", "result.json", "metrics.jsonl", "samples.jsonl")
CONVERSATIONS = RunOptions(("draft", "adaptive"), domain=DOMAIN, split="train", artifacts=100, candidates=1)


def trained() -> TrainingJob:
    """The run: SFT of the tiny model on what draft and adaptive said to 100 users."""
    data, run = outputs_folder() / "synthesis" / "conversations", outputs_folder() / "train" / "sft-miniature"
    data.mkdir(parents=True, exist_ok=True)
    execute(lay_out(CONVERSATIONS), data)
    base = base_folder()
    job = TrainingJob(run)
    if not (run / "result.json").exists():
        run_here(StageSettings("sft", str(data.resolve()), str(base.resolve()), recipe=Recipe.miniature()), run, print)
    return job


def keep_run(job: TrainingJob) -> None:
    """What pages read of a run, without where on this machine it was made."""
    kept = trained_earlier() / "sft"
    kept.mkdir(parents=True, exist_ok=True)
    for name in KEPT:
        text = (job.folder / name).read_text(encoding="utf-8")
        (kept / name).write_text(text.replace(f"{outputs_folder().resolve()}/", ""), encoding="utf-8")
    shutil.copystat(job.folder, kept)


def talks(job: TrainingJob) -> list[dict[str, Any]]:
    """Conversations of the base and of the trained model with the same users, whom neither was trained on."""
    world, engines, sides = engine(DOMAIN), RoleEngines(EngineSpec()), before_and_after(job.folder)
    labels = {"before": "before (base)", "after": "after (SFT of the tiny model)"}
    assistants = {labels[side]: engines.assistant(name, DOMAIN) for side, name in sides.items()}
    made = []
    for user in range(USERS):
        tree = world.builder.build(generate_artifact(DOMAIN, "eval", user)).tree
        met = {
            label: run_conversation(tree, world.judge, world.voice, [each], seed=0, setting={"domain": DOMAIN})
            for label, each in assistants.items()
        }
        title = f"“{tree.initial_request}”, a user whom neither model was trained on"
        made.append({"title": title, "talks": {label: talk.to_dict() for label, talk in met.items()}})
    text = json.dumps(made)  # which names assistants by their folders on this machine
    for side, name in sides.items():
        text = text.replace(json.dumps(name)[1:-1], side)
    return list(json.loads(text))


def grpo_step() -> dict[str, Any]:
    """The update that page 51 takes on the base model as it opens."""
    spec = importlib.util.spec_from_file_location("grpo_by_hand", REPOSITORY / "notebooks" / "51_grpo_by_hand.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    _, page = module.app.run()
    return dict(page["step_record"])


def main() -> None:
    """Write `data/training`."""
    job = trained()
    keep_run(job)
    write_json(trained_earlier() / "talks.json", rounded(talks(job)))
    write_json(trained_earlier() / "grpo_step.json", rounded(grpo_step()))
    print(f"{Path(trained_earlier())}: written")


if __name__ == "__main__":
    main()
