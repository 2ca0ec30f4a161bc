"""Where the command `dford` begins: before all that it imports, in which Ctrl-C would print a traceback."""

import signal


def main() -> int:
    """Import the program and run it; until then Ctrl-C ends the process at once, with nothing begun."""
    heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # a shell may have said to ignore it
    if heard:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from dford import cli

    if heard:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return cli.main()
