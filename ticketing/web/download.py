"""CSV files to download."""

from flask import Response, request
from werkzeug.wsgi import wrap_file

from ticketing.services.exports.files import CONTENT_TYPE, MAX_MEMORY_BYTES, CsvFile


def download(file: CsvFile) -> Response:
    """Return a file as a response, and close it.

    Under gunicorn, a large file is sent from the disk, and never is in memory.
    """
    if file.size <= MAX_MEMORY_BYTES:
        with file.content as content:
            response = Response(content.read(), content_type=CONTENT_TYPE)
    else:
        body = wrap_file(request.environ, file.content)
        response = Response(body, content_type=CONTENT_TYPE, direct_passthrough=True)
        response.content_length = file.size
    # The name needs no quoting: it has ASCII letters, digits, "." and "-" only.
    response.headers["Content-Disposition"] = f'attachment; filename="{file.name}"'
    return response
