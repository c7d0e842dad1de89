"""Write LICENSES.md: the packages and files of others, with their licences.

python -m tools.licenses
"""

import json
import re
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

ROOT = Path(__file__).parent.parent
LIST = ROOT / "LICENSES.md"
STATIC = ROOT / "ticketing" / "static"
SWAGGER_UI = STATIC / "swagger-ui"
JSQR = STATIC / "door" / "jsqr"
CONTRACTS = ROOT / "tools" / "contracts" / "package.json"

_PIN = re.compile(r"^([a-z0-9-]+)==([^ ]+)", re.MULTILINE)
_VERSION = re.compile(r"[0-9]+(\.[0-9]+)+")

_BY_TEXT = (
    ("Apache License Version 2.0", "Apache-2.0"),
    ("Permission is hereby granted, free of charge", "MIT"),
    ("Neither the name", "BSD-3-Clause"),
    ("Redistributions in binary form", "BSD-2-Clause"),
)

_HEAD = """\
# Licences

For everybody who distributes the service, which is under Apache-2.0 ([LICENSE](LICENSE)).
This command writes the list:

    make lock

Installed by `requirements.txt`, unchanged:

| distribution | version | licence |
|---|---|---|
"""

_FOOT = """
psycopg-binary's wheels contain libpq and its libraries, OpenSSL among them, under their own
licences.

Included in this repository, unchanged:

| name | version | licence | text |
|---|---|---|---|
| Swagger UI | {version} | Apache-2.0 | `LICENSE`, `NOTICE` in `ticketing/static/swagger-ui/` |
| in its bundle | | MIT, BSD-3-Clause, Apache-2.0 | `swagger-ui-bundle.js.LICENSE.txt`, there |
| jsQR | {jsqr} | Apache-2.0 | `LICENSE` in `ticketing/static/door/jsqr/` |
| OpenZeppelin | {openzeppelin} | MIT | `LICENSE-OpenZeppelin` in `ticketing/chain/contracts/v1/` |
"""


def pins(path: Path) -> dict[str, str]:
    """Return the pinned distributions of a requirements file, with their versions."""
    return dict(_PIN.findall(path.read_text()))


def licence_of(name: str) -> str:
    """Return the licence of an installed distribution. PackageNotFoundError, LookupError."""
    found = distribution(name)
    declared = _field(found, "License-Expression") or _field(found, "License")
    if "-" not in declared and declared != "MIT":
        # The metadata has "BSD" or nothing. The licence text is exact.
        declared = _from_text(found)
    if not declared:
        raise LookupError(f"the licence of {name} is unknown")
    return declared


def _field(found: Distribution, name: str) -> str:
    return str((found.metadata.get_all(name) or [""])[0])


def _from_text(found: Distribution) -> str:
    files = [
        each for each in found.files or [] if re.fullmatch(r"LICEN[CS]E.*|COPYING.*", each.name)
    ]
    text = " ".join(" ".join(str(each.read_text()).split()) for each in files)
    named = [licence for words, licence in _BY_TEXT if words in text][:1]
    if "public domain" in text:
        named.append("Public Domain")
    return " AND ".join(named)


def render() -> str:
    """Return the list as Markdown. PackageNotFoundError if a pinned package is not installed."""
    rows = "".join(
        f"| {name} | {version} | {licence_of(name)} |\n"
        for name, version in pins(ROOT / "requirements.txt").items()
    )
    return (
        _HEAD
        + rows
        + _FOOT.format(
            version=_included(SWAGGER_UI),
            jsqr=_included(JSQR),
            openzeppelin=f"{_of_npm('@openzeppelin/contracts')}, compiled",
        )
    )


def _included(folder: Path) -> str:
    """Return the version that the README of a folder names first."""
    found = _VERSION.search((folder / "README.md").read_text())
    return found[0] if found else "unknown"


def _of_npm(name: str) -> str:
    return str(json.loads(CONTRACTS.read_text())["dependencies"][name])


def main() -> None:
    """Write the list, or exit with the reason."""
    try:
        LIST.write_text(render())
    except (PackageNotFoundError, LookupError) as error:
        sys.exit(f"Error: {error}. Run it with Python 3.11, which needs all pinned packages.")


if __name__ == "__main__":
    main()
