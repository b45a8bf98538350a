"""A contrary model and a willing one over the whole path: trees built, users simulated, assistants evaluated.

Both play the same users, on the trees that the contrary one built, so that every verdict can be compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from llm_contrary import Contrary
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

POLICIES = ("draft", "adaptive")


@dataclass(frozen=True)
class Played:
    """What came of one model in one domain.

    Attributes:
        calls: requests that the server was sent.
        built, played: how the answers came about while building, and while playing and scoring.
        contradictions: answers that were noted as contradicting themselves.
    """

    calls: int
    report: BuildReport
    built: Outcomes
    played: Outcomes
    conversations: tuple[Conversation, ...]
    contradictions: int
    failed: int


def whole_path(
    brain: Contrary, domain: str, artifacts: int, folder: Path, *, turns: int = 5, trees: Path | None = None
) -> Played:
    """Build, simulate and evaluate by one model.

    Args:
        trees: play on these trees, in place of those built here.
    """
    sources = _artifact_files(domain, artifacts, folder / "artifacts")
    model, kind = f"openai/miniature:{domain}", engine(domain).builder.lexicon.artifact_type
    with FakeServer(brain) as server:
        settings = ClientSettings(api_base=server.api_base, env_file=None, first_wait_seconds=0.01)
        report = build_files(sources, folder / "trees", BuildOptions(kind, model), settings=settings)
        names = tuple(f"{model}:{policy}" for policy in POLICIES)
        options = RunOptions(
            names, trees=trees or folder / "trees", engine=model, artifacts=artifacts, turns=turns, trials=1
        )
        run = folder / "run"
        run.mkdir()
        execute(lay_out_evaluation(options), run, concurrency=16, settings=settings)
        calls = server.counts["requests"]
    with RunStore.read(folder / "trees" / CALLS) as store:
        built = Outcomes.of_run(store)
    with RunStore.read(run) as store:
        talks = tuple(store.conversations())
        contradictions = len(store.calls.answers_with("contradicted", 1_000_000))
        failed = store.counts().failed + len(store.unassessed())
        return Played(calls, report, built, Outcomes.of_run(store), talks, contradictions, failed)


def _artifact_files(domain: str, count: int, folder: Path) -> Sequence[Path]:
    folder.mkdir(parents=True)
    files = []
    for artifact in generate_artifacts(domain, "eval", count):
        files.append(folder / f"{artifact.id}.txt")
        files[-1].write_text(artifact.text, encoding="utf-8")
    return files


def differences(ours: Sequence[Conversation], theirs: Sequence[Conversation]) -> list[str]:
    """Where two readings of the same conversations differ: kinds, verdicts, near misses, moves, user messages."""
    found = []
    for one, other in zip(ours, theirs, strict=True):
        name = f"{one.setting['artifact']}, {one.setting['assistants'][0]}"
        if len(one.turns) != len(other.turns) or one.final is None or other.final is None:
            found.append(f"{name}: {len(one.turns)} turns against {len(other.turns)}")
            continue
        if one.final.reply.text != other.final.reply.text:
            found.append(f"{name}: another finished piece")
        for mine, yours in zip(one.turns, other.turns, strict=True):
            if _read(mine) != _read(yours):
                found.append(f"{name}, turn {mine.index}: {_read(mine)} against {_read(yours)}")
    return found


def _read(turn):  # type: ignore[no-untyped-def]
    evaluation = turn.candidate.evaluation
    verdicts = [(each.intent_id, each.engaged, each.near_misses) for each in evaluation.verdicts]
    return (turn.reply.text, evaluation.kind, verdicts, dict(turn.after.discovery), turn.user_message)
