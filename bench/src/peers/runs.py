"""LangGraph runs the same graphs: in memory, and with its SQLite checkpointer in sync mode."""

import itertools
import operator
import os
import sqlite3
import tempfile
from concurrent.futures import ThreadPoolExecutor

try:
    from typing import Annotated, TypedDict

    from langgraph.graph import END, START, StateGraph
    from langgraph.checkpoint.sqlite import SqliteSaver
except ImportError:
    StateGraph = None


def linear(count, condition=False):
    class State(TypedDict):
        n: int

    graph = StateGraph(State)
    for index in range(count):
        graph.add_node(f"s{index}", lambda state: {"n": state["n"]})
    graph.add_edge(START, "s0")
    for index in range(count - 1):
        if condition:
            target = f"s{index + 1}"
            graph.add_conditional_edges(
                f"s{index}", lambda state, target=target: target if state["n"] > 0 else END, [target, END]
            )
        else:
            graph.add_edge(f"s{index}", f"s{index + 1}")
    graph.add_edge(f"s{count - 1}", END)
    return graph, lambda result: str(result["n"])


def fan(width):
    class State(TypedDict):
        n: int
        seen: Annotated[list, operator.add]

    graph = StateGraph(State)
    for index in range(width):
        graph.add_node(f"s{index}", lambda state: {"seen": [state["n"]]})
        graph.add_edge(START, f"s{index}")
    graph.add_node("join", lambda state: {"n": state["n"]})
    graph.add_edge([f"s{index}" for index in range(width)], "join")
    graph.add_edge("join", END)
    return graph, lambda result: str(result["n"])


GRAPHS = {"linear100": lambda: linear(100), "fan10": lambda: fan(10), "cond50": lambda: linear(50, True)}


def request(name):
    return {"n": 7, "seen": []} if name == "fan10" else {"n": 7}


def in_memory(name):
    def prepare(_):
        if StateGraph is None:
            raise Missing("langgraph is not installed; run bench/peers.sh")
        graph, answer = GRAPHS[name]()
        app = graph.compile()
        settings = {"recursion_limit": 1000}
        work = lambda: app.invoke(request(name), settings)
        return Row(work, lambda: answer(work()))

    return prepare


def durable(name, at_once=1):
    """With several runs at once each has a thread of its own; they share the checkpointer, as its authors mean it."""

    def prepare(_):
        if StateGraph is None:
            raise Missing("langgraph is not installed; run bench/peers.sh")
        graph, answer = GRAPHS[name]()
        folder = tempfile.mkdtemp()
        connection = sqlite3.connect(os.path.join(folder, "checkpoints.sqlite"), check_same_thread=False)
        saver = SqliteSaver(connection)
        # What is acknowledged survives a power loss, as in our journal.
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        app = graph.compile(checkpointer=saver)
        threads = itertools.count()
        pool = ThreadPoolExecutor(at_once)

        def run():
            settings = {"recursion_limit": 1000, "configurable": {"thread_id": str(next(threads))}}
            return app.invoke(request(name), settings, durability="sync")

        def work():
            if at_once == 1:
                return run()
            return [begun.result() for begun in [pool.submit(run) for _ in range(at_once)]][-1]

        return Row(work, lambda: answer(work()))

    return prepare


for name in GRAPHS:
    row(f"{name}_memory")(in_memory(name))
    row(f"{name}_durable")(durable(name))
row("many_durable")(durable("linear100", 32))

serve()
