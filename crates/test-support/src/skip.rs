//! The only way for a test not to run. In CI that is a failure, unless what is lacking is excused here, with the reason.

/// What this machine lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingRequirement {
    /// A real agent client, which `cargo xtask test` installs from the npm registry.
    Client,
    /// Control groups that this user may make and freeze.
    ControlGroups,
    /// Landlock in the kernel.
    Landlock,
    /// The right to mount a small file system.
    Mounting,
    /// A user other than root, whom modes of files bind.
    OrdinaryUser,
    /// A program that the test runs.
    Program,
    /// A shell that only has to parse our completions.
    Shell,
    /// All parts of the sandbox in the kernel.
    WholeSandbox,
    /// The number of a system call on this processor.
    SystemCall,
}

impl MissingRequirement {
    /// Why CI may lack it. What has no reason here has to be there.
    fn ci_excuse(self) -> Option<&'static str> {
        match self {
            MissingRequirement::Client => Some(
                "the registry may be out of reach, and the clients have some hundred megabytes",
            ),
            MissingRequirement::ControlGroups => {
                Some("a container is given a group of its own only by whoever starts it")
            }
            MissingRequirement::Mounting => {
                Some("a container may mount only if whoever starts it says so")
            }
            MissingRequirement::OrdinaryUser => {
                Some("containers run as root; the test runs on every developer's machine")
            }
            MissingRequirement::Shell => Some(
                "zsh and fish are in few images, and the words of the scripts are checked anyway",
            ),
            MissingRequirement::WholeSandbox | MissingRequirement::Landlock => {
                Some("a container has the kernel of its host, whose Landlock may be older or off")
            }
            MissingRequirement::Program | MissingRequirement::SystemCall => None,
        }
    }
}

/// Says that a test, or a part of one, does not run.
///
/// # Panics
///
/// In CI, when nothing excuses it.
pub fn skip_test(lack: MissingRequirement, detail: &str) {
    let ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty());
    assert!(
        !ci || lack.ci_excuse().is_some(),
        "in CI this has to run: {detail}"
    );
    let excuse = lack.ci_excuse().unwrap_or("in CI this would fail");
    #[expect(clippy::print_stderr, reason = "a test that does not run must say so")]
    {
        eprintln!("skipped: {detail} ({excuse})");
    }
}
