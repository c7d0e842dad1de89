"""The door: signed QR codes, devices, scans."""
