"""Sell event tickets for stablecoins, straight to the organizer's own wallet."""

# Before anything else imports peewee.
from ticketing import driver as driver
