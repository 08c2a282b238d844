"""The ACL signature; that real brokers accept it is shown in test_acl.py."""

from rocketmq_remoting.protocol.signature import Credentials, sign


def test_the_signature_covers_values_by_name_order_and_the_body() -> None:
    signed = sign(Credentials("key", "secret"), {"b": "2", "a": "1"}, b"body")
    # echo -n 'key12body' | openssl dgst -sha1 -hmac secret -binary | base64
    assert signed == {"b": "2", "a": "1", "AccessKey": "key", "Signature": "RO+2E9a0n4A4OVx5POCCEy+V7cw="}


def test_another_body_has_another_signature() -> None:
    credentials = Credentials("key", "secret")
    assert sign(credentials, {}, b"a")["Signature"] != sign(credentials, {}, b"b")["Signature"]


def test_the_secret_is_in_no_text_form() -> None:
    assert "secret" not in repr(Credentials("key", "secret"))
