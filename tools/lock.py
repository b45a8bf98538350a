"""Write constraints.txt, the versions that the project is tested with: `.venv/bin/python tools/lock.py`."""

import re
import sys

from install import CONSTRAINTS, InstallError, ready_uv, run

HEADER = """\
# Versions that the workbench is tested with. Made by `make lock` from pyproject.toml, for every platform; do not edit.
# torch and the packages that come with its CUDA builds are left open on purpose: which build is right (CPU, CUDA, ROCm)
# depends on the machine, and pinning one would forbid the others.
"""
EXTRAS = ("test",)
COMES_WITH_TORCH = re.compile(r"(torch|triton|nvidia-[\w-]+|cuda-[\w-]+)(==|\s)")


def lock() -> int:
    """Resolve core and EXTRAS for all platforms and write the versions; return how many."""
    uv, environment = ready_uv()
    extras = [word for extra in EXTRAS for word in ("--extra", extra)]
    style = ["--universal", "--python-version", "3.11", "--no-header", "--no-annotate", "--quiet", "--upgrade"]
    listing = run([uv, "pip", "compile", "pyproject.toml", *extras, *style], environment, capture=True)
    pins = [line for line in listing.splitlines() if "==" in line and not COMES_WITH_TORCH.match(line)]
    CONSTRAINTS.write_text(HEADER + "\n".join(pins) + "\n")
    return len(pins)


if __name__ == "__main__":
    try:
        print(f"{CONSTRAINTS.name}: {lock()} versions")
    except InstallError as error:
        sys.exit(f"nothing was written: {error}")
