"""The study over HTTP: the flow of Figure 9, a reload anywhere, blinding, withdrawal, failures and a killed server."""

import asyncio
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import httpx
import msgspec
import pytest
from browser import free_port
from llm_brain import answer
from llm_server import FakeServer
from study_people import FINAL, LONG, PatientPerson, Person, changed, with_chat

from discover_lib.base.errors import DiscoverError
from discover_lib.core.conversation import Reply
from discover_lib.core.roles import AssistantError
from discover_lib.engines.llm.calls.client import ClientSettings, Price
from discover_lib.runs.store import LockedError
from workbench.study import study_server
from workbench.study.design import Condition, Study
from workbench.study.desk import Desk, Progress
from workbench.study.study_pages import APOLOGY
from workbench.study.study_server import Assistants

New = Callable[..., Person]


def only(desk: Desk) -> tuple[str, Progress]:
    [(code, progress)] = desk.everybody()
    return code, progress


def all_bytes(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.slow
def test_one_goes_from_consent_to_the_completion_code(person: Person, desk: Desk) -> None:
    person.get()
    assert "Step 1 of 6" in person.page and "may leave at any time" in person.page
    person.post({"step": "consent", "action": "yes"})
    assert "tick the box" in person.page
    task = person.admitted()
    topics = task.values("topic")
    chat = person.post({"step": "task", "topic": topics[1]})
    assert "chat" in chat.values("step") and "Messages so far: 0. You need at least 2." in person.page
    one = person.say("I would like something about the sea", 0)
    assert len(one.replies) == 1 and "Messages so far: 1." in person.page
    two = person.say("a bit warmer, please", 1)
    assert len(two.replies) == 2 and two.values("step") == ["rating"]
    person.post({"step": "rating"})
    assert "choose a number" in person.page
    person.post({"step": "rating", "rating": "unsaid"})
    assert "You can finish now" in person.page
    assert "final" in person.post({"step": "chat", "action": "finish"}).values("step")
    person.post({**FINAL, "strengths": "short"})
    assert "at least 50 characters. You have 5." in person.page and LONG in person.page
    person.post(FINAL)
    assert "cc=CHANGE-ME-1" in person.page and "several assistants" in person.page
    _, progress = only(desk)
    assert progress.closed == "done" and progress.topic == topics[1]
    assert [event["value"] for event in progress.every("rated")] == [None]
    assert progress.final["ratings"] == {"interaction": 8, "satisfaction": 6}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answers", "code", "step"),
    [
        ({"step": "consent", "action": "no"}, "CHANGE-ME-3", "no_consent"),
        ({"step": "eligibility", "adult": "yes", "english": "no", "weekly": "yes"}, "CHANGE-ME-2", "screened_out"),
    ],
)
def test_nonparticipants_get_codes(person: Person, desk: Desk, answers: dict[str, str], code: str, step: str) -> None:
    person.get()
    if step == "screened_out":
        person.post({"step": "consent", "agreed": "1", "action": "yes"})
    person.post(answers)
    assert code in person.page and only(desk)[1].step == step


@pytest.mark.slow
def test_a_session_that_rests_too_long_is_closed_and_refilled(study: Study, tmp_path: Path, new_person: New) -> None:
    now = [1000.0]
    desk = Desk.open(study, tmp_path / "slow", clock=lambda: now[0])
    first, second = new_person(desk), new_person(desk)
    first.chosen()
    now[0] += 60 * study.timeout_minutes + 1
    desk.expire()
    first.get()
    assert "closed" in first.page
    second.chosen()
    assert [progress.slot for _, progress in desk.everybody()] == [0, 0]


def test_one_process_serves_a_study_and_one_version_of_it(study: Study, desk: Desk) -> None:
    with pytest.raises(LockedError):
        Desk.open(study, desk.folder)
    desk.close()
    with pytest.raises(DiscoverError, match="another version"):
        Desk.open(changed(study, title="Another"), desk.folder)
    assert Desk.read(desk.folder).study.version == study.version


@pytest.mark.slow
def test_outside_ids_are_kept_as_salted_hashes_apart(new_person: New, desk: Desk) -> None:
    link = "/?PROLIFIC_PID=5f1e2d3c4b5a&STUDY_ID=s77&SESSION_ID=x9y8z7"
    first, again, other = new_person(), new_person(), new_person()
    first.admitted(link)
    assert again.get(link).values("topic"), "the same session goes on where it was, on another device"
    other.get(link.replace("x9y8z7", "another"))
    assert other.status == 403 and "already taken part" in other.page
    assert len(list(desk.everybody())) == 1
    stored = all_bytes(desk.folder)
    assert not re.search(b"5f1e2d3c4b5a|x9y8z7|s77", stored)
    assert b"identities" not in stored


