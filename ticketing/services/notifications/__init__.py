"""Notifications: record facts, list them, deliver them by webhook, queue mails."""
