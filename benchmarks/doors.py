"""Turns per second through each in-process door, as a share of the user's own: `python benchmarks/doors.py [NAME ...]`.

Processor time, not wall time; doors whose package is absent are left out.  The replies are a scripted assistant's.
"""

import importlib.util
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from discover_lib.core.simulator import UserSimulator
from discover_lib.doors.episode import Episode
from discover_lib.engines.miniature.assistants import scripted_assistant

sys.path.append(str(Path(__file__).resolve().parents[1] / "docs" / "integrations"))  # files that people copy
OPTIONS = {"artifacts": 20}
ROUNDS, SEEDS = 3, 3
Step = Callable[[str], bool]  # says a reply, answers whether the episode goes on
Begin = Callable[[int, int], Step]


def replies() -> list[str]:
    episode, assistant = Episode(**OPTIONS), scripted_assistant("adaptive", "svg_drawing")
    episode.reset(0, 3)
    texts = [episode.user.ask(assistant).text]
    while not episode.step(texts[-1]).done:
        texts.append(episode.user.ask(assistant).text)
    return texts


def native(episode: Episode) -> Begin:
    def begin(seed: int, artifact: int) -> Step:
        episode.reset(seed, artifact)
        user: UserSimulator = episode.user
        return lambda text: user.step(text) is not None and user.conversation.stop is None

    return begin


def doors() -> Iterator[tuple[str, Begin]]:
    """Each door with how an episode of it begins."""
    episode = Episode(**OPTIONS)

    def neutral(seed: int, artifact: int) -> Step:
        episode.reset(seed, artifact)
        return lambda text: not episode.step(text).done

    yield "Episode", neutral
    if importlib.util.find_spec("gymnasium"):
        from discover_lib.doors.gymnasium import DiscoverUser as Gymnasium

        env = Gymnasium(**OPTIONS)

        def gymnasium(seed: int, artifact: int) -> Step:
            env.reset(seed=seed, options={"artifact": artifact})
            return lambda text: not any(env.step(text)[2:4])

        yield "Gymnasium", gymnasium
    if importlib.util.find_spec("skyrl_gym"):
        from skyrl_user import DiscoverUser as SkyRL

        def skyrl(seed: int, artifact: int) -> Step:
            env = SkyRL(OPTIONS, {"seed": seed, "artifact": artifact})
            env.init([])
            return lambda text: not env.step(text)["done"]

        yield "SkyRL-gym", skyrl
    if importlib.util.find_spec("openenv"):
        from discover_lib.doors.openenv import DiscoverUser as OpenEnv
        from discover_lib.doors.openenv import Reply

        served = OpenEnv(**OPTIONS)

        def openenv(seed: int, artifact: int) -> Step:
            served.reset(seed, artifact=artifact)
            return lambda text: not served.step(Reply(text=text)).done

        yield "OpenEnv (no server)", openenv
    if importlib.util.find_spec("tinker_cookbook"):
        from tinker_user import DiscoverUser as Tinker

        def tinker(seed: int, artifact: int) -> Step:
            env = Tinker(seed, artifact, **OPTIONS)
            at_once(env.initial_observation())
            return lambda text: not at_once(env.step({"role": "assistant", "content": text})).episode_done

        yield "Tinker", tinker


def at_once(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine that never waits, as a door's coroutine does if no language model plays."""
    try:
        coroutine.send(None)
    except StopIteration as ended:
        return ended.value
    raise RuntimeError("it waits")


def play(begin: Begin, texts: list[str]) -> float:
    """Turns per second of processor time."""
    turns, began = 0, time.process_time()
    for seed in range(SEEDS):
        for artifact in range(OPTIONS["artifacts"]):
            step = begin(seed, artifact)
            for text in texts:
                turns += 1
                if not step(text):
                    break
    return turns / (time.process_time() - began)


def main() -> None:
    texts = replies()
    user = partial(play, native(Episode(**OPTIONS)), texts)
    user()  # reads the lexicon, compiles the records
    for name, begin in doors():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        pairs = [(play(begin, texts), user()) for _ in range(ROUNDS)]
        shares = sorted(door / own for door, own in pairs)
        print(f"{name:20} {max(door for door, _ in pairs):7,.0f} turns/s, {shares[ROUNDS // 2]:4.0%} of the user's own")


if __name__ == "__main__":
    main()
