"""Becomes a server that the kernel kills together with whoever started it: ``python launcher.py PARENT AS COMMAND...``.

``AS`` is ``UID:GID``, or ``-`` to stay who it is. Run as a script with ``-I -S``, so that it starts fast; it imports
nothing of this package.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main(parent: int, account: str, command: list[str]) -> None:
    """Replace this process by ``command``."""
    if account != "-":
        uid, gid = map(int, account.split(":"))
        # Before the kernel is told whom to kill: it forgets that when the user changes.
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        # Whoever started us may have died before the kernel was told: nobody would be left to kill the server.
        if os.getppid() != parent:
            sys.exit("the process that wanted a server is gone")
    os.execv(command[0], command)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
