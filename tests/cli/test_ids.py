"""Every number that leaves an evaluation resolves to what is stored, and is the same when it is computed again."""

import json
import re
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discover_lib.base.ids import DiscoverId, IdError
from discover_lib.cli.common import tell
from discover_lib.cli.run_commands import print_results
from discover_lib.core.conversation import Conversation
from discover_lib.core.state import Discovery
from discover_lib.dataset.export import write_hub_folder
from discover_lib.metrics.intervals import Estimate
from discover_lib.metrics.results import ScopeResults
from discover_lib.metrics.satisfaction import SATISFIED
from discover_lib.metrics.transcript import COLUMNS
from discover_lib.runs.evaluation import Resolved, lay_out_evaluation, resolve, write_evaluation
from discover_lib.runs.options import RunOptions, execute
from discover_lib.runs.store import RunStore, id_of_run
from discover_lib.tasks.told import results_told
from workbench.carried import opened_by
from workbench.main import app

pytestmark = pytest.mark.slow

NUMBER = re.compile(r"[−+-]?\d+(?:\.\d+)?")
DOMAINS = ("svg_drawing", "creative_writing")
OPTIONS = RunOptions(("draft", "ask", "adaptive"), artifacts=4, trials=2, turns=3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    outputs = tmp_path_factory.mktemp("outputs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCOVER_OUTPUTS", str(outputs))
        made = outputs / "group" / "first run"
        made.mkdir(parents=True)
        execute(lay_out_evaluation(OPTIONS, DOMAINS), made)
        write_evaluation(made)
        yield made


# -- ids ---------------------------------------------------------------------------------------------------------------

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
NUMBERS = st.integers(0, 10**9)


@given(
    path=st.tuples(
        TEXT, st.none() | TEXT, st.none() | TEXT, st.none() | NUMBERS, st.none() | NUMBERS, st.none() | TEXT
    ),
    query=st.fixed_dictionaries(
        {name: st.just("") | TEXT for name in ("measure", "against", "domain", "leave_out")}
        | {"pool": st.lists(TEXT).map(tuple)}
    ),
)
def test_an_id_is_read_as_it_was_written(path: tuple, query: dict) -> None:
    made = DiscoverId(*path, **query)
    assert DiscoverId.parse(str(made)) == made
    assert not re.search(r"\s", str(made))


def test_an_id_is_written_as_the_manual_says() -> None:
    assert str(DiscoverId("a/b", "x", "openai/m+n", 0, 2, "1.1")) == "discover://a%2Fb/x/openai%2Fm%2Bn/0/2/1.1"
    mean = DiscoverId("run", assistants="ask", measure="reward", pool=("ask", "draft"))
    assert str(mean) == "discover://run/*/ask?measure=reward&pool=ask&pool=draft"


@pytest.mark.parametrize(
    "text", ["", "run", "http://run", "discover://", "discover://*", "discover://a//b", "discover://a/b/c/x",
             "discover://a/b/c/-1", "discover://a/b/c/1/2/3/4", "discover://a?wrong=1"]
)  # fmt: skip
def test_what_is_no_id_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(IdError, match="invalid id"):
        DiscoverId.parse(text)


def test_a_part_of_the_query_that_is_unknown_or_there_twice_is_named() -> None:
    with pytest.raises(IdError, match="unknown name 'againts'; known are measure, against"):
        DiscoverId.parse("discover://a?againts=draft")
    with pytest.raises(IdError, match=r"for openai/me\+more write openai%2Fme%2Bmore$"):
        DiscoverId.parse("discover://run1/email/openai/me+more/0")
    assert DiscoverId.parse("discover://run1/email/openai%2Fme%2Bmore/0").assistants == "openai/me+more"
    with pytest.raises(IdError, match="measure is given twice"):
        DiscoverId.parse("discover://a?measure=reward&measure=kTok")
    assert DiscoverId.parse("discover://a?pool=x&pool=y").pool == ("x", "y")


def test_what_is_not_stored_is_refused_in_one_line(folder: Path) -> None:
    run = id_of_run(folder)
    for wrong, told in (
        (DiscoverId("nowhere"), "no run nowhere in .*; give its name there, or its folder's path$"),
        (DiscoverId(run.run, "nothing"), "no artifact 'nothing'; there are svg_drawing-eval-000, svg"),
        (DiscoverId(run.run, assistants="asks"), "no assistants 'asks'; there are draft, ask, adaptive$"),
        (DiscoverId(run.run, assistants="ask", against="draught", measure="reward"), "no against 'draught'"),
        (DiscoverId(run.run, measure="reward", pool=("ask", "drafts")), "no pool 'drafts'"),
        (DiscoverId(run.run, domain="svg"), "no domain 'svg'; there are svg_drawing, creative_writing$"),
        (DiscoverId(run.run, trial=7), "no trial 7; there are 0, 1$"),
        (DiscoverId(run.run, measure="satisfaction", leave_out="some"), "no leave_out 'some'; there are none, all$"),
        (DiscoverId(run.run, "svg_drawing-eval-000", domain="creative_writing"), "no finished conversation"),
        (DiscoverId(run.run, assistants="ask", measure="beauty"), "unknown measure 'beauty'"),
        (DiscoverId(run.run, "svg_drawing-eval-000", "ask", 0, 9), "has 3 turns"),
    ):
        with pytest.raises(IdError, match=told):
            resolve(wrong)


# -- numbers computed again, from the records alone --------------------------------------------------------------------


def levels_of(talk: Conversation) -> dict[str, float]:
    """Hidden intent → 0, 0.5 or 1, as eq. 4 counts it."""
    hidden = [each for each in talk.tree.intents if talk.start[each] is not Discovery.DISCOVERED]
    return {each: talk.state[each] / 2 for each in hidden}


ACCOUNTS = {  # of results.json: what was asked for, and what the run took; no measurement of a conversation
    *("format", "run", "rules", "conversations", "failures_by_role", "unassessed", "spent", "answers"),
    *("interval", "test", "measures"),
}


def numbers_of(data: object, pointer: str = "") -> Iterator[tuple[str, float]]:
    """Every number of plain data with its JSON pointer."""
    if isinstance(data, dict):
        for name, value in data.items():
            yield from numbers_of(value, f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}")
    elif isinstance(data, list):
        for place, value in enumerate(data):
            yield from numbers_of(value, f"{pointer}/{place}")
    elif isinstance(data, int | float) and not isinstance(data, bool):
        yield pointer, data


def users_in(values: Mapping[DiscoverId, object]) -> int:
    return len({(each.artifact, each.trial) for each in values})


def expected_of(stored: Resolved, parts: list[str]) -> float | None:
    """The number below the pointer `parts` once more, of what its id stands on; None where that is no plain count."""
    kind, name, counts = parts[0], parts[-1], Counter(stored.values.values())
    if kind in ("table", "curves", "ceilings") or (kind == "comparisons" and parts[-2] == "difference"):
        estimate = stored.comparison.difference if stored.comparison else stored.estimate
        return getattr(estimate, name)
    if kind == "comparisons":
        return getattr(stored.comparison, name)
    if kind == "pools" and parts[2] == "means":
        assert stored.estimate
        return stored.estimate.mean
    if kind in ("same_for_all", "pools"):  # users on whom eq. 4 is not defined
        return 8 * (1 if stored.id.domain else 2) - users_in(stored.values)
    if kind in ("users", "users_of"):
        return users_in(stored.values)
    if kind == "artifacts":
        return len({each.artifact for each in stored.values})
    if kind in ("stops", "unscored"):
        return counts[name]
    if kind == "leaks":
        return sum(stored.values.values())
    if kind == "manners" and parts[2] == "patterns":
        return counts[name]
    if kind == "manners" and parts[2:] == ["divergent", "mean"]:
        by_artifact: dict[str | None, list[float]] = {}
        for each, letters in stored.values.items():
            by_artifact.setdefault(each.artifact, []).append(letters.count("D") / sum(map(letters.count, "DC")))
        return statistics.fmean(map(statistics.fmean, by_artifact.values()))
    return None


@pytest.mark.slow
def test_every_number_of_the_results_resolves_and_comes_out_the_same(folder: Path) -> None:
    results = json.loads((folder / "results.json").read_text())
    ids, resolved, compared = results.pop("ids"), dict[str, Resolved](), Counter[str]()
    assert {name for name in results if name not in ACCOUNTS} == {"ceilings", "leaves_left_out", "scopes"}
    for pointer, number in numbers_of({name: results[name] for name in ("ceilings", "scopes")}):
        path = pointer.split("/")
        at = next("/".join(path[:end]) for end in range(len(path), 1, -1) if "/".join(path[:end]) in ids)
        if at not in resolved:
            resolved[at] = resolve(DiscoverId.parse(ids[at]))
        stored = resolved[at]
        assert stored.values, pointer
        parts = path[3:] if path[1] == "scopes" else path[1:]
        if (expected := expected_of(stored, parts)) is not None:
            assert number == pytest.approx(expected, abs=1e-9), (pointer, ids[at])
            compared[parts[0]] += 1
    assert {*compared} >= {"table", "comparisons", "curves", "pools", "ceilings", "stops", "leaks", "users", "manners"}
    assert compared["table"] == 3 * 3 * 7 * 5  # scopes, assistants, measures; mean, two ends and two n


def test_what_evaluate_prints_is_made_of_its_results_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    print_results(folder, "none", sensitivity=False)
    *told, choices, _, stands_on = capsys.readouterr().out.splitlines()
    held = json.loads((folder / "results.json").read_text())
    scopes = {each["scope"]: ScopeResults.from_dict(each) for each in held["scopes"]}
    ceilings = {scope: Estimate.from_dict(each) for scope, each in held["ceilings"].items()}
    tell(results_told(scopes, held["rules"]["name"], held["leaves_left_out"], ceilings))
    assert capsys.readouterr().out.splitlines() == told  # whose numbers the test above resolves
    assert not NUMBER.search(choices)
    best = resolve(DiscoverId.parse(stands_on.split("'")[1]))
    assert best.estimate and f"│ {best.id.assistants}" in "\n".join(told) and str(best.estimate) in "\n".join(told)
    assert '"ids"' in stands_on and held["ids"]["/scopes/0/table/adaptive/share"] == str(best.id)


def test_the_rows_of_the_hub_carry_ids(folder: Path, tmp_path: Path) -> None:
    with RunStore.read(folder) as store:
        write_hub_folder(tmp_path, store)
    lines = (tmp_path / "data" / "conversations.jsonl").read_text().splitlines()
    for row in map(json.loads, lines[:6]):
        stored = resolve(DiscoverId.parse(row["discover_id"]))
        assert stored.conversation is not None
        assert [each.content for each in stored.conversation.messages()] == [
            each["content"] for each in row["messages"]
        ]
        for turn, reward in enumerate(row["rewards"], 1):
            at = DiscoverId.parse(f"{row['discover_id']}/{turn}?measure=reward")
            assert list(resolve(at).values.values()) == [reward]


def test_a_turn_and_an_intent_are_shown_with_their_evidence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = id_of_run(folder)
    talk = next(RunStore.read(folder).conversations(assistant="adaptive"))
    moved = next((turn, each) for turn in talk.turns for each in turn.candidate.transitions if each.moved)
    turn, transition = moved
    at = DiscoverId(run.run, talk.setting["artifact"], "adaptive", talk.setting["trial"], turn.index)
    app(["show", str(at)], standalone_mode=False)
    shown = capsys.readouterr().out
    assert turn.reply.text in shown and turn.user_message and turn.user_message in shown
    assert turn.candidate.reward and f"reward {turn.candidate.reward.total:+.3f}" in shown
    assert all(verdict.reason in shown for verdict in turn.candidate.evaluation.verdicts)  # type: ignore[union-attr]
    app(["show", f"{at}/{transition.intent_id}"], standalone_mode=False)
    assert talk.tree.text(transition.intent_id) in capsys.readouterr().out


def test_a_measure_of_one_conversation_is_shown_with_what_it_is_made_of(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    at = DiscoverId(id_of_run(folder).run, "svg_drawing-eval-000", "adaptive", 0)
    with RunStore.read(folder) as store:
        found = [(talk, store.assessment(place)) for place, talk in enumerate(store.conversations())]
    of_user = {
        talk.setting["assistants"][0]: (talk, assessment)
        for talk, assessment in found
        if (talk.setting["artifact"], talk.setting["trial"]) == (at.artifact, 0)
    }
    talk = of_user["adaptive"][0]

    def shown(measure: str) -> list[str]:
        app(["show", f"{at}?measure={measure}"], standalone_mode=False)
        return capsys.readouterr().out.splitlines()

    def parts(measure: str, *words: str) -> dict[str, list[str]]:
        lines = [line.split("\t") for line in shown(measure)]
        return {word: [line[1] for line in lines if line[0] == word] for word in words}

    leaves = parts("satisfaction", "met", "not met", "left out")
    met = {
        who: {each["intent_id"] for each in assessment["satisfaction"] if each["score"] >= SATISFIED}
        for who, (_, assessment) in of_user.items()
        if assessment
    }
    assert sum(map(len, leaves.values())) == len(talk.tree.leaves())
    assert len(leaves["met"]) == len(met["adaptive"])
    assert len(leaves["met"] + leaves["not met"]) == len(set.union(*met.values()))
    levels = list(levels_of(talk).values())
    whole, half = levels.count(1), levels.count(0.5)
    assert f"found = ({whole} discovered + 0.5 × {half} emerging) / {len(levels)} hidden" in shown("found")
    app(["show", str(at)], standalone_mode=False)
    assert capsys.readouterr().out.endswith(f"\n{whole} discovered, {half} emerging of {len(levels)}\n")
    disputed = parts("discovery", "discovered", "emerging", "not found")
    theirs = [levels_of(each) for each, _ in of_user.values()]
    differ = [intent for intent in theirs[0] if len({each[intent] for each in theirs}) > 1]
    assert sorted(line.split()[0] for lines in disputed.values() for line in lines) == sorted(differ)
    for measure, of_turn in (("reward", [turn.candidate.reward.total for turn in talk.turns]),
                             ("kTok", [turn.reply.n_tokens for turn in talk.turns])):  # fmt: skip
        turns = [line.split("\t") for line in shown(measure)[2:]]
        assert [float(value) for value, _ in turns] == pytest.approx(of_turn, abs=5e-4), "three digits"
        assert all(len(value.partition(".")[2]) <= 3 for value, _ in turns)
        assert [next(iter(resolve(DiscoverId.parse(id)).values.values())) for _, id in turns] == of_turn


def test_a_conversation_is_read_by_its_id_and_by_its_run_artifact_and_trial(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = id_of_run(folder)

    def shown(*words: str) -> str:
        app(["show", *words], standalone_mode=False)
        return capsys.readouterr().out

    told = shown(f"{run}/svg_drawing-eval-001/ask/1")
    assert told.startswith("user       ") and max(map(len, told.splitlines()[:-3])) <= COLUMNS
    assert (
        told
        == shown(run.run, "svg_drawing-eval-001", "ask", "1")
        == shown(str(folder), "svg_drawing-eval-001", "ask", "1")
    )
    whole = shown(str(folder))
    assert whole == shown(run.run) == shown(str(run)) and f"48 values of conversations in {folder}" in whole
    several = shown(str(folder), "svg_drawing-eval-001", "1").splitlines()
    assert several[:3] == [f"{run}/svg_drawing-eval-001/{who}/1" for who in OPTIONS.assistants]
    for wrong in (["a"], ["a", "one"], ["a", "b", "c", "1"]):
        assert app(["show", str(folder), *wrong], standalone_mode=False) == 2
        told = capsys.readouterr().err
        assert told.endswith("or RUN ARTIFACT [ASSISTANTS] TRIAL\n") and told.count("\n") == 1


def test_a_page_opens_what_an_id_stands_on(folder: Path) -> None:
    run = id_of_run(folder).run
    talk = DiscoverId(run, "svg_drawing-eval-001", "ask", 1, 2)
    opened = opened_by(str(talk))
    with RunStore.read(folder) as store:
        listed = store.listing()[int(opened.pop("conversation"))]
    assert (listed.artifact, listed.assistants, listed.trial) == ("svg_drawing-eval-001", ("ask",), 1)
    assert opened == {"run": run, "turn": "2", "assistant": "ask"}
    pair = DiscoverId(run, None, "ask", measure="kTok", against="draft", domain="svg_drawing", pool=("ask", "draft"))
    chosen = {
        "domain": "svg_drawing",
        "measure": "kTok",
        "pool": '["ask","draft"]',
        "assistant": "ask",
        "against": "draft",
    }
    assert opened_by(str(pair)) == {"run": run} | chosen
    assert opened_by("discover://gone/x") == {"run": "discover://gone/x"}
