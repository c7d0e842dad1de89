"""Which URLs may be endpoints, and to which addresses webhooks may be sent."""

from ipaddress import ip_address

import pytest

from ticketing.config import webhook_allow
from ticketing.errors import Invalid
from ticketing.services.notifications import webhook_urls

NOTHING = ()


def allow(text):
    return webhook_allow({"WEBHOOK_ALLOW": text})


def is_refused(url, allowed=NOTHING):
    try:
        webhook_urls.check(url, allowed)
    except Invalid as refusal:
        assert refusal.extensions["errors"].keys() == {"url"}
        return True
    return False


def judged(port, scheme, allowed, *addresses):
    found = webhook_urls.judge(map(ip_address, addresses), port, scheme, allowed)
    return found.is_permitted, found.is_shown


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org",
        "https://hooks.example.org/a/b?c=d&e=%2F",
        "HTTPS://Hooks.Example.ORG:8443/",
        "https://example.org:443/",
        "https://xn--bcher-kva.example/",
        "https://8.8.8.8/",
        "https://[2606:4700:4700::1111]:8443/",
        "https://intern/",
        "https://example.org/" + "x" * (2048 - 20),
    ],
)
def test_it_takes_the_urls_of_public_servers(url):
    assert not is_refused(url)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.org",
        "//example.org/",
        "https://",
        "https:///path",
        "https:example.org",
        "http://example.org/",
        "ftp://example.org/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "https://example.org:80/",
        "https://example.org:8080/",
        "https://example.org:0/",
        "https://example.org:65536/",
        "https://example.org:443x/",
        "https://example.org:/",
        "https://user@example.org/",
        "https://user:password@example.org/",
        "https://@example.org/",
        "https://example.org\\@127.0.0.1/",
        "https://example.org/#fragment",
        "https://example.org/#",
        "https://example.org/a b",
        " https://example.org/",
        "https://example.org/\n",
        "https://example.org/\x00",
        "https://exa\tmple.org/",
        "https://bücher.example/",
        "https://example.org/ü",
        "https://\uff1127.0.0.1/",
        "https://ex%61mple.org/",
        "https://example..org/",
        "https://.example.org/",
        "https://example.org./",
        "https://-example.org/",
        "https://example-.org/",
        "https://" + "x" * 64 + ".org/",
        "https://" + "x." * 130 + "org/",
        "https://[::1",
        "https://[example.org]/",
        "https://[8.8.8.8]/",
        "https://2606:4700:4700::1111/",
        "https://example.org/" + "x" * (2049 - 20),
    ],
)
def test_it_refuses_urls_that_break_a_rule(url):
    assert is_refused(url)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f000001",
        "0x7f.0.0.1",
        "0X7F.1",
        "0177.0.0.1",
        "017700000001",
        "127.0.0.0x1",
        "0x",
        "134744072",
        "1.2.3.4.5",
        "0",
        "0.0.0.0",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.9",
        "192.0.0.192",
        "192.0.2.1",
        "192.88.99.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.255.255.250",
        "240.0.0.1",
        "255.255.255.255",
        "[::]",
        "[::1]",
        "[::127.0.0.1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[0:0:0:0:0:ffff:a00:1]",
        "[::ffff:169.254.169.254]",
        "[::ffff:0:7f00:1]",
        "[64:ff9b::8.8.8.8]",
        "[64:ff9b:1::1]",
        "[100::1]",
        "[2001::1]",
        "[2001:0:4136:e378:8000:63bf:3fff:fdd2]",
        "[2001:20::1]",
        "[2001:db8::1]",
        "[2002:7f00:1::]",
        "[2002:808:808::]",
        "[3fff::1]",
        "[5f00::1]",
        "[fc00::1]",
        "[fd00:ec2::254]",
        "[fe80::1]",
        "[fe80::1%25eth0]",
        "[fec0::1]",
        "[ff02::1]",
    ],
)
def test_it_refuses_addresses_that_are_not_public_in_every_spelling(host):
    assert is_refused(f"https://{host}/")


def test_with_webhook_allow_its_networks_decide():
    some = allow("127.0.0.0/8, 10.1.0.0/16:8080 fd00::/8:9000")
    for url in ("http://127.0.0.1:5000/", "https://127.9.9.9/", "http://10.1.2.3:8080/x"):
        assert not is_refused(url, some) and is_refused(url)
    assert not is_refused("http://[fd12::1]:9000/", some)
    assert not is_refused("http://[::ffff:127.0.0.1]:1/", some)
    # What a name resolves to is judged when something is delivered.
    assert not is_refused("http://receiver:5000/", some)
    for url in (
        "http://10.1.2.3:8081/",
        "http://10.2.0.1:8080/",
        "http://8.8.8.8/",
        "https://8.8.8.8:5000/",
        "http://[fd12::1]/",
        "http://169.254.169.254/",
        "http://2130706433/",
        "ftp://127.0.0.1/",
        "http://user@127.0.0.1/",
    ):
        assert is_refused(url, some), url


def test_one_refused_address_refuses_the_name():
    assert judged(443, "https", NOTHING, "8.8.8.8", "2606:4700::1111") == (True, True)
    for bad in ("127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::808:808", "fd00:ec2::254", "224.0.0.1"):
        assert judged(443, "https", NOTHING, "8.8.8.8", bad)[0] is False
    assert judged(443, "https", NOTHING)[0] is False


def test_public_addresses_are_called_by_https_on_two_ports_only():
    for port, scheme in ((443, "https"), (8443, "https")):
        assert judged(port, scheme, NOTHING, "8.8.8.8") == (True, True)
    for port, scheme in ((80, "http"), (443, "http"), (9000, "https")):
        assert judged(port, scheme, NOTHING, "8.8.8.8")[0] is False
        assert judged(port, scheme, allow("10.0.0.0/8"), "8.8.8.8")[0] is False


def test_what_answers_from_an_allowed_network_is_not_shown():
    some = allow("10.0.0.0/8,127.0.0.0/8:80")
    assert judged(80, "http", some, "10.1.1.1") == (True, False)
    assert judged(443, "https", some, "8.8.8.8", "10.1.1.1") == (True, False)
    assert judged(80, "http", some, "::ffff:127.0.0.1") == (True, False)
    assert judged(81, "http", some, "127.0.0.1") == (False, True)
    assert judged(80, "http", some, "10.1.1.1", "8.8.8.8")[0] is False
    assert judged(443, "https", some, "8.8.8.8") == (True, True)


@pytest.mark.parametrize(
    ("url", "authority", "path"),
    [
        ("https://Example.org", "example.org", "/"),
        ("https://example.org:443/a?b=c", "example.org", "/a?b=c"),
        ("https://example.org:8443/a/?", "example.org:8443", "/a/"),
        ("http://example.org:443/", "example.org:443", "/"),
        ("https://[2606:4700::1111]:8443/x", "[2606:4700::1111]:8443", "/x"),
        ("https://example.org?x=1", "example.org", "/?x=1"),
    ],
)
def test_a_url_becomes_a_host_header_and_a_path(url, authority, path):
    target = webhook_urls.parse(url)
    assert (target.authority, target.path) == (authority, path)
