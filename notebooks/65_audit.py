# /// script
# requires-python = ">=3.11"
#
# [tool.marimo.opengraph]
# title = "65 · Audit"
# description = "Can this simulated user be trusted? Certificate, leak audit, agreement of judges, the paper's figures."
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Audit", css_file="../workbench/views/static/workbench.css")

with app.setup(hide_code=True):
    import io
    import json
    from itertools import islice
    from pathlib import Path

    import marimo as mo

    from discover_lib.base.files import outputs_folder
    from discover_lib.engines.spec import EngineSpec, RoleEngines
    from discover_lib.metrics.agreement import (
        NoisyJudge,
        agreements,
        disagreements,
        moments_of,
        recorded_labels,
    )
    from discover_lib.metrics.near_misses import NEAR_MISS_COLUMNS, near_misses_of
    from discover_lib.runs.evaluation import RESULTS_FILE
    from discover_lib.runs.options import RunOptions, execute, lay_out, write_results
    from discover_lib.runs.outcomes import failures_of_run, overruled_in
    from discover_lib.runs.recorded import load_recorded, recorded_index
    from discover_lib.runs.store import RunStore, StoreError
    from discover_lib.runs.units import stored_scores
    from discover_lib.tasks.agree import LabelError, ask_judges, parse_labels, write_label_sheet
    from discover_lib.tasks.agree import told as told_agreement
    from discover_lib.tasks.certify import certify, told, trust_in
    from discover_lib.tasks.corpus import BEYOND, DECOYS, PLANTED, load_corpus, score
    from discover_lib.tasks.corpus import told as told_corpus
    from discover_lib.tasks.leaks import audit, finished_conversations, told_failures
    from discover_lib.tasks.paper_numbers import (
        PaperNumbers,
        beside,
        does_not_follow,
        not_at_hand,
        our_results,
        paper_checks,
        paper_numbers,
    )
    from discover_lib.tasks.waist import Report, Table
    from workbench import controls
    from workbench.carried import kept
    from workbench.echo import shown_path
    from workbench.jobs import find_runs, labelled
    from workbench.panel import TaskPanel
    from workbench.parts import report_html
    from workbench.views import audit_parts as show_audit
    from workbench.views import conversation_parts as show
    from workbench.views.navigation import footer

    controls.page_has_sheet()

    RECORDED = "the recorded conversations"
    OWN_RUN = "audit-demo"
    READ_AT_MOST = 200  # conversations of a run that this page reads
    ON_A_SHEET = 5  # conversations for a person to label
    JUDGED_AT_MOST = 40  # conversations that further judges are asked about


@app.cell(hide_code=True)
def introduce():
    mo.md("""
    # Can this simulated user be trusted?

    A score is worth as much as the simulated user behind it: one who tells good assistants from bad, keeps what they do
    not know yet to themselves, and does not judge by chance.
    """)
    return


@app.function(hide_code=True)
def make_own_run(folder: Path) -> None:
    """Two scripted assistants with sixteen users of the miniature each."""
    folder.mkdir(parents=True, exist_ok=True)
    execute(lay_out(RunOptions(("adaptive", "draft"), domain="svg_drawing", artifacts=16)), folder)
    write_results(folder)


@app.cell(hide_code=True)
def choose_user():
    def _found_or_made():
        """The runs there are, newest first, and why there is none."""
        if runs := find_runs(outputs_folder()):
            return runs, ""
        try:
            make_own_run(outputs_folder() / OWN_RUN)
        except (OSError, StoreError) as error:
            return {}, f"no run here, and none could be made: {error}"
        return find_runs(outputs_folder()), ""

    _runs, _trouble = _found_or_made()
    _users = {**labelled(list(_runs.values())), RECORDED: None}
    run_choice = kept(
        mo.ui.dropdown, "run", _users, value=next(iter(_users)), label="Whose user", searchable=True, full_width=True
    )
    _shown = [run_choice]
    if _trouble:
        _shown.append(mo.Html(show.styled(show.error_line(_trouble))))
    mo.vstack(_shown, align="start")
    return (run_choice,)


