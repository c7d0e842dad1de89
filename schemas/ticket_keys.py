"""The public keys that check QR codes, as a JWK set (RFC 7517, RFC 8037)."""

from schemas.base import BaseSchema, ListOf, String, YesNo


class TicketKeySchema(BaseSchema):
    """A public key (Ed25519). `kid` is the key number in QR codes."""

    kty = String("OKP")
    crv = String("Ed25519")
    alg = String("EdDSA")
    use = String("sig")
    kid = String("1")
    x = String("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", "The 32 bytes of the key, base64url.")
    newest = YesNo(description="Whether new QR codes are signed with it.")


class TicketKeysSchema(BaseSchema):
    """All public keys of a tenant: a QR code may be older than the newest key."""

    keys = ListOf(TicketKeySchema)
