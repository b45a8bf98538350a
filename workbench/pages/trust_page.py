"""The page Trust: is a simulated user honest, similar to people, and harmless?"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import outputs_folder
from discover_lib.core.conversation import Conversation
from discover_lib.core.rollout import run_conversation
from discover_lib.core.rules import Rules
from discover_lib.dataset.formats import read_chats
from discover_lib.engines.manner import MANNERS, PAPER, manner_named
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import generate_artifact
from discover_lib.engines.miniature.assistants import scripted_assistant
from discover_lib.engines.miniature.lexicon import ALL_DOMAINS, DOMAINS
from discover_lib.engines.spec import EngineSpec, RoleEngines
from discover_lib.metrics.agreement import (
    KIND,
    Label,
    NoisyJudge,
    disagreements,
    moments_of,
    recorded_labels,
)
from discover_lib.metrics.intervals import bootstrap_mean
from discover_lib.metrics.manners import FEATURES, LONG, Distance, distances, manners_of
from discover_lib.runs.artifact_files import load_recorded, recorded_index
from discover_lib.runs.options import RunOptions, execute, lay_out, write_results
from discover_lib.runs.store import RunStore, StoreError
from discover_lib.runs.units import plan_units, run_unit
from discover_lib.tasks.agree import LabelError, ask_judges, parse_labels, write_label_sheet
from discover_lib.tasks.agree import told as told_agreement
from discover_lib.tasks.certify import told, trust_in
from discover_lib.tasks.leaks import NAMES, RARE, Audit, finished_conversations, told_leaks
from discover_lib.tasks.safety import Safety, exposure, offered, rule_for
from discover_lib.tasks.waist import Report
from workbench.carried import kept
from workbench.controls import displayed
from workbench.jobs import find_runs, labelled, last_of
from workbench.panel import TaskPanel, standing
from workbench.parts import listing, plain_table, quoted, report_html, selected
from workbench.views import audit_parts, charts
from workbench.views import conversation_parts as show
from workbench.views.html import Markup, notice
from workbench.views.theme import looks

TABS = ("honest", "human", "harmless")
RECORDED = "the recorded conversations"
OWN_RUN = "audit-demo"
READ_AT_MOST = 200  # conversations of a run that this page reads
ON_A_SHEET = 5  # conversations for a person to label
JUDGED_AT_MOST = 40  # conversations that other judges judge again
USERS_TYPING = 6  # of a domain
PEOPLE_FILE = "A file of chats by people (ShareGPT, WildChat or a study’s messages.csv)"
BESIDE_RECORDED = (
    "The table compares with the recorded users, whom a language model played. The 2,077 messages by people are here "
    "only as lengths and marks. To compare with people, name a file of their chats."
)
_PEOPLE = MANNERS["people"]
BY_PEOPLE = {  # feature → its share of people's messages
    "long": sum(words > LONG for words in _PEOPLE.words) / len(_PEOPLE.words),
    "questions": _PEOPLE.questions,
    "exclaims": _PEOPLE.exclaims,
}
DOMAIN, OFFERED_TO, DEPTH = "svg_drawing", 30, 3

Talks = Mapping[str, Conversation]
Said = Sequence[Sequence[str]]  # per conversation the user's messages after the opening


# -- controls ----------------------------------------------------------------------------------------------------------


def run_menu() -> Any:
    """The stored runs, newest first, and the recorded conversations. Without a finished run a small one is made.

    The newest finished run is the default.
    """
    import marimo as mo

    runs = list(find_runs(outputs_folder()).values())
    first = next((each for each in runs if (found := standing(each, going=False)) and not found[2]), None)
    if first is None:
        first = outputs_folder() / OWN_RUN
        first.mkdir(parents=True, exist_ok=True)
        execute(lay_out(RunOptions(("adaptive", "draft"), domain="svg_drawing", artifacts=16)), first)
        write_results(first)
    users = {**labelled(list(dict.fromkeys([*runs, first]))), RECORDED: None}
    how: dict[str, Any] = {"label": "Run", "searchable": True, "full_width": True, "forgets": ("talk", "dispute")}
    return kept(mo.ui.dropdown, "run", users, value=next(name for name in users if users[name] == first), **how)


def how_far(folder: Path | None) -> Markup:
    """How far a run is that is not finished; nothing of a finished one and of the recorded conversations."""
    job = last_of(folder) if folder else None
    found = standing(folder, job is not None and job.running) if folder else None
    return found[0] if found and found[2] else show.EMPTY


def stop_unless(check: str, chosen: str, begun: str) -> None:
    """End the cell where another check is chosen, or where this one is not begun yet.

    A check begins once the page has cleared the others: nobody takes their results for its own.
    """
    import marimo as mo

    mo.stop(chosen != check)
    mo.stop(begun != check, mo.md("Checking …"))


def _say_checking() -> None:
    """Clear the cell's result before the next is made."""
    import marimo as mo

    mo.output.replace(mo.md("Checking …"))


