"""What a list that ignores the user earns: docs/results/catalogue.json, and its table in docs/results.md.

    .venv/bin/python benchmarks/catalogue.py --write

`catalogue` names every value of the lexicon in every turn.  It meets the users of the published evaluation of
`discover miniature` (the same artifacts, trials and seed) in a run of its own, so that eq. 4 of the published nine
stays within the nine.  It is measured twice: in the miniature's notation, where a word counts as 16 tokens, and as one
English question counted in the tokens of its own text.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pages import put

from discover_lib.base.files import write_json
from discover_lib.base.tokens import count_tokens
from discover_lib.core.rules import Rules
from discover_lib.doors.episode import Episode
from discover_lib.engines.miniature.assistants import USER_BLIND
from discover_lib.engines.miniature.lexicon import Lexicon, load_lexicon
from discover_lib.metrics.intervals import Estimate, bootstrap_mean
from discover_lib.metrics.results import ALL, rounded
from discover_lib.metrics.scores import scores_of
from discover_lib.paper import Paper, PaperOptions, evaluation_results

REPOSITORY = Path(__file__).resolve().parent.parent
PAGE, KEPT = REPOSITORY / "docs" / "results.md", REPOSITORY / "docs" / "results" / "catalogue.json"
PUBLISHED = REPOSITORY / "docs" / "results" / "miniature" / "seed-0" / "results.json"
FORMAT = "discover-catalogue/1"
MEASURES = ("proportion", "reward", "satisfaction", "tokens")
BEST = "adaptive"
RULES = (Rules.paper(), Rules.paper_grpo(), Rules.authors())


def sentence(lexicon: Lexicon) -> str:
    """Every value that a piece can hold, in one question."""
    *first, last = dict.fromkeys(
        lexicon.values[leaf].say for dimension in lexicon.dimensions.values() for leaf in dimension.leaves
    )
    return f"Would you like any of these: {', '.join(first)} or {last}?"


def in_notation(folder: Path, options: PaperOptions, processes: int) -> dict[str, dict[str, Any]]:
    """The row that `discover miniature` reports, by the same code: scope → measure → estimate."""
    folder.mkdir(parents=True, exist_ok=True)
    Paper(folder, options, processes=processes).evaluate_user_blind()
    found = evaluation_results(folder / USER_BLIND, {USER_BLIND: USER_BLIND})
    rows = {each["scope"]: each["table"][USER_BLIND] for each in found["scopes"]}
    return {scope: {name: row[name] for name in MEASURES if name in row} for scope, row in rows.items()}


def as_a_sentence(domain: str, rules: Rules, options: PaperOptions) -> dict[str, Any]:
    """Conversations with the evaluation's users in which every reply is the same English question."""
    size: dict[str, Any] = {"split": "eval", "artifacts": options.artifacts}
    episode = Episode(domain, assistant="outside/catalogue", rules=rules, **size)
    text = sentence(load_lexicon(domain))
    scores = []
    for artifact in episode.artifacts:
        for trial in range(options.trials):
            episode.reset(options.seed, artifact, trial)
            while not episode.step(text).done:
                pass
            scores.append(scores_of(episode.conversation, len(scores)))
    rows: dict[str, dict[str, list[float]]] = {"discovered": {}, "reward": {}}
    for each in scores:
        for name, values in rows.items():
            values.setdefault(each.artifact, []).append(float(getattr(each, name)))
    found = {name: bootstrap_mean(values).to_dict() for name, values in rows.items()}
    return {"tokens_a_reply": count_tokens(text), "words": len(text.split()), **found}


def measured(options: PaperOptions, processes: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        notation = in_notation(Path(folder) / "paper", options, processes)
    sentences = {
        rules.name: {domain: as_a_sentence(domain, rules, options) for domain in options.domains} for rules in RULES
    }
    return {"format": FORMAT, "options": options.to_dict(), "notation": notation, "sentence": sentences}


def table(found: Mapping[str, Any]) -> Iterator[str]:
    """Both forms beside the best of the published nine that see only the conversation."""
    nine = {each["scope"]: each["table"] for each in json.loads(PUBLISHED.read_text("utf-8"))["evaluation"]["scopes"]}
    options, sentences = found["options"], found["sentence"]
    users = options["artifacts"] * options["trials"] * len(options["domains"])
    yield (
        f"`{USER_BLIND}` on the same {users:,} users as the table of trained assistants, but in a separate run. "
        f"Eq. 4 in that table does not include it. The row of *{BEST}* is copied from that table."
    )
    yield ""
    yield "| assistant | share found | reward | satisfaction | kTok |"
    yield "|---|---|---|---|---|"
    for who, row in ((BEST, nine[ALL][BEST]), (f"{USER_BLIND}, in the notation", found["notation"][ALL])):
        yield f"| {who} | " + " | ".join(_cell(row, name) for name in MEASURES) + " |"
    yield ""
    yield (
        "The same list as one question in plain English. Its tokens are those of this text. Mean reward per turn, n = "
        f"{options['artifacts']} artifacts × {options['trials']} trials a domain."
    )
    yield ""
    rules = {"paper": "paper, τ 250", "paper, GRPO": "paper, τ 500", "authors": "authors'"}
    yield "| domain | tokens a reply | " + " | ".join(rules[name] for name in sentences) + f" | {BEST}, paper, τ 250 |"
    yield "|---|---" + "|---" * len(sentences) + "|---|"
    for domain in options["domains"]:
        rows = [by_domain[domain] for by_domain in sentences.values()]
        rewards = " | ".join(_cell(row, "reward") for row in (*rows, nine[domain][BEST]))
        yield f"| {domain} | {rows[0]['tokens_a_reply']:,} | {rewards} |"


def _cell(row: Mapping[str, Any], name: str) -> str:
    return str(Estimate.from_dict(row[name])) if name in row else "not measured"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="keep the numbers, put the tables into docs/results.md")
    parser.add_argument("--kept", action="store_true", help="take the numbers that were kept instead of measuring")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    found = json.loads(KEPT.read_text("utf-8")) if given.kept else rounded(measured(PaperOptions(), given.processes))
    text = "\n".join(table(found))
    print(text)
    if given.write:
        write_json(KEPT, found)
        put(PAGE, "catalogue", text)


if __name__ == "__main__":
    main()
