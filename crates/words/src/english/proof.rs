//! English for rejected evidence and insufficient work.

use crate::Lang::En;

table! {
    change: Change => text {
        Changed { path } => "{path} (changed)";
        Removed { path } => "{path} (removed)";
        Added { path } => "{path} (added)";
        Uncommitted { path } => "{path} (not committed)";
        LinkOut { path } => "{path} (link out of the tree)";
        Mounted { path } => "{path} (mounted over)";
        Tree => "the tree (changed)";
        TreeSinceDone => "the tree (not the one that 'done' recorded)";
        Seal => "the seal of the run";
        Rules => "the rules in bowline.toml";
        NothingSealed => "nothing was sealed, and bowline.toml has commands";
        SealHash => "the seal is not what its hash says";
        OtherSeal { gate } => "gate '{gate}' was passed under another seal";
    }

    doubt: Doubt => text {
        NoEvidence { gate } => "gate '{gate}' is open without evidence";
        NotGreen { gate } => "the evidence of gate '{gate}' is not green";
        OtherRun { gate } => "the evidence of gate '{gate}' is of another run";
        NoSignature { gate } => "the evidence of gate '{gate}' has no good signature";
        GateClosed { gate, phase } => "gate '{gate}' is closed in phase {phase}";
        NothingOpen => "no gate is open, so nothing shows that this tree is good";
        Is { change } => "{0}" [change.say(En)];
        Since { change } => "{0} since" [change.say(En)];
    }

    shortfall: Shortfall => text {
        Below { what, value, needed } => "{what} {value} of {needed}";
        Unmeasured { what, needed } => "{what} not measured, {needed} needed";
    }

    measure: Measure => text {
        Named { name } => "{name}";
        Words { draft } => "words of {draft}";
    }

    signed: Signed => text {
        File { path } => "{path}";
        Evidence { gate } => "the evidence of gate '{gate}'";
    }

    unrelayed: Unrelayed => text {
        NoSandbox => "there is no sandbox it would come from";
        NoVerb => "it is no verb of an agent that changes the records of a run";
        OtherFolder => "it was given in a folder the agent may not write";
        Link { path } => "{path} is a link";
        Repair => "a develop run is repaired outside of the sandbox";
    }
}
