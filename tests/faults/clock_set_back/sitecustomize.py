"""Set back the clock of every Python process with this folder in PYTHONPATH.

A file has the number of seconds. To change the machine's own clock, a test would need root, and
would disturb other programs. Monotonic clocks do not change.
"""

import datetime
import os
import time

_REAL_TIME, _REAL_TIME_NS, _REAL_DATETIME = time.time, time.time_ns, datetime.datetime


def _seconds():
    with open(os.environ["CLOCK_SET_BACK_FILE"]) as told:
        return int(told.read())


class _Class(type(_REAL_DATETIME)):
    def __instancecheck__(cls, instance):
        return isinstance(instance, _REAL_DATETIME)


class _Datetime(_REAL_DATETIME, metaclass=_Class):
    __module__, __qualname__ = "datetime", "datetime"

    @classmethod
    def now(cls, tz=None):
        return _REAL_DATETIME.now(tz) - datetime.timedelta(seconds=_seconds())


time.time = lambda: _REAL_TIME() - _seconds()
time.time_ns = lambda: _REAL_TIME_NS() - _seconds() * 10**9
datetime.datetime = _Datetime
