"""PyYAML loads the flow: its C scanner with a safe constructor, and all of it in Python."""


def load_with(text, name):
    try:
        import yaml
    except ImportError:
        raise Missing("PyYAML is not installed; run bench/peers.sh") from None
    loader = getattr(yaml, name, None)
    if loader is None:
        raise Missing("PyYAML was built without libyaml")

    def load():
        return yaml.load(text, Loader=loader)

    def nodes():
        flow = load()
        return "{} nodes, {} edges".format(len(flow["nodes"]), len(flow["edges"]))

    return Row(load, nodes)


@row("c")
def c_scanner(text):
    return load_with(text, "CSafeLoader")


@row("pure")
def pure(text):
    return load_with(text, "SafeLoader")


serve()
