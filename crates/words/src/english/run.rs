//! English for problems with runs of agents.

use crate::Lang::En;

table! {
    reason: Reason => text {
        Said { text } => "{text}";
        Nothing => "failed";
        Refused { no } => "{0}" [no.say(En).0];
        Coded { code, why } => "{code}: {why}";
        Lost => "the agent was lost";
        NotBegun => "the agent does not begin";
        NotRun { why } => "{why}";
        NoAgent { name } => "there is no agent '{name}'";
        Silent { seconds } => "no output for {seconds} s";
        TooLong { seconds } => "longer than {seconds} s";
        Breaker { spent } => "breaker: {spent}";
        ExitCode { code } => "exit code {code}";
        Signal => "ended by a signal";
        NoPromise { times } => "no promise after {times} repetitions";
        Conflict { paths } => "conflict in {paths}";
        NothingInCommon { branch, command } => "your commits have no history in common with {branch}: put your work on top of it with '{command}'";
        BadModules { said } => "git cannot parse .gitmodules, and does nothing in a checkout with it: {said}";
        PlanRemoved { path, command } => "your work removes the plan {path}: bring it back with '{command}'";
        PlanCut { path, ids, command } => "your work cuts text of other tasks ({ids}) out of the plan {path}: bring it back with '{command}'";
        LandingsGone { ids, branch, command } => "landed, but no longer on branch {branch}: {ids}. This brings it back: {command}";
        InTheWay { said, command } => "{said} This ends the wait: {command}";
        Unresolved { path } => "the conflict in {path} is not resolved";
        OwnRepository { path } => "{path} is a git repository of its own, and its files would not land: take its .git away";
        SubmoduleAlone { path } => "the work in submodule {path} is nowhere else: commit it there, and push that commit";
        NoWorktree { path } => "{path} is no worktree of this repository any more; what it holds is left there";
        CommandRed => "its command is red";
        Blocking { count: 1 } => "the review found 1 blocking issue";
        Blocking { count } => "the review found {count} blocking issues";
        EndedItself => "the agent ended it";
        EvidenceRed { command, code } => "the evidence command failed: {command} ended with {code}";
        CheckRed { command, code } => "a check of the phase failed: {command} ended with {code}";
        CommandEnded { command, code } => "'{command}' ended with {code}";
        ProgramFailed { program, said } => "{program} failed: {said}";
        BranchRuns { branch } => "branch {branch} moves faster than it can be landed on";
        BranchMoves { branch } => "branch {branch} moves";
        BranchApart { branch, remote, command } => "branch {branch} and that of {remote} went apart. This ends the wait: {command}";
        BranchGone { branch, command } => "branch {branch} has no commit. This brings it back: {command}";
        Uncommitted { folder, command } => "{folder} has changes that are not committed. Commit them: {command}";
        ProposalUnknown { id, command } => "nobody knows the pull request of {id}. This ends the wait: {command}";
        GoesOn { why, command } => "{why}. Once that is over, go on with: {command}";
        ProposalClosed => "the pull request was closed";
        ProposalCheckRed { name } => "check {name} of the pull request failed";
        ProposalRemarks => "reviewers of the pull request say";
        PhaseNotLanded { phase, why } => "phase {phase} did not land: {why}";
    }

    spent: Spent => text {
        Turns { max } => "{max} turns";
        Tokens { max } => "{max} tokens";
        Usd { max } => "{max} dollars";
        Worked { seconds } => "{seconds} s of work";
    }

    not_run: NotRun => text {
        Program { name, cause } => "cannot run {name}: {cause}";
        Folder { name, cause } => "cannot enter {name}: {cause}";
        SettingsFolder { cause } => "its folder for settings cannot be made: {cause}";
        NoCommand => "there is no command";
        ShimGone => "the shim is gone";
        Shim { program, cause } => "{program}: {cause}";
        ShimSilent => "it ended without a word";
        ShimSlow { ms } => "not ready after {ms} ms";
        Other { cause } => "{cause}";
    }

    no_group: NoGroup => text {
        NotMounted => "no control groups of version 2 are mounted";
        NotAllowed { place } => "this user may not make a group in {place} or around it";
        NotMade { place, cause } => "no group can be made in {place}: {cause}";
        Version1 { names } => "{names}: in use by control groups of version 1 on this machine";
        NotHandedOn { names, file } => "{names}: not handed on by {file}";
        NotFrozen => "groups cannot be frozen by this kernel";
    }

    bad_setting: BadSetting => text {
        Unread { cause } => "{cause}";
        NotToml { line, said } => "line {line}: {said}";
        Key { line, key: _, said } => "line {line}: {said}";
        Notify { line, key } => "line {line}: {key} makes no sense: webhook, slack, ntfy and ntfy_actions are one text each, desktop is true or false";
        EmptyCommand { agent } => "agent '{agent}' has an empty command";
        NoClient { agent } => "agent '{agent}' has a model or args and no client: set client to claude, codex, gemini or opencode";
        CommandAndClient { agent } => "agent '{agent}' mixes a command with a client: either command and protocol, or client, model and args";
        NoModel { agent, client, model } => "agent '{agent}': {client} takes no model '{model}' by an argument; leave model away and set it in the client's own settings";
        ReservedArgument { agent, client, argument } => "agent '{agent}': the argument '{argument}' of {client} is set by bowline; take it out of args";
        NoPhases { name } => "type '{name}' has no phases";
    }
}
