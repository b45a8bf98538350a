"""The panel certificate: a sound user passes, a judge that cannot judge does not, and pages are told."""

import dataclasses
import json
import shutil
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import llm_brain
import pytest
from cast import Cast
from llm_server import FakeServer

from discover_lib import IntentState, IntentTree, Message, Reply, Rules
from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import data_folder, write_json
from discover_lib.base.seeds import unit_uniform
from discover_lib.core.advance import walk
from discover_lib.core.conversation import Conversation
from discover_lib.core.rollout import MAX_TURNS
from discover_lib.core.state import Evaluation, Verdict
from discover_lib.engines.llm.calls.client import ClientSettings
from discover_lib.engines.manner import MANNERS, Manner
from discover_lib.engines.miniature import assistants
from discover_lib.engines.miniature.lexicon import ALL_DOMAINS
from discover_lib.engines.spec import MINIATURE, RoleEngines
from discover_lib.metrics.certificate import (
    ENOUGH,
    PANEL,
    RELATIONS,
    USER_BLIND,
    Certificate,
    Kind,
    _verdict,
    certified,
)
from discover_lib.metrics.intervals import Estimate
from discover_lib.metrics.results import rounded
from discover_lib.runs.evaluation import lay_out_evaluation
from discover_lib.runs.options import RunOptions, execute, lay_out
from discover_lib.runs.units import plan_units, run_unit
from discover_lib.tasks.certify import (
    FILE,
    SHIPPED,
    Certify,
    certify,
    certify_miniature,
    panel_of,
    read_certificate,
    subject_of,
    trust_in,
)
from discover_lib.tasks.playing import Models
from discover_lib.tasks.waist import Run
from workbench.views import audit_parts as show_audit

pytestmark = pytest.mark.slow

DOMAIN = "technical_writing"
UNCERTIFIED = Rules.paper().replace(p=0.5)  # no certificate of these comes with the library
FEW = 24


def trees(artifacts: int = FEW) -> dict[str, tuple[str, IntentTree]]:
    return dict(lay_out(RunOptions(("silent",), domain=DOMAIN, artifacts=artifacts)).trees)


class Blunt:
    """A judge that answers every question the same way, or by a coin."""

    def __init__(self, engaged: bool | None) -> None:
        self.engaged = engaged

    def evaluate(
        self, tree: IntentTree, state: IntentState, messages: Sequence[Message], reply: Reply, rules: Rules
    ) -> Evaluation:
        def decide(intent):
            engaged = unit_uniform(reply.text, intent.id) < 0.2 if self.engaged is None else self.engaged
            return Verdict(intent.id, engaged)

        return Evaluation("artifact", walk(tree, state, rules, decide))


def run_panel(
    trees: Mapping[str, tuple[str, IntentTree]],
    *,
    engines: RoleEngines | None = None,
    turns: int = MAX_TURNS,
    panel: Sequence[str] = PANEL,
) -> list[Conversation]:
    units = plan_units(trees, panel, trials=1, turns=turns, rules=Rules.paper(), seed=0, engine=MINIATURE)
    return [run_unit(unit, engines) for unit in units]


def made(judge: Blunt | None = None, artifacts: int = 6) -> Certificate:
    return certified(run_panel(trees(artifacts), engines=Cast(judge)), {"engine": "test"})


@pytest.fixture(scope="module")
def sound() -> Certificate:
    return made(artifacts=FEW)


@pytest.mark.slow
def test_the_miniature_passes(sound: Certificate) -> None:
    assert sound.result == "passed", sound.line
    assert Certificate.from_dict(json.loads(json.dumps(sound.to_dict()))) == sound
    assert list(sound.found) == list(PANEL) and sound.artifacts == FEW and USER_BLIND == assistants.USER_BLIND
    assert {each.relation for each in sound.tested} == set(RELATIONS)


@pytest.mark.parametrize(
    ("judge", "artifacts", "result"),
    [(Blunt(True), 6, "failed"), (Blunt(False), 6, "undecided"), (Blunt(None), FEW, "failed")],
)
def test_a_judge_that_says_yes_or_no_or_throws_a_coin_fails(judge: Blunt, artifacts: int, result: str) -> None:
    assert made(judge, artifacts).result == result


@pytest.mark.parametrize(
    ("panel", "left_out", "says"),
    [(("silent", "draft"), 0, "no conversations of oracle"), (PANEL, 1, "same artifacts")],
)
def test_a_panel_with_somebody_missing_is_refused(panel: tuple[str, ...], left_out: int, says: str) -> None:
    talks = run_panel(trees(2), panel=panel)
    with pytest.raises(DiscoverError, match=says):
        certified(talks[: len(talks) - left_out], {})


