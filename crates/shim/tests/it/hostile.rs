//! Agents that turn against what supervises them. Without a sandbox an agent can do what its user
//! can; what it says of itself is not believed all the same.

use crate::actors::acting;
use crate::support::{
    BOUND, World, bring_to, environment, letter, shim, signal, until, until_state,
};
use bowline_supervisor::{
    Attempt, AttemptCondition, AttemptSpec, ObservedState, OutputStream, ShimHandle, WantedState,
};
use bowline_test_support::{MissingRequirement, skip_test, wait_until};
use rustix::process::Signal;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;

/// Waits for [`tell`], and not through the shim: what follows keeps it from answering.
const UNTIL_TOLD: &str = "until [ -e told ]; do sleep 0.01; done";

fn tell(world: &World) {
    std::fs::write(world.attempt.spec().folder.join("told"), "").unwrap();
}

/// A part as words of a shell.
fn words(part: &str) -> String {
    acting(part).join(" ")
}

/// Its shim cannot look while it is stopped, and by the time it can, whoever connected is gone.
#[test]
fn a_connection_that_was_left_to_another_process_is_refused() {
    let part = words("leave_a_connection");
    let script = format!("kill -STOP $PPID; {part}; kill -CONT $PPID; exec sleep 1000");
    let world = World::script(&script);
    let mut handle = world.go_knowing();
    world.until_said("\"id\":0");
    let said = world.output(OutputStream::Out);
    assert!(
        said.contains("agent_peer") && !said.contains("hello"),
        "{said}"
    );
    assert_eq!(handle.fetch_status().unwrap().state, ObservedState::Running);
}

#[test]
fn a_descendant_of_very_many_generations_is_refused() {
    let part = words("ask_the_shim");
    let script = format!(
        "down() {{ if [ $1 -gt 0 ]; then (down $(($1 - 1)); true); else {part}; fi; }}; down 300"
    );
    let world = World::script(&script);
    let mut handle = world.go_knowing();
    until_state(&mut handle, ObservedState::Ended);
    let said = world.output(OutputStream::Out);
    assert!(
        said.contains("agent_peer") && !said.contains("attached"),
        "{said}"
    );
}

/// A process that is nobody's descendant, but was started by the agent's means: it carries the
/// mark.
#[test]
fn whoever_carries_the_mark_is_refused_wherever_it_stands() {
    let world = World::script("exec sleep 1000");
    let _handle = world.go();
    let mut part = acting("ask_the_shim");
    let program = part.remove(0);
    let output = std::process::Command::new(program)
        .args(part)
        .env("AT", world.attempt.folder())
        .env("BOWLINE_ATTEMPT", world.attempt.id())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("agent_peer"), "{said}");
}

#[test]
fn an_agent_that_connects_all_the_time_is_paused_and_ended() {
    let world = World::with("", |spec| spec.command = acting("connect_all_the_time"));
    let mut handle = world.go_knowing();
    until(&mut handle, |status| status.out.end > 0);
    world.attach();
    bring_to(&mut handle, WantedState::Paused, 1);
    bring_to(&mut handle, WantedState::Running, 2);
    bring_to(&mut handle, WantedState::Ended, 3);
    world.nobody();
}

/// Ways to tell the end before it is there.
const FORGERIES: [&str; 4] = [
    "echo \"$END\" > $AT/exit.json",
    "echo \"$END\" > $AT/other; mv $AT/other $AT/exit.json",
    "rm $AT/exit.json; mkfifo $AT/exit.json",
    "echo \"$END\" > $AT/other; rm $AT/exit.json; ln -s other $AT/exit.json",
];

#[test]
fn an_end_that_the_agent_wrote_is_not_believed() {
    for forgery in FORGERIES {
        let script =
            format!("{forgery}; echo cannot run > $AT/exec-error; echo forged; read line; exit 3");
        let world = World::script(&script);
        let end = serde_json::json!({
            "attempt": world.attempt.id(), "fence": 1, "started": true, "code": 0, "asked": false,
            "out": 7, "err": 0, "complete": true, "start_error": " ".repeat(5_000),
        });
        let mut handle = world.go_with([("AT", world.place()), ("END", end.to_string())]);
        world.until_said("forged");
        assert_eq!(
            world.attempt.condition().unwrap(),
            AttemptCondition::Alive,
            "{forgery}"
        );
        handle.send_input(1, b"\n", false).unwrap();
        until_state(&mut handle, ObservedState::Ended);
        let exit = world.ended();
        assert_eq!((exit.started, exit.code), (true, Some(3)), "{forgery}");
        assert_eq!(exit.start_error, None, "{forgery}");
    }
}

