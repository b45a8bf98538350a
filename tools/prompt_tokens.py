"""What the prompts cost: tokens of every system part, and of judge and voice over five turns of recorded calls.

    python tools/prompt_tokens.py

Beside each figure stands that of the prompts with which the calls of tests/data/by-hand were made.  The calls are sent
again, as it were: what stood in a prompt then is put into the prompt of today, so that both are counted over the same
conversations, trees and replies.  Counted with the cl100k vocabulary that LiteLLM's wheel ships, else by our rule.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import mean

import by_hand

from discover_lib.base.tokens import COUNTING, count_tokens
from discover_lib.engines.llm.prompting import PromptSet, Template
from discover_lib.engines.llm.voice import describe_latent

THEN = Path(__file__).parents[1] / "tests" / "data" / "old_layout_prompts"
TURNS = 5  # of a conversation: as many judgements, and an answer to all but the last


def tokenizer() -> tuple[str, Callable[[str], int]]:
    """Its name, and tokens of a text."""
    spec = importlib.util.find_spec("litellm")
    if spec is not None and spec.submodule_search_locations and importlib.util.find_spec("tiktoken"):
        folder = Path(spec.submodule_search_locations[0]) / "litellm_core_utils" / "tokenizers"
        os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
        import tiktoken

        encoding = tiktoken.get_encoding("cl100k_base")
        return "cl100k_base", lambda text: len(encoding.encode(text, disallowed_special=()))
    return COUNTING, count_tokens


def values_of(template: Template, asked: str) -> dict[str, str]:
    """The values that a request was rendered with."""
    written = re.split(r"\{\{ (\w+) \}\}", template.parts[-1][1])
    pattern = "".join(f"(?P<{piece}>.*)" if at % 2 else re.escape(piece) for at, piece in enumerate(written))
    found = re.fullmatch(pattern, asked, re.DOTALL)
    assert found is not None, f"{template.name}: a request of another template"
    return found.groupdict()


def request_tokens(call: by_hand.Call, then: PromptSet, now: PromptSet, count: Callable[[str], int]) -> tuple[int, int]:
    """Tokens of a call's whole request as it was, and as it would be today."""
    values = values_of(then[call.prompt], call.asked)
    if call.prompt == "user_reply":
        view, _ = by_hand.spoken_view(call)
        if view.pursuing == "latent":
            values["items"] = describe_latent(view, ())

    def tokens(messages: tuple[Mapping[str, str], ...]) -> int:
        return sum(count(message["content"]) for message in messages)

    was = count(then[call.prompt].parts[0][1]) + count(call.asked)
    return was, tokens(now.render(call.prompt, **values))


def five_turns(count: Callable[[str], int]) -> tuple[float, float]:
    """Tokens in of judge and voice over five turns, then and now: means over the recorded calls of each."""
    then, now = PromptSet(THEN), PromptSet()
    sums = [0.0, 0.0]
    for prompt, times in (("response_evaluation", TURNS), ("user_reply", TURNS - 1)):
        calls = [call for call in by_hand.calls().values() if call.prompt == prompt and not call.again]
        pairs = [request_tokens(call, then, now, count) for call in calls]
        for at in (0, 1):
            sums[at] += times * mean(pair[at] for pair in pairs)
    return sums[0], sums[1]


def main() -> None:
    name, count = tokenizer()
    then, now = PromptSet(THEN), PromptSet()
    print(f"tokens by {name}\n\n| prompt | then | now |\n| --- | --- | --- |")
    for prompt, template in sorted(now.templates.items()):
        was = f"{count(then[prompt].parts[0][1]):,}" if (THEN / f"{prompt}.md").exists() else "–"
        print(f"| {prompt}, system part | {was} | {count(template.parts[0][1]):,} |")
    sums = five_turns(count)
    print(f"| judge + voice, {TURNS} turns | {sums[0]:,.0f} | {sums[1]:,.0f} |")


if __name__ == "__main__":
    main()
