"""What every step stands on: seeds, words, tokens, leaks of words, safe SVG, files, records, errors."""

VERSION = "0.1.0"
