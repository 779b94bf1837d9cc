//! Runs git in workspaces, with settings that an agent cannot change.

use super::worker_pool::Environment;
use bowline_engine::process::run_in;
use std::path::Path;
use std::time::Duration;

/// Time limit of one script, in seconds.
const GIT_S: u64 = 60;

/// Makes git save the same bytes whenever it runs. Variables of our own environment do not redirect
/// it, and programs or filters that an agent put into the settings of its repository neither run
/// nor hide a change.
const GIT_PREAMBLE: &str = r#"
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_COMMON_DIR GIT_OBJECT_DIRECTORY GIT_NAMESPACE GIT_CONFIG_PARAMETERS \
  GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_ATTR_SOURCE
export GIT_AUTHOR_NAME=bowline GIT_AUTHOR_EMAIL=bowline@localhost GIT_COMMITTER_NAME=bowline \
  GIT_COMMITTER_EMAIL=bowline@localhost GIT_AUTHOR_DATE='@0 +0000' GIT_COMMITTER_DATE='@0 +0000'
GIT_CONFIG_COUNT=0
pin() {
  eval "export GIT_CONFIG_KEY_$GIT_CONFIG_COUNT=\$1 GIT_CONFIG_VALUE_$GIT_CONFIG_COUNT=\$2"
  GIT_CONFIG_COUNT=$((GIT_CONFIG_COUNT + 1))
  export GIT_CONFIG_COUNT
}
pin core.fsmonitor false
pin core.hooksPath /dev/null
pin core.fileMode true
pin core.untrackedCache false
pin core.trustctime true
pin core.checkStat default
pin core.ignoreStat false
pin core.sparseCheckout false
ignored=$(git config --global --type=path --get core.excludesFile || printf %s "${XDG_CONFIG_HOME:-${HOME:-}/.config}/git/ignore")
pin core.excludesFile "$ignored"
filters=$(git config --show-scope --includes --name-only --get-regexp '^filter[.]' 2> /dev/null || :)
while IFS="$(printf '\t')" read -r scope key; do
  case $scope in local | worktree) pin "$key" '' ;; esac
done <<END
$filters
END
"#;

/// Runs a script of git commands in a folder and returns the end of its output.
pub(super) fn git(
    script: &str,
    folder: &Path,
    environment: &Environment,
) -> Result<String, String> {
    let whole = format!("{GIT_PREAMBLE}set -e\n{script}");
    let ran = run_in(&whole, folder, environment, Duration::from_secs(GIT_S));
    match ran {
        Ok(ran) if ran.exit_code == 0 => Ok(ran.output_tail.trim().to_owned()),
        Ok(ran) => Err(ran.output_tail),
        Err(error) => Err(error.to_string()),
    }
}
