"""Shared foundations: seeds, words, tokens, the leak rule, safe SVG, files, records, errors."""

VERSION = "0.1.0"
EARLIER = "commit d2fda9c is the last that reads earlier ones"  # said of files of another format than ours
