"""`discover demo` and `discover build`: one conversation from end to end, and trees from artifact files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from discover_lib.app.cli.common import (
    USAGE_ERROR,
    ApiBase,
    KeyVariable,
    Prompts,
    RulesName,
    Seed,
    client_settings,
    console,
    one_line,
    writable,
)
from discover_lib.app.cli.show import print_ending, print_opening, print_turn
from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import write_json
from discover_lib.base.paths import outputs_folder
from discover_lib.core.roles import BuildError, TreeBuilder
from discover_lib.core.rollout import run_conversation
from discover_lib.engines.miniature import engine as miniature
from discover_lib.engines.miniature.artifacts import SPLIT_SIZES, generate_artifact
from discover_lib.engines.miniature.assistants import scripted_assistant
from discover_lib.engines.spec import MINIATURE, EngineSpec, RoleEngines
from discover_lib.runs.files import ArtifactFileError, domain_of_type, read_artifact_file
from discover_lib.views.pages import demo_page


def demo(
    domain: Annotated[
        str,
        typer.Option(
            help="svg_drawing, creative_writing, technical_writing; unseen by every setting: travel_plan, "
            "dataviz_code, paper_abstract, image_prompt, web_component."
        ),
    ] = "svg_drawing",
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
        on_turn=lambda turn: print_turn(screen, built.tree, turn),
    )
    print_ending(screen, conversation)
    write_json(folder / "demo.json", {"artifact": artifact.to_dict(), "conversation": conversation.to_dict()})
    page = folder / "demo.html"
    page.write_text(demo_page(conversation, artifact), encoding="utf-8")
    screen.print(f"\nsaved {folder / 'demo.json'} and {page} (opens from disk, scrub with the arrow keys)")


def build(
    files: Annotated[list[Path], typer.Argument(help="Artifact files.")],
    artifact_type: Annotated[str, typer.Option("--type", help="e.g. 'svg drawing', 'short story'.")],
    engine: Annotated[str, typer.Option(help="What builds: miniature, or a LiteLLM model.")] = "miniature",
    out: Annotated[Path | None, typer.Option(help="Folder for the trees (JSON).")] = None,
    prompts: Prompts = None,
    budget: Annotated[float | None, typer.Option(min=0, help="Dollars for all files; stops cleanly.")] = None,
    api_base: ApiBase = None,
    key_variable: KeyVariable = None,
) -> None:
    """Build intent trees from artifact files."""
    folder = writable(out or outputs_folder() / "trees")
    screen = console()
    failures = []
    with _tree_builder(engine, artifact_type, prompts, budget, api_base, key_variable) as (domain, builder):
        for path in files:
            try:
                built = builder.build(read_artifact_file(path, artifact_type, domain))
            except (ArtifactFileError, BuildError) as error:
                failures.append(str(error))
                continue
            target = folder / f"{path.stem}.json"
            stages = {
                "recognised": [vars(requirement) for requirement in built.recognised],
                "levels": [list(level) for level in built.levels],
            }
            write_json(target, {"tree": built.tree.to_dict(), **stages})
            size = f"{len(built.tree)} intents in {len(built.tree.roots)} trees"
            screen.print(f"{path}: {size} → {target}", highlight=False, markup=False)
            for requirement in built.recognised:
                reason = f"  ({requirement.reason})" if requirement.reason else ""
                screen.print(f"  {requirement.text}{reason}", highlight=False, markup=False)
    for failure in failures:
        typer.echo(f"discover: {one_line(failure)}", err=True)
    if failures:
        raise typer.Exit(USAGE_ERROR)


@contextmanager
def _tree_builder(
    engine: str,
    artifact_type: str,
    prompts: Path | None,
    budget: float | None,
    api_base: str | None,
    key_variable: str | None,
) -> Iterator[tuple[str, TreeBuilder]]:
    """The miniature's domain ("" for a model) and the builder."""
    if engine == MINIATURE:
        domain = domain_of_type(artifact_type)
        yield domain, RoleEngines(EngineSpec()).builder(domain)
        return
    from discover_lib.engines.llm.calls.client import Budget, LLMClient

    settings = client_settings(api_base=api_base, key_variable=key_variable)
    with LLMClient(settings, budget=None if budget is None else Budget(budget)) as client:
        spec = EngineSpec(builder=engine, prompts=str(prompts) if prompts else None)
        yield "", RoleEngines(spec, client).builder("")
