"""Drawings as pixels: what resvg paints, to bear witness to what is read off a drawing's text."""

from __future__ import annotations

import struct
import xml.etree.ElementTree as ElementTree
import zlib
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import resvg_py

SVG = "{http://www.w3.org/2000/svg}"


def pixels(svg: str, width: int = 180) -> np.ndarray:
    """A drawing as rows of red, green, blue and alpha, 0 to 1."""
    png = bytes(resvg_py.svg_to_bytes(svg_string=svg, width=width, sans_serif_family="DejaVu Sans"))
    return decode_png(png)


def decode_png(png: bytes) -> np.ndarray:
    """An 8-bit RGBA PNG without interlacing, the only kind that resvg writes."""
    width, height, depth, kind = struct.unpack(">IIBB", png[16:26])
    assert (depth, kind, png[28]) == (8, 6, 0)
    data, at = b"", 8
    while at < len(png):
        size, name = struct.unpack(">I4s", png[at : at + 8])
        data += png[at + 8 : at + 8 + size] if name == b"IDAT" else b""
        at += size + 12
    raw, stride = zlib.decompress(data), 4 * width
    above, rows = bytearray(stride), []
    for y in range(height):
        start = y * (stride + 1)
        above = _unfiltered(raw[start], raw[start + 1 : start + 1 + stride], above)
        rows.append(above)
    return np.frombuffer(b"".join(rows), np.uint8).reshape(height, width, 4) / 255.0


def _unfiltered(kind: int, row: bytes, above: bytearray) -> bytearray:
    """One row of a PNG from its differences to the byte on the left, the one above, both, or the nearest of three."""
    out = bytearray(row)
    for x in range(len(row)) if kind else ():
        left, over, corner = (out[x - 4], above[x], above[x - 4]) if x >= 4 else (0, above[x], 0)
        if kind == 4:
            to_left, to_over, to_corner = abs(over - corner), abs(left - corner), abs(left + over - 2 * corner)
            guess = left if to_left <= min(to_over, to_corner) else over if to_over <= to_corner else corner
        else:
            guess = (0, left, over, (left + over) // 2)[kind]
        out[x] = (row[x] + guess) % 256
    return out


def without(svg: str, names: Collection[str]) -> str:
    """A drawing without the groups of these names, and without writing where "text" is one."""
    ElementTree.register_namespace("", "http://www.w3.org/2000/svg")
    root = ElementTree.fromstring(svg)
    for parent in root.iter():
        for child in list(parent):
            if child.get("id") in names or child.tag.removeprefix(SVG) in names:
                parent.remove(child)
    return ElementTree.tostring(root, encoding="unicode")


@dataclass(frozen=True)
class Ink:
    """Where a part of a drawing is seen: shares of the canvas."""

    covered: float  # of its area
    left: float
    top: float
    right: float
    bottom: float

    @property
    def boxed(self) -> float:
        return (self.right - self.left) * (self.bottom - self.top)

    @property
    def reach(self) -> float:
        return max(self.right - self.left, self.bottom - self.top)

    @property
    def middle(self) -> float:
        return (self.left + self.right) / 2


def ink_of(svg: str, name: str, *, room: float = 0.0) -> Ink:
    """What the group of that name changes in a drawing.

    Args:
        room: margin around the canvas that is looked at too, as a share of its sides; what lies there is cut off.
    """
    whole, rest = (pixels(_with_room(each, room)) for each in (svg, without(svg, {name})))
    changed = np.abs(whole - rest).max(axis=2) > 0.02
    assert changed.any(), f"nothing of {name!r} is to be seen"
    height, width = changed.shape
    ys, xs = np.nonzero(changed)
    grown = 1 + 2 * room
    box = ((x / width * grown - room) for x in (xs.min(), xs.max() + 1))
    left, right = box
    top, bottom = (y / height * grown - room for y in (ys.min(), ys.max() + 1))
    return Ink(float(changed.mean()) * grown**2, left, top, right, bottom)


def _with_room(svg: str, room: float) -> str:
    if not room:
        return svg
    root = ElementTree.fromstring(svg)
    x, y, w, h = map(float, root.attrib["viewBox"].split())
    root.set("viewBox", f"{x - room * w} {y - room * h} {w * (1 + 2 * room)} {h * (1 + 2 * room)}")
    return ElementTree.tostring(root, encoding="unicode")
