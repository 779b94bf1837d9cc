//! English for the web page's forms, forks, and the reasons why a task waits.

declared! {
    /// A text of the web page's forms, written like those of `Web`.
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
        ReadingChanges => "Reading the changes…";
        SilentFor => "silent for {{time}}";
        SilentUntilRestart => "silent for {{time}}, restarted after {{limit}}";
        FolderHeldBy => "waits for its folder, held by {{what}}";
        FolderHeld => "Another task works in the folder of this one. It starts when that task is over:";
        ShareWorkspace => "Share the folder with other tasks";
        ShareWorkspaceHint => "It does not wait for a task that works there already; their changes mix.";
        UnknownAgents => "Agents of unknown tasks";
        UnknownAgentsHint => "This store does not know the tasks of these agents. They are paused; 'bowline serve --rebuild' takes them up.";
    }
}
