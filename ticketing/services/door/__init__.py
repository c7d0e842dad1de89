"""The door of an event: signed QR codes, paired devices, the manifest, scans and counts."""
