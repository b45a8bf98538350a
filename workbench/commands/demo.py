"""`discover demo`: one conversation from end to end."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import outputs_folder, whole_file, writable, write_json
from discover_lib.base.words import counted
from discover_lib.cli.common import RulesName, Turns
from discover_lib.core.rollout import run_conversation
from discover_lib.core.rules import Rules
from discover_lib.engines.miniature import engine as miniature
from discover_lib.engines.miniature.artifacts import SPLIT_SIZES, generate_artifact
from discover_lib.engines.miniature.assistants import scripted_assistant
from discover_lib.engines.miniature.lexicon import ADDED_DOMAINS, DOMAINS, UNSEEN_DOMAINS
from discover_lib.metrics.transcript import transcript
from discover_lib.tasks.told import ending_line, tree_lines
from workbench.views.saved_pages import demo_page

DOMAINS_HELP = f"Domain: {', '.join(DOMAINS)}; not used in training: {', '.join(UNSEEN_DOMAINS)}" + (
    f"; added here: {', '.join(ADDED_DOMAINS)}." if ADDED_DOMAINS else "."
)


def demo(
    domain: Annotated[str, typer.Option(help=DOMAINS_HELP)] = "svg_drawing",
    seed: int = 0,
    assistant: Annotated[str, typer.Option(help="Scripted assistant, such as adaptive, ask or draft.")] = "adaptive",
    rules: RulesName = "paper",
    turns: Turns = 5,
    out: Annotated[Path | None, typer.Option(help="Folder for demo.html and demo.json.")] = None,
) -> None:
    """Run one conversation, print it turn by turn, and save it as a web page."""
    folder = writable(out or outputs_folder() / "demo")
    try:
        scripted = scripted_assistant(assistant, domain)
    except ValueError as error:
        raise DiscoverError(str(error)) from None
    user = miniature(domain)
    artifact = generate_artifact(domain, "eval", seed % SPLIT_SIZES["eval"])
    tree = user.builder.build(artifact).tree
    shape = f"{counted(len(tree), 'intent')} in {counted(len(tree.roots), 'tree')}"
    typer.echo("\n".join((f"{artifact.id} · {tree.artifact_type} · {shape}", *tree_lines(tree), "")))
    setting = {"engine": "miniature", "domain": domain, "artifact": artifact.id, "assistants": [assistant], "trial": 0}
    talk = run_conversation(
        tree, user.judge, user.voice, [scripted], rules=Rules.named(rules), seed=seed, turns=turns, setting=setting
    )
    typer.echo("\n".join((*transcript(talk), "", ending_line(talk))))
    write_json(folder / "demo.json", {"artifact": artifact.to_dict(), "conversation": talk.to_dict()})
    page = folder / "demo.html"
    with whole_file(page) as file:
        file.write(demo_page(talk, artifact))
    typer.echo(f"\nsaved {folder / 'demo.json'} and {page} (opens from disk; use the arrow keys)")
