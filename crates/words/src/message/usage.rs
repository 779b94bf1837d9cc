//! A command line that cannot be read.

messages! {
    /// What is wrong with it.
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

    /// What would be right.
    Rightly, rightly => text {
        DidYouMean { word: String, help: String },
        OneOf { values: String },
        See { help: String },
        Say { command: String, help: String },
        StepNumber { help: String },
    }
}
