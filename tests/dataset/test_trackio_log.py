"""A run as a project of trackio, read by trackio itself."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from discover_lib.runs.digests import stored_scores
from discover_lib.runs.options import RunOptions, execute, lay_out
from discover_lib.runs.store import RunStore

pytestmark = pytest.mark.slow

EXPORT = "from discover_lib.app.cli.main import main; main()"
READ = """
import json
from trackio.sqlite_storage import SQLiteStorage as Storage
names = Storage.get_runs("discover")
print(json.dumps({name: [Storage.get_logs("discover", name), Storage.get_traces("discover", name)] for name in names}))
"""


def test_trackio_reads_what_the_run_holds(tmp_path: Path) -> None:
    pytest.importorskip("trackio", reason="no trackio: pip install 'discover-lib[trackio]'")
    (tmp_path / "run").mkdir()
    execute(lay_out(RunOptions(("draft", "ask"), domain="svg_drawing", artifacts=2)), tmp_path / "run")
    out = tmp_path / "trackio"
    command = [sys.executable, "-c", EXPORT, "export", str(tmp_path / "run"), "--format", "trackio", "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"4 conversations → {out} (TRACKIO_DIR={out} trackio show --project discover)\n"
    environment = {**os.environ, "TRACKIO_DIR": str(out)}
    told = subprocess.run([sys.executable, "-c", READ], capture_output=True, text=True, check=True, env=environment)
    runs = json.loads(told.stdout.splitlines()[-1])
    with RunStore.read(tmp_path / "run") as store:
        talks, scores = list(store.conversations()), list(stored_scores(store))
    assert sorted(runs) == ["ask", "draft"]
    for name, (logs, traces) in runs.items():
        own = [place for place, talk in enumerate(talks) if talk.setting["assistants"] == [name]]
        assert [log["share"] for log in sorted(logs, key=lambda log: log["step"])] == [
            scores[place].proportion() for place in own
        ]
        chats = [trace["messages"] for trace in sorted(traces, key=lambda trace: trace["step"])]
        assert chats == [[{"role": m.role, "content": m.content} for m in talks[place].messages()] for place in own]


def test_without_trackio_one_line_says_how_to_get_it(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    execute(lay_out(RunOptions(("draft",), domain="svg_drawing", artifacts=1)), tmp_path / "run")
    program = f"import sys; sys.modules['trackio'] = None; {EXPORT}"
    arguments = ["export", str(tmp_path / "run"), "--format", "trackio", "--out", str(tmp_path / "out")]
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install 'discover-lib[trackio]'" in done.stderr and done.stderr.count("\n") == 1
