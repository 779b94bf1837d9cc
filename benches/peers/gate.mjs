// The gate hook as a script people would write for Node: message, state file, matrix, a pattern for commands.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

const message = JSON.parse(readFileSync(0, "utf8"));
let folder = resolve(message.cwd);
let file = null;
for (;;) {
  const here = join(folder, ".develop-workflow", "state.json");
  if (existsSync(here)) {
    file = here;
    break;
  }
  if (dirname(folder) === folder) break;
  folder = dirname(folder);
}
if (!file) process.exit(0);
const { phase, gates } = JSON.parse(readFileSync(file, "utf8"));
const write = { IMPLEMENT: ["review_clean_pass"], PR: ["review_clean_pass", "architect_verified"] };
const finish = { ...write, PR: [...write.PR, "re_review_clean"] };
const command = message.tool_input.command ?? "";
let needed = [];
if (["Write", "Edit", "MultiEdit", "NotebookEdit"].includes(message.tool_name)) needed = write[phase] ?? [];
else if (/\b(git\s+(commit|push|merge|rebase|pull)|gh\s+pr\s+(create|merge))\b/.test(command)) needed = finish[phase] ?? [];
else if (/(^|[^0-9&>])>{1,2}\s*[^&\s/]|\bsed\s+-i|\btee\s+[^/]/.test(command)) needed = write[phase] ?? [];
const missing = needed.filter((gate) => gates[gate] !== true);
if (missing.length) {
  console.error(`[PHASE GATE] ${phase}: closed gates: ${missing.join(", ")}`);
  process.exit(2);
}
