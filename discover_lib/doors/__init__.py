"""Integrations: the simulated user as an environment of other trainers and evaluations.

`Episode` is the neutral object.  Every other module adapts it to one standard and needs the standard's package, which
is an extra.  See docs/doors.md.
"""