@app.cell(hide_code=True)
def read_conversations(run_choice):
    folder = run_choice.value

    def read():
        """The conversations by name, the run's configuration, and why they cannot be read."""
        if folder is None:
            talks = [talk for entry in recorded_index() for talk in load_recorded(entry.path)]
            return {talk.setting["artifact"]: talk for talk in talks}, {}, ""
        try:
            with RunStore.read(folder) as store:
                return finished_conversations(store, READ_AT_MOST), store.configuration, ""
        except StoreError as error:
            return {}, {}, str(error)

    conversations, configuration, _unreadable = read()
    mo.stop(bool(_unreadable), mo.Html(show.styled(show.error_line(_unreadable))))
    mo.stop(not conversations, mo.md("This run has no finished conversation yet; choose another, or come back later."))
    return configuration, conversations, folder


@app.cell(hide_code=True)
def introduce_certificate():
    mo.md("""
    ## 1 · Does it tell good assistants from bad ones?

    Eight scripted assistants whose order can be argued for beforehand meet the same user, and must come out in it.
    Two relations are reported and decide nothing: *adaptive above draft*, which is the paper's thesis and no condition
    of a sound user, and *adaptive above catalogue*. The `catalogue` names every value in every turn and hears nothing;
    under the paper's rules it finds what the oracle finds, under the authors' rules it does not.
    A certificate says no more than that: leaks (§2), noise of the judge (§3) and likeness to people
    ([66](/?file=66_reality.py)) are other questions.
    """)
    return


@app.cell(hide_code=True)
def make_certifier():
    certifying = TaskPanel(certify, given=["run"], begin="Certify this user now")
    get_certifying = certifying.get_told
    return certifying, get_certifying


@app.cell(hide_code=True)
def show_certificate(certifying, folder, get_certifying):
    mo.stop(
        folder is None, mo.md("The recorded conversations were written once, by one mind: nobody is left to certify.")
    )
    certifying.view(get_certifying(), told(trust_in(folder)), run=folder)
    return


@app.cell(hide_code=True)
def introduce_leaks():
    mo.md("""
    ## 2 · Does it say what it cannot know?

    A user turn leaks if it says what only an undiscovered or emerging intent holds, although nobody has said it. An
    *alarm* gives enough of one intent away; a *slight* finding is one word among many and is for you to read.
    """)
    return


@app.cell
def audit_users(conversations):
    audited = audit(conversations)
    leaks = [finding for finding in audited.findings if finding.severity == "alarm"]
    mo.show_code()
    return audited, leaks


@app.cell(hide_code=True)
def show_leaks(audited, conversations, leaks):
    _note = show.EMPTY
    if len(conversations) == READ_AT_MOST:
        _note += show.quiet(f"Read were the first {READ_AT_MOST} conversations; the command reads all.")
    mo.Html(
        show_audit.styled(
            show_audit.audit_line(audited),
            show.more("Every finding", show_audit.findings(audited.findings)) if audited.findings else show.EMPTY,
            _note,
        )
    )
    return


@app.cell(hide_code=True)
def introduce_corpus():
    mo.md("""
    ### How good is the audit itself?

    It is run on messages into which leaks were put on purpose, beside decoys that only look like one.
    """)
    return


@app.cell(hide_code=True)
def score_corpus():
    corpus = load_corpus()
    corpus_scored = score(corpus)
    _kinds = [*PLANTED, *BEYOND, *DECOYS]
    kind_choice = kept(mo.ui.dropdown, "kind", _kinds, value="synonym", label="Show cases of the kind")
    wrong_only = kept(mo.ui.checkbox, "wrong", value=False, label="only those the audit gets wrong")
    mo.vstack(
        [
            mo.Html(
                show_audit.styled(
                    show_audit.scored_picture(corpus_scored),
                    show.more("The same as a table", report_html(told_corpus(corpus_scored))),
                )
            ),
            mo.hstack([kind_choice, wrong_only], justify="start", align="center", gap=2, wrap=True),
        ]
    )
    return corpus, corpus_scored, kind_choice, wrong_only


