#!/bin/sh
# Makes state files of every kind with their journals, and an orchestration that is killed in the middle of a run.
# Called by record.sh, which sets $past and the environment.
set -eu
minute=0
# go WORDS: one command of a person, a minute after the one before; it may be refused.
go() {
  minute=$((minute + 1))
  clock=$(printf '2026-03-01T%02d:%02d:00Z' $((9 + minute / 60)) $((minute % 60)))
  BOWLINE_CLOCK=$clock bowline "$@" > /dev/null 2>> "$past/refused.txt" || echo "refused: $*" >> "$past/refused.txt"
}

mkdir -p "$past/project" && cd "$past/project"
git init --quiet --initial-branch=main
cat > bowline.toml << 'END'
[develop]
protected = ["tests/**"]
[develop.gates.review_clean_pass]
run = "test -f review.ok"
[develop.gates.architect_verified]
run = "echo 12 tests && test -f build.ok"
[develop.gates.re_review_clean]
run = "test -f code.ok"
END
printf '.develop-workflow/\n.claude/\nessays/\n' > .gitignore
mkdir tests && echo 'the ferry leaves on the hour' > tests/crossing.txt
cat > TASKS.md << 'END'
# TASKS: 나루터

## Phase 0: Quay
- [x] T0.1: Repository

## Phase 1: 시간표
### [ ] T1.1: Model
### [ ] T1.2: API
- **의존**: T1.1
### [ ] T1.3: Screen
- depends on: T1.2
### [ ] T1.4: Icons
### [ ] T1.5: Sounds

## Phase 2: Tickets
### [ ] T2.1: Sell
### [ ] T2.2: Refund
- depends on: T2.1
END
git add --all && git commit --quiet --message=begin

# Thinking: one in the middle, one that failed and went on, one that is done.
for essay in one two; do
  go thinking --dir essays/$essay new essay-$essay --title "Knots $essay" --goal 'an essay people finish'
  go thinking --dir essays/$essay start planning
  mkdir -p essays/$essay/thinking/planning essays/$essay/thinking/selection essays/$essay/thinking/reflection essays/$essay/drafts
  echo '{"ideas": []}' > essays/$essay/thinking/planning/ideas.json
  echo '{"selected": 1}' > essays/$essay/thinking/selection/selected.json
  echo 'A draft.' > essays/$essay/drafts/draft_v1.md
  echo '{}' > essays/$essay/thinking/reflection/quality_check.json
done
go thinking --dir essays/one fail planning --code no_ideas --message 'nothing came up'
go thinking --dir essays/one start planning
go thinking --dir essays/one output planning thinking/planning/ideas.json
go thinking --dir essays/one complete planning
go thinking --dir essays/one start selection
go undo essays/one/thinking_state.json
go thinking --dir essays/one start selection
sed 's/"Knots one"/"Knots one, by hand"/' essays/one/thinking_state.json > edited && cat edited > essays/one/thinking_state.json && rm edited
go thinking --dir essays/one complete selection --output thinking/selection/selected.json
go thinking --dir essays/one evaluate practicality=8 trust=7 innovation=8
go thinking --dir essays/two complete planning --output thinking/planning/ideas.json
go thinking --dir essays/two start selection
go thinking --dir essays/two complete selection --output thinking/selection/selected.json
go thinking --dir essays/two evaluate practicality=8 trust=7 innovation=8
go thinking --dir essays/two start creation
go thinking --dir essays/two complete creation --output drafts/draft_v1.md
go thinking --dir essays/two quality completeness=0.75 consistency=0.9 alignment_with_values=0.85
go thinking --dir essays/two start reflection
go thinking --dir essays/two complete reflection --output thinking/reflection/quality_check.json
go thinking --dir essays/two feedback record --metric engagement_rate=6.8% --target 5% --learning 'short titles work' --stage creation
go thinking --dir essays/one feedback apply --from essays/two

# Memory: a task in the history, one at work with a step in each state, one in the queue.
go memory init
go memory task new 'Old guide' --goal 'a guide' --step name=write,agent=scribe
go memory step start 1
go memory step complete 1 --artifact 'TASKS.md:the plan'
go memory task finish --lesson 'ask for the list first' --tokens 1200
go memory task new 'Ferry guide' --goal 'a guide people use' --criterion 'is read' --step name=harbours,agent=scout \
  --step name=fares,agent=clerk --step 'name=write,agent=scribe,deps=1+2'
