"""The only place where SVG text is parsed, and where it is made safe to show.

SVG comes from models, files and strangers, so it is untrusted.  Parsing is bounded and expands no entities.  A page
shows a cleaned copy inside an `<img>` data URI, where scripts do not run and addresses do not load.
"""

from __future__ import annotations

import base64
import re
from functools import lru_cache
from xml.etree import ElementTree

from defusedxml import ElementTree as DefusedElementTree
from defusedxml.common import DefusedXmlException

from discover_lib.base.errors import DiscoverError

MAX_CHARACTERS = 1_000_000
MAX_ELEMENTS = 20_000
MAX_DEPTH = 100

SVG_NAMESPACE = "http://www.w3.org/2000/svg"
XLINK_NAMESPACE = "http://www.w3.org/1999/xlink"
_XLINK_HREF = f"{{{XLINK_NAMESPACE}}}href"

ElementTree.register_namespace("", SVG_NAMESPACE)
ElementTree.register_namespace("xlink", XLINK_NAMESPACE)

# All elements that draw; elements that script, embed, link or animate are left out.
_SAFE_ELEMENTS = frozenset(
    """svg g defs symbol use title desc path rect circle ellipse line polyline polygon text tspan textPath style switch
    linearGradient radialGradient stop pattern clipPath mask marker image filter feBlend feColorMatrix
    feComponentTransfer feComposite feConvolveMatrix feDiffuseLighting feDisplacementMap feDistantLight feDropShadow
    feFlood feFuncA feFuncB feFuncG feFuncR feGaussianBlur feMerge feMergeNode feMorphology feOffset fePointLight
    feSpecularLighting feSpotLight feTile feTurbulence""".split()
)
_INLINE_IMAGE = re.compile(r"^data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]*$")
_OPENING = re.compile(r"<svg\b", re.IGNORECASE)
_CLOSING = re.compile(r"</svg\s*>", re.IGNORECASE)
_URL = re.compile(r"url\(([^)]*)\)?", re.IGNORECASE)
_CSS_ESCAPE = re.compile(r"\\([0-9a-fA-F]{1,6})\s?")
_CSS_COMMENT = re.compile(r"/\*.*?(?:\*/|$)", re.DOTALL)
_CSS_IMPORT = re.compile(r"@import[^;]*;?", re.IGNORECASE)
_CSS_ACTIVE = re.compile(
    r"expression\s*\(|javascript:|-moz-binding|behavior\s*:|\b(?:src|image|image-set)\s*\(", re.IGNORECASE
)


class SvgError(DiscoverError):
    """Text that cannot be used as an SVG; the message is one line with the next step."""


def drawing_spans(text: str) -> list[tuple[int, int]]:
    """The places of drawings in a text, each as (start, end): from `<svg` to the next `</svg>`."""
    spans: list[tuple[int, int]] = []
    while opening := _OPENING.search(text, spans[-1][1] if spans else 0):
        closing = _CLOSING.search(text, opening.end())
        if closing is None:
            break
        spans.append((opening.start(), closing.end()))
    return spans


def parse_svg(text: str) -> ElementTree.Element:
    """The root element of an SVG text, parsed with bounds on its size and without entity expansion.

    Raises:
        SvgError: too large, broken XML, not an SVG, entity definitions, too many or too deeply nested elements.
    """
    if len(text) > MAX_CHARACTERS:
        raise SvgError(f"the SVG has {len(text):,} characters; give one of at most {MAX_CHARACTERS:,}")
    if "xlink:" in text and "xmlns:xlink" not in text:  # common in hand-written files, and browsers forgive it in HTML
        text = re.sub(r"<svg\b", f'<svg xmlns:xlink="{XLINK_NAMESPACE}"', text, count=1)
    root = _parsed(text.strip())
    if local_name(root.tag) != "svg":
        raise SvgError(f"the outermost element is <{local_name(root.tag)}>; give a document that starts with <svg>")
    if text.count("<") > MAX_DEPTH:  # fewer tags than that can be neither too deep nor too many
        _check_extent(root)
    return root


