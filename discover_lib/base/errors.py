"""The one base of the library's errors."""


class DiscoverError(ValueError):
    """A problem that a person can solve: the message is one line with the problem and the next step.

    Every error that the library raises for bad input, a missing file or a failing service is one.  A command prints
    its line and ends with exit code 2, a page shows the line.  Anything else that is raised is a defect.
    """
