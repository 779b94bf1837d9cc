//! English for findings in files: fragments that follow a place, without a full stop.

use crate::Lang::En;

table! {
    file_finding: FileFinding => text {
        Missing => "is missing";
        ShouldBe { wanted } => "should be {0}" [wanted.say(En)];
        ShouldBeIs { wanted, is } => "should be {0}, is {1}" [wanted.say(En), is.say(En)];
        NotAnObject => "the file is not a JSON object";
        DuplicateKey => "the key stands more than once; the last one counts";
        NotOneOf { words } => "is not one of {words}";
        WordNotOneOf { word, words } => "'{word}' is not one of {words}";
        NotATime { text } => "'{text}' is not a time";
        NotAVersion { text } => "'{text}' is not a version";
        Derived { is, makes } => "is {is}, but the rest of the file makes it {makes}";
        DerivedMissing { makes } => "is missing, but the rest of the file makes it {makes}";
        NewerVersion { found, written } => "version {found} is newer than {written}, the newest this program writes";
        OlderVersion { found, written } => "version {found} is older than {written}; the first change brings it up to date";
        OlderName { text, name } => "{text} is an older name of {name}";
        RuleBroken { rule, place, detail } => "{rule}: {place} {detail}";
        NoStages => "there are no stages";
        NoSuchStage { name } => "there is no stage '{name}'";
        NeitherTaskNorNull => "there is neither a task nor null";
        NoTaskList => "there is no list of tasks";
        NoTaskLists => "there are no lists of tasks";
        NoSession => "there is neither a session nor shared data";
        NoKnownPhase => "there is no phase that is known";
        NoAgentName => "the agent has no name";
        BadAgentName => "is not made of small letters, digits and dashes";
        NothingToTakeUp => "there is nothing to take up again";
        TaskTwice { id } => "the task '{id}' is there twice";
        ScoreRange { value } => "is {value}, but scores go from 0 to 10";
        MetricRange { value } => "is {value}, but metrics go from 0 to 1";
        ProgressRange { value } => "is {value}, but progress goes from 0 to 100";
        SaysNothing => "says nothing";
        NotOfThisRun => "is not about a task of this run";
        BeforeStart => "is before started_at";
        NoIds { count } => "{count} of its entries are no ids of tasks";
        OddEntries { count } => "{count} entries hold something other than ids of tasks";
        TooManyAttempts { attempts } => "{attempts} attempts are more than the limit";
        HoldsValue => "holds a value; only names belong here";
        NotAllPhases => "not all of it are numbers of phases";
        OlderFile { written } => "the file is older than {written}; the first change brings it up to date";
        OddIdsKept => "some of its entries are no ids of tasks; it is kept as it is";
        ReadAsNormal { word } => "'{word}' is read as normal";
        SaysNoTime => "says no time";
        IsNoTime => "is not a time";
        UnknownPhaseKept => "says no phase that is known; it is kept. Which phase is the run in?";
        NotAnOrchestration => "the file is not about an orchestration";
        AnotherProgramsFile => "the file was written by another program";
        ListedTwice { ids } => "{0} there more than once" [ids.say(En)];
        ListedInBoth { ids } => "{0} also in the list that counts" [ids.say(En)];
        ListedWrongly { ids } => "{0} made something else by the rest of the file" [ids.say(En)];
        Unlisted { ids } => "{0} named elsewhere and in no list" [ids.say(En)];
        NodeTwice { id } => "task '{id}' is there twice";
        NodeWithoutDependency { id, dependency } => "task '{id}' depends on '{dependency}', which does not exist";
        NodesInCircle { path } => "tasks depend on each other: {path}";
        NodeOfLaterPhase { id, phase, dependency, later } => "task '{id}' of phase {phase} depends on '{dependency}' of the later phase {later}";
        TooManyNodes { count, max } => "{count} tasks are more than {max}";
        NotUtf8 { offset } => "not UTF-8 text: bad byte at offset {offset}";
        Empty => "the file is empty";
        TooDeep { max, line, column } => "nested more than {max} levels deep at line {line}, column {column}";
        NumberTooLarge { line, column } => "the number at line {line}, column {column} is too large";
        NotJson { text, line, column } => "not JSON: {text} at line {line}, column {column}";
        FileGone => "the file is gone, but its journal is here";
        AllGone => "the file and its journal are gone, but a copy is here";
        HistoryOwed => "a task that is over is not in the history yet";
        JournalGap { from, to } => "the journal goes from line {from} to line {to}: history and undo end there";
        NotBelieved { reason } => "{reason}";
        Noticed { notice } => "{0}" [notice.say(En)];
    }

    named: Named => text {
        One { id } => "{id} is";
        Several { ids } => "{ids} are";
        More { ids, more } => "{ids} and {more} more are";
    }

    kind: Kind => text {
        Null => "null";
        Bool => "true or false";
        Number => "a number";
        NumberOrNull => "a number or null";
        WholeNumber => "a whole number";
        Text => "text";
        TextOrNull => "text or null";
        Time => "a time";
        TimeOrNull => "a time or null";
        List => "a list";
        Object => "an object";
        ObjectOrNull => "an object or null";
        ObjectOrText => "an object or text";
        StepNumber => "the number of a step";
        TaskList => "a list of tasks";
        OneOf { words } => "one of {words}";
        Exactly { word } => "{word}";
    }

    repair: Repair => text {
        SetIt { value } => "set it to {value}";
        SetItToStart => "set it to started_at";
        SetTo { field, value } => "set {field} to {value}";
        SetNull { field } => "set {field} to null";
        SetToLimit { field } => "set {field} to the limit";
        SetToField { field, other } => "set {field} to {other}";
        StartOfTask => "set started_at to the start of the task";
        EndOfTask => "set completed_at to the task's last change";
        NoStepFailed => "set status to in_progress: no step failed";
        AddError => "add an error without a message";
        AddIssue { step } => "add an issue for the failed step {step}";
        CallResolved => "call the issue resolved";
        AgreeResolved => "make resolved_at agree with resolved";
        Remove => "remove it";
        LeaveOut => "leave it out";
        LeaveThemOut => "leave them out";
        TakeValueOut => "take the value out";
        KeepIds => "keep the ids";
        KeepOne => "keep one";
        TakeOutHere => "take it out here";
        Move => "move it";
        AddHere => "add it here";
        Close => "close it";
        WriteThere => "write it there";
        Reapply => "'bowline doctor --repair' applies them again";
        Wrote => "wrote the finished task to the history";
        Completed => "completed what was committed and had not reached the file";
        Applied { passage } => "applied {0} again" [passage.say(En)];
        OtherPhase { left, found } => "phase {left} instead of {found}: the journal is gone, and this is what the copies and the evidence left of it show";
        ClosedGates { gates } => "closed {gates}: a repair leaves no gate open; each has to be passed again";
        NoLongerPassed { checkpoints } => "no longer passed: {checkpoints}; nothing that is left shows it";
        Noticed { notice } => "{0}" [notice.say(En)];
    }
}
