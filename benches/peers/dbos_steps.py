# A function of five steps, each kept in SQLite before the next: seconds per run, on the last line.
import logging
import sys
import time

from dbos import DBOS

folder, runs = sys.argv[1], int(sys.argv[2])
logging.disable(logging.CRITICAL)
DBOS(config={"name": "steps", "system_database_url": f"sqlite:///{folder}/dbos.sqlite", "run_admin_server": False})


@DBOS.step()
def step(number: int) -> int:
    return number + 1


@DBOS.workflow()
def work() -> int:
    number = 0
    for _ in range(5):
        number = step(number)
    return number


DBOS.launch()
for _ in range(5):
    work()
begun = time.perf_counter()
for _ in range(runs):
    assert work() == 5
print((time.perf_counter() - begun) / runs, flush=True)
DBOS.destroy()
