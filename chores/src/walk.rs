//! A walk through what there is: every command is printed, run, and shown.

use bowline_test_support::split_command_line;
use std::path::Path;
use std::process::Command;
use xtask::Outcome;
use xtask::shell::{Scratch, bowline};

pub(crate) fn run() -> Outcome {
    let bowline = bowline()?;
    let scratch = Scratch::new("demo")?;
    let folder = scratch.0.as_path();
    let file = |name: &str, text: &str| -> Outcome {
        let path = folder.join(name);
        let made = path
            .parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .and_then(|()| std::fs::write(&path, text));
        made.map_err(|error| format!("{}: {error}", path.display()))
    };
    let say = |text: &str| println!("\n# {text}");
    let show = |line: &str, code: i32| run_and_show(&bowline, folder, line, code);

    say("A thinking run: four stages, each with outputs that must exist.");
    show(
        "thinking new essay-001 --title 'Knots for agents' --goal 'an essay people finish'",
        0,
    )?;
    show("thinking start planning", 0)?;
    file("thinking/planning/ideas.json", "{\"ideas\": []}\n")?;
    show(
        "thinking complete planning --output thinking/planning/ideas.json",
        0,
    )?;
    show("thinking start selection", 0)?;
    say("Done without proof is refused, and says what to do.");
    show("thinking complete selection", 1)?;
    file(
        "thinking/selection/selected.json",
        "{\"selected_idea\": 3}\n",
    )?;
    show("thinking complete selection", 0)?;
    show("thinking start creation", 0)?;
    show(
        "thinking fail creation --code draft_too_short --message '320 words of 500'",
        0,
    )?;
    show("thinking status", 0)?;
    say(
        "Somebody damages the file. Reading says so; the doctor restores it; nothing acknowledged is lost.",
    );
    file("thinking_state.json", "{ \"task_id\": \"essay-0")?;
    show("status", 4)?;
    show("doctor --repair", 0)?;
    show("history", 0)?;
    say("Time travel: a new transition that brings an earlier document back.");
    show("undo", 0)?;
    show("--lang ko", 0)?;
    say(
        "The memory: one task with steps that may run side by side, and notes that no agent loses.",
    );
    show(
        "memory task new 'Ferry guide' --goal 'a guide people use' --step name=harbours --step name=fares --step 'name=write,deps=1+2'",
        0,
    )?;
    show("memory step start 1", 0)?;
    show("memory step start 3", 1)?;
    show(
        "memory context append shared_data.notes 'the last boat leaves at ten'",
        0,
    )?;
    show("memory status", 0)?;
    say("Every thinking run below a folder.");
    show(
        "thinking new --dir next essay-002 --title 'Knots for teams'",
        0,
    )?;
    show("thinking status --all", 0)?;
    say("A develop run: gates open on what a sealed command shows, not on what is said.");
    file(
        "bowline.toml",
        "[develop.gates.review_clean_pass]\nrun = \"test -s design.md\"\n",
    )?;
    show("develop start 'Ferry times'", 0)?;
    show("develop review --checkpoint cp-1", 0)?;
    show("develop gate pass review_clean_pass", 1)?;
    file("design.md", "# Ferry times\n")?;
    show("develop gate pass review_clean_pass", 0)?;
    show("develop resume", 0)?;
    println!("\nThe folder was {}; it is removed now.", folder.display());
    Ok(())
}

fn run_and_show(bowline: &Path, folder: &Path, line: &str, code: i32) -> Outcome {
    println!("\n$ bowline {line}");
    let words = split_command_line(line);
    let output = Command::new(bowline)
        .args(&words)
        .current_dir(folder)
        .env_remove("BOWLINE_WORKSPACE")
        // What a develop run keeps beside its file goes with the folder.
        .env("XDG_STATE_HOME", folder.join("state"))
        // Some of the moves are a person's, and the walk is a person's script.
        .env("BOWLINE_ACTOR", "person")
        .output()
        .map_err(|error| format!("bowline: {error}"))?;
    print!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    match output.status.code() {
        Some(found) if found == code => Ok(()),
        other => Err(format!(
            "'bowline {line}' ended with {other:?}, expected {code}"
        )),
    }
}
