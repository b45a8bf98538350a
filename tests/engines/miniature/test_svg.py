"""Drawings: what is drawn is what is read; foreign drawings are read for what they are; hostile ones do no harm."""

import importlib.util
import random
import re
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discover_lib.base.svg import MAX_CHARACTERS, SvgError, drawing_spans, safe_svg
from discover_lib.engines.miniature.lexicon import load_lexicon
from discover_lib.engines.miniature.svg.draw import draw
from discover_lib.engines.miniature.svg.geometry import measure
from discover_lib.engines.miniature.svg.paints import PALETTES, SPOTS, SPOTTED, opacity, rgb
from discover_lib.engines.miniature.svg.read import part_of, read_svg
from discover_lib.engines.miniature.svg.stock import SUBJECTS

LEXICON = load_lexicon("svg_drawing")
LEAVES = [leaf for dimension in LEXICON.dimensions.values() for leaf in dimension.leaves]
DRAWN_SUBJECTS = [leaf for leaf in LEXICON.dimensions["subject"].leaves if leaf in SUBJECTS]
DATA = Path(__file__).resolve().parents[3] / "data"
SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 110 100">'


# ---- the law


def shown(values: list[str]) -> set[str]:
    """What a drawing of these values shows: a spot of colour comes with what it stands out from."""
    spots = [value for value in values if value in SPOTS]
    coloured = any(value in PALETTES for value in values)
    return {*values, *(SPOTTED[spot.partition("-")[0]] for spot in spots if not coloured)}


@pytest.mark.slow
@pytest.mark.parametrize("leaf", LEAVES)
def test_a_value_drawn_alone_is_read_alone(leaf: str) -> None:
    assert set(read_svg(draw([leaf]))) == shown([leaf])


@pytest.mark.parametrize("subject", DRAWN_SUBJECTS)
def test_every_subject_shows_its_colours_and_its_manner(subject: str) -> None:
    for values in ({subject, "autumn", "halftone", "bold-lines"}, {subject, "winter", "cool-with-red", "washes"}):
        assert set(read_svg(draw(values))) == values


def test_an_unmarked_drawing_says_nothing() -> None:
    assert read_svg(draw([])) == {}


@st.composite
def combinations(choose: st.DrawFn) -> list[str]:
    """Values that can be had together, as many of a dimension as it holds."""
    values: list[str] = []
    for dimension in LEXICON.dimensions.values():
        for _ in range(dimension.holds):
            fitting = [leaf for leaf in dimension.leaves if leaf not in values and LEXICON.fits(leaf, values)]
            if fitting and (leaf := choose(st.sampled_from([*fitting, ""]))):
                values.append(leaf)
    return values


@pytest.mark.slow
@settings(max_examples=200, deadline=None, derandomize=True)
@given(combinations())
def test_values_drawn_together_are_read_together(values: list[str]) -> None:
    assert set(read_svg(draw(values))) == shown(values)


# ---- drawings from elsewhere


@pytest.mark.parametrize("path", sorted((DATA / "artifacts" / "svg_drawing").glob("*.svg")), ids=lambda path: path.stem)
def test_hand_written_drawings_are_recognised_in_five_dimensions(path: Path) -> None:
    found = read_svg(path.read_text(encoding="utf-8"))
    assert len({LEXICON.values[value].dimension for value in found}) >= 5
    assert found == LEXICON.most_specific(found)


EXPORT = """<?xml version="1.0" encoding="UTF-8" standalone="no"?>
<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"
  xmlns:inkscape="http://www.inkscape.org/namespaces/inkscape" width="100mm" height="100mm">
  <metadata>made by a program</metadata>
  <rect style="fill:#0d0d10" width="100%" height="100%"/>
  <g inkscape:label="Layer 1" transform="matrix(1,0,0,1,135,148)">
    <g inkscape:label="whale_body" style="fill:#74b9ea;stroke:#ffffff;stroke-width:1.5">
      <path d="m 0,40 c 0,-40 80,-40 110,0 -20,40 -90,40 -110,0 z"/></g></g></svg>"""
