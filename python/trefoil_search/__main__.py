"""The command `trefoil`."""

from __future__ import annotations

import signal
import sys

from ._native import run


def main() -> int:
    """Run the command with the arguments of this process; its exit code."""
    # The command takes Ctrl-C and closed pipes itself.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return run(["trefoil", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
