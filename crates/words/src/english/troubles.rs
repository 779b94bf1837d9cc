//! English for failed operations: message / hint.

use crate::Lang::En;
use crate::message::{Change, Doubt, LockOwnerText};

/// Describes the owner of a lock as far as it is known.
fn describe_owner(owner: &LockOwnerText) -> String {
    let mut text = match owner.pid {
        Some(pid) => format!("process {pid}"),
        None => "another program".to_owned(),
    };
    for (before, word, after) in [
        (" on ", &owner.host, ""),
        (" (", &owner.what, ")"),
        (" since ", &owner.at, ""),
    ] {
        if !word.is_empty() {
            text.push_str(&format!("{before}{word}{after}"));
        }
    }
    text
}

table! {
    trouble: Trouble => with_hint {
        NoFile { kind, path, begin } => "there is no {kind} file at {path}" / "{begin}";
        NothingHere { path } => "there is no state file at or above {path}" / "begin with 'bowline thinking new ID --title T --goal G', or name a folder with -C";
        Ambiguous { paths } => "several state files are here: {paths}" / "name one of them";
        UnknownKind { path } => "{path} is not a state file of any kind Bowline knows" / "name one of the files 'bowline' lists";
        AnotherProgramsFile { path } => "{path} was written by another program" / "it does not hold what Bowline writes and is left alone; move it away to begin here";
        Foreign { path } => "{path} is not an orchestration" / "it belongs to another program and is left alone; move it away to begin here";
        NoPlan { path } => "there is no plan at {path}" / "name it: 'bowline orchestrate plan FILE'; else it is looked for as docs/planning/06-tasks.md, docs/planning/TASKS.md and TASKS.md";
        OutputThere { path } => "{path} already exists" / "'--force' replaces it, '--output FILE' writes another";
        AlreadyExists { path } => "{path} already exists" / "choose another folder, or go on with the one there: 'bowline status'";
        OrchestrationExists { path } => "{path} already exists" / "go on with it: 'bowline orchestrate status'; 'bowline orchestrate rebuild' takes over what the plan says";
        BadPlan { path, line, found } => "{path}:{line}: {0}" [found.say(En)] / "mend the plan; 'bowline orchestrate plan' shows how it is read";
        AmbiguousTask { name, fitting } => "several tasks fit '{name}': {fitting}" / "give more of its id";
        NobodyRuns { path } => "nobody runs the orchestration of {path}" / "begin with 'bowline orchestrate run'";
        NoAgent { name } => "there is no agent '{name}'" / "describe it as [agent.{name}] in bowline.toml, or take claude, codex, gemini, opencode or scripted";
        AgentNotInstalled { name, program } => "agent '{name}' cannot be started: there is no program '{program}'" / "install it, put its folder on PATH, or name another agent with --agent";
        Breaker { id, why } => "'{id}' used up what it is allowed: {why}" / "raise it in the table [limits] of bowline.toml, then run again";
        StartsSpent { max } => "{max} agents were started, as many as asked for" / "run again to go on";
        NoValidation { id } => "nothing tells whether checkpoint '{id}' is done" / "hand in a contract with 'validation: {{ command: … }}' for it: bowline develop review --contract FILE";
        BadSettings { path, fault } => "{path} cannot be used: {fault}" / "mend it; 'bowline schema config' has all keys";
        NoBranch { path } => "{path} is on no branch" / "check out the branch that the work shall land on, then run it again";
        NoCommit { path, branch } => "branch {branch} of {path} has no commit" / "make a first commit: 'git commit --allow-empty -m begin'";
        NoMerge { phase, why } => "phase {phase} did not land: {why}" / "mend it and run this again; where you have merged it yourself: 'bowline orchestrate phase finish {phase} --no-git'";
        Damaged { path, found } => "{path} is damaged: {0}" [found.say(En)] / "bowline doctor --repair {path}";
        Unreadable { path } => "{path} is damaged: unreadable" / "bowline doctor --repair {path}";
        NewerVersion { path, found } => "{path} was written by a newer version and is read-only here: {0}" [found.say(En)] / "update Bowline to change this file";
        NeedsPerson { what } => "'{what}' is a person's move, and this runs under an agent" / "ask the person you work for";
        NeedsPersonAtAll { what } => "'{what}' is a person's move" / "ask the person you work for";
        NoTerminal { refused, variable, person } => "{0}, and nothing shows that a person gives this command: it has no terminal" [refused.say(En).0] / "run it in a terminal; a script of yours, and CI, set {variable}={person}";
        CutOff { refused, variable, person } => "{0}, and nothing shows that a person gives this command: it was cut off from its terminal's shell" [refused.say(En).0] / "run it in a terminal; a script of yours, and CI, set {variable}={person}";
        RunChanged => "the develop run became another one while this command was on its way" / "look at 'bowline develop status' and decide whether to run it again";
        MovedOn { path } => "{path} has moved on since it was looked at" / "look at it again, and decide then";
        TransitionNotKept { path, sequence, first, at } => "{path} has no transition {sequence} any more: its history begins with {first} ({at}); older journals were dropped, because only the current journal and the one before it are kept" / "'bowline history {path}' lists what can be restored";
        NoSuchTransition { path, sequence } => "{path} has no transition {sequence}" / "'bowline history {path}' lists them";
        NothingToUndo { path } => "{path} has nothing to undo" / "nothing to do";
        EffectsLeft { sequence, trigger } => "transition {sequence} ({trigger}) had effects outside the file" / "with --state-only the file goes back and what was done outside it stays";
        NoCopy { which, folder } => "there is no copy '{which}…' in {folder}" / "'bowline memory backup' makes copies";
        StaleTree { changes } => "changed since it was sealed or verified: {0}" [Change::join_all(changes, En)] / "run the gate again: 'bowline develop gate reset NAME', then 'bowline develop gate pass NAME'";
        TreeNotCommitted { changes } => "the tested tree is in no commit; the last commit differs: {0}" [Change::join_first(changes, En)] / "commit what was tested, or have git ignore what does not belong to it";
        StaleSeal { changes } => "changed since it was sealed or verified: {0}" [Change::join_all(changes, En)] / "a person looks at it and seals it anew with 'bowline develop seal'";
        NotVerified { reasons } => "not verified: {0}" [Doubt::join_all(reasons, En)] / "pass the gates again on this tree";
        ProgramFailed { program, said } => "'{program}' failed: {said}" / "see what it said";
        DeniedBySandbox { program, said, path } => "'{program}' failed: {said}" / "the agent's sandbox does not grant {path}: a person starts the agent with '--read {path}'";
        GitTooOld { found, needed } => "this is {found}; agents that work beside each other need git {needed} or newer" / "install a newer git; outside of a repository the run needs none";
        NoAttempt { id } => "there is no attempt '{id}'" / "'bowline attach' lists the attempts";
        AmbiguousId { id, fitting } => "several attempts begin with '{id}': {fitting}" / "give more letters of the id";
        NotRunning { id } => "the agent of attempt {id} does not run" / "'bowline attach' lists the attempts";
        InputClosed { id } => "the standard input of attempt {id} is closed, or was never open" / "start a new attempt with 'bowline run-agent --open-input -- CMD' to send to it";
        ShimStopped { id, pid } => "the shim of attempt {id} is stopped (process {pid})" / "'kill -CONT {pid}' lets it go on; to end all of it: 'kill -9 {pid}', then 'bowline attach {id} --end'";
        ShimSilent { id, pid } => "the shim of attempt {id} does not answer (process {pid})" / "try again; to end all of it: 'kill -9 {pid}', then 'bowline attach {id} --end'";
        ShimSilentSomewhere { id, stopped: true } => "the shim of attempt {id} is stopped" / "try again; 'bowline attach' tells whether it ended or was lost";
        ShimSilentSomewhere { id, stopped: false } => "the shim of attempt {id} does not answer" / "try again; 'bowline attach' tells whether it ended or was lost";
        ChangedWhileRunning { command, changes } => "files changed while '{command}' ran, so it is no evidence: {0}" [Change::join_first(changes, En)] / "let nothing else write while it runs; have git ignore the files that the command itself makes, and run a command that writes tracked files before the gate";
        CallCancelled { what } => "the call was cancelled: '{what}' was ended, and nothing was changed" / "call it again when it is wanted";
        NotPausedYet { id, seconds } => "attempt {id} is not paused after {seconds} s: something of it still runs" / "it goes on being paused; look with 'bowline attach', or end it with 'bowline attach {id} --end'";
        NotResumedYet { id, seconds } => "attempt {id} does not run again after {seconds} s: something of it is still stopped" / "look with 'bowline attach', or end it with 'bowline attach {id} --end'";
        NotEndedYet { id, seconds } => "attempt {id} has not ended after {seconds} s: something of it is left" / "it goes on being ended; look with 'bowline attach'";
        AgentNotStarted { id, why } => "the agent of attempt {id} could not be started: {why}" / "check the command, its folder and its sandbox";
        NoControlGroup { what, reason } => "{what} cannot be had here: {reason}" / "'bowline run-agent --sandbox-report' says what this machine permits";
        OutsideTree { changes } => "a command would test what is not in the tree, so it would be no evidence: {0}" [Change::join_first(changes, En)] / "commit in the submodule; let links lead to places inside the tree, or have git ignore them, as for a virtual environment ('git init' first where there is no repository)";
        NoSigningSandbox { why } => "nothing is signed: the command could read the signing key ({why})" / "a person may accept that with --unsandboxed-signing, which the evidence then says; else use Linux 5.13 or newer, and a key outside of what agents may read";
        StateInSandbox { root, folder } => "the sandboxed agent could write to {root}, which holds Bowline's own {folder}" / "let the agent work in a folder below, or set XDG_STATE_HOME to a place outside";
        RootThroughLink { link, target } => "{link} is a link out of a folder that agents write: it leads to {target}" / "remove the link, or name the place it leads to if that is what you want";
        NotRelayed { what, reason } => "'{what}' is not carried out for an agent in a sandbox: {0}" [reason.say(En)] / "work in your own folder; for anything else ask the person you work for";
        NoFolder { path } => "{path} is not a folder, or was removed" / "go to a folder that is there, or name one";
        OutputAfterEnd => "the output could not be shown" / "the agent has ended; 'bowline attach ID' shows the rest";
        OutputGone => "the output could not be shown" / "the agent goes on: 'bowline attach' lists the attempts";
    }

    file_trouble: FileTrouble => with_hint {
        Locked { path, owner: who, waited_ms } => "{path} is locked by {0} (waited {waited_ms} ms)" [describe_owner(who)] / "wait for the owner to finish; if it is not a program that uses this file, remove the lock file";
        Permission { path, action } => "no permission to {action} {path}" / "check the owner and the permissions of the file and of its folder";
        DiskFull { path, action } => "no space left to {action} {path}" / "free some space and run the command again";
        NotRegular { path, what } => "{path} is {what}, not a regular file" / "move it away, or name another path";
        TooBig { path, bytes, bytes_max } => "{path} is too big: {bytes} bytes; the limit is {bytes_max}" / "prune the document";
        NotUtf8 { path, valid_bytes } => "{path} is not UTF-8 text (first bad byte at {valid_bytes})" / "see the message above";
        LinkLoop { path } => "{path} is a loop of symbolic links" / "point the link at a file";
        Contended { path, tries } => "{path} was changed by others {tries} times while we wrote it" / "stop the program that writes this file without taking its lock";
        NeedsReplay { path } => "{path} has unfinished batch steps that need their program to apply" / "see the message above";
        NoDocument { path } => "{path} does not exist; write it once before committing steps" / "see the message above";
        StepsNotWritten { path } => "{path} has committed steps that are not written yet" / "see the message above";
        NoSuchVersion { path, seq } => "the journal of {path} has no change number {seq}" / "see the message above";
        NotRebuildable { path, seq } => "{path} cannot be rebuilt as of change {seq}" / "see the message above";
        NothingToRestore { path } => "nothing usable was found to repair {path}" / "put a good copy in its place, or move it away and begin anew";
        Unfinished { path, seq } => "change {seq} of {path} is committed; the file will be completed by the next command" / "do not repeat the command; any next command completes it";
        Uncertain { path, seq } => "change {seq} of {path} may or may not be committed" / "look at the history before repeating the command";
        EarlierUnfinished { path, seq } => "change {seq} of {path}, made by an earlier command, could not be completed; nothing of this one was written" / "mend what stopped it and repeat the command; it completes the earlier change first";
        Io { path, action } => "failed to {action} {path}" / "see the message above";
        FileForFolder { path, action } => "failed to {action} {path}" / "a file stands where a folder is needed: move it away";
        Unknown { text } => "{text}" / "see the message above";
    }

    agent_trouble: AgentTrouble => with_hint {
        Io { action, path } => "cannot {action} {path}" / "check the disk, and who owns the folder";
        Relay { path } => "the command could not be carried out outside of the sandbox, by {path}" / "run it again; if that does not help, ask the person you work for";
        NoAttempt { path } => "there is no attempt at {path}" / "'bowline attach' lists the attempts";
        BadId { id } => "'{id}' cannot be the id of an attempt" / "use letters, digits, '-', '_' and '.', 100 at the most";
        AttemptExists { path } => "there is an attempt at {path} already" / "use a new id for a new attempt";
        NotStarted { attempt, why } => "the shim of attempt {attempt} did not start: {why}" / "check that bowline-shim stands beside bowline";
        Unreachable { attempt } => "no shim answers for attempt {attempt}" / "'bowline attach' tells whether the attempt ended or was lost";
        Protocol { attempt, said } => "the shim of attempt {attempt} speaks another protocol: {said}" / "update Bowline";
        FencedOut { said } => "{said}" / "another server owns this attempt now";
        StaleGeneration { said } => "{said}" / "ask for the status and decide anew";
        InputFull { said } => "{said}" / "send it again when the agent has read some";
        InputGap { said } => "{said}" / "ask for the status: it names the next number";
        InputClosed { said } => "{said}" / "start a new attempt with the message";
        NotRunning { said } => "{said}" / "'bowline attach' tells how it ended";
        AgentPeer { said } => "{said}" / "ask the person you work for to do it from outside of the agent";
        NoDescriptors { said } => "{said}" / "raise the limit of open files (ulimit -n) and start the agent anew";
        BadRequest { said } => "{said}" / "update Bowline";
        Unsupported { said } => "{said}" / "end the agent and start it anew";
    }

    path_trouble: PathTrouble => with_hint {
        BadPath { path } => "'{path}' is not a path" / "write keys joined by dots, like shared_data.current_topic";
        NotFound { path } => "there is nothing at '{path}'" / "read the parent to see what is there";
        Protected { path } => "'{path}' cannot be set" / "version, times and ids are kept by bowline itself";
        MustBeObject { path } => "'{path}' must stay an object" / "set a member of it instead";
        NoMembers { path } => "'{path}' leads through a value that has no members" / "set the value on the way first";
        NotAList { path } => "'{path}' is not a list" / "append to another path, or set this one to a list first";
        TooLarge { path, bytes, max } => "'{path}' would have {bytes} bytes; {max} are allowed" / "put the text into a file and store its path";
    }

    evidence_trouble: EvidenceTrouble => with_hint {
        Damaged { path, said } => "{path} {said}" / "write it again where the run is: 'bowline develop evidence export FILE --key FILE'";
        Unsigned { what } => "nobody signed {0}" [what.say(En)] / "pass the gates with BOWLINE_EVIDENCE_KEY_FILE set, then 'bowline develop evidence export FILE --key FILE'";
        Forged { what } => "the signature of {0} is not that of this key" [what.say(En)] / "use the key the gates were passed with; if that is this one, somebody changed the file";
        OtherRun { gate, found, run } => "the evidence of gate '{gate}' is of run '{found}', not of '{run}'" / "export the evidence of one run";
        OtherPolicy { changes } => "what was sealed is not what is here: {0}" [Change::join_all(changes, En)] / "a person seals what is here, and the gates are passed again on it";
        OtherTree { wanted, found } => "the evidence is of tree {wanted}, and this is {found}" / "check out the commit that was verified, with nothing else lying around, or pass the last gate again on this one";
        NoTree { found } => "the evidence is of tree nothing, and this is {found}" / "check out the commit that was verified, with nothing else lying around, or pass the last gate again on this one";
    }
}
