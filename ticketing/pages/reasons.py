"""What errors mean for people. The sentences of the API are for programmers.

Sentences with N_ are in the catalogs: buyers see them. The others are only in the console.
"""

from collections.abc import Mapping
from typing import NamedTuple

from ticketing.errors import (
    AlreadyPaying,
    FieldMessage,
    IntentNotCancelable,
    NetworkUnavailable,
    TicketingError,
)
from ticketing.locales import N_

_REASONS = {
    "sold_out": N_("Somebody was faster: not enough tickets are left."),
    "one_type_only": N_(
        "This event sells one kind of ticket in an order. Order the others after it."
    ),
    "needs_ticket": N_("This is only sold together with a ticket. Add a ticket."),
    "no_common_network": N_(
        "These tickets are not sold on one network. Order each of them on its own."
    ),
    "already_paying": N_("This order is paid, or is being paid. It cannot change its network now."),
    "network_unavailable": N_("This network cannot be used at the moment. Choose another one."),
    "sales_not_started": N_("The sale of this ticket has not started."),
    "sales_ended": N_("The sale of this ticket has ended."),
    "in_the_past": "People have tickets, and the new times are past. Confirm them below.",
    "event_over": N_("This event is over."),
    "below_minimum": N_("This ticket is sold in larger numbers. Order more of it."),
    "above_maximum": N_("This is more than one order can have. Order fewer tickets."),
    "not_payable": N_("This ticket cannot be paid at the moment. Please ask the organizer."),
    "key_required": N_("This ticket is not sold on this page."),
    "too_much_text": N_(
        "Your network has sent many answers in unpaid orders today. Pay for one, or try tomorrow."
    ),
    "texts_unavailable": N_("No more answers can be stored today. Try again tomorrow."),
    "too_many_holds": N_(
        "Your network had tickets held longer today and didn't pay for them, so these can't be."
    ),
    "too_much_unpaid": N_(
        "Your network holds many unpaid tickets. Pay for some, wait, or use another one, such as"
        " mobile data. The organizer can allow more for yours."
    ),
    "returned_unpaid": N_(
        "Your network did not pay for its last order of a returned ticket. Wait a few minutes."
    ),
    "too_many_orders": N_(
        "Your network has made too many orders today. Use another one, such as mobile data, or ask"
        " the organizer to allow more for yours."
    ),
    "too_many_free": N_(
        "Your network has ordered as many free tickets of this event as one may in a day. Use"
        " another one, such as mobile data, or ask the organizer to allow more for yours."
    ),
    "too_many_requests": N_(
        "Too many people of your network are here. Wait a minute, then try again."
    ),
    "too_many_links": N_(
        "Too many links were asked for from your network today. Try again tomorrow."
    ),
    "too_many_transfers": N_("This ticket was offered too often today. Try again tomorrow."),
    "image_invalid": (
        "This file cannot be used. Choose a JPEG, PNG or WebP that is not damaged, and that is wide"
        " enough: 600 pixels for a picture, 64 for a logo."
    ),
    "invalid_request": N_("Please correct what is marked below."),
    "not_transferable": N_("This ticket cannot be given to somebody else."),
    "transfers_closed": N_("Tickets of this event can no longer be given to somebody else."),
    "already_redeemed": N_("This ticket has been used at the door."),
    "admission_void": N_("This ticket is no longer valid."),
    "admission_suspended": N_("This ticket is suspended, because its payment is missing."),
    "waiting_room": N_(
        "Many people want tickets now, and others came first. We keep your place. Send this form"
        " again in a minute."
    ),
    "not_sold_out": N_("You need not wait: this ticket is on sale."),
    "waiting_list_closed": N_("Nobody can wait for this ticket at the moment."),
    "waiting_list_full": N_("Too many people wait for this ticket already."),
    "too_many_places": N_("Too many people of your network wait for this event already."),
    "entry_ended": N_("This place on the waiting list has ended."),
    "offer_made": N_("Tickets were offered for this place a moment ago. Look again."),
    "too_many_joins": N_(
        "Your network has joined too many waiting lists today. Try again tomorrow."
    ),
    "too_many_mails": N_(
        "This organizer has sent as many mails today as it may. Try again tomorrow."
    ),
    "not_returnable": N_("This ticket cannot be given back."),
    "returns_closed": N_("Tickets of this event can no longer be given back."),
    "return_in_progress": N_("Somebody is paying for this place now, so it cannot be kept."),
    "return_offered": N_("This ticket is being given back. First keep it."),
    "refund_address_missing": N_(
        "First name the address to which the money goes: on the page of the order."
    ),
    "offer_ended": N_("This offer has ended. Ask its sender for a new one."),
    "chain_unavailable": N_("We cannot see the network at the moment. Nothing is lost. Try again."),
    "invitation_ended": "This invitation has ended. Ask an administrator for a new one.",
    "password_reset_ended": "This link has ended. Ask for a new one.",
    "member_exists": "Somebody with this email address is in the list already.",
    "limited_to_events": "You may work on some events only, and this is none of them.",
    "last_admin": (
        "This is the last administrator who can sign in. First make another member one."
    ),
    "wrong_code": "This code is wrong, or was used before. Wait for the next one of your app.",
    "wrong_passkey": "Your passkey was not accepted. Try again, or sign in another way.",
    "second_factor_needed": (
        "Your organization requires a second factor. Set another one up before you remove this."
    ),
    "sign_in_ended": "This took too long. Please sign in again.",
    "invalid_credentials": "Nobody signs in with this email address and password.",
    "was_transferred": "This ticket was passed on. Confirm below that its new holder loses it.",
    "doors_unsynced": (
        "The holder may be inside: a device at the door has scans to send, or may have some."
    ),
    "not_redeemed": "Nobody is inside with this ticket any more.",
    "mail_not_configured": N_("This service cannot send mail. Leave out the address."),
    "sale_canceled": N_("This event or ticket type was canceled."),
    "refund_not_seen": (
        "This transaction does not count. It pays nothing of what is due to an address that may"
        " receive it, or is older than the payments, or not final yet, or counts for other refunds."
    ),
    "nothing_received": N_("Nothing was received for this order, so nothing can be sent back."),
    "signature_required": N_(
        "Nobody can get a mail about this change. So the wallet that paid must sign it, or ask the"
        " organizer to enter the address."
    ),
    "refund_address_fixed": N_(
        "Nobody can confirm this change any more. Ask the organizer to enter the address."
    ),
    "payee_change_ended": N_(
        "This change has ended. Enter the address again, on the page of your order."
    ),
    "too_many_changes": N_("This address was changed too often today. Try again tomorrow."),
    "hold_extended": N_("Your tickets are held longer already."),
    "hold_not_extendable": N_("These tickets cannot be held longer."),
    "no_refund_due": N_("Nothing is due for this order now."),
    "payment_not_final": N_(
        "The network makes the payment final in a moment. Then the ticket can be passed on."
    ),
    "refund_listed": (
        "This refund is on a list that can still be paid, or that was paid a moment ago. Wait until"
        " the list has ended, 72 hours after it was made. Do not pay it by hand before."
    ),
    "amount_changed": "The amount has changed since you opened this page. See what is due now.",
    "key_not_active": "This key has expired or was revoked. Create a new one.",
    "too_many_webhooks": "This is the largest number of webhooks. Delete one first.",
    "too_many_deliveries": "Many deliveries wait to be sent already. Try again in a minute.",
    "has_intents": (
        "People have it already. So it cannot be a draft, and it stays a ticket that lets somebody"
        " in, or stays none. It can be canceled."
    ),
    "invalid_transition": N_("That is not possible any more. Look at the status again."),
    "slug_taken": "Another of your events has this name in its address. Choose another one.",
    "too_many_messages": (
        "Enough messages were sent today, or to enough people. Write this one tomorrow."
    ),
    "no_email": "There is no email address to which it could be sent. Give it a new link.",
    "slug_fixed": ("The address of a published event cannot change, because people have the link."),
    "capacity_too_low": "More tickets than that are sold or held. Choose a higher capacity.",
    "owner_not_confirmed": "Confirm that your wallet's address is yours on this network.",
    "code_taken": "Another voucher of this event has this code. Choose another one.",
    "max_usages_too_low": "More tickets than that are ordered with it. Write a higher number.",
    "voucher_not_applicable": N_("This code is not for these tickets, or for more of them."),
    "voucher_invalid": N_("This code is not valid for this event."),
    "voucher_held": N_(
        "All uses of this code are in orders that are not paid yet. Try again in a few minutes."
    ),
    "voucher_required": N_("This ticket is only sold with a code for it."),
    "too_many_guesses": N_("Too many wrong codes came from your network. Wait a minute."),
    "question_answered": (
        "Somebody has answered this question. Its type and the options that were chosen cannot"
        " change. Archive it, and create another one."
    ),
    "too_many_questions": "An event has at most 20 questions. Archive one first.",
    "answers_closed": N_("Answers can be changed until the doors open. Ask the organizer."),
    "billing_closed": N_("This can be written until 90 days after the event. Ask the organizer."),
    "email_closed": N_("This can be changed until 90 days after the event. Ask the organizer."),
    "email_put_back": N_(
        "The owner of this email address put it back. Only the organizer can change it now."
    ),
    "intent_not_cancelable": N_("Money has arrived for this order. It cannot be canceled."),
}

