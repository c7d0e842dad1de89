"""The door: signed QR codes, devices, what they need offline, and the final decision on each scan.

A scan is decided twice: by the device, which may be offline (static/door/deciding.js), and here.
docs/door.md has the protocol, and pages/door.py the way of a scan through the device.

scans.py: the rule of redemption (`_verdict`): void, suspended, already redeemed, superseded, not
    open, admitted, in this order. A repeated nonce gets the same answer. What the device admitted
    and this rule does not is a conflict. Undo lets the oldest conflict take the place
undoing.py: what organizers take back: one entry, or all that a device let in since a time
scan_rows.py: the queries of scans; locks admissions in the order of their ids
devices.py: pair with a code that works once, recognize a token, revoke at once
manifest.py: what a device must know of all admissions, or what changed since its cursor; a change
    is numbered after its commit, so that none is missed
ticket_signing.py: the text of a QR code and its Ed25519 signature; key pairs are derived from
    SECRET_KEY, public keys are stored, so QR codes outlive a changed SECRET_KEY
base45.py: bytes as text of a QR code
stats.py: who is inside, the last scans, open conflicts
"""
