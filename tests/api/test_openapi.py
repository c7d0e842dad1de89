"""The OpenAPI document: complete, correct, and shown without other hosts."""

import re

import pytest

from schemas.base import EXAMPLE_ADDRESS, BaseSchema
from tests.conftest import UNREACHABLE_RPC
from tests.support.json_schema import check, resolve
from tests.support.one_of_each import entry_for, message_of
from tests.support.routes import pages
from tests.support.webhook_endpoints import new_webhook
from ticketing.blueprints import images
from ticketing.notification_types import NotificationType

pytestmark = pytest.mark.one_database

METHODS = {"get", "put", "post", "delete", "patch", "head", "options", "trace"}
NOT_DOCUMENTED = {
    "/metrics",
    "/static/<path:filename>",
    "/openapi.json",
    "/docs",
    "/",
    "/mcp",
    "/mcp/organizer",
    "/v1/oauth/token",
    "/v1/oauth/revoke",
    "/v1/oauth/register",
    "/.well-known/oauth-authorization-server",
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
    "/.well-known/oauth-protected-resource/mcp/organizer",
    "/llms.txt",
    "/robots.txt",
}
PROBLEM = "application/problem+json"
NEED_MORE = ("/collections", "/payouts/preview", "/gasless", "/box-office")
"""They need a node, a facilitator, or a device that sells."""

TEXTS = {".csv": "text/csv", ".ics": "text/calendar"}
"""The responses that are not JSON, by the end of their path."""


@pytest.fixture
def environ(environ):
    """A configuration with which every surface is open."""
    x402 = {"X402_FACILITATOR_URL_31337": UNREACHABLE_RPC, "PUBLIC_URL": "https://t.example.org"}
    return environ | x402


@pytest.fixture
def document(api):
    answer = api.get("/openapi.json")
    assert answer.status_code == 200 and answer.content_type == "application/json"
    return answer.json


def operations(document):
    for path, item in document["paths"].items():
        for method in METHODS & item.keys():
            yield path, method, item[method]


def walk(node):
    yield node
    for child in (
        node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    ):
        yield from walk(child)


def schema_classes():
    found, waiting = {}, [BaseSchema]
    while waiting:
        for each in waiting.pop().__subclasses__():
            found[each.__name__.removesuffix("Schema")] = each
            waiting.append(each)
    return found


def test_it_is_openapi_3_1_and_names_no_other_host(document, api):
    assert document["openapi"] == "3.1.0"
    assert document.keys() == {
        *("openapi", "info", "servers", "paths", "components", "tags", "webhooks")
    }
    assert document["info"]["title"] and document["info"]["version"]
    assert document["servers"] == [{"url": "https://t.example.org"}]
    hosts = re.findall(r"[a-z]+://([^/\s\"'`)]+)", api.get("/openapi.json").text)
    assert all(host.endswith("example.org") for host in hosts), hosts


def test_every_reference_leads_somewhere(document):
    references = [node for node in walk(document) if isinstance(node, dict) and "$ref" in node]
    assert len(references) > 50
    for reference in references:
        assert resolve(document, reference)
    assert not [node for node in walk(document) if isinstance(node, dict) and "nullable" in node]


def test_every_operation_is_described(document):
    seen = set()
    tags = {tag["name"] for tag in document["tags"] if tag["description"]}
    schemes = document["components"]["securitySchemes"].keys()
    for path, method, operation in operations(document):
        assert operation["operationId"] not in seen, path
        seen.add(operation["operationId"])
        assert operation["summary"].strip(), path
        assert set(operation["tags"]) <= tags and operation["tags"], path
        assert isinstance(operation["security"], list), path
        assert {name for way in operation["security"] for name in way} <= schemes
        assert ("/admin/" in path) <= bool(operation["security"]), path
        assert ("requestBody" in operation) <= (method != "get"), path


