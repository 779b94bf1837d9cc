#!/bin/bash
# The gate hook as a script people would write for bash and jq: message, state file, matrix, a pattern for commands.
message=$(cat)
folder=$(jq -r .cwd <<< "$message")
while [[ ! -e $folder/.develop-workflow/state.json ]]; do
  [[ $folder == / ]] && exit 0
  folder=$(dirname "$folder")
done
state=$folder/.develop-workflow/state.json
phase=$(jq -r .phase "$state")
tool=$(jq -r .tool_name <<< "$message")
command=$(jq -r '.tool_input.command // ""' <<< "$message")
needed=()
writes() { case $phase in IMPLEMENT) needed=(review_clean_pass) ;; PR) needed=(review_clean_pass architect_verified) ;; esac; }
finishes() { writes; if [[ $phase == PR ]]; then needed+=(re_review_clean); fi; }
if [[ $tool =~ ^(Write|Edit|MultiEdit|NotebookEdit)$ ]]; then writes
elif grep -qE '\b(git +(commit|push|merge|rebase|pull)|gh +pr +(create|merge))\b' <<< "$command"; then finishes
elif grep -qE '(^|[^0-9&>])>{1,2} *[^& /]|\bsed +-i|\btee +[^/]' <<< "$command"; then writes
fi
missing=()
for gate in "${needed[@]}"; do
  [[ $(jq -r ".gates.$gate" "$state") == true ]] || missing+=("$gate")
done
if (( ${#missing[@]} )); then
  echo "[PHASE GATE] $phase: closed gates: ${missing[*]}" >&2
  exit 2
fi
