#!/usr/bin/env python3
"""The image's entry point: verifies the mounted release with the image's own verifier, then serves it or runs a command.

    entrypoint.py FOLDER [--sizes-only] [--verify-only | COMMAND [ARGUMENT ...] | OPTION ...]

Without a command the server that lies beside this file is started on FOLDER, with the options given (--host, --port, …);
where there is none (runtime.kind: verify) nothing more is done. --sizes-only compares names and sizes, not digests: for a
restart on a folder that was verified in full before. What was verified, and how, is one JSON line on standard error.
The verifier is the copy in the image, never the one in the mounted folder.
Exit codes: those of verify_release.py where it is not content, 128 + N after signal N during verification, else the command's own.
"""

import json
import os
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
VERIFIER = os.path.join(HERE, "verify_release.py")
SERVER = os.path.join(HERE, "server", "__main__.py")


def main(arguments):
    if not arguments or arguments[0].startswith("-"):
        print("usage: entrypoint.py FOLDER [--sizes-only] [--verify-only | COMMAND ... | OPTION ...]", file=sys.stderr)
        return 2
    folder, rest = arguments[0], arguments[1:]
    options = ["--sizes-only"] if rest[:1] == ["--sizes-only"] else []
    command = command_of(folder, rest[len(options) :])
    code = verify(folder, options)
    if code or not command:
        return code
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"  # in a release's own folder it would be undeclared code at the next start
    os.chdir(HERE)  # where the server's packages are; nothing is ever imported from the mounted folder
    os.execvp(command[0], command)  # noqa: S606 (signals reach the server itself)


def command_of(folder, words):
    """What to run after verification; [] for nothing."""
    if words[:1] == ["--verify-only"]:
        return []
    if words and not words[0].startswith("-"):
        return words
    return [sys.executable, "-m", "server", os.path.abspath(folder), *words] if os.path.exists(SERVER) else []


def verify(folder, options):
    started = time.monotonic()
    child = subprocess.Popen([sys.executable, "-I", VERIFIER, *options, folder])
    for number in (signal.SIGTERM, signal.SIGINT):  # the first process of a container has no default action
        signal.signal(number, lambda got, frame: sys.exit(128 + got))
    try:
        code = child.wait()
    finally:
        child.kill()
        child.wait()
    line = {
        "event": "verified",
        "mode": "sizes-only" if options else "full",
        "exitCode": code,
        "seconds": round(time.monotonic() - started, 3),
    }
    print(json.dumps(line), file=sys.stderr, flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
