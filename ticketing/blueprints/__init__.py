"""The JSON surfaces, one file each. A view parses, makes one service call, and returns."""