@pytest.mark.slow
def test_beyond_this_machine_the_link_holds_a_token(new_person: New, desk: Desk) -> None:
    person = new_person(token="sesame")
    person.get()
    assert person.status == 403 and not list(desk.everybody())
    person.get("/?token=sesame")
    assert person.status == 200 and "token" not in str(person.client.cookies)
    person.get()
    assert person.status == 200, "the cookie is enough from then on"


@pytest.mark.slow
def test_personal_data_is_warned_of_before_anything_is_kept(person: Person, desk: Desk) -> None:
    person.chosen()
    person.say("write to kim@example.com about the sea", 0)
    assert "an e-mail address (“kim@example.com”)" in person.page and "write to kim@" in person.page
    assert b"kim@example.com" not in all_bytes(desk.folder)
    person.say("write to kim@example.com about the sea", 0, confirmed="1")
    assert only(desk)[1].exchanges[0].said["personal"] == ["an e-mail address"]


@pytest.mark.slow
def test_what_people_write_is_a_text_and_no_page(person: Person) -> None:
    person.chosen()
    person.say("<script>alert(1)</script> about the sea", 0)
    assert "<script>alert" not in person.page and "&lt;script&gt;alert" in person.page


@pytest.mark.slow
def test_a_withdrawal_deletes_to_the_last_byte(new_person: New, desk: Desk) -> None:
    stays, leaves = new_person(), new_person()
    stays.chosen()
    stays.say("an owl in the snow", 0)
    leaves.admitted("/?PROLIFIC_PID=gone123&SESSION_ID=ses")
    leaves.post({"step": "task", "topic": leaves.get().values("topic")[0]})
    leaves.say("the zephyrous harbour", 0)
    (desk.folder / "export").mkdir()
    (desk.folder / "export" / "messages.csv").write_text("the zephyrous harbour")
    code = next(code for code, each in desk.everybody() if "zephyrous" in json.dumps(each.events))
    leaves.get("/withdraw")
    leaves.post({"code": f" {code[:4].lower()}-{code[4:]}"}, "/withdraw")
    assert "We have deleted everything" in leaves.page
    left = all_bytes(desk.folder)
    names = " ".join(str(path) for path in desk.folder.rglob("*"))
    hashed = desk.salted("gone123")
    for secret in ("zephyrous", code, hashed, desk.pseudonym(code)):
        assert secret.encode() not in left and secret not in names
    assert b"owl in the snow" in left and [*desk.withdrawn().values()] == [1]
    assert set(desk.withdrawn()) < {"base", "tuned"}, "of who left, a count by condition is kept"
    leaves.get()
    assert "Step 1 of 6" in leaves.page, "to come again is to begin anew"


@pytest.mark.slow
def test_a_wrong_code_deletes_nothing_and_costs_time(person: Person, desk: Desk) -> None:
    person.chosen()
    began = time.monotonic()
    for code in ("AAAABBBBCCCCDDDD", "../key", ""):
        person.post({"code": code}, "/withdraw")
        assert person.status == 404
    assert time.monotonic() - began >= 1.5 and len(list(desk.everybody())) == 1