DOTS = SVG + '<circle cx="25" cy="50" r="5"/><circle cx="55" cy="50" r="5"/><circle cx="85" cy="50" r="5"/></svg>'


@pytest.mark.parametrize(
    ("svg", "expected"),
    [(EXPORT, {"whale", "square", "dark-paper", "cool", "white-lines", "far-off"}), (DOTS, {"quiet"})],
    ids=["export", "dots"],
)
def test_drawings_in_other_styles_are_read(svg: str, expected: set[str]) -> None:
    assert set(read_svg(svg)) == expected


@pytest.mark.parametrize(
    ("ground", "moon", "found"),
    [("#101830", "crescent moon", True), ("#fdfdf6", "crescent moon", False), ("#101830", "sun", False)],
)
def test_what_hangs_in_the_sky_is_believed_where_the_sky_s_tone_agrees(ground: str, moon: str, found: bool) -> None:
    sky = f'<rect width="110" height="100" fill="{ground}"/><g id="{moon}"><circle cx="80" cy="20" r="9"/></g>'
    shown = read_svg(f'{SVG}{sky}<g id="fox"><circle cx="50" cy="60" r="20" fill="#c63"/></g></svg>')
    assert bool({"crescent-moon", "sunny"} & shown.keys()) is found


def test_one_subject_is_read_and_what_it_wears_and_no_second_one() -> None:
    worn = '<g id="fox"><circle cx="50" cy="60" r="20"/><g id="scarf"><circle cx="50" cy="60" r="9"/></g></g>'
    found = read_svg(f'{SVG}{worn}<g id="bus"/></svg>')
    assert {value for value in found if LEXICON.values[value].dimension == "subject"} == {"fox", "scarf"}


@pytest.mark.parametrize(
    ("paint", "colour", "opaque"),
    [
        ("RebeccaPurple", (0x66 / 255, 0x33 / 255, 0x99 / 255), 1),
        ("#f80", (1, 0x88 / 255, 0), 1),
        ("#f808", (1, 0x88 / 255, 0), 0x88 / 255),
        ("rgb(255 136 0 / 50%)", (1, 0x88 / 255, 0), 0.5),
        ("rgba(300, -20, 0, .5)", (1, 0, 0), 0.5),
        ("hsl(120deg, 100%, 25%)", (0, 0.5, 0), 1),
        ("currentColor", None, 1),
        ("url(#shade)", None, 1),
        ("#12345", None, 1),
    ],
)
def test_colours_are_read_as_css_writes_them(paint: str, colour: tuple[float, ...] | None, opaque: float) -> None:
    assert rgb(paint) == (None if colour is None else pytest.approx(colour))
    assert opacity(paint) == pytest.approx(opaque)


@pytest.mark.parametrize(
    "dressed",
    [
        '<path fill="navy" {d}/>',
        '<path style="fill: navy" {d}/>',
        '<path id="p" fill="navy" {d}/><use href="#gone"/>',
        '<symbol id="p"><path {d}/></symbol><g fill="navy"><use href="#p"/></g>',
        '<g color="navy"><path fill="currentColor" {d}/></g>',
        '<path fill="navy" {d}/><path fill="transparent" stroke="#ff000000" {d}/>',
        '<path fill="navy" stroke="red" stroke-width="0" {d}/>',
    ],
)
def test_style_is_read_wherever_it_stands(dressed: str) -> None:
    plain = SVG + '<path fill="#000080" d="M40 30h60l-30 40z"/></svg>'
    assert read_svg(SVG + dressed.format(d='d="M40 30h60l-30 40z"') + "</svg>").keys() == read_svg(plain).keys()


