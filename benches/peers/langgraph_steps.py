# A graph of five nodes, each kept in SQLite before the next: seconds per run, on the last line.
import sqlite3
import sys
import time
from typing import TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

folder, runs = sys.argv[1], int(sys.argv[2])


class State(TypedDict):
    number: int


def step(state: State) -> State:
    return {"number": state["number"] + 1}


graph = StateGraph(State)
names = [f"step{number}" for number in range(5)]
for name in names:
    graph.add_node(name, step)
for before, after in zip([START, *names], [*names, END]):
    graph.add_edge(before, after)
saver = SqliteSaver(sqlite3.connect(f"{folder}/langgraph.sqlite", check_same_thread=False))
work = graph.compile(checkpointer=saver)


def run(number: int) -> None:
    config = {"configurable": {"thread_id": str(number)}}
    assert work.invoke({"number": 0}, config, durability="sync")["number"] == 5


for number in range(5):
    run(-1 - number)
begun = time.perf_counter()
for number in range(runs):
    run(number)
print((time.perf_counter() - begun) / runs, flush=True)
