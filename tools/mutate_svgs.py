"""Try the reading of drawings on mutated ones: icon sets, exports, the miniature's own, and hostile fragments.

    python tools/mutate_svgs.py --count 250000 --seed 0 FOLDER...

Each text goes through all that reads a drawing: the cleaned copy that a page shows, the reader, the judge's reading of
a reply that holds it, and the builder.  Whatever is raised but the documented errors is an escape; so is a cleaned copy
that still runs or loads something.  The same seed and folders give the same texts.
"""

import argparse
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from discover_lib.base.svg import SvgError, parse_svg, safe_svg
from discover_lib.core.conversation import Artifact
from discover_lib.core.roles import BuildError
from discover_lib.engines.miniature.builder import MiniatureBuilder
from discover_lib.engines.miniature.lexicon import load_lexicon
from discover_lib.engines.miniature.reading import read_reply
from discover_lib.engines.miniature.svg.draw import draw
from discover_lib.engines.miniature.svg.read import read_svg

DOMAIN = "svg_drawing"
LONGEST_SEED = 20_000  # characters of a drawing that is mutated; most of the time would go to few larger ones
DRAWN = 200  # drawings of the miniature among those that are mutated

NUMBERS = [
    *"""0 -0 -1 1 1e-320 1e-9 1e9 -1e9 1e308 -1e308 1e999 nan NaN inf -Infinity 0x10 1e 1e+ . - + 1..2 ١٢ 100% -100%
    1e9% 5em 5rem 5ex 3mm 2in 1pc 1q auto none calc(1px+2px) var(--x) 99999999999999999999999999""".split(),
    *("", " ", "1 2", "1,,2", "1" * 5000, "\u00a05"),
]
PAINTS = [
    *"""none NONE transparent currentColor inherit context-fill Canvas ButtonText rebeccapurple PapayaWhip #f #ff
    #fff #ffff #fffff #ffffff #ffffffff #fffffffff #12345g rgb(1,2,3) rgb(1e999,-5,0) rgb(10%,20%,30%) rgb(calc(1),2,3)
    rgba(0,0,0,0) hsl(1e999,5%,5%) hsl(-40deg,50%,50%) hwb(1turn,0%,0%) hwb(0,900%,900%) lab(50%,1,1) oklch(1,1,1)
    color(srgb,1,1,1) color(display-p3,1,0,0) light-dark(red,blue) url(#a) url(#) url( url(#a)none
    url(http://bad.example/x) var(--x) rgb( rgb() ) #""".split(),
    *("rgb(1 2 3 / 50%)", "hwb(20 30% 40%)", "x" * 999),
]
TRANSFORMS = """scale(0) scale(0,1) scale(1,0) scale(1e-200) scale(1e200) scale(-1) rotate() rotate(90) rotate(1e308)
    rotate(45,1e308,1) skewX(90) skewY(90) skewX(89.9999999) matrix(0,0,0,0,0,0) matrix(1,1,1,1,0,0) matrix(1,2,3)
    matrix(1e300,1e300,1e300,1e300,1e300,1e300) translate(1e308,-1e308) translate(nan) none rotate(((( scale""".split()
PATHS = """M M0 M0,0 M0,0z z zzzz M1,1L M1,1L1 L5,5 m0,0h0v0z M0,0A0,0,0,0,0,0,0 M0,0A1e-300,1e-300,0,1,1,1,1
    M0,0A1e9,1e9,45,0,1,1e-300,0 M0,0A1,1,1e308,11,1e308,1e308 M0,0a5,5,0,119,9 M0,0a5,5,0,2,2,9,9 M1e308,1e308L-1e308,5
    M0,0C1,1 M0,0C1,1,2,2,3,3S4,4 M0,0T5,5T5,5 M0,0Q nan M-,-5 M1.1.1.1 M0,0l1e-320,1e-320 M0,0X5,5""".split()
