//! The demo's orchestration: a small plan in a repository of its own, run by scripts.

use bowline_engine::formats::client_hooks::quote_word;
use bowline_engine::{Context, process};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time limit of the whole plan.
const RUN_TIMEOUT: Duration = Duration::from_secs(120);

const PLAN: &str = "# TASKS: A garden for tea

## Phase 1: Beds
### [ ] T1.1: Dig the beds
### [ ] T1.2: Carry the water

## Phase 2: Plants
### [ ] T2.1: Plant the bushes
### [ ] T2.2: Pick the leaves
- **Depends on**: T2.1
";

/// Each task writes a file of its own.
const SETTINGS: &str = "[defaults]
agent = \"gardener\"

[agent.gardener]
command = [\"sh\", \"-c\", \"sleep 0.3; echo done > $BOWLINE_TASK_ID.md; echo DONE:$BOWLINE_TASK_ID\"]

[orchestrate]
backoff = 0
";

/// Writes the plan into a folder; does nothing if the folder exists.
pub(super) fn write_plan(place: &Path) -> std::io::Result<PathBuf> {
    let folder = place.join("garden");
    if folder.exists() {
        return Ok(folder);
    }
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("TASKS.md"), PLAN)?;
    std::fs::write(folder.join("bowline.toml"), SETTINGS)?;
    Ok(folder)
}

/// Runs the plan, or resumes it; the error says what went wrong.
pub(super) fn run_plan(context: &Context, folder: &Path, place: &Path) -> Result<(), String> {
    let me = std::env::current_exe().map_err(|error| error.to_string())?;
    let me = quote_word(&me.to_string_lossy());
    let script = format!(
        "set -e\n\
         if [ ! -d .git ]; then\n\
         git init --quiet --initial-branch=main .\n\
         git config user.name demo; git config user.email demo@localhost\n\
         git add --all; git commit --quiet --message='A plan'\n\
         fi\n\
         [ -e .claude/orchestrate-state.json ] || {me} orchestrate init >/dev/null\n\
         {me} orchestrate run\n"
    );
    let mut variables: BTreeMap<String, String> = BTreeMap::new();
    for name in ["PATH", "HOME", "LANG"] {
        if let Some(value) = context.variables.get(name).and_then(|it| it.to_str()) {
            variables.insert(name.into(), value.into());
        }
    }
    // Keeps the demo's state out of the user's own state folder.
    let state = place.join("state").to_string_lossy().into_owned();
    variables.insert("XDG_STATE_HOME".into(), state);
    let ran = process::run_in(&script, folder, &variables, RUN_TIMEOUT);
    match ran.map_err(|error| error.to_string())? {
        ran if ran.exit_code == 0 => Ok(()),
        ran => Err(ran.output_tail),
    }
}
