//! A colleague's clone of a project in which somebody ran `bowline init`: without Bowline every client works and says what is
//! missing, and with it at another place the gate holds.

use super::Guarded;
use super::kind::Kind;
use crate::environment::TestEnvironment;
use bowline_test_support::model_server::{ModelReply, ModelServer};
use bowline_test_support::record_client_result;
use std::path::Path;
use std::process::Command;

/// What somebody committed, as a clone in the place of the first folder.
fn cloned(client: &str) -> Guarded {
    let world = Guarded(TestEnvironment::repository());
    world.0.write("src/old.txt", "old\n");
    world.0.write("review.ok", "");
    world.0.quietly(&format!("init --agent {client}"), 0);
    let root = world.0.root();
    let [project, origin] = ["project", "origin"].map(|name| root.join(name));
    world.commit_all();
    std::fs::rename(&project, &origin).unwrap();
    let mut clone = Command::new("git");
    clone.args(["clone", "-q"]).arg(&origin).arg(&project);
    assert!(clone.status().unwrap().success());
    assert!(!world.0.path(".git/bowline-shim").exists());
    assert!(!world.0.path(".claude/settings.local.json").exists());
    world
}

#[test]
fn without_bowline_every_client_works_and_says_what_is_missing() {
    for kind in Kind::ALL {
        let Some(program) = kind.installed() else {
            continue;
        };
        let world = cloned(kind.name());
        let model =
            ModelServer::start([kind.write(&world, "src/new.txt"), ModelReply::text("Done.")])
                .unwrap();
        let mut client = kind.run(&world, &program, &model, "write it");
        client.env("PATH", std::env::var_os("PATH").unwrap());
        let told = world.run_telling(client);
        assert!(world.0.path("src/new.txt").exists(), "{told}");
        assert_eq!(model.replies_left(), 0);
        // On the screen, or in the model's first question where the client shows nothing.
        let said = told + &super::texts(&model.received_requests()[0].body);
        assert!(said.contains("bowline-shim is not on PATH"), "{said}");
        record_client_result(
            kind.variable(),
            "in a clone without Bowline it works, and says what is missing",
        );
    }
}

#[test]
fn with_bowline_elsewhere_every_client_is_held_and_has_the_tools() {
    for kind in Kind::ALL {
        let Some(program) = kind.installed() else {
            continue;
        };
        let world = cloned(kind.name());
        for line in [
            "develop start 'Ferry times'",
            "develop review --checkpoint cp-1",
            "develop gate pass review_clean_pass",
            "develop implement",
            "develop gate reset review_clean_pass",
        ] {
            world.0.quietly(line, 0);
        }
        let elsewhere = world.0.root().join("elsewhere");
        std::fs::create_dir(&elsewhere).unwrap();
        let ours = Path::new(env!("CARGO_BIN_EXE_bowline")).parent().unwrap();
        for name in ["bowline", "bowline-shim"] {
            std::os::unix::fs::symlink(ours.join(name), elsewhere.join(name)).unwrap();
        }
        let mut script = vec![kind.write(&world, "src/new.txt")];
        script.extend(kind.looks_for("bowline status"));
        script.push(kind.tool("bowline_status", serde_json::json!({})));
        script.push(ModelReply::text("They do not let me."));
        let model = ModelServer::start(script).unwrap();
        let mut client = kind.run(&world, &program, &model, "write it");
        let path = std::env::var("PATH").unwrap();
        client.env("PATH", format!("{}:{path}", elsewhere.display()));
        world.run(client);
        let asked = model.received_requests();
        let denied = super::last(&asked[1]);
        assert!(
            denied.contains("[PHASE GATE] IMPLEMENT: writing "),
            "{denied}"
        );
        let status = super::last(asked.last().unwrap());
        assert!(status.contains("Ferry times"), "{status}");
        assert!(!world.0.path("src/new.txt").exists());
        record_client_result(
            kind.variable(),
            "in a clone with Bowline elsewhere the gate holds, and the tools are there",
        );
    }
}