VALUES = {
    "": NUMBERS,
    "fill": PAINTS,
    "stroke": PAINTS,
    "stop-color": PAINTS,
    "color": PAINTS,
    "transform": TRANSFORMS,
    "gradientTransform": TRANSFORMS,
    "patternTransform": TRANSFORMS,
    "d": PATHS,
    "viewBox": ["", "none", "0 0 0 0", "0 0 0 5", "0 0 -5 5", "0 0 nan 5", "0 0 1e-320 5", "1e308 0 1e308 1", "0 0 1",
                "0,0,9,9", "-5 -5 10 10", "0 0 1e9 1e-5", "1 2 3 4 5"],
    "points": ["", "1", "1,1", "1,1 1,1", "0,0 5,0 0,5", "nan,1 2,3", "1e308,1 -1e308,2", "0 0 0 0 0 0 0 0"],
    "href": ["#a", "#", "", "#missing", "a.svg#b", "http://bad.example/", "javascript:alert(1)", "data:text/html,x"],
    "style": ["", ";", ":", "fill", "fill:", "fill:;;", "alpha:x", "opacity:nan", "fill:'a;b';stroke:red", "/*",
              "fill:u\\72l(http://bad.example/)", "display:none", "fill:/**/red", "fill:red!important", "a{b:c}",
              "width:" + "1" * 5000, "background:image-set('http://bad.example/x' 1x)",
              "fill:#12345678;fill-opacity:200%", "\ud800"],
    "class": ["a", "a b", "a " * 500, "", "\U0001f98a"],
    "id": ["a", "", "a b", "sun", "fox", "a" * 5000],
    "stroke-dasharray": ["0", "0 0", "1 -1", "none", "nan", "5", "1e308 1e308", "," * 50],
    "xmlns": ["", "http://www.w3.org/1999/xhtml", "x"],
}  # fmt: skip
FRAGMENTS = [
    "<script>alert(1)</script>",
    "<foreignObject><body xmlns='http://www.w3.org/1999/xhtml' onload='alert(1)'/></foreignObject>",
    "<image href='http://bad.example/x.png' width='9' height='9'/>",
    "<style>@import url(http://bad.example/a.css);.a{fill:red}</style>",
    "<style>@im@import;port 'http://bad.example/a.css';</style>",
    "<style>.a{<g/>}@import url(http://bad.example/b.css);</style>",
    "<style><![CDATA[*{fill:transparent}#a,.b{stroke:url(#a)} @media print{.a{fill:blue}}]]></style>",
    "<style>.c{width:" + "9" * 5000 + "}</style>",
    "<style>" + "{" * 300 + "</style>",
    "<style>" + "(" * 5000 + "</style>",
    "<style>a{fill:url(" + " " * 3000 + "#</style>",
    "<use href='#a'/>",
    "<g id='a'><use href='#a'/><use href='#a'/></g>",
    "<use href='#root'/>",
    "<g id='a'>" + "<use href='#b'/>" * 20 + "</g><g id='b'>" + "<use href='#c'/>" * 20 + "</g><g id='c'>"
    + "<use href='#d'/>" * 20 + "</g><g id='d'>" + "<use href='#e'/>" * 20 + "</g><path id='e' d='M0 0h9v9z'/>",
    "<symbol id='a' viewBox='0 0 0 0'><rect width='9' height='9'/></symbol><use href='#a' width='0' height='-1'/>",
    "<svg viewBox='0 0 1e-300 1' width='1e308'><rect width='9' height='9'/></svg>",
    "<linearGradient id='a' href='#b'/><linearGradient id='b' href='#a'/><rect fill='url(#a)' width='9' height='9'/>",
    "<pattern id='a' width='1e-320' height='1'><rect width='9' height='9' fill='url(#a)'/></pattern>",
    "<clipPath id='a'><use href='#a'/></clipPath><rect clip-path='url(#a)' width='9' height='9'/>",
    "<text y=' '>   </text><text x='' y='nan'>\U0001f98a</text><text font-size='0'>a</text>",
    "<text font-size='1e308'>A</text>",
    "<text>a<tspan>b<a>c</a></tspan></text>",
    "<rect width='100%' height='100%' fill='none' stroke='red' stroke-width='0'/>",
    "<rect width='100%' height='100%' stroke='red' stroke-width='0'/>" * 2,
    "<rect width='9' height='9' rx='5' transform='scale(0)'/>",
    "<line x1='0' x2='9' stroke='red'/>",
    "<polyline points='3,3 3,3'/>",
    "<path d='M0 0" + "t1 1" * 2000 + "'/>",
    "<path d='M0 0A" + "2" * 3000 + "'/>",
    "<g>" * 90 + "</g>" * 90,
    "<g>" * 120 + "</g>" * 120,
    "<?pi alert(1)?>",
    "<!-- - -- -->",
    "<!--",
    "<![CDATA[<svg>]]>",
    "&#xD800;",
    "&#0;",
    "&lt;&nbsp;&a;",
    "\ud800",
    "\x00",
    "\ufeff",
    "<title>fox</title><desc>" + "a red boat and the sun " * 200 + "</desc>",
    "<a xlink:href='javascript:alert(1)'><rect width='5' height='5'/></a>",
    "<set attributeName='href' to='javascript:alert(1)'/><animate onbegin='alert(1)'/>",
    "<x:g xmlns:x='http://www.w3.org/2000/svg'><x:rect width='5' height='5'/></x:g>",
    "<inkscape:x/>",
    "</svg><svg>",
    "<svg ",
    "</svg ",
]  # fmt: skip
HEADS = [
    "<!DOCTYPE svg [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;&a;'>]>",
    "<!DOCTYPE svg [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>",
    "<!DOCTYPE svg [<!ENTITY % x SYSTEM 'http://bad.example/x.dtd'> %x;]>",
    "<!DOCTYPE svg [<!ATTLIST svg onload CDATA 'alert(1)'>]>",
    "<!DOCTYPE svg PUBLIC '-//W3C//DTD SVG 1.1//EN' 'http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd'>",
    "<?xml version='1.0' encoding='UTF-16'?>",
    "<?xml version='1.0' encoding='bogus'?>",
    "<?xml version='9'?>",
    "\ufeff",
    " \n",
    "<!---->",
]
_TAG = re.compile(r"<[a-zA-Z][^<>]*>")
_ATTRIBUTE = re.compile(r"(?<![\w:-])([\w:-]++)\s*+=\s*+(\"[^\"]*\"|'[^']*')")
_NUMBER = re.compile(r"-?\d*\.?\d+")


