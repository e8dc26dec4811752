"""``python -m tailrace.cli``: the ``tailrace`` command where the console script is not on the path."""

from tailrace.cli.entry import main

if __name__ == "__main__":
    main()
