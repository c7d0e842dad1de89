"""Who may do what: tenants, members, API keys, tokens, sessions, rate limits, the audit log.

The guards of web/auth.py call it. Which role a view needs is stated in its blueprint.

callers.py: the caller of a key or JWT, with the role that the database has now
api_key_auth.py: compares the digest of a key; the previous secret counts until its overlap ends
api_keys.py: create, rotate, revoke. Revoking ends all JWTs of the key at once
signed_claims.py: JWTs of several kinds, each with its own audience
tokens.py: issues and verifies JWTs; each names the generation of its secret
members.py: people with roles; the last active administrator cannot be removed; every failed sign-in
    takes the same time
passwords.py: rules and hashes (argon2id); one thread of a process hashes at a time
invitations.py: a link that sets a password, once, within 48 hours; only the newest works
password_resets.py: a mailed link that sets a password, once, within an hour; or with the old one
second_factors.py: what comes after the password; recovery codes; no reset removes them
totp.py, passkeys.py, challenges.py: apps that show codes; WebAuthn; its challenges count once
sessions.py: sign-ins to the console: 12 hours without a request, 7 days at most
tenants.py: create, rename, settings
blocked_networks.py: networks that the operator blocks
rate_limits.py: decides whether a caller is over its limit: in the memory of the process, except for
    the classes that the database counts. web/rate_limit.py finds class and caller
audit_log.py: an entry is written in the transaction of its change
audit_subjects.py: titles and names of what was changed
actors.py: names of those who made changes
"""
