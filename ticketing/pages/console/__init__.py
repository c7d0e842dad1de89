"""The organizer's console: pages for members who have signed in."""
