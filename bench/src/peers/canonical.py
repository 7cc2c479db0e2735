"""CPython's json and hashlib on the same document, and the package `rfc8785` when it is installed."""

import hashlib


def sha256(text):
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def dumped(text, **options):
    document = json.loads(text)

    def digest():
        return sha256(json.dumps(document, sort_keys=True, **options))

    return Row(digest, digest)


@row("python_spaced")
def python_spaced(text):
    return dumped(text)


@row("compact_utf8")
def compact_utf8(text):
    return dumped(text, ensure_ascii=False, separators=(",", ":"))


@row("rfc8785")
def rfc(text):
    try:
        import rfc8785
    except ImportError:
        raise Missing("the package rfc8785 is not installed; run bench/peers.sh") from None
    document = json.loads(text)

    def digest():
        return hashlib.sha256(rfc8785.dumps(document)).hexdigest()

    return Row(digest, digest)


@row("loads")
def loads(text):
    return Row(lambda: json.loads(text), lambda: "{} members".format(len(json.loads(text))))


@row("sha256")
def only_sha256(text):
    data = text.encode("utf-8")

    def digest():
        return hashlib.sha256(data).hexdigest()

    return Row(digest, digest)


serve()
