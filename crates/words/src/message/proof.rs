//! Why evidence does not count, and why work is not good enough.

use crate::Lang;

messages! {
    /// What differs from what was sealed or verified.
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

    /// Why evidence does not show that a tree is good.
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

    /// What does not reach its threshold.
    Shortfall, shortfall => text {
        Below { what: Measure, value: String, needed: String },
        Unmeasured { what: Measure, needed: String },
    }

    /// What is measured.
    Measure, measure => text {
        Named { name: String },
        Words { draft: String },
    }

    /// What should be signed.
    Signed, signed => text {
        File { path: String },
        Evidence { gate: String },
    }

    /// Why a command is not carried out for an agent in a sandbox.
    Unrelayed, unrelayed => text {
        NoSandbox,
        NoVerb,
        OtherFolder,
        Link { path: String },
        Repair,
    }
}

/// Changes that a sentence names at the most.
const CHANGES_NAMED_MAX: usize = 5;

impl Change {
    /// The first of them in a sentence, and how many more there are.
    pub fn first(changes: &[Change], lang: Lang) -> String {
        let named = &changes[..changes.len().min(CHANGES_NAMED_MAX)];
        let more = changes.len() - named.len();
        match more {
            0 => Change::all(named, lang),
            more => format!("{} (+{more})", Change::all(named, lang)),
        }
    }

    /// Several of them in a sentence.
    pub fn all(changes: &[Change], lang: Lang) -> String {
        let said: Vec<String> = changes.iter().map(|one| one.say(lang)).collect();
        said.join(", ")
    }
}

impl Shortfall {
    /// Several of them in a sentence.
    pub fn all(shortfalls: &[Shortfall], lang: Lang) -> String {
        let said: Vec<String> = shortfalls.iter().map(|one| one.say(lang)).collect();
        said.join(", ")
    }
}

impl Doubt {
    /// Several of them in a sentence.
    pub fn all(doubts: &[Doubt], lang: Lang) -> String {
        let said: Vec<String> = doubts.iter().map(|one| one.say(lang)).collect();
        said.join("; ")
    }
}
