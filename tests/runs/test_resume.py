"""Runs that lose nothing: killed, stopped, out of money or met with failures, then resumed to the same end."""

import contextlib
import dataclasses
import itertools
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import llm_brain
import pytest
from llm_server import FakeServer, Faults
from scripted import sevenfold
from waiting import kept_requests, until

from discover_lib.core.roles import AssistantError, JudgeError, VoiceError
from discover_lib.core.rules import Rules
from discover_lib.engines.llm.calls import exchange, wires
from discover_lib.engines.llm.calls.client import ClientSettings, LLMError
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import generate_artifacts
from discover_lib.engines.miniature.voice import MiniatureVoice
from discover_lib.engines.spec import EngineSpec, RoleEngines
from discover_lib.runs import options as run_options
from discover_lib.runs.evaluation import SCORES_FILE, lay_out_evaluation, write_evaluation
from discover_lib.runs.options import FAILING_STREAK, RunOptions, execute, lay_out, run_into, write_results
from discover_lib.runs.store import FILE, RunStore
from discover_lib.runs.units import plan_units, run_unit
from discover_lib.runs.work import Processes, Threads, Workers, graceful_stop, work

pytestmark = pytest.mark.slow

DOMAIN = "creative_writing"
MODEL = f"openai/miniature:{DOMAIN}"
MINIATURE = RunOptions(("adaptive", "mixed"), domain="technical_writing", artifacts=60)
LANGUAGE_MODELS = RunOptions(("adaptive", "draft"), domain=DOMAIN, engine=MODEL, artifacts=8)


def begin(
    folder: Path, options: RunOptions, concurrency: int, server: FakeServer | None = None, command: str = "simulate"
) -> subprocess.Popen:
    given = {"run": folder, "domain": options.domain, "engine": options.judge, "artifacts": options.artifacts}
    given |= {"trials": options.trials, "concurrency": concurrency} | ({"api-base": server.api_base} if server else {})
    arguments = [text for name, value in given.items() for text in (f"--{name}", str(value))]
    arguments += [text for name in options.assistants for text in ("--assistant", name)]
    words = [sys.executable, "-c", "from workbench.main import main; main()", command, *arguments]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(
    folder: Path, options: RunOptions, concurrency: int = 2, server: FakeServer | None = None, command: str = "simulate"
) -> bytes:
    """The run to its end in this process, begun or resumed; all its conversations and their scores."""
    settings = ClientSettings(api_base=server.api_base, env_file=None) if server else None
    run = lay_out(options)
    if command == "evaluate":
        run = lay_out_evaluation(dataclasses.replace(options, domain=None), [str(options.domain)])
    report = execute(run, folder, concurrency=concurrency, settings=settings)
    assert report.halted is None and report.last.done == report.last.counts.units
    write_results(folder)
    write_evaluation(folder)
    return (folder / "conversations.jsonl").read_bytes() + (folder / SCORES_FILE).read_bytes()