def test_too_few_artifacts_certify_nothing(sound: Certificate) -> None:
    small = dataclasses.replace(sound, artifacts=ENOUGH - 1)
    assert small.result == "undecided" and "too small" in small.line


@pytest.mark.parametrize(
    ("low", "high", "kind", "holds"),
    [
        (0.01, 0.2, "above", "held"), (0.0, 0.2, "above", "not distinguishable"), (-0.2, -0.01, "above", "violated"),
        (-0.1, 0.1, "above", "not distinguishable"), (-0.01, 0.1, "not below", "held"),
        (-0.03, 0.1, "not below", "not distinguishable"), (-0.3, -0.03, "not below", "violated"),
        (0.0, 0.02, "nothing", "held"), (0.0, 0.03, "nothing", "not distinguishable"),
        (0.03, 0.2, "nothing", "violated"), (None, None, "above", "not distinguishable"),
    ],
)  # fmt: skip
def test_where_the_interval_lies_decides(low: float | None, high: float | None, kind: Kind, holds: str) -> None:
    assert _verdict(Estimate(0.5, low, high, 10, 10), kind) == holds


def warning_of(run: Path) -> str:
    """What is told of a run's user; "" where they are certified."""
    trust = trust_in(run)
    return trust.missing or ("" if trust.result == "passed" else trust.verdict)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    execute(lay_out(RunOptions(("draft",), domain=DOMAIN, artifacts=2, turns=2, rules=UNCERTIFIED)), folder)
    return folder