/// An end by SIGTERM to the shim counts as asked for. The agent does not ask.
#[test]
fn a_signal_from_the_agent_does_not_end_it_as_asked() {
    let world = World::script(
        "kill -TERM $PPID; kill -INT $PPID; kill -HUP $PPID; echo sent; read line; exit 4",
    );
    let mut handle = world.go();
    world.until_said("sent");
    handle.send_input(1, b"\n", false).unwrap();
    let exit = until_state(&mut handle, ObservedState::Ended).exit.unwrap();
    assert_eq!((exit.code, exit.asked), (Some(4), false), "{exit:?}");
}

/// Whatever is in the lock afterwards: nothing is started again.
#[test]
fn an_agent_that_kills_its_shim_is_lost_and_not_started_again() {
    for spoiled in ["echo nonsense", "head -c 3000000 /dev/zero", "echo [1,2]"] {
        let script = format!(
            "echo begun >> begun; {UNTIL_TOLD}; {spoiled} > $AT/lock; kill -KILL $PPID; exec sleep 1000"
        );
        let world = World::script(&script);
        let _handle = world.go_knowing();
        tell(&world);
        let lost = wait_until(BOUND, || {
            world.attempt.condition().unwrap() == AttemptCondition::Lost
        });
        assert!(lost, "{spoiled}: {:?}", world.attempt.condition());
        bowline_supervisor::sweep_attempt(&world.attempt).unwrap();
        world.nobody();
        let again = shim().start_shim(&world.attempt).unwrap_err();
        assert_eq!(again.code(), "shim_not_started", "{again}");
        let begun = world.attempt.spec().folder.join("begun");
        assert_eq!(std::fs::read_to_string(begun).unwrap(), "begun\n");
    }
}

/// Without a mark and with other parents: the shim adopts it.
#[test]
fn a_process_that_hides_is_ended_with_the_agent() {
    let world = World::script(
        "env -i setsid sh -c '(sleep 1000 & echo $!; exec sleep 1001) & wait' &
         exec sleep 1000",
    );
    let mut handle = world.go();
    until(&mut handle, |status| status.out.end > 0);
    let hidden: i32 = world.output(OutputStream::Out).trim().parse().unwrap();
    assert!(!world.processes().contains(&hidden));
    bring_to(&mut handle, WantedState::Ended, 1);
    assert!(matches!(letter(hidden), None | Some('Z' | 'X')));
}

/// The modes of files and folders can be changed from inside a sandbox too.
#[test]
fn an_agent_that_takes_the_rights_from_its_folder_is_reached_all_the_same() {
    let script = format!("{UNTIL_TOLD}; chmod 0 $AT/* $AT; echo $?; exec sleep 1000");
    let world = World::script(&script);
    let _handle = world.go_knowing();
    let folder = world.attempt.folder();
    let mode = |name: &str| std::fs::metadata(folder.join(name)).map(|it| it.mode() & 0o700);
    tell(&world);
    // Only when it has said so is it through with all of them: the shim gives back the first before
    // the last are taken.
    assert!(wait_until(BOUND, || {
        let said = world.attempt.read_output(OutputStream::Out, 0, 16);
        said.is_ok_and(|(_, said)| said == b"0\n")
    }));
    let names = ["spec.json", "lock", "sock", "log", "err", "exit.json"];
    let back = || {
        mode("").is_ok_and(|mode| mode == 0o700)
            && names
                .iter()
                .all(|name| mode(name).is_ok_and(|mode| mode & 0o600 == 0o600))
    };
    assert!(wait_until(BOUND, back));
    assert_eq!(
        Attempt::open_existing(folder).unwrap().condition().unwrap(),
        AttemptCondition::Alive
    );
    assert_eq!(
        world.attach().fetch_status().unwrap().state,
        ObservedState::Running
    );
    assert_eq!(world.output(OutputStream::Out), "0\n");
}

/// With no shim to put it right, the folder that cannot be read is named.
#[test]
fn a_folder_that_cannot_be_read_is_told() {
    if rustix::process::geteuid().is_root() {
        skip_test(MissingRequirement::OrdinaryUser, "root reads every folder");
        return;
    }
    let world = World::script("true");
    let folder = world.attempt.folder();
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o0)).unwrap();
    let errors = [
        Attempt::open_existing(folder).unwrap_err(),
        world.attempt.condition().unwrap_err(),
    ];
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700)).unwrap();
    for error in errors {
        assert_eq!(error.code(), "attempt_io");
        assert!(
            error.to_string().contains(folder.to_str().unwrap()),
            "{error}"
        );
    }
}

