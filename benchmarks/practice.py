"""What the tiny model practised in pretraining, by kind of artifact: how many of its replies show samples.

    .venv/bin/python benchmarks/practice.py

Every practice conversation of the standard recipe is made again, as pretraining makes it, and its replies are counted.
"""

from __future__ import annotations

from collections import Counter

from discover_lib.engines.local.tiny_model import TinyRecipe, practice_conversations
from discover_lib.engines.miniature.lexicon import UNSEEN_DOMAINS


def main() -> None:
    recipe = TinyRecipe().resolved()
    replies, samples = Counter[str](), Counter[str]()
    for step in range(recipe.steps):
        for domain, exchanges in practice_conversations(recipe, step):
            replies[domain] += len(exchanges)
            samples[domain] += sum("show" in each.reply.split() for each in exchanges)
    for domain in recipe.domains:
        unseen = ", unseen in training" if domain in UNSEEN_DOMAINS else ""
        print(f"{domain}{unseen}: {samples[domain]:,} of {replies[domain]:,} replies show samples")
    within = {
        name: sum(counts[each] for each in UNSEEN_DOMAINS) for name, counts in (("of", replies), ("show", samples))
    }
    print(f"all: {samples.total():,} of {replies.total():,} replies show samples")
    print(f"in the {len(UNSEEN_DOMAINS)} kinds that no training stage saw: {within['show']:,} of {within['of']:,}")


if __name__ == "__main__":
    main()
