"""discover_lib: see, run and train intent discovery (DiscoverLLM, arXiv 2602.03429).

The names below are the library's front door; each is stated in the module that its import names.  The engines
(`discover_lib.engines.miniature` and others) are imported by those who use them.  The packages are in the order of
the paper's steps: base, core, metrics, engines, runs, dataset, train, doors, tasks, `paper.py`, cli.  What people see
in a browser is the package `workbench`, which imports this one.
"""

import importlib
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType

from discover_lib.base import VERSION
from discover_lib.core.advance import advance, finished, focus, initial_state
from discover_lib.core.conversation import Artifact, Candidate, Conversation, Message, Reply, Turn
from discover_lib.core.intents import Intent, IntentTree, TreeError
from discover_lib.core.reward import Reward, reward
from discover_lib.core.rules import Rules
from discover_lib.core.simulator import UserSimulator
from discover_lib.core.state import Discovery, Evaluation, IntentState, Transition, Verdict
from discover_lib.core.view import UserView, user_view
from discover_lib.metrics.discovery import discovery_scores
from discover_lib.metrics.replay import replay
from discover_lib.runs.artifact_files import load_tree

__version__ = VERSION

__all__ = [
    "Artifact",
    "Candidate",
    "Conversation",
    "Discovery",
    "Evaluation",
    "Intent",
    "IntentState",
    "IntentTree",
    "Message",
    "Reply",
    "Reward",
    "Rules",
    "Transition",
    "TreeError",
    "Turn",
    "UserSimulator",
    "UserView",
    "Verdict",
    "advance",
    "discovery_scores",
    "finished",
    "focus",
    "initial_state",
    "load_tree",
    "replay",
    "reward",
    "user_view",
]


class _Miniature:
    """`discover_lib.miniature` still names the miniature's engine, which scripts import by that name.

    A finder and a loader without the base classes of `importlib.abc`, whose import takes 4 ms.
    """

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != f"{__name__}.miniature" and not name.startswith(f"{__name__}.miniature."):
            return None
        return importlib.machinery.ModuleSpec(name, self)  # type: ignore[arg-type]

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = importlib.import_module(spec.name.replace(".miniature", ".engines.miniature", 1))
        self._own = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._own


sys.meta_path.insert(0, _Miniature())  # before the finder of files, which would load the same modules twice
