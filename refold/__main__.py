"""The command ``refold``, also as ``python -m refold``."""

from __future__ import annotations


def main() -> None:
    # Imported here, so that `import refold` does not pay for the command line.
    from refold.actors.cli.main import cli

    # Named, so that usage lines say "refold" under `python -m` as well.
    cli(prog_name="refold")


if __name__ == "__main__":
    main()