def tab_menu() -> Any:
    """The three questions."""
    import marimo as mo

    return kept(mo.ui.radio, "tab", TABS, value=TABS[0], label="Check", inline=True)


def honest_controls() -> Any:
    """The noise of a second judge, and sheets that people labeled."""
    import marimo as mo

    label = "Share of verdicts inverted"
    return mo.ui.dictionary(
        {
            "noise": kept(mo.ui.slider, "noise", 0, 0.5, 0.05, value=0.1, label=label, show_value=True),
            "sheets": mo.ui.file(filetypes=[".csv"], multiple=True, label="Upload labeled sheets", kind="button"),
        }
    )


def human_controls() -> Any:
    """The typing style of the miniature, and a file of chats with people."""
    import marimo as mo

    label = "Typing style of the miniature"
    return mo.ui.dictionary(
        {
            "manner": kept(mo.ui.dropdown, "manner", [PAPER, *MANNERS], value="people", label=label),
            "people": kept(mo.ui.text, "people", value="", label=PEOPLE_FILE, placeholder="chats.jsonl"),
        }
    )


def harmless_controls() -> Any:
    """The depth of the restricted intent, and whose conversations are read."""
    import marimo as mo

    whose = ["scripted assistants", "the run"]
    depth = kept(mo.ui.slider, "depth", 1, 4, value=DEPTH, label="Depth of the restricted intent", show_value=True)
    return mo.ui.dictionary(
        {
            "depth": depth,
            "whose": kept(mo.ui.radio, "whose", whose, value=whose[0], label="Offers to users of", inline=True),
        }
    )


def read_conversations(folder: Path | None) -> Talks:
    """The conversations by name. The cell ends with a line where the run has none to read."""
    import marimo as mo

    if folder is None:
        talks = [talk for entry in recorded_index() for talk in load_recorded(entry.path)]
        return {talk.setting["artifact"]: talk for talk in talks}
    try:
        with RunStore.read(folder) as store:
            found = finished_conversations(store, READ_AT_MOST)
    except StoreError as error:
        mo.stop(True, displayed(show.error_line(str(error))))
    mo.stop(not found, mo.md("This run has no finished conversation yet. Choose another run."))
    return found


# -- honest ------------------------------------------------------------------------------------------------------------


def validation(panel: TaskPanel, count: int, folder: Path | None) -> Any:
    """Whether reference assistants rank in the expected order with this user."""
    import marimo as mo

    heading = mo.md("## Does the user rank assistants correctly?")
    if folder is None:
        return mo.vstack([heading, mo.md("The recorded conversations have no live user to validate.")])
    return mo.vstack([heading, panel.view(count, told(trust_in(folder)), run=folder)])


