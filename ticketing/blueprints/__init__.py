"""The JSON surfaces, a file each: parse, one service call, return."""
