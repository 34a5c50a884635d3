"""``python -m attlas``: the command ``attlas``, for whoever has no script of that name on the path."""

from attlas.cli import main

if __name__ == "__main__":
    main()
