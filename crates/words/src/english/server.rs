//! English for refusals of the task server: message / hint.

use crate::Lang::En;

table! {
    server_no: ServerNo => with_hint {
        NoToken => "this needs a token" / "send 'Authorization: Bearer TOKEN' with the text of the server's token file, or sign in by the link that 'bowline serve' printed";
        WrongToken => "this is not the server's token" / "read it anew from the token file of the server's data folder";
        ForeignHost { host } => "'{host}' is not a name of this server" / "use the address that 'bowline serve' printed";
        TwoHosts => "the request names two hosts" / "send one Host header";
        ForeignOrigin { origin } => "a page of '{origin}' may not ask this server" / "open the server's own page";
        NeedsPerson { what } => "only a person may {what}" / "ask the person you work for; a script says BOWLINE_ACTOR=person";
        NeedsAgent => "only the agent of a task may report on it" / "use the token file that BOWLINE_AGENT_TOKEN_FILE names, while that attempt runs";
        NoRoute { path } => "there is nothing at {path}" / "GET /api/openapi.json lists what there is";
        WrongMethod { method, allowed } => "{method} is not for this" / "use {allowed}";
        NoSuch { what, id } => "there is no {what} '{id}'" / "look at the list for the ids there are";
        NotInQuery { name, value } => "'{value}' is no {name}" / "GET /api/openapi.json says what {name} may be";
        BadBody { fault } => "the body cannot be read: {fault}" / "GET /api/openapi.json has the shape of every body";
        BadTime { text } => "'{text}' is no time" / "write it as 2026-11-16T09:30:00Z";
        NotJson => "the body is no JSON" / "send it with 'Content-Type: application/json'";
        BodyTooBig { max } => "the body is bigger than {max} bytes" / "send less at once";
        TooSlow => "the request did not arrive in time" / "send it again";
        TooManyRequests { seconds } => "too many requests" / "come back in {seconds} s";
        TooManyConnections => "too many connections are open" / "close some, or come back in a while";
        Draining => "the server is stopping" / "its agents go on; ask again when it is back";
        Starting => "the server is starting" / "ask again in a moment";
        DiskFull => "no space is left on the disk of the data folder: nothing can be changed" / "make room; the server goes on by itself";
        Exhausted => "the machine has no file descriptors, memory or processes left: nothing can be changed" / "the server goes on by itself when there are some again";
        StoreDown => "the store failed and is being opened again: nothing can be changed" / "ask again in a moment; the server's log says why";
        Changed { version } => "the task moved on; its version is {version} now" / "look at it again, and decide then";
        RequestReused => "this request id was used for something else" / "use a new one for every request";
        UnknownType { name, known } => "there is no type '{name}'" / "use one of {known}";
        UnknownAgent { name, known } => "there is no agent '{name}'" / "use one of {known}, or add it to bowline.toml";
        EventGone { asked, oldest } => "what followed event {asked} is not kept any more; the oldest event is {oldest}" / "read the lists anew, and listen from X-Sequence on";
        OutsideWorkspace { path } => "'{path}' is not in the workspace" / "use a path of the list of artifacts";
        TooBigToSend { bytes, max } => "that is {bytes} bytes; at most {max} are sent" / "take single files, or copy them from the workspace folder";
        DiffFailed { why } => "the changes cannot be shown: {why}" / "look at the files in the workspace folder before you decide";
        NoSuchVerb { verb, known } => "there is no verb '{verb}' here" / "use one of {known}";
        VerbLacks { verb, field } => "'{verb}' needs '{field}'" / "add it to the body";
        NotOneOf { verb, field, value, known } => "'{value}' is no '{field}' of '{verb}'" / "use one of {known}";
        LeadsOut { path } => "{path} is a link that leads out of the workspace" / "put the file itself there, or serve the folder that has it";
        Cycle { path } => "the tasks would wait for each other: {path}" / "leave one of the dependencies away";
        WorkspaceMissing { path } => "the workspace {path} does not exist" / "make the folder first, or name another one";
        WorkspaceNotAFolder { path } => "the workspace {path} is not a folder" / "name a folder";
        WorkspaceHoldsData { path } => "the workspace {path} holds the server's data folder" / "name another folder: an agent must not reach the server's own files";
        WorkspaceInsideData { path } => "the workspace {path} lies inside the server's data folder" / "name a folder outside of it, or none: the task then gets one of its own";
        ProtectedName { name } => "the environment variable '{name}' is protected" / "ask for the value under another name";
        BadValue { fault } => "the value cannot be used: {fault}" / "give another one";
        NearMiss { answer, suggestion } => "'{answer}' is not one of the options" / "did you mean '{suggestion}'?";
        Internal => "something failed that should not" / "the server's log says more";
    }

    serve_trouble: ServeTrouble => with_hint {
        CannotListen { address, cause } => "cannot listen on {address}: {0}" [cause.say(En)] / "choose another address with --listen, for instance 127.0.0.1:0";
        BadAddress { address } => "'{address}' is no address to listen on" / "write it as 127.0.0.1:7420";
        NotAFolder { path } => "{path} is not a folder" / "name an existing folder";
        File { path, cause } => "{path}: {0}" [cause.say(En)] / "check its permissions, or choose another folder with --data";
        OpenToOthers { path } => "{path} can be read by other users" / "chmod 600 {path}, or remove it to have a new one made";
        AlreadyServing { path } => "another server uses {path}" / "stop it, or choose another folder with --data";
        Store { cause } => "the store cannot be opened: {0}" [cause.say(En)] / "stop whoever else uses it, or name another folder with '--data DIR'; a copy can be put back in its place";
        StoreDamaged { path, why } => "the store {path} is damaged: {why}" / "put a backup in its place, or start with 'bowline serve --rebuild': it sets the damaged files aside and finds tasks again from their folders";
        StoreLost { path, tasks } => "the store {path} is empty or missing, but there are folders of {tasks} task(s)" / "put a backup in its place, find the tasks again with 'bowline serve --rebuild', or start without them with '--start-empty'";
        FileThere { path } => "{path} is there already" / "name a file that is not there";
        BadConfig { path, fault } => "{path} cannot be used: {fault}" / "'bowline schema config' has its shape";
        BadStore { url } => "'{url}' is no store this program knows" / "use sqlite:PATH";
        Unreachable { place, cause } => "no server answers at {place}: {0}" [cause.say(En)] / "start one with 'bowline serve', or name it with --server and --token-file";
        BadAnswer { place } => "what answers at {place} is no Bowline server" / "name it with --server and --token-file";
    }

    job_no: JobNo => with_hint {
        NotAllowed { command, task, agent, allowed } => "cannot {command}: the task is {0}, its agent {1}" [task.say(En), agent.say(En)] / "allowed now: {allowed}";
        CancelInReview => "cannot cancel: the task is in review" / "request changes, then cancel";
        Incomplete { missing } => "the task lacks {missing}" / "set {missing} and submit again";
        ScheduledLater => "the task is scheduled for later" / "wait until its time comes";
        WaitingForTasks { tasks } => "the task waits for {tasks}" / "it starts by itself once they are completed";
        WorkspaceBusy { by } => "task '{by}' holds the workspace" / "wait until '{by}' is completed, failed or cancelled";
        Stale => "a newer attempt took its place" / "nothing to do";
        Unknown { what, id } => "there is no {what} '{id}' here" / "list what the task asks for";
        Settled { what, id, status } => "{what} '{id}' is already {status}" / "nothing to do";
        Empty { what } => "{what} must not be empty" / "say the {what}";
        NotAnOption { answer, options } => "'{answer}' is not one of the options" / "answer one of {options}";
        QuestionRequired { id } => "question '{id}' is required" / "answer it, or cancel the task";
        NotDue => "the rate limit is not over yet" / "wait, or resume by hand";
        TooManyWaiting => "too many markers wait already" / "offer it again when the agent goes on";
        NoSuchPhase { phase, total } => "the checkpoint is of phase {phase}, but the task has {total}" / "choose a checkpoint of this task";
        AlreadyRetried { by } => "the task was already retried as '{by}'" / "look at '{by}'";
        DependedOn { tasks } => "other tasks depend on it: {tasks}" / "delete {tasks} first";
    }
}

