"""A model that gets something wrong in every answer builds, plays and scores as a willing one does.

Both play the same users, on the trees that the contrary one built, so that every verdict can be compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from llm_contrary import Contrary, contrary_in_everything
from llm_server import FakeServer

from discover_lib.core.conversation import Conversation
from discover_lib.engines.llm.calls.client import ClientSettings
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import generate_artifacts
from discover_lib.runs.building import CALLS, BuildOptions, BuildReport, build_files
from discover_lib.runs.evaluation import lay_out_evaluation
from discover_lib.runs.options import RunOptions, execute
from discover_lib.runs.outcomes import Outcomes
from discover_lib.runs.store import RunStore

pytestmark = pytest.mark.slow

DOMAIN = "technical_writing"
POLICIES = ("draft", "adaptive")
ARTIFACTS = 2


@dataclass(frozen=True)
class Played:
    """What came of one model: `calls` are the requests that the server was sent."""

    calls: int
    report: BuildReport
    built: Outcomes
    played: Outcomes
    conversations: tuple[Conversation, ...]
    failed: int


def whole_path(brain: Contrary, folder: Path, trees: Path | None = None) -> Played:
    """Build, simulate and evaluate by one model; on `trees`, where they are given, in place of those built here."""
    (folder / "run").mkdir(parents=True)
    sources = [folder / f"{artifact.id}.txt" for artifact in generate_artifacts(DOMAIN, "eval", ARTIFACTS)]
    for path, artifact in zip(sources, generate_artifacts(DOMAIN, "eval", ARTIFACTS), strict=True):
        path.write_text(artifact.text, encoding="utf-8")
    model, kind = f"openai/miniature:{DOMAIN}", engine(DOMAIN).builder.lexicon.artifact_type
    with FakeServer(brain) as server:
        settings = ClientSettings(api_base=server.api_base, env_file=None, first_wait_seconds=0.01)
        report = build_files(sources, folder / "trees", BuildOptions(kind, model), settings=settings)
        names, trees = tuple(f"{model}:{policy}" for policy in POLICIES), trees or folder / "trees"
        options = RunOptions(names, trees=trees, engine=model, artifacts=ARTIFACTS, turns=5, trials=1)
        execute(lay_out_evaluation(options), folder / "run", concurrency=16, settings=settings)
        calls = server.counts["requests"]
    with RunStore.read(folder / "trees" / CALLS) as store:
        built = Outcomes.of_run(store)
    with RunStore.read(folder / "run") as store:
        failed = store.counts().failed + len(store.unassessed())
        talks = tuple(store.conversations())
        return Played(calls, report, built, Outcomes.of_run(store), talks, failed)


def read(talks: Sequence[Conversation]) -> list[Any]:
    """What was read of conversations: kinds, verdicts, near misses, moves, user messages, and the finished pieces."""
    return [
        (
            [(turn.reply.text, turn.candidate.evaluation.kind, dict(turn.after.discovery), turn.user_message)
             for turn in talk.turns],
            [(each.intent_id, each.engaged, each.near_misses)
             for turn in talk.turns for each in turn.candidate.evaluation.verdicts],
            talk.final.reply.text,
        )
        for talk in talks
    ]  # fmt: skip


def test_nothing_is_lost_or_misread_and_everything_is_counted(tmp_path: Path) -> None:
    brain = contrary_in_everything()
    contrary = whole_path(brain, tmp_path / "contrary")
    willing = whole_path(Contrary(), tmp_path / "willing", tmp_path / "contrary" / "trees")
    assert len(contrary.report.built) == ARTIFACTS and not contrary.report.failures
    assert len(contrary.conversations) == ARTIFACTS * len(POLICIES) and contrary.failed == willing.failed == 0
    assert read(contrary.conversations) == read(willing.conversations)
    assert contrary.calls <= 1.5 * willing.calls
    cut = sum(each.remarks.get("cut", 0) for each in (contrary.played, contrary.built))
    assert cut == brain.counts["cuts_the_tenth"] > 0
    assert brain.counts["gives_stray_ids"] > 0 and brain.counts["contradicts_itself"] > 0
    assert set(willing.played.remarks) == set() and set(willing.played.answers["judge"]) == {"clean"}
    assert set(contrary.played.answers["judge"]) <= {"repaired", "reasked"}
