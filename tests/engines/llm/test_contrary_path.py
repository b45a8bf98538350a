"""A model that gets something wrong in every answer builds, plays and scores as a willing one does."""

from __future__ import annotations

from pathlib import Path

import pytest
from contrary_path import POLICIES, differences, whole_path
from llm_contrary import Contrary, contrary_in_everything

pytestmark = pytest.mark.slow

DOMAIN = "technical_writing"


def test_nothing_is_lost_or_misread_and_everything_is_counted(tmp_path: Path) -> None:
    artifacts = 2
    brain = contrary_in_everything()
    contrary = whole_path(brain, DOMAIN, artifacts, tmp_path / "contrary")
    willing = whole_path(Contrary(), DOMAIN, artifacts, tmp_path / "willing", trees=tmp_path / "contrary" / "trees")
    assert len(contrary.report.built) == artifacts and not contrary.report.failures
    assert len(contrary.conversations) == artifacts * len(POLICIES) and contrary.failed == willing.failed == 0
    assert differences(contrary.conversations, willing.conversations) == []
    assert contrary.calls <= 1.5 * willing.calls
    counted, did = contrary.played.remarks, brain.counts
    assert counted["stray ids"] == did["gives_stray_ids"] > 0
    assert contrary.contradictions == did["contradicts_itself"] > 0
    assert counted["cut"] + contrary.built.remarks.get("cut", 0) == did["cuts_the_tenth"] > 0
    assert set(willing.played.remarks) == set() and set(willing.played.answers["judge"]) == {"clean"}
    assert set(contrary.played.answers["judge"]) <= {"tidied", "reasked"}