table! {
    task_output: TaskOutput => text {
        PageOnce => "the page, signed in once:";
        OtherTerminal => "or in another terminal:";
        NothingLost => "  (nothing is lost: agents go on, and so does the demo)";
        AllHappened => "everything happened that should";
        WouldServe => "(dry run) would serve from";
        SignInOnce => "sign in, once, with";
        WouldMakeTask => "(dry run) would make a task";
        WouldDo { action, task } => "(dry run) would {action} {task}";
        Removed => "is removed";
        NoLimit { part } => "'{part}' is no limit";
        ValueUnseen => "value (not shown): ";
        NoValue => "there is no value";
        ValueByInput => "give it on the standard input";
        NeedsYou => "needs you:";
        NoTasks => "there are no tasks";
        NothingWaits => "nothing waits for you";
        Type => "type";
        Folder => "folder";
        Step => "step";
        Checkpoint => "checkpoint";
        LastOutput => "last output";
        WaitsFor => "waits for";
        BackedUp { path } => "wrote {path}; keep the file 'key' of the data folder with it";
        WouldBackUp { path } => "would write {path}";
        HoldsWorkspace { task } => "{task}, which holds the workspace";
        Failed => "failed";
        Asks => "asks";
        Needs => "needs";
        InReview => "in review";
        AllowedNow => "allowed now";
        Phase => "phase";
        Spend => "used";
        Spent { tokens, usd } => "{tokens} tokens{usd}";
        WantsLeave => "asks leave";
        HiddenRest { lines, characters, task } => "+{lines} lines, +{characters} characters: bowline task show {task}";
        Changes { files, added, removed } => "{files} files changed, +{added} −{removed} lines";
        DeletedFile { path } => "deleted: {path}";
        MoreFiles { count } => "and {count} more";
        NoRules => "no rules";
        RulePast { answers, asked, differs, waiting } => "so far it would have answered {answers} of {asked} tool calls, {differs} of them otherwise than a person did; {waiting} wait now";
        RebuiltGoesOn { id, title, phase } => "{id} ({title}) goes on in phase {phase} from its latest checkpoint";
        RebuiltCold { id, title, phase } => "{id} ({title}) has no checkpoint and begins with phase {phase}";
        RebuiltKept { id, title, status } => "{id} ({title}) is {status} as before";
        RebuiltNot { id, why } => "{id} cannot be found again: {why}";
        RebuiltAll { count, lost } => "{count} task(s) found again, {lost} not; values that were given are asked for again";
        AgentReady => "ready";
        AgentDefault => "taken when a task names none";
        AgentMissing { program } => "'{program}' is not on this machine";
        AgentInstall { program } => "install {program}, or name another program in bowline.toml";
        AgentUnsure => "it does not tell its version";
        CapsuleMade { path, moves, bytes } => "{path}: {moves} moves, {bytes} bytes of output";
        CapsuleOf { version, made } => "made by Bowline {version} at {made}";
        CapsuleBroken { sequence } => "move #{sequence} does not follow from the one before";
        CapsuleWhole { moves } => "{moves} moves, each follows from the one before";
        NoCapsule { path } => "{path} is no capsule";
        FoundAgain { title, status, starts } => "{title}: {status}, as it was; agents started for it: {starts}";
        OfferToDie => "k and Enter: this server dies at once, as by kill -9, and takes up what is there";
        GardenDone => "the orchestration beside it is done";
        MakeCapsule => "make one with 'bowline capsule TASK'";
        BadField { text } => "'{text}' is no FIELD=PATTERN";
        HoldsSecret => "  holds a secret: not in the ZIP";
    }
}

