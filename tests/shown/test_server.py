"""The server's own layers: the front end's files at once, what comes last named first, and imports made ahead."""

import ast
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import marimo
import pytest
from starlette.responses import HTMLResponse
from starlette.testclient import TestClient

from workbench import server, warm
from workbench.front_end import FrontEnd
from workbench.serve import notebooks_folder
from workbench.views.html import leave_out_sheet, styled, tag

STATIC = Path(marimo.__file__).parent / "_static"
INDEX = """<head><script type="module" crossorigin src="./assets/index-s-M1OXjs.js"></script>
<link rel="modulepreload" crossorigin href="./assets/early-aaaaaaaa.js"></head>"""
ENTRY = """const __vite__mapDeps=(i,m=__vite__mapDeps,d=(m.f||(m.f=["./home-page-aaaaaaaa.js","./early-aaaaaaaa.js",\
"./run-page-aaaaaaaa.js","./late-aaaaaaaa.js","./late-aaaaaaaa.css","./gone-aaaaaaaa.js"])))=>i.map(i=>d[i]);
a(()=>import(`./home-page-aaaaaaaa.js`),__vite__mapDeps([0,1])),a(()=>import(`./run-page-aaaaaaaa.js`),\
__vite__mapDeps([2,1,3,4,5]),import.meta.url)"""


@pytest.fixture
def static(tmp_path: Path) -> Path:
    """A front end of five files, laid out as marimo's."""
    assets = tmp_path / "assets"
    assets.mkdir()
    (tmp_path / "index.html").write_text(INDEX)
    (assets / "index-s-M1OXjs.js").write_text(ENTRY)
    for name in ("home-page-aaaaaaaa.js", "early-aaaaaaaa.js", "run-page-aaaaaaaa.js", "late-aaaaaaaa.js"):
        (assets / name).write_text(f"// {name}")
    (assets / "late-aaaaaaaa.css").write_text("p {}")
    (assets / "plain.js").write_text("// no digest")
    return tmp_path


def client_of(static: Path, asked: list[str] | None = None) -> TestClient:
    heard: list[str] = [] if asked is None else asked
    return TestClient(FrontEnd(HTMLResponse("marimo's"), static, heard.append))


# -- files -------------------------------------------------------------------------------------------------------------


def test_a_file_of_the_front_end_is_kept_by_the_browser(static: Path) -> None:
    answer = client_of(static).get("/assets/late-aaaaaaaa.js")
    assert answer.text == "// late-aaaaaaaa.js" and "javascript" in answer.headers["content-type"]
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert "text/css" in client_of(static).get("/assets/late-aaaaaaaa.css").headers["content-type"]


@pytest.mark.parametrize("path", ["plain.js", "gone-aaaaaaaa.js", "..%2Findex.html", "../assets/late-aaaaaaaa.js/", ""])
def test_every_other_file_is_left_to_marimo(static: Path, path: str) -> None:
    assert client_of(static).get(f"/assets/{path}").text == "marimo's"


def test_a_notebook_names_what_the_browser_would_ask_for_last(static: Path) -> None:
    asked: list[str] = []
    answer = client_of(static, asked).get("/?file=60_evaluate.py&run=mine")
    assert answer.headers["link"].split(", ") == [
        "<./assets/run-page-aaaaaaaa.js>; rel=modulepreload; crossorigin",
        "<./assets/late-aaaaaaaa.js>; rel=modulepreload; crossorigin",
        "<./assets/late-aaaaaaaa.css>; rel=preload; as=style; crossorigin",
    ]
    assert answer.text == "marimo's" and asked == ["60_evaluate.py"]
    assert "link" not in client_of(static).get("/api/status").headers


@pytest.mark.parametrize("changed", ["index.html", "assets/index-s-M1OXjs.js"])
def test_a_front_end_of_another_make_is_left_as_it_is(static: Path, changed: str) -> None:
    (static / changed).write_text("something else")
    answer = client_of(static).get("/?file=60_evaluate.py")
    assert "link" not in answer.headers and answer.text == "marimo's"
    (static / changed).unlink()
    assert "link" not in client_of(static).get("/?file=60_evaluate.py").headers


