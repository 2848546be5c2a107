"""The command `remanent`."""

import signal
import sys

from . import _core


def main() -> None:
    # The handler of Python only notes a signal, and nothing would look at the note: the command ends at
    # Ctrl-C, or saves a run first, as the program without Python does.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_core.main(["remanent", *sys.argv[1:]]))
