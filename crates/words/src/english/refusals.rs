//! English for refusals of the state machines: message / hint.

use crate::Lang::En;
use crate::message::Shortfall;

table! {
    thinking_no: ThinkingNo => with_hint {
        DependencyNotCompleted { stage, dependency } => "cannot start '{stage}': dependency '{dependency}' not completed" / "complete '{dependency}' first";
        OutputsMissing { stage, missing } => "'{stage}' lacks required outputs: {missing}" / "create {missing} and try again";
        NoOutput { stage } => "'{stage}' lacks required outputs: at least one output" / "create at least one output and try again";
        AlreadyInProgress { stage } => "stage '{stage}' is already in progress" / "end it with 'bowline thinking complete {stage} --output PATH' or 'bowline thinking fail {stage} --code CODE --message TEXT'";
        AlreadyCompleted { stage } => "stage '{stage}' is already completed" / "a completed stage stays completed; 'bowline undo' goes back";
        NotStarted { stage, status, current } => "stage '{stage}' is not in progress, it is {0}; current stage is '{current}'" [status.say(En)] / "start it with 'bowline thinking start {current}'";
        OtherInProgress { stage, status, current } => "stage '{stage}' is not in progress, it is {0}; current stage is '{current}'" [status.say(En)] / "complete it with 'bowline thinking complete {current} --output PATH'";
        OtherExhausted { stage, status, current } => "stage '{stage}' is not in progress, it is {0}; current stage is '{current}'" [status.say(En)] / "a person reopens it with 'bowline thinking start {current} --override REASON'";
        AllCompleted { stage } => "stage '{stage}' is not in progress: all stages are completed" / "nothing to do";
        RetriesExhausted { stage, tries } => "stage '{stage}' failed {tries} times; a person has to decide" / "a person reopens it with 'bowline thinking start {stage} --override REASON'";
        NeedsPerson { stage } => "only a person may override stage '{stage}'" / "ask the person you work for";
        OverrideNotNeeded { stage, status } => "stage '{stage}' needs no override; it is {0}" [status.say(En)] / "leave --override away";
        Empty { what } => "{0} must not be empty" [what.say(En)] / "say the {0}" [what.say(En)];
        PathEscapes { path } => "output '{path}' is not a path inside the task folder" / "give a path relative to the task folder, without '..'";
        BelowThreshold { stage, checks } => "'{stage}' is below its quality thresholds: {0}" [Shortfall::join_all(checks, En)] / "improve the work and measure again, or fail the stage; 'bowline thinking quality NAME=VALUE' records the three metrics, thinking/reflection/quality_check.json any other criterion (checks: [{{criterion, score}}])";
        UnknownName { what, name, known } => "unknown {0} '{name}'; known are {known}" [what.say(En)] / "use one of {known}";
        OutOfRange { name, value, max } => "{name} is {value}, but must be between 0 and {max}" / "give a number from 0 to {max}";
        BadTarget { metric } => "target of '{metric}' must be above 0, and not next to nothing" / "give what was hoped for, for instance --target 5%";
        AlreadyApplied { task } => "feedback of '{task}' was already applied" / "nothing to do";
        NoLessons { task } => "'{task}' has recorded no lessons" / "record some there with 'bowline thinking feedback record --metric NAME=VALUE --target VALUE --learning TEXT', then apply them";
    }

    orchestrate_no: OrchestrateNo => with_hint {
        NoTask { id } => "there is no task '{id}'" / "'bowline orchestrate status' lists the tasks";
        NotReady { id, waits_for } => "task '{id}' is not ready: it waits for {waits_for}" / "'bowline orchestrate next' says what can be done now";
        NotReadyYet { id, own, current } => "task '{id}' is not ready: it waits for phase {own} (phase {current} is current)" / "'bowline orchestrate next' says what can be done now";
        Blocked { id, by } => "task '{id}' is blocked by {by}" / "retry what failed, or force it to completed: 'bowline orchestrate next' lists it";
        NotBegun { id, status, verb } => "task '{id}' is {0}; cannot {verb}" [status.say(En)] / "'bowline orchestrate next' says what can be done now";
        Ready { id, verb } => "task '{id}' is ready; cannot {verb}" / "start it with 'bowline orchestrate start {id}'";
        InProgress { id, verb } => "task '{id}' is in_progress; cannot {verb}" / "end it with 'bowline orchestrate complete {id}' or 'bowline orchestrate fail {id} --reason TEXT'";
        Completed { id, verb } => "task '{id}' is completed; cannot {verb}" / "a completed task stays completed; 'bowline undo --state-only' goes back";
        Failed { id, verb } => "task '{id}' is failed; cannot {verb}" / "give it a fresh start with 'bowline orchestrate retry {id}'";
        NotFailed { id, status } => "task '{id}' has not failed; it is {0}" [status.say(En)] / "'bowline orchestrate next' says what can be done now";
        NoFreePlace { max } => "{max} tasks are in progress, as many as may be" / "wait for one of them, or raise the limit with '--parallel N'";
        NeedsPerson { id } => "only a person may force task '{id}' to completed" / "ask the person you work for";
        NoPhase { phase } => "there is no phase {phase}" / "'bowline orchestrate status' lists the phases";
        PhaseFinished { phase } => "phase {phase} is finished already" / "nothing to do";
        PhaseNotCurrent { phase, current } => "phase {phase} is not current; phase {current} is" / "finish phase {current} first";
        PhaseIncomplete { phase, done, total } => "phase {phase} has {done} of {total} tasks completed" / "'bowline orchestrate next' says what can be done now";
        BadCommit { commit, letters } => "'{commit}' is not the first {letters} characters of a commit" / "give {letters} hexadecimal digits, in small letters";
        Empty { what } => "{what} must not be empty" / "say the {what}";
    }

    plan_no: PlanNo => with_hint {
        NoTask => "there is no current task" / "begin one with 'bowline memory task new NAME --goal GOAL'";
        TaskPending { id, verb } => "task '{id}' is pending; cannot {verb}" / "start a step first";
        TaskInProgress { id, verb } => "task '{id}' is in_progress; cannot {verb}" / "nothing to do: it is being worked on";
        TaskClosed { id, status, verb } => "task '{id}' is {0}; cannot {verb}" [status.say(En)] / "move it to the history with 'bowline memory task finish'";
        TaskFailed { id, verb } => "task '{id}' is failed; cannot {verb}" / "a person reopens it with 'bowline memory task recover', or ends it with 'bowline memory task cancel'";
        TaskPaused { id, verb } => "task '{id}' is paused; cannot {verb}" / "take it up again with 'bowline memory task resume'";
        StepNotBegun { id, status, verb } => "step {id} is {0}; cannot {verb}" [status.say(En)] / "start it with 'bowline memory step start {id}'";
        StepInProgress { id, verb } => "step {id} is in_progress; cannot {verb}" / "end it with 'bowline memory step complete {id}' or 'bowline memory step fail {id} --message TEXT'";
        StepCompleted { id, verb } => "step {id} is completed; cannot {verb}" / "a completed step stays completed; 'bowline undo' goes back";
        NoStep { task, id } => "task '{task}' has no step {id}" / "'bowline memory status' lists the steps";
        StepBefore { id, missing } => "cannot start step {id}: step {missing} not completed" / "complete step {missing} first";
        StepsBefore { id, missing } => "cannot start step {id}: steps {missing} not completed" / "complete steps {missing} first";
        RetriesExhausted { id, tries } => "step {id} failed {tries} times; a person has to decide" / "a person reopens it with 'bowline memory task recover'";
        DuplicateId { what, id } => "{0} '{id}' is there already" [what.say(En)] / "give the {0} another id" [what.say(En)];
        MissingDependency { id, missing } => "step {id} depends on step {missing}, which does not exist" / "add step {missing}, or leave it out of the dependencies";
        CircularDependency { path } => "steps depend on each other: {path}" / "take one of these dependencies away";
        BadStepId => "step ids start at 1" / "number the steps from 1, or leave the ids out";
        TooMany { what, max } => "a plan holds at most {max} {0}" [what.say(En)] / "split the work into several tasks";
        Empty { what } => "{0} must not be empty" [what.say(En)] / "say the {0}" [what.say(En)];
        UnresolvedIssue { id, step } => "task '{id}' failed at step {step}; it is no success" / "a person recovers the task first, or it ends as partial or failure";
        NeedsPerson { id } => "only a person may recover task '{id}'" / "ask the person you work for";
        NotQueued { id } => "task '{id}' does not wait in the queue" / "'bowline memory status' lists the tasks that wait";
    }

    develop_no: DevelopNo => with_hint {
        NoRun => "no develop run here" / "begin with 'bowline develop start FEATURE'";
        RunOpen { feature, phase } => "a develop run is open: '{feature}', phase {phase}" / "go on with 'bowline develop resume', or throw it away with 'bowline develop start FEATURE --fresh'";
        WrongPhase { what, phase, wanted } => "cannot {what} in phase {phase}; that belongs to {wanted}" / "see 'bowline develop status'; it is possible in {wanted}";
        NotBack { phase, to } => "cannot go back to {to} from {phase}" / "name an earlier phase";
        GatesClosed { missing } => "closed gates: {missing}" / "see 'bowline develop status'";
        GatesClosedHere { missing, gate } => "closed gates: {missing}" / "'bowline develop resume' says how '{gate}' is opened";
        GatesClosedBefore { missing, phase } => "closed gates: {missing}" / "a person goes back with 'bowline develop back {phase}'";
        GateAlreadyOpen { gate } => "gate '{gate}' is already open" / "to run it again, 'bowline develop gate reset {gate}' first";
        CheckpointsOpen { checkpoints } => "checkpoints not passed: {checkpoints}" / "pass every checkpoint first; 'bowline develop resume' says which comes next";
        EvidenceRequired { gate } => "gate '{gate}' needs evidence" / "set [develop.gates.{gate}] run= and have a person seal it; a person may also use --run or --by-hand";
        EvidenceRed { gate, exit_code } => "gate '{gate}' stays closed: its command ended with code {exit_code}" / "repair what it found and try again";
        EvidenceStale => "a sealed file has changed since the seal" / "a person seals it anew with 'bowline develop seal'";
        NeedsPerson { what } => "only a person may {what}" / "ask the person you work for";
        UnknownCheckpoint { id } => "there is no checkpoint '{id}'" / "'bowline develop status' lists them; they are named when entering REVIEW";
        DuplicateCheckpoint { id } => "checkpoint '{id}' is named twice" / "name each checkpoint once";
        BadCheckpointId { shown, fault, chars_max } => "checkpoint id '{shown}' {fault}" / "use a short word such as cp-1, at most {chars_max} letters on one line";
        CheckpointFailed { what, id, status, typed } => "cannot {what} checkpoint '{id}': it is {0}" [status.say(En)] / "a person reopens it with 'bowline develop checkpoint start {typed} --override REASON'";
        CheckpointPending { what, id, typed } => "cannot {what} checkpoint '{id}': it is pending" / "start it with 'bowline develop checkpoint start {typed}'";
        CheckpointIs { what, id, status } => "cannot {what} checkpoint '{id}': it is {0}" [status.say(En)] / "see 'bowline develop status'";
        Empty { what } => "{0} must not be empty" [what.say(En)] / "say the {0}" [what.say(En)];
        AlreadyAdopted => "this run is Bowline's own already" / "nothing to do";
    }
}
