"""Sell event tickets for stablecoins, straight to the organizer's own wallet."""
