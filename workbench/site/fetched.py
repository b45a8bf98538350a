"""The downloads of the site: Pyodide from npm, and one compiled library from PyPI.

A cache stores both, so the second build needs no network.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from discover_lib.base.errors import DiscoverError

PYODIDE = "314.0.7"
PYODIDE_FILES = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
COMPILED = "msgspec"  # reads the scores; PyPI has its wheel for Pyodide


def cache_folder() -> Path:
    """The folder of the downloads: `discover-lib` in the user's cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "discover-lib"


def pyodide_folder(given: Path | None = None) -> Path:
    """The folder of Pyodide's files: the given folder, or the cache, filled from npm.

    Raises:
        DiscoverError: files are missing in the given folder, or npm is missing or failed.
    """
    if given is not None:
        missing = [name for name in PYODIDE_FILES if not (given / name).is_file()]
        if missing:
            raise DiscoverError(f"{given} lacks {', '.join(missing)}: give a folder of npm's package pyodide@{PYODIDE}")
        return given
    folder = cache_folder() / f"pyodide-{PYODIDE}"
    if not folder.is_dir():
        _unpacked_from_npm(folder)
    return folder


def compiled_wheel(pyodide: Path) -> Path:
    """The wheel of the compiled library for this Pyodide, in the installed version.

    Raises:
        DiscoverError: pip cannot download it.
    """
    wanted = version(COMPILED)
    folder = cache_folder() / "wheels"
    platform, python = _target(pyodide)
    pattern = f"{COMPILED}-{wanted}-*-{platform}.whl"
    for wheel in folder.glob(pattern):
        return wheel
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", f"{COMPILED}=={wanted}"]
    command += ["--no-deps", "--only-binary", ":all:", "--platform", platform, "--python-version", python]
    run([*command, "--dest", folder], f"pip cannot get {COMPILED} {wanted} for {platform}")
    return next(folder.glob(pattern))


def _target(pyodide: Path) -> tuple[str, str]:
    """The platform tag and the Python version ("3.14") of wheels for this Pyodide."""
    told = json.loads((pyodide / "pyodide-lock.json").read_text(encoding="utf-8"))["info"]
    return f"pyemscripten_{told['abi_version']}_wasm32", ".".join(told["python"].split(".")[:2])


def _unpacked_from_npm(folder: Path) -> None:
    if shutil.which("npm") is None:
        raise DiscoverError(
            f"npm is missing, which Pyodide comes from: install Node.js, or unpack pyodide@{PYODIDE} of npm yourself "
            "and give its folder as --pyodide FOLDER"
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        command = ["npm", "pack", f"pyodide@{PYODIDE}", "--silent", "--pack-destination", scratch]
        run(command, f"npm cannot get pyodide@{PYODIDE}")
        with tarfile.open(next(Path(scratch).glob("pyodide-*.tgz"))) as package:
            package.extractall(scratch, filter="data")
        (Path(scratch) / "package").rename(folder)


def run(command: Sequence[str | Path], trouble: str) -> None:
    """Run a command.

    Raises:
        DiscoverError: it failed. The message has `trouble` and the last line of its errors.
    """
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = re.findall(r"(?:ERROR|error).*", done.stderr) or done.stderr.strip().splitlines() or ["no reason given"]
        raise DiscoverError(f"{trouble}: {lines[-1].strip()}")
