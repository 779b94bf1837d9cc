//! What the web page says about text that a person types, and about forks.

declared! {
    /// A sentence of the forms of the web page; written as those of `Web`.
    WebForms, web_forms {
        DecidedMeanwhile => "Decided meanwhile. Your text:";
        KeptDraft => "This is what you had typed before.";
        KeptDraftOld => "This task was changed meanwhile. The form has what you had typed before.";
        DiscardDraft => "Discard";
        NoMessageNow => "The agent takes no message now. Your text:";
        ReasonToRefuse => "Reason, if you refuse (optional)";
        ConfirmFork => "A new task with an agent of its own begins at this checkpoint. It uses tokens from the start.";
        ForkTitle => "{{title}} (fork of phase {{n}})";
        ForkInstructions => "What should be different";
        ForkInstructionsHint => "The agent reads it at the end of the description";
        ForkNow => "Fork and submit";
        ForkDraft => "Fork as draft";
    }
}
