//! The pages of the clients: what they tell a newcomer to type in a block marked `sh` is typed here, with the real client.

use super::Guarded;
use super::kind::Kind;
use super::tools::checkout;
use std::path::Path;

/// How a page calls the checkout.
const CHECKOUT: &str = "/path/to/bowline";

/// Types every line of the page's blocks, in a folder in which `bowline init` was run; gives what was printed.
pub(super) fn follow(world: &Guarded, kind: Kind, program: &str) -> String {
    let bin = world.0.root().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let link = bin.join(kind.name());
    if !link.exists() {
        std::os::unix::fs::symlink(program, &link).unwrap();
    }
    world.0.quietly(&format!("init --agent {}", kind.name()), 0);
    let page = checkout().join(format!("docs/agents/{}.md", kind.name()));
    let text = std::fs::read_to_string(page).unwrap();
    let blocks = text.split("```sh\n").skip(1);
    let blocks = blocks.filter_map(|rest| Some(rest.split_once("\n```")?.0));
    let typed: Vec<&str> = blocks.flat_map(str::lines).collect();
    assert!(!typed.is_empty(), "{} has no block", kind.name());
    let ours = Path::new(env!("CARGO_BIN_EXE_bowline")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let mut told = String::new();
    for line in typed {
        let line = line.replace(CHECKOUT, checkout().to_str().unwrap());
        let mut shell = world.client("sh");
        shell
            .args(["-ec", &line])
            .env("CODEX_HOME", world.0.root().join("home/codex"))
            .env(
                "PATH",
                format!("{}:{}:{path}", bin.display(), ours.display()),
            );
        told += &format!("$ {line}\n{}", world.run_telling(shell));
    }
    told
}
