"""The `discover` command: its output, its exit code, what it leaves behind.

A few runs are processes of their own, as a person starts them; the many ways of going wrong are told in this one.
"""

import dataclasses
import json
import re
import shlex
import socket
from pathlib import Path

import pytest
from command_line import assert_one_line_error, discover, discover_apart
from scored import scores_where

from discover_lib.cli.common import tell
from discover_lib.core.conversation import Conversation
from discover_lib.metrics.replay import replay
from discover_lib.metrics.results import ALL, results_by_scope
from discover_lib.runs.artifact_files import load_tree
from discover_lib.runs.options import RunOptions, lay_out
from discover_lib.tasks import told
from discover_lib.train.data import load_rows


@pytest.mark.slow
def test_demo_prints_a_conversation_and_saves_it(tmp_path):
    result = discover_apart("demo", "--domain", "svg_drawing", "--seed", 3, "--out", tmp_path)
    again = discover("demo", "--domain", "svg_drawing", "--seed", 3, "--out", tmp_path / "again")
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("\nturn ") == 5 == again.stdout.count("\nturn ")
    for file in ("demo.json", "demo.html"):
        assert (tmp_path / file).read_bytes() == (tmp_path / "again" / file).read_bytes()
    assert "hidden intents discovered in 5 turns" in result.stdout
    conversation = Conversation.from_dict(json.loads((tmp_path / "demo.json").read_text("utf-8"))["conversation"])
    assert replay(conversation) == conversation
    assert "<html" in (tmp_path / "demo.html").read_text("utf-8")


@pytest.mark.slow
def test_trees_that_are_not_played_are_counted(tmp_path):
    (piece, *_) = sorted(Path("data/artifacts/creative_writing").glob("*.md"))
    pieces = [tmp_path / f"{number}.md" for number in range(21)]
    for copy in pieces:
        copy.write_bytes(piece.read_bytes())
    built = discover("build", *pieces, "--type", "short story", "--out", tmp_path / "trees")
    (then,) = [line for line in built.stdout.splitlines() if line.startswith("simulate them with: ")]
    assert "--artifacts 21 " in then
    assert load_tree(tmp_path / "trees" / "0.json").artifact_type == "short story"
    few = ("--trees", tmp_path / "trees", "--turns", 1, "--assistant", "draft", "--artifacts", 2)
    assert "2 of the 21 trees in " in discover("simulate", *few, "--run", tmp_path / "few").stderr
    played = discover(*shlex.split(then)[4:], "--turns", 1)
    assert played.returncode == 0 and " of the 21 trees" not in played.stderr
    assert len((tmp_path / "trees-run" / "conversations.jsonl").read_text("utf-8").splitlines()) == 21


