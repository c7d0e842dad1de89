"""Compile, check and analyse the contracts, with the compiler of npm.

python -m tools.solidity compile    write the compiled bytes beside the sources
python -m tools.solidity check      solhint and Slither, for the contracts that hold money

Version 1 of the receivers is part of every address that was issued: if `compile` changes its
bytes, they are another version. tests/chain/test_receivers_source.py compares them.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tools import ToolMissing, installer
from tools.stack import ROOT

RECEIVERS = ROOT / "ticketing" / "chain" / "contracts" / "v1"
FOR_TOOLS = ROOT / "tools" / "contracts"
FOR_TESTS = ROOT / "tests" / "chain" / "contracts"
SLITHER = ROOT / ".tools" / "slither" / "bin" / "slither"

SETTINGS: Mapping[str, Any] = {
    "evmVersion": "paris",
    "optimizer": {"enabled": True, "runs": 200},
    "metadata": {"appendCBOR": False, "bytecodeHash": "none"},
}
"""`paris` has no opcode that a chain may lack. Without metadata, bytes follow from code only."""

ANSWERED = {
    "calls-loop",
    "naming-convention",
    "timestamp",
    "unused-return",
}
"""Findings of Slither that docs/receivers.md answers."""

_SOLC = FOR_TOOLS / "solc.js"
_OUTPUT = ["abi", "evm.bytecode.object", "evm.deployedBytecode.object"]


class NotClean(Exception):
    """A contract does not compile, or a checker has findings. The message lists them."""


def packages() -> Path:
    """Return the folder of the compiler, OpenZeppelin's contracts and solhint. ToolMissing."""
    return installer.from_npm(FOR_TOOLS, "contracts") / "node_modules"


def compile_folder(folder: Path) -> dict[str, dict[str, Any]]:
    """Compile the contracts of a folder. Return what TestUSDC.json has, by contract. NotClean."""
    task = {**_task(folder), "settings": {**SETTINGS, "outputSelection": {"*": {"*": _OUTPUT}}}}
    output = json.loads(_run([*_solc(), "--standard-json"], folder, json.dumps(task)))
    if output.get("errors"):
        raise NotClean("\n".join(each["formattedMessage"] for each in output["errors"]))
    return {
        name: {
            "abi": contract["abi"],
            "bytecode": "0x" + contract["evm"]["bytecode"]["object"],
            "runtime": "0x" + contract["evm"]["deployedBytecode"]["object"],
        }
        for source in task["sources"]
        for name, contract in output["contracts"][source].items()
    }


def built() -> dict[Path, str]:
    """Return each file of compiled bytes with its text. NotClean, ToolMissing."""
    files = {RECEIVERS / "Receivers.hex": compile_folder(RECEIVERS)["Receivers"]["bytecode"] + "\n"}
    for folder in (FOR_TOOLS, FOR_TESTS):
        for name, contract in compile_folder(folder).items():
            files[folder / f"{name}.json"] = json.dumps(contract, indent=1) + "\n"
    return files


def lint() -> None:
    """Check the style of the receivers' contracts with solhint. NotClean, ToolMissing."""
    options = ["--config", str(FOR_TOOLS / "solhint.json"), "--max-warnings", "0", "--disc"]
    with _copy() as folder:
        program = folder / "node_modules" / "solhint" / "solhint.js"
        sources = [path.name for path in sorted(folder.glob("*.sol"))]
        _run([*installer.node(), str(program), *options, *sources], folder)


def analyse() -> None:
    """Search the receivers' contracts for known faults with Slither. NotClean, ToolMissing."""
    if not SLITHER.exists():
        raise ToolMissing("Slither is missing: run 'make contracts'.")
    with _copy() as folder:
        # Slither starts a program. Where npm is PyPI's, the compiler is more than one word.
        program = folder / "solc"
        program.write_text("\n".join([f"#!{sys.executable}", _SHIM.format(_solc())]))
        program.chmod(0o755)
        task = {**_task(folder), "settings": SETTINGS}
        (folder / "task.json").write_text(json.dumps(task))
        options = ["--compile-force-framework", "solc-json", "--solc", str(program)]
        options += ["--filter-paths", "node_modules", "--json", "found.json", "--fail-none"]
        _run([str(SLITHER), "task.json", *options], folder)
        found = json.loads((folder / "found.json").read_text())["results"].get("detectors", [])
    new = [each["description"] for each in found if each["check"] not in ANSWERED]
    if new:
        raise NotClean("\n".join(new))


_SHIM = "import subprocess, sys; sys.exit(subprocess.call([*{!r}, *sys.argv[1:]]))\n"


@contextmanager
def _copy() -> Iterator[Path]:
    """Give a folder with the receivers' sources, and the packages beside them as programs want."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for path in RECEIVERS.glob("*.sol"):
            (folder / path.name).write_text(path.read_text())
        (folder / "node_modules").symlink_to(packages())
        yield folder


def _task(folder: Path) -> dict[str, Any]:
    """Return the input of `solc --standard-json` for the sources of a folder."""
    sources = {path.name: {"content": path.read_text()} for path in sorted(folder.glob("*.sol"))}
    return {"language": "Solidity", "sources": sources}


def _solc() -> list[str]:
    return [*installer.node(), str(_SOLC)]


def _run(command: list[str], folder: Path, text: str = "") -> str:
    """Run a program in a folder, and return its output. NotClean if it fails."""
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "NODE_PATH": str(packages())},
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise NotClean(f"{done.stdout}{done.stderr}")
    return done.stdout


def main() -> None:
    """Run the command of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tools.solidity")
    parser.add_argument("command", choices=["compile", "check"])
    try:
        if parser.parse_args().command == "compile":
            for path, text in built().items():
                path.write_text(text)
        else:
            lint()
            analyse()
            print("solhint and Slither have no finding that docs/receivers.md does not answer.")
    except (NotClean, ToolMissing) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
