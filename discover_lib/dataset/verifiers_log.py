"""verifiers' `traces.jsonl`: a run as episodes that its `read_episodes`, replay and viewers read.

An episode is a conversation: the user's messages are nodes that were given, the assistant's are sampled ones, and the
trace's reward is the sum of the turns' rewards, as `doors.verifiers` records it; None where a turn is unscored.
"""

from __future__ import annotations

from pathlib import Path

from discover_lib.core.conversation import Conversation
from discover_lib.dataset.formats import FormatError
from discover_lib.metrics.scores import scores_of
from discover_lib.runs.resolve import id_of
from discover_lib.runs.store import RunStore, id_of_run

HOW_TO_GET = "writing traces for verifiers needs it: pip install 'discover-lib[verifiers]'"
ENVIRONMENT = "discover_user"  # the name under which `doors.verifiers` is installed


def write_traces(folder: Path, store: RunStore) -> int:
    """Write the finished conversations of a run; returns how many.

    Raises:
        FormatError: verifiers is not here.
    """
    try:
        from verifiers.v1 import AgentInfo, EnvInfo, Episode, MessageNode, Reward, Trace, TraceTask, WireTaskData
        from verifiers.v1.configs.agent import WireAgentConfig
        from verifiers.v1.types import AssistantMessage, UserMessage
        from verifiers.v1.utils.trace_store import TRACES_FILE, write_episode
    except ImportError as error:
        raise FormatError(f"{HOW_TO_GET} ({error})") from None
    (folder / TRACES_FILE).unlink(missing_ok=True)  # it is appended to
    run, count = id_of_run(store.path.parent), 0

    def trace_of(talk: Conversation) -> Trace:
        scores = scores_of(talk, 0)
        whom = {"seed": str(talk.seed), "artifact": scores.artifact, "trial": scores.trial, "domain": scores.domain}
        data = WireTaskData(id=scores.unit, **whom)
        name = str(id_of(run, scores))
        task = TraceTask(type="Task", data=data, key=scores.unit)
        unscored = [each for each in scores.rewards if each is None]
        reward = None if unscored else Reward(score=sum(each for each in scores.rewards if each is not None))
        trace = Trace(
            id=name,
            task=task,
            agent=AgentInfo(config=WireAgentConfig(model=scores.assistant)),
            rewards={"discovery": reward},
            metrics={"discovered": None if unscored else float(scores.discovered), "share": scores.proportion()},
            info={"discover": {"id": name, "rewards": list(scores.rewards), "conversation": talk.to_dict()}},
            is_completed=True,
            ok=not unscored,
            stop_condition=talk.stop,
        )
        for message in talk.messages():
            of_assistant = message.role == "assistant"
            spoken = (AssistantMessage if of_assistant else UserMessage)(content=message.content)
            parent = len(trace.nodes) - 1 if trace.nodes else None
            trace.nodes.append(MessageNode(parent=parent, message=spoken, sampled=of_assistant))
        return trace

    for talk in store.conversations():
        trace = trace_of(talk)
        env = EnvInfo(id=ENVIRONMENT)
        write_episode(folder, Episode(id=trace.id, env=env, task=trace.task, traces=[trace], ok=trace.ok))
        count += 1
    return count
