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
SMALL_RUN = "--domain svg_drawing --assistant draft --assistant ask --artifacts 2 --trials 1 --run run".split()


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


def discover(folder: Path, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = run_in(folder, "-c", "from workbench.main import main; main()", *words)
    assert done.returncode == code, done.stderr
    return done


def insert(path: Path, opening: str, lines: str, above: str = "") -> None:
    """Write lines after the line that opens a table, and what they name above it."""
    head, opening, rest = path.read_text(encoding="utf-8").partition(f"{opening}\n")
    path.write_text(f"{head}{above}{opening}{lines}{rest}", encoding="utf-8")


def blocks(page: str, title: str) -> list[str]:
    return re.findall(r"```\w*\n(.*?)```", section(title, (ROOT / page).read_text(encoding="utf-8")), re.DOTALL)


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
    assert "· postcard ·" in done.stdout and "3 trees" in done.stdout
    assert "postcard" in discover(copy, "demo", "--help").stdout
    artifact = json.loads((copy / "outputs" / "demo" / "demo.json").read_text(encoding="utf-8"))["artifact"]
    (copy / "card.txt").write_text(artifact["text"], encoding="utf-8")
    discover(copy, "build", "card.txt", "--type", "postcard", "--out", "trees")
    discover(copy, "simulate", "--trees", "trees", "--assistant", "draft", "--run", "run")
    assert "'postcard'" in discover(copy, "build", "card.txt", "--type", "opera", code=2).stderr


@pytest.mark.slow
def test_an_assistant_is_added(copy: Path) -> None:
    prose, policy = recipe("an assistant")
    (path,) = re.findall(r"`(discover_lib/\S+\.py)`", prose)
    (entry,) = re.findall(r'`("\w+": \w+,)`', prose)
    insert(copy / path, "POLICIES: dict[str, Policy] = {", f"    {entry}\n", above=f"{policy}\n\n")
    (command,) = commands(prose)
    assert discover(copy, *command).stdout.count("\nturn ") >= 1
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
    code, command = blocks("docs/serving.md", "Your own agent")[:2]
    port = str(free_port())
    (tmp_path / "agent.py").write_text(code.replace("9000", port), encoding="utf-8")
    agent = subprocess.Popen([sys.executable, "agent.py"], cwd=tmp_path, stderr=subprocess.DEVNULL)
    try:
        words = command.partition("discover ")[2].replace("\\\n", "").replace("9000", port).split()
        words[words.index("--artifacts") + 1] = "2"
        discover(tmp_path, *words, "--trials", "1")
    finally:
        agent.kill()
        agent.wait()
    scored = json.loads((tmp_path / "outputs" / "agent" / "results.json").read_text(encoding="utf-8"))
    assert {"openai/agent", "draft"} <= set(re.findall(r'"([^"]+)"', json.dumps(scored)))


@pytest.mark.slow
def test_a_measure_is_added(copy: Path) -> None:
    entry, line = blocks("docs/extending.md", "Add a measure")[:2]
    insert(copy / "discover_lib/metrics/results.py", "MEASURES = (", f"    {entry.strip()},\n")
    words = copy / "discover_lib/base/glossary.txt"
    words.write_text(words.read_text(encoding="utf-8") + line, encoding="utf-8")
    done = discover(copy, "evaluate", *SMALL_RUN)
    scored = json.loads((copy / "run" / "results.json").read_text(encoding="utf-8"))
    assert scored["measures"]["leaks"] == "Messages in which the user says what they cannot know yet."
    assert re.search(r"[│┃] leaks +[│┃]", done.stdout)


@pytest.mark.slow
def test_a_desk_is_added(copy: Path) -> None:
    desk, entry = blocks("CONTRIBUTING.md", "Add a question about a run")[:2]
    assert len(desk.splitlines()) <= 60
    (copy / "discover_lib/tasks/repeats.py").write_text(desk, encoding="utf-8")
    insert(copy / "discover_lib/cli/command_list.py", "COMMANDS = {", f"    {entry.strip()}\n")
    discover(copy, "simulate", *SMALL_RUN)
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
    (code,) = blocks("docs/commands.md", "Custom rules")
    (copy / "own.py").write_text(code.replace("artifacts=20", "artifacts=2, trials=1"), encoding="utf-8")
    for time in ("first", "again"):
        done = run_in(copy, "own.py")
        assert done.returncode == 0, (time, done.stderr)
    results = json.loads((copy / "outputs" / "strict" / "results.json").read_text(encoding="utf-8"))
    assert results["rules"]["tau"] == 100 and results["rules"]["gate"] == "parent_passed"
    assert results["rules"]["name"] == "paper with tau=100, lam=0.005, gate=parent_passed"
    assert "Shares are means over artifacts" in discover(copy, "audit", "outputs/strict", code=1).stdout
