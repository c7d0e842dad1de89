"""Situations of events, ticket types, vouchers and questions."""

from tests.support.admissions import FREE, given
from tests.support.factories import event_body
from tests.support.refusals.shop import CANCELED, Shop, Table, path_of, refuses
from ticketing import errors
from ticketing.constants import MAX_QUESTIONS
from ticketing.models.vouchers import Voucher

REFUSALS: Table = {}


@refuses(errors.SaleCanceled, REFUSALS)
def guests_of_what_was_canceled(shop: Shop) -> None:
    one, other = shop.organizer.ticket(), shop.organizer.ticket()
    shop.has(f"{path_of(one)}/status", CANCELED)
    shop.has(f"events/{other['event_id']}/status", CANCELED)
    shop.add_guests(one, 1)
    shop.add_guests(other, 1)


@refuses(errors.CodeTaken, REFUSALS)
def code_of_another_voucher(shop: Shop) -> None:
    path = f"events/{shop.organizer.event()['id']}/vouchers"
    shop.has(path, {"code": "EARLY"})
    shop.api(path, {"code": "early"})
    shop.form(f"{path}/new", code="early")


@refuses(errors.MaxUsagesTooLow, REFUSALS)
def usages_that_are_used(shop: Shop) -> None:
    path = f"events/{shop.organizer.event()['id']}/vouchers"
    voucher = shop.has(path, {"max_usages": 5})["id"]
    Voucher.update(redeemed=3).where(Voucher.id == voucher).execute()
    path = f"{path}/{voucher}"
    shop.both(path, path, "PATCH", max_usages=2)


@refuses(errors.SlugTaken, REFUSALS)
def slug_of_another_event(shop: Shop) -> None:
    slug = shop.organizer.event()["slug"]
    shop.api("events", {**event_body(), "slug": slug, "capacity": 7})
    path = f"events/{shop.organizer.event(status='draft')['id']}"
    shop.both(path, f"{path}/edit", "PATCH", slug=slug)


@refuses(errors.SlugFixed, REFUSALS)
def slug_that_people_have(shop: Shop) -> None:
    path = f"events/{shop.organizer.event()['id']}"
    shop.both(path, f"{path}/edit", "PATCH", slug="another")


@refuses(errors.InvalidTransition, REFUSALS)
def publishing_what_was_canceled(shop: Shop) -> None:
    ticket = shop.organizer.ticket()
    for path in (f"{path_of(ticket)}/status", f"events/{ticket['event_id']}/status"):
        shop.has(path, CANCELED)
        shop.both(path, path, status="published")


@refuses(errors.HasIntents, REFUSALS)
def hiding_what_was_ordered(shop: Shop) -> None:
    ticket = shop.organizer.ticket(**FREE)
    shop.organizer.buyer(ticket).cancel()
    for path in (f"{path_of(ticket)}/status", f"events/{ticket['event_id']}/status"):
        shop.both(path, path, status="draft")


@refuses(errors.CapacityTooLow, REFUSALS)
def capacity_below_what_is_held(shop: Shop) -> None:
    ticket = shop.organizer.ticket(**FREE)
    shop.organizer.buyer(ticket, quantity=3)
    for path in (path_of(ticket), f"events/{ticket['event_id']}"):
        shop.both(path, f"{path}/edit", "PATCH", capacity=2)


@refuses(errors.QuestionAnswered, REFUSALS)
def change_of_an_answered_question(shop: Shop) -> None:
    ticket = shop.organizer.ticket(**FREE)
    path = f"events/{ticket['event_id']}/questions"
    asked = {"question": "Why?", "type": "text", "ask": "order", "identifier": "why"}
    path = f"{path}/{shop.has(path, asked)['id']}"
    given(shop.organizer, ticket, answers={"why": "x"})
    shop.api(path, {"type": "number"}, method="PATCH")
    shop.form(f"{path}/edit", question="Why?", type="number", ask="order")


@refuses(errors.TooManyQuestions, REFUSALS)
def one_question_too_many(shop: Shop) -> None:
    path = f"events/{shop.organizer.event()['id']}/questions"
    asked = {"question": "Why?", "type": "text", "ask": "order"}
    for _ in range(MAX_QUESTIONS):
        shop.has(path, asked)
    shop.both(path, f"{path}/new", **asked)
