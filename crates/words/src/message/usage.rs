//! Command lines that cannot be parsed.

messages! {
    /// An error in a command line.
    Misused, misused => text {
        NoCommand { name: String },
        CommandMissing,
        NoArgument { name: String },
        ArgumentMissing { names: String },
        ValueMissing { argument: String },
        BadValue { argument: String, value: String },
        WrongCount { argument: String },
        MoreValues { argument: String },
        Conflict { argument: String, other: String },
        NotText,
        Other { text: String },
    }

    /// Advice on the correct command line.
    Rightly, rightly => text {
        DidYouMean { word: String, help: String },
        OneOf { values: String },
        See { help: String },
        Say { command: String, help: String },
        StepNumber { help: String },
    }
}