def test_the_installed_marimo_is_of_the_make_that_is_known() -> None:
    named = re.findall(r"<\./assets/([\w.-]+)>", FrontEnd(HTMLResponse(""), STATIC, print).hints)
    assert len(named) > 20 and any(name.startswith("run-page-") for name in named)
    assert all((STATIC / "assets" / name).is_file() for name in named)


# -- imports made ahead ------------------------------------------------------------------------------------------------


@pytest.fixture
def notebooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one notebook, whose setup imports a module that is there after two that cannot be imported."""
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "made_ahead.py").write_text("here = 1")
    (tmp_path / "modules" / "made_in_a_cell.py").write_text("here = 1")
    (tmp_path / "modules" / "broken_ahead.py").write_text("1 / 0")
    (tmp_path / "page.py").write_text(
        "import marimo\napp = marimo.App()\nwith app.setup:\n    import missing_ahead\n    import broken_ahead\n"
        "    from made_ahead import here\n\n    raise RuntimeError('a page is not run')\n\n"
        "@app.cell\ndef _():\n    import made_in_a_cell\n"
    )
    monkeypatch.syspath_prepend(tmp_path / "modules")
    for name in ("made_ahead", "made_in_a_cell"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def test_what_a_page_imports_is_imported_and_nothing_is_run(notebooks: Path) -> None:
    warm.warm(notebooks / "page.py")
    assert "made_ahead" in sys.modules and "made_in_a_cell" not in sys.modules
    warm.warm(notebooks / "no such page.py")


NOTEBOOKS = sorted(Path(server.notebooks_folder()).rglob("*.py"))


@pytest.mark.parametrize("page", NOTEBOOKS, ids=lambda page: page.stem)
def test_no_page_has_marimo_guess_the_language_of_code(page: Path) -> None:
    fences = re.findall(r"(?:^|\\n|\")[ \t]*```(\w*)", page.read_text("utf-8"), re.MULTILINE)
    assert len(fences) % 2 == 0 and all(fences[::2]), "name it, or all languages are imported to guess it: ```text"


@pytest.mark.parametrize("page", NOTEBOOKS, ids=lambda page: page.stem)
def test_the_imports_of_a_page_are_found(page: Path) -> None:
    found = warm.imports_of(page)
    assert found or "app.setup" not in page.read_text("utf-8")


# -- the stylesheet ----------------------------------------------------------------------------------------------------


def test_a_page_that_has_the_stylesheet_gets_no_second_one_and_other_pages_keep_theirs() -> None:
    def page() -> tuple[str, str]:
        before = styled(tag("b", "here"))
        leave_out_sheet()
        return before, styled(tag("b", "here"))

    with ThreadPoolExecutor(1) as served:
        with_sheet, without = served.submit(page).result()
    assert with_sheet.endswith(without) and without == '<div class="dl"><b>here</b></div>'
    assert styled(tag("b", "here")) == with_sheet and with_sheet.startswith("<style>")


@pytest.mark.parametrize("page", NOTEBOOKS, ids=lambda page: page.stem)
def test_every_page_has_the_stylesheet_in_its_head_and_leaves_it_out_of_its_outputs(page: Path) -> None:
    before_the_cells = page.read_text("utf-8").split("@app.cell")[0]
    assert "workbench/views/static/workbench.css" in before_the_cells
    assert "page_has_sheet()" in before_the_cells


def test_many_threads_make_trees_of_syntax_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ast, "parse", ast.parse)  # put back what is replaced here
    server.parse_one_at_a_time()
    source = (notebooks_folder() / "60_evaluate.py").read_text(encoding="utf-8")
    with ThreadPoolExecutor(6) as pool:
        trees = list(pool.map(lambda _: ast.parse(source), range(24)))
    assert len({len(tree.body) for tree in trees}) == 1
