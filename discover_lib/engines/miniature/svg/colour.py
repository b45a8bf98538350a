"""Colours of SVG: reading them, mixing them, and the hue family they belong to."""

from __future__ import annotations

import colorsys
import re
from functools import lru_cache

Rgb = tuple[float, float, float]  # each 0 to 1

HUED = 0.18  # chroma from which a colour has a hue to speak of

_NAMED = dict(
    pair.split("=")
    for pair in """black=000000 white=ffffff red=ff0000 lime=00ff00 blue=0000ff green=008000 yellow=ffff00 cyan=00ffff
    aqua=00ffff magenta=ff00ff fuchsia=ff00ff gray=808080 grey=808080 silver=c0c0c0 maroon=800000 olive=808000
        navy=000080 purple=800080 teal=008080 orange=ffa500 pink=ffc0cb brown=a52a2a gold=ffd700 crimson=dc143c
        coral=ff7f50 salmon=fa8072 tomato=ff6347 chocolate=d2691e tan=d2b48c beige=f5f5dc ivory=fffff0 khaki=f0e68c
        indigo=4b0082 violet=ee82ee plum=dda0dd lavender=e6e6fa orchid=da70d6 skyblue=87ceeb steelblue=4682b4
        royalblue=4169e1 dodgerblue=1e90ff lightblue=add8e6 darkblue=00008b midnightblue=191970 turquoise=40e0d0
        darkgreen=006400 forestgreen=228b22 seagreen=2e8b57 lightgreen=90ee90 firebrick=b22222 darkred=8b0000
        darkorange=ff8c00 hotpink=ff69b4 deeppink=ff1493 lightgray=d3d3d3 lightgrey=d3d3d3 darkgray=a9a9a9
        darkgrey=a9a9a9 dimgray=696969 slategray=708090 whitesmoke=f5f5f5 aliceblue=f0f8ff linen=faf0e6 wheat=f5deb3
        sandybrown=f4a460 saddlebrown=8b4513 sienna=a0522d peru=cd853f rebeccapurple=663399 mintcream=f5fffa""".split()
)
_RGB = re.compile(r"rgba?\(\s*([\d.]+%?)[\s,]+([\d.]+%?)[\s,]+([\d.]+%?)", re.IGNORECASE)
_HSL = re.compile(r"hsla?\(\s*([\d.]+)(?:deg)?[\s,]+([\d.]+)%[\s,]+([\d.]+)%", re.IGNORECASE)
_HEX = re.compile(r"#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})$", re.IGNORECASE)


@lru_cache(maxsize=4096)
def rgb(paint: str) -> Rgb | None:
    """The colour of a paint; None for `none`, references and what is no colour."""
    paint = paint.strip().lower()
    code = _NAMED.get(paint) or (paint[1:] if _HEX.match(paint) else "")
    if code:
        if len(code) < 6:
            code = "".join(digit * 2 for digit in code[:3])
        return (int(code[:2], 16) / 255, int(code[2:4], 16) / 255, int(code[4:6], 16) / 255)
    if match := _RGB.match(paint):
        parts = [float(p[:-1]) / 100 if p.endswith("%") else float(p) / 255 for p in match.groups()]
        return (min(parts[0], 1.0), min(parts[1], 1.0), min(parts[2], 1.0))
    if match := _HSL.match(paint):
        return colorsys.hls_to_rgb(float(match[1]) % 360 / 360, float(match[3]) / 100, float(match[2]) / 100)
    return None


@lru_cache(maxsize=4096)
def hsl(colour: Rgb) -> tuple[float, float, float]:
    """Hue in degrees, saturation and lightness 0 to 1."""
    hue, lightness, saturation = colorsys.rgb_to_hls(*colour)
    return (hue * 360, saturation, lightness)


@lru_cache(maxsize=4096)
def mix(first: str, second: str, share: float) -> str:
    """`first` with `share` of `second` in it, as #rrggbb."""
    one, two = rgb(first), rgb(second)
    if one is None or two is None:
        raise ValueError(f"cannot mix {first!r} and {second!r}: both must be plain colours")
    return as_hex(tuple(a + (b - a) * share for a, b in zip(one, two, strict=True)))  # type: ignore[arg-type]


def as_hex(colour: Rgb) -> str:
    return "#" + "".join(f"{round(part * 255):02x}" for part in colour)


def lightness(colour: Rgb) -> float:
    """How light a colour looks, 0 to 1 (luma)."""
    return 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2]


@lru_cache(maxsize=4096)
def family(colour: Rgb) -> tuple[str, str] | None:
    """(value of the dimension `colour`, how it is called), as specific as can be said; None for a middling grey."""
    hue, saturation, light = hsl(colour)
    chroma = max(colour) - min(colour)
    if light < 0.1 and chroma < 0.08:
        return "black", "a black"
    if chroma < 0.09 or saturation < 0.12:
        return _grey(hue, light)
    if 15 <= hue < 48 and light >= 0.85:
        return "ivory", "an ivory"
    if 14 <= hue < 48 and (saturation < 0.62 or light < 0.3) and light < 0.78:
        return _brown(light)
    return _hue_family(hue, light)


def _grey(hue: float, light: float) -> tuple[str, str] | None:
    if light < 0.1:
        return "black", "a black"
    if light < 0.34:
        return "charcoal", "a charcoal grey"
    if light < 0.74:
        return None
    if light < 0.92:
        return "silver", "a silver grey"
    return "pale-neutral", "a near-white"


def _brown(light: float) -> tuple[str, str]:
    if light < 0.36:
        return "chocolate", "a dark brown"
    if light > 0.54:
        return "sand", "a light brown"
    return "brown", "a brown"


# (hue from, hue to, family, boundary below which the deep leaf is certain, deep leaf, boundary above which the light
# leaf is certain, light leaf); between the boundaries only the family is claimed.  Hues in degrees, lightness 0 to 1.
_HUES = (
    (14, 42, "orange", 0.62, "pumpkin", 0.68, "apricot"),
    (42, 70, "yellow", 0.49, "gold", 0.55, "lemon"),
    (70, 168, "green", 0.34, "forest-green", 0.6, "mint"),
    (168, 190, "teal", 0.26, "deep-teal", 0.58, "aqua"),
    (190, 252, "blue", 0.38, "navy", 0.58, "sky-blue"),
    (252, 318, "purple", 0.4, "plum", 0.62, "lavender"),
    (318, 345, "pink", 0.62, "hot-pink", 0.76, "blush"),
    (345, 374, "red", 0.48, "crimson", 0.58, "coral"),
)


def _hue_family(hue: float, light: float) -> tuple[str, str]:
    turned = hue + 360 if hue < 14 else hue
    if 345 <= turned < 368 and light >= 0.79:  # what is called pink reaches further toward red when it is pale
        turned = 344
    for first, last, name, deep_below, deep, light_above, pale in _HUES:
        if first <= turned < last:
            leaf = deep if light < deep_below else pale if light > light_above else name
            if leaf == "lemon" and hue < 50:  # egg yolk rather than lemon
                leaf = name
            article = "an" if name == "orange" else "a"
            return leaf, f"{article} {name}" if leaf == name else f"{article} {name} ({leaf.replace('-', ' ')})"
    raise AssertionError(f"the hue families leave out {hue}")