go memory task new 'Next guide' --goal 'another'
go memory task new 'Dropped guide' --goal 'none'
go memory task drop task-2026-03-01-004
go memory step start 1
go memory step start 2
go memory step complete 1 --output '"seven harbours"'
for try in 1 2 3; do
  go memory step fail 2 --type resource --message 'the price list is gone'
  [ $try = 3 ] || go memory step start 2
done
go memory task recover --reason 'a new list came'
go memory step start 2
go memory step fail 2 --message 'one more hitch'
go memory task pause
go memory task resume
go memory context set shared_data.current_topic fares
go memory context append shared_data.notes '"the pier is closed"'
go memory context session new
go memory agent set scout preferences.default_tone plain
go memory agent append scout cache.recent_topics '"harbours"'
go memory backup

# Develop: gates opened, a checkpoint that was escalated, one that is being tried, one open.
go develop start 'Ferry times'
go develop review --checkpoint cp-1 --checkpoint cp-2 --checkpoint cp-3
touch review.ok
go develop gate pass review_clean_pass
go develop implement
go develop checkpoint start cp-1
go develop checkpoint pass cp-1 --run 'test -f TASKS.md'
for try in 1 2 3; do
  [ $try = 1 ] && go develop checkpoint start cp-2
  go develop checkpoint fail cp-2 --class LOGIC_ERROR
done
go develop checkpoint start cp-2 --override 'mended by hand'
go develop checkpoint pass cp-2
go develop checkpoint start cp-3
touch build.ok
go develop back REVIEW
go undo .develop-workflow/state.json

# Orchestration by hand.
go orchestrate init --parallel 3 --project Ferry
go orchestrate start T1.1 --no-git
go orchestrate complete T1.1
go orchestrate start T1.2 --no-git
go orchestrate fail T1.2 --retry
go orchestrate start T1.2 --no-git
go orchestrate fail T1.2 --reason 'the model has no times'
go orchestrate force-complete T1.3 --reason 'drawn by hand'
go orchestrate start T1.4 --no-git
go orchestrate start T1.5 --no-git
go orchestrate complete T1.5

# Files of versions before this one.
mkdir -p "$past/older/.claude" "$past/older/.develop-workflow" && cd "$past/older"
cp "$golden/orchestrate-v1.json" .claude/orchestrate-state.json
cp "$golden/develop.json" .develop-workflow/state.json
cp "$golden/thinking-failed.json" thinking_state.json
mkdir .claude/memory && cp "$golden/task-state.json" "$golden/task-history.json" .claude/memory/

# A run: T0.1 and T1.1 have landed, T1.2 failed once and is at work again, T1.3 is at work, T1.4 waits for it.
mkdir "$past/run" && cd "$past/run"
git init --quiet --initial-branch=main
cat > TASKS.md << 'END'
# TASKS: Ferry

## Phase 0: Quay
### [ ] T0.1: Repository

## Phase 1: Timetable
### [ ] T1.1: Model
### [ ] T1.2: API
- depends on: T1.1
### [ ] T1.3: Screen
### [ ] T1.4: Icons
- depends on: T1.3
END
cat > agent.sh << 'END'
id=$BOWLINE_TASK_ID
echo "work of $id" > "$id.txt"
case "$id.$BOWLINE_TRY" in
  T1.2.1) echo 'no ink' >&2; exit 4;;
  T1.2.*|T1.3.*) [ -e ../../go-on ] || exec sleep 600;;
esac
echo "DONE:$id"
END
cat > bowline.toml << END
[defaults]
agent = "script"
[agent.script]
command = ["sh", "$past/run/agent.sh"]
[orchestrate]
backoff = 0
evidence = ["test", "-f", "TASKS.md"]
END
printf 'worktree/\n.claude/\ngo-on\n' > .gitignore
git add --all && git commit --quiet --message=begin
bowline orchestrate run --json > "$past/run.out" 2>&1 &
run=$!
# Killed as soon as its journal has the fifth start: the state file is behind it.
until [ "$(grep -c '"do":{"start"' .claude/orchestrate-state.json.journal.jsonl 2> /dev/null)" = 5 ]; do sleep 0.02; done
kill -9 $run
