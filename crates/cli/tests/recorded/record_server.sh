#!/bin/sh
# Makes the data folder of a task server that is killed in the middle of everything.
# Called by record.sh, which sets $past, BOWLINE_DATA and the environment.
set -eu
mkdir -p "$past/server/agents"
cd "$past/server"

# agent NAME [PROTOCOL]: an agent that plays the steps on standard input.
agent() {
  protocol=${2:-markers}
  { echo "protocol = \"$protocol\""; echo 'session = "00000000-0000-4000-8000-000000000001"'; cat; } > "agents/$1.toml"
  printf '[agent.%s]\ncommand = ["bowline", "scripted", "%s/server/agents/%s.toml"]\nprotocol = "%s"\n' \
    "$1" "$past" "$1" "$protocol" >> agents.toml
}
: > agents.toml
agent sleeps << 'END'
[[step]]
say = "I begin."
[[step]]
progress = { step = 2, of = 5, name = "tea leaves" }
[[step]]
write = { path = "tea.md", text = "green\n" }
[[step]]
exec = ["sleep", "600"]
END
agent asks << 'END'
[[step]]
ask = { question = "Which tea?", category = "choice", options = ["green", "black"] }
[[step]]
ask = { question = "How hot?", category = "clarification", default = "80", required = false }
[[step]]
progress = { step = 3, of = 4, name = "asked" }
[[step]]
done = { summary = "asked too soon" }
[[step]]
wait = "NEVER"
END
agent wonders << 'END'
[[step]]
ask = { question = "A cup?", category = "confirmation", default = "yes", required = false }
[[step]]
wait = "question_answer"
[[step]]
ask = { question = "A pot?", category = "business", default = "no", required = false }
[[step]]
wait = "question_answer"
[[step]]
ask = { question = "Milk?", category = "clarification", required = true }
[[step]]
wait = "question_answer"
[[step]]
say = "So {input}."
[[step]]
done = { summary = "tea" }
[[step]]
wait = "NEVER"
END
agent needs << 'END'
[[step]]
need = { type = "env_variable", name = "TEA_SHOP", description = "where to buy", required = true }
[[step]]
wait = "DEPENDENCY_PROVIDED"
[[step]]
need = { type = "file", name = "TEA_LIST", description = "what to buy", default = "all", required = false }
[[step]]
wait = "DEPENDENCY_REJECTED"
[[step]]
need = { type = "api_key", name = "TEA_KEY", description = "to pay", required = true }
[[step]]
exec = ["sleep", "600"]
END
agent pays << 'END'
[[step]]
need = { type = "api_key", name = "TEA_KEY", description = "to pay", required = true }
[[step]]
wait = "NEVER"
END
agent limited << 'END'
[[step]]
limit = { retry_after = 360000 }
[[step]]
wait = "NEVER"
END
agent writes << 'END'
[[step]]
write = { path = "note.md", text = "# Note\n\nTea is hot.\n" }
[[step]]
progress = { step = 1, of = 1, name = "note" }
[[step]]
phase = { number = 1, name = "Write", files = ["note.md"] }
[[step]]
loop = { on = ["REVIEW_REJECTED"], until = "REVIEW_APPROVED", step = [
  { write = { path = "note.md", append = true, text = "{input}\n" } },
  { phase = { number = 1, name = "Write", files = ["note.md"] } },
] }
[[step]]
write = { path = "print.md", text = "printed\n" }
[[step]]
phase = { number = 2, name = "Print", files = ["print.md"] }
[[step]]
wait = "NEVER"
END
agent stubborn << 'END'
[[step]]
write = { path = "note.md", text = "Tea is hot.\n" }
[[step]]
phase = { number = 1, name = "Write", files = ["note.md"] }
[[step]]
loop = { on = ["REWORK"], until = "REVIEW_APPROVED", step = [ { phase = { number = 1, name = "Write", files = ["note.md"] } } ] }
END
agent works << 'END'
[[step]]
say = "I work."
[[step]]
write = { path = "note.md", text = "# Note\n" }
[[step]]
done = { summary = "a note" }
[[step]]
wait = "NEVER"
END
agent fatal << 'END'
[[step]]
fail = { message = "no water", fatal = true }
[[step]]
wait = "NEVER"
END
agent worries << 'END'
[[step]]
fail = { message = "the water is cold", fatal = false }
[[step]]
exec = ["sleep", "600"]
END
agent exits << 'END'
[[step]]
exit = 3
END
agent permits claude-stream-json << 'END'
[[step]]
usage = { input = 100, output = 20, usd = 0.25 }
[[step]]
leave = { tool = "Bash", input = { command = "cargo test" } }
[[step]]
say = "The answer was {input}"
[[step]]
tool = { name = "Read", output = "green" }
[[step]]
leave = { tool = "Write", input = { file_path = "tea.md", content = "green" } }
[[step]]
leave = { tool = "Bash", input = { command = "rm -rf tea" } }
[[step]]
leave = { tool = "Bash", input = { command = "cargo build" } }
[[step]]
wait = "NEVER"
END
agent spends claude-stream-json << 'END'
[[step]]
usage = { input = 900, output = 200, usd = 1.5 }
[[step]]
say = "That was dear."
[[step]]
wait = ""
[[step]]
wait = "NEVER"
END
agent talks codex-json << 'END'
[[step]]
say = "I read the list."
[[step]]
usage = { input = 30, output = 7 }
[[step]]
done = { summary = "read" }
END
printf '[agent.missing]\ncommand = ["/nowhere/agent"]\n' >> agents.toml

