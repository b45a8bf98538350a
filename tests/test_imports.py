"""What may import what.  Read off the source, so that a wrong import is found before anything runs."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

from discover_lib.core.rules import CHOICES

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "discover_lib"

# The library's packages in the order of the paper's steps, and the workbench on top of them; each imports what stands
# before it, never what stands after.
PACKAGES = ("base", "core", "metrics", "engines", "runs", "dataset", "train", "doors", "tasks", "paper", "cli")
ORDER = (*PACKAGES, "workbench")

# Heavy or optional libraries → the modules whose job they are.  Everybody else imports them inside a function.
# A name ending in ".*" stands for a package and all that is in it.
AT_HOME = {
    "accelerate": {"train.*"}, "bitsandbytes": {"train.*"}, "datasets": {"train.*"}, "litellm": set(), "lxml": set(),
    "marimo": set(), "pandas": set(), "peft": {"train.*"}, "plotly": set(), "scipy": set(),
    "torch": {"train.*", "engines.local.tiny_model"}, "transformers": {"train.*"}, "trl": {"train.*"},
    "unsloth": {"train.*"},
}  # fmt: skip

# Values in, values out: no files, no clock, no network.  `metrics` too, but its bootstrap may say how it is parallel.
PURE = ("core", "metrics")
INPUT_OUTPUT = {
    *("aiohttp", "asyncio", "httpx", "io", "os", "pathlib", "requests", "shutil", "socket", "sqlite3", "subprocess"),
    *("tempfile", "threading", "urllib", "yaml"),
}

# Nothing of this is loaded by `import discover_lib` alone.
NOT_YET_LOADED = {*AT_HOME, "numpy", "networkx"}
IMPORT_SECONDS = 0.3


@dataclass(frozen=True)
class Import:
    """One import statement's target: `name` as written in full, `lazy` if it stands inside a function."""

    name: str
    line: int
    lazy: bool


def module_names() -> dict[str, Path]:
    """Every module by its dotted name, the library's without `discover_lib.`; the library itself is ``""``."""
    names = {}
    for path in sorted([*LIBRARY.rglob("*.py"), *(ROOT / "workbench").rglob("*.py")]):
        parts = path.relative_to(LIBRARY if path.is_relative_to(LIBRARY) else ROOT).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


MODULES = module_names()


def imports_below(node: ast.AST, package: str, lazy: bool = False) -> Iterator[Import]:
    """Imports in `node`, in a module whose package is `package` (dotted); what only type checkers see is left out."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.If(test=test) if ast.unparse(test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}:
                for other in child.orelse:
                    yield from imports_below(ast.Module([other], []), package, lazy)
            case ast.Import(names=names):
                yield from (Import(alias.name, child.lineno, lazy) for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                above = package.split(".")[: len(package.split(".")) - level + 1] if level else []
                base = ".".join([*above, *([module] if module else [])])
                yield from (Import(f"{base}.{alias.name}", child.lineno, lazy) for alias in names)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                yield from imports_below(child, package, lazy=True)
            case _:
                yield from imports_below(child, package, lazy)


@cache
def imports_of(module: str) -> list[Import]:
    path = MODULES[module]
    package = ".".join(path.relative_to(ROOT).parent.parts)
    return list(imports_below(ast.parse(path.read_text(encoding="utf-8")), package))


def inside(name: str) -> str | None:
    """The module that importing `name` (``…core.intents.Intent``) reads; None if it is somebody else's."""
    first, *rest = name.split(".")
    if first not in {"discover_lib", "workbench"}:
        return None
    if first == "workbench":
        rest = [first, *rest]
    return ".".join(rest if ".".join(rest) in MODULES else rest[:-1])


def matches(module: str, pattern: str) -> bool:
    package = pattern.removesuffix(".*")
    return module == package or (pattern.endswith(".*") and module.startswith(f"{package}."))


@pytest.mark.slow
def test_heavy_libraries_are_imported_at_the_top_only_where_they_are_at_home() -> None:
    strays = [
        f"{module}, line {each.line}: {each.name}"
        for module in MODULES
        for each in imports_of(module)
        if not each.lazy
        and (library := each.name.split(".")[0]) in AT_HOME
        and not any(matches(module, home) for home in AT_HOME[library])
    ]
    assert not strays, f"import these inside the functions that need them: {strays}"


@pytest.mark.slow
def test_a_pure_module_does_no_input_or_output() -> None:
    wrong = [
        f"{module}, line {each.line}: {each.name}"
        for module in MODULES
        if module.split(".")[0] in PURE
        for each in imports_of(module)
        if each.name.split(".")[0] in INPUT_OUTPUT
    ]
    assert not wrong, f"these modules are pure: {wrong}"


@pytest.mark.slow
def test_imports_go_one_way_from_package_to_package() -> None:
    climbing = [
        f"{module}, line {each.line}: {each.name}"
        for module in filter(None, MODULES)
        for each in imports_of(module)
        if (target := inside(each.name)) is not None
        and (_floor(target) > _floor(module) if target else not module.startswith("workbench"))
    ]
    assert not climbing, f"imports from a later package (imports inside functions count): {climbing}"


def _floor(module: str) -> int:
    return ORDER.index(module.split(".")[0])


def hands_over(node: ast.AST) -> bool:
    """Whether an `if` does nothing but hand over: one statement that returns, or that calls `core.authors`."""
    if isinstance(node, ast.IfExp):
        return ast.unparse(node.body).startswith("authors.")
    match node:
        case ast.If(body=[ast.Return()], orelse=[]):
            return True
        case ast.If(body=[ast.Expr(value=ast.Call(func=called))], orelse=[]):
            return ast.unparse(called).startswith("authors.")
    return False


@pytest.mark.parametrize("module", [name for name in MODULES if name.startswith("core.")])
def test_the_core_states_the_paper_s_method_and_hands_over_where_the_rules_are_others(module: str) -> None:
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    switches = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in CHOICES and ast.unparse(node.value).endswith("rules")
    ]
    tests = [node for node in ast.walk(tree) if isinstance(node, ast.If | ast.IfExp)]
    for switch in switches:
        around = [node for node in tests if switch in ast.walk(node.test)]
        assert around and all(map(hands_over, around)), f"{module}, line {switch.lineno}: {ast.unparse(switch)}"


@pytest.mark.slow
def test_no_module_imports_itself_by_a_detour() -> None:
    graph = nx.DiGraph()
    for module in MODULES:
        for each in imports_of(module):
            target = inside(each.name)
            if target is not None and target != module:
                graph.add_edge(module or "discover_lib", target or "discover_lib")
    circles = [sorted(group) for group in nx.strongly_connected_components(graph) if len(group) > 1]
    assert not circles, f"these modules import each other in a circle (imports inside functions count): {circles}"


@pytest.mark.slow
def test_importing_the_library_is_quick_and_loads_nothing_heavy() -> None:
    report = """
import sys, time
before = time.process_time()
import discover_lib
print(time.process_time() - before, *sorted({name.split(".")[0] for name in sys.modules}))
"""
    runs = [
        subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=True).stdout.split()
        for _ in range(5)
    ]
    seconds = min(float(run[0]) for run in runs)
    assert NOT_YET_LOADED.isdisjoint(runs[0][1:])
    assert seconds < IMPORT_SECONDS, f"import discover_lib took {seconds:.2f} s of processor time (best of 5)"