def leak_table(audited: Audit, folder: Path | None = None) -> Any:
    """The result of the leak check, and every finding as a row."""
    import marimo as mo

    rows = [
        {
            "finding": NAMES[each.severity],
            "conversation": each.name,
            "turn": each.turn,
            "message": mo.Html(str(show.styled(quoted(each.quote)))),
            "hidden intent": each.intent_text,
            "words": ", ".join(leak.word for leak in each.leaks),
        }
        for each in sorted(audited.findings, key=lambda each: each.severity != "alarm")
    ]
    answer = displayed(how_far(folder), report_html(Report(told_leaks(audited, {})[:1])))
    return mo.vstack([answer, plain_table(rows, wrapped_columns=["message", "hidden intent"])]) if rows else answer


def labels_of(talks: Talks, asked: Mapping[str, Any]) -> tuple[list[Label], Talks, str]:
    """Labels of the run's judge, of the miniature, of a noisy judge and of people; the conversations; a refusal."""
    by_people, refusal = _labels_by_people(talks, asked["sheets"])
    judged = dict(islice(((name, talk) for name, talk in talks.items() if _miniature_can(talk)), JUDGED_AT_MOST))
    if by_people and not judged:
        return [*recorded_labels(talks), *by_people], talks, refusal
    labels = [*recorded_labels(judged), *_judged_again(judged, asked["noise"])]
    return [*labels, *(each for each in by_people if each.conversation in judged)], judged, refusal


def _miniature_can(talk: Conversation) -> bool:
    """Recorded trees are in words of their own, which only a language model can judge."""
    return bool(talk.setting.get("domain")) and talk.setting.get("engine") != "recorded"


def _judged_again(talks: Talks, noise: float) -> Iterator[Label]:
    for domain in sorted({talk.setting["domain"] for talk in talks.values()}):
        judge = RoleEngines(EngineSpec()).judge(domain)
        asked = moments_of({name: talk for name, talk in talks.items() if talk.setting["domain"] == domain})

        judges: dict[str, Any] = {
            "miniature": lambda repeat, judge=judge: judge,
            "with noise": lambda repeat, judge=judge: NoisyJudge(judge, noise, seed=repeat),
        }
        yield from ask_judges(asked, judges, 2)


def _labels_by_people(talks: Talks, files: Sequence[Any]) -> tuple[list[Label], str]:
    moments, found = moments_of(talks), list[Label]()
    for each in files:
        try:
            found += parse_labels(each.contents.decode("utf-8-sig"), each.name, moments)
        except (LabelError, UnicodeDecodeError) as error:
            return [], str(error)
    return found, ""


def agreement_view(labels: Sequence[Label], controls: Any, talks: Talks, refusal: str) -> Any:
    """How far judges agree on the same turns."""
    import marimo as mo

    def sheet() -> bytes:
        text = io.StringIO()
        write_label_sheet(moments_of(dict(islice(talks.items(), ON_A_SHEET))), text)
        return text.getvalue().encode()

    heading = mo.md("## Do judges agree?")
    mo.stop(not labels, mo.md("The miniature cannot judge these trees. Choose a run of its domains."))
    *parts, _examples = told_agreement(labels).parts  # the table of disagreements lists them all
    told = displayed(report_html(Report(tuple(parts))))
    download = mo.download(sheet, filename="labels.csv", label="Download a sheet to label")
    row = mo.hstack([download, controls.elements["sheets"]], justify="start", gap=1.5, wrap=True)
    trouble = [displayed(show.error_line(refusal))] if refusal else []
    return mo.vstack([heading, controls.elements["noise"], told, mo.accordion({"Add labels by people": row}), *trouble])


def dispute_table(labels: Sequence[Label], talks: Talks) -> Any:
    """The verdicts on which judges differ."""
    rows = [
        {
            "about": "kind of reply" if each.intent == KIND else talks[each.conversation].tree.text(each.intent),
            "verdicts": "; ".join(f"{label.judge}: {label.value}" for label in each.labels),
            "conversation": each.conversation,
            "turn": each.turn,
            "#": place,
        }
        for place, each in enumerate(disagreements(labels))
    ]
    return listing("dispute", rows, key="#", page_size=5, wrapped=["verdicts"] if rows else [])


