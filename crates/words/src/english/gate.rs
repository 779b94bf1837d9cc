//! English for denials of the gate and the resume card.

use crate::Lang::En;
use crate::message::Change;

table! {
    denied: Denied => text {
        Write { phase, path, by } => "[PHASE GATE] {phase}: writing {path} ({by}) is closed.";
        WriteByTool { phase, path } => "[PHASE GATE] {phase}: writing {path} (the tool) is closed.";
        WriteSomewhere { phase, by } => "[PHASE GATE] {phase}: writing a file ({by}) is closed.";
        WriteSomewhereByTool { phase } => "[PHASE GATE] {phase}: writing a file (the tool) is closed.";
        Finish { phase, what } => "[PHASE GATE] {phase}: {what} is closed.";
        OtherTree { what } => "[PHASE GATE] PR: {what} is closed: this is not the tree that was tested.";
        OtherFiles { what, changes } => "[PHASE GATE] PR: {what} is closed: it is not what was tested: {0}." [Change::join_first(changes, En)];
        Hidden { phase, what } => "[PHASE GATE] {phase}: it cannot be seen what would run: {0}." [what.say(En)];
        Guard { phase, path } => "[PHASE GATE] {phase}: changing {path}, by which gates are asked, is closed.";
        PersonHere { phase, what } => "[PHASE GATE] {phase}: {what} is a person's move.";
        Person { what } => "[PHASE GATE] '{what}' is a person's move.";
        State { path } => "[PHASE GATE] {path} is changed by bowline only.";
        Missing { path } => "[PHASE GATE] a develop run is open, but its file {path} is missing.";
        Damaged { path, reason } => "[PHASE GATE] {path} cannot be read: {reason}.";
        CannotJudge { reason } => "[PHASE GATE] the gate cannot judge this call: {0}." [reason.say(En)];
        GateFailed => "[PHASE GATE] the gate cannot judge this call: it failed while it was deciding; this is a fault of bowline.";
    }

    finishing_act: FinishingAct => text {
        Command { text } => "{text}";
        Push { name } => "git push of {name}";
        MoveBranch => "moving a branch";
        MoveReference { name } => "moving {name}";
    }

    unjudged: Unjudged => text {
        Unread { cause } => "the client's message cannot be read: {0}" [cause.say(En)];
        TooLong => "the client's message is too long";
        NotUnderstood { said } => "{said}";
        NoTool => "the message names no tool";
        NoFolder => "the folder of the session cannot be told";
        GitUnread => "what git sent cannot be read";
    }

    unseen: Unseen => text {
        Unreadable { at, fault } => "the command line cannot be read at character {at}: {fault}";
        ToolInput { tool } => "the command that {tool} is given cannot be read";
        Nameless => "a variable without a name";
        Code { language } => "code for {language} that is put together while it runs";
        GitCommand => "a command of git that is put together while it runs";
        GitAlias => "an alias of git that is put together while it runs";
        GitSettings { command } => "git {command}, with settings from elsewhere";
        CommandOf { name } => "a command of {name} that is put together while it runs";
        TypedInto { name } => "what {name} would be told while it runs";
        Program => "a program whose name is put together while it runs";
        Alias { name } => "the alias {name}";
        SedRuns => "sed runs what it replaces";
        TooDeep => "too much within each other";
        Text => "text that is put together while it runs";
        Prompt => "a prompt that is put together while it runs";
        NotFoundHandler => "a function for commands that are not there";
        StartFile => "a start file that is put together while it runs";
        Anything { language, by } => "code for {language} that may run anything, by {by}";
        CronTable => "a table of cron";
    }

    shell_fault: ShellFault => text {
        BadLetter => "a letter that no command line has";
        TooLong => "it is too long";
        TooDeep => "it is nested too deeply";
        OpenBracket => "a bracket is not closed";
        StrayBracket => "a bracket that is not expected here";
        OpenQuote => "a quote is not closed";
        OpenBackquote => "a backquote is not closed";
        OpenBrace => "a brace is not closed";
        StrayWord => "a word that closes nothing";
        StrayWordOrBracket => "a word or bracket that closes nothing";
        BadLoop => "a loop";
        LoopWithoutVariable => "a loop without a variable";
        OpenPattern => "a pattern that does not end";
        FunctionWithoutName => "a function without a plain name";
        OpenTest => "a test that does not end";
        OpenCalculation => "a calculation that does not end";
        AfterCommand => "something after the end of a command";
        UnclearHereDocument => "a here-document whose end cannot be told";
        StraySign => "a sign that is not expected here";
        ParameterWithoutName => "a parameter without a name";
        WordMissing { word } => "{word}";
    }

    open_construct: OpenConstruct => text {
        ManyCalls => "very many calls";
        EmbeddedCommand => "a command in it";
        DisguisedName => "a name in disguise";
        Name { name } => "{name}";
    }

    card: Card => text {
        Blocked { command } => "blocked: {command}";
        ClosedGates { gates } => "closed gates: {gates}";
        Next { command } => "next: {command}";
        NextLine { command } => "Next: {command}";
        NextByPerson { command } => "next: ask a person to run: {command}";
        NextIsVerb => "next: bowline develop status, then its verb: review, gate pass, implement, checkpoint, pr, done";
        AskPerson { command } => "Ask a person to run: {command}";
        AskPersonFor => "next: ask the person you work for to run it in a terminal of their own";
        NotBelieved { what } => "not believed, because bowline did not write it: {what}";
        NotBelievedHere { what } => "Changed by somebody else and not believed: {what}";
        NotBelievedIn { path, what } => "Changed in {path} but not by bowline, and therefore not believed: {what}. Use its verbs: `bowline develop --help`.";
        Head => "Where the work stands, by bowline's state files (trust this over what you remember):";
        RunMissing { path } => "A develop run is open, but its file {path} is missing. Tools that write or commit are denied until it is back.";
        RunDamaged { path, reason } => "The file of the develop run, {path}, cannot be read ({reason}). Tools that write or commit are denied.";
        FileMissing { path, next } => "{path} is missing while a develop run is open. {next}";
        FileDamaged { path, reason, next } => "{path} cannot be read ({reason}). {next}";
        About { feature, phase } => "Develop run '{feature}', phase {phase}.";
        When { began, moved, utc, strategy } => "Started {began}, last changed {moved} ({0}){1}." [if *utc { "UTC" } else { "local time" }, strategy.map(|name| format!(", strategy {name}")).unwrap_or_default()];
        LatestChanges { changes } => "Latest changes: {changes}";
        Foreign => "Another program began this run; `bowline develop adopt` takes it over.";
        SealStale => "A sealed file was changed: a person looks at it and seals again, then the gates count.";
        Passed { passed, total, open } => "{passed} of {total} passed; {open}, …";
        WritesClosed { gates } => "Closed now: writing files (until {gates})";
        FinishesClosed { gates } => "Closed now: commit, push and pull request (until {gates})";
        DesignAgain => "Design again from the request: what was discussed is lost.";
        ReviewAgain => "Run the review of the design again.";
        Implement => "The design is reviewed: begin the implementation.";
        Begin { id } => "Begin checkpoint {id}.";
        GoOn { id, attempt, max } => "Go on with checkpoint {id} at attempt {attempt} of {max}: read its code and tests again, then run them.";
        OnlyPeople => "Only checkpoints that a person has to decide about are left: ask.";
        VerifyAll => "Every checkpoint has passed: verify the whole.";
        ToPr => "The whole is verified: go on to the pull request.";
        ReReview => "Run the review of the code again.";
        FinishNow => "The code is clean: finish.";
        GateBehind { phase } => "A gate that lies behind is closed: a person has to go back to {phase}.";
        Over => "The run is over.";
        StopTo { id, attempt, max, next } => "Checkpoint {id} is in progress (attempt {attempt} of {max}). Read the failing output, fix it, and run its check: `{next}`. If this attempt failed, say so: `bowline develop checkpoint fail {id} --class LOGIC_ERROR` (DESIGN_MISMATCH and ENV_ISSUE ask a person at once).";
        AlsoHere { kind, name, said } => "Also here: {kind} ({name}): {0}. See `bowline status {kind}`." [said.say(En)];
        LessonsFor { stage, lessons } => "Earlier tasks learnt for stage {stage}; apply it: {lessons}";
        StepInHand { step, name, agent } => "Step {step} of {agent}: {name}.";
        TaskGoal { goal } => "Its goal: {goal}";
        Shared { facts } => "What all agents share: {facts}";
        Remembers { agent, facts } => "What {agent} remembers: {facts}";
        Taught { lessons } => "Similar tasks taught this; apply it: {lessons}";
    }

    other: Other => text {
        Unreadable => "cannot be read here";
        Thinking { id, stage, status } => "'{id}', stage {stage}, {0}" [status.say(En)];
        Memory { name, status, step: Some(step) } => "'{name}', {0}, step {step}" [status.say(En)];
        Memory { name, status, step: None } => "'{name}', {0}" [status.say(En)];
        NoTask => "no current task";
        Orchestration { project, done, running, ready, failed } => "'{project}', {done} done, {running} running, {ready} ready, {failed} failed";
    }
}
