r"""The version before this one, which still serves while a new version migrates its database.

Its source is an archive, so that a clone without history has it, too. It lacks the two largest
scripts, which are not ours. This makes a new one:

    git archive --format=tar COMMIT app.py gunicorn.conf.py schemas ticketing \
        ':!ticketing/static/swagger-ui' ':!ticketing/static/door/jsqr/jsQR.js' \
        | xz -9e > tests/db/version_before.tar.xz
"""

import tarfile
from pathlib import Path

from tools.stack import ROOT

COMMIT = "b7ddf03dcdfb2a9b56c27255ab930b85db443d70"
"""The last commit of the version that operators run.

Move it, with a new archive, when a version is released: migrations from then on may rely on what
that version writes.
"""

ARCHIVE = ROOT / "tests" / "db" / "version_before.tar.xz"


def unpack(folder: Path) -> Path:
    """Unpack its source into `folder`, and return that: the `root` of a Stack."""
    with tarfile.open(ARCHIVE) as archive:
        if archive.pax_headers.get("comment") != COMMIT:
            raise ValueError(f"{ARCHIVE.name} is not of {COMMIT}")
        archive.extractall(folder, filter="data")
    return folder