def test_every_path_parameter_is_declared_once(document):
    for path, item in document["paths"].items():
        for method in METHODS & item.keys():
            declared = item.get("parameters", []) + item[method].get("parameters", [])
            for parameter in declared:
                assert parameter["in"] in ("path", "query", "header") and parameter["schema"]
            keys = [(parameter["in"], parameter["name"]) for parameter in declared]
            assert len(keys) == len(set(keys)), path
            in_path = {p["name"] for p in declared if p["in"] == "path" and p["required"]}
            assert in_path == set(re.findall(r"{(\w+)}", path)), path


def test_parameters_stand_in_the_order_of_the_url_and_have_no_default_that_cannot_be_sent(document):
    for path, _, operation in operations(document):
        declared = operation.get("parameters", [])
        assert all(parameter["schema"].get("default", "") is not None for parameter in declared)
        in_path = re.findall(r"{(\w+)}", path)
        first = [(parameter["in"], parameter["name"]) for parameter in declared[: len(in_path)]]
        assert first == [("path", name) for name in in_path]


def test_names_and_bounds_are_written_for_people(document):
    names = {tag["name"] for tag in document["tags"]}
    assert {"API keys", "ticket types"} <= names and not any("_" in name for name in names)
    limits = [
        parameter["description"]
        for _, _, operation in operations(document)
        for parameter in operation.get("parameters", [])
        if parameter["name"] == "limit"
    ]
    assert limits and set(limits) == {"The maximum number of items, 1 to 100."}


def test_every_request_has_an_example_that_the_service_accepts(document):
    classes = schema_classes()
    bodies = 0
    for path, _, operation in operations(document):
        if "requestBody" not in operation:
            continue
        body = operation["requestBody"]
        if body["content"].keys() == set(images.TYPES):
            continue
        content = body["content"]["application/json"]
        assert body["content"].keys() == {"application/json"}
        assert content["example"], path
        check(document, content["schema"], content["example"], path)
        name = content["schema"]["$ref"].rsplit("/", 1)[1]
        assert body["required"] is not classes[name].MAY_BE_ABSENT
        assert classes[name]().load(content["example"])
        assert resolve(document, content["schema"])["additionalProperties"] is False
        bodies += 1
    assert bodies >= 10


def test_every_operation_says_who_may_call_it(document):
    for path, method, operation in operations(document):
        said = operation["description"]
        assert re.search(r"Needs |A credential is optional\.$", said), (path, method)
        assert operation["summary"] and operation["summary"] not in said
    reads = document["paths"]["/v1/admin/tenants/{tenant}/refunds"]["get"]["description"]
    assert reads.endswith("Needs a credential with the role `finance` or `read`, or a higher one.")


def test_each_type_of_notification_is_a_webhook(document):
    assert document["webhooks"].keys() == set(NotificationType)
    for type, item in document["webhooks"].items():
        body = item["post"]["requestBody"]["content"]["application/json"]["schema"]
        assert body["properties"]["type"]["const"] == type
        reference, sequence = body["properties"]["data"]["allOf"]
        data = resolve(document, reference)
        assert "additionalProperties" not in data and "sequence" in sequence["properties"]


def test_what_is_sent_is_closed_and_what_is_answered_is_open(document):
    """A client that checks answers must not break when a later version adds a field."""

    def schemas_in(node, found):
        for each in walk(node):
            name = each.get("$ref", "").rpartition("/")[2] if isinstance(each, dict) else ""
            if name in document["components"]["schemas"] and name not in found:
                found.add(name)
                schemas_in(document["components"]["schemas"][name], found)
        return found

    sent, answered = set(), set()
    for _, _, operation in operations(document):
        schemas_in(operation.get("requestBody", {}), sent)
        schemas_in(operation["responses"], answered)
    assert sent and answered and not sent & answered
    for name, schema in document["components"]["schemas"].items():
        assert (schema.get("additionalProperties") is False) == (name in sent), name


