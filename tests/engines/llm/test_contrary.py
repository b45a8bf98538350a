"""A model that denies an edge of every forest and leaks in every first message loses no artifact."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from llm_contrary import Contrary, checks_nothing, denies_an_edge, leaks_in_the_request
from llm_server import FakeServer

from discover_lib.core.roles import BuiltTree
from discover_lib.engines.llm.builder import LLMBuilder, leak_defect
from discover_lib.engines.llm.calls.client import ClientSettings, LLMClient
from discover_lib.engines.miniature.artifacts import generate_artifacts
from discover_lib.engines.miniature.lexicon import DOMAINS

pytestmark = pytest.mark.slow


def trees_of(brain: Contrary, each_domain: int) -> tuple[list[BuiltTree], int, Counter[str]]:
    """The trees that this model builds, its calls, and how its answers came about."""
    with FakeServer(brain) as server, LLMClient(ClientSettings(api_base=server.api_base, env_file=None)) as client:

        def build(domain: str) -> list[BuiltTree]:
            builder = LLMBuilder(client, f"openai/miniature:{domain}")
            return [builder.build(artifact) for artifact in generate_artifacts(domain, "eval", each_domain)]

        with ThreadPoolExecutor(len(DOMAINS)) as pool:
            built = [tree for trees in pool.map(build, DOMAINS) for tree in trees]
        return built, server.counts["requests"], sum(map(Counter, client.usage.answers.values()), Counter())


def test_a_contrary_model_costs_no_artifact_and_a_third_more_calls() -> None:
    willing, calls, outcomes = trees_of(Contrary(), 2)
    assert set(outcomes) <= {"clean", "reasked"}
    kept, more_calls, outcomes = trees_of(Contrary((denies_an_edge, leaks_in_the_request, checks_nothing)), 2)
    assert len(kept) == len(willing) == 2 * len(DOMAINS)
    assert outcomes["failed"] == len(kept), "of the check for paraphrases, which costs nothing but calls"
    assert more_calls <= 2 * calls
    for built in kept:
        assert leak_defect(built.tree) is None
        assert [note for note in built.notes if "does not imply" in note]
