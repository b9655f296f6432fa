"""`python -m hubrelease` and the `hubrelease` command."""

from hubrelease.commands import main

if __name__ == "__main__":
    main()
