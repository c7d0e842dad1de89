"""Queries of everything that people and programs do (drives), and what their plans may read."""
