"""What the business does: plain values in, models out."""
