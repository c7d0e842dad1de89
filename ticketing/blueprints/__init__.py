"""A file a surface: parse, one service call, return. Guards and problems stand beside them."""
