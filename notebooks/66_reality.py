# /// script
# requires-python = ">=3.11"
#
# [tool.marimo.opengraph]
# title = "66 · Reality"
# description = "Do simulated users talk like people? Lengths, twelve features, and four ways of typing."
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Reality", css_file="../workbench/views/static/workbench.css")

with app.setup(hide_code=True):
    from pathlib import Path

    import marimo as mo

    from discover_lib.base.errors import DiscoverError
    from discover_lib.base.files import outputs_folder
    from discover_lib.core.rollout import run_conversation
    from discover_lib.dataset.chats import read_chats
    from discover_lib.engines.manner import MANNERS, PAPER, manner_named
    from discover_lib.engines.miniature import engine
    from discover_lib.engines.miniature.artifacts import generate_artifact
    from discover_lib.engines.miniature.assistants import scripted_assistant
    from discover_lib.engines.miniature.lexicon import DOMAINS
    from discover_lib.metrics.intervals import percent
    from discover_lib.metrics.manners import LONG, SHORT, Distance, distances
    from discover_lib.runs.recorded import load_recorded, recorded_index
    from discover_lib.runs.store import RunStore, StoreError
    from workbench.carried import kept
    from workbench.controls import page_has_sheet
    from workbench.jobs import find_runs
    from workbench.views import conversation_parts as show
    from workbench.views.figures import charts
    from workbench.views.figures.theme import looks
    from workbench.views.html import quiet, table
    from workbench.views.navigation import footer

    page_has_sheet()

    USERS = 6  # of a domain
    NO_RUN = "none"
    PEOPLE = "people: 2,077 messages of 308 chats"


@app.cell(hide_code=True)
def introduce():
    mo.md("""
    # Do simulated users talk like people?

    The paper's user writes about twenty words, every time. People write *ok* and people write essays. Below: how long
    messages are, then twelve features of how somebody talks, and a voice that types as people do while knowing
    exactly what it knew before. It needs nothing; a file of chats that you have makes the comparison yours.
    """)
    return


@app.cell(hide_code=True)
def choose_manner():
    manner_choice = kept(mo.ui.dropdown, "manner", [PAPER, *MANNERS], value="people", label="Manner of the miniature")
    _runs = {NO_RUN: None, **find_runs(outputs_folder())}
    run_choice = kept(mo.ui.dropdown, "run", _runs, value=NO_RUN, label="Beside it, a run", full_width=True)
    mo.hstack([manner_choice, run_choice], justify="start", align="end", gap=2, wrap=True)
    return manner_choice, run_choice


@app.cell
def speak(manner_choice):
    def users_typing(manner):
        """What users say after the opening, a list for each conversation."""
        said = []
        for domain in DOMAINS:
            world = engine(domain, manner=manner_named(manner))
            for number in range(USERS):
                tree = world.builder.build(generate_artifact(domain, "eval", number)).tree
                for name in ("draft", "adaptive"):
                    replying = [scripted_assistant(name, domain)]
                    talk = run_conversation(tree, world.judge, world.voice, replying, seed=len(said))
                    said.append([message.content for message in talk.messages() if message.role == "user"][1:])
        return [messages for messages in said if messages]

    paper, chosen = users_typing(PAPER), users_typing(manner_choice.value)
    return chosen, paper


@app.cell(hide_code=True)
def read_ours(run_choice):
    def said_in(talks):
        said = [[message.content for message in talk.messages() if message.role == "user"][1:] for talk in talks]
        return [messages for messages in said if messages]

    recorded = said_in(talk for entry in recorded_index() if entry.sessions for talk in load_recorded(entry.path))
    run, problem = [], ""
    if run_choice.value is not None:
        try:
            with RunStore.read(run_choice.value) as _store:
                run = said_in(_store.conversations())
        except StoreError as _error:
            problem = str(_error)
    return problem, recorded, run