@pytest.mark.parametrize(
    ("d", "box"),
    [
        ("M1 2h3v4z", (1, 2, 4, 6)),
        ("M0 5a5 5 0 1110 0 5 5 0 11-10 0", (0, 0, 10, 10)),
        ("M.5.5l1e1-.5", (0.5, 0, 10.5, 0.5)),
        ("M0 0C0 4 4 4 4 0S8-4 8 0", (0, -3, 8, 3)),
        ("M13 21A7.3 10.4 45 1 0 3 11", (3, 5.2, 18.8, 21)),  # a tilted ellipse, to about 1 %
        ("m2 5a.75.75 0 011.5 0", (2, 4.25, 3.5, 5)),  # radii and flags without separators
    ],
)
def test_paths_have_boxes(d: str, box: tuple[float, ...]) -> None:
    assert measure("path", {"d": d}, 0, 0)[0] == pytest.approx(box, abs=0.15)


# ---- hostile and broken text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "empty"),
        ("a plain sentence", "not well-formed"),
        ("<svg><g></svg>", "not well-formed"),
        ("<html><body/></html>", "<html>"),
        ("\x00\x01\x89PNG\ufffd", "not well-formed"),
        ("<svg>" + "x" * MAX_CHARACTERS * 10 + "</svg>", "characters"),
        ("<svg>" + "<g>" * 5000 + "</g>" * 5000 + "</svg>", "deep"),
        ("<svg>" + "<g/>" * 30_000 + "</svg>", "elements"),
        ('<!DOCTYPE svg [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><svg>&b;</svg>', "entities"),
        ('<!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]><svg><text>&x;</text></svg>', "entities"),
        ('<svg><path d="M0 0"/>&nbsp;</svg>', "not well-formed"),
    ],
)
def test_text_that_is_no_usable_svg_is_one_clear_line(text: str, part: str) -> None:
    with pytest.raises(SvgError, match=part) as caught:
        read_svg(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "body",
    [
        "<circle r='nan'/><rect width='1e999' height='3'/><path d='M1 a a a Z 3 3 L'/><polygon points='1 2 3'/>",
        "<g transform='rotate() scale(x) matrix(1 2)'><rect width='9' height='9' fill='url(#gone)'/></g>",
        "<use href='#a' id='a'/><g id='b'><use href='#b'/></g><use href='#b'/>",
        "<linearGradient id='c' href='#c'/><rect width='9' height='9' fill='url(#c)' opacity='x'/>",
        "<pattern id='d' width='0'/><rect width='9' height='9' fill='url(#d)' stroke='red' stroke-width='-1'/>",
        "<text>hi</text><text y='' x='3 4'>HI</text><style>.a{fill</style><line/><polyline points='3,3 3,3'/>",
        "<g transform='scale(1e200) scale(1e200)'><rect width='9' height='9'/><text>far</text></g>",
    ],
)
def test_odd_but_parseable_drawings_are_read_without_harm(body: str) -> None:
    assert set(read_svg(f"{SVG}{body}</svg>")) <= LEXICON.values.keys()


@pytest.mark.parametrize(
    "size",
    ["", 'width="0" height="0"', 'width="x" height="y"', 'width="-5" height="5"', 'viewBox="0 0 0 0"', 'viewBox="none"',
     'width="100%" height="100%"', 'viewBox="0 0 nan inf"', 'viewBox="0 0 1e-320 5"'],
)  # fmt: skip
@pytest.mark.parametrize(
    "body",
    ["", "<line x2='9' stroke='red'/>", "<rect width='100%' height='100%' stroke='red' stroke-width='0'/>" * 2],
    ids=["nothing", "a line", "tiles"],
)
def test_a_drawing_of_no_readable_size_claims_no_format(size: str, body: str) -> None:
    formats = {"square", "wide", "tall", "postcard", "widescreen", "portrait", "phone", "close-up", "far-off"}
    assert not formats & read_svg(f"<svg {size}>{body}</svg>").keys()


