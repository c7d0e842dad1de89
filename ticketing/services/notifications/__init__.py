"""The feed of facts of each tenant, and what is delivered from it: webhooks and the rows of mails.

A fact is recorded in the transaction that makes it true, without a place in the feed. It gets its
place after the commit, so orders never wait for the feed. Nothing depends on a delivery. The feed
is locked before webhook endpoints. worker/delivering.py and worker/mailing.py send.

feed.py: records facts
facts.py: the `data` of each type: no names, addresses, codes or texts of people
numbering.py: gives committed notifications their `sequence`, without gaps
reading.py: a page of the feed; deletes what is old; skips positions after a restore
webhooks.py: endpoints: create, change, rotate, test, enable, resend
webhook_secrets.py: encrypts secrets, signs deliveries (Standard Webhooks); both secrets sign during
    the overlap of a rotation
webhook_urls.py: which URLs may be endpoints, and the rule of which addresses may be called
    (`is_public`, `judge`: one refused address refuses the name)
http_client.py: one request with one deadline, to an address that was judged; also for other small
    files of outside
name_lookup.py: resolves names without blocking
deliveries.py: what waits for an endpoint; saves attempts; the rule of retries (5 s, 1 min, 5 min,
    then every 15 min) and of when an endpoint is disabled (failing for 5 days, or 410)
mail_queue.py: the rows of mails: claimed before they are sent, retried, dropped after 48 hours
figures.py: what waits and what fails, for monitoring
"""
