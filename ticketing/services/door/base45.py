"""Base45 (RFC 9285): bytes as text that a QR code stores in its alphanumeric mode."""

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:"
_VALUES = {character: value for value, character in enumerate(_ALPHABET)}


def encode(data: bytes) -> str:
    """Return the text of `data`: three characters for two bytes, two for a last single byte."""
    text = []
    for place in range(0, len(data), 2):
        piece = data[place : place + 2]
        number = int.from_bytes(piece, "big")
        for _ in range(len(piece) + 1):
            number, digit = divmod(number, 45)
            text.append(_ALPHABET[digit])
    return "".join(text)


def decode(text: str) -> bytes:
    """Return the bytes of `text`. ValueError if it is not base45."""
    try:
        digits = [_VALUES[character] for character in text]
    except KeyError:
        raise ValueError("a character that is not in base45") from None
    data = bytearray()
    for place in range(0, len(digits), 3):
        piece = digits[place : place + 3]
        number = sum(digit * 45**power for power, digit in enumerate(piece))
        size = len(piece) - 1
        if size == 0 or number >= 256**size:
            raise ValueError("a group of characters that stands for no bytes")
        data += number.to_bytes(size, "big")
    return bytes(data)