# Of processor time. Each of these takes about half a second; what multiplies would take minutes, or never end.
LONG_SECONDS = 30

LAUGHS = '<g id="a0"><path d="M0 0h1v1z"/></g>' + "".join(
    f'<g id="a{n}">' + f'<use href="#a{n - 1}"/>' * 10 + "</g>" for n in range(1, 9)
)
CHAIN = "".join(
    f'<g id="u{n}">' + "<g>" * 90 + f'<use href="#u{n + 1}"/>' + "</g>" * 90 + "</g>" for n in range(8)
)  # 720 deep


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "message"),
    [
        (LAUGHS, "too much"),
        ('<g id="b"><use href="#b"/><use href="#b"/></g>', "too much"),
        (CHAIN, ""),
        ('<path d="M0 0' + "t1 1" * 200_000 + '"/>', "too much"),
        ('<path d="M0 0' + "a9 1 7 109 1" * 45_000 + '"/>', ""),
        ('<path d="M0 0A' + "2" * 300_000 + '"/>', ""),
        ('<g fill="' + "url(" * 200_000 + '"/>', ""),
        ('<g transform="' + "rotate(" * 100_000 + '"/>', ""),
        ('<text id="t">' + "ab " * 90_000 + "</text>" + '<use href="#t"/>' * 9000, "too much"),
        ('<g id="s" style="' + "fill:red;" * 5000 + '"/>' + '<use href="#s"/>' * 9000, "too much"),
        ("".join(f'<path id="a red boat {n}" d="M{n} 0h9v9z"/>' for n in range(15_000)), ""),
        ('<linearGradient id="g">' + "<stop/>" * 9000 + "</linearGradient>"
         + "".join(f'<path d="M0 0h1v1z" fill="url(#g) {n}"/>' for n in range(9000)), ""),
    ],
    ids=["laughs", "circles", "chain", "long path", "arcs", "digits", "urls", "rotations", "used text", "used style",
         "labels", "stops"],
)  # fmt: skip
def test_what_multiplies_is_bounded(body: str, message: str) -> None:
    svg = f"{SVG}{body}</svg>"
    begun = time.process_time()
    if message:
        with pytest.raises(SvgError, match=message):
            read_svg(svg)
    else:
        read_svg(svg)
    safe_svg(svg)
    assert time.process_time() - begun < LONG_SECONDS


def test_drawings_are_found_in_a_reply_however_many_are_never_closed() -> None:
    assert drawing_spans("a <svg>b</SVG > c <svg d <svg>e</svg>") == [(2, 15), (18, 37)]
    begun = time.process_time()
    assert drawing_spans("<svg " * 100_000) == []
    assert time.process_time() - begun < LONG_SECONDS


@pytest.mark.slow
def test_mutated_drawings_raise_nothing_but_what_is_documented() -> None:
    path = Path(__file__).resolve().parents[3] / "tools" / "mutate_svgs.py"
    spec = importlib.util.spec_from_file_location("mutate_svgs", path)
    assert spec and spec.loader
    mutate = importlib.util.module_from_spec(spec)
    sys.modules["mutate_svgs"] = mutate  # its dataclass looks itself up there
    spec.loader.exec_module(mutate)
    rng = random.Random(0)
    trial = mutate.Trial()
    for text in mutate.mutations(mutate.drawings([DATA / "artifacts"], rng), 150, rng):
        trial.add(text)
    assert [why for why, _ in trial.escapes] == []
    assert trial.outcomes["read: fine"] > 75 and trial.outcomes["read: SvgError"] > 15


