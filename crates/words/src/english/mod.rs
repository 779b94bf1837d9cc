//! English texts. One line per message; parameters are written in braces.

mod file;
mod found;
mod gate;
mod input;
mod plan;
mod proof;
mod refusals;
mod run;
mod said;
mod server;
mod tool;
mod troubles;
mod usage;
pub(crate) mod web;
pub(crate) mod web_forms;

pub(crate) use file::*;
pub(crate) use found::*;
pub(crate) use gate::*;
pub(crate) use input::*;
pub(crate) use plan::*;
pub(crate) use proof::*;
pub(crate) use refusals::*;
pub(crate) use run::*;
pub(crate) use said::*;
pub(crate) use server::*;
pub(crate) use tool::*;
pub(crate) use troubles::*;
pub(crate) use usage::*;
pub(crate) use web::*;
pub(crate) use web_forms::*;

use crate::Lang::En;
use crate::message::Passage;

fn join_passages(passages: &[Passage]) -> String {
    let names: Vec<String> = passages.iter().map(|one| one.say(En)).collect();
    names.join(", ")
}

table! {
    notice: Notice => text {
        RolledForward { lines } => "{lines} committed change(s) had not reached the file and were completed";
        NotRolledForwardYet { lines } => "{lines} committed change(s) had not reached the file yet; they are shown as committed, and the next change completes them";
        OutsideEdit => "the file was changed outside Bowline";
        LostTransitions { lost } => "the file was changed outside Bowline and lacks acknowledged transitions: {0}" [join_passages(lost)];
        PutBack { sequence } => "the file was put back by hand as it was after transition {sequence}";
        PutBackTaking { sequence, taken } => "the file was put back by hand as it was after transition {sequence}, which takes back {0}; 'bowline restore NUMBER' brings a later version back" [join_passages(taken)];
        AnotherTask { was, is } => "the file is now about '{is}', it was about '{was}': nothing of that was applied to it";
        Distrusted { places } => "changed outside Bowline and not believed: {places}";
        PlanNotThere { path } => "the plan that the state file names is not there: {path}";
        AnotherPlan { path, foreign } => "the state file belongs to another plan: {foreign} of its tasks are not in {path}, so nothing is counted by that; name its plan in 'tasks_file', or move the file away and run 'bowline orchestrate init'";
        TreeNotCompared => "tree = false in bowline.toml: what lands may be another tree than the one that was tested";
        NotIgnored => "git does not ignore .develop-workflow/; add it to .gitignore";
        GitHooksElsewhere { path } => "git's hooks are off, and commits are not held: core.hooksPath is {path}; 'git config core.hooksPath .git/hooks', then 'bowline init'";
        GitHookMissing { path } => "git's hooks are off, and commits are not held: {path} is not Bowline's any more; 'bowline init' puts it back";
        GitHookNotExecutable { path } => "git's hooks are off, and commits are not held: {path} is not executable; 'chmod +x' it";
        Mended { pointer, found } => "{pointer} {0}" [found.say(En)];
        MendedSo { pointer, found, repair } => "{pointer} {0}: {1}" [found.say(En), repair.say(En)];
        RestoredDamaged { from, aside } => "the file was damaged: {0}; the damaged one is {aside}" [from.say(En)];
        RestoredMissing { from } => "the file was missing: {0}" [from.say(En)];
        BadJournalLine { offset } => "the journal line at byte {offset} cannot be read";
        JournalSetAside { path } => "the journal could not be read and was set aside as {path}";
        JournalDoesNotFit { seq } => "change {seq} of the journal does not fit the file";
        ReplayDiffers { seq } => "the steps before mark {seq} were replayed to another text than the one written";
        ForeignLockTakenOver { owner } => "the lock file of {owner} was left behind and was taken over";
        LockRemoved => "the lock file was removed while its owner was still writing; nothing was lost, the owner was waited for";
        KeptAside { path } => "a version written by another program was kept as {path}";
        AlreadyInHistory { id } => "task '{id}' is in the history already and is no longer current";
        HistoryNotWritten { error } => "the history could not be written now ({error}); the next command does it";
        StillCurrent { id } => "task '{id}' is in the history already; the next change clears it";
        NoPlanToTick { id } => "task {id} is not ticked in the plan: there is none";
        NotTicked { id, why } => "task {id} is not ticked in the plan: {why}";
        NotTickedYet { id, why } => "task {id} is not ticked in the plan yet: {why}";
        Odd { text } => "{text}";
    }

    origin: Origin => text {
        Journal => "restored from the journal as it was last written";
        Version { sequence } => "restored as after transition {sequence}; what came after it cannot be rebuilt";
        Copy { path } => "restored from {path}";
        Rebuilt => "rebuilt from other files";
        Anew => "nothing to restore it from was found, so it begins anew";
    }

    passage: Passage => text {
        Passage { sequence, trigger, to } => "#{sequence} {trigger} to {to}";
    }

    cause: Cause => text {
        System { text, .. } => "{text}";
        Other { text } => "{text}";
    }

    status: Status => text {
        Draft => "draft";
        Pending => "pending";
        Ready => "ready";
        InProgress => "in_progress";
        Review => "review";
        Completed => "completed";
        Failed => "failed";
        Paused => "paused";
        Cancelled => "cancelled";
        Blocked => "blocked";
        Idle => "idle";
        Success => "success";
        Failure => "failure";
        Partial => "partial";
        Passed => "passed";
        Escalated => "escalated";
        Other { word } => "{word}";
    }

    thing: Thing => text {
        Feature => "feature";
        Reason => "reason";
        CheckpointId => "checkpoint id";
        Message => "message";
        Code => "code";
        Metric => "metric";
        CoreValue => "core value";
        Step => "step";
        Steps => "steps";
        Task => "task";
        TaskId => "task id";
        TaskName => "task name";
        StepName => "step name";
        ArtifactPath => "artifact path";
        WaitingTasks => "waiting tasks";
        Worktree => "worktree";
    }
}
