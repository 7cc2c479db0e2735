"""CPython's json and hashlib on the same system document: parsing, canonical text and hash, and no rule."""

import hashlib


def digest(document):
    text = json.dumps(document, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


@row("whole")
def whole(text):
    def work():
        return digest(json.loads(text))

    return Row(work, work)


@row("load")
def load(text):
    def count():
        return str(len(json.loads(text)["nodes"]))

    return Row(count, count)


@row("fingerprint")
def fingerprint(text):
    document = json.loads(text)

    def work():
        return digest(document)

    return Row(work, work)


serve()
