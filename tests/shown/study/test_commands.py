"""`discover study` from the file to the report: what participants leave behind is given out, read and counted."""

import csv
import json
from collections import Counter
from pathlib import Path

import msgspec
import pytest
from command_line import assert_one_line_error, discover
from starlette.testclient import TestClient
from study_people import PAPER, Person, changed, with_chat

from discover_lib.metrics.intervals import share_of
from workbench.study.design import Condition, Study, load_study
from workbench.study.desk import Desk
from workbench.study.study_report import ATTRITION_COLUMNS, attrition, outcomes
from workbench.study.study_server import StudyServer

pytestmark = pytest.mark.slow


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def file(study: Study, tmp_path: Path) -> Path:
    path = tmp_path / "mine.yaml"
    small = with_chat(changed(study, participants=6), minimum=3, maximum=5)
    path.write_text(json.dumps(msgspec.to_builtins(small)), "utf-8")  # JSON is YAML
    return path


def taken_part(file: Path, folder: Path, n: int) -> Path:
    """A study with this number of people who finished."""
    desk = Desk.open(load_study(file), folder)
    for number in range(n):
        Person(TestClient(StudyServer(desk).app), rated=5 + number % 4).take_part()
    desk.close()
    return folder


@pytest.fixture
def answered(file: Path, tmp_path: Path) -> Path:
    return taken_part(file, tmp_path / "answered", 6)


@pytest.mark.slow
def test_a_study_is_exported_and_reported(answered: Path) -> None:
    result = discover("study", "export", answered)
    assert result.returncode == 0, result.stderr
    people, messages = rows(answered / "export" / "participants.csv"), rows(answered / "export" / "messages.csv")
    assert len(people) == 6 and {row["condition"] for row in people} == {"base", "tuned"}
    assert len(messages) == 6 * 3 * 2
    codes = [code for code, _ in Desk.read(answered).everybody()]
    given_out = b"".join(path.read_bytes() for path in (answered / "export").iterdir())
    assert not any(code.encode() in given_out for code in codes), "a code opens and deletes what is somebody's"
    codebook = (answered / "export" / "codebook.md").read_text("utf-8")
    assert all(f"| {column} |" in codebook for row in (people[0], messages[0]) for column in row)
    assert discover("study", "export", answered).returncode == 0, "it is made anew"
    report = discover("study", "report", answered).stdout
    assert "finished 6 of 6 planned" in report and "tuned − base" in report and "3 and 3" in report


def test_of_three_conditions_every_pair_is_compared_and_corrected(study: Study, tmp_path: Path) -> None:
    three = changed(study, conditions=study.conditions | {"asks": Condition(assistant="ask")})
    desk, usual = Desk.open(three, tmp_path / "three"), {"base": 4, "tuned": 4, "asks": 7}
    met: Counter[str] = Counter()
    for _ in range(54):
        code = desk.arrive()
        assert code
        condition = desk.assign(code).condition
        rated = usual[condition] + met[condition] % 3  # a condition's three ratings are equally frequent
        met[condition] += 1
        desk.add(code, "final", ratings={"interaction": rated, "satisfaction": None}, texts={})
        desk.add(code, "closed", why="done")
    desk.close()
    rows = {row[1]: row for row in outcomes(desk) if row[0] == "interaction"}
    assert rows["tuned − base"][-1] == "not distinguishable"
    for pair in ("asks − base", "asks − tuned"):
        _, _, difference, n, p, verdict = rows[pair]
        assert difference.startswith("+") and 0 < float(p) <= 3 * 0.001 and not verdict
        assert n == "18 and 18"