_BY_DETAIL = {
    AlreadyPaying.missing: N_(
        "The payment of this order is missing, and may come back. Do not pay on another network."
    ),
    IntentNotCancelable.settling: N_(
        "A payment of this order is on its way. It cannot be canceled now."
    ),
    NetworkUnavailable.asked_back: N_(
        "You wanted back what you had sent on this network. So this order cannot be paid there."
    ),
}
"""Of codes with several situations, those that are not the usual one."""

_AT_FIELDS = {
    # Of every field.
    "required": N_("Please fill this in."),
    "null": N_("Please fill this in."),
    "blank": N_("Please fill this in."),
    "unknown": N_("This page does not have this field. Open it again."),
    "text": N_("This has characters that cannot be stored."),
    "length": N_("Write %(min)s to %(max)s characters."),
    "list": N_("Choose some of the list."),
    "items": N_("Choose %(min)s to %(max)s."),
    "choice": N_("Choose one of the list."),
    "boolean": N_("Choose yes or no."),
    "integer": N_("Please write a number."),
    "range": N_("Write a number from %(min)s to %(max)s."),
    "amount": N_("This amount is too high or too low."),
    "time": N_("Please write a date and a time."),
    "time_range": N_("Write a date in the years 1970 to 9999."),
    "past": N_("This time has passed. Write a later one."),
    # Of people.
    "email": N_("This is not an email address."),
    "password": "Must have %(min)s to %(max)s characters.",
    "own_email": "Write the email address with which you will sign in.",
    "other_email": "This invitation is for another email address.",
    "wrong_code": "This is not the code that your app shows now.",
    "passkey": "Your browser made no passkey that can be used. Try again.",
    "too_many_passkeys": "You have ten passkeys. Remove one first.",
    "passkey_in_use": "This passkey is in use already.",
    "admin_events": "An administrator works on all events. Choose no event, or another role.",
    "unknown_event": "One of these events does not exist. Open this page again.",
    # Of organizers and their events.
    "slug": "Write small letters a to z and digits, and a hyphen between words.",
    "timezone": "There is no time zone of this name. Choose one of the list.",
    "event_end": "The event would end before it begins.",
    "local_time": "Please write a date and a time.",
    "skipped_time": "The clocks skip this time on that day. Choose another one.",
    "distinct_times": "Choose each time once.",
    "audience": "Choose who can still get a message about this event.",
    "after_end": "This is after the end of the event.",
    "not_canceled": "Only an event that is canceled is refunded.",
    "network": "Write an address, or a network such as 203.0.113.0/24: IPv4 to /16, IPv6 to /32.",
    "distinct_networks": "Write each network once.",
    "too_many_crowds": "An event has at most %(max)s of them. Remove one first.",
    "chain": "Choose the network on which buyers pay the price.",
    "no_free_price": "Only where the buyer may pay more. Check that box, or leave this empty.",
    "least_free_price": "Where the buyer may pay more, this is 0, or at least 0.01.",
    "below_price": "This is below the price.",
    "above_price": "This is above the price.",
    "above_order": N_("This is more than one order can have."),
    "voucher_code": "Write 5 to 40 letters a to z, digits and hyphens.",
    "voucher_prefix": "Write 1 to 20 letters a to z, digits and hyphens.",
    "voucher_value": "Write what fits the choice: an amount, whole percent, or nothing.",
    "above_usages": "This is more than the voucher is good for.",
    "other_event": "Choose ticket types of this event.",
    "sale_end": "The sale would end before it starts.",
    "color": "Write # and six digits or letters a to f, as in #1f4e79.",
    "guests": "These guests have a wrong name or email address: %(places)s.",
    "too_many_guests": "At most %(max)s guests at once.",
    "reserved": "Write another reason. This one is used when an event is canceled.",
    "none_chosen": N_("Choose at least one ticket."),
    "seats": N_("One order can have at most %(max)s tickets."),
    "distinct": N_("Each ticket type can be there once."),
    "not_with_items": N_("This page is old. Open it again."),
    # Of questions and answers.
    "longest": N_("Write at most %(max)s characters."),
    "number": N_("Please write a number."),
    "decimals": N_("Write at most %(max)s digits after the point."),
    "date": N_("Please write a date."),
    "option": N_("Choose one of the list."),
    "not_asked": N_("This is not asked any more. Open the page again."),
    "twice": N_("This is answered twice."),
    "answer": N_("This cannot be an answer."),
    "answers": N_("These cannot be answers."),
    "answers_size": N_("All answers together are too long. Write less."),
    "identifier_taken": "Another question of this event has this short name.",
    "options": "Write the options of a choice. Other questions have none.",
    "same_options": "Two options are the same.",
    "option_unknown": N_("This option is gone. Open the page again."),
    "at_door": "Only a yes-or-no question or a choice can be shown at the door.",
    "ticket_ids": N_("This ticket type is gone. Open the page again."),
    "billing_length": N_("All three together can have %(max)s characters. Write less."),
    # Of wallets and refunds.
    "address": N_(
        "This is not a complete address. Copy it from your wallet again: 0x and 40 characters."
    ),
    "checksum": N_(
        "One character of this address is wrong: small and capital letters are a check. Copy it"
        " from your wallet again, and do not type it."
    ),
    "wallet_name": N_(
        "This is a name. Write the address behind it: 0x and 40 characters. Your wallet shows it"
        " where you receive money."
    ),
    "zero_address": N_("Nobody owns this address, so nobody can spend what is sent there."),
    "token_address": N_("This is the address of the token, not of a wallet."),
    "order_address": N_("This is where an order is paid. Money sent there would not reach you."),
    "organizer_address": N_("This address belongs to the organizer."),
    "signature": N_("This is not a signature of this text by the wallet that paid."),
    "tx_hash": N_(
        "This is not a complete transaction hash. Copy it from your wallet again:"
        " 0x and 64 characters."
    ),
    "seed_phrase": N_("This is your secret phrase. Move your money to a new wallet."),
    "private_key": N_("This is your private key. Move your money to a new wallet."),
    "address_checksum": N_("A letter or digit of this address is wrong. Copy it again."),
    "reserved_address": N_("This address belongs to the network, not to a wallet."),
    "burn_address": N_("Nobody can spend from this address."),
    "known_token": N_(
        "This is the address of %(symbol)s on %(network)s, not of a wallet. Copy the address of"
        " your wallet."
    ),
    "known_contract": N_(
        "This is %(name)s, a contract that many people use. Money sent there would be lost."
    ),
    "factory_address": N_("This is a contract of this service, not a wallet."),
    "implementation_address": N_("This is a contract of this service, not a wallet."),
    "proxy_address": N_("This is a contract that creates other contracts, not a wallet."),
    "gathering_address": "This is where payments are gathered, not a wallet.",
    "networks": N_("Choose at most %(max)s networks."),
    "chain_id_or_ids": "Write either one network, or a list of them.",
    "distinct_chains": N_("Choose each network once."),
    "chain_not_sold": N_("Your tickets are not sold on this network. Choose another one."),
    "network_of_order": N_("This order cannot be paid on this network."),
    "chain_ids": "Choose the networks on which you control this address.",
    "chain_unknown": "This service does not know these networks: %(ids)s.",
    "answers_as_token": (
        "This is the address of a token on: %(names)s. Copy the address of your wallet."
    ),
    "contract_unconfirmed": (
        "There is a contract at this address on: %(names)s. Is it your Safe or smart wallet?"
    ),
    "not_deployed": "This address is a contract, which does not exist on: %(names)s.",
    "exchange_only": "Only an address of an exchange has a minimum deposit.",
    "wrong_password": "This is not your password.",
    "too_complex": "This has too many lines, lists and signs. Leave out some, and save it again.",
    # Of websites and webhooks.
    "url": N_("This is not the address of a website. It starts with https://"),
    "http_url": "This is not a complete URL. It starts with https://",
    "url_ascii": "Write the URL without spaces, and other letters than a to z percent-encoded.",
    "url_credentials": "Write the URL without a user name and password.",
    "url_fragment": "Write the URL without # and what follows it.",
    "url_port": "Write a URL that starts with https:// and has port 443 or 8443.",
    "url_not_public": "This address is not on the public internet.",
    "url_host": "This URL has no valid host name.",
    "selection": "Choose everything, or some of the others.",
    "since_or_ids": N_("Please write a date and a time."),
}


class Sentence(NamedTuple):
    """A sentence to be translated, and the values of its placeholders."""

    text: str
    values: Mapping[str, object]


def reason(error: TicketingError) -> str:
    """Return a sentence for the person who got this error, to be translated."""
    return _BY_DETAIL.get(error.detail) or _REASONS.get(error.code, error.detail)


def at_field(message: str) -> Sentence:
    """Return what is wrong with a field, for the person who filled it in, to be translated."""
    if isinstance(message, FieldMessage) and message.code in _AT_FIELDS:
        return Sentence(_AT_FIELDS[message.code], message.values)
    return Sentence(message.replace("%", "%%"), {})
