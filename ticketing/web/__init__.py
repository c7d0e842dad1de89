"""What every request passes, whichever surface answers it."""