def test_no_cell_is_run_or_turned_by_a_spreadsheet(answered: Path) -> None:
    path = next((answered / "participants").iterdir())
    said = json.dumps('=HYPERLINK("x") \u202etxt ')[1:-1]
    path.write_text(path.read_text("utf-8").replace('"text": "', f'"text": "{said}', 1), "utf-8")
    assert discover("study", "export", answered, "--personal", "keep").returncode == 0
    messages = rows(answered / "export" / "messages.csv")
    [cell] = [row["text"] for row in messages if "HYPERLINK" in row["text"]]
    assert cell.startswith('\'=HYPERLINK("x") <U+202E>txt ')
    assert "follows an apostrophe" in (answered / "export" / "codebook.md").read_text("utf-8")


@pytest.mark.slow
def test_outcomes_are_not_shown_before_the_planned_number(file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "few"
    taken_part(file, folder, 4)
    blind = discover("study", "report", folder).stdout
    assert "finished 4 of 6 planned" in blind and "interaction" not in blind and "--unblind" in blind
    assert "interaction" in discover("study", "report", folder, "--unblind").stdout


@pytest.mark.slow
def test_personal_data_stops_the_export_until_somebody_has_looked(answered: Path) -> None:
    path = next((answered / "participants").iterdir())
    path.write_text(path.read_text("utf-8").replace('"text": "', '"text": "kim@example.com ', 1), "utf-8")
    assert_one_line_error(discover("study", "export", answered), "e-mail address “kim@example.com”.*redact")
    assert not (answered / "export").exists()
    assert discover("study", "export", answered, "--personal", "redact").returncode == 0
    texts = " ".join(row["text"] for row in rows(answered / "export" / "messages.csv"))
    assert "kim@" not in texts and "[e-mail address]" in texts


def test_the_example_is_checked_and_the_papers_for_a_board_are_written(tmp_path: Path) -> None:
    result = discover("study", "check", PAPER, "--pack", tmp_path / "pack")
    assert result.returncode == 0 and "blocks of 6" in result.stdout and "completion codes" in result.stdout
    sheet = (tmp_path / "pack" / "information.md").read_text("utf-8")
    for head in ("Purpose", "payment", "Risks", "Who reads your text", "How long we keep it", "Leaving", "Contact"):
        assert head in sheet
    assert "several assistants" in (tmp_path / "pack" / "debrief.md").read_text("utf-8")
    assert "several assistants" not in sheet, "blinding is told afterwards"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("check", "none.yaml"), "no such file"),
        (("report", "nowhere"), "no study here"),
        (("export", "nowhere"), "no study here"),
    ],
)
def test_mistakes_are_one_line(words: tuple[str, ...], says: str) -> None:
    assert_one_line_error(discover("study", *words), says)


def test_every_end_is_counted_by_condition(desk: Desk) -> None:
    """All 12 of `base` finish; of the 12 of `tuned` 5 withdraw, 4 time out, 2 finish and 1 is at work."""
    ends = {"base": ["done"] * 12, "tuned": ["withdrew"] * 5 + ["timed_out"] * 4 + ["done"] * 2 + ["at_work"]}
    codes = [str(desk.arrive()) for _ in range(24)]
    left = [(code, ends[desk.assign(code).condition].pop()) for code in codes]
    left += [(str(desk.arrive()), end) for end in ("screened_out", "no_consent", "withdrew")]  # before the draw
    for code, end in left:
        if end == "withdrew":
            assert desk.withdraw(code)
        elif end != "at_work":
            desk.add(code, "closed", why=end)
    before, base, tuned = (dict(zip(ATTRITION_COLUMNS, row, strict=True)) for row in attrition(desk))
    assert before["condition"] == "" and before["people"] == "3"
    assert [before[name] for name in ("screened_out", "no_consent", "withdrew")] == ["1"] * 3
    assert (base["people"], base["finished"], base["lost"]) == ("12", "12", str(share_of(0, 12)))
    ends_of_tuned = {"people": "12", "finished": "2", "withdrew": "5", "timed_out": "4", "at_work": "1"}
    assert ends_of_tuned.items() <= tuned.items() and tuned["lost"] == str(share_of(9, 11))