def dispute(labels: Sequence[Label], talks: Talks, table: Any) -> Any:
    """The selected disagreement: the reply, the intent, and the reasons of each judge."""
    one = disagreements(labels)[selected(table, "")["#"]]
    return displayed(audit_parts.disagreement(one, talks[one.conversation]))


# -- human -------------------------------------------------------------------------------------------------------------


def users_typing(manner: str) -> list[list[str]]:
    """The messages of users of the miniature in a typing style, per conversation, without the opening."""
    _say_checking()
    said = list[Conversation]()
    for domain in DOMAINS:
        world = engine(domain, manner=manner_named(manner))
        for number in range(USERS_TYPING):
            tree = world.builder.build(generate_artifact(domain, "eval", number)).tree
            for name in ("draft", "adaptive"):
                said.append(
                    run_conversation(tree, world.judge, world.voice, [scripted_assistant(name, domain)], seed=len(said))
                )
    return said_in(said)


def said_in(talks: Any) -> list[list[str]]:
    """The user's messages after the opening, per conversation."""
    said = [[message.content for message in talk.messages() if message.role == "user"][1:] for talk in talks]
    return [messages for messages in said if messages]


def recorded_users() -> list[list[str]]:
    """The messages of the recorded users, whom a language model played."""
    return said_in(talk for entry in recorded_index() if entry.sessions for talk in load_recorded(entry.path))


def human_answer(said: Said, whose: str) -> Markup:
    """The feature of long messages, questions and exclamations in which messages differ most from people's."""
    found = [manners_of(messages) for messages in said]
    ours = {name: bootstrap_mean({str(at): [each[name]] for at, each in enumerate(found)}) for name in BY_PEOPLE}
    name = max(ours, key=lambda each: abs(ours[each].mean - BY_PEOPLE[each]))
    return notice(
        f"Of long messages, questions and exclamations, the messages of {whose} differ most from people’s in the "
        f"{FEATURES[name][0]}: {ours[name]} here, {BY_PEOPLE[name]:.2f} by people (n = {ours[name].n_artifacts} "
        "conversations, 95% interval).",
        tone="open",
    )


def length_chart(said: Mapping[str, Said], folder: Path | None = None) -> Any:
    """How a user differs most from people, and words of a message of people and each sort of simulated user."""
    sizes = {name: [len(message.split()) for chat in chats for message in chat] for name, chats in said.items()}
    rows = {"people": MANNERS["people"].words} | {name: each for name, each in sizes.items() if each}
    note = (
        "People: 2,077 messages of 308 WildChat chats, selected by isle-dev/realsim, first messages included. Messages "
        "above 120 words count as 120. Recorded: users that a language model played. The run: the users of the run "
        "chosen above."
    )
    answer = human_answer(
        said["the run"] or said["recorded"], "this run’s user" if said["the run"] else "the recorded users"
    )
    return displayed(how_far(folder), answer, charts.lengths(rows, looks(list(rows))), show.quiet(note, small=True))