def mutated(svg: str, others: Sequence[str], rng: random.Random) -> str:
    """`svg` with one to four changes."""
    for _ in range(rng.choice((1, 1, 2, 3, 4))):
        svg = rng.choice(CHANGES)(svg, others, rng)
    return svg


def _new_value(svg: str, others: Sequence[str], rng: random.Random) -> str:
    found = list(_ATTRIBUTE.finditer(svg))
    if not found:
        return svg
    chosen = rng.choice(found)
    value = rng.choice(VALUES.get(chosen[1].rpartition(":")[2], NUMBERS))
    return f'{svg[: chosen.start(2)]}"{value}"{svg[chosen.end(2) :]}'


def _new_attribute(svg: str, others: Sequence[str], rng: random.Random) -> str:
    found = list(_TAG.finditer(svg))
    if not found:
        return svg
    at = rng.choice(found[:1] if rng.random() < 0.3 else found).end() - 1
    at -= svg[at - 1] == "/"
    name = rng.choice(
        [*VALUES, "width", "height", "x", "y", "r", "rx", "opacity", "font-size", "onload", "stroke-width"]
    )
    return f'{svg[:at]} {name or "cx"}="{rng.choice(VALUES.get(name, NUMBERS))}"{svg[at:]}'


def _no_attribute(svg: str, others: Sequence[str], rng: random.Random) -> str:
    found = list(_ATTRIBUTE.finditer(svg))
    if not found:
        return svg
    chosen = rng.choice(found[:3] if rng.random() < 0.3 else found)
    return svg[: chosen.start()] + svg[chosen.end() :]


