"""Measurements. Nothing here asserts a speed."""
