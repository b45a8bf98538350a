"""The README and docs/extending.md do what they say: recipes are followed word for word in a copy of the project."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from browser import free_port

from workbench.bar import GROUPS, PAGES

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXTENDING = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
LONGEST = 90  # lines; results and measurements live in docs/


def section(title: str, page: str = README) -> str:
    return page.split(f"\n## {title}\n")[1].split("\n## ")[0]


def recipe(name: str) -> tuple[str, str]:
    """The prose of one recipe of docs/extending.md before its block of code, and that block."""
    prose, block = re.split(r"```\w*\n", section(f"Add {name}", EXTENDING))[:2]
    return prose, block


def commands(prose: str) -> list[list[str]]:
    return [words.split() for words in re.findall(r"`discover ([^`]+)`", " ".join(prose.split()))]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "discover_lib", tmp_path / "discover_lib", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def run_in(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    here = os.pathsep.join(map(str, (folder, ROOT)))  # what the copy lacks is this project's
    environment = os.environ | {"PYTHONPATH": here, "DISCOVER_OUTPUTS": str(folder / "outputs")}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def discover(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return run_in(folder, "-c", "from workbench.main import main; main()", *words)


def test_it_is_short_and_holds_no_results() -> None:
    assert len(README.splitlines()) <= LONGEST
    assert not re.search(r"\[[\d.]+, [\d.]+\]", README), "intervals belong into docs/results.md"


def test_it_lists_the_table_of_pages() -> None:
    listed = re.findall(r"^\| `([\w/]+)` \| (.*) \|$", section("Notebooks"), re.MULTILINE)
    expected = [(page.file.removesuffix(".py"), page.question) for page in PAGES]
    assert listed == expected + [(f"{folder}/", page.question) for folder, page in GROUPS.items()]


def test_the_tree_lists_every_package() -> None:
    listed = re.findall(r"^  (\w+)(?:/|\.py) ", section("Packages", ARCHITECTURE), re.MULTILINE)
    there = {path.stem for path in (ROOT / "discover_lib").iterdir() if path.name not in {"__pycache__", "__init__.py"}}
    assert len(listed) == len(set(listed)) and set(listed) == there


@pytest.mark.slow
def test_a_domain_is_added(copy: Path) -> None:
    prose, lexicon = recipe("a domain")
    (path,) = re.findall(r"`(discover_lib/\S+\.yaml)`", prose)
    (copy / path).write_text(lexicon, encoding="utf-8")
    (command,) = commands(prose)
    done = discover(copy, *command)
    assert done.returncode == 0, done.stderr
    assert "· postcard ·" in done.stdout and "3 trees" in done.stdout
    assert "postcard" in discover(copy, "demo", "--help").stdout
    artifact = json.loads((copy / "outputs" / "demo" / "demo.json").read_text(encoding="utf-8"))["artifact"]
    (copy / "card.txt").write_text(artifact["text"], encoding="utf-8")
    built = discover(copy, "build", "card.txt", "--type", "postcard", "--out", "trees")
    assert built.returncode == 0, built.stderr
    played = discover(copy, "simulate", "--trees", "trees", "--assistant", "draft", "--run", "run")
    assert played.returncode == 0, played.stderr
    many = discover(copy, *"plan --domain postcard --assistant draft --artifacts 20".split())
    assert "of the 20 artifacts differ" in many.stdout + many.stderr
    assert "'postcard'" in discover(copy, "build", "card.txt", "--type", "opera").stderr


@pytest.mark.slow
def test_an_assistant_is_added(copy: Path) -> None:
    prose, policy = recipe("an assistant")
    (path,) = re.findall(r"`(discover_lib/\S+\.py)`", prose)
    (entry,) = re.findall(r'`("\w+": \w+,)`', prose)
    source = (copy / path).read_text(encoding="utf-8")
    head, opening, rest = source.partition("POLICIES: dict[str, Policy] = {\n")
    (copy / path).write_text(f"{head}{policy}\n\n{opening}    {entry}\n{rest}", encoding="utf-8")
    (command,) = commands(prose)
    done = discover(copy, *command)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\nturn ") >= 1
    told = run_in(copy, "-c", "from workbench.pages.conversation_page import ABOUT; print(ABOUT['patient'])")
    assert told.stdout == "Shows samples until a wish is clear, then builds.\n"


def test_an_engine_is_added() -> None:
    defined: dict[str, object] = {}
    exec(recipe("an engine")[1], defined)
    turn = defined["turn"]
    assert turn.candidate.reward.discovered == 1.0  # type: ignore[attr-defined]
    assert turn.user_message == "something is missing"  # type: ignore[attr-defined]


@pytest.mark.slow
def test_an_agent_of_ones_own_enters_an_evaluation(tmp_path: Path) -> None:
    guide = (ROOT / "docs" / "serving.md").read_text(encoding="utf-8").partition("## Your own agent")[2]
    code, command = re.findall(r"```\w*\n(.*?)```", guide, re.DOTALL)[:2]
    port = str(free_port())
    (tmp_path / "agent.py").write_text(code.replace("9000", port), encoding="utf-8")
    agent = subprocess.Popen([sys.executable, "agent.py"], cwd=tmp_path, stderr=subprocess.DEVNULL)
    try:
        words = command.partition("discover ")[2].replace("\\\n", "").replace("9000", port).split()
        words[words.index("--artifacts") + 1] = "2"
        done = discover(tmp_path, *words, "--trials", "1")
    finally:
        agent.kill()
        agent.wait()
    assert done.returncode == 0, done.stderr
    scored = json.loads((tmp_path / "outputs" / "agent" / "results.json").read_text(encoding="utf-8"))
    assert {"openai/agent", "draft"} <= set(re.findall(r'"([^"]+)"', json.dumps(scored)))


@pytest.mark.slow
def test_a_measure_is_added(copy: Path) -> None:
    guide = section("Add a measure", EXTENDING)
    entry, line = re.findall(r"```(?:python)?\n(.*?)```", guide, re.DOTALL)[:2]
    measures, words = copy / "discover_lib/metrics/results.py", copy / "discover_lib/base/glossary.txt"
    head, opening, rest = measures.read_text(encoding="utf-8").partition("MEASURES = (\n")
    measures.write_text(f"{head}{opening}    {entry.strip()},\n{rest}", encoding="utf-8")
    words.write_text(words.read_text(encoding="utf-8") + line, encoding="utf-8")
    run = "--domain svg_drawing --assistant draft --assistant ask --artifacts 2 --trials 1 --run run".split()
    done = discover(copy, "evaluate", *run)
    assert done.returncode == 0, done.stderr
    scored = json.loads((copy / "run" / "results.json").read_text(encoding="utf-8"))
    assert scored["measures"]["leaks"] == "Messages in which the user says what they cannot know yet."
    assert re.search(r"[│┃] leaks +[│┃]", done.stdout)


@pytest.mark.slow
def test_a_desk_is_added(copy: Path) -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Add a question about a run")[2]
    desk, entry = re.findall(r"```(?:python)?\n(.*?)```", guide, re.DOTALL)[:2]
    assert len(desk.splitlines()) <= 60
    (copy / "discover_lib/tasks/repeats.py").write_text(desk, encoding="utf-8")
    commands = copy / "discover_lib/cli/command_list.py"
    head, opening, rest = commands.read_text(encoding="utf-8").partition("COMMANDS = {\n")
    commands.write_text(f"{head}{opening}    {entry.strip()}\n{rest}", encoding="utf-8")
    run = "--domain svg_drawing --assistant draft --assistant ask --artifacts 2 --trials 1 --run run".split()
    assert discover(copy, "simulate", *run).returncode == 0
    done = run_in(
        copy, "-c", "from discover_lib.cli.command_list import main; main()", *"repeats run --out told.json".split()
    )
    assert done.returncode == 0 and "draft repeats most" in done.stdout, done.stderr
    told = json.loads((copy / "told.json").read_text(encoding="utf-8"))
    assert told["draft"]["mean"] > told["ask"]["mean"] == 0
    script = "from discover_lib.tasks.repeats import *; print(repeats(Repeats(run='run')).plain == " + repr(told) + ")"
    assert run_in(copy, "-c", script).stdout == "True\n"


@pytest.mark.slow
def test_a_page_is_added(tmp_path: Path) -> None:
    path = tmp_path / "80_my_page.py"
    path.write_text(recipe("a page")[1], encoding="utf-8")
    done = run_in(ROOT, "-m", "marimo", "export", "html", str(path), "-o", str(tmp_path / "page.html"))
    assert done.returncode == 0, done.stderr
    assert "creative_writing" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_the_python_example_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    defined: dict[str, object] = {}
    exec(re.search(r"```python\n(.*?)```", section("In Python"), re.DOTALL)[1], defined)  # type: ignore[index]
    assert defined["turn"].user_message  # type: ignore[attr-defined]


@pytest.mark.slow
def test_a_run_under_rules_of_ones_own_is_as_any_other(copy: Path) -> None:
    guide = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8").partition("## Custom rules")[2]
    (code,) = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    (copy / "own.py").write_text(code.replace("artifacts=20", "artifacts=2, trials=1"), encoding="utf-8")
    for time in ("first", "again"):
        done = run_in(copy, "own.py")
        assert done.returncode == 0, (time, done.stderr)
    results = json.loads((copy / "outputs" / "strict" / "results.json").read_text(encoding="utf-8"))
    assert results["rules"]["tau"] == 100 and results["rules"]["gate"] == "parent_passed"
    assert results["rules"]["name"] == "paper with tau=100, lam=0.005, gate=parent_passed"
    assert "steps of discovery" in discover(copy, "audit", "outputs/strict").stdout
