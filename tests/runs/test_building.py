"""Trees of artifacts, built or recorded: no call is paid for twice, no tree is lost, stored states are replayed."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import discover
from llm_contrary import Contrary, contrary
from llm_server import FakeServer
from waiting import kept_requests

from discover_lib import initial_state, replay
from discover_lib.engines.llm.calls.client import ClientSettings
from discover_lib.engines.miniature.artifacts import generate_artifacts
from discover_lib.runs.artifact_files import (
    Recorded,
    RecordedError,
    find_recorded,
    load_recorded,
    load_tree,
    recorded_index,
)
from discover_lib.runs.building import CALLS, BuildOptions, BuildReport, build_files, target_files
from discover_lib.runs.store import RunStore

DOMAIN = "technical_writing"
MODEL = f"openai/miniature:{DOMAIN}"


def write_artifacts(folder: Path, count: int) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, artifact in enumerate(generate_artifacts(DOMAIN, "eval", count)):
        paths.append(folder / f"piece{number}.md")
        paths[-1].write_text(artifact.text, encoding="utf-8")
    return paths


def build(files: list[Path], folder: Path, server: FakeServer, **more: object) -> BuildReport:
    settings = ClientSettings(api_base=server.api_base, env_file=None, first_wait_seconds=0.01)
    return build_files(files, folder, BuildOptions("field guide", MODEL), settings=settings, **more)  # type: ignore[arg-type]


def names(files: list[Path], out: Path) -> list[str]:
    return [target.name for target in target_files(files, out).values()]


def test_equal_stems_do_not_collide_whatever_the_order(tmp_path: Path) -> None:
    svg, txt, other = tmp_path / "snail.svg", tmp_path / "snail.txt", tmp_path / "b" / "snail.svg"
    out = tmp_path / "out"
    assert names([svg], out) == ["snail.json"]
    assert names([svg, txt], out) == ["snail.svg.json", "snail.txt.json"]
    assert names([txt, svg], out) == ["snail.txt.json", "snail.svg.json"]
    assert names([svg, svg], out) == ["snail.json"]
    assert names([txt, svg, other], out) == ["snail.txt.json", f"{tmp_path.name}.snail.svg.json", "b.snail.svg.json"]


def test_a_tree_that_is_there_keeps_its_name(tmp_path: Path) -> None:
    svg, txt = tmp_path / "snail.svg", tmp_path / "snail.txt"
    out = tmp_path / "out"
    out.mkdir()
    (out / "snail.json").write_text(json.dumps({"built_from": {"file": f"{tmp_path.name}/snail.svg"}}))
    assert names([txt], out) == ["snail.txt.json"]
    assert names([txt, svg], out) == ["snail.txt.json", "snail.json"]


@pytest.mark.slow
def test_a_tree_changed_by_hand_outlives_the_same_command(tmp_path: Path) -> None:
    (piece,) = write_artifacts(tmp_path / "in", 1)
    command = ("--type", "technical article", "--out", tmp_path / "out")
    assert discover("build", piece, *command).returncode == 0
    tree = tmp_path / "out" / "piece0.json"
    plain = tree.read_text("utf-8")
    data = json.loads(plain)
    data["tree"]["initial_request"] = "something to read, please"
    tree.write_text(json.dumps(data), encoding="utf-8")
    assert "(there already)" in discover("build", piece, *command).stdout
    assert load_tree(tree).initial_request == "something to read, please"


@pytest.mark.slow
def test_the_same_command_again_asks_nothing_and_another_input_is_built(tmp_path: Path) -> None:
    files = write_artifacts(tmp_path / "in", 2)
    out = tmp_path / "out"
    with FakeServer(contrary) as server:
        first = build(files, out, server)
        asked = server.counts["requests"]
        again = build(files, out, server)
        assert server.counts["requests"] == asked and all(each.existing for each in again.built)
        assert [each.tree for each in again.built] == [each.tree for each in first.built]
        assert again.spent == first.spent is not None and first.spent.calls == asked
        files[0].write_text(files[1].read_text("utf-8"), encoding="utf-8")
        changed = build(files, out, server)
    assert [each.existing for each in changed.built] == [False, True]
    assert load_tree(out / "piece0.json") == changed.built[0].tree


@pytest.mark.slow
def test_a_failed_artifact_keeps_its_calls_and_is_tried_again_by_the_same_command(tmp_path: Path) -> None:
    files = write_artifacts(tmp_path / "in", 1)
    with FakeServer(Contrary()) as server:
        server.script.extend([None, "refusal", "refusal"])  # the second stage refuses twice
        report = build(files, tmp_path / "out", server)
        assert [("stage abstraction" in line) for line in report.failures] == [True] and not report.built
        asked = server.counts["requests"]
        report = build(files, tmp_path / "out", server)
        assert len(report.built) == 1 and not report.failures
        assert server.counts["requests"] == asked + 5, "the first stage is not asked again"


@pytest.mark.slow
def test_the_budget_holds_and_the_rest_goes_on_with_a_larger_one(tmp_path: Path) -> None:
    files = write_artifacts(tmp_path / "in", 3)
    prices = tmp_path / "prices.yaml"
    prices.write_text(f"as_of: 2026-01-01\ndollars_per_million_tokens:\n  {MODEL}: {{input: 1, output: 1}}\n")
    with FakeServer(Contrary()) as server:
        arguments = ["build", *files, "--type", "field guide", "--engine", MODEL, "--api-base", server.api_base]
        arguments += ["--out", tmp_path / "out", "--prices", prices, "--concurrency", 1]
        stopped = discover(*arguments, "--budget", 0.012)
        assert stopped.returncode == 3 and "the budget of $0.0120 does not cover another" in stopped.stderr, stopped
        assert " of 3 artifacts built → " in stopped.stdout
        with RunStore.read(tmp_path / "out" / CALLS) as store:
            assert 0 < store.calls.spent().cost <= 0.012
        done = discover(*arguments, "--budget", 10)
        assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "out").glob("*.json"))) == 3
    assert re.search("paid so far for the folder .*: 18 calls", done.stdout)


@pytest.mark.slow
def test_killed_twice_at_random_it_makes_the_same_trees_and_pays_for_no_call_twice(tmp_path: Path) -> None:
    files = write_artifacts(tmp_path / "in", 4)
    rng = random.Random(7)
    with FakeServer(contrary, latency_seconds=0.1) as server:
        build(files, tmp_path / "whole", server)
        calls = server.counts["requests"]
        server.counts.clear()
        command = [sys.executable, "-c", "from workbench.main import main; main()", "build"]
        command += [*map(str, files), "--type", "field guide", "--engine", MODEL, "--api-base", server.api_base]
        command += ["--out", str(tmp_path / "killed"), "--concurrency", "2"]
        for _ in range(2):
            finished = asked_of(tmp_path / "killed")
            server.received.clear()
            before, wanted = server.counts["requests"], rng.randint(1, 5)
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while server.counts["requests"] < before + wanted and process.poll() is None:
                time.sleep(0.005)
            time.sleep(rng.uniform(0, 0.2))
            assert process.poll() is None, "it was to be killed before its end"
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            assert finished.isdisjoint(json.dumps(body["messages"]) for body in server.received)
        finished = asked_of(tmp_path / "killed")
        server.received.clear()
        assert subprocess.run(command, capture_output=True, check=False).returncode == 0
        assert finished.isdisjoint(json.dumps(body["messages"]) for body in server.received)
        assert server.counts["requests"] <= calls + 2 * 2, "only what was under way when it was killed"
    for target in sorted((tmp_path / "whole").glob("*.json")):
        assert (tmp_path / "killed" / target.name).read_bytes() == target.read_bytes()


def asked_of(out: Path) -> set[str]:
    return {json.dumps(request["messages"]) for request in kept_requests(out / CALLS)}


INDEX = recorded_index()
WITH_SESSIONS = [entry for entry in INDEX if entry.sessions]


def titles(entries: list[Recorded]) -> list[str]:
    return [entry.name for entry in entries]


@pytest.mark.parametrize("entry", INDEX, ids=titles(INDEX))
def test_every_tree_opens(entry: Recorded) -> None:
    tree = entry.tree()
    assert len(tree) >= 18
    assert initial_state(tree).discovered == set(tree.initially_discovered) != set()
    assert entry.artifact().text


@pytest.mark.slow
@pytest.mark.parametrize("entry", WITH_SESSIONS, ids=titles(WITH_SESSIONS))
def test_states_rewards_and_views_follow_from_the_stored_verdicts(entry: Recorded) -> None:
    for conversation in load_recorded(entry.name):
        assert replay(conversation) == conversation and len(conversation.turns) == 5
        assert conversation.tree == entry.tree() and conversation.setting["domain"] == entry.domain


def test_unknown_names_and_broken_files_say_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(RecordedError, match=r"0 recorded artifacts are called 'no such'.*night_harbour"):
        find_recorded("no such")
    with pytest.raises(RecordedError, match="cannot be read"):
        load_recorded(tmp_path / "missing.json")
    broken = tmp_path / "broken.json"
    for text, message in (("{", "not JSON"), ("{}", "missing 'artifact'"), ("[]", "not a recorded artifact")):
        broken.write_text(text)
        with pytest.raises(RecordedError, match=message):
            load_recorded(broken)
