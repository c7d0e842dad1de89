"""Notifications: record facts, list them, and deliver them by webhook and mail."""
