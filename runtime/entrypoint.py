#!/usr/bin/env python3
"""The image's entry point: verifies the mounted release with the image's own verifier, then runs the command given.

    entrypoint.py FOLDER [--sizes-only] [COMMAND [ARGUMENT ...]]

Without a command it only verifies. The verifier is the copy in the image, never the one in the mounted folder.
Exit codes: those of verify_release.py where it is not content, else the command's own.
"""

import os
import subprocess
import sys

VERIFIER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "verify_release.py")


def main(arguments):
    if not arguments:
        print("usage: entrypoint.py FOLDER [--sizes-only] [COMMAND ...]", file=sys.stderr)
        return 2
    folder, command = arguments[0], arguments[1:]
    options = ["--sizes-only"] if command[:1] == ["--sizes-only"] else []
    command = command[len(options) :]
    code = subprocess.call([sys.executable, "-I", VERIFIER, *options, folder])
    if code or not command:
        return code
    os.execvp(command[0], command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
