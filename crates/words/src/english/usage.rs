//! English for command lines that cannot be parsed.

table! {
    misused: Misused => text {
        NoCommand { name } => "unrecognized subcommand '{name}'";
        CommandMissing => "a command is missing";
        NoArgument { name } => "unexpected argument '{name}' found";
        ArgumentMissing { names } => "the following required arguments were not provided: {names}";
        ValueMissing { argument } => "a value is required for '{argument}' but none was supplied";
        BadValue { argument, value } => "invalid value '{value}' for '{argument}'";
        WrongCount { argument } => "'{argument}' was given another number of values than it takes";
        MoreValues { argument } => "'{argument}' needs more values";
        Conflict { argument, other } => "the argument '{argument}' cannot be used with '{other}'";
        NotText => "the command line has letters that cannot be read";
        Other { text } => "{text}";
    }

    rightly: Rightly => text {
        DidYouMean { word, help } => "did you mean {word}? '{help}' says more";
        OneOf { values } => "possible values: {values}";
        See { help } => "'{help}' says more";
        Say { command, help } => "say '{command}'; '{help}' says more";
        StepNumber { help } => "a step is named by its number, as 'bowline memory status' shows it; '{help}' says more";
    }
}
