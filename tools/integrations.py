"""Run the tests of other people's packages, each kind in an environment of its own: `make integrations`.

.venv/bin/python tools/integrations.py [ENVIRONMENT ...]
"""

import subprocess
import sys

from install import INTEGRATIONS, ROOT, InstallError, install_integration, say

# Environment → what its tests are marked with.
TESTED = {
    "integrations": ("gymnasium", "ray", "skyrl", "lexicalrichness", "smollm2", "transformers-serve"),
    "inspect": ("inspect",),
    "openenv": ("openenv",),
    "verifiers": ("verifiers",),
    "tinker": ("tinker",),
}


def main(names: list[str]) -> int:
    """Install and test each environment; return the first exit status that is not 0."""
    status = 0
    for name in names or list(INTEGRATIONS):
        try:
            python = install_integration(name)
        except InstallError as error:
            say(f"{name} could not be installed: {error}")
            status = status or 1
            continue
        command = [str(python), "-m", "pytest", "-q", "--integrations", ",".join(TESTED[name])]
        say(f"{name}: {', '.join(TESTED[name])}")
        status = subprocess.run(command, cwd=ROOT, check=False).returncode or status
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