@app.cell(hide_code=True)
def draw_lengths(chosen, manner_choice, paper, problem, recorded, run):
    def _sizes(chats):
        return [len(message.split()) for messages in chats for message in messages]

    _rows = {
        PEOPLE: MANNERS["people"].words,
        "a language model as the user, recorded": _sizes(recorded),
        "the miniature, as the paper's user": _sizes(paper),
        f"the miniature, {manner_choice.value}": _sizes(chosen),
    } | ({"the run": _sizes(run)} if run else {})
    _table = table(
        ("", "median words", f"at most {SHORT}", f"more than {LONG}"),
        [
            (
                name,
                f"{sorted(sizes)[len(sizes) // 2]:g}",
                percent(sum(size <= SHORT for size in sizes) / len(sizes)),
                percent(sum(size > LONG for size in sizes) / len(sizes)),
            )
            for name, sizes in _rows.items()
        ],
    )
    _told = quiet(
        "Thick: half of the messages; thin: nine tenths. People: chats about stories, songs, branding, e-mails, travel "
        "and books that isle-dev/realsim selects from WildChat; what is kept of them are these numbers. Messages "
        "above 120 words count as 120.",
        small=True,
    )
    mo.Html(show.styled(charts.lengths(_rows, looks(list(_rows))), _table, _told, quiet(problem)))
    return


@app.cell(hide_code=True)
def read_aloud(chosen, manner_choice):
    _lines = "\n".join(f"- {message}" for messages in chosen[:: max(1, len(chosen) // 8)] for message in messages[:1])
    _head = f"## What “{manner_choice.value}” sounds like"
    mo.md(f"{_head}\n\nThe same wishes and knowledge, typed otherwise:\n\n{_lines}")
    return


@app.cell(hide_code=True)
def choose_people():
    people_choice = kept(
        mo.ui.text,
        "people",
        value="",
        label="A file of people's chats",
        placeholder="chats.jsonl: ShareGPT, WildChat, or a study's messages.csv",
        full_width=True,
    )
    mo.vstack([mo.md("## Feature by feature, against your own people"), people_choice])
    return (people_choice,)


@app.cell
def measure_distances(chosen, paper, people_choice, recorded):
    people, far, unread = [], {}, "Without a file: the recorded users against the miniature's, to show the table."
    if people_choice.value:
        try:
            people, unread = read_chats(Path(people_choice.value).expanduser()), ""
        except DiscoverError as _error:
            unread = str(_error)
    others = {"paper": paper, "chosen": chosen, "recorded": recorded} if people else {"chosen": chosen}
    far = {name: distances(messages, people or recorded) for name, messages in others.items()}
    return far, people, unread


@app.cell(hide_code=True)
def show_distances(far, manner_choice, people, unread):
    def _cell(each: Distance | None) -> str:
        if each is None or each.difference is None:
            return "–"
        return f"{str(each.difference).replace('-', '−')}{' farther than people' if each.beyond_people else ''}"

    _by = {name: {each.feature: each for each in found} for name, found in far.items()}
    _names = {
        "paper": "the miniature, paper",
        "chosen": f"the miniature, {manner_choice.value}",
        "recorded": "recorded",
    }
    _first = far["chosen"]
    _rows = [
        (
            each.meaning,
            f"{each.people:.3g}",
            *(_cell(_by[name].get(each.feature)) for name in far),
            f"{each.ceiling:.2f}" if each.ceiling is not None else "–",
        )
        for each in _first
    ]
    _head = ("feature", "people" if people else "recorded", *(_names[name] for name in far), "people among themselves")
    _told = (
        "Differences of means over conversations with 95 % intervals. People among themselves: what random halves of "
        "them differ by, in standard deviations; a difference counts as farther only beyond that."
    )
    mo.Html(show.styled(quiet(unread) if unread else "", table(_head, _rows), quiet(_told, small=True)))
    return


@app.cell(hide_code=True)
def explain_use():
    mo.md("""
    ## Your own people

    ```text
    discover reality chats.jsonl outputs/RUN               # this table for a run
    discover simulate --domain svg_drawing --assistant adaptive --manner people --run outputs/like-people
    ```

    A manner changes words, never knowledge: for the same replies the states, rewards and what an assistant can hear are
    the same, and nothing leaks (tests hold this; the certificate of the simulated user holds with every manner). With a
    language model as the user, `--manner` adds to its prompt how long each message is to be. **It does not make a user
    a person**: it closes how long and in what form they write, not what they choose to say, whether they leave, or
    whether they change their mind.
    """)
    return


@app.cell(hide_code=True)
def lead_on():
    mo.Html(show.styled(footer("66_reality.py")))
    return


if __name__ == "__main__":
    app.run()
