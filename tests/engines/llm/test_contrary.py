"""A model that denies an edge of every forest and leaks in every first message loses no artifact."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from llm_contrary import Contrary, Habit, checks_nothing, denies_an_edge, leaks_in_the_request, sees_leaks
from llm_server import FakeServer

from discover_lib.core.roles import BuiltTree
from discover_lib.engines.llm.builder import LLMBuilder, leak_defect
from discover_lib.engines.llm.calls.client import ClientSettings, LLMClient
from discover_lib.engines.llm.organisation import LEAST_CEILING, MOST_TREES
from discover_lib.engines.miniature.artifacts import generate_artifacts
from discover_lib.engines.miniature.lexicon import DOMAINS
from discover_lib.metrics.ceiling import ceiling

pytestmark = pytest.mark.slow


def trees_of(brain: Contrary, each_domain: int) -> tuple[list[BuiltTree], int, Counter[str]]:
    """The trees that this model builds, its calls, and how its answers came about."""
    with FakeServer(brain) as server, LLMClient(ClientSettings(api_base=server.api_base, env_file=None)) as client:

        def build(domain: str) -> list[BuiltTree]:
            builder = LLMBuilder(client, f"openai/miniature:{domain}")
            return [builder.build(artifact) for artifact in generate_artifacts(domain, "eval", each_domain)]

        with ThreadPoolExecutor(len(DOMAINS)) as pool:
            built = [tree for trees in pool.map(build, DOMAINS) for tree in trees]
        return built, server.counts["requests"], Counter(client.usage.structured)


@pytest.mark.parametrize("each_domain", [2, 20])
def test_a_contrary_model_costs_a_quarter_more_at_most_and_no_artifact(each_domain: int) -> None:
    willing, calls, outcomes = trees_of(Contrary(), each_domain)
    assert set(outcomes) <= {"clean", "reasked"} and outcomes["reasked"] <= len(willing) / 20
    assert outcomes["clean"] + 2 * outcomes["reasked"] == calls, "every question once"
    contrary = Contrary(habits=(denies_an_edge, leaks_in_the_request))
    kept, more_calls, outcomes = trees_of(contrary, each_domain)
    assert len(kept) == len(willing) == each_domain * len(DOMAINS)
    assert contrary.counts["denies_an_edge"] >= len(kept) and contrary.counts["leaks_in_the_request"] == 2 * len(kept)
    assert outcomes["failed"] == len(kept), "every first message leaked twice"
    assert more_calls <= 1.25 * calls
    for built in (*willing, *kept):
        share = ceiling(built.tree)
        print(f"{built.tree.artifact_type}, {built.tree.roots[0].text!r}: {len(built.tree.roots)} trees, {share:.0%}")
        assert share >= LEAST_CEILING and len(built.tree.roots) <= MOST_TREES
    for built in kept:
        assert leak_defect(built.tree) is None
        assert [note for note in built.notes if note.startswith("initial request, written by code")]
        assert [note for note in built.notes if "made a tree of its own" in note]


@pytest.mark.parametrize(("habit", "by_code"), [(sees_leaks, True), (checks_nothing, False)])
def test_a_check_for_paraphrases_that_always_says_yes_or_nothing_costs_no_artifact(habit: Habit, by_code: bool) -> None:
    """Yes: the request is asked for once more, the same text is not checked twice, and code writes one.  Nothing: the
    check is asked for once more, and the request stays as it is, unchecked.
    """
    willing, calls, _ = trees_of(Contrary(), 1)
    kept, all_calls, _ = trees_of(Contrary(habits=(habit,)), 1)
    assert len(kept) == len(willing) and all_calls == calls + len(kept)
    for built, honest in zip(kept, willing, strict=True):
        assert any("in other words" in note for note in built.notes) is by_code
        assert by_code or built.tree == honest.tree