# settings SLOTS QUESTION_TIMEOUT DEPENDENCY_TIMEOUT
settings() {
  cat > bowline.toml << END
[defaults]
agent = "sleeps"
[limits]
slots = $1
reworks = 1
question_timeout = "$2"
dependency_timeout = "$3"
[notify]
webhook = "http://127.0.0.1:9/hook"
[type.note]
app = ["sh", "-c", "exec sleep 600"]
[[type.note.phases]]
name = "Write"
steps = ["outline", "text"]
deliverables = ["note.md"]
[[type.note.phases]]
name = "Print"
deliverables = ["print.md"]
[[type.slow.phases]]
name = "Write"
check = ["sleep", "600"]
[[type.strict.phases]]
name = "Write"
check = ["false"]
review = false
[type.once]
complete_on_exit = true
[[type.once.phases]]
name = "Work"
review = false
END
  cat agents.toml >> bowline.toml
}

serve() {
  rm -f ../serve.out
  bowline serve --data data --listen 127.0.0.1:0 --log off > ../serve.out 2> ../serve.err &
  server=$!
  until grep -qs listening ../serve.out; do sleep 0.1; done
  url=$(sed -n 's/listening on //p' ../serve.out | head -1)
}
task() { bowline task --data data "$@"; }
new() { task new --description 'A shop for tea' --submit "$@"; }
# until_is TASK FIELD VALUE: waits until a field of the task has a value.
until_is() {
  for _ in $(seq 300); do
    [ "$(task show "$1" --json | jq -r "$2")" = "$3" ] && return
    sleep 0.1
  done
  echo "$1: $2 is not $3" >&2; task show "$1" --json >&2; exit 1
}
waits() { until_is "$1" .agentState.status "$2"; }
is() { until_is "$1" .status "$2"; }
rest() { curl -sS --fail-with-body -X POST -H "Authorization: Bearer $(cat data/token)" -H 'Content-Type: application/json' --data "$2" "$url$1"; }

# Short time limits first.
settings 30 2s 2s
serve
timeout=$(new --title 'Key that never came' --type custom --agent pays)
wonders=$(new --title 'Questions that were settled' --type custom --agent wonders)
is "$timeout" failed
settings 30 24h 24h
kill -HUP $server; sleep 1

# Rules.
task rule add --tool Bash --input 'command=cargo test*' > /dev/null
task rule add --tool Read --deny --reason 'not the secrets' --input 'file_path=*secret*' > /dev/null
task rule remove "$(task rule add --tool Write --input 'file_path=*.md' --json | jq -r .id)"

# Ends.
done=$(new --title 'Done and archived' --type custom --agent works --label tea)
once=$(new --title 'Done by its exit' --type custom --agent talks)
fatal=$(new --title 'Fatal error' --type custom --agent fatal)
exited=$(new --title 'Exits' --type custom --agent exits)
missing=$(new --title 'Cannot be started' --type custom --agent missing)
strict=$(new --title 'Never passes' --type strict --agent stubborn)
rework=$(new --title 'Sent back by a check' --type strict --agent writes)
rejected=$(new --title 'Key was refused' --type custom --agent pays)
cancelled=$(new --title 'Cancelled' --type custom)
is "$done" completed; is "$fatal" failed; is "$exited" failed; is "$missing" failed; is "$strict" failed
task archive "$done"
until_is "$rejected" .agentState.status waiting_dependency
task reject "$rejected" --reason 'no money'
waits "$cancelled" running; task say "$cancelled" 'Never read'; task cancel "$cancelled"
waits "$rework" running; task say "$rework" 'Look again'
retried=$(task retry "$fatal"); is "$retried" failed

