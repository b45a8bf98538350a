"""A run as verifiers' traces, read by its own reader."""

from pathlib import Path

import pytest

from discover_lib.base.ids import DiscoverId
from discover_lib.dataset.verifiers_log import write_traces
from discover_lib.runs.options import RunOptions, execute, lay_out
from discover_lib.runs.resolve import resolve
from discover_lib.runs.store import RunStore

pytest.importorskip("verifiers.v1", reason="in an environment of its own: pip install 'discover-lib[verifiers]'")


def test_its_reader_reads_messages_rewards_and_what_was_sampled(tmp_path: Path) -> None:
    from verifiers.v1 import Trace, WireTaskData
    from verifiers.v1.configs.agent import WireAgentConfig
    from verifiers.v1.state import State
    from verifiers.v1.utils.trace_store import read_episodes

    run, out = tmp_path / "run", tmp_path / "out"
    run.mkdir(), out.mkdir()
    execute(lay_out(RunOptions(("adaptive", "ask"), domain="svg_drawing", artifacts=2)), run)
    with RunStore.read(run) as store:
        talks = list(store.conversations())
        assert write_traces(out, store) == write_traces(out, store) == len(talks) == 4  # again: not appended
    episodes = read_episodes(out, Trace[WireTaskData, State, WireAgentConfig])
    assert len(episodes) == 4 and all(each.ok and each.env.id == "discover_user" for each in episodes)
    for talk, episode in zip(talks, episodes, strict=True):
        (trace,) = episode.traces
        assert [(node.message.role, node.message.content) for node in trace.nodes] == [
            (message.role, message.content) for message in talk.messages()
        ]
        assert [node.sampled for node in trace.nodes] == [message.role == "assistant" for message in talk.messages()]
        assert [node.parent for node in trace.nodes] == [None, *range(len(trace.nodes) - 1)]
        (branch,) = trace.branches
        assert len(branch.nodes) == len(trace.nodes)
        total = sum(turn.candidate.reward.total for turn in talk.turns if turn.candidate.reward)
        assert trace.reward == pytest.approx(total)
        assert trace.agent.config.model == talk.setting["assistants"][0]
        assert trace.task.data.artifact == talk.setting["artifact"]
        assert resolve(DiscoverId.parse(trace.id)).conversation == talk
        assert trace.info["discover"]["conversation"] == talk.to_dict()