def sample(said: Mapping[str, Said], manner: str) -> Any:
    """Messages in a typing style. The intents and the knowledge of the users are the same in every style."""
    import marimo as mo

    chats = said[f"miniature, {manner}"]
    lines = "\n".join(f"- {message}" for messages in chats[:: max(1, len(chats) // 8)] for message in messages[:1])
    return mo.md(f"### Messages in the style “{manner}”\n\n{lines}")


def distance_table(said: Mapping[str, Said], path: str) -> Any:
    """Features of messages against people; without a file of people, against the recorded users."""
    import marimo as mo

    people, refusal, base = list[Any](), BESIDE_RECORDED, "recorded"
    if path:
        try:
            people, refusal, base = read_chats(Path(path).expanduser()), "", "people"
        except DiscoverError as error:
            refusal = str(error)
    others = said if people else {name: chats for name, chats in said.items() if name != "recorded"}
    far = {name: distances(chats, people or said["recorded"]) for name, chats in others.items() if chats}
    by = {name: {each.feature: each for each in found} for name, found in far.items()}
    rows = [
        {
            "feature": each.meaning,
            base: f"{each.people:.3g}",
            **{name: _difference(found.get(each.feature)) for name, found in by.items()},
            f"{base} among themselves": "–" if each.ceiling is None else f"{each.ceiling:.2f}",
        }
        for each in next(iter(far.values()), [])
    ]
    note = (
        f"Differences of means over conversations with 95% intervals. “{base} among themselves” compares random halves "
        f"of these users, in standard deviations. *: farther than {base} among themselves."
    )
    return mo.vstack([displayed(show.quiet(refusal)), plain_table(rows), displayed(show.quiet(note, small=True))])


def _difference(each: Distance | None) -> str:
    if each is None or each.difference is None or math.isnan(each.difference.mean):
        return "–"
    return f"{each.difference}".replace("-", "−") + (" *" if each.beyond_people else "")


# -- harmless ----------------------------------------------------------------------------------------------------------


def scripted_conversations() -> list[Conversation]:
    """Conversations of four scripted assistants with the same users."""
    _say_checking()
    names, world = ("draft", "adaptive", "options", "ask"), engine(DOMAIN)
    artifacts = [generate_artifact(DOMAIN, "eval", number) for number in range(OFFERED_TO)]
    trees = {each.id: (DOMAIN, world.builder.build(each).tree) for each in artifacts}
    return list(map(run_unit, plan_units(trees, names, trials=1, turns=5, rules=Rules.paper(), seed=0)))


def of_run(folder: Path | None) -> list[Conversation]:
    """The conversations of a run in domains of the miniature, where offers can be read."""
    if folder is None:
        return []
    with RunStore.read(folder) as store:
        return [each for each in store.conversations() if each.setting.get("domain") in ALL_DOMAINS]


def offers_chart(results: Sequence[Safety], folder: Path | None = None) -> Any:
    """How often each assistant offers a restricted value, most often first."""
    import marimo as mo

    mo.stop(not results, mo.md("No finished conversation of the miniature has a hidden intent at this depth."))
    most = max(results, key=lambda each: each.offers.value or 0.0)
    who = f"Yes, most often {most.assistant}" if most.offers.hits else "No assistant does"
    line = (
        f"Does an assistant that explores offer restricted content to this user? {who}: in {most.offers.hits} of "
        f"{most.offers.n} conversations (95% interval {most.offers.low or 0:.2f} to {most.offers.high or 1:.2f})."
    )
    tone = "open" if most.offers.hits or (most.offers.high or 1) > RARE else None
    return displayed(how_far(folder), notice(line, tone=tone), report_html(audit_parts.safety_told(results)))


def offer_table(talks: Sequence[Conversation], depth: int) -> Any:
    """The conversations in which a restricted value was offered."""
    rows = []
    for place, talk in enumerate(talks):
        rule = rule_for(talk.tree, talk.setting["domain"], depth)
        if rule is not None and (found := exposure(talk, rule)).first_turn:
            said = ", ".join(offered(rule, talk.turns[found.first_turn - 1].reply.text)).replace("-", " ")
            row = {
                "#": place,
                "assistant": "+".join(talk.setting["assistants"]),
                "user": audit_parts.user_of(talk.setting["artifact"]),
                "restricted": rule.value.replace("-", " "),
                "turn": found.first_turn,
                "offered": said,
                "broader intents known": found.known,
            }
            rows.append(row)
    return listing("talk", rows, key="#", page_size=5)


def offer(talks: Sequence[Conversation], table: Any) -> Any:
    """The selected conversation up to the turn of the first offer."""
    row = selected(table, "*Select a conversation to read it.*")
    return displayed(show.panel("Conversation", show.chat(talks[row["#"]], row["turn"])))
