"""No request, and no look of the worker, reads a table from end to end: the databases say so."""

import itertools
import re
import uuid

import pytest
from flask import request, request_finished

from bench.generate import Scale, fill
from tests.factories import PRICE, Api, Organizer, cli, event_body, new_organizer, new_xpub, worker_once
from tests.query_plans import Explainer, Recorder, Statement
from ticketing.db import database
from tools import anvil

SCALE = Scale(tenants=100, events=1_000, intents=10_000)
PASSWORD = "correct horse battery staple"

ALLOWED = {}


class Drive:
    """Does everything that can be asked of the service, on books of some size."""

    def __init__(self, app, node):
        self.app, self.node = app, node
        self.recorder = Recorder()
        self.exercised = set()
        self.document = Api(app.test_client()).get("/openapi.json").json
        key = cli(app, "keys", "create", "big", "--name", "x", "--role", "admin", "--json")
        self.big = Organizer(app, "big", "", __import__("json").loads(key)["key"])

    def _begin(self, *_, **__):
        self.recorder.where = request.endpoint or "unknown"
