"""What the site takes from elsewhere when it is built: Pyodide from npm, and the one compiled library that is needed.

Both are kept in a cache; a site that was built once is built again without a network.
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
COMPILED = "msgspec"  # reads the scores' lines; PyPI has its wheel for Pyodide


def cache_folder() -> Path:
    """Where downloads are kept: `discover-lib` in the user's cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "discover-lib"


def pyodide_folder(given: Path | None = None) -> Path:
    """The folder of Pyodide's files: the one given, the one in the cache, or fetched from npm into the cache.

    Raises:
        DiscoverError: files are missing in the folder given, or npm is missing or failed; says what to do.
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
    """The wheel of the compiled library for this Pyodide, in the version that is installed here.

    Raises:
        DiscoverError: pip cannot get it.
    """
    wanted = version(COMPILED)
    folder = cache_folder() / "wheels"
    platform, python = _target(pyodide)
    pattern = f"{COMPILED}-{wanted}-*-{platform}.whl"
    for place in (pyodide, folder):
        for wheel in place.glob(pattern):
            return wheel
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", f"{COMPILED}=={wanted}"]
    command += ["--no-deps", "--only-binary", ":all:", "--platform", platform, "--python-version", python]
    _run([*command, "--dest", folder], f"pip cannot get {COMPILED} {wanted} for {platform}")
    return next(folder.glob(pattern))


def _target(pyodide: Path) -> tuple[str, str]:
    """The platform's tag and Python's version ("3.14") that wheels for this Pyodide carry."""
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
        _run(command, f"npm cannot get pyodide@{PYODIDE}")
        with tarfile.open(next(Path(scratch).glob("pyodide-*.tgz"))) as package:
            package.extractall(scratch, filter="data")
        (Path(scratch) / "package").rename(folder)


def _run(command: Sequence[str | Path], trouble: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = re.findall(r"(?:ERROR|error).*", done.stderr) or done.stderr.strip().splitlines() or ["no reason given"]
        raise DiscoverError(f"{trouble}: {lines[-1].strip()}")
