"""Run a bench, and show and keep its result."""

import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from bench.servers import ServerFailed
from tools import ToolMissing


def show(measure: Callable[[ExitStack], tuple[str, int]], title: str, file: Path | None) -> None:
    """Measure, print the report, and write it to `file` if there is one.

    `measure` returns the report and the number of wrong results. Exit with 1 if there are any.
    """
    try:
        with ExitStack() as running:
            report, errors = measure(running)
    except (ServerFailed, ToolMissing, RuntimeError, subprocess.CalledProcessError) as error:
        sys.exit(f"bench: {error}")
    except KeyboardInterrupt:
        sys.exit("bench: interrupted")
    print(report)
    if file is not None:
        file.write_text(
            f"# {title}\n\nHow to read it: [README.md](README.md).\n\n```\n{report}\n```\n"
        )
    if errors:
        sys.exit(f"bench: {errors} results were wrong, so the figures are not valid")
