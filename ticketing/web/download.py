"""Files to download."""

from typing import IO

from flask import Response, request
from werkzeug.wsgi import wrap_file

MAX_MEMORY_BYTES = 1024 * 1024


def download(content: IO[bytes], *, size: int, name: str, content_type: str) -> Response:
    """Return a file as a response, and close it. `name`: ASCII letters, digits, `.` and `-` only.

    Under gunicorn, a large file is sent from the disk, and never is in memory.
    """
    if size <= MAX_MEMORY_BYTES:
        with content:
            response = Response(content.read(), content_type=content_type)
    else:
        body = wrap_file(request.environ, content)
        response = Response(body, content_type=content_type, direct_passthrough=True)
        response.content_length = size
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