SIMULATE = "simulate --run {tmp}/r --assistant draft"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("demo --domain opera", "unknown domain 'opera'; choose one of"),
        ("demo --assistant nobody", "unknown assistant 'nobody'; the scripted ones are"),
        ("demo --out /proc/nowhere", "cannot be written to"),
        (SIMULATE, "give either --domain or --trees"),
        (f"{SIMULATE} --domain opera", "unknown domain 'opera'"),
        ("simulate --run {tmp}/r --assistant x --domain svg_drawing", "unknown assistant 'x'"),
        (f"{SIMULATE} --domain svg_drawing --artifacts 101", "has 100 artifacts, not 101"),
        (f"{SIMULATE} --domain svg_drawing --engine gpt-9", "unknown engine 'gpt-9'"),
        (f"{SIMULATE} --trees {{tmp}}/none", "no such folder"),
        (f"{SIMULATE} --trees {{tmp}}", "no tree files"),
        ("build {tmp}/absent.svg --type drawing", "absent.svg: cannot be read"),
        ("build {tmp} --type drawing", "a folder; name the files in it"),
        ("build README.md --type opera", "or name a model with --engine"),
        ("plan --domain svg_drawing", "give at least one --assistant"),
        ("plan --for synthesize --domain svg_drawing --assistant ask", "best-of-n needs at least 2 candidates"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(words, says, tmp_path):
    assert_one_line_error(discover(*words.format(tmp=tmp_path).split()), says)
    assert not (tmp_path / "r").exists(), "nothing half-written"


BOMB = '<!DOCTYPE svg [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;">]><svg>&b;</svg>'
TREE = {"artifact_type": "svg drawing", "topic": "t", "initial_request": "draw", "initially_discovered": []}
ROOTED = TREE | {"roots": [{"id": "1", "text": "Xyzzy plugh"}]}
BAD_FILES = {
    "empty.svg": (b"", "the file is empty"),
    "blank.svg": (b"  \n ", "the file is empty"),
    "huge.svg": (b"<svg>" + b" " * 10_000_000 + b"</svg>", r"10\.0 MB is too large"),
    "binary.svg": (b"\x89PNG\0\0\0", "looks binary"),
    "utf-16.svg": ("<svg/>".encode("utf-16"), "UTF-16; save it as UTF-8"),
    "drawing.svgz": (b"\x1f\x8b\x08\x00", "unpack it first"),
    "illustrator.svg": (b'<!DOCTYPE svg [<!ENTITY ns "http://ns.adobe.com/">]><svg xmlns:x="&ns;"/>', "as plain SVG"),
    "latin.svg": ("<svg><title>café</title></svg>".encode("latin-1"), "not UTF-8"),
    "bomb.svg": (BOMB.encode(), "/bomb.svg: "),
    "broken.svg": (b"<svg><rect", "/broken.svg: "),
    "plain.svg": (b"just words", "/plain.svg: "),
    "flat.svg": (b'<svg width="0" height="x"><path d="M0 0h9"/></svg>', "too little to build from"),
    "laughs.svg": (b'<svg><g id="a">' + b'<use href="#a"/>' * 20 + b"</g></svg>", "copy less with <use>"),
    "none.json": (b"{", "not JSON"),
    "no-roots.json": (json.dumps(TREE).encode(), "needs a list under 'roots'"),
    "no-request.json": (json.dumps(ROOTED | {"initial_request": " "}).encode(), "has no 'initial_request'"),
    "unreadable.json": (json.dumps(ROOTED).encode(), "cannot decide 'Xyzzy plugh'"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_artifact_or_tree_file_is_one_line_and_leaves_nothing(name, tmp_path):
    content, says = BAD_FILES[name]
    (tmp_path / name).write_bytes(content)
    if name.endswith(".json"):
        asked = ("simulate", "--trees", tmp_path, "--assistant", "draft", "--run", tmp_path / "out")
    else:
        asked = ("build", tmp_path / name, "--type", "svg drawing", "--out", tmp_path / "out")
    assert_one_line_error(discover(*asked), says)
    assert not list((tmp_path / "out").glob("*"))


@pytest.mark.slow
def test_a_bad_file_among_good_ones_does_not_lose_the_good_ones(tmp_path):
    good = sorted(Path("data/artifacts/technical_writing").glob("*.md"))[0]
    (tmp_path / "bad.md").write_bytes(b"\0")
    (tmp_path / "circle.md").symlink_to("circle.md")
    files = (tmp_path / "bad.md", tmp_path / "circle.md", good)
    result = discover("build", *files, "--type", "technical article", "--out", tmp_path / "out")
    assert result.returncode == 2 and "Traceback" not in result.stderr
    assert [line.count("bad.md: looks binary") + line.count("circle.md: cannot be read") for line in
            result.stderr.splitlines()] == [1, 1]  # fmt: skip
    assert f"1 of 3 artifacts built → {tmp_path / 'out'}" in result.stdout
    assert [path.stem for path in (tmp_path / "out").glob("*.json")] == [good.stem]


@pytest.mark.slow
def test_the_same_command_again_resumes_and_another_is_refused(tmp_path):
    arguments = ["simulate", "--domain", "technical_writing", "--assistant", "ask", "--artifacts", 1, "--run", tmp_path]
    assert discover(*arguments).returncode == 0
    before = (tmp_path / "conversations.jsonl").read_bytes()
    again = discover(*arguments)
    assert again.returncode == 0 and "1 of 1 conversations finished" in again.stdout
    assert_one_line_error(discover(*arguments, "--turns", 4), "turns is 5 in the run and 4 now")
    other = [arguments[0], "--domain", "svg_drawing", *arguments[3:]]
    assert_one_line_error(discover(*other), 'domain is "technical_writing" in the run and "svg_drawing" now')
    assert (tmp_path / "conversations.jsonl").read_bytes() == before


@pytest.mark.slow
def test_several_domains_are_one_run_and_one_domain_is_what_it_always_was(tmp_path):
    asked = ["synthesize", "--assistant", "options", "--assistant", "ask", "--artifacts", 2, "--turns", 1]
    one, both = ["--domain", "svg_drawing"], ["--domain", "svg_drawing", "--domain", "travel_plan"]
    assert discover(*asked, *one, "--run", tmp_path / "one").returncode == 0
    assert discover(*asked, *both, "--run", tmp_path / "both").returncode == 0
    alone = lay_out(RunOptions(("options", "ask"), "svg_drawing", artifacts=2, turns=1, candidates=1, split="train"))
    configuration = json.loads((tmp_path / "one" / "run.json").read_text("utf-8"))
    assert configuration == json.loads(json.dumps(alone.configuration))
    rows = load_rows(tmp_path / "both", "sft", "content")
    assert {row["domain"] for row in (*rows.train, *rows.held_out)} == {"svg_drawing", "travel_plan"}
    again = discover(*asked, *both, "--run", tmp_path / "both")
    assert again.returncode == 0 and "4 of 4 conversations finished" in again.stdout
    assert_one_line_error(discover(*asked, *one, *one, "--run", tmp_path / "x"), "a domain is named twice")


@pytest.mark.slow
def test_an_evaluation_says_what_training_has_changed_wherever_the_two_stand(capsys):
    found = {"hf:x": range(3), "between": range(2), "hf:x+before": range(1)}
    for artifacts, verdict in ((8, "higher (p = 0.02, Holm over 3, n = 8 artifacts)"), (4, "too few to tell (too few")):
        scores = scores_where(found, dict.fromkeys(found, 9), artifacts)
        tell(told.results_told(results_by_scope(scores, "none"), "paper", "none"))
        printed = capsys.readouterr().out
        assert f"hf:x, after − before its training, discovery: 1.00 [1.00, 1.00], {verdict}" in printed
        assert "hf:x, after − before its training, found: 0.50 [0.50, 0.50]" in printed
        assert f"hf:x        │ {artifacts} " in printed, "a name is no emoji"


@pytest.mark.slow
def test_plan_says_what_a_run_takes_before_anything_is_spent():
    asked = ["plan", "--domain", "technical_writing", "--assistant", "adaptive", "--artifacts", 10]
    miniature = discover(*asked)
    assert miniature.returncode == 0, miniature.stderr
    assert "10 conversations, 50 (40–50) turns, 0 calls, $0" in miniature.stdout
    priced = discover(*asked, "--engine", "gpt-4o-mini").stdout
    assert re.search(r"judge +│ gpt-4o-mini +│ +51 \(40–5[78]\)", priced) and "$0.15 in, $0.6 out" in priced
    scored = discover(*asked, "--for", "evaluate", "--domain", "travel_plan", "--engine", "gpt-4o-mini").stdout
    assert "60 conversations, 300 (240–300) turns" in scored, "10 artifacts of two domains, in evaluate's three trials"
    assert all(re.search(rf"{purpose} +│ gpt-4o-mini +│ +61 ", scored) for purpose in ("satisfaction", "behaviour"))
    both = discover(*asked, "--domain", "travel_plan").stdout
    assert "20 conversations, 100 (80–100) turns" in both, "10 artifacts of two domains"
    unknown = discover(*asked, "--engine", "openai/mine", "--api-base", "http://localhost:1/v1").stdout
    assert "and what openai/mine costs" in unknown


@pytest.mark.slow
def test_a_missing_key_is_said_before_anything_is_made(tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    asked = ["simulate", "--domain", "technical_writing", "--assistant", "adaptive", "--artifacts", 1]
    result = discover(*asked, "--engine", "gpt-4o-mini", "--run", tmp_path / "run")
    assert_one_line_error(result, "gpt-4o-mini: OPENAI_API_KEY is not set", code=4)
    assert not (tmp_path / "run").exists()


def test_a_folder_of_other_files_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    arguments = ["simulate", "--domain", "technical_writing", "--assistant", "ask", "--artifacts", 1, "--run", tmp_path]
    assert_one_line_error(discover(*arguments), "holds other files and no run")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_port_in_use_is_said_before_anything_starts():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert_one_line_error(discover("open", "--port", taken.getsockname()[1], "--no-browser"), "is in use")


def test_what_lacks_a_measure_is_told_by_the_heading_of_its_column() -> None:
    talks = scores_where({"a": [0], "b": [1]}, {"a": 100, "b": 100}, 3)
    one_empty = [dataclasses.replace(each, moves={}) if each.artifact == "a2" else each for each in talks]
    said, _ = told.left_out(results_by_scope(one_empty)[ALL], "none")
    assert "found: taken over 2 users; 1 left out, because at least one assistant lacks it" in said.lines
    assert not any(line.startswith("proportion") for line in said.lines)