# Reviews: changes asked for with remarks on files, approved, and open.
reviewed=$(new --title 'Under review' --type note --agent writes --priority high)
is "$reviewed" review
review=$(task inbox --json | jq -r ".items[]|select(.taskId==\"$reviewed\").id")
rest "/api/reviews/$review/request-changes" '{"feedback":"Say why","comments":[{"file":"note.md","line":3,"comment":"How hot?"},{"file":"note.md","comment":"Too short"}]}' > /dev/null
sleep 1; is "$reviewed" review
approved=$(new --title 'Completed after review' --type note --agent writes)
is "$approved" review; task approve "$approved" --comment 'good'
until_is "$approved" .currentPhase 2
is "$approved" review; task approve "$approved"; is "$approved" completed

# Stopped, each in its way, with messages that nobody has read.
running=$(new --title 'Running' --type note --agent sleeps --label tea --budget tokens=5000,usd=3,minutes=90)
waits "$running" running
until_is "$running" .agentState.currentStep 'tea leaves'
task say "$running" 'Use the good pot'; task say "$running" 'And two cups'
task checkpoint "$running"
paused=$(new --title 'Paused' --type custom --agent sleeps --workspace "$past/shop")
waits "$paused" running; task pause "$paused"; waits "$paused" paused
task say "$paused" 'When you wake up'
task unsay "$(task say "$paused" 'Never mind' --json | jq -r .id)"
limited=$(new --title 'Rate limit' --type custom --agent limited)
waits "$limited" paused; task say "$limited" 'No hurry'
asks=$(new --title 'Waits for answers' --type custom --agent asks)
waits "$asks" waiting_question; sleep 1
task answer "$(task inbox --json | jq -r ".items[]|select(.taskId==\"$asks\" and .question.required==false).id")" '90'
task say "$asks" 'Either is fine'
needs=$(new --title 'Waits for a key' --type custom --agent needs)
waits "$needs" waiting_dependency; echo tea-value-one | task provide "$needs"
until_is "$needs" '.agentState.status' waiting_dependency
sleep 2; task reject "$needs" --reason 'buy all'
sleep 2; waits "$needs" waiting_dependency
permits=$(new --title 'Waits for leave' --type custom --agent permits)
asked=$(new --title 'Cancelled while it asked' --type custom --agent permits)
for answer in permit deny; do
  until task inbox --json | jq -e ".items[]|select(.taskId==\"$permits\")" > /dev/null; do sleep 0.1; done
  task $answer "$permits"; sleep 1
done
waits "$permits" waiting_question; waits "$asked" waiting_question; task cancel "$asked"
spends=$(new --title 'Over its budget' --type custom --agent spends --budget tokens=1000)
waits "$spends" paused
slow=$(new --title 'Being checked' --type slow --agent writes)
waits "$slow" waiting_review
worries=$(new --title 'An error that is told' --type custom --agent worries)
waits "$worries" running

# Questions: timed out, answered, skipped, open.
waits "$wonders" waiting_question; task answer "$wonders" 'oat milk'; is "$wonders" completed
skipped=$(new --title 'A question was skipped' --type custom --agent wonders)
waits "$skipped" waiting_question; task skip "$skipped"; sleep 1; waits "$skipped" waiting_question

# Stopped in order once, which empties the log of the store. Agents go on.
kill -TERM $server; wait $server
serve

# Not begun.
task new --title 'A draft' --type note --description 'Later' --depends-on "$running" --priority low \
  --at 2031-05-04T09:00:00Z --label later --agent writes > /dev/null
checkpoint=$(task checkpoints "$running" --json | jq -r '.items[0].id')
task fork "$checkpoint" --title 'A fork' --message 'Use black tea.' --draft > /dev/null
new --title 'Waits for another' --type custom --depends-on "$running" > /dev/null
new --title 'Waits for its folder' --type custom --workspace "$past/shop" > /dev/null
new --title 'Waits for its hour' --type custom --at 2031-05-04T09:00:00Z > /dev/null
settings "$(task list --json | jq '[.items[]|select(.agentState.status=="running" or .title=="Being checked")]|length')" 24h 24h
kill -HUP $server; sleep 1
new --title 'Waits for a slot' --type custom --priority critical > /dev/null
sleep 2
bowline capsule --data data "$reviewed" --to "$past/capsule.json"
kill -9 $server
wait $server 2> /dev/null || true
