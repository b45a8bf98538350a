"""What every step stands on: seeds, words, tokens, leaks of words, safe SVG, files, records, errors."""

VERSION = "0.1.0"
EARLIER = "commit d2fda9c is the last that reads earlier ones"  # said of files of another format than ours
