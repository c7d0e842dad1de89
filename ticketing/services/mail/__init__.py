"""What mails say, to whom they go, and which follow from the feed."""