table! {
    server_thing: ServerThing => text {
        Task => "task";
        Review => "review";
        Question => "question";
        Dependency => "dependency";
        Permission => "permission";
        Rule => "rule";
        Message => "message";
        Checkpoint => "checkpoint";
        Verification => "verification";
        App => "app";
        Action => "action";
        Workspace => "workspace";
        Artifact => "artifact";
        StateFile => "state file";
        Feedback => "feedback";
        Answer => "answer";
        PhaseList => "list of phases";
    }

    value_fault: ValueFault => text {
        Empty => "the value is empty";
        Nul => "the value contains a NUL character";
        TooLong { max } => "the value exceeds {max} characters";
        ApiKeyCharacters => "an API key has only letters, digits, '_' and '-'";
        ApiKeyTooShort { min } => "an API key has at least {min} characters";
        NotAnAddress => "a service is an http:// or https:// address";
        PathClimbs => "a file path must not contain '..'";
        NotAPermission => "a permission is true, false, yes or no";
        NotAPackage => "a package is a lower-case name such as left-pad or @scope/left-pad";
    }

    body_fault: BodyFault => text {
        Json { line: _, column: _, said } => "{said}";
        Count { name, count, max } => "{name} has {count} of 1 to {max}";
        TooLong { name, max } => "{name} has more than {max} characters";
        RuleShape { max } => "a rule names a tool, and at most {max} fields";
    }
}
