"""`dford`, which is also `python -m dford`: Ctrl-C ends it quietly, even before it has imported what it needs."""

import os
import signal
import sys


def main() -> int:
    """Run the command; return its exit status."""
    is_usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_usual:  # an exception would show where the imports have got to; nothing has begun that needs an orderly end
        signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    from dford.cli import main as run

    try:
        if is_usual:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        return run()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
