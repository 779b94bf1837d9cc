/** What the agents of the tests do. Each is a scenario of `bowline scripted`. */

const ESC = '\\u001b';

/** Every decision there is: a question, a secret, a review that asks for changes, two approvals. */
export const everything = `
[[step]]
raw = "${ESC}[1;34mStarting${ESC}[0m the plan\\n"
[[step]]
progress = { step = 1, of = 2, name = "outline" }
[[step]]
write = { path = "docs/plan.md", text = "# Plan\\n\\nfirst line\\nsecond line\\nthird line\\n" }
[[step]]
ask = { question = "Where do pictures live?", category = "choice", options = ["repository", "bucket"] }
[[step]]
wait = "question_answer"
[[step]]
say = "So in the {input}."
[[step]]
need = { type = "api_key", name = "PICTURE_KEY", description = "Key of the picture store" }
[[step]]
wait = "DEPENDENCY_PROVIDED"
[[step]]
say = "Thank you for the key."
[[step]]
phase = { number = 1, name = "Plan", files = ["docs/plan.md"] }
[[step]]
wait = "REVIEW_REJECTED"
[[step]]
say = "Told to change: {input}"
[[step]]
write = { path = "docs/plan.md", text = "# Plan\\n\\nfirst line\\nsecond line, better\\nthird line\\n" }
[[step]]
phase = { number = 1, name = "Plan", files = ["docs/plan.md"] }
[[step]]
wait = "PHASE_START"
[[step]]
write = { path = "docs/build.md", text = "# Build\\n" }
[[step]]
phase = { number = 2, name = "Build", files = ["docs/build.md"] }
[[step]]
wait = ""
`;

/** Works until somebody decides otherwise. */
export const busy = `
[[step]]
say = "I am at work."
[[step]]
usage = { input = 1200, output = 300 }
[[step]]
hold = true
`;

/** Waits in its first review. */
export const reviewing = `
[[step]]
write = { path = "docs/plan.md", text = "# Plan\\n\\nfirst line\\nsecond line\\n" }
[[step]]
phase = { number = 1, name = "Plan", files = ["docs/plan.md"] }
[[step]]
wait = ""
`;

/** Says everything that could hurt a page that believes it. */
export const hostile = `
[[step]]
raw = "<script>window.hurt = 1</script><img src=x onerror='window.hurt=2'>\\n"
[[step]]
raw = "${ESC}]0;title\\u0007${ESC}]8;;javascript:window.hurt=3\\u0007click${ESC}]8;;\\u0007\\n"
[[step]]
raw = "${ESC}[2J${ESC}[999;999H${ESC}[?1049h${ESC}[31mred${ESC}[0m\\n"
[[step]]
raw = "safe \\u202egnp.exe\\u202c \\u200bhidden \\u2066isolate\\u2069\\n"
[[step]]
flood = { bytes = 1100000, line_bytes = 0 }
[[step]]
raw = "\\n"
[[step]]
write = { path = "docs/evil.md", text = "# Evil\\n\\n<script>window.hurt=4</script>\\n<img src=x onerror=window.hurt=5>\\n<iframe src='http://elsewhere.example/'></iframe>\\n\\n![out](http://elsewhere.example/x.png)\\n\\n[link](javascript:window.hurt=6)\\n\\n<style>body{display:none}</style>\\n\\nThe end of the document.\\n" }
[[step]]
write = { path = "docs/evil.html", text = "<script>window.hurt=7</script>" }
[[step]]
ask = { question = "<b onmouseover='window.hurt=8'>Bold?</b> \\u202eesrever", category = "choice", options = ["<i>yes</i>", "no"] }
[[step]]
wait = "question_answer"
[[step]]
phase = { number = 1, name = "<script>window.hurt=9</script>", files = ["docs/evil.md"] }
[[step]]
wait = ""
`;

/** Ten thousand lines a second for some seconds. */
export const steady = `${'[[step]]\nflood = { bytes = 80000, line_bytes = 80 }\n[[step]]\nsleep_ms = 95\n'.repeat(60)}
[[step]]
hold = true
`;

/** A line five times a second for a minute. */
export const ticking = `${'[[step]]\nraw = "tick\\n"\n[[step]]\nsleep_ms = 200\n'.repeat(300)}
[[step]]
hold = true
`;

/** A hundred thousand lines and more, then a little more on demand. */
export const flood = `
[[step]]
flood = { bytes = 8000000, line_bytes = 80 }
[[step]]
say = "The last line of the flood."
[[step]]
hold = true
`;

/** A line of a client with structured output. */
const line = (message) => `[[step]]\nraw = '''${JSON.stringify(message)}\n'''\n`;
const uses = (id, name, input) => line({ type: 'assistant', message: { content: [{ type: 'tool_use', id, name, input }] } });