def _new_number(svg: str, others: Sequence[str], rng: random.Random) -> str:
    found = list(_NUMBER.finditer(svg))
    if not found:
        return svg
    chosen = rng.choice(found)
    return svg[: chosen.start()] + rng.choice(NUMBERS) + svg[chosen.end() :]


def _fragment(svg: str, others: Sequence[str], rng: random.Random) -> str:
    ends = [match.end() for match in _TAG.finditer(svg)] or [0]
    at = rng.choice(ends)
    return svg[:at] + rng.choice(FRAGMENTS) + svg[at:]


def _graft(svg: str, others: Sequence[str], rng: random.Random) -> str:
    """Elements of another drawing, inside this one."""
    other = rng.choice(others)
    start, end = other.find(">") + 1, other.rfind("</")
    ends = [match.end() for match in _TAG.finditer(svg)] or [0]
    at = rng.choice(ends)
    return svg[:at] + other[start : max(start, end)][:20_000] + svg[at:]


def _wrap(svg: str, others: Sequence[str], rng: random.Random) -> str:
    start, end = svg.find(">") + 1, svg.rfind("</")
    if end < start:
        return svg
    levels = rng.choice((1, 5, 60, 110))
    opening = rng.choice(("<g>", "<svg>", f"<g transform='{rng.choice(TRANSFORMS)}'>", "<g id='sun'>", "<switch>"))
    return (
        svg[:start]
        + opening * levels
        + svg[start:end]
        + f"</{opening[1:].split()[0].rstrip('>')}>" * levels
        + svg[end:]
    )


