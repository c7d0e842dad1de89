"""Expensive requests run one at a time. A second one gets 429 and is not executed."""

from ticketing.services.access import passwords
from ticketing.services.payments import reconciliation


def sign_in(api, email):
    body = {"tenant": "acme", "email": email, "password": "x" * 12}
    return api.post("/v1/auth/login", body)


def test_one_proof_of_the_books_runs_at_a_time(acme, monkeypatch):
    owner = acme.with_headers({"X-API-Key": acme.admin_key})
    beside = []

    def reconcile(tenant_id):
        beside.append(owner.get(f"{acme.path}/reconciliation"))
        return []

    monkeypatch.setattr(reconciliation, "reconcile", reconcile)
    assert owner.get(f"{acme.path}/reconciliation").status_code == 200
    (answer,) = beside
    assert (answer.status_code, answer.json["code"]) == (429, "too_many_requests")
    assert int(answer.headers["Retry-After"]) > 0


def test_one_password_is_verified_at_a_time(api, acme, monkeypatch):
    beside = []

    def verify(password, digest):
        beside.append(sign_in(api, "b@example.org"))
        return False

    monkeypatch.setattr(passwords.hasher, "verify", verify)
    assert sign_in(api, "a@example.org").status_code == 401
    (answer,) = beside
    assert (answer.status_code, answer.json["code"]) == (429, "too_many_requests")
    assert answer.headers["Retry-After"] == "1"
