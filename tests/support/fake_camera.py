"""A video of QR codes, which Chromium takes for the picture of its camera.

--use-file-for-fake-video-capture=FILE, read when a page opens the camera
"""

from collections.abc import Sequence
from pathlib import Path

import segno

SIDE, MODULE = 480, 8
FRAMES_PER_SECOND = 5
_WHITE, _BLACK, _NO_COLOR = 235, 16, 128


def write_video(path: Path, codes: Sequence[str | None], *, seconds: int = 2) -> None:
    """Write a video that shows each code for some seconds. None: nothing. It repeats forever."""
    colors = bytes([_NO_COLOR]) * (SIDE * SIDE // 2)
    with path.open("wb") as file:
        file.write(f"YUV4MPEG2 W{SIDE} H{SIDE} F{FRAMES_PER_SECOND}:1 Ip A1:1 C420jpeg\n".encode())
        for code in codes:
            frame = b"FRAME\n" + _picture(code) + colors
            file.write(frame * (seconds * FRAMES_PER_SECOND))


def _picture(code: str | None) -> bytes:
    rows = [bytearray([_WHITE]) * SIDE for _ in range(SIDE)]
    matrix = segno.make(code, error="m").matrix if code else ()
    start = (SIDE - len(matrix) * MODULE) // 2
    for y, line in enumerate(matrix):
        for x, is_dark in enumerate(line):
            if is_dark:
                for row in rows[start + y * MODULE : start + (y + 1) * MODULE]:
                    place = start + x * MODULE
                    row[place : place + MODULE] = bytes([_BLACK]) * MODULE
    return b"".join(rows)