def safe_svg(text: str) -> str:
    """A cleaned copy of an SVG text: no scripts, handlers, foreign content, animation or outside addresses.

    Raises:
        SvgError: as `parse_svg`.
    """
    root = parse_svg(text)
    _clean(root)
    # A text can hold a carriage return only as &#13;; unescaped it would be read as a newline.
    return ElementTree.tostring(root, encoding="unicode").replace("\r", "\n")


def svg_data_uri(text: str) -> str:
    """The cleaned copy as a `data:` URI for the `src` of an `<img>`.

    Raises:
        SvgError: as `parse_svg`.
    """
    return "data:image/svg+xml;base64," + base64.b64encode(safe_svg(text).encode("utf-8")).decode("ascii")


def _parsed(text: str) -> ElementTree.Element:
    if not text:
        raise SvgError("the SVG is empty; give a document that starts with <svg>")
    try:
        if "<!DOCTYPE" in text or "<!ENTITY" in text:  # the stdlib parser is safe, and faster, without these
            return DefusedElementTree.fromstring(text, forbid_dtd=False, forbid_entities=True, forbid_external=True)
        return ElementTree.fromstring(text)
    except DefusedXmlException:
        raise SvgError(
            "the SVG defines XML entities, which are not expanded; export it as plain SVG (in Illustrator: without "
            "“Preserve Illustrator Editing Capabilities”)"
        ) from None
    except (ElementTree.ParseError, UnicodeError, ValueError) as error:
        raise SvgError(f"the SVG is not well-formed XML ({error}); repair it or export it again") from None


def _check_extent(root: ElementTree.Element) -> None:
    level, depth, count = [root], 0, 0
    while level:
        depth += 1
        count += len(level)
        if depth > MAX_DEPTH:
            raise SvgError(f"the SVG nests elements more than {MAX_DEPTH} deep; flatten its groups")
        if count > MAX_ELEMENTS:
            raise SvgError(f"the SVG has more than {MAX_ELEMENTS:,} elements; simplify it")
        level = [child for element in level for child in element]


@lru_cache(maxsize=16384)
def local_name(tag: object) -> str:
    """A tag or an attribute without its namespace; "" for what is no element."""
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def _clean(element: ElementTree.Element) -> None:
    """Clean `element` and its descendants in place; their parent removes forbidden elements."""
    element.tag = f"{{{SVG_NAMESPACE}}}{local_name(element.tag)}"
    element.attrib = dict(_clean_attributes(element.attrib))
    if local_name(element.tag) == "style":
        element.text, element[:] = _clean_css("".join(element.itertext())), []
    kept = [child for child in element if _is_safe(child)]
    for child in kept:
        _clean(child)
    element[:] = kept


def _is_safe(element: ElementTree.Element) -> bool:
    if not isinstance(element.tag, str):
        return False
    namespace, brace, name = element.tag.rpartition("}")
    return name in _SAFE_ELEMENTS and (not brace or namespace == "{" + SVG_NAMESPACE)


def _clean_attributes(attributes: dict[str, str]) -> list[tuple[str, str]]:
    kept = []
    for name, value in attributes.items():
        local = local_name(name).lower()
        if local == "href":
            if value.strip().startswith("#") or _INLINE_IMAGE.match(value.strip()):
                kept.append((_XLINK_HREF if name == _XLINK_HREF else "href", value.strip()))
        elif "}" not in name and not local.startswith("on"):
            kept.append((name, _clean_css(value) if "(" in value or ":" in value else value))
    return kept


def _clean_css(css: str) -> str:
    """Style text without imports, outside addresses or anything active; escapes could hide those, so they go first."""
    css = _CSS_ESCAPE.sub(_unescaped, _CSS_COMMENT.sub("", css)).replace("\\", "")
    css = _URL.sub(_inside_url, _CSS_IMPORT.sub(" ", css))
    return "" if _CSS_ACTIVE.search(css) else css


def _inside_url(url: re.Match[str]) -> str:
    return url[0] if url[1].lstrip(" \t\r\n\f'\"").startswith("#") else "none"


def _unescaped(escape: re.Match[str]) -> str:
    code = int(escape[1], 16)
    return chr(code) if 32 <= code < 0xD800 else ""
