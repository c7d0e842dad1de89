"""The releases before this one: each serves while a newer one migrates its database.

Their sources are archives, so that a clone without history has them, too. They lack the two
largest scripts, which are not ours, and the sources of translations. This makes a new one, when a
version is released:

    git archive --format=tar COMMIT app.py gunicorn.conf.py schemas ticketing \
        ':!ticketing/static/swagger-ui' ':!ticketing/static/door/jsqr/jsQR.js' \
        ':!ticketing/translations/**/*.po' | xz -9e > tests/db/releases/VERSION.tar.xz
"""

import tarfile
from pathlib import Path

from tools.stack import ROOT

COMMITS = {
    "0.9.0": "b7ddf03dcdfb2a9b56c27255ab930b85db443d70",
    "1.0.0": "daeccf4f4c53e89aae726be29679a45cd2a96e3f",
}
"""The last commit of each release that operators run, the oldest first."""

LAST = list(COMMITS)[-1]

_ARCHIVES = ROOT / "tests" / "db" / "releases"


def unpack(release: str, folder: Path) -> Path:
    """Unpack the source of a release into `folder`, and return that: the `root` of a Stack."""
    with tarfile.open(_ARCHIVES / f"{release}.tar.xz") as archive:
        if archive.pax_headers.get("comment") != COMMITS[release]:
            raise ValueError(f"the archive of {release} is not of {COMMITS[release]}")
        archive.extractall(folder, filter="data")
    return folder
