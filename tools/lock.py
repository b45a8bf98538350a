"""Write constraints.txt, the versions that the project is tested with, and their table in docs/training.md.

.venv/bin/python tools/lock.py           # both, from pyproject.toml
.venv/bin/python tools/lock.py --table   # the table alone, from the two lock files
"""

import re
import sys

from install import CONSTRAINTS, GPU_VERSIONS, ROOT, InstallError, ready_uv, run

HEADER = """\
# Versions that the workbench is tested with. Made by `make lock` from pyproject.toml, for every platform; do not edit.
# torch and the packages of its CUDA builds are left open on purpose. The machine decides which build is right
# (CPU, CUDA, ROCm). A pinned build would forbid the others.
"""
EXTRAS = ("test",)
COMES_WITH_TORCH = re.compile(r"(torch|triton|nvidia-[\w-]+|cuda-[\w-]+)(==|\s)")
PAGE = ROOT / "docs" / "training.md"
TABLE = re.compile(r"(?<=<!-- versions: tools/lock.py -->\n).*?(?=\n<!-- /versions -->)", re.DOTALL)
SHOWN = ("transformers", "trl", "peft", "accelerate", "datasets", "unsloth", "unsloth_zoo", "bitsandbytes")


def lock() -> int:
    """Resolve core and EXTRAS for all platforms and write the versions; return how many."""
    uv, environment = ready_uv()
    extras = [word for extra in EXTRAS for word in ("--extra", extra)]
    style = ["--universal", "--python-version", "3.11", "--no-header", "--no-annotate", "--quiet", "--upgrade"]
    listing = run([uv, "pip", "compile", "pyproject.toml", *extras, *style], environment, capture=True)
    pins = [line for line in listing.splitlines() if "==" in line and not COMES_WITH_TORCH.match(line)]
    CONSTRAINTS.write_text(HEADER + "\n".join(pins) + "\n")
    return len(pins)


def pins_of(text: str) -> dict[str, str]:
    """The versions of a lock file, by package."""
    return dict(re.findall(r"^([\w.-]+)==([\w.+]+)", text, re.MULTILINE))


def versions_table() -> str:
    """Versions of the training packages: those of `make test` beside those of a GPU machine."""
    tested = pins_of(CONSTRAINTS.read_text("utf-8"))
    gpu = pins_of((ROOT / GPU_VERSIONS).read_text("utf-8"))
    rows = [f"| {name} | {tested.get(name, '–')} | {gpu.get(name, '–')} |" for name in SHOWN]
    head = f"| package | `make test` (`{CONSTRAINTS.name}`) | a GPU machine (`{GPU_VERSIONS.as_posix()}`) |"
    return "\n".join([head, "|---|---|---|", *rows])


if __name__ == "__main__":
    try:
        if sys.argv[1:] != ["--table"]:
            print(f"{CONSTRAINTS.name}: {lock()} versions")
        PAGE.write_text(TABLE.sub(lambda _: versions_table(), PAGE.read_text("utf-8")), "utf-8")
    except InstallError as error:
        sys.exit(f"no file was written: {error}")
