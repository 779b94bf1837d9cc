//! Reasons why evidence or work is not accepted.

use crate::Lang;

messages! {
    /// Difference from the sealed or verified state.
    Change, change => text {
        Changed { path: String },
        Removed { path: String },
        Added { path: String },
        Uncommitted { path: String },
        Mounted { path: String },
        LinkOut { path: String },
        Tree,
        TreeSinceDone,
        Seal,
        Rules,
        NothingSealed,
        SealHash,
        OtherSeal { gate: String },
    }

    /// Reason why evidence does not prove that a tree is good.
    Doubt, doubt => text {
        NoEvidence { gate: String },
        NotGreen { gate: String },
        OtherRun { gate: String },
        NoSignature { gate: String },
        GateClosed { gate: String, phase: String },
        NothingOpen,
        Is { change: Change },
        Since { change: Change },
    }

    /// A measured value that misses its threshold.
    Shortfall, shortfall => text {
        Below { what: Measure, value: String, needed: String },
        Unmeasured { what: Measure, needed: String },
    }

    /// A measured quantity.
    Measure, measure => text {
        Named { name: String },
        Words { draft: String },
    }

    /// An object that should be signed.
    Signed, signed => text {
        File { path: String },
        Evidence { gate: String },
    }

    /// Reason why a command is not relayed for an agent in a sandbox.
    Unrelayed, unrelayed => text {
        NoSandbox,
        NoVerb,
        OtherFolder,
        Link { path: String },
        Repair,
    }
}

/// Limit on the changes named in one message.
const CHANGES_NAMED_MAX: usize = 5;

impl Change {
    /// Joins the first changes, followed by the number of the others.
    pub fn join_first(changes: &[Change], lang: Lang) -> String {
        let named = &changes[..changes.len().min(CHANGES_NAMED_MAX)];
        let more = changes.len() - named.len();
        match more {
            0 => Change::join_all(named, lang),
            more => format!("{} (+{more})", Change::join_all(named, lang)),
        }
    }

    /// Joins all changes into one text.
    pub fn join_all(changes: &[Change], lang: Lang) -> String {
        let said: Vec<String> = changes.iter().map(|one| one.say(lang)).collect();
        said.join(", ")
    }
}

impl Shortfall {
    /// Joins all shortfalls into one text.
    pub fn join_all(shortfalls: &[Shortfall], lang: Lang) -> String {
        let said: Vec<String> = shortfalls.iter().map(|one| one.say(lang)).collect();
        said.join(", ")
    }
}

impl Doubt {
    /// Joins all doubts into one text.
    pub fn join_all(doubts: &[Doubt], lang: Lang) -> String {
        let said: Vec<String> = doubts.iter().map(|one| one.say(lang)).collect();
        said.join("; ")
    }
}
