"""The public keys that check QR codes, as a JWK set (RFC 7517, RFC 8037)."""

from marshmallow import fields

from schemas.base import BaseSchema, documented


class TicketKeySchema(BaseSchema):
    """A public key (Ed25519). `kid` is the key number in QR codes."""

    kty = fields.String(required=True, metadata=documented("OKP"))
    crv = fields.String(required=True, metadata=documented("Ed25519"))
    alg = fields.String(required=True, metadata=documented("EdDSA"))
    use = fields.String(required=True, metadata=documented("sig"))
    kid = fields.String(required=True, metadata=documented("1"))
    x = fields.String(
        required=True,
        metadata=documented(
            "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", "The 32 bytes of the key, base64url."
        ),
    )
    newest = fields.Boolean(
        required=True, metadata={"description": "Whether new QR codes are signed with it."}
    )


class TicketKeysSchema(BaseSchema):
    """All public keys of a tenant: a QR code may be older than the newest key."""

    keys = fields.List(fields.Nested(TicketKeySchema), required=True)
