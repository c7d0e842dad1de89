"""A gunicorn worker class in which a slow client never blocks a thread."""
