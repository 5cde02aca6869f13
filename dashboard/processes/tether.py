"""Starts a command that dies with its parent, also when the parent is killed; run by its path, so without our modules.

python -I -S tether.py <pid of the parent> <command> [argument ...]
"""

import os
import signal
import sys


def main(parent: int, command: list[str]) -> None:
    if sys.platform == "linux":
        import ctypes

        pr_set_pdeathsig = 1
        if ctypes.CDLL(None, use_errno=True).prctl(pr_set_pdeathsig, signal.SIGKILL, 0, 0, 0) != 0:
            sys.exit("cannot ask the kernel to end this process with its parent")
    # The parent may have died before the kernel was asked.
    if os.getppid() != parent:
        sys.exit(1)
    # Python ignores SIGPIPE, and what is ignored stays so over exec.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)  # noqa: S606
    except OSError as error:
        sys.exit(f"cannot start {command[0]}: {error.strerror}")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