@app.cell(hide_code=True)
def show_cases(corpus, corpus_scored, kind_choice, wrong_only):
    def wanted():
        for case, found in corpus_scored.results:
            alarmed = found is not None and found.severity == "alarm"
            if case.kind == kind_choice.value and not (wrong_only.value and alarmed == case.leak):
                text = corpus.talks[case.talk].tree.text(case.intent_id) if case.intent_id else ""
                yield show_audit.case(case, found, text)

    _all = list(wanted())
    _shown = _all[:: max(1, len(_all) // 6)][:6] or [show.quiet("None of this kind.")]
    mo.Html(show_audit.styled(show.tag("div", *_shown, class_="da-cases")))
    return


@app.cell(hide_code=True)
def introduce_failures(folder):
    mo.stop(folder is None)
    mo.md("""
    ### What failed while the run was made?

    A turn that failed, a reply without a judgement, an answer that contradicts itself: a score is taken over what is
    left. And discoveries that came by near misses alone are worth a second look.
    """)
    return


@app.cell(hide_code=True)
def show_failures(folder):
    mo.stop(folder is None)
    with RunStore.read(folder) as _store:
        run_failures = failures_of_run(_store)
        _scores = list(stored_scores(_store))
    _near = Table(NEAR_MISS_COLUMNS, tuple(each.row() for each in near_misses_of(_scores)))
    mo.Html(
        show_audit.styled(
            show.panel("What failed", report_html(Report(told_failures(run_failures)))),
            show.panel("What came by near misses", report_html(Report((_near,)))),
        )
    )
    return (run_failures,)


@app.cell(hide_code=True)
def introduce_agreement():
    noise = kept(
        mo.ui.slider, "noise", 0, 0.5, 0.05, value=0.1, label="Share of verdicts turned around", show_value=True
    )
    mo.vstack(
        [
            mo.md("""
    ## 3 · Do judges agree?

    The same turns, judged again: by the miniature, and by a judge that turns some verdicts around on purpose, so that
    you see what that much noise does. People can take part: label a sheet by hand, then give it back. The command adds
    language models (`--judge`). κ is agreement beyond chance; Landis and Koch (1977) call up to 0.2 slight, up to 0.4
    fair, up to 0.6 moderate, up to 0.8 substantial, a custom and no test.
    """),
            noise,
        ]
    )
    return (noise,)


@app.cell(hide_code=True)
def exchange_sheets(conversations):
    def _sheet():
        text = io.StringIO()
        write_label_sheet(moments_of(dict(islice(conversations.items(), ON_A_SHEET))), text)
        return text.getvalue().encode()

    label_files = mo.ui.file(filetypes=[".csv"], multiple=True, label="Give labelled sheets back", kind="button")
    _download = mo.download(_sheet, filename="labels.csv", label="Get a sheet to label")
    mo.hstack([_download, label_files], justify="start", align="center", gap=2, wrap=True)
    return (label_files,)


@app.cell(hide_code=True)
def read_sheets(conversations, label_files):
    def _by_people():
        """The labels in the sheets given back, and why one cannot be used."""
        moments, found = moments_of(conversations), []
        for each in label_files.value:
            try:
                found += parse_labels(each.contents.decode("utf-8-sig"), each.name, moments)
            except (LabelError, UnicodeDecodeError) as error:
                return [], str(error)
        return found, ""

    labels_by_people, _refused = _by_people()
    mo.Html(show.styled(show.error_line(_refused))) if _refused else None
    return (labels_by_people,)


@app.cell(hide_code=True)
def read_contradictions(folder):
    def _contradictions():
        """Intent id and the reason it counts as met → why the judge of the chosen run called it missed."""
        if folder is None:
            return {}
        with RunStore.read(folder) as store:
            return overruled_in(store)

    overruled = _contradictions()
    return (overruled,)


@app.cell(hide_code=True)
def compare_judges(conversations, labels_by_people, noise, overruled):
    def miniature_can(talk) -> bool:
        """Recorded trees are in words of their own, which only a language model can judge."""
        return bool(talk.setting.get("domain")) and talk.setting.get("engine") != "recorded"

    judged = dict(islice(((name, talk) for name, talk in conversations.items() if miniature_can(talk)), JUDGED_AT_MOST))

    def labels_of():
        yield from recorded_labels(judged, overruled=overruled)
        for domain in sorted({talk.setting["domain"] for talk in judged.values()}):
            judge = RoleEngines(EngineSpec()).judge(domain)
            asked = moments_of({name: talk for name, talk in judged.items() if talk.setting["domain"] == domain})

            def with_noise(repeat, judge=judge):
                return NoisyJudge(judge, noise.value, seed=repeat)

            yield from ask_judges(asked, {"miniature": lambda _, judge=judge: judge, "with noise": with_noise}, 2)

    if labels_by_people and not judged:
        judged = conversations
        labels = [*recorded_labels(judged, overruled=overruled), *labels_by_people]
    else:
        labels = [*labels_of(), *(each for each in labels_by_people if each.conversation in judged)]
    mo.stop(
        not labels,
        mo.md("The miniature cannot judge these trees, which are in words of their own; choose a run of its domains."),
    )
    _more = show.more("By kind and depth, and what was changed or contradicted", report_html(told_agreement(labels)))
    mo.Html(show_audit.styled(show_audit.agreement_picture(agreements(labels)), _more))
    return judged, labels


@app.cell(hide_code=True)
def list_disagreements(labels):
    disputed = disagreements(labels)
    _list = show.styled(show_audit.disputes(disputed))
    dispute_list = controls.picking("dispute", _list, [str(place) for place in range(len(disputed))])
    return dispute_list, disputed


@app.cell(hide_code=True)
def open_disagreement(dispute_list, disputed, judged):
    mo.stop(not disputed, mo.md("The judges do not differ anywhere."))
    _place = dispute_list.value["picked"]
    _one = disputed[int(_place)]
    _detail = show.tag("div", show_audit.disagreement(_one, judged[_one.conversation]), data_opened=_place)
    _list = show.tag("div", show.heading(f"{len(disputed)} disagreements"), controls.placed(dispute_list))
    mo.Html(show_audit.styled(show.tag("div", _list, _detail, class_="dl-list-detail")))
    return


@app.cell(hide_code=True)
def introduce_paper():
    all_checks = kept(mo.ui.checkbox, "all", value=False, label="list the figures that follow, too")
    mo.vstack(
        [
            mo.md(f"""
    ## 4 · Do the paper's own figures follow?

    Of {len(paper_checks())} printed figures that other printed figures decide, {len(does_not_follow())} do not follow
    from them, rounding allowed for. Not at hand, and never guessed: {"; ".join(not_at_hand())}.
    """),
            all_checks,
        ]
    )
    return (all_checks,)


@app.cell(hide_code=True)
def show_paper(all_checks, folder):
    _numbers = paper_numbers(PaperNumbers(all=all_checks.value))
    _results = folder / RESULTS_FILE if folder else None
    _ours = our_results(json.loads(_results.read_text("utf-8"))) if _results and _results.is_file() else []
    _unscored = show.quiet("This run was not scored; rows of one made by `discover evaluate` stand here.")
    mo.Html(
        show_audit.styled(
            show_audit.errata(does_not_follow()),
            show.more("Printed and recomputed, as a table", report_html(_numbers)),
            show.more(
                "The paper’s main table, and ours",
                show_audit.beside(beside(_ours)),
                show.EMPTY if _ours else _unscored,
            ),
        )
    )
    return


@app.cell(hide_code=True)
def show_commands(folder):
    mo.md(f"""
    ## On the command line

    ```text
    discover audit {shown_path(folder) if folder else "RUN"} --certify
    discover audit --corpus
    discover paper
    ```
    """)
    return


@app.cell(hide_code=True)
def lead_on():
    mo.Html(show.styled(footer("65_audit.py")))
    return


if __name__ == "__main__":
    app.run()
