"""discover_lib: see, run and train intent discovery (DiscoverLLM, arXiv 2602.03429).

The names below are the library's front door; each is stated in the module that its import names.  The engines
(`discover_lib.engines.miniature` and others) are imported by those who use them.
"""

from discover_lib.core.conversation import Artifact, Candidate, Conversation, Message, Reply, Turn
from discover_lib.core.intents import Intent, IntentTree, TreeError
from discover_lib.core.reward import Reward, reward
from discover_lib.core.rules import Rules
from discover_lib.core.simulator import UserSimulator, replay
from discover_lib.core.state import (
    Discovery,
    Evaluation,
    IntentState,
    Transition,
    Verdict,
    advance,
    finished,
    focus,
    initial_state,
)
from discover_lib.core.view import UserView, user_view
from discover_lib.metrics.discovery import discovery_scores
from discover_lib.runs.files import load_tree

__version__ = "0.1.0"

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
