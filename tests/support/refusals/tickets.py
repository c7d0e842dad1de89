"""Situations of tickets: what holders do with them, and what the organizer does."""

from tests.support.admissions import FREE, redeem
from tests.support.factories import in_days
from tests.support.holders import write
from tests.support.refusals.shop import PAST, Shop, Table, held_of, path_of, refuses
from ticketing import clock, errors
from ticketing.models.admissions import Admission
from ticketing.models.door import DoorDevice
from ticketing.models.payment_intents import PaymentIntent

REFUSALS: Table = {}


@refuses(errors.NotTransferable, REFUSALS)
def ticket_of_one_person(shop: Shop) -> None:
    ticket = shop.organizer.ticket(**FREE)
    held, offer = held_of(shop, ticket)
    shop.has(path_of(ticket), {"transferable": False}, "patch")
    held.name(name="Grace")  # this is possible once
    shop.pass_on(held, offer)
    shop.name(held)


@refuses(errors.TransfersClosed, REFUSALS)
def ticket_after_the_time_for_transfers(shop: Shop) -> None:
    ticket = shop.organizer.ticket(**FREE)
    held, offer = held_of(shop, ticket)
    shop.has(f"events/{ticket['event_id']}", {"transfers_end_at": PAST}, "patch")
    shop.pass_on(held, offer)


@refuses(errors.AdmissionSuspended, REFUSALS)
def ticket_whose_payment_is_missing(shop: Shop) -> None:
    held, offer = held_of(shop)
    write(held, status="suspended")
    shop.pass_on(held, offer)


@refuses(errors.PaymentNotFinal, REFUSALS)
def ticket_whose_payment_is_not_final(shop: Shop) -> None:
    held, offer = held_of(shop)
    order = Admission.get_by_id(held.id).intent_id
    PaymentIntent.update(early=True).where(PaymentIntent.id == order).execute()
    shop.pass_on(held, offer)


@refuses(errors.AlreadyRedeemed, REFUSALS)
def ticket_of_somebody_inside(shop: Shop) -> None:
    held, offer = held_of(shop)
    redeem(Admission.get_by_id(held.id))
    shop.pass_on(held, offer)
    for ask in (shop.name, shop.void, shop.reissue):
        ask(held)


@refuses(errors.AdmissionVoid, REFUSALS)
def ticket_that_was_taken_back(shop: Shop) -> None:
    held, offer = held_of(shop)
    shop.has(f"admissions/{held.id}/void", {"reason": "Asked for.", "refund": False})
    shop.pass_on(held, offer)
    for ask in (shop.name, shop.void, shop.reissue):
        ask(held)


@refuses(errors.WasTransferred, REFUSALS)
def ticket_that_was_passed_on(shop: Shop) -> None:
    shop.void(held_of(shop)[0].transferred(name="Grace"))


@refuses(errors.DoorsUnsynced, REFUSALS)
def ticket_of_somebody_who_may_be_inside(shop: Shop) -> None:
    event = shop.organizer.event(doors_open_at=PAST, transfers_end_at=in_days(1))
    held, _ = held_of(shop, shop.organizer.ticket(event, **FREE))
    device = shop.has(f"events/{event['id']}/door-devices", {"name": "Phone"})["id"]
    DoorDevice.update(paired_at=clock.now(), unsynced=3).where(DoorDevice.id == device).execute()
    shop.void(held)


@refuses(errors.MailNotConfigured, REFUSALS)
def link_by_mail_without_a_mail_server(shop: Shop) -> None:
    shop.reissue(held_of(shop)[0], email="ada@example.org")


@refuses(errors.AnswersClosed, REFUSALS)
def answer_after_the_doors_opened(shop: Shop) -> None:
    ticket = shop.organizer.ticket(**FREE)
    here = f"events/{ticket['event_id']}"
    shop.has(f"{here}/questions", {"question": "Why?", "type": "text"})
    held, _ = held_of(shop, ticket)
    shop.has(here, {"doors_open_at": in_days(-1)}, "patch")
    shop.api(held.path, {"answers": {}}, held.api, "PATCH")
    shop.form(f"/t/{held.code}/answers")