/// Nobody can reach what has no folder or no lock: it does not run on.
#[test]
fn an_agent_whose_folder_or_lock_is_removed_is_ended() {
    for removed in ["", "lock"] {
        let world = World::script("trap '' TERM; echo ready; while :; do sleep 0.02; done");
        let handle = world.go();
        world.until_said("ready");
        let shim = handle.greeting().shim;
        let path = world.attempt.folder().join(removed);
        if removed.is_empty() {
            std::fs::remove_dir_all(path).unwrap();
        } else {
            std::fs::remove_file(path).unwrap();
        }
        let gone = |pid: i32| matches!(letter(pid), None | Some('Z' | 'X'));
        assert!(wait_until(BOUND, || gone(shim)), "{removed:?}");
        world.nobody();
    }
}

/// Somebody outside holds the agent's output open: the end does not wait for that for ever.
#[test]
fn an_output_that_somebody_else_holds_open_does_not_hold_the_end() {
    let world = World::with("echo ready; exec sleep 1000", |spec| {
        spec.bounds.drain_ms = 300
    });
    let mut handle = world.go();
    world.until_said("ready");
    let agent = handle.last_status().agent.unwrap();
    let held = std::fs::File::options()
        .write(true)
        .open(format!("/proc/{agent}/fd/1"))
        .unwrap();
    let exit = bring_to(&mut handle, WantedState::Ended, 1).exit.unwrap();
    drop(held);
    assert!(!exit.complete && exit.out == 6, "{exit:?}");
}

#[test]
fn an_id_that_is_a_path_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let long = "x".repeat(101);
    for id in [
        "", "..", "../../x", "a/b", ".hidden", "a b", "a=b", "a\nb", &long,
    ] {
        let spec = AttemptSpec::new(id, vec!["true".into()], PathBuf::from("/"));
        let refused = Attempt::create(&place.path().join("a"), spec).unwrap_err();
        assert_eq!(refused.code(), "bad_attempt_id", "{id:?}");
    }
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
    // The same when somebody has written it into a spec.
    let world = World::script("true");
    let path = world.attempt.folder().join("spec.json");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace(world.attempt.id(), "../../x")).unwrap();
    let refused = Attempt::open_existing(world.attempt.folder()).unwrap_err();
    assert_eq!(refused.code(), "bad_attempt_id");
    std::fs::write(&path, text).unwrap();
}

/// Many ask for the start at once, under different fencing numbers: it is started once, and the
/// highest number counts.
#[test]
fn many_starts_at_once_are_one() {
    let world = World::script("echo once; read line");
    shim().start_shim(&world.attempt).unwrap();
    std::thread::scope(|scope| {
        for fence in 1..=8 {
            let attempt = &world.attempt;
            scope.spawn(move || {
                let mut handle = ShimHandle::attach(attempt, fence).unwrap();
                let heard = handle
                    .start_agent(&environment())
                    .map(|status| status.fence);
                // Whoever comes after a higher number is refused.
                let code = heard
                    .as_ref()
                    .err()
                    .map(bowline_supervisor::SupervisorError::code);
                assert!(code.is_none_or(|code| code == "fenced_out"), "{heard:?}");
            });
        }
    });
    let mut last = ShimHandle::attach(&world.attempt, 8).unwrap();
    assert_eq!(last.last_status().fence, 8);
    last.send_input(1, b"\n", false).unwrap();
    until_state(&mut last, ObservedState::Ended);
    assert_eq!(world.output(OutputStream::Out), "once\n");
}

/// A stopped shim answers nobody, and is told from one that is gone.
#[test]
fn a_shim_that_was_stopped_goes_on_where_it_was() {
    let script = format!("{UNTIL_TOLD}; kill -STOP $PPID; echo stopped; read line; echo $line");
    let world = World::script(&script);
    let handle = world.go();
    tell(&world);
    let pid = handle.greeting().shim;
    assert!(wait_until(BOUND, || letter(pid) == Some('T')));
    assert_eq!(world.attempt.condition().unwrap(), AttemptCondition::Alive);
    signal(pid, Signal::CONT);
    let mut again = world.attach();
    again.send_input(1, b"on\n", false).unwrap();
    until_state(&mut again, ObservedState::Ended);
    assert_eq!(world.output(OutputStream::Out), "stopped\non\n");
}
