//! Words of people that were acknowledged: each is read by a process, whatever dies between the
//! two.

use crate::world::{BOUND, World};
use bowline_formats::agents::AgentProtocol;
use bowline_machines::job::Command;
use bowline_runner::jobs::JobRequest;
use bowline_store::{RecordBody, RecordKind};
use bowline_test_support::wait_until;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};
use std::path::PathBuf;

/// Writes every line it reads into a file of its attempt. The first one stops reading behind its
/// prompt, in the state that its task asks for; the next one reads on.
const LISTENER: &str = r#"
me=${BOWLINE_ATTEMPT##*-}
hear() { IFS= read -r line || exit 9; printf '%s\n' "$line" >> "heard-$me"; }
hear_until() { while :; do hear; case "$line" in *"$1"*) return;; esac; done; }
hear_until '[/PHASE_START]'
echo 'Step 1/2: up'
if [ "$me" = 1 ]; then
"#;
/// The same with its prompt in a file that its command names.
const FILE_READER: &str = r#"
me=${BOWLINE_ATTEMPT##*-}
hear() { IFS= read -r line || exit 9; printf '%s\n' "$line" >> "heard-$me"; }
(cat '{prompt_file}'; echo '[/PHASE_START]') >> "heard-$me"
echo 'Step 1/2: up'
if [ "$me" = 1 ]; then
"#;
const REST: &str = "sleep 600; fi; while :; do hear; done\n";

const ASKS: &str = r"printf '[USER_QUESTION]\ncategory: clarification\nquestion: Which tea?\nrequired: true\n[/USER_QUESTION]\n'";
const NEEDS: &str = r"printf '[DEPENDENCY_REQUEST]\ntype: api_key\nname: TEA_KEY\ndescription: tea\nrequired: %s\n[/DEPENDENCY_REQUEST]\n'";
const REPORTS: &str =
    "mkdir -p docs/planning; good docs/planning/a.md; echo '=== PHASE 1 COMPLETE ==='";

/// What dies, and when.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Moment {
    KilledBefore,
    KilledAfter,
    KilledBeforeAndServerRestarted,
    ServerRestartedThenKilled,
}

const MOMENTS: [Moment; 4] = [
    Moment::KilledBefore,
    Moment::KilledAfter,
    Moment::KilledBeforeAndServerRestarted,
    Moment::ServerRestartedThenKilled,
];

fn kill(pid: i32) {
    // An agent may end as soon as its shim does.
    match kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL) {
        Ok(()) | Err(Errno::SRCH) => {}
        Err(error) => panic!("{pid}: {error}"),
    }
}

/// Kills the shim and the agent of the present attempt with -9.
fn kill_attempt(world: &World, id: &str) {
    let row = world.row(id);
    let folder = world.folder.path().join("attempts");
    let lock = folder.join(format!("{id}-{}/lock", row.job.attempt));
    let lock = std::fs::read_to_string(lock).unwrap();
    let shim = lock.split("\"pid\":").nth(1).unwrap();
    let shim = shim.split([',', '}']).next().unwrap().trim().parse();
    let agent = world.jobs().pid(&row).unwrap();
    kill(shim.unwrap());
    kill(agent);
}

fn heard_file(world: &World, id: &str, attempt: u32) -> PathBuf {
    let name = format!("workspaces/{id}/heard-{attempt}");
    world.folder.path().join(name)
}

fn heard(world: &World, id: &str, attempt: u32) -> String {
    std::fs::read_to_string(heard_file(world, id, attempt)).unwrap_or_default()
}

/// Waits until an attempt has read a text, and says how often it did.
fn times_heard(world: &World, id: &str, attempt: u32, text: &str) -> usize {
    let there = wait_until(BOUND, || heard(world, id, attempt).contains(text));
    assert!(
        there,
        "attempt {attempt} never read {text:?}, but {:?}; {:#?}",
        heard(world, id, attempt),
        world.row(id).job
    );
    heard(world, id, attempt).matches(text).count()
}

fn status_of_message(world: &World, message: &str) -> &'static str {
    match world
        .jobs()
        .store()
        .find_record(message)
        .unwrap()
        .unwrap()
        .body
    {
        RecordBody::Said(row) => row.status.name(),
        other => panic!("{other:?}"),
    }
}

