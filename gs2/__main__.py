"""`python -m gs2`, the same as the command `gs2`."""

from gs2.cli import main

if __name__ == "__main__":
    main(prog_name="gs2")
