"""Run the tests of other people's packages, each kind in a separate environment: `make integrations`.

.venv/bin/python tools/integrations.py [ENVIRONMENT ...]
"""

import subprocess
import sys

from install import INTEGRATIONS, ROOT, InstallError, install_integration, say


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
        command = [str(python), "-m", "pytest", "-q", "--integrations", ",".join(INTEGRATIONS[name].tested)]
        say(f"{name}: {', '.join(INTEGRATIONS[name].tested)}")
        status = subprocess.run(command, cwd=ROOT, check=False).returncode or status
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
