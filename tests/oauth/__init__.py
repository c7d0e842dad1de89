"""Apps that act for members."""