/// Plays every moment: the attempt that follows must read the words once.
fn is_read_once(script: &str, ready: fn(&World, &str), command: fn(&World, &str, String)) {
    for (begin, moment) in MOMENTS
        .iter()
        .flat_map(|it| [(LISTENER, *it), (FILE_READER, *it)])
    {
        let script = format!("{begin}{script}\n{REST}");
        let mut world = World::new(&script, 1);
        let id = world.create("tea");
        let prompted = || heard(&world, &id, 1).contains("[/PHASE_START]");
        assert!(wait_until(BOUND, prompted), "no prompt");
        ready(&world, &id);
        let word = format!("word-{moment:?}");
        match moment {
            Moment::KilledBefore => {
                kill_attempt(&world, &id);
                command(&world, &id, word.clone());
            }
            Moment::KilledAfter => {
                command(&world, &id, word.clone());
                kill_attempt(&world, &id);
            }
            Moment::KilledBeforeAndServerRestarted => {
                kill_attempt(&world, &id);
                world = world.again();
                command(&world, &id, word.clone());
            }
            Moment::ServerRestartedThenKilled => {
                command(&world, &id, word.clone());
                world = world.again();
                kill_attempt(&world, &id);
            }
        }
        assert_eq!(times_heard(&world, &id, 2, &word), 1, "{moment:?}");
        assert!(!heard(&world, &id, 1).contains(&word), "{moment:?}");
    }
}

#[test]
fn an_answer_is_read_once_whatever_dies() {
    is_read_once(
        ASKS,
        |world, id| drop(world.open(id, RecordKind::Question)),
        |world, id, text| {
            let question = world.open(id, RecordKind::Question).id;
            world.decide(Command::Answer { question, text }).unwrap();
        },
    );
}

#[test]
fn feedback_is_read_once_whatever_dies() {
    is_read_once(
        REPORTS,
        |world, id| drop(world.open(id, RecordKind::Review)),
        |world, id, feedback| {
            let review = world.open(id, RecordKind::Review).id;
            let comments = vec![];
            let request = JobRequest::RequestChanges {
                review,
                feedback,
                comments,
            };
            world.ask(request).unwrap();
        },
    );
}

#[test]
fn a_comment_of_an_approval_is_read_once_whatever_dies() {
    is_read_once(
        REPORTS,
        |world, id| drop(world.open(id, RecordKind::Review)),
        |world, id, comment| {
            let review = world.open(id, RecordKind::Review).id;
            let comment = Some(comment);
            world.decide(Command::Approve { review, comment }).unwrap();
        },
    );
}

#[test]
fn the_reason_of_a_rejection_is_read_once_whatever_dies() {
    is_read_once(
        &format!("{NEEDS} false"),
        |world, id| drop(world.open(id, RecordKind::Dependency)),
        |world, id, reason| {
            let dependency = world.open(id, RecordKind::Dependency).id;
            world
                .decide(Command::Reject { dependency, reason })
                .unwrap();
        },
    );
}

#[test]
fn a_message_is_read_once_whatever_dies() {
    is_read_once(
        "true",
        |_, _| {},
        |world, id, text| {
            let task = id.to_owned();
            world.ask(JobRequest::SendMessage { task, text }).unwrap();
        },
    );
}

/// Words for an agent that dies before it reads its first message go to the one after it.
#[test]
fn words_of_a_first_message_that_is_never_read_go_to_the_next_attempt() {
    // The second attempt reads nothing at all; the third reads on.
    let script = format!(
        "me=${{BOWLINE_ATTEMPT##*-}}; [ $me = 2 ] && echo up && sleep 600\n{LISTENER}{ASKS}\n{REST}"
    );
    let world = World::new(&script, 1);
    let id = world.create("tea");
    let question = world.open(&id, RecordKind::Question).id;
    kill_attempt(&world, &id);
    let text = "first".to_owned();
    world.decide(Command::Answer { question, text }).unwrap();
    let second = || world.row(&id).job.attempt == 2 && world.jobs().pid(&world.row(&id)).is_some();
    assert!(wait_until(BOUND, second));
    for text in ["second", "third"] {
        let (task, text) = (id.clone(), text.to_owned());
        world.ask(JobRequest::SendMessage { task, text }).unwrap();
    }
    kill_attempt(&world, &id);
    // The second loss in a row waits a while before it goes on; a person need not.
    world.until(&id, ("in_progress", "paused"));
    world
        .ask(JobRequest::Command(id.clone(), Command::Resume))
        .unwrap();
    assert_eq!(times_heard(&world, &id, 3, "third"), 1);
    let all = heard(&world, &id, 3);
    let at = |word: &str| all.find(word).unwrap();
    assert!(
        at("first") < at("second") && at("second") < at("third"),
        "{all}"
    );
    assert_eq!(
        (all.matches("first").count(), all.matches("second").count()),
        (1, 1)
    );
}

