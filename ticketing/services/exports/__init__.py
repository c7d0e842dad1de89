"""What an organizer downloads as CSV files: attendees, orders, payments."""
