"""What a self-hoster starts from: an image, units, platforms, monitoring, a release."""
