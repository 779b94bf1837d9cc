//! What is found in plans.

messages! {
    /// What is wrong or doubtful in a plan.
    InPlan, in_plan => text {
        NoTask,
        OnlyBoxes { count: usize, text: String },
        TooLarge { bytes: usize, max: usize },
        Unclosed,
        UnreadMermaid,
        TooManyEdges { max: usize },
        NoId { text: String },
        UnsureId { id: String },
        NamesNoTask { text: String, id: String },
        NamesPhase { id: String, own: u32, phase: u32 },
        CouldBe { name: String, id: String, ids: Vec<String> },
        OwnGroup { id: String, group: String },
        NothingBeside { id: String, other: String },
        NothingNeeded { id: String, other: String },
        NothingDrawn { id: String },
        Twice { id: String, line: usize },
        NoBox { id: String },
        OtherPhase { id: String, stated: u32, told: u32 },
        PhaseAbove { id: String, around: u32, told: u32 },
        NoTitle { id: String },
        OddBox { id: String, mark: String },
        PhaseGap { phase: u32, before: u32 },
        PhasesGap { first: u32, last: u32, before: u32 },
        EmptyPhase { phase: u32 },
        NeedsLater { id: String, own: u32, needed: String, phase: u32 },
        Circle { path: String },
    }

    /// What of another program's tasks had no place in a plan, or another one than it had.
    Unplaced, unplaced => text {
        NothingNeeded { id: String, other: String },
        NeedsItself { id: String },
        NeedsLater { id: String, other: String },
        OrderLeftOut { id: String, other: String },
        Renamed { was: String, id: String },
        IdTwice { id: String, new: String },
        NotATask { count: usize },
        DoneWithOpenParts { id: String, open: usize },
        CountsAsDone { id: String, status: String },
        StatusInText { id: String, status: String },
        LinkInText { id: String, link: String, other: String },
        Grouped { id: String, title: String, parts: usize },
        Deleted { id: String },
        LaterLineCounts { id: String, line: usize },
        LineUnread { line: usize },
        LineWithoutId { line: usize, text: String },
        SaidAgain { id: String, line: usize },
        FileUnread { name: String },
        PutAway { name: String, files: usize },
        TitleInText { id: String },
        Field { name: String, tasks: usize },
        FieldLeftOut { name: String, tasks: usize },
    }
}