def take_part(new_person: New, study: Study, folder: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """All that one participant is served, under codes that are the same every time."""
    monkeypatch.setattr("secrets.token_bytes", lambda n: bytes(range(n)))
    person = new_person(Desk.open(study, folder))
    person.chosen()
    person.finish()
    return b"\n".join(person.served)


@pytest.mark.slow
def test_no_byte_tells_the_arm(new_person: New, study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same assistant under other labels: every byte is the same, of bodies, headers and addresses."""
    shown = []
    for number, labels in enumerate((("base", "tuned"), ("tuned", "base"), ("alpha-arm", "omega-arm"))):
        same = changed(study, conditions={label: Condition(assistant="adaptive") for label in labels})
        shown.append(take_part(new_person, same, tmp_path / str(number), monkeypatch))
    assert shown[0] == shown[1] == shown[2]
    assert not re.search(rb"adaptive|alpha-arm|tuned", shown[0].split(b"What we had not told")[0])


@pytest.mark.slow
def test_answers_take_equal_time(
    study: Study, tmp_path: Path, new_person: New, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a clock of the test's own, which a slow assistant and every wait move on."""
    now = [1000.0]

    async def wait(seconds: float) -> None:
        now[0] += seconds

    class Timed(Assistants):
        def reply(self, code: str, progress: Progress) -> tuple[Reply, float]:
            now[0] += 0.25 if progress.condition == "base" else 0.0
            return super().reply(code, progress)

    monkeypatch.setattr(study_server, "asyncio", SimpleNamespace(**vars(asyncio) | {"sleep": wait}))
    timed = with_chat(study, reply_seconds=0.6)
    desk = Desk.open(timed, tmp_path / "timed", clock=lambda: now[0])
    for _ in range(4):
        person = new_person(desk, Timed(timed))
        person.chosen()
        person.say("about the sea", 0)
    everybody = [progress for _, progress in desk.everybody()]
    assert {each.condition for each in everybody} == {"base", "tuned"}
    told = [(exchange.said, exchange.reply) for each in everybody for exchange in each.exchanges]
    assert [reply["at"] - said["at"] for said, reply in told] == pytest.approx([0.6] * 4)  # type: ignore[index]


class Failing(Assistants):
    failed = 0
    cause: Exception | None = None

    def reply(self, code: str, progress: Progress) -> tuple[Reply, float]:
        if not self.failed:
            self.failed = 1
            raise AssistantError("secret-model did not reply") from self.cause
        return super().reply(code, progress)


@pytest.mark.slow
def test_a_failure_is_an_apology_and_another_try_and_is_logged(new_person: New, study: Study, desk: Desk) -> None:
    person = new_person(desk, Failing(study))
    person.chosen()
    reader = person.say("about the sea", 0)
    assert APOLOGY in person.page and "about the sea" in person.page and "secret-model" not in person.page
    assert not re.search("<form[^>]*data-resume", person.page), "nobody is asked for ever"
    reader = person.post({"step": "chat", "n": reader.values("n")[0], "action": "resume"})
    assert len(reader.replies) == 1
    [exchange] = only(desk)[1].exchanges
    assert exchange.failures == 1 and b"secret-model" in all_bytes(desk.folder)


@pytest.mark.slow
def test_a_language_model_answers_a_person_and_its_cost_is_kept(new_person: New, study: Study, tmp_path: Path) -> None:
    model = "openai/miniature:creative_writing:adaptive"
    asked = changed(study, conditions={label: Condition(assistant=model) for label in ("base", "tuned")})
    with FakeServer(brain=answer) as server:
        settings = ClientSettings(api_base=server.api_base, env_file=None, prices={model: Price(1.0, 1.0)})
        desk = Desk.open(asked, tmp_path / "models")
        person = new_person(desk, Assistants(asked, settings))
        person.chosen()
        reader = person.say("about the sea", 0)
        assert len(reader.replies) == 1 and server.counts["requests"] == 1
    assert only(desk)[1].cost > 0


class OverBudget(Exception):
    kind = "budget"


@pytest.mark.slow
def test_a_spent_budget_ends_the_conversation_and_nothing_else(new_person: New, study: Study, desk: Desk) -> None:
    assistants = Failing(study)
    assistants.cause = OverBudget()
    person = new_person(desk, assistants)
    person.chosen()
    person.say("about the sea", 0)
    assert "reached its limit" in person.page
    person.post({"step": "chat", "action": "finish"})
    person.post(FINAL)
    assert "You have finished" in person.page


@pytest.mark.slow
def test_killed_four_times_nothing_that_was_sent_is_lost(study: Study, tmp_path: Path) -> None:
    """The server dies in the middle of everything, and comes back at the same address."""
    longer, folder, file = with_chat(study, minimum=8, maximum=9), tmp_path / "kept", tmp_path / "study.yaml"
    file.write_text(json.dumps(msgspec.to_builtins(longer)), "utf-8")  # JSON is YAML
    port = free_port()
    command = [sys.executable, "-m", "workbench.main", "study", "serve", str(file)]
    command += ["--folder", str(folder), "--port", str(port)]
    running = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)]
    how = {"base_url": f"http://127.0.0.1:{port}", "follow_redirects": True, "timeout": 60}
    people = [PatientPerson(httpx.Client(**how), name) for name in ("ann", "bo", "cid", "dee", "eve", "fay")]
    try:
        with ThreadPoolExecutor(len(people)) as pool:
            ends = [pool.submit(person.take_part) for person in people]
            for _ in range(4):
                before = sum(len(person.said) for person in people)
                while sum(len(person.said) for person in people) < before + 3 and not all(e.done() for e in ends):
                    time.sleep(0.02)
                running[-1].kill()
                running[-1].wait()
                running.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            for end in ends:
                end.result(timeout=300)
    finally:
        running[-1].kill()
        running[-1].wait()
    desk = Desk.read(folder)
    finished = [progress for _, progress in desk.everybody() if progress.closed == "done"]
    kept = [exchange.said["text"] for each in finished for exchange in each.exchanges]
    assert len(running) == 5 and len(finished) == 6 and sum(each.answered for each in finished) == 48
    assert sorted(kept) == sorted(text for person in people for text in person.said)