HOSTILE = """<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)" viewBox="0 0 9 9"><script>alert(2)</script>
<foreignObject><body xmlns="http://www.w3.org/1999/xhtml"><img src="http://bad.example/a"/></body></foreignObject>
<image xlink:href="http://bad.example/b.png" width="9" height="9"/><image href="data:image/png;base64,AAAA"/>
<style>@import url("http://bad.example/c.css"); .a{fill:u\\72l(http://bad.example/d)} .b{fill:url(#ok)}</style>
<a href="javascript:alert(3)"><rect class="a" width="9" height="9" fill="url(http://bad.example/e#f)"/></a>
<use href="http://bad.example/g.svg#h"/><set attributeName="href" to="javascript:alert(4)"/>
<rect width="9" height="9" style="fill:url( '#ok' );background:url('//bad.example/i')" onclick="alert(5)"/></svg>"""


def test_a_cleaned_copy_holds_nothing_that_runs_or_loads() -> None:
    clean = safe_svg(HOSTILE)
    for trace in ("alert", "bad.example", "script", "foreignObject", "@import", "onload", "<set", "<a "):
        assert trace not in clean
    assert "url(#ok)" in clean and "url( '#ok' )" in clean and "data:image/png;base64,AAAA" in clean
    assert safe_svg(clean) == clean


@pytest.mark.parametrize(
    "css",
    [
        "@im@import;port 'http://bad.example/a.css';",
        "<![CDATA[.a{}]]><g/>@import url(http://bad.example/b.css);",
        ".a{background:image-set('http://bad.example/c' 1x)}",
        "\\40 import 'http://bad.example/d';",
        '.a{fill:url(\n"http://bad.example/e")}',
    ],
)
def test_style_cannot_hide_an_outside_address(css: str) -> None:
    clean = safe_svg(f"{SVG}<style>{css}</style></svg>")
    assert not re.search(r"@import|image-set|url\(\s*['\"]?http", clean)
    assert safe_svg(clean) == clean


PARTED = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 100"{size}><title>A cat</title>
<rect width="200" height="100" fill="#eee"/><g id="crescent-moon"><rect x="150" y="10" width="20" height="20"/></g>
<g id="cat" transform="translate(20 30)"><rect width="60" height="60"/><g id="party-hat"><rect x="20" width="20"
 height="10"/></g></g><text x="100" y="95" font-size="10">Hello</text></svg>"""


@pytest.mark.parametrize(
    "reason, part",
    [
        ("a part is named “crescent-moon”", (0.75, 0.1, 0.85, 0.3)),
        ("a part is named “party-hat”", (0.2, 0.3, 0.3, 0.4)),
        ("the drawing is named “A cat”", (0.1, 0.3, 0.4, 0.9)),
        ("“Hello” is written", (0.0, 0.85, 1.0, 0.98)),
        ("the whole canvas is filled with #eee", None),
        ("a part is named “sunset”", None),
    ],
)
def test_what_was_read_has_a_place_on_the_drawing(reason: str, part: tuple[float, ...] | None) -> None:
    assert part_of(PARTED.format(size=""), reason) == part
    assert part_of(PARTED.format(size=' width="400" height="200"'), reason) == part


def test_where_a_picture_is_shown_in_another_format_no_place_is_claimed() -> None:
    assert part_of(PARTED.format(size=' width="100" height="100"'), "a part is named “party-hat”") is None
    assert part_of("<svg", "a part is named “party-hat”") is None


@pytest.mark.slow
@settings(max_examples=40)
@given(st.sets(st.sampled_from(["party-hat", "sunset", "hills", "two-young", "birthday", "hatching", "thin-border"])))
def test_parts_of_drawn_scenes_lie_on_them(values: set[str]) -> None:
    svg = draw(["fox", *sorted(values)])
    dimension_of = {name: value.dimension for name, value in load_lexicon("svg_drawing").values.items()}
    parts = {dimension_of[value]: part_of(svg, reason) for value, reason in read_svg(svg).items()}
    assert parts["subject"] and not parts.get("colours") and not parts.get("format")
    for left, top, right, bottom in filter(None, parts.values()):
        assert 0 <= left < right <= 1 and 0 <= top < bottom <= 1