def test_no_schema_has_the_name_that_generators_give_to_a_field(document):
    """The generator of Python clients dropped Event: EventStatus was the name of a request."""
    schemas = document["components"]["schemas"]
    for name, schema in schemas.items():
        for field, of in schema["properties"].items():
            if "enum" in of:
                assert name + field.title().replace("_", "") not in schemas, (name, field)


def test_every_success_has_a_whole_example(document):
    for path, method, operation in operations(document):
        successes = [status for status in operation["responses"] if status.startswith("2")]
        assert successes, (path, method)
        for status in successes:
            response = operation["responses"][status]
            if status == "204":
                assert "content" not in response
                continue
            assert response["description"]
            ((kind, content),) = response["content"].items()
            if path.endswith(tuple(TEXTS)):
                assert kind == TEXTS[f".{path.rsplit('.', 1)[1]}"]
                assert content["schema"] == {"type": "string"} and content["example"]
                continue
            assert kind == "application/json"
            schema = resolve(document, content["schema"])
            assert content["example"].keys() == schema["properties"].keys(), path
            check(document, schema, content["example"], path)


def test_every_refusal_is_a_problem_with_an_example_for_each_code(document):
    for path, method, operation in operations(document):
        responses = operation["responses"]
        problem = resolve(document, responses["default"])["content"][PROBLEM]["schema"]
        assert problem == {"$ref": "#/components/schemas/Problem"}
        refusals = {status: each for status, each in responses.items() if status[0] in "45"}
        if "requestBody" in operation:
            assert {"413", "415", "422"} <= refusals.keys(), path
            is_json = "application/json" in operation["requestBody"]["content"]
            assert ("400" in refusals) is is_json, path
        if operation["security"]:
            assert {"401", "403"} <= refusals.keys(), path
        if method == "get" and re.search(r"_id}", path):
            assert "404" in refusals, path
        for status, response in refusals.items():
            if PROBLEM not in response["content"]:
                assert (path, status) == ("/readyz", "503")
                continue
            examples = response["content"][PROBLEM]["examples"]
            assert examples and response["description"]
            for code, example in examples.items():
                check(document, problem, example["value"], path)
                assert example["value"]["code"] == code
                assert str(example["value"]["status"]) == status
                assert example["value"]["type"].endswith(code)


def test_it_documents_every_path_of_the_service_and_no_other(app, document):
    served = {
        (re.sub(r"<(\w+)>", r"{\1}", rule.rule), method.lower())
        for rule in app.url_map.iter_rules()
        if rule.rule not in NOT_DOCUMENTED and rule not in list(pages(app))
        for method in rule.methods - {"HEAD", "OPTIONS"}
    }
    assert served == {(path, method) for path, method, _ in operations(document)}


def test_what_the_service_answers_is_what_the_document_says(acme, document):
    ticket = acme.ticket(price_amount=0, chain_id=None)
    buyer = acme.buyer(ticket)
    assert buyer.purchase().status_code == 200
    admin = acme.api()
    devices = f"{acme.path}/events/{ticket['event_id']}/door-devices"
    device = admin.post(devices, {"name": "Phone", "gate": "North"}).json
    key_id = admin.get(f"{acme.path}/apikeys").json["data"][0]["id"]
    admin.put(f"{acme.path}/wallet", {"address": EXAMPLE_ADDRESS, "chain_ids": [1]})
    webhook = new_webhook(acme)
    webhook.done("test")
    ids = {"tenant": acme.slug, "event_id": ticket["event_id"], "ticket_id": ticket["id"]}
    ids |= {"intent_id": buyer.intent["id"], "key_id": key_id, "device_id": device["id"]}
    ids |= {"admission_id": buyer.purchase().json["admissions"][0]["id"]}
    vouchers = f"{acme.path}/events/{ticket['event_id']}/vouchers"
    voucher = admin.post(vouchers, {}).json
    ids |= {"webhook_id": webhook.id, "voucher_id": voucher["id"]}
    asked = {"question": "Size?", "type": "boolean"}
    question = admin.post(f"{acme.path}/events/{ticket['event_id']}/questions", asked).json
    ids |= {"question_id": question["id"], "slug": "nights"}
    ids["message_id"] = message_of(acme, ticket["event_id"]).id
    ids["entry_id"] = entry_for(acme, ticket["event_id"], ticket["id"]).id
    event = f"{acme.path}/events/{ticket['event_id']}"
    assert admin.patch(event, {"series": "nights"}).status_code == 200
    for path, method, operation in operations(document):
        if method == "get" and not path.endswith(NEED_MORE):
            query = {}
            if "checkout" in path and path.endswith("/tickets"):
                query = {"voucher": voucher["code"]}
            if path.endswith("/answers"):
                query = {"question_id": question["id"]}
            answer = admin.get(path.format(**ids), query_string=query)
            assert answer.status_code == 200, path
            ((kind, content),) = operation["responses"]["200"]["content"].items()
            assert answer.mimetype == kind
            if kind in TEXTS.values():
                continue
            check(document, content["schema"], answer.json, path)
            # These need a chain: tests/payments has some.
            need_chain = path.endswith(("/refunds", "/payments", "/money"))
            assert answer.json.get("data") != [] or need_chain, path