/** Speaks as a client with structured output: words, tools, a changed file. */
export const talking = `
protocol = "claude-stream-json"
[[step]]
say = "I look at the page of a trail first. It loads **four** pictures at once."
${uses('t1', 'Read', { file_path: 'src/trail.ts' })}
${uses('t2', 'Bash', { command: 'npm run measure -- /trails/100', description: 'Measure the page' })}
${uses('t3', 'Edit', { file_path: 'src/trail.ts', old_string: "import { show } from './pictures';\nconst first = 4;\nshow(first);", new_string: "import { show } from './pictures';\nconst first = 1;\nshow(first);\nlater(3);" })}
[[step]]
say = "One picture comes first now; the others follow when they are in view."
[[step]]
write = { path = "docs/plan.md", text = "# Plan\\n\\nOne picture first.\\n" }
[[step]]
usage = { input = 41200, output = 5300, usd = 0.87 }
[[step]]
phase = { number = 1, name = "Plan", files = ["docs/plan.md"] }
[[step]]
wait = ""
[[step]]
hold = true
`;

/** Asks whether it may use a tool, and waits. */
export const careful = `
protocol = "claude-stream-json"
[[step]]
say = "The release is ready to be published."
[[step]]
leave = { tool = "Bash", input = { command = "npm publish --access public", description = "Publish the package" } }
[[step]]
hold = true
`;

/** Asks what can be answered in a word. */
export const asking = `
[[step]]
ask = { question = "Where does the path begin?", category = "choice", options = ["harbour", "lighthouse"] }
[[step]]
wait = ""
`;

/** Needs a value, and can go on without it. */
export const needing = `
[[step]]
need = { type = "api_key", name = "PATH_KEY", description = "Key of the path", required = false }
[[step]]
wait = ""
`;

/** Shows two files, and one of them changed after it was told so. */
export const reworking = `
[[step]]
write = { path = "docs/plan.md", text = "# Plan\\n\\nfirst\\nsecond\\nthird\\n" }
[[step]]
write = { path = "docs/other.md", text = "# Other\\n\\nstays\\n" }
[[step]]
phase = { number = 1, name = "Plan", files = ["docs/plan.md", "docs/other.md"] }
[[step]]
wait = "REVIEW_REJECTED"
[[step]]
say = "Told to change: {input}"
[[step]]
write = { path = "docs/plan.md", text = "# Plan\\n\\none line for three\\n" }
[[step]]
phase = { number = 1, name = "Plan", files = ["docs/plan.md", "docs/other.md"] }
[[step]]
wait = ""
`;

/** Two phases with much to read in each. */
export const phased = `
[[step]]
raw = "Starting Phase 1: Plan\\n"
[[step]]
progress = { step = 1, of = 2, name = "Read the brief" }
[[step]]
progress = { step = 2, of = 2, name = "Write the plan" }
[[step]]
flood = { bytes = 16000, line_bytes = 80 }
[[step]]
write = { path = "docs/plan.md", text = "# Plan\\n" }
[[step]]
phase = { number = 1, name = "Plan", files = ["docs/plan.md"] }
[[step]]
wait = "PHASE_START"
[[step]]
raw = "${ESC}[1;34mStarting Phase 2: Build${ESC}[0m\\n"
[[step]]
flood = { bytes = 16000, line_bytes = 80 }
[[step]]
write = { path = "docs/build.md", text = "# Build\\n" }
[[step]]
raw = "The end of phase two.\\n"
[[step]]
phase = { number = 2, name = "Build", files = ["docs/build.md"] }
[[step]]
wait = ""
`;

/** Runs into a limit of its provider, which ends in some minutes. */
export const limited = `
[[step]]
say = "The first half is there."
[[step]]
limit = { retry_after = 900 }
[[step]]
wait = ""
`;

/** A file with more lines than three digits count. */
export const long = `
[[step]]
write = { path = "docs/plan.md", text = "# Plan\\n" }
[[step]]
write = { path = "docs/long.txt", text = "${Array.from({ length: 2100 }, (_, at) => `line ${at + 1}`).join('\\n')}\\n" }
[[step]]
phase = { number = 1, name = "Plan", files = ["docs/plan.md", "docs/long.txt"] }
[[step]]
wait = ""
`;

/** Asks what is answered in one's own words, then needs a secret. */
export const wondering = `
[[step]]
ask = { question = "What is the path called?", category = "clarification" }
[[step]]
wait = "question_answer"
[[step]]
need = { type = "api_key", name = "MAP_KEY", description = "Key of the map" }
[[step]]
wait = ""
`;