@pytest.fixture(autouse=True)
def outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Certificates of other runs count; here there are none but those of the test."""
    monkeypatch.setenv("DISCOVER_OUTPUTS", str(tmp_path))
    return tmp_path


@pytest.mark.slow
def test_a_run_is_warned_of_until_its_user_is_certified(run: Path) -> None:
    assert "Not validated" in warning_of(run) and "user not validated" in show_audit.certificate_chip(run)
    report = certify(Certify(run=Run(run), artifacts=FEW))
    assert certify(Certify(run=Run(run), artifacts=FEW)) == report, "the same panel again changes nothing"
    certificate = read_certificate(run)
    assert certificate is not None and certificate.turns == 2 and certificate.artifacts == FEW
    assert Certificate.from_dict(report.plain) == certificate
    assert report.exit_code == (0 if certificate.result == "passed" else 1)
    assert (warning_of(run) == "") == (certificate.result == "passed")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["../../../outside", "/tmp/outside-{0}", "inner/outside", "a\\\\b"])
def test_a_run_of_somebody_else_has_no_file_written_outside_its_folder(run: Path, tmp_path: Path, name: str) -> None:
    foreign = tmp_path / "a" / "b" / "foreign"
    shutil.copytree(run, foreign)
    with sqlite3.connect(foreign / "run.sqlite") as file:
        (taken,) = file.execute("SELECT artifact FROM units LIMIT 1").fetchone()
        for table in ("units", "trees"):
            file.execute(f"UPDATE {table} SET artifact = ? WHERE artifact = ?", (name.format(tmp_path.name), taken))
    before = set(tmp_path.rglob("*"))
    with pytest.raises(DiscoverError, match="cannot be the name of a file"):
        certify(Certify(run=Run(foreign), artifacts=FEW))
    made = {path for path in tmp_path.rglob("*") if "sqlite" not in path.name} - before
    assert {path.parent.parent for path in made if path.is_file()} == {foreign / certify.name}
    assert not Path(f"/tmp/outside-{tmp_path.name}.json").exists()


def test_a_failed_certificate_and_one_of_another_user_are_told(run: Path, sound: Certificate) -> None:
    panel = panel_of(Certify(run=Run(run), artifacts=2), run / "trees")
    passed = dataclasses.replace(sound, subject=subject_of(panel.configuration))
    path = run / FILE
    path.write_text(json.dumps(passed.to_dict()))
    assert warning_of(run) == ""

    tested = [dataclasses.replace(passed.tested[0], holds="violated"), *passed.tested[1:]]
    path.write_text(json.dumps(dataclasses.replace(passed, tested=tuple(tested)).to_dict()))
    assert "failed its validation: violated: silent finds nothing" in warning_of(run)

    other = passed.subject | {"engine": {"judge": "openai/x", "voice": "miniature"}}
    path.write_text(json.dumps(dataclasses.replace(passed, subject=other).to_dict()))
    assert "of another simulated user (its engine differ" in warning_of(run)

    path.write_text("{}")
    assert "not a certificate" in warning_of(run)


@pytest.mark.slow
def test_a_language_model_as_the_user_is_certified_through_the_same_seam(tmp_path: Path) -> None:
    """The server plays the miniature's user, so the panel must come out as the miniature's does."""
    model, folder = f"openai/miniature:{DOMAIN}", tmp_path / "run"
    folder.mkdir()
    with FakeServer(llm_brain.answer) as server:
        settings = ClientSettings(api_base=server.api_base, env_file=None)
        options = RunOptions(("draft",), domain=DOMAIN, engine=model, artifacts=1, turns=2)
        execute(lay_out(options), folder, settings=settings)
        asked = Certify(run=Run(folder), artifacts=3)
        panel = panel_of(asked, tmp_path / "trees")
        assert panel.models == [model]
        how = Models(concurrency=8, api_base=(server.api_base,))
        with pytest.raises(DiscoverError, match=r"27 conversations.*no call was made; give --budget"):
            certify(asked, how)
        prices = tmp_path / "prices.yaml"
        prices.write_text(f"as_of: 2026-01-01\ndollars_per_million_tokens:\n  {model}: {{input: 0, output: 0}}\n")
        how = Models(concurrency=8, api_base=(server.api_base,), budget=1, prices=prices)
        found = Certificate.from_dict(certify(asked, how).plain)
    own = certified(run_panel(panel.trees, turns=2), {})
    assert {name: each.mean for name, each in found.found.items()} == {n: each.mean for n, each in own.found.items()}
    assert found.subject["prompts"].keys() == {"response_evaluation", "user_reply"}
    assert "is not validated" in warning_of(folder)


def run_of(folder: Path, **options: Any) -> Path:
    folder.mkdir()
    execute(lay_out(RunOptions(("draft",), **{"artifacts": 1, "turns": 1} | options)), folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("domain", ALL_DOMAINS)
@pytest.mark.parametrize("rules", [Rules.paper(), Rules.authors()], ids=lambda rules: rules.name)
def test_the_miniatures_certificates_come_with_the_library(tmp_path: Path, domain: str, rules: Rules) -> None:
    trust = trust_in(run_of(tmp_path / "any", domain=domain, rules=rules))
    assert trust.missing == "", "python tools/certify_miniature.py makes them anew"
    assert trust.result == "passed" or (rules.name == "authors" and trust.result == "undecided"), trust.line
    assert [each.domains for each in trust.certificates] == [(domain,)]


@pytest.mark.slow
@pytest.mark.parametrize("manner", [None, MANNERS["terse"]], ids=["as ever", "terse"])
def test_a_certificate_that_comes_along_is_what_the_panel_says_today(manner: Manner | None) -> None:
    shipped = [Certificate.from_dict(each) for each in json.loads((data_folder() / SHIPPED).read_text("utf-8"))]
    how = [manner] if manner else []
    found = Certificate.from_dict(rounded(certify_miniature(DOMAIN, Rules.paper(), *how).to_dict()))
    assert found in shipped, "the miniature has changed: python tools/certify_miniature.py makes its certificates anew"
    assert found.result == "passed"


def test_a_manner_makes_another_user_of_a_language_model_alone() -> None:
    configuration = lay_out(RunOptions(("draft",), domain=DOMAIN, artifacts=1, manner=MANNERS["terse"])).configuration
    assert "manner" not in subject_of(configuration)
    spoken = {**configuration, "engine": {"judge": "miniature", "voice": "openai/m"}}
    assert subject_of(spoken)["manner"]["name"] == "terse"


def test_a_run_inherits_the_certificate_of_the_same_user_and_of_no_other(tmp_path: Path, sound: Certificate) -> None:
    certified = run_of(tmp_path / "certified", domain=DOMAIN, rules=UNCERTIFIED)
    same = run_of(tmp_path / "same", domain=DOMAIN, rules=UNCERTIFIED, seed=3)
    elsewhere = run_of(tmp_path / "elsewhere", domain="svg_drawing", rules=UNCERTIFIED)
    subject = subject_of(panel_of(Certify(run=Run(certified), artifacts=1), tmp_path / "trees").configuration)
    certificate = dataclasses.replace(sound, subject=subject, domains=(DOMAIN,))
    write_json(certified / FILE, certificate.to_dict())
    assert [trust_in(each).result for each in (certified, same)] == ["passed", "passed"]
    assert "Not validated" in trust_in(elsewhere).missing


def test_users_in_two_domains_need_a_certificate_in_each(tmp_path: Path) -> None:
    folder = tmp_path / "both"
    folder.mkdir()
    execute(lay_out_evaluation(RunOptions(("draft",), artifacts=1, turns=1), ("svg_drawing", DOMAIN)), folder)
    trust = trust_in(folder)
    assert trust.result == "passed" and len(trust.certificates) == 2
    assert trust.line.startswith("svg_drawing: all ")
