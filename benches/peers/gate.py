# The gate hook as a script people would write for Python: message, state file, matrix, a pattern for commands.
import json
import os
import re
import sys

message = json.load(sys.stdin)
folder = os.path.abspath(message["cwd"])
while True:
    file = os.path.join(folder, ".develop-workflow", "state.json")
    if os.path.exists(file):
        break
    if os.path.dirname(folder) == folder:
        sys.exit(0)
    folder = os.path.dirname(folder)
with open(file, encoding="utf-8") as opened:
    state = json.load(opened)
phase, gates = state["phase"], state["gates"]
write = {"IMPLEMENT": ["review_clean_pass"], "PR": ["review_clean_pass", "architect_verified"]}
finish = {**write, "PR": [*write["PR"], "re_review_clean"]}
command = message["tool_input"].get("command", "")
needed = []
if message["tool_name"] in ("Write", "Edit", "MultiEdit", "NotebookEdit"):
    needed = write.get(phase, [])
elif re.search(r"\b(git\s+(commit|push|merge|rebase|pull)|gh\s+pr\s+(create|merge))\b", command):
    needed = finish.get(phase, [])
elif re.search(r"(^|[^0-9&>])>{1,2}\s*[^&\s/]|\bsed\s+-i|\btee\s+[^/]", command):
    needed = write.get(phase, [])
missing = [gate for gate in needed if gates.get(gate) is not True]
if missing:
    print(f"[PHASE GATE] {phase}: closed gates: {', '.join(missing)}", file=sys.stderr)
    sys.exit(2)
