"""`discover demo` and `discover build`: one conversation from end to end, and trees from artifact files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import outputs_folder, whole_file, write_json
from discover_lib.cli.common import (
    RulesName,
    Seed,
    console,
    writable,
)
from discover_lib.cli.show import print_ending, print_opening, print_turn
from discover_lib.core.rollout import run_conversation
from discover_lib.engines.miniature import engine as miniature
from discover_lib.engines.miniature.artifacts import SPLIT_SIZES, generate_artifact
from discover_lib.engines.miniature.assistants import scripted_assistant
from discover_lib.engines.miniature.lexicon import ADDED_DOMAINS, DOMAINS, UNSEEN_DOMAINS
from workbench.views.pages import demo_page

DOMAINS_HELP = f"{', '.join(DOMAINS)}; unseen by every setting: {', '.join(UNSEEN_DOMAINS)}" + (
    f"; added here: {', '.join(ADDED_DOMAINS)}." if ADDED_DOMAINS else "."
)


def demo(
    domain: Annotated[str, typer.Option(help=DOMAINS_HELP)] = "svg_drawing",
    seed: Seed = 0,
    assistant: Annotated[str, typer.Option(help="A scripted assistant.")] = "adaptive",
    rules: RulesName = RulesName.paper,
    turns: Annotated[int, typer.Option(min=1, max=50)] = 5,
    out: Annotated[Path | None, typer.Option(help="Folder for demo.html and demo.json.")] = None,
) -> None:
    """Run one conversation end to end, print it turn by turn, and save it as a page to scrub through."""
    folder = writable(out or outputs_folder() / "demo")
    try:
        scripted = scripted_assistant(assistant, domain)
    except ValueError as error:
        raise DiscoverError(str(error)) from None
    user = miniature(domain)
    artifact = generate_artifact(domain, "eval", seed % SPLIT_SIZES["eval"])
    built = user.builder.build(artifact)
    screen = console()
    print_opening(screen, artifact, built.tree)
    setting = {"engine": "miniature", "domain": domain, "artifact": artifact.id, "assistants": [assistant], "trial": 0}
    conversation = run_conversation(
        built.tree,
        user.judge,
        user.voice,
        [scripted],
        rules=rules.rules,
        seed=seed,
        turns=turns,
        setting=setting,
        on_turn=lambda turn: print_turn(screen, built.tree, turn, domain),
    )
    print_ending(screen, conversation)
    write_json(folder / "demo.json", {"artifact": artifact.to_dict(), "conversation": conversation.to_dict()})
    page = folder / "demo.html"
    with whole_file(page) as file:
        file.write(demo_page(conversation, artifact))
    screen.print(f"\nsaved {folder / 'demo.json'} and {page} (opens from disk, scrub with the arrow keys)")
