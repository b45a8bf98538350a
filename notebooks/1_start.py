# /// script
# requires-python = ">=3.11"
# [tool.marimo.opengraph]
# title = "Start"
# description = "One simulated user, three assistants: guess who discovers most, watch, then be the user."
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full", app_title="Start", css_file="../workbench/views/static/workbench.css")


@app.cell(hide_code=True)
def introduce(mo):
    mo.md("""
    # People find out what they want by seeing it

    One user asks three assistants. Each circle is an *intent*: one thing that this user wants. At first, the user can
    name only the filled one. The assistants help the user to discover the others.
    """)
    return


@app.cell
def tell_story(mo, page):
    # Change me: page.story_widget([("creative_writing", 8)]) tells the story of another user
    story = page.story_widget(page.PEOPLE, person=page.person_asked())
    story.observe(lambda change: mo.query_params().set("person", str(change["new"])), "person")
    story_view = mo.ui.anywidget(story)
    story_view
    return (story_view,)


@app.cell(hide_code=True)
def explain(mo, page):
    mo.accordion(page.explanations(), multiple=True)
    return


@app.cell
def introduce_game(mo, page):
    domain_choice, target_choice = menus = page.game_menus()
    told = mo.md("## Now you: be the user\n\nYou see a goal for six seconds. Then you ask two assistants for it.")
    mo.vstack([told, mo.hstack(menus, justify="start", wrap=True)])
    return domain_choice, target_choice


@app.cell
def begin_game(domain_choice, mo, page, target_choice):
    played, set_played = mo.state(0)
    seen, set_seen = mo.state(False)
    game = page.Game(domain_choice.value, int(target_choice.value))
    sitting = page.Sitting(game, lambda: set_played(lambda count: count + 1))
    look_button = mo.ui.run_button(label="Show me the goal", kind="success")
    return game, look_button, played, seen, set_seen, sitting


@app.cell(hide_code=True)
def show_button(look_button, seen):
    look_button if not seen() else None
    return


@app.cell
async def show_target(game, look_button, mo, page, set_seen):
    mo.stop(not look_button.value)
    await page.look(game)
    set_seen(True)
    return


@app.cell
def play(mo, page, played, seen, sitting):
    played()
    mo.stop(not seen())
    sitting.view() if sitting.game.place is not None else page.reveal(sitting.game)
    return


@app.cell
def map_target(mo, page, played, sitting):
    played()
    mo.stop(sitting.game.place is not None)
    mo.ui.anywidget(page.target_map(sitting.game).widget)
    return


@app.cell(hide_code=True)
def imports():
    import marimo as mo

    from workbench import controls
    from workbench.pages import start_page as page

    controls.page_has_sheet()
    return mo, page


if __name__ == "__main__":
    app.run()
