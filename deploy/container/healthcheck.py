"""Exit with 0 if the web server of this container answers."""

import os
import sys
from http.client import HTTPConnection, HTTPException

try:
    connection = HTTPConnection("127.0.0.1", int(os.environ.get("PORT", "8000")), timeout=3)
    connection.request("GET", "/healthz")
    sys.exit(0 if connection.getresponse().status == 200 else 1)
except (OSError, HTTPException):
    sys.exit(1)
