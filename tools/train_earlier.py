"""Make the example of the page Train for machines without a trainer: a run and conversations around it.

    DISCOVER_OUTPUTS=FOLDER python tools/train_earlier.py

Takes some minutes.  Repeat the command to resume.
"""

import json
import shutil
from pathlib import Path
from typing import Any

from discover_lib.base.files import outputs_folder, write_json
from discover_lib.core.rollout import run_conversation
from discover_lib.engines.local.names import base_folder
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import generate_artifact
from discover_lib.engines.spec import EngineSpec, RoleEngines
from discover_lib.metrics.results import rounded
from discover_lib.train.comparison import FOLLOWED, before_and_after, follow
from discover_lib.train.data import default_data
from discover_lib.train.recipes import Recipe
from discover_lib.train.run_stage import StageSettings, run_here
from discover_lib.train.training_job import TrainingJob
from workbench.panel import trained_earlier

DOMAIN, USERS = "svg_drawing", 12
KEPT = ("status.json", "settings.json", "result.json", "metrics.jsonl", "samples.jsonl")


def trained() -> TrainingJob:
    """The run: SFT of the tiny model on the default data."""
    data, base, run = default_data(), base_folder(), outputs_folder() / "train" / "sft-miniature"
    job = TrainingJob(run)
    if not (run / "result.json").exists():
        run_here(StageSettings("sft", str(data.resolve()), str(base.resolve()), recipe=Recipe.miniature()), run, print)
    return job


def keep_run(job: TrainingJob) -> None:
    """Copy the files of a run that pages read, with one user's opening at every checkpoint, without paths."""
    kept = trained_earlier() / "sft"
    shutil.rmtree(kept, ignore_errors=True)
    tree = engine(DOMAIN).builder.build(generate_artifact(DOMAIN, "eval", 0)).tree
    list(follow(job.folder, DOMAIN, tree))  # writes its conversations into the run's folder
    for file in [*(job.folder / name for name in KEPT), *(job.folder / FOLLOWED).rglob("*.json")]:
        target = kept / file.relative_to(job.folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        text = file.read_text(encoding="utf-8").replace(f"{outputs_folder().resolve()}/", "")
        target.write_text(text, encoding="utf-8")
    shutil.copystat(job.folder, kept)


def talks(job: TrainingJob) -> list[dict[str, Any]]:
    """Conversations of the base and of the trained model with the same users of the evaluation split."""
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
    text = json.dumps(made)  # contains folders of this machine in the assistants' names
    for side, name in sides.items():
        text = text.replace(json.dumps(name)[1:-1], side)
    return list(json.loads(text))


def main() -> None:
    """Write `data/training`."""
    job = trained()
    keep_run(job)
    write_json(trained_earlier() / "talks.json", rounded(talks(job)))
    print(f"{Path(trained_earlier())}: written")


if __name__ == "__main__":
    main()
