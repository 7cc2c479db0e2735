"""LangGraph with its Postgres checkpointer on a chain of ten steps, many runs at the same time."""

import json
import statistics
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TypedDict

from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.graph import END, START, StateGraph
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool


class State(TypedDict):
    n: int


def chain(count):
    graph = StateGraph(State)
    for index in range(count):
        graph.add_node(f"s{index}", lambda state: {"n": state["n"]})
    graph.add_edge(START, "s0")
    for index in range(count - 1):
        graph.add_edge(f"s{index}", f"s{index + 1}")
    graph.add_edge(f"s{count - 1}", END)
    return graph


address, steps = sys.argv[1], int(sys.argv[2])
settings = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
pool = ConnectionPool(address, min_size=1, max_size=64, kwargs=settings)
saver = PostgresSaver(pool)
saver.setup()
app = chain(steps).compile(checkpointer=saver)
count = 0
lock = threading.Lock()


def run():
    global count
    with lock:
        count += 1
        thread = str(count)
    begun = time.perf_counter()
    result = app.invoke({"n": 7}, {"configurable": {"thread_id": thread}}, durability="sync")
    assert result["n"] == 7
    return time.perf_counter() - begun


for line in sys.stdin:
    runs, at_once = json.loads(line)
    begun = time.perf_counter()
    with ThreadPoolExecutor(at_once) as threads:
        took = sorted(threads.map(lambda _: run(), range(runs)))
    seconds = time.perf_counter() - begun
    print(json.dumps({"seconds": seconds, "took": took}), flush=True)
