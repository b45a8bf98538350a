"""Where on a drawing lies what was read from it: the box that a page outlines while an intent is looked at."""

from __future__ import annotations

import re
from functools import lru_cache
from xml.etree.ElementTree import Element

from discover_lib.base.svg import SvgError, parse_svg
from discover_lib.engines.miniature.svg.geometry import Box, length, union
from discover_lib.engines.miniature.svg.scene import LABELS, Scene, local_name, scene_of

_NAMED = re.compile(r"a part is named “([^”]+)”")
_OF_FIGURE = re.compile(r"the drawing is named|the figure|its edges")
_WRITTEN = re.compile(r"“[^”]*” is written")
WHOLE = 0.9  # share of the canvas each way from which on a part is no part


def part_of(text: str, reason: str) -> Box | None:
    """The part of an SVG that a reason of `read_svg` speaks of: left, top, right, bottom as shares of the picture.

    None where it is the whole picture, where it cannot be told, and where the picture is shown in another format than
    it is drawn in.

    Example:
        >>> svg = '<svg viewBox="0 0 100 100"><g id="moon"><rect x="10" y="20" width="30" height="10"/></g></svg>'
        >>> part_of(svg, "a part is named “moon”")
        (0.1, 0.2, 0.4, 0.3)
    """
    try:
        scene = _shown(text)
        if scene is None:
            return None
        if named := _NAMED.search(reason):
            root = parse_svg(text)
            _keep_labelled(root, named[1].removesuffix("…"))
            kept = scene_of(root, whole=True)
            boxes = [shape.box for shape in (*kept.figure, *kept.frames)]
        elif _WRITTEN.search(reason) and scene.writing:
            largest = max(scene.writing, key=lambda writing: writing.size)
            ends = largest.y - largest.size, largest.y + 0.3 * largest.size
            boxes = [(scene.canvas[0], ends[0], scene.canvas[2], ends[1])]
        elif _OF_FIGURE.search(reason):
            boxes = [shape.box for shape in scene.figure]
        else:
            return None
    except SvgError:
        return None
    if not boxes:
        return None
    box = union(boxes)
    shares = [(box[at] - scene.canvas[at % 2]) / (scene.height if at % 2 else scene.width) for at in range(4)]
    left, top, right, bottom = (round(min(max(share, 0.0), 1.0), 3) for share in shares)
    is_part = left < right and top < bottom and min(right - left, bottom - top) < WHOLE
    return (left, top, right, bottom) if is_part else None


@lru_cache(maxsize=64)  # several requirements are read from one drawing
def _shown(text: str) -> Scene | None:
    """The drawing as a scene; None where it says no format, or is shown in another one than it is drawn in."""
    root = parse_svg(text)
    scene = scene_of(root)
    if not scene.has_format:
        return None
    width, height = length(root.get("width")), length(root.get("height"))
    is_as_drawn = not (width and height) or abs(width / height / (scene.width / scene.height) - 1) < 0.02
    return scene if is_as_drawn else None


def _keep_labelled(element: Element, label: str) -> bool:
    """Take away all that is not labelled so, definitions aside; whether anything stays."""
    stays = False
    for child in list(element):
        if any(child.get(name, "").startswith(label) for name in LABELS):
            stays = True
        elif local_name(child.tag) not in ("defs", "style", "symbol"):
            if _keep_labelled(child, label):
                stays = True
            else:
                element.remove(child)
    return stays
