"""Mails: which follow from the feed, who gets them, what they say. worker/mailing.py sends them.

A mail is a row of `mails` (services/notifications/mail_queue.py). It is written from the current
state when it is sent. If nothing is left to say, it is dropped.

planning.py: which mails follow from which notification, each once
parts.py: of which part of the price that arrived a mail tells
reminders.py: before the doors open: who has not answered; before the start: the tickets again
messages.py: what organizers write to the people of an event, planned, counted, canceled
sale_mails.py: what administrators learn of sales
asked_mails.py: mails that anybody may ask for, at any address
lost_links.py: the links of their orders, for people who lost them
budgets.py: how many mails strangers can cause: for each mailbox, and by each client
daily_bound.py: how many mails a tenant may send a day; those about paid orders never wait
recipients.py: the address now; everybody of an event; a form of the address that SMTP accepts
contents.py: reads what a mail says: the rule whether there is still something to say
order_contents.py: the same of mails about orders and tickets
payee_contents.py: the same of where a refund goes
cautioned_refunds.py: which refunds nobody has looked at, so that administrators get a mail
waiting_contents.py: the same of places on waiting lists
message_contents.py: the same of messages, reminders, and mails about sales
texts.py: subject, text, HTML, pictures and headers; a mail has one template in templates/mail
pictures.py: what is in the mail: the logo, the event's picture, and the tickets' QR codes
values.py: what mails say of events, tickets and money, and their links
plain_text.py: text that people wrote, made safe for mails
"""
