"""The organizer's console: pages for members who have signed in.

A section states in its blueprint which role reads and which writes (`ConsoleBlueprint`). Every form
carries the session's token. The service calls, and the entries in the audit log, are the API's. A
new page is added to pages/surfaces.py, a new section also to layout.py.

blueprint.py: checks session, role and token; without a session, it leads to the sign-in page
session_cookie.py: the cookie (the server decides when a session ends), and the token in forms
layout.py: the frame of each page: which sections a role opens
sign_in.py, account.py: sign in by password or invitation; the browsers in which a member is signed
    in, and another password
second_factors.py: an app that shows codes, passkeys, recovery codes
passwords.py: a mailed link for who forgot theirs
connect.py, connected_apps.py: asks whether an app may act for a member; lists such apps, ends them
overview.py, first_steps.py: the first page; what is missing before a first sale, and before its
    money can be spent, in sentences
search.py: one field that finds events, orders, tickets and vouchers
charts.py: bars and the line of their sum as SVG; which days a reader chose
events.py, event_forms.py: the list and one event; its forms: create, change, cancel
publishing.py: publishes an event with its ticket types; the preview of its page
copies.py: copies an event to other dates; what the page of a series says
deposits.py: what comes back to who came
crowds.py: networks from which many people order tickets of an event
messages.py: writes to the people of an event, and shows what became of that
images.py: the picture of an event, the logo
ticket_types.py: the ticket types of an event
vouchers.py: the vouchers of an event: one, many at once, their uses
waiting_list.py: who waits for tickets of an event; offers out of turn
waiting_room.py: when the waiting room of an event opens
client_networks.py: who holds and waits for what of an event, by network; cancels what one has
questions.py: what an event asks, and the counted answers
obstacles.py: why nobody can buy, in sentences with links; services/catalog/obstacles.py decides
wallet.py: sets the wallet, only after its first address was compared
orders.py: find orders, see one; what happened to it, from the notifications
attendees.py, guests.py: tickets with their holders; tickets that cost nothing
chosen_attendees.py: mails several tickets again, or takes them back
money.py: what came in, what is owed, what can be moved
money_moving.py: moves it and pays it back: what the browser's wallet signs, and files for others
refunds.py: who is owed what, and where to; a transaction is counted, or the rest is written off
passed_ids.py: what a payment was that holds a refund back
door.py, scanner.py: devices and who is inside; the scanner in a member's own browser
exports.py: CSV files
people.py, keys.py, webhooks.py, settings.py: who and what has access; what pages and mails show
audit_log.py, audit_words.py: the list of changes; an entry in words
one_time.py: pages that show a secret once, also if the form is sent twice
paths.py: the paths of the pages of events and of the wallet
list_filters.py: a filter that is not understood shows all
words.py: words and colors for statuses; the names of browsers
"""
