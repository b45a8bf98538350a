"""Doors: the simulated user in the shapes that other people's trainers and evaluations expect.

`Episode` is the one neutral object; every other module here is a thin adapter of it to one standard, and needs that
standard's package, which is an extra of its own.  See docs/doors.md.
"""
