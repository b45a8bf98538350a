"""The `discover` command as tests call it: in this process, or as a process of its own."""

import re
import subprocess
import sys

from typer.testing import CliRunner

from workbench.main import app


def discover(*arguments: object) -> subprocess.CompletedProcess[str]:
    """The command in this process; an exception that it does not catch fails the test."""
    result = CliRunner().invoke(app, [str(each) for each in arguments], catch_exceptions=False)
    return subprocess.CompletedProcess(arguments, result.exit_code, result.stdout, result.stderr)


def discover_apart(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from workbench.main import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)


def assert_one_line_error(result: subprocess.CompletedProcess[str], says: str, code: int = 2) -> None:
    assert result.returncode == code, result
    assert re.search(says, result.stderr), result.stderr
    assert "Traceback" not in result.stderr + result.stdout
    assert len(result.stderr.strip().splitlines()) == 1, result.stderr