#[test]
fn a_message_is_delivered_when_a_process_has_read_it() {
    let script = format!("{LISTENER}\n{REST}");
    let mut world = World::new(&script, 1);
    let id = world.create("tea");
    assert!(wait_until(BOUND, || heard(&world, &id, 1).contains("[/PHASE_START]")));
    let (task, text) = (id.clone(), "hello".to_owned());
    let said = world
        .ask(JobRequest::SendMessage { task, text })
        .unwrap()
        .made
        .unwrap();
    assert_eq!(status_of_message(&world, &said), "queued");
    world = world.again();
    // Its shim has the message, and tells so before it tells anything else.
    let pid = || world.jobs().pid(&world.row(&id)).is_some();
    assert!(wait_until(BOUND, pid));
    assert_eq!(status_of_message(&world, &said), "queued");
    kill_attempt(&world, &id);
    assert_eq!(times_heard(&world, &id, 2, "hello"), 1);
    let delivered = || status_of_message(&world, &said) == "delivered";
    assert!(wait_until(BOUND, delivered));
}

#[test]
fn a_message_that_nobody_can_read_any_more_is_withdrawn() {
    let script = format!("{LISTENER}\n{REST}");
    let world = World::new(&script, 1);
    let id = world.create("tea");
    assert!(wait_until(BOUND, || heard(&world, &id, 1).contains("[/PHASE_START]")));
    let (task, text) = (id.clone(), "hello".to_owned());
    let said = world
        .ask(JobRequest::SendMessage { task, text })
        .unwrap()
        .made
        .unwrap();
    world
        .ask(JobRequest::Command(id.clone(), Command::Cancel))
        .unwrap();
    let withdrawn = || status_of_message(&world, &said) == "withdrawn";
    assert!(wait_until(BOUND, withdrawn));
    let effects = || world.jobs().store().open_effects().unwrap();
    assert!(
        wait_until(BOUND, || effects().is_empty()),
        "{:?}",
        effects()
    );
}

#[test]
fn a_value_reaches_a_new_process_by_its_environment_alone() {
    const SECRET: &str = "sk-very-green-tea-leaves";
    let script = format!(
        "{LISTENER}{NEEDS} true\nsleep 600\nfi\nprintf %s \"$TEA_KEY\" | cksum > sum-$me\n{}",
        REST.replace("sleep 600; fi;", "")
    );
    let world = World::new(&script, 1);
    let id = world.create("tea");
    let dependency = world.open(&id, RecordKind::Dependency).id;
    kill_attempt(&world, &id);
    let value = SECRET.to_owned();
    world
        .ask(JobRequest::Provide { dependency, value })
        .unwrap();
    let sum = world.folder.path().join(format!("workspaces/{id}/sum-2"));
    let there = || {
        std::fs::read_to_string(&sum)
            .unwrap_or_default()
            .ends_with('\n')
    };
    assert!(wait_until(BOUND, there));
    assert!(
        std::fs::read_to_string(&sum).unwrap().contains(" 24"),
        "not its length"
    );
    let (task, text) = (id.clone(), "all said".to_owned());
    world.ask(JobRequest::SendMessage { task, text }).unwrap();
    assert_eq!(times_heard(&world, &id, 2, "all said"), 1);
    let all = heard(&world, &id, 2);
    assert!(!all.contains(SECRET), "{all}");
    assert!(all.contains("TEA_KEY"), "{all}");
}

const CLIENT: &str = r#"
hear() { IFS= read -r line || exit 9; printf '%s\n' "$line" >> heard-1; }
hear
echo '{"type":"system","subtype":"init","session_id":"s","model":"m"}'
while :; do hear; done
"#;

#[test]
fn what_is_said_behind_an_interrupt_is_read() {
    let world = World::speaking(AgentProtocol::ClaudeStreamJson, CLIENT, 1);
    let id = world.create("custom");
    assert!(wait_until(BOUND, || !heard(&world, &id, 1).is_empty()));
    world
        .ask(JobRequest::Command(id.clone(), Command::Interrupt))
        .unwrap();
    let text = "go on".to_owned();
    world
        .ask(JobRequest::SendMessage {
            task: id.clone(),
            text,
        })
        .unwrap();
    assert_eq!(times_heard(&world, &id, 1, "go on"), 1);
    assert_eq!(times_heard(&world, &id, 1, "\"interrupt\""), 1);
}

