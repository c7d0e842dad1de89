"""Base45 as in RFC 9285, with its examples."""

import pytest

from ticketing.services.door import base45


@pytest.mark.parametrize(
    ("data", "text"),
    [(b"AB", "BB8"), (b"Hello!!", "%69 VD92EX0"), (b"base-45", "UJCLQE7W581"), (b"", "")],
)
def test_the_examples_of_the_rfc(data, text):
    assert base45.encode(data) == text
    assert base45.decode(text) == data


def test_every_length_comes_back():
    for length in range(120):
        data = bytes((each * 151 + length) % 256 for each in range(length))
        assert base45.decode(base45.encode(data)) == data


@pytest.mark.parametrize("text", ["A", "AAAA", "GGW", ":::", "::", "ab", "é", "B\n8", "BB8 "])
def test_what_is_not_base45_is_refused(text):
    with pytest.raises(ValueError):
        base45.decode(text)
