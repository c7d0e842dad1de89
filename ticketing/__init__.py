"""Sell event tickets for stablecoins that only the organizer can receive.

docs/architecture.md says what each package is for, and which may import which. `app.py` builds the
application, `gunicorn.conf.py` chooses the worker class.

application.py: the application with all surfaces, above all packages. The worker and the commands
    do not load it

The other files here are below all packages.

constants.py: statuses and which may follow which, sizes, time limits of the domain
refund_reports.py: what an organizer's wallet contradicts when refunds are paid back
scanning.py: what devices at the door send and are answered, their sizes and time limits
roles.py: what people and API keys may do, and whether they still may
bodies.py: how large the body of a request may be, by its path
limits.py: the classes of requests; the limits that operators set, and which classes the database
    counts
notification_types.py: the types of notifications, the kinds of mails, how deliveries end
credentials.py: makes and parses keys, client secrets, codes and tokens, and compares their digests
    in constant time; it does not look them up
encryption.py: secrets that are read again, as the database stores them
deposits.py: who releases deposits, and when
waiting_list.py: the states of places on waiting lists, and their bounds
waiting_room.py: when waiting rooms open, why people wait, and for how long their turn lasts
response_times.py: how fast this process answers, and whether it is overloaded
links.py: the paths of pages with secrets: /o/, /t/, /x/, /_w/, /_m/ act for their owner,
    /_p/ pays, /_l/ shows the orders of an address
clock.py: the only file that reads the time; how the API writes it
formats.py: how people read times, amounts and addresses, in pages and mails
locales.py: the languages of pages and mails; marks and translates sentences
accents.py: the colors that pages and mails make of an organizer's color
places.py: the name and the address in the text of a venue
markdown.py: descriptions as HTML and as plain text
qr_codes.py: QR codes as SVG and as PNG
ids.py: ids sort by creation time; the same base32 for what people type
nesting.py: JSON that is nested too deep is refused before it is parsed
backoff.py: the pauses after failures. The caller counts the failures and has the clock
logs.py: the format of log lines
loading.py: loads modules without the garbage collector
version.py: the name of this release
"""
