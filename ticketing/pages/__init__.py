"""The HTML surfaces. A page calls the services that the API calls, and has no rules of its own.

A file is a page: it reads a form, makes one service call, and redirects or renders a template of
templates/pages. Pages of buyers need no cookie, except in a waiting room. The links of orders and
tickets contain their secret, so such a page is not cached or indexed. console/ has the pages of
organizers.

home.py: a tenant's events; the first page of the service
event_networks.py: the networks on which the tickets of an event can be paid
events.py: an event with its order form. The page is cached like the API (web/response_cache.py)
event_pages.py: what that page shows, also as the preview of a draft; the coming dates of a series,
    which has the address of an event; the place of somebody who waits until they may order
embed.py: the card of an event for a frame of another website; the lines of HTML that show it
cart.py: the tickets in that form: a number for each ticket type, or one choice
lost_links.py: people who lost the links of their orders ask for a mail
waiting_list.py: join a waiting list; a place on it, and what was offered
orders.py: an order: to pay, its tickets, money that is owed
order_view.py: decides which state of an order its page shows; there is a template for each
papers.py: what people print of an order: its tickets, its receipt
pace.py: how many pages of orders may ask for news often
order_accounts.py: what it shows of money on each network
near_times.py: today, tomorrow, on Tuesday
payee_changes.py: what the buttons of a mail do: confirm where a refund goes, or stop that
payment_links.py: an order for somebody else who pays: what is due and how, nothing of the buyer
mailboxes.py: the buttons of a mail that tells of another address of an order
tickets.py, transfers.py: a ticket, to be named and passed on; an offer, to be accepted
door.py: the scanner's page and its files as one version. The scanner is JavaScript, in static/door:
    the docstring of door.py follows a scan through its scripts
blueprint.py: the checks of every page (origin, then web/gate.py), and its headers: CSP, no Referer
guards.py: who may open a page: everybody, or who has the secret in the path
surfaces.py: the list of all pages, with those of the console; the slugs in their paths
forms.py: a form that is refused is shown again with what was typed; its key makes a repeat harmless
answers.py: the fields of questions, in the forms of orders, tickets and attendees
typed_forms.py: text of forms becomes what JSON would have, so that the API's schema checks both. A
    time that looks unchanged stays as it is
render.py: the templates, and how they show values; what people wrote cannot change the page
templates.py: an environment for each language, with its messages in the templates
icons.py: small pictures beside words
problems.py: which paths get errors as pages; such a page
reasons.py: the sentence for people, by the code of an error or of a field's check
json_ld.py: an event for search engines
qr.py: QR codes as SVG
pictures.py: the files of pictures and logos
assets.py: stylesheet, scripts, a tenant's color; kept by browsers, so their URLs have a version
"""