def test_a_pattern_says_the_same_to_python_and_to_javascript(document):
    patterns = {
        node["pattern"]
        for node in walk(document)
        if isinstance(node, dict) and isinstance(node.get("pattern"), str)
    }
    assert len(patterns) > 5
    for pattern in patterns:
        assert pattern.startswith("^") and pattern.endswith("$"), pattern
        # JavaScript does not know these, or they mean something else than in Python.
        assert not re.search(r"\\[AZdDwWS]|\(\?", pattern), pattern


def test_a_default_can_be_sent(document):
    for schema in document["components"]["schemas"].values():
        for name, of in schema["properties"].items():
            if "default" in of:
                check(document, of, of["default"], name)


def test_a_new_thing_is_documented_with_the_statuses_it_may_have(document):
    schemas = document["components"]["schemas"]
    for name in ("EventCreate", "TicketTypeCreate"):
        assert schemas[name]["properties"]["status"]["enum"] == ["draft", "published"]
    assert "canceled" in schemas["Status"]["properties"]["status"]["enum"]


def test_what_text_may_not_have_is_documented(document):
    schemas = document["components"]["schemas"]
    for name, text in (("EventCreate", "a\0b"), ("TicketTypeCreate", "\0"), ("Buyer", "\0")):
        for of in schemas[name]["properties"].values():
            if of["type"] in ("string", ["string", "null"]) and "enum" not in of:
                assert not re.search(of["pattern"], text)


def test_a_refused_purchase_with_its_intent_is_a_documented_problem(acme, document):
    problem = document["components"]["schemas"]["Problem"]
    buyer = acme.buyer(acme.ticket(price_amount=0))
    buyer.cancel()
    refused = buyer.purchase()
    assert (refused.status_code, refused.json["intent"]["status"]) == (409, "canceled")
    check(document, problem, refused.json)


def test_an_answer_that_still_stands_is_documented(acme, api, document):
    for path, method, operation in operations(document):
        if path.startswith("/v1/public/"):
            names = {each["name"] for each in operation["parameters"] if each["in"] == "header"}
            assert method == "get" and names == {"If-None-Match"}
            assert "ETag" in operation["responses"]["200"]["headers"]
            assert operation["responses"]["304"]["headers"].keys() >= {"ETag", "X-Request-ID"}
    first = api.get(f"{acme.public}/events")
    again = api.get(f"{acme.public}/events", headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")
    assert again.headers["ETag"] == first.headers["ETag"]


def test_the_headers_of_every_answer_are_documented(document):
    for path, _, operation in operations(document):
        for status, each in operation["responses"].items():
            headers = resolve(document, each)["headers"].keys()
            assert "X-Request-ID" in headers, (path, status)
            assert ("WWW-Authenticate" in headers) == (status == "401"), (path, status)
