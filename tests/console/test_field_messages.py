"""What is wrong with a field is said to people in a sentence of its own."""

import ast
import importlib
import re
from pathlib import Path

import pytest
from marshmallow import fields, validate

from schemas.base import BaseSchema, Items, Text
from schemas.checks import Written
from schemas.forms import NewEventForm, OrderForm
from schemas.webhooks import WebhookCreateSchema
from tests.support.console import SAME_ORIGIN
from tests.support.refunds import overpay
from ticketing.errors import FieldMessage
from ticketing.pages.reasons import at_field

# The root of BIP-32's first test vector.
PRIVATE_KEY = (
    "xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5kejMRNNU"
    "3TGtRBeJgk33yuGBxrMPHi"
)
FIELD_ERROR = re.compile(r'<p class="field-error" id="([a-z_]+)-error">([^<]*)</p>')


def said(answer):
    """Return the sentence at each wrong field of a form that was refused."""
    assert answer.status_code == 422, answer.text
    return dict(FIELD_ERROR.findall(answer.text))


def test_a_wrong_transaction_hash_has_a_sentence_of_its_own(acme, node, console):
    intent = overpay(acme, node, 7).intent["id"]
    answer = console.send(f"/console/refunds/{intent}/settle", {"tx_hash": "0x12"})
    assert said(answer) == {
        "tx_hash": "This is not a complete transaction hash. Copy it from your wallet again:"
        " 0x and 64 characters."
    }


def test_a_wrong_recipient_is_told_that_it_is_no_address(acme, node, console):
    intent = overpay(acme, node, 7).intent["id"]
    form = {"tx_hash": "0x" + "ab" * 32, "recipient": "me"}
    answer = console.send(f"/console/refunds/{intent}/settle", form)
    assert said(answer) == {
        "recipient": "This is not a complete address. Copy it from your wallet again:"
        " 0x and 40 characters."
    }


def test_a_wrong_webhook_url_has_a_sentence_of_its_own(console):
    answer = console.send("/console/webhooks", {"url": "shop.example.org", "types": "*"})
    assert said(answer) == {"url": "This is not a complete URL. It starts with https://"}


@pytest.mark.parametrize("slug", ["Summer Concert", "summer_concert", "-"])
def test_a_wrong_slug_has_a_sentence_of_its_own(acme, console, slug):
    path = f"/console/events/{acme.event(status='draft')['id']}/edit"
    assert said(console.send(path, {"slug": slug})) == {
        "slug": "Write small letters a to z and digits, and a hyphen between words."
    }


def test_a_text_that_is_too_long_is_told_how_long_it_may_be(console):
    answer = console.send("/console/keys", {"name": "x" * 101})
    assert said(answer)["name"] == "Write 1 to 100 characters."


def test_a_number_out_of_range_is_told_its_bounds(acme, console):
    ticket = acme.ticket(acme.event(title="Gala", status="published"), status="published")
    form = {"ticket_id": ticket["id"], "quantity": "0"}
    answer = console.client.post("/acme/gala/order", data=form, headers=SAME_ORIGIN)
    assert said(answer)["quantity"] == "Write a number from 1 to 100."


def test_a_private_key_is_recognized(console):
    answer = console.send("/console/wallet", {"address": PRIVATE_KEY})
    assert said(answer)["address"] == "This is your private key. Move your money to a new wallet."
    assert PRIVATE_KEY not in answer.text


ROOT = Path(__file__).parents[2]
NEVER_RAISED = {
    "validator_failed",  # our checks raise their own messages
    "invalid_utf8",  # JSON and forms have text, not bytes
    "too_large",  # Python's integers have no limit
    "format",  # only of output
    "invalid_awareness",  # every time has an offset
}
"""Keys of marshmallow's messages that fields of ours do not use."""


def calls(folder):
    """Yield each call in the sources of a folder, with its module."""
    for path in sorted((ROOT / folder).rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                yield module, ast.unparse(node.func), node.args


def form_schemas():
    """Return the schemas of all forms: those that a page reads."""
    return {
        getattr(importlib.import_module(module), args[0].id)
        for module, function, args in calls("ticketing/pages")
        if function in ("forms.read", "typed_forms.read")
    }


def messages_of(field):
    """Yield every message of a field and of its checks, with what raises it."""
    for key, message in field.error_messages.items():
        if key not in NEVER_RAISED:
            yield key, message
    for check in field.validators:
        yield repr(check), getattr(check, "error", None)
    if isinstance(field, fields.List):
        yield from messages_of(field.inner)
    if isinstance(field, fields.Nested):
        for inner in field.schema.fields.values():
            yield from messages_of(inner)


def without_sentence(schema):
    """Return the messages of a schema for which pages have no sentence."""
    schema = schema()
    everything = [("unknown", schema.error_messages["unknown"])]
    for field in schema.fields.values():
        everything += messages_of(field)
    return [
        (raised_by, message)
        for raised_by, message in everything
        if not isinstance(message, FieldMessage) or at_field(message).text == message
    ]


def test_every_message_that_a_form_can_raise_has_a_sentence():
    schemas = form_schemas()
    assert {OrderForm, NewEventForm, WebhookCreateSchema} <= schemas and len(schemas) > 20
    assert {
        schema.__name__: missing for schema in schemas if (missing := without_sentence(schema))
    } == {}


def test_a_message_without_a_sentence_is_found():
    class Form(BaseSchema):
        plain = fields.Float()
        own = Text(validate=Written("^x$", "no_such_code", "Must be x."))
        function = Text(validate=print)
        items = Items(Text(validate=validate.Length(1, 2)))

    found = [message for _, message in without_sentence(Form)]
    assert "Not a valid number." in found and "Must be x." in found
    assert found.count(None) == 2 and "Please fill this in." not in found


CODE_AT = {"FieldMessage": 0, "Written": 1, "Rule": 1, "Length": 2, "Range": 2}


def test_every_code_in_the_sources_has_a_sentence():
    codes = {
        args[CODE_AT[function]].value
        for folder in ("schemas", "ticketing")
        for _, function, args in calls(folder)
        if function in CODE_AT and len(args) > CODE_AT[function]
        if isinstance(args[CODE_AT[function]], ast.Constant)
    }
    assert {"tx_hash", "order_address", "selection", "amount"} <= codes
    only_api = {"uuid", "cursor", "visible", "object"}
    only_api |= {"digits", "hex", "not_the_signer"}
    only_api |= {"recovery", "recovery_address", "recovery_other_secret", "recovery_taken"}
    only_api |= {"recovery_version"}
    assert {code for code in codes if at_field(FieldMessage(code, code)).text == code} == only_api


def test_a_message_without_a_code_is_shown_as_it_is():
    text, values = at_field("100 % wrong")
    assert text % values == "100 % wrong"