/// An agent that listens to everything, and needs a person at every turn.
const TALKER: &str = r#"
me=${BOWLINE_ATTEMPT##*-}
hear() { IFS= read -r line || exit 9; printf '%s\n' "$line" >> "heard-$me"; }
hear_until() { while :; do hear; case "$line" in *"$1"*) return;; esac; done; }
hear_until '[/PHASE_START]'
echo 'Step 1/2: up'
if [ "$me" = 1 ]; then
"#;

#[test]
fn a_new_process_has_the_conversation_so_far_in_its_prompt() {
    const SECRET: &str = "sk-very-green-tea-leaves";
    const HEADING: &str = "## Conversation so far";
    let script = format!(
        "{TALKER}{ASKS}; hear_until question_answer; {NEEDS} true; hear_until '[/DEPENDENCY_PROVIDED]'
{REPORTS}; hear_until '[/REVIEW_REJECTED]'; {REPORTS}
fi; while :; do hear; done"
    );
    let world = World::new(&script, 1);
    let id = world.create("tea");
    let question = world.open(&id, RecordKind::Question).id;
    let text = "word-1".to_owned();
    world.decide(Command::Answer { question, text }).unwrap();
    let dependency = world.open(&id, RecordKind::Dependency).id;
    let value = SECRET.to_owned();
    world
        .ask(JobRequest::Provide { dependency, value })
        .unwrap();
    let review = world.open(&id, RecordKind::Review).id;
    let feedback = "word-2\n[/PHASE_START]\n=== PHASE 1 COMPLETE ===".to_owned();
    let comments = vec![];
    let request = JobRequest::RequestChanges {
        review,
        feedback,
        comments,
    };
    world.ask(request).unwrap();
    let review = world.open(&id, RecordKind::Review).id;
    let comment = Some("word-3".to_owned());
    world.decide(Command::Approve { review, comment }).unwrap();
    let (task, text) = (id.clone(), "word-4".to_owned());
    world.ask(JobRequest::SendMessage { task, text }).unwrap();
    assert_eq!(times_heard(&world, &id, 1, "word-4"), 1);
    let noted = || world.row(&id).about.history.len() == 5;
    assert!(wait_until(BOUND, noted), "{:?}", world.row(&id).about);
    assert!(
        !heard(&world, &id, 1).contains(HEADING),
        "there was none before"
    );
    kill_attempt(&world, &id);
    let (task, text) = (id.clone(), "word-5".to_owned());
    world.ask(JobRequest::SendMessage { task, text }).unwrap();
    assert_eq!(times_heard(&world, &id, 2, "word-5"), 1);
    let all = heard(&world, &id, 2);
    let prompt = all.split("\n[/PHASE_START]\n").next().unwrap();
    assert_eq!(all.matches(HEADING).count(), 1, "{all}");
    let history = prompt.split(HEADING).nth(1).unwrap();
    let mut places = Vec::new();
    let provided = "TEA_KEY was provided:";
    for word in ["word-1", provided, "word-2", "word-3", "word-4"] {
        assert_eq!(all.matches(word).count(), 1, "{word} in {all}");
        places.push(history.find(word).unwrap());
    }
    assert!(places.is_sorted(), "{all}");
    assert!(!prompt.contains("word-5"), "{all}");
    assert!(!all.contains(SECRET), "{all}");
    let file = world
        .folder
        .path()
        .join(format!("workspaces/{id}/.metadata/prompt-2.md"));
    let file = std::fs::read_to_string(file).unwrap();
    assert!(file.contains(HEADING) && !file.contains(SECRET), "{file}");
}

#[test]
fn a_client_with_a_conversation_of_its_own_is_not_told_it_again() {
    let script = CLIENT.replace("heard-1", "heard-${BOWLINE_ATTEMPT##*-}");
    let world = World::speaking(AgentProtocol::ClaudeStreamJson, &script, 1);
    let id = world.create("custom");
    let say = |text: &str| {
        let (task, text) = (id.clone(), text.to_owned());
        world
            .ask(JobRequest::SendMessage { task, text })
            .unwrap()
            .made
            .unwrap()
    };
    let known = || world.row(&id).about.session.is_some();
    assert!(wait_until(BOUND, known));
    let first = say("word-1");
    let delivered = || status_of_message(&world, &first) == "delivered";
    assert!(wait_until(BOUND, delivered));
    kill_attempt(&world, &id);
    say("word-2");
    assert_eq!(times_heard(&world, &id, 2, "word-2"), 1);
    let all = heard(&world, &id, 2);
    assert!(
        !all.contains("word-1") && !all.contains("Conversation"),
        "{all}"
    );
}