class Asked:
    """The miniature behind the wire, counting how often each request was answered."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def __call__(self, messages, body):
        self.counts[self.name(messages, body.get("seed"))] += 1
        return llm_brain.answer(messages, body)

    @staticmethod
    def name(messages, seed) -> str:
        return "\n".join([str(seed), *(message["content"] for message in messages)])

    def finished(self, run: Path) -> dict[str, int]:
        """Of the calls that the run has kept: how often each was answered so far."""
        names = [self.name(request["messages"], request["seed"]) for request in kept_requests(run)]
        return {name: self.counts[name] for name in names}


def kill(process: subprocess.Popen, moment, rng: random.Random) -> None:
    until(lambda: process.poll() is not None or moment())
    time.sleep(rng.uniform(0, 0.15))
    process.kill()
    process.communicate()


def test_killed_at_random_moments_a_run_with_language_models_ends_the_same_and_pays_for_no_call_twice(tmp_path):
    asked, kills, rng = Asked(), 2, random.Random(4)
    with FakeServer(asked, latency_seconds=0.04) as server:
        undisturbed = finish(tmp_path / "undisturbed", LANGUAGE_MODELS, 4, server)
        calls = asked.counts.total()
        asked.counts.clear()
        paid, run, at_work = {}, tmp_path / "killed", 0
        for _ in range(kills):
            enough = asked.counts.total() + rng.randrange(calls // (2 * kills))
            process = begin(run, LANGUAGE_MODELS, 4, server)
            kill(process, lambda: asked.counts.total() > enough, rng)  # noqa: B023
            at_work += process.returncode == -signal.SIGKILL
            time.sleep(0.1)  # what was in flight reaches the server's count
            paid |= {name: count for name, count in asked.finished(run).items() if name not in paid}
        assert finish(run, LANGUAGE_MODELS, 4, server) == undisturbed
    assert at_work == kills and len(paid) > calls / 8
    assert not {name: asked.counts[name] - count for name, count in paid.items() if asked.counts[name] != count}


def test_killed_at_random_moments_the_miniature_ends_the_same_and_runs_no_unit_twice(tmp_path):
    undisturbed = finish(tmp_path / "undisturbed", MINIATURE, command="evaluate")
    run, rng, turns = tmp_path / "killed", random.Random(3), len(turn_rows(tmp_path / "undisturbed"))
    kept: set[tuple[int, int]] = set()
    for _ in range(2):
        enough = len(kept) + rng.randrange(turns // 4)
        kill(begin(run, MINIATURE, 2, command="evaluate"), lambda: len(turn_rows(run)) > enough, rng)  # noqa: B023
        assert kept <= turn_rows(run), "what was committed stays as it was written"
        kept = turn_rows(run)
    assert finish(run, MINIATURE, command="evaluate") == undisturbed
    assert kept and kept <= turn_rows(run)


def turn_rows(run: Path) -> set[tuple[int, int]]:
    """(row, place) of every turn: a conversation run again would get new rows."""
    if not (run / FILE).exists():
        return set()
    connection = sqlite3.connect(f"file:{run / FILE}?mode=ro", uri=True)
    try:
        return set(connection.execute("SELECT rowid, place FROM turns"))
    except sqlite3.OperationalError:  # no tables yet
        return set()
    finally:
        connection.close()


def children_of(parent: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError):
            if int(stat.read_text().rpartition(")")[2].split()[1]) == parent:
                found.append(int(stat.parent.name))
    return found


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
def test_a_killed_run_leaves_no_worker_behind(tmp_path):
    process = begin(tmp_path / "run", dataclasses.replace(MINIATURE, trials=5), 2)
    workers = until(lambda: children_of(process.pid))
    process.kill()
    process.communicate()
    until(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers))


def test_ctrl_c_keeps_what_is_finished_and_says_how_to_go_on(tmp_path):
    with FakeServer(llm_brain.answer, latency_seconds=0.1) as server:
        process = begin(tmp_path / "run", LANGUAGE_MODELS, 4, server)
        until(lambda: server.counts["served"] > 20)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=180)
        assert process.returncode == 130 and "repeat the command to resume" in err and "Traceback" not in err
        with RunStore.read(tmp_path / "run") as store:
            assert 0 < store.counts().turns < 80 and not store.failures()


@pytest.mark.parametrize(("domain", "candidates"), [("creative_writing", None), ("svg_drawing", 1)])
def test_with_a_third_of_the_replies_faulty_every_conversation_ends_unaltered(
    domain, candidates, tmp_path, monkeypatch
):
    # An answer that could not be used is asked for anew with another seed; here with the same, to compare.
    monkeypatch.setattr(exchange.Request, "anew", lambda request, times: request)
    options = RunOptions(
        ("adaptive", "mixed"), domain=domain, engine=f"openai/miniature:{domain}", artifacts=6, candidates=candidates
    )
    laid_out = lay_out(options)
    with FakeServer(llm_brain.answer, faults=Faults(0.3, timeout_seconds=3)) as server:
        quick = {"timeout_seconds": 1.0, "first_wait_seconds": 0.02, "longest_wait_seconds": 0.1}
        settings = ClientSettings(api_base=server.api_base, env_file=None, **quick)
        for _ in range(5):  # what failed is tried again by resuming
            report = execute(laid_out, tmp_path, concurrency=16, settings=settings)
            if not report.last.counts.failed:
                break
    assert report.last.counts.finished == len(laid_out.units) and report.halted is None
    with RunStore.read(tmp_path) as store:
        unscored = {place for place, failure in store.failures() if not failure.ended}
        assert unscored == {row.place for row in store.listing() if row.unscored}, "what was not scored is counted"
        assert candidates is not None or not unscored
        for unit in laid_out.units:
            if unit.place not in unscored:
                assert store.conversation(unit.place).turns == run_unit(unit).turns


@pytest.fixture(autouse=True)
def all_that_decides_goes_over_the_wire(request, monkeypatch):
    """The miniature behind the wire draws from whole seeds and does not know the conversation's temperament.

    A process of its own sends the seeds that are always sent.
    """
    if not request.node.name.startswith("test_killed"):
        monkeypatch.setattr(wires, "LARGEST_SEED", 2**63 - 1)
        monkeypatch.setattr(MiniatureVoice, "of", lambda voice, user: voice)


@pytest.fixture(scope="module")
def trees():
    builder = engine(DOMAIN).builder
    return {each.id: (DOMAIN, builder.build(each).tree) for each in generate_artifacts(DOMAIN, "eval", 4)}


def units_of(trees, *assistants, candidates=None, trials=1):
    return plan_units(trees, assistants, trials=trials, turns=3, rules=Rules.paper(), seed=0, candidates=candidates)


class Breaking(RoleEngines):
    """The miniature, with roles that break when told to: `breaks(role, seen)` raises or does nothing."""

    def __init__(self, breaks) -> None:
        super().__init__(EngineSpec())
        self.breaks = breaks

    def judge(self, domain):
        return Role(super().judge(domain), self.breaks)

    def assistant(self, name, domain):
        return Role(super().assistant(name, domain), self.breaks, name)

    def voice(self, domain):
        return Role(super().voice(domain), self.breaks)


class Role:
    """Any role of the miniature, asked whether it breaks before it does its part."""

    def __init__(self, whole, breaks, name=None) -> None:
        self.whole, self.breaks, self.name = whole, breaks, name

    def evaluate(self, tree, state, messages, reply, rules):
        self.breaks("judge", (tree, messages, reply))
        return self.whole.evaluate(tree, state, messages, reply, rules)

    def reply(self, messages, seed):
        self.breaks("assistant", (None, messages, self.name))
        return self.whole.reply(messages, seed)

    def speak(self, view, messages, seed):
        self.breaks("voice", (None, messages, None))
        return self.whole.speak(view, messages, seed)


def run(folder, units, engines, concurrency=8, **options):
    """Run or resume in the folder: the report, the finished conversations, the failures that stand."""
    folder.mkdir(exist_ok=True)
    with RunStore.write(folder, {"rules": Rules.paper().to_dict()}) as store:
        report = run_into(store, units, Threads(concurrency), engines=engines, **options)
        return report, list(store.conversations()), store.failures()


def whole(units):
    return [run_unit(unit) for unit in units]


def raised(error, cause):
    error.__cause__ = cause
    return error


def unusable(kind="content"):
    return LLMError("no usable answer", kind)


def test_a_role_that_fails_ends_its_conversation_and_not_the_run_and_is_tried_again(trees, tmp_path):
    units, third = units_of(trees, "adaptive"), list(trees)[2]

    def breaks(role, seen):
        if role == "voice" and len(seen[1]) == 4 and seen[1][0].content == trees[third][1].initial_request:
            cause = unusable()
            cause.raw = ("I would rather not",)
            raise raised(VoiceError("the user's message could not be had"), cause)

    report, finished, failures = run(tmp_path, units, Breaking(breaks), concurrency=3)
    assert report.halted is None and report.last.counts.failed == len(failures) > 0
    for place, failure in failures:
        assert units[place].tree.initial_request == trees[third][1].initial_request
        assert (failure.role, failure.turn, failure.kind) == ("voice", 2, "content")
        assert failure.came_back == ("I would rather not",)
    assert len(finished) == len(units) - len(failures)
    report, finished, left = run(tmp_path, units, Breaking(lambda *_: None))
    assert finished == whole(units) and not left
    assert report.last.turns_now == 2 * len(failures), "the first turn was kept"


def test_a_judgement_that_cannot_be_read_leaves_its_candidate_unscored(trees, tmp_path):
    units = units_of(trees, "adaptive", "draft", candidates=1)

    def breaks(role, seen):
        if role == "judge" and seen[2].assistant == "draft":
            raise raised(JudgeError("the reply could not be judged"), unusable())

    report, finished, failures = run(tmp_path, units, Breaking(breaks))
    assert report.last.counts.finished == len(units)
    assert all(turn.reply.assistant == "adaptive" for talk in finished for turn in talk.turns)
    assert len(failures) == sum(len(talk.turns) for talk in finished)
    assert not any(failure.ended for _, failure in failures)


def test_first_conversations_begin_apart_and_a_stop_does_not_wait_for_those_to_come(trees, tmp_path):
    units, begun, together = units_of(trees, "adaptive", "draft"), [], threading.Barrier(3)
    stop = threading.Event()

    def breaks(role, seen):
        if role == "assistant" and len(seen[1]) == 1:
            begun.append(time.monotonic())
            if len(begun) == 3:
                stop.set()
            together.wait(120)  # all of the first three are under way at the same time

    report, _, _ = run(tmp_path, units, Breaking(breaks), concurrency=len(units), apart=0.2, stop=stop)
    assert report.halted == "stopped"
    assert len(begun) == 3, "nothing begins after a stop"
    assert min(later - earlier for earlier, later in itertools.pairwise(begun)) > 0.1


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_candidate_without_a_reply_is_left_out_and_counted(concurrency, trees, tmp_path):
    units = units_of(trees, "adaptive", "ask", "draft", candidates=1)

    def breaks(role, seen):
        if role == "assistant" and seen[2] == "draft":
            cause = unusable("server")
            cause.raw = ("cut", "cut again")
            raise raised(AssistantError("draft did not reply"), cause)

    report, finished, failures = run(tmp_path, units, Breaking(breaks), concurrency=concurrency)
    assert report.last.counts.finished == len(units)
    alone = [run_unit(dataclasses.replace(unit, assistants=("adaptive", "ask"))) for unit in units]
    for talk, without in zip(finished, alone, strict=True):
        for turn, same in zip(talk.turns, without.turns, strict=True):
            adaptive, ask, draft = turn.candidates
            assert (draft.reply.text, draft.evaluation, draft.reward) == ("", None, None)
            assert draft.error == "assistant: draft did not reply" and draft.after == turn.before
            assert turn.chosen in (0, 1) and turn.reply == same.reply
            assert adaptive.evaluation and ask.evaluation
    told = [(place, each.turn, each.role, each.kind, each.came_back, each.ended) for place, each in failures]
    turns = [(place, turn.index) for place, talk in enumerate(finished) for turn in talk.turns]
    assert sorted(told) == [(*at, "assistant", "server", ("cut", "cut again"), False) for at in turns]


def test_an_outage_does_not_decide_between_candidates(trees, tmp_path):
    units = units_of(trees, "adaptive", "draft", candidates=1)

    def breaks(role, seen):
        if role == "judge" and seen[2].assistant == "draft":
            raise raised(JudgeError("the reply could not be judged"), unusable("timeout"))

    report, finished, failures = run(tmp_path, units, Breaking(breaks))
    assert report.last.counts.failed == len(units) and not finished
    assert {(failure.role, failure.kind, failure.turn) for _, failure in failures} == {("judge", "timeout", 1)}
    _, finished, failures = run(tmp_path, units, Breaking(lambda *_: None))
    assert finished == whole(units) and not failures


def test_a_missing_key_ends_the_run_at_once_and_a_provider_that_is_down_after_a_while(trees, tmp_path):
    units = units_of(trees, "adaptive", trials=20)

    def no_key(role, seen):
        raise unusable("auth")

    def down(role, seen):
        raise raised(JudgeError("the reply could not be judged"), unusable("connection"))

    report, finished, failures = run(tmp_path, units, Breaking(no_key), concurrency=2)
    assert report.halted == "auth" and not finished and not failures, "no conversation is blamed"
    assert report.last.counts.open == len(units)
    report, _, failures = run(tmp_path, units, Breaking(down), concurrency=2)
    assert report.halted == "failing" and FAILING_STREAK <= len(failures) <= FAILING_STREAK + 2
    assert "could not be judged" in report.message


@pytest.mark.parametrize("runs", ["threads", "processes"])
def test_progress_tells_how_far_how_fast_and_what_failed(runs, trees, tmp_path, monkeypatch):
    monkeypatch.setattr(run_options, "TICK_SECONDS", 0.0)
    monkeypatch.setattr(run_options, "TICK_SHARE", 1e9)  # however long telling takes on a busy machine
    units, seen = units_of(trees, "adaptive", trials=4), []
    if runs == "threads":
        run(tmp_path, units, Breaking(lambda *_: time.sleep(0.002)), concurrency=2, on_progress=seen.append)
    else:
        with RunStore.write(tmp_path, {"rules": Rules.paper().to_dict()}) as store:
            run_into(store, units, Workers(), on_progress=seen.append)
    turns = [snapshot.turns_now for snapshot in seen]
    assert len(seen) > 2 and turns == sorted(turns) and turns[-1] == 3 * len(units)
    assert any(snapshot.seconds_left for snapshot in seen) and seen[-1].turns_left == 0
    assert all(snapshot.turns_now + snapshot.turns_left >= 3 * snapshot.counts.finished for snapshot in seen)


@pytest.mark.parametrize(
    "workers", [Workers, lambda: Threads(3), lambda: Processes(2), lambda: Processes(1, fresh=True)]
)
def test_every_unit_is_worked_on_once_and_an_error_comes_after_what_was_under_way(workers):
    kept: list[int] = []
    work(range(12), sevenfold, kept.append, workers())
    assert sorted(kept) == [7 * number for number in range(12)]
    with pytest.raises(KeyError, match="13"):
        work(range(200), sevenfold, kept.append, workers())
    assert len(kept) == len(set(kept[12:])) + 12 and len(kept) < 12 + 199


@pytest.mark.parametrize("before", [signal.SIG_IGN, signal.SIG_DFL, signal.default_int_handler])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_asks_the_second_interrupts_and_what_was_there_is_put_back(number, before) -> None:
    requests: list[int] = []
    found = signal.signal(number, before)
    try:
        with pytest.raises(KeyboardInterrupt), graceful_stop(lambda: requests.append(number)):
            signal.raise_signal(number)
            assert requests == [number]
            signal.raise_signal(number)
        assert requests == [number]
        assert signal.getsignal(number) == before
    finally:
        signal.signal(number, found)
