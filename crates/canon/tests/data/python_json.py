"""Reads tagged values, a line each, and answers how CPython's json writes them in each layout."""

import hashlib
import json
import struct
import sys

sys.set_int_max_str_digits(0)

LAYOUTS = {
    "python_spaced": {"sort_keys": True},
    "compact_utf8": {"sort_keys": True, "separators": (",", ":"), "ensure_ascii": False},
    "pretty_sorted_utf8": {"sort_keys": True, "indent": 2, "ensure_ascii": False},
    "pretty_insertion_ascii": {"indent": 2},
    "compact_ascii": {"separators": (",", ":")},
}


def text(codes):
    return "".join(map(chr, codes))


def build(tagged):
    if not isinstance(tagged, dict):
        return tagged
    [(tag, content)] = tagged.items()
    if tag == "f":
        return struct.unpack(">d", bytes.fromhex(content))[0]
    if tag == "i":
        return int(content)
    if tag == "s":
        return text(content)
    if tag == "a":
        return [build(item) for item in content]
    return {text(key): build(value) for key, value in content}


def main():
    whole_texts = sys.argv[1:] == ["--texts"]
    for line in sys.stdin:
        value = build(json.loads(line))
        texts = {name: json.dumps(value, **options) for name, options in LAYOUTS.items()}
        if not whole_texts:
            for name in LAYOUTS:
                if name != "python_spaced":
                    texts[name] = hashlib.sha256(texts[name].encode()).hexdigest()
        print(json.dumps(texts))


main()