def _repeat(svg: str, others: Sequence[str], rng: random.Random) -> str:
    start, end = svg.find(">") + 1, svg.rfind("</")
    if end < start:
        return svg
    times, size = rng.choice((2, 5, 50, 500)), rng.choice((10_000, 10_000, 10_000, 300_000))
    return svg[:start] + svg[start:end] * min(times, size // max(end - start, 1) + 1) + svg[end:]


def _characters(svg: str, others: Sequence[str], rng: random.Random) -> str:
    at = rng.randrange(len(svg) + 1)
    span = rng.choice((0, 1, 2, 10, 200))
    put = rng.choice(
        ("", "<", ">", "&", '"', "/", "\x00", "\ud800", "é", "}", ";", "(", "1", "e", "-", svg[at : at + span] * 2)
    )
    return svg[:at] + put + svg[at + span :]


def _cut(svg: str, others: Sequence[str], rng: random.Random) -> str:
    at = rng.randrange(len(svg) + 1)
    return svg[:at] if rng.random() < 0.5 else svg[at:]


CHANGES: list[Callable[[str, Sequence[str], random.Random], str]] = [
    *[_new_value] * 4, *[_new_attribute] * 3, *[_no_attribute] * 2, *[_new_number] * 3, *[_fragment] * 4, _graft, _wrap,
    _repeat, lambda svg, _, rng: rng.choice(HEADS) + svg, _characters, _cut,
]  # fmt: skip


@dataclass
class Trial:
    """What came of the texts tried."""

    outcomes: Counter[str] = field(default_factory=Counter)
    escapes: list[tuple[str, str]] = field(default_factory=list)  # the problem, and the text
    slowest: list[tuple[float, str, str]] = field(default_factory=list)  # (processor seconds, step, text)

    def add(self, text: str) -> None:
        """Put one text through every reading."""
        for name, reading in READINGS.items():
            begun = time.process_time()
            try:
                reading(text)
                outcome = "fine"
            except (SvgError, BuildError) as error:
                outcome = f"{type(error).__name__}"
                if "\n" in str(error) or len(str(error)) > 1000:
                    self.escapes.append((f"{name}: not one clear line: {str(error)[:200]!r}", text))
            except Exception as error:
                outcome = f"ESCAPED {type(error).__name__}"
                self.escapes.append((f"{name}: {type(error).__name__}: {error}", text))
            self.outcomes[f"{name}: {outcome}"] += 1
            self.slowest = sorted([*self.slowest, (time.process_time() - begun, name, text)], reverse=True)[:10]


def clean(text: str) -> None:
    """Raises AssertionError where the copy still holds something that runs or loads, or changes when cleaned again."""
    copy = safe_svg(text)
    for element in parse_svg(copy).iter():
        name = str(element.tag).rpartition("}")[2].lower()
        if name in ("script", "foreignobject", "a", "animate", "set", "iframe", "feimage"):
            raise AssertionError(f"<{name}> is left")
        texts = [*element.attrib.values(), (element.text or "") if name == "style" else ""]
        if any(key.lower().startswith("on") for key in element.attrib) or any(map(_LOADS.search, texts)):
            raise AssertionError(f"<{name}> runs or loads something")
    if safe_svg(copy) != copy:
        raise AssertionError("cleaning it again changes it")


_LOADS = re.compile(r"@import|url\(\s*+['\"]?+\s*+(?!#)|javascript:|image-set\(", re.IGNORECASE)
_BUILDER = MiniatureBuilder(DOMAIN)
READINGS: dict[str, Callable[[str], object]] = {
    "clean": clean,
    "read": lambda text: read_svg(text, "red boat"),
    "judge": lambda text: read_reply(f"Here it is:\n```svg\n{text}\n```\nDo you like it?", DOMAIN),
    "build": lambda text: _BUILDER.build(Artifact("one", "SVG drawing", text, domain=DOMAIN)),
}


def drawings(folders: Sequence[Path], rng: random.Random) -> list[str]:
    """The drawings to mutate: those in `folders`, and some of the miniature's own."""
    texts = []
    for path in sorted({path for folder in folders for path in folder.rglob("*.svg")}):
        text = path.read_text(encoding="utf-8", errors="replace")
        if len(text) <= LONGEST_SEED:
            texts.append(text)
    dimensions = load_lexicon(DOMAIN).dimensions.values()
    for _ in range(DRAWN):
        texts.append(
            draw([leaf for each in dimensions for leaf in rng.sample(each.leaves, rng.randint(0, each.holds))])
        )
    return texts


def mutations(texts: Sequence[str], count: int, rng: random.Random) -> Iterator[str]:
    """`count` mutated drawings."""
    for _ in range(count):
        yield mutated(rng.choice(texts), texts, rng)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, help="folders with .svg files, searched to the bottom")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="folder for the texts that escaped, and the slowest")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    texts = drawings(options.folders, rng)
    trial = Trial()
    for text in mutations(texts, options.count, rng):
        trial.add(text)
    if options.keep:
        _keep(trial, options.keep)
    print(f"{options.count:,} mutations of {len(texts):,} drawings, seed {options.seed}")
    for outcome, count in sorted(trial.outcomes.items()):
        print(f"{count:>9,}  {outcome}")
    for seconds, name, text in trial.slowest:
        print(f"  {seconds:.3f} s  {name}, {len(text):,} characters: {' '.join(text[:80].split())!r}")
    for why, count in Counter(why for why, _ in trial.escapes).most_common(20):
        print(f"ESCAPED {count} ×: {why[:300]}")
    sys.exit(1 if trial.escapes or trial.slowest[0][0] >= 1 else 0)


def _keep(trial: Trial, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    kept = [*trial.escapes[:50], *[(f"{seconds:.2f} s in {name}", text) for seconds, name, text in trial.slowest]]
    for place, (why, text) in enumerate(kept):
        note = f"{' '.join(why.split())}\n{text}"
        (folder / f"{place}.txt").write_text(note, encoding="utf-8", errors="surrogatepass")


if __name__ == "__main__":
    main()
