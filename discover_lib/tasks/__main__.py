"""`python -m discover_lib.tasks FOLDER HOW`: the process that `waist.begin` begins."""

import json
import sys
from pathlib import Path

from discover_lib.tasks.waist import work_in

if __name__ == "__main__":
    work_in(Path(sys.argv[1]), json.loads(sys.argv[2]))
