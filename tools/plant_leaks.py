"""Make the planted corpus of the leak audit anew: `data/audit/planted.json`.

    python tools/plant_leaks.py

It runs a few conversations of the miniature and plants in them and in the recorded ones (see
`discover_lib.audit.corpus`).  Free paraphrases are taken from `data/audit/free_paraphrases.json`.
"""

import json
from pathlib import Path

from discover_lib.audit.corpus import Case, corpus_to_dict, make_corpus
from discover_lib.base.files import data_folder
from discover_lib.runs.options import RunOptions, lay_out
from discover_lib.runs.units import run_unit

SEED = 0
ARTIFACTS = {"svg_drawing": 1, "creative_writing": 2, "technical_writing": 2}  # drawings are long
ASSISTANTS = ("adaptive", "draft", "options", "mixed", "ask")


def main() -> None:
    folder = data_folder() / "audit"
    talks = {}
    for domain, artifacts in ARTIFACTS.items():
        for unit in lay_out(RunOptions(ASSISTANTS, domain=domain, artifacts=artifacts, split="train")).units:
            talks[f"{unit.artifact_id}/{unit.assistants[0]}"] = run_unit(unit)
    written = [Case(**each) for each in json.loads((folder / "free_paraphrases.json").read_text(encoding="utf-8"))]
    corpus = corpus_to_dict(make_corpus(talks, written, SEED), SEED)
    Path(folder / "planted.json").write_text(json.dumps(corpus, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")
    print(corpus["counts"])


if __name__ == "__main__":
    main()
