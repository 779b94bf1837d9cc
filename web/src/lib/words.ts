// Written by `cargo xtask docs` from crates/words: change the tables there.

export const words = {
  en: {
    board: "Board",
    needsYou: "Needs you",
    workspaces: "Workspaces",
    workspace: "Workspace",
    fleet: "Fleet",
    newTask: "New task",
    navigation: "Navigation",
    skipToContent: "Skip to the content",
    live: "Live",
    notLive: "Not connected",
    lightTheme: "Light theme",
    darkTheme: "Dark theme",
    signOut: "Sign out",
    notifyMe: "Notify me",
    dismiss: "Dismiss",
    close: "Close",
    loading: "Loading…",
    all: "All",
    filter: "Filter",
    parts: "Parts of this page",
    noSuchPage: "There is no such page",
    noSuchPageHint: "The address may be old. The board shows every task.",
    unreachable: "The server does not answer",
    unreachableHint: "Check that 'bowline serve' is running; nothing was changed.",
    failedWith: "The server answered {code}",
    serverLost: "The server does not answer.",
    shownAsOf: "What you see was true {age}.",
    catchingUp: "Connected again; reading everything that happened meanwhile.",
    tryNow: "Try now",
    signInTitle: "Sign in to Bowline",
    signInText: "Open the link that 'bowline serve' printed, or enter the token of the server.",
    linkUsed: "That link was used already or is too old. Enter the token, or start 'bowline serve' again for a new link.",
    token: "Token",
    tokenHint: "It is in the file 'token' of the server's data folder.",
    signIn: "Sign in",
    seconds: "{n} s",
    minutes: "{n} min",
    hours: "{n} h {m} min",
    days: "{n} d",
    ago: "{age} ago",
    justNow: "just now",
    resumesIn: "resumes in {time}",
    silence: "nothing for {time}",
    tokensN: "{n} tokens",
    outputAgo: "output {age}",
    madeAgo: "made {age}",
    took: "took {time}",
    lasts: "for {time}",
    linesN: "{n} lines",
    progressOf: "{n} % done",
    doneOf: "{n} of {total} done",
    found: "{n} found",
    searchTasks: "Search tasks",
    groupBy: "Group by",
    groupNone: "Nothing",
    onlyNeedsYou: "Needs you",
    ungrouped: "Others",
    ownFolder: "Each in a folder of its own",
    repository: "Repository",
    label: "Label",
    type: "Type",
    noTasks: "No tasks yet",
    noTasksHint: "Write one down, submit it, and an agent takes it from the queue.",
    moreBelow: "{n} more",
    nothingFound: "No task matches",
    showAllTasks: "Show all tasks",
    untitled: "Untitled",
    phaseOf: "Phase {n} of {total}",
    phaseN: "Phase {n}",
    stepN: "Step {n}",
    waitsFor: "waits for {what}",
    thingsNeedYou: "{n} waiting for your decision",
    decideAll: "Decide",
    nothingWaits: "Nothing waits for you",
    nothingWaitsHint: "Reviews, questions and requests of all tasks appear here as soon as an agent stops for one.",
    approveMany: "Approve {n}",
    pickedN: "{n} selected",
    pickAll: "Select all",
    clearPicked: "Clear",
    requestChangesMany: "Request changes from {n}",
    permitMany: "Permit {n}",
    denyMany: "Deny {n}",
    answerMany: "Answer {n} alike",
    provideMany: "Provide to {n} tasks",
    batchTold: "{n} of {total} decided",
    eachAlone: "These are decided one by one",
    pick: "Select: {title}",
    openReview: "Open the review",
    openTask: "Open the task",
    deliverablesN: "{n} deliverable | {n} deliverables",
    feedback: "What should change",
    feedbackHint: "Tell the agent what to change and why",
    answer: "Answer",
    suggested: "suggested",
    secretHint: "It is kept encrypted, given to the agent only, and never shown again.",
    rejectFails: "The task cannot go on without it: refusing it ends the task.",
    rejectedByPerson: "Refused on the web page",
    wantsToUse: "The agent asks to use {tool}:",
    ruleTitle: "Answer such calls by a rule",
    ruleHint: "A star stands for any letters within the value.",
    ruleOnlyTask: "Only in this task",
    ruleAllTasks: "all tasks",
    ruleTry: "Try it",
    ruleTold: "Of {total} calls so far it would have answered {n}, {differs} of them otherwise than a person did.",
    rulePermit: "Always permit",
    ruleDeny: "Always deny",
    rules: "Rules for tool calls",
    ruleUses: "answered {n}",
    kindReview: "Review",
    kindQuestion: "Question",
    kindDependency: "Dependency",
    kindPermission: "Permission",
    kindTask: "Stopped task",
    title: "Title",
    description: "Description",
    descriptionHint: "What is wanted, what is there already, and how you will know that it is done",
    moreSettings: "More settings",
    priority: "Priority",
    agent: "Agent",
    defaultAgent: "Default",
    workspaceFolder: "Folder to work in (empty: a new one)",
    dependsOn: "Waits for",
    notBefore: "Not before",
    budgetUsd: "Budget in US dollars",
    budgetTokens: "Budget in tokens",
    budgetMinutes: "Budget in minutes",
    saveDraft: "Save as draft",
    priorityCritical: "Critical",
    priorityHigh: "High",
    priorityNormal: "Normal",
    priorityLow: "Low",
    typeCreateApp: "Create an app",
    typeModifyApp: "Modify an app",
    typeWorkflow: "Workflow",
    typeCustom: "Custom",
    phasePlanning: "Planning",
    phaseDesign: "Design",
    phaseDevelopment: "Development",
    phaseTesting: "Testing",
    phaseAnalysis: "Analysis",
    phaseImplementation: "Implementation",
    phaseTask: "Task",
    statusDraft: "Draft",
    statusPending: "Pending",
    statusInProgress: "In progress",
    statusReview: "In review",
    statusCompleted: "Completed",
    statusFailed: "Failed",
    statusReady: "Ready",
    statusBlocked: "Blocked",
    statusPaused: "Paused",
    statusCancelled: "Cancelled",
    statusPassed: "Passed",
    statusEscalated: "Escalated",
    statusSuccess: "Success",
    statusFailure: "Failure",
    statusPartial: "Partial",
    statusInReview: "In review",
    statusApproved: "Approved",
    statusChangesRequested: "Changes requested",
    statusNew: "New",
    statusRestored: "Restored",
    statusAdopted: "Taken over",
    statusStarted: "Started",
    statusNone: "None",
    agentIdle: "Idle",
    agentRunning: "Running",
    agentPaused: "Paused",
    agentWaitingDependency: "Waits for a dependency",
    agentWaitingQuestion: "Waits for an answer",
    agentWaitingPermission: "Waits for a permission",
    agentWaitingReview: "Waits for a review",
    agentCompleted: "Completed",
    agentFailed: "Failed",
    actionSubmit: "Submit",
    actionEdit: "Edit",
    actionDelete: "Delete",
    actionCancel: "Cancel the task",
    actionPause: "Pause",
    actionResume: "Resume",
    actionApprove: "Approve",
    actionRequestChanges: "Request changes",
    actionArchive: "Archive",
    actionRetry: "Retry",
    actionAnswer: "Answer",
    actionSkip: "Skip",
    actionProvide: "Provide",
    actionReject: "Refuse",
    actionPermit: "Permit",
    actionDeny: "Deny",
    actionCheckpoint: "Save a checkpoint now",
    actionRestore: "Restore",
    actionFork: "Fork",
    actionSay: "Send",
    actionInterrupt: "Interrupt",
    doneSubmit: "Submitted",
    doneDelete: "Deleted",
    doneCancel: "Cancelled",
    donePause: "Paused",
    doneResume: "Resumed",
    doneApprove: "Approved",
    doneRequestChanges: "Changes requested",
    doneArchive: "Archived",
    doneRetry: "Started again as a new task",
    doneAnswer: "Answered",
    doneSkip: "Skipped",
    doneProvide: "Provided",
    doneReject: "Refused",
    donePermit: "Permitted",
    doneDeny: "Denied",
    doneCheckpoint: "A checkpoint is being saved",
    doneRestore: "Restored",
    doneSay: "Sent to the agent",
    doneInterrupt: "Interrupted",
    doneVerb: "Done",
    doneRule: "The rule is in force",
    doneRuleRemoved: "The rule was taken back",
    confirmCancel: "The agent is ended, and the task counts as failed. What it made stays.",
    confirmDelete: "The task and its history are removed from the server.",
    confirmInterrupt: "What the agent does right now is broken off.",
    confirmRestore: "The task goes on from this checkpoint in a new attempt. Later work stays in the history.",
    leaveIt: "Leave it",
    actions: "Actions",
    tabOverview: "Overview",
    tabReview: "Review",
    tabConversation: "Conversation",
    tabHistory: "History",
    tabCheckpoints: "Checkpoints",
    tabFiles: "Files",
    retryOf: "Retry of an earlier task",
    retriedBy: "Retried as another task",
    changedSince: "Changed since you looked",
    sinceYouLooked: "Since you looked {age}",
    showInHistory: "Show in the history",
    andMore: "and {n} more",
    details: "Details",
    phases: "Phases",
    phase: "Phase",
    process: "Process",
    alive: "alive",
    aliveAs: "alive, process {pid}",
    notAlive: "not running",
    lastOutput: "Last output",
    step: "Step",
    waitsForWhat: "Waits for",
    pausedBy: "Paused by",
    tokens: "Tokens",
    cost: "Cost",
    notTold: "not reported",
    attempt: "Attempt",
    lastSaved: "Last checkpoint",
    lastChange: "Last change",
    blockedDependency: "a dependency",
    blockedQuestion: "an answer",
    blockedReview: "a review",
    pausedUser: "a person",
    pausedRateLimit: "a limit of the provider",
    pausedBreaker: "a breaker",
    failureAgentFatal: "The agent reported a fatal error",
    failureVerificationFailed: "The verification failed too often",
    failureCancelled: "Cancelled",
    failureAgentExited: "The agent ended without finishing",
    failureSpawnFailed: "The agent could not be started",
    failureDependencyRejected: "A dependency was refused",
    failureDependencyTimeout: "A dependency was not provided in time",
    failureBreaker: "A breaker stopped it",
    output: "Output of the agent",
    searchLog: "Search the output",
    noHits: "none",
    previousHit: "Previous hit",
    nextHit: "Next hit",
    jumpToPhase: "Go to phase",
    follow: "Follow",
    noOutput: "No output yet",
    cutCharacters: "… {n} more characters",
    nothingSaid: "Nothing was said yet",
    nothingSaidHint: "Prompts, answers and the agent's own words appear here.",
    queuedForAgent: "goes out with the next words to the agent",
    sayToAgent: "Tell the agent something",
    roleUser: "To the agent",
    roleAssistant: "Agent",
    roleSystem: "Bowline",
    aboutDescription: "The task",
    aboutAnswer: "Answer",
    aboutApproved: "Approved",
    aboutChangesRequested: "Changes requested",
    aboutSaid: "Said",
    aboutFound: "Found by the verification",
    aboutProvided: "Provided",
    aboutPermitted: "Permitted",
    aboutDenied: "Denied",
    toolCallsN: "{n} tool call | {n} tool calls",
    toolCall: "Tool call",
    cutText: "The rest is too long to be shown.",
    seeComments: "See the comments on the files.",
    reviewsOfTask: "Reviews",
    noReview: "There is no review yet",
    noReviewHint: "One opens when the agent completes a phase.",
    foundBefore: "Verification found {n} before",
    commentsN: "{n} comment | {n} comments",
    comparedWithBefore: "Compared with the state before this phase",
    comparedWith: "Compared with",
    sinceLastReview: "the last review",
    wholePhase: "before this phase",
    nothingSinceReview: "Nothing has changed since the last review.",
    yourDecision: "Your decision",
    theApp: "The app",
    startApp: "Start the app",
    stopApp: "Stop the app",
    openApp: "Open {url}",
    appRuns: "It runs beside this page until it is stopped.",
    appEnded: "It ended with exit code {code}.",
    changedWhileLooking: "This changed while you were looking. What is shown now is what you decide on.",
    filesN: "{n} file | {n} files",
    allIsNew: "There is nothing to compare with: everything is new",
    viewedOf: "{n} of {total} viewed",
    viewed: "Viewed",
    viewedChanged: "changed since you viewed it",
    shownAs: "Shown as",
    document: "Document",
    differences: "Differences",
    commentOnLine: "Comment on line {line}",
    commentOnLines: "Comment on lines {from}–{to}",
    linesRange: "Lines {from}–{to}:",
    addComment: "Add the comment",
    shiftForRange: "Drag over the numbers, or Shift-click, for several lines",
    remove: "Remove",
    diffCut: "The rest is too long to show here; the file has all of it.",
    changeAdded: "new",
    changeModified: "changed",
    changeDeleted: "deleted",
    changeRenamed: "renamed",
    noHistory: "Nothing has happened yet",
    now: "Now",
    afterMove: "After move {n}",
    backToNow: "Back to now",
    recordingEnd: "When this was recorded",
    taskDeleted: "This task was deleted. What is shown is how it was last.",
    backToEnd: "Back to the end",
    noCheckpoints: "No checkpoints yet",
    noCheckpointsHint: "One is saved every few minutes, at every phase and whenever the agent stops.",
    when: "When",
    reason: "Reason",
    savedInterval: "by the clock",
    savedRateLimit: "rate limit",
    savedError: "error",
    savedPhaseComplete: "phase complete",
    savedUserPause: "paused",
    savedDependencyRequest: "dependency request",
    savedUserQuestion: "question",
    savedCompleted: "completed",
    savedFailed: "failed",
    savedManual: "by hand",
    entityTask: "Task",
    entityAgent: "Agent",
    triggerSubmit: "Submitted",
    triggerAssign: "Assigned to an agent",
    triggerPhaseComplete: "Phase complete",
    triggerVerificationFailed: "Verification failed",
    triggerApprove: "Approved",
    triggerRequestChanges: "Changes requested",
    triggerDependencyRequest: "Asked for a dependency",
    triggerDependencyProvided: "Dependency provided",
    triggerUserQuestion: "Asked a question",
    triggerAnswer: "Answered",
    triggerPause: "Paused",
    triggerResume: "Resumed",
    triggerRateLimit: "Rate limit",
    triggerRateLimitReset: "Limit over",
    triggerErrorFatal: "Fatal error",
    triggerAgentExit: "The agent ended",
    triggerCancel: "Cancelled",
    triggerRecover: "Recovered",
    triggerRestore: "Restored",
    triggerNew: "Made",
    triggerInit: "Set up",
    triggerStart: "Started",
    triggerStartAhead: "Started ahead",
    triggerOutput: "Output recorded",
    triggerComplete: "Completed",
    triggerForceComplete: "Completed by a person",
    triggerFail: "Failed",
    triggerRetry: "Tried again",
    triggerFinish: "Finished",
    triggerPhaseFinish: "Phase finished",
    triggerStepAdd: "Step added",
    triggerStepStart: "Step started",
    triggerStepComplete: "Step completed",
    triggerStepFail: "Step failed",
    triggerReview: "Review begun",
    triggerImplement: "Implementation begun",
    triggerPr: "Pull request begun",
    triggerDone: "Done",
    triggerBack: "Sent back",
    triggerSeal: "Commands sealed",
    triggerGatePass: "Gate passed",
    triggerGateReset: "Gate closed",
    triggerCheckpointStart: "Checkpoint started",
    triggerCheckpointPass: "Checkpoint passed",
    triggerCheckpointFail: "Checkpoint failed",
    triggerEvaluate: "Scored",
    triggerQuality: "Quality recorded",
    triggerFeedback: "Lesson recorded",
    triggerSet: "Value set",
    triggerAppend: "Value added",
    triggerSessionNew: "Session begun",
    triggerPush: "Added to the history",
    triggerReset: "Discarded",
    triggerUndo: "Undone",
    triggerRepair: "Repaired",
    triggerOutsideEdit: "Edited by another program",
    noFiles: "No files yet",
    noFilesHint: "Files that the agent makes appear here.",
    downloadZip: "Download all (ZIP)",
    download: "Download",
    file: "File",
    size: "Size",
    changed: "Changed",
    holdsSecret: "holds a secret value",
    tooLargeToShow: "Too large to show here.",
    fileGone: "The file is not there.",
    noWorkspaces: "No workspaces",
    noWorkspacesHint: "Start the server with 'bowline serve --workspace DIR' to see the state files of a folder here.",
    noStateFiles: "No state files",
    noStateFilesHint: "A run that is started in this folder appears here by itself.",
    nextCommands: "What can be done next",
    doIt: "Do it",
    outputPath: "Path of the output",
    errorCode: "Error code",
    keptNothing: "Nothing is kept here yet",
    keptPreferences: "Preferences",
    keptSharedData: "Shared data",
    keptCache: "Cache",
    keptStatistics: "Statistics",
    verbStart: "Start",
    verbComplete: "Complete",
    verbRetry: "Try again",
    verbOutput: "Record an output",
    verbFail: "Fail",
    verbEvaluate: "Score",
    verbQuality: "Record the quality",
    verbFeedback: "Record what came of it",
    verbUndo: "Undo the last move",
    verbTaskNew: "New task",
    verbTaskDrop: "Drop from the queue",
    verbPause: "Pause",
    verbResume: "Resume",
    verbContinue: "Go on",
    verbStop: "Stop the run",
    verbCancel: "Cancel",
    verbRecover: "Recover",
    verbFinish: "Finish",
    verbStepAdd: "Add a step",
    verbStepStart: "Start the step",
    verbStepComplete: "Complete the step",
    verbStepFail: "Fail the step",
    verbReview: "Begin the review",
    verbImplement: "Begin to implement",
    verbPr: "Begin the pull request",
    verbDone: "Finish the run",
    verbBack: "Go back",
    verbSeal: "Seal as it is now",
    verbAdopt: "Take over",
    verbReset: "Throw away",
    verbGatePass: "Pass",
    verbGateByHand: "Open by hand",
    verbGateReset: "Close",
    verbCheckpointStart: "Start",
    verbCheckpointPass: "Pass",
    verbCheckpointFail: "Fail",
    verbForceComplete: "Call it done",
    verbPhaseFinish: "Finish the phase",
    verbRebuild: "Take over the plan",
    verbNew: "New run",
    verbInit: "Start from the plan",
    verbImport: "Take over tasks of another program",
    verbFeedbackApply: "Take over lessons",
    verbSet: "Set a value",
    verbAppend: "Append a value",
    verbSessionNew: "New session",
    verbBackup: "Back up",
    verbPrune: "Prune",
    verbRestoreCopy: "Restore a backup",
    verbRestore: "Restore this version",
    verbRepair: "Repair",
    verbRescueRestore: "Make a branch of it",
    verbRescueDrop: "Drop",
    verbRun: "Run agents",
    saysWhich: "Which",
    saysMemorySet: "Value",
    saysMemoryAppend: "Value",
    saysThinkingNew: "Folder, from the workspace",
    saysOrchestrateImport: "File or folder, from the workspace",
    codedThinkingNew: "Task id",
    codedMemorySet: "Path",
    codedMemoryAppend: "Path",
    textTitle: "Title",
    textGoal: "Goal",
    textRequest: "The request, in its own words",
    textLesson: "Lesson for next time",
    textLearning: "What was learnt",
    textImprovement: "What to do better",
    textBranch: "Branch",
    textAgent: "Agent",
    saysDevelopStart: "What is to be built",
    saysDevelopReview: "Checkpoints, with commas between them",
    saysMemoryTaskNew: "Name",
    saysMemoryStepAdd: "Name",
    saysMemoryFinish: "What was done",
    saysMemoryStepComplete: "What came out",
    saysThinkingFeedback: "What was measured",
    saysKind: "Kind",
    saysCommand: "Command that must end with 0",
    codeNotImplemented: "Not there yet",
    codeLogicError: "Does the wrong thing",
    codeTypeError: "Types do not fit",
    codeDesignMismatch: "The design cannot be built like this",
    codeEnvIssue: "The environment is broken",
    codeVulnerability: "It is not safe",
    codeSuccess: "Success",
    codePartial: "Partly",
    codeFailure: "Failure",
    codeTransient: "May go away by itself",
    codeValidation: "Not good enough",
    codeDependency: "What it builds on is wrong",
    codeResource: "Something is missing",
    codeStructural: "The plan is wrong",
    codeCritical: "A person is needed",
    confirmVerbReset: "The run is thrown away and its file removed. History and backup keep it; 'bowline undo develop' on the command line brings it back.",
    confirmVerbStop: "The run ends its agents and leaves. Whatever has landed stays, and the run can go on later.",
    confirmVerbCancel: "The task is given up and goes to the history. Its steps stay as they are.",
    confirmVerbRestore: "The document becomes what it was right after this move. What came since stays in the history.",
    confirmVerbRestoreCopy: "The backup takes the place of the document, which stays in the history.",
    confirmVerbFinish: "The task ends here and goes to the history. Steps that are not done stay undone, and the next move does not bring it back.",
    confirmVerbTaskDrop: "The task leaves the queue.",
    onePerLine: "One in each line",
    confirmVerbRescueDrop: "What is in no branch is lost for good.",
    begin: "Begin",
    rescuedWork: "Work kept of worktrees",
    nothingRescued: "Nothing was kept.",
    whatItPrinted: "What the command printed last",
    moreActions: "Everything else that can be done",
    withWords: "Add words",
    willRun: "This command is run",
    runsFor: "Runs for {time}",
    checkRed: "The command ended with exit code {code}: the attempt has failed",
    valueActual: "Measured",
    valueTarget: "Hoped for",
    findingsN: "{n} findings in this file",
    kindOfThinking: "Thinking",
    kindOfMemory: "Memory",
    kindOfDevelop: "Develop",
    kindOfOrchestrate: "Orchestrate",
    kindOfSharedContext: "Shared context",
    kindOfAgentMemory: "Agent memory",
    stagePlanning: "Planning",
    stageSelection: "Selection",
    stageCreation: "Creation",
    stageReflection: "Reflection",
    scores: "Scores",
    quality: "Quality",
    lessons: "Lessons",
    tryN: "try {n}",
    tryOf: "try {n}/{max}",
    valuePracticality: "Practicality",
    valueTrust: "Trust",
    valueInnovation: "Innovation",
    valueWeightedScore: "Weighted score",
    valueCompleteness: "Completeness",
    valueConsistency: "Consistency",
    valueAlignmentWithValues: "Alignment with values",
    queue: "Queue",
    noCurrentTask: "No current task",
    noCurrentTaskHint: "Start one with 'bowline memory task new NAME --goal GOAL'.",
    tasksDone: "Tasks",
    successRate: "Success rate",
    averageTime: "Average time",
    timeTaken: "Time taken",
    developDesign: "Design",
    developReview: "Review",
    developImplement: "Implement",
    developPr: "PR",
    developDone: "Done",
    gates: "Gates",
    gateOpen: "open",
    gateClosed: "closed",
    checkpointsOfRun: "Checkpoints",
    evidence: "Evidence",
    noEvidence: "No command has been run for a gate yet.",
    sourceSealed: "sealed command",
    sourceGiven: "command of the caller",
    sourceByHand: "a person’s word",
    exitCode: "exit code {code}",
    graph: "Graph of the tasks",
    tasksN: "{n} task | {n} tasks",
    stepsN: "{n} step | {n} steps",
    dependenciesN: "{n} dependency | {n} dependencies",
    foldChains: "Fold chains",
    foldedN: "{n} in a row",
    zoomIn: "Larger",
    zoomOut: "Smaller",
    fit: "Fit",
    layingOut: "Laying the graph out…",
    criticalPath: "Critical path",
    timeline: "Timeline",
    merged: "merged as {commit}",
    notMerged: "not merged",
    slots: "Slots in use",
    liveAgents: "Agents of tasks in progress",
    noAgents: "No agent is at work",
    noAgentsHint: "Submit a task and one is started.",
    task: "Task",
    state: "State",
    tasksByStatus: "Tasks by status",
    tokensByTask: "Tokens by task",
    spendByDay: "Spend per day",
    spendByTask: "Spend per task",
    limitsByDay: "Time under a rate limit, per day",
    tokensByDay: "Tokens per day",
    noSpend: "Nothing was spent yet",
    noSpendHint: "What agents report to have used stands here, by day and by task.",
    todayN: "{n} today",
    nodes: "Servers",
    name: "Name",
    version: "Version",
    upSince: "Up since",
    draining: "takes no new tasks",
    knownAgents: "Known agents",
    available: "available",
    notInstalled: "not installed",
    capsule: "Capsule",
    openCapsule: "Open a capsule",
    capsuleHint: "One file with all that happened to a task, written by 'bowline capsule TASK'. Drop it here or choose it; it is read in this browser and sent nowhere.",
    chooseFile: "Choose a file",
    noCapsule: "{name} is no capsule.",
    noCapsuleHint: "'bowline capsule TASK' writes one.",
    capsuleOf: "Made by Bowline {version} at {time}",
    earlierMove: "Earlier",
    laterMove: "Later",
    keyboard: "Keyboard",
    keyMove: "Next, previous",
    keyOpen: "Open",
    keyApprove: "Approve",
    keyRequestChanges: "Request changes",
    keySearch: "Search",
    keyFollow: "Follow the output",
    keyLeave: "Back",
    keyHelp: "This list",
    dependencyApiKey: "API key",
    dependencyEnvVariable: "Environment variable",
    dependencyService: "Service",
    dependencyFile: "File",
    dependencyPermission: "Permission",
    dependencyPackage: "Package",
  },
  ko: {
    board: "보드",
    needsYou: "내 결정 필요",
    workspaces: "작업 공간",
    workspace: "작업 공간",
    fleet: "에이전트 현황",
    newTask: "새 작업",
    navigation: "탐색",
    skipToContent: "본문으로 건너뛰기",
    live: "실시간",
    notLive: "연결 끊김",
    lightTheme: "밝은 테마",
    darkTheme: "어두운 테마",
    signOut: "로그아웃",
    notifyMe: "알림 받기",
    dismiss: "닫기",
    close: "닫기",
    loading: "불러오는 중…",
    all: "전체",
    filter: "필터",
    parts: "이 페이지의 부분",
    noSuchPage: "없는 페이지입니다",
    noSuchPageHint: "주소가 오래되었을 수 있습니다. 보드에 모든 작업이 있습니다.",
    unreachable: "서버가 응답하지 않습니다",
    unreachableHint: "'bowline serve'가 실행 중인지 확인하세요. 바뀐 것은 없습니다.",
    failedWith: "서버 응답: {code}",
    serverLost: "서버가 응답하지 않습니다.",
    shownAsOf: "화면의 내용은 {age} 기준입니다.",
    catchingUp: "다시 연결되었습니다. 그동안 일어난 일을 읽는 중입니다.",
    tryNow: "지금 다시 시도",
    signInTitle: "Bowline 로그인",
    signInText: "'bowline serve'가 출력한 링크를 열거나 서버의 토큰을 입력하세요.",
    linkUsed: "이미 사용했거나 만료된 링크입니다. 토큰을 입력하거나 'bowline serve'를 다시 시작해 새 링크를 받으세요.",
    token: "토큰",
    tokenHint: "서버 데이터 폴더의 'token' 파일에 있습니다.",
    signIn: "로그인",
    seconds: "{n}초",
    minutes: "{n}분",
    hours: "{n}시간 {m}분",
    days: "{n}일",
    ago: "{age} 전",
    justNow: "방금",
    resumesIn: "{time} 후 재개",
    silence: "{time} 동안 활동 없음",
    tokensN: "토큰 {n}",
    outputAgo: "{age} 출력",
    madeAgo: "{age} 생성",
    took: "{time} 걸림",
    lasts: "{time}째",
    linesN: "{n}줄",
    progressOf: "{n}% 완료",
    doneOf: "{total}개 중 {n}개 완료",
    found: "{n}개 찾음",
    searchTasks: "작업 검색",
    groupBy: "그룹 기준",
    groupNone: "없음",
    onlyNeedsYou: "내 결정 필요",
    ungrouped: "기타",
    ownFolder: "작업별 폴더",
    repository: "저장소",
    label: "라벨",
    type: "유형",
    noTasks: "아직 작업이 없습니다",
    noTasksHint: "작업을 적어 제출하면 에이전트가 대기열에서 가져갑니다.",
    moreBelow: "{n}개 더",
    nothingFound: "조건에 맞는 작업이 없습니다",
    showAllTasks: "모든 작업 보기",
    untitled: "제목 없음",
    phaseOf: "{total}단계 중 {n}단계",
    phaseN: "{n}단계",
    stepN: "{n}번 단계",
    waitsFor: "{what} 대기",
    thingsNeedYou: "결정을 기다리는 일 {n}건",
    decideAll: "결정하기",
    nothingWaits: "결정할 일이 없습니다",
    nothingWaitsHint: "에이전트가 리뷰, 질문, 요청으로 멈추면 바로 여기에 나타납니다.",
    approveMany: "{n}건 승인",
    pickedN: "{n}건 선택",
    pickAll: "모두 선택",
    clearPicked: "선택 해제",
    requestChangesMany: "{n}건 변경 요청",
    permitMany: "{n}건 허용",
    denyMany: "{n}건 거부",
    answerMany: "{n}건에 같은 답변",
    provideMany: "작업 {n}개에 제공",
    batchTold: "{total}건 중 {n}건 처리",
    eachAlone: "이 항목은 하나씩 결정합니다",
    pick: "선택: {title}",
    openReview: "리뷰 열기",
    openTask: "작업 열기",
    deliverablesN: "산출물 {n}개",
    feedback: "변경할 내용",
    feedbackHint: "무엇을 왜 바꿔야 하는지 에이전트에게 알려 주세요",
    answer: "답변",
    suggested: "제안",
    secretHint: "암호화해 보관하고 에이전트에게만 전달하며 다시 표시하지 않습니다.",
    rejectFails: "이 값 없이는 진행할 수 없습니다. 거부하면 작업이 끝납니다.",
    rejectedByPerson: "웹 페이지에서 거부함",
    wantsToUse: "에이전트가 사용하려는 도구: {tool}",
    ruleTitle: "이런 요청을 규칙으로 처리",
    ruleHint: "별표(*)는 값 안의 아무 글자나 뜻합니다.",
    ruleOnlyTask: "이 작업에만",
    ruleAllTasks: "모든 작업",
    ruleTry: "시험해 보기",
    ruleTold: "지금까지의 요청 {total}건 중 {n}건을 처리하며, 그중 {differs}건은 사람의 결정과 다릅니다.",
    rulePermit: "항상 허용",
    ruleDeny: "항상 거부",
    rules: "도구 사용 규칙",
    ruleUses: "{n}건 처리",
    kindReview: "리뷰",
    kindQuestion: "질문",
    kindDependency: "의존성",
    kindPermission: "권한",
    kindTask: "멈춘 작업",
    title: "제목",
    description: "설명",
    descriptionHint: "원하는 것, 이미 있는 것, 완료를 판단하는 기준",
    moreSettings: "추가 설정",
    priority: "우선순위",
    agent: "에이전트",
    defaultAgent: "기본값",
    workspaceFolder: "작업 폴더 (비우면 새로 만듦)",
    dependsOn: "먼저 끝나야 할 작업",
    notBefore: "시작 시각",
    budgetUsd: "예산 (미국 달러)",
    budgetTokens: "예산 (토큰)",
    budgetMinutes: "예산 (분)",
    saveDraft: "초안으로 저장",
    priorityCritical: "긴급",
    priorityHigh: "높음",
    priorityNormal: "보통",
    priorityLow: "낮음",
    typeCreateApp: "앱 만들기",
    typeModifyApp: "앱 수정",
    typeWorkflow: "워크플로",
    typeCustom: "사용자 지정",
    phasePlanning: "기획",
    phaseDesign: "설계",
    phaseDevelopment: "개발",
    phaseTesting: "테스트",
    phaseAnalysis: "분석",
    phaseImplementation: "구현",
    phaseTask: "작업",
    statusDraft: "초안",
    statusPending: "대기 중",
    statusInProgress: "진행 중",
    statusReview: "리뷰 대기",
    statusCompleted: "완료",
    statusFailed: "실패",
    statusReady: "준비됨",
    statusBlocked: "막힘",
    statusPaused: "일시중지",
    statusCancelled: "취소됨",
    statusPassed: "통과",
    statusEscalated: "에스컬레이션",
    statusSuccess: "성공",
    statusFailure: "실패",
    statusPartial: "일부 완료",
    statusInReview: "리뷰 중",
    statusApproved: "승인됨",
    statusChangesRequested: "변경 요청됨",
    statusNew: "새로 만듦",
    statusRestored: "복원됨",
    statusAdopted: "받아들임",
    statusStarted: "시작됨",
    statusNone: "없음",
    agentIdle: "유휴",
    agentRunning: "실행 중",
    agentPaused: "일시중지",
    agentWaitingDependency: "의존성 대기 중",
    agentWaitingQuestion: "질문 응답 대기",
    agentWaitingPermission: "권한 대기 중",
    agentWaitingReview: "리뷰 대기 중",
    agentCompleted: "완료",
    agentFailed: "실패",
    actionSubmit: "작업 제출",
    actionEdit: "편집",
    actionDelete: "삭제",
    actionCancel: "작업 취소",
    actionPause: "일시중지",
    actionResume: "재개",
    actionApprove: "승인",
    actionRequestChanges: "변경 요청",
    actionArchive: "보관",
    actionRetry: "재시도",
    actionAnswer: "답변하기",
    actionSkip: "건너뛰기",
    actionProvide: "제공",
    actionReject: "거부",
    actionPermit: "허용",
    actionDeny: "거부",
    actionCheckpoint: "지금 체크포인트 저장",
    actionRestore: "복원",
    actionFork: "분기",
    actionSay: "보내기",
    actionInterrupt: "중단",
    doneSubmit: "제출했습니다",
    doneDelete: "삭제했습니다",
    doneCancel: "취소했습니다",
    donePause: "일시중지했습니다",
    doneResume: "재개했습니다",
    doneApprove: "승인했습니다",
    doneRequestChanges: "변경을 요청했습니다",
    doneArchive: "보관했습니다",
    doneRetry: "새 작업으로 다시 시작했습니다",
    doneAnswer: "답변했습니다",
    doneSkip: "건너뛰었습니다",
    doneProvide: "제공했습니다",
    doneReject: "거부했습니다",
    donePermit: "허용했습니다",
    doneDeny: "거부했습니다",
    doneCheckpoint: "체크포인트를 저장합니다",
    doneRestore: "복원했습니다",
    doneSay: "에이전트에게 보냈습니다",
    doneInterrupt: "중단했습니다",
    doneVerb: "처리했습니다",
    doneRule: "규칙을 적용했습니다",
    doneRuleRemoved: "규칙을 제거했습니다",
    confirmCancel: "에이전트를 종료하고 작업을 실패로 처리합니다. 만든 파일은 남습니다.",
    confirmDelete: "작업과 이력을 서버에서 지웁니다.",
    confirmInterrupt: "에이전트가 지금 하는 일을 중단합니다.",
    confirmRestore: "이 체크포인트에서 새 시도로 이어 갑니다. 이후의 작업은 이력에 남습니다.",
    leaveIt: "돌아가기",
    actions: "동작",
    tabOverview: "개요",
    tabReview: "리뷰",
    tabConversation: "대화",
    tabHistory: "이력",
    tabCheckpoints: "체크포인트",
    tabFiles: "파일",
    retryOf: "이전 작업의 재시도",
    retriedBy: "다른 작업으로 재시도됨",
    changedSince: "마지막으로 본 뒤 바뀜",
    sinceYouLooked: "{age} 본 뒤에 일어난 일",
    showInHistory: "이력에서 보기",
    andMore: "외 {n}건",
    details: "자세히",
    phases: "단계",
    phase: "단계",
    process: "프로세스",
    alive: "실행 중",
    aliveAs: "실행 중, 프로세스 {pid}",
    notAlive: "실행 중이 아님",
    lastOutput: "마지막 출력",
    step: "단계",
    waitsForWhat: "기다리는 것",
    pausedBy: "일시중지 원인",
    tokens: "토큰",
    cost: "비용",
    notTold: "보고되지 않음",
    attempt: "시도",
    lastSaved: "마지막 체크포인트",
    lastChange: "마지막 변경",
    blockedDependency: "의존성",
    blockedQuestion: "답변",
    blockedReview: "리뷰",
    pausedUser: "사람",
    pausedRateLimit: "제공자 사용 한도",
    pausedBreaker: "차단기",
    failureAgentFatal: "에이전트가 치명적 오류를 보고했습니다",
    failureVerificationFailed: "검증이 여러 번 실패했습니다",
    failureCancelled: "취소됨",
    failureAgentExited: "에이전트가 작업을 끝내지 않고 종료했습니다",
    failureSpawnFailed: "에이전트를 시작하지 못했습니다",
    failureDependencyRejected: "의존성이 거부되었습니다",
    failureDependencyTimeout: "의존성이 제때 제공되지 않았습니다",
    failureBreaker: "차단기가 작업을 멈췄습니다",
    output: "에이전트 출력",
    searchLog: "출력 검색",
    noHits: "없음",
    previousHit: "이전 결과",
    nextHit: "다음 결과",
    jumpToPhase: "단계로 이동",
    follow: "따라가기",
    noOutput: "아직 출력이 없습니다",
    cutCharacters: "… {n}자 더",
    nothingSaid: "아직 대화가 없습니다",
    nothingSaidHint: "지시, 답변, 에이전트의 말이 여기에 나타납니다.",
    queuedForAgent: "다음 메시지와 함께 전달됩니다",
    sayToAgent: "에이전트에게 말하기",
    roleUser: "에이전트에게",
    roleAssistant: "에이전트",
    roleSystem: "Bowline",
    aboutDescription: "작업 내용",
    aboutAnswer: "답변",
    aboutApproved: "승인",
    aboutChangesRequested: "변경 요청",
    aboutSaid: "보낸 말",
    aboutFound: "검증에서 발견",
    aboutProvided: "제공됨",
    aboutPermitted: "허용됨",
    aboutDenied: "거부됨",
    toolCallsN: "도구 사용 {n}회",
    toolCall: "도구 사용",
    cutText: "나머지는 너무 길어 표시하지 않습니다.",
    seeComments: "파일에 남긴 의견을 확인하세요.",
    reviewsOfTask: "리뷰",
    noReview: "아직 리뷰가 없습니다",
    noReviewHint: "에이전트가 단계를 마치면 리뷰가 열립니다.",
    foundBefore: "이전 검증에서 발견: {n}건",
    commentsN: "의견 {n}개",
    comparedWithBefore: "이 단계 이전과 비교",
    comparedWith: "비교 기준",
    sinceLastReview: "마지막 리뷰",
    wholePhase: "이 단계 이전",
    nothingSinceReview: "마지막 리뷰 이후 바뀐 것이 없습니다.",
    yourDecision: "결정",
    theApp: "앱",
    startApp: "앱 실행",
    stopApp: "앱 중지",
    openApp: "{url} 열기",
    appRuns: "중지할 때까지 이 페이지와 함께 실행됩니다.",
    appEnded: "앱이 끝났습니다 (종료 코드 {code}).",
    changedWhileLooking: "보는 동안 바뀌었습니다. 지금 보이는 내용을 기준으로 결정합니다.",
    filesN: "파일 {n}개",
    allIsNew: "비교할 이전 상태가 없습니다",
    viewedOf: "{total}개 중 {n}개 확인",
    viewed: "확인함",
    viewedChanged: "확인한 뒤 바뀜",
    shownAs: "표시 방식",
    document: "문서",
    differences: "차이",
    commentOnLine: "{line}번째 줄에 의견",
    commentOnLines: "{from}–{to}번째 줄에 의견",
    linesRange: "{from}–{to}번째 줄:",
    addComment: "의견 추가",
    shiftForRange: "여러 줄은 줄 번호를 끌거나 Shift와 클릭",
    remove: "제거",
    diffCut: "나머지는 너무 길어 표시하지 않습니다. 파일에 전부 있습니다.",
    changeAdded: "새 파일",
    changeModified: "변경",
    changeDeleted: "삭제",
    changeRenamed: "이름 변경",
    noHistory: "아직 일어난 일이 없습니다",
    now: "지금",
    afterMove: "{n}번째 전이 뒤",
    backToNow: "지금으로",
    recordingEnd: "기록이 끝난 시점",
    taskDeleted: "이 작업은 삭제되었습니다. 마지막으로 본 상태를 표시합니다.",
    backToEnd: "끝으로",
    noCheckpoints: "아직 체크포인트가 없습니다",
    noCheckpointsHint: "몇 분마다, 단계마다, 에이전트가 멈출 때마다 저장됩니다.",
    when: "시각",
    reason: "이유",
    savedInterval: "주기적 저장",
    savedRateLimit: "사용 한도",
    savedError: "오류",
    savedPhaseComplete: "단계 완료",
    savedUserPause: "일시중지",
    savedDependencyRequest: "의존성 요청",
    savedUserQuestion: "질문",
    savedCompleted: "완료",
    savedFailed: "실패",
    savedManual: "직접 저장",
    entityTask: "작업",
    entityAgent: "에이전트",
    triggerSubmit: "제출",
    triggerAssign: "에이전트에 할당",
    triggerPhaseComplete: "단계 완료",
    triggerVerificationFailed: "검증 실패",
    triggerApprove: "승인",
    triggerRequestChanges: "변경 요청",
    triggerDependencyRequest: "의존성 요청",
    triggerDependencyProvided: "의존성 제공",
    triggerUserQuestion: "질문",
    triggerAnswer: "답변",
    triggerPause: "일시중지",
    triggerResume: "재개",
    triggerRateLimit: "사용 한도",
    triggerRateLimitReset: "한도 해제",
    triggerErrorFatal: "치명적 오류",
    triggerAgentExit: "에이전트 종료",
    triggerCancel: "취소",
    triggerRecover: "복구",
    triggerRestore: "복원",
    triggerNew: "새로 만듦",
    triggerInit: "준비",
    triggerStart: "시작",
    triggerStartAhead: "미리 시작",
    triggerOutput: "산출물 기록",
    triggerComplete: "완료",
    triggerForceComplete: "사람이 완료 처리",
    triggerFail: "실패",
    triggerRetry: "재시도",
    triggerFinish: "마침",
    triggerPhaseFinish: "단계 마침",
    triggerStepAdd: "단계 추가",
    triggerStepStart: "단계 시작",
    triggerStepComplete: "단계 완료",
    triggerStepFail: "단계 실패",
    triggerReview: "리뷰 시작",
    triggerImplement: "구현 시작",
    triggerPr: "PR 시작",
    triggerDone: "완료",
    triggerBack: "되돌림",
    triggerSeal: "명령 봉인",
    triggerGatePass: "게이트 통과",
    triggerGateReset: "게이트 닫음",
    triggerCheckpointStart: "체크포인트 시작",
    triggerCheckpointPass: "체크포인트 통과",
    triggerCheckpointFail: "체크포인트 실패",
    triggerEvaluate: "점수 기록",
    triggerQuality: "품질 기록",
    triggerFeedback: "교훈 기록",
    triggerSet: "값 설정",
    triggerAppend: "값 추가",
    triggerSessionNew: "세션 시작",
    triggerPush: "이력에 추가",
    triggerReset: "폐기",
    triggerUndo: "실행 취소",
    triggerRepair: "복구함",
    triggerOutsideEdit: "다른 프로그램이 편집",
    noFiles: "아직 파일이 없습니다",
    noFilesHint: "에이전트가 만든 파일이 여기에 나타납니다.",
    downloadZip: "모두 내려받기 (ZIP)",
    download: "내려받기",
    file: "파일",
    size: "크기",
    changed: "변경",
    holdsSecret: "비밀 값이 들어 있음",
    tooLargeToShow: "너무 커서 표시하지 않습니다.",
    fileGone: "파일이 없습니다.",
    noWorkspaces: "작업 공간이 없습니다",
    noWorkspacesHint: "'bowline serve --workspace 폴더'로 서버를 시작하면 그 폴더의 상태 파일이 여기에 나타납니다.",
    noStateFiles: "상태 파일이 없습니다",
    noStateFilesHint: "이 폴더에서 실행을 시작하면 자동으로 나타납니다.",
    nextCommands: "다음에 할 수 있는 일",
    doIt: "실행",
    outputPath: "산출물 경로",
    errorCode: "오류 코드",
    keptNothing: "아직 저장된 것이 없습니다",
    keptPreferences: "선호 설정",
    keptSharedData: "공유 데이터",
    keptCache: "캐시",
    keptStatistics: "통계",
    verbStart: "시작",
    verbComplete: "완료 처리",
    verbRetry: "재시도",
    verbOutput: "산출물 기록",
    verbFail: "실패 처리",
    verbEvaluate: "점수 매기기",
    verbQuality: "품질 기록",
    verbFeedback: "성과 기록",
    verbUndo: "마지막 이동 되돌리기",
    verbTaskNew: "새 작업",
    verbTaskDrop: "대기열에서 제외",
    verbPause: "일시중지",
    verbResume: "재개",
    verbContinue: "계속",
    verbStop: "실행 중지",
    verbCancel: "취소",
    verbRecover: "복구",
    verbFinish: "마치기",
    verbStepAdd: "단계 추가",
    verbStepStart: "단계 시작",
    verbStepComplete: "단계 완료 처리",
    verbStepFail: "단계 실패 처리",
    verbReview: "리뷰 시작",
    verbImplement: "구현 시작",
    verbPr: "PR 시작",
    verbDone: "실행 마치기",
    verbBack: "되돌아가기",
    verbSeal: "지금 상태로 봉인",
    verbAdopt: "넘겨받기",
    verbReset: "폐기",
    verbGatePass: "통과",
    verbGateByHand: "직접 열기",
    verbGateReset: "닫기",
    verbCheckpointStart: "시작",
    verbCheckpointPass: "통과",
    verbCheckpointFail: "실패 처리",
    verbForceComplete: "완료로 간주",
    verbPhaseFinish: "단계 마치기",
    verbRebuild: "계획 다시 반영",
    verbNew: "새 실행",
    verbInit: "계획으로 시작",
    verbImport: "다른 프로그램의 작업 가져오기",
    verbFeedbackApply: "교훈 가져오기",
    verbSet: "값 설정",
    verbAppend: "값 덧붙이기",
    verbSessionNew: "새 세션",
    verbBackup: "백업",
    verbPrune: "정리",
    verbRestoreCopy: "백업 복원",
    verbRestore: "이 버전 복원",
    verbRepair: "복구",
    verbRescueRestore: "브랜치로 되살리기",
    verbRescueDrop: "버리기",
    verbRun: "에이전트 실행",
    saysWhich: "대상",
    saysMemorySet: "값",
    saysMemoryAppend: "값",
    saysThinkingNew: "폴더 (작업 공간 기준)",
    saysOrchestrateImport: "파일 또는 폴더 (작업 공간 기준)",
    codedThinkingNew: "작업 ID",
    codedMemorySet: "경로",
    codedMemoryAppend: "경로",
    textTitle: "제목",
    textGoal: "목표",
    textRequest: "요청 원문",
    textLesson: "다음을 위한 교훈",
    textLearning: "배운 점",
    textImprovement: "개선할 점",
    textBranch: "브랜치",
    textAgent: "에이전트",
    saysDevelopStart: "만들 것",
    saysDevelopReview: "체크포인트 (쉼표로 구분)",
    saysMemoryTaskNew: "이름",
    saysMemoryStepAdd: "이름",
    saysMemoryFinish: "한 일",
    saysMemoryStepComplete: "결과",
    saysThinkingFeedback: "측정한 것",
    saysKind: "종류",
    saysCommand: "0으로 끝나야 하는 명령",
    codeNotImplemented: "아직 구현되지 않음",
    codeLogicError: "잘못 동작함",
    codeTypeError: "타입 불일치",
    codeDesignMismatch: "설계대로 만들 수 없음",
    codeEnvIssue: "환경 문제",
    codeVulnerability: "보안 취약점",
    codeSuccess: "성공",
    codePartial: "부분 성공",
    codeFailure: "실패",
    codeTransient: "일시적",
    codeValidation: "검증 실패",
    codeDependency: "의존성 문제",
    codeResource: "자원 부족",
    codeStructural: "구조적 문제",
    codeCritical: "사람이 필요함",
    confirmVerbReset: "개발 실행을 폐기하고 파일을 지웁니다. 이력과 백업에는 남으며, 명령줄의 'bowline undo develop'으로 되살릴 수 있습니다.",
    confirmVerbStop: "에이전트를 끝내고 실행을 멈춥니다. 반영된 작업은 남고, 나중에 이어서 실행할 수 있습니다.",
    confirmVerbCancel: "작업을 포기하고 이력으로 옮깁니다. 단계는 지금 상태로 남습니다.",
    confirmVerbRestore: "문서를 이 이동 직후의 상태로 되돌립니다. 그 뒤의 내용은 이력에 남습니다.",
    confirmVerbRestoreCopy: "백업이 문서를 대신합니다. 지금 문서는 이력에 남습니다.",
    confirmVerbFinish: "작업을 여기서 마치고 이력으로 옮깁니다. 끝나지 않은 단계는 그대로 남으며, 다음 이동으로 되돌릴 수 없습니다.",
    confirmVerbTaskDrop: "작업을 대기열에서 뺍니다.",
    onePerLine: "한 줄에 하나씩",
    confirmVerbRescueDrop: "브랜치에 없는 내용은 완전히 사라집니다.",
    begin: "시작하기",
    rescuedWork: "작업 트리에서 보관한 작업",
    nothingRescued: "보관한 것이 없습니다.",
    whatItPrinted: "명령의 마지막 출력",
    moreActions: "그 밖에 할 수 있는 일",
    withWords: "덧붙일 말",
    willRun: "실행될 명령",
    runsFor: "{time}째 실행 중",
    checkRed: "명령이 종료 코드 {code}번으로 끝나 시도가 실패했습니다",
    valueActual: "측정값",
    valueTarget: "목표값",
    findingsN: "이 파일에서 확인할 점 {n}건",
    kindOfThinking: "사고 실행",
    kindOfMemory: "메모리",
    kindOfDevelop: "개발 실행",
    kindOfOrchestrate: "오케스트레이션",
    kindOfSharedContext: "공유 컨텍스트",
    kindOfAgentMemory: "에이전트 메모리",
    stagePlanning: "기획",
    stageSelection: "선택",
    stageCreation: "생성",
    stageReflection: "성찰",
    scores: "점수",
    quality: "품질",
    lessons: "교훈",
    tryN: "시도 {n}",
    tryOf: "시도 {n}/{max}",
    valuePracticality: "실용성",
    valueTrust: "신뢰",
    valueInnovation: "혁신",
    valueWeightedScore: "가중 점수",
    valueCompleteness: "완성도",
    valueConsistency: "일관성",
    valueAlignmentWithValues: "가치 부합",
    queue: "대기열",
    noCurrentTask: "현재 작업이 없습니다",
    noCurrentTaskHint: "'bowline memory task new 이름 --goal 목표'로 시작하세요.",
    tasksDone: "작업",
    successRate: "성공률",
    averageTime: "평균 시간",
    timeTaken: "걸린 시간",
    developDesign: "설계",
    developReview: "리뷰",
    developImplement: "구현",
    developPr: "PR",
    developDone: "완료",
    gates: "게이트",
    gateOpen: "열림",
    gateClosed: "닫힘",
    checkpointsOfRun: "체크포인트",
    evidence: "증거",
    noEvidence: "아직 게이트를 위해 실행한 명령이 없습니다.",
    sourceSealed: "봉인된 명령",
    sourceGiven: "호출자가 지정한 명령",
    sourceByHand: "사람의 확인",
    exitCode: "종료 코드 {code}",
    graph: "작업 그래프",
    tasksN: "작업 {n}개",
    stepsN: "단계 {n}개",
    dependenciesN: "의존성 {n}개",
    foldChains: "이어진 작업 접기",
    foldedN: "{n}개 이어짐",
    zoomIn: "확대",
    zoomOut: "축소",
    fit: "맞춤",
    layingOut: "그래프를 배치하는 중…",
    criticalPath: "임계 경로",
    timeline: "타임라인",
    merged: "병합됨: {commit}",
    notMerged: "병합되지 않음",
    slots: "사용 중인 슬롯",
    liveAgents: "진행 중인 작업의 에이전트",
    noAgents: "일하는 에이전트가 없습니다",
    noAgentsHint: "작업을 제출하면 시작됩니다.",
    task: "작업",
    state: "상태",
    tasksByStatus: "상태별 작업",
    tokensByTask: "작업별 토큰",
    spendByDay: "일별 비용",
    spendByTask: "작업별 비용",
    limitsByDay: "일별 사용 한도 대기 시간",
    tokensByDay: "일별 토큰",
    noSpend: "아직 쓴 비용이 없습니다",
    noSpendHint: "에이전트가 사용했다고 알린 양이 날짜와 작업별로 나타납니다.",
    todayN: "오늘 {n}",
    nodes: "서버",
    name: "이름",
    version: "버전",
    upSince: "시작",
    draining: "새 작업을 받지 않음",
    knownAgents: "등록된 에이전트",
    available: "사용 가능",
    notInstalled: "설치되지 않음",
    capsule: "캡슐",
    openCapsule: "캡슐 열기",
    capsuleHint: "작업에 일어난 모든 일을 담은 파일입니다. 'bowline capsule 작업'으로 만듭니다. 여기에 끌어 놓거나 선택하세요. 이 브라우저에서만 읽으며 어디에도 보내지 않습니다.",
    chooseFile: "파일 선택",
    noCapsule: "캡슐이 아닌 파일입니다: {name}",
    noCapsuleHint: "'bowline capsule 작업'으로 만드세요.",
    capsuleOf: "Bowline {version}, {time} 작성",
    earlierMove: "이전",
    laterMove: "다음",
    keyboard: "키보드",
    keyMove: "다음, 이전",
    keyOpen: "열기",
    keyApprove: "승인",
    keyRequestChanges: "변경 요청",
    keySearch: "검색",
    keyFollow: "출력 따라가기",
    keyLeave: "뒤로",
    keyHelp: "이 목록",
    dependencyApiKey: "API 키",
    dependencyEnvVariable: "환경 변수",
    dependencyService: "서비스",
    dependencyFile: "파일",
    dependencyPermission: "권한",
    dependencyPackage: "패키지",
  },
} as const;

export type Word = keyof typeof words.en;

/** The names of what a sentence takes. */
export interface Parameters {
  board: never;
  needsYou: never;
  workspaces: never;
  workspace: never;
  fleet: never;
  newTask: never;
  navigation: never;
  skipToContent: never;
  live: never;
  notLive: never;
  lightTheme: never;
  darkTheme: never;
  signOut: never;
  notifyMe: never;
  dismiss: never;
  close: never;
  loading: never;
  all: never;
  filter: never;
  parts: never;
  noSuchPage: never;
  noSuchPageHint: never;
  unreachable: never;
  unreachableHint: never;
  failedWith: 'code';
  serverLost: never;
  shownAsOf: 'age';
  catchingUp: never;
  tryNow: never;
  signInTitle: never;
  signInText: never;
  linkUsed: never;
  token: never;
  tokenHint: never;
  signIn: never;
  seconds: 'n';
  minutes: 'n';
  hours: 'n' | 'm';
  days: 'n';
  ago: 'age';
  justNow: never;
  resumesIn: 'time';
  silence: 'time';
  tokensN: 'n';
  outputAgo: 'age';
  madeAgo: 'age';
  took: 'time';
  lasts: 'time';
  linesN: 'n';
  progressOf: 'n';
  doneOf: 'n' | 'total';
  found: 'n';
  searchTasks: never;
  groupBy: never;
  groupNone: never;
  onlyNeedsYou: never;
  ungrouped: never;
  ownFolder: never;
  repository: never;
  label: never;
  type: never;
  noTasks: never;
  noTasksHint: never;
  moreBelow: 'n';
  nothingFound: never;
  showAllTasks: never;
  untitled: never;
  phaseOf: 'n' | 'total';
  phaseN: 'n';
  stepN: 'n';
  waitsFor: 'what';
  thingsNeedYou: 'n';
  decideAll: never;
  nothingWaits: never;
  nothingWaitsHint: never;
  approveMany: 'n';
  pickedN: 'n';
  pickAll: never;
  clearPicked: never;
  requestChangesMany: 'n';
  permitMany: 'n';
  denyMany: 'n';
  answerMany: 'n';
  provideMany: 'n';
  batchTold: 'n' | 'total';
  eachAlone: never;
  pick: 'title';
  openReview: never;
  openTask: never;
  deliverablesN: 'n';
  feedback: never;
  feedbackHint: never;
  answer: never;
  suggested: never;
  secretHint: never;
  rejectFails: never;
  rejectedByPerson: never;
  wantsToUse: 'tool';
  ruleTitle: never;
  ruleHint: never;
  ruleOnlyTask: never;
  ruleAllTasks: never;
  ruleTry: never;
  ruleTold: 'total' | 'n' | 'differs';
  rulePermit: never;
  ruleDeny: never;
  rules: never;
  ruleUses: 'n';
  kindReview: never;
  kindQuestion: never;
  kindDependency: never;
  kindPermission: never;
  kindTask: never;
  title: never;
  description: never;
  descriptionHint: never;
  moreSettings: never;
  priority: never;
  agent: never;
  defaultAgent: never;
  workspaceFolder: never;
  dependsOn: never;
  notBefore: never;
  budgetUsd: never;
  budgetTokens: never;
  budgetMinutes: never;
  saveDraft: never;
  priorityCritical: never;
  priorityHigh: never;
  priorityNormal: never;
  priorityLow: never;
  typeCreateApp: never;
  typeModifyApp: never;
  typeWorkflow: never;
  typeCustom: never;
  phasePlanning: never;
  phaseDesign: never;
  phaseDevelopment: never;
  phaseTesting: never;
  phaseAnalysis: never;
  phaseImplementation: never;
  phaseTask: never;
  statusDraft: never;
  statusPending: never;
  statusInProgress: never;
  statusReview: never;
  statusCompleted: never;
  statusFailed: never;
  statusReady: never;
  statusBlocked: never;
  statusPaused: never;
  statusCancelled: never;
  statusPassed: never;
  statusEscalated: never;
  statusSuccess: never;
  statusFailure: never;
  statusPartial: never;
  statusInReview: never;
  statusApproved: never;
  statusChangesRequested: never;
  statusNew: never;
  statusRestored: never;
  statusAdopted: never;
  statusStarted: never;
  statusNone: never;
  agentIdle: never;
  agentRunning: never;
  agentPaused: never;
  agentWaitingDependency: never;
  agentWaitingQuestion: never;
  agentWaitingPermission: never;
  agentWaitingReview: never;
  agentCompleted: never;
  agentFailed: never;
  actionSubmit: never;
  actionEdit: never;
  actionDelete: never;
  actionCancel: never;
  actionPause: never;
  actionResume: never;
  actionApprove: never;
  actionRequestChanges: never;
  actionArchive: never;
  actionRetry: never;
  actionAnswer: never;
  actionSkip: never;
  actionProvide: never;
  actionReject: never;
  actionPermit: never;
  actionDeny: never;
  actionCheckpoint: never;
  actionRestore: never;
  actionFork: never;
  actionSay: never;
  actionInterrupt: never;
  doneSubmit: never;
  doneDelete: never;
  doneCancel: never;
  donePause: never;
  doneResume: never;
  doneApprove: never;
  doneRequestChanges: never;
  doneArchive: never;
  doneRetry: never;
  doneAnswer: never;
  doneSkip: never;
  doneProvide: never;
  doneReject: never;
  donePermit: never;
  doneDeny: never;
  doneCheckpoint: never;
  doneRestore: never;
  doneSay: never;
  doneInterrupt: never;
  doneVerb: never;
  doneRule: never;
  doneRuleRemoved: never;
  confirmCancel: never;
  confirmDelete: never;
  confirmInterrupt: never;
  confirmRestore: never;
  leaveIt: never;
  actions: never;
  tabOverview: never;
  tabReview: never;
  tabConversation: never;
  tabHistory: never;
  tabCheckpoints: never;
  tabFiles: never;
  retryOf: never;
  retriedBy: never;
  changedSince: never;
  sinceYouLooked: 'age';
  showInHistory: never;
  andMore: 'n';
  details: never;
  phases: never;
  phase: never;
  process: never;
  alive: never;
  aliveAs: 'pid';
  notAlive: never;
  lastOutput: never;
  step: never;
  waitsForWhat: never;
  pausedBy: never;
  tokens: never;
  cost: never;
  notTold: never;
  attempt: never;
  lastSaved: never;
  lastChange: never;
  blockedDependency: never;
  blockedQuestion: never;
  blockedReview: never;
  pausedUser: never;
  pausedRateLimit: never;
  pausedBreaker: never;
  failureAgentFatal: never;
  failureVerificationFailed: never;
  failureCancelled: never;
  failureAgentExited: never;
  failureSpawnFailed: never;
  failureDependencyRejected: never;
  failureDependencyTimeout: never;
  failureBreaker: never;
  output: never;
  searchLog: never;
  noHits: never;
  previousHit: never;
  nextHit: never;
  jumpToPhase: never;
  follow: never;
  noOutput: never;
  cutCharacters: 'n';
  nothingSaid: never;
  nothingSaidHint: never;
  queuedForAgent: never;
  sayToAgent: never;
  roleUser: never;
  roleAssistant: never;
  roleSystem: never;
  aboutDescription: never;
  aboutAnswer: never;
  aboutApproved: never;
  aboutChangesRequested: never;
  aboutSaid: never;
  aboutFound: never;
  aboutProvided: never;
  aboutPermitted: never;
  aboutDenied: never;
  toolCallsN: 'n';
  toolCall: never;
  cutText: never;
  seeComments: never;
  reviewsOfTask: never;
  noReview: never;
  noReviewHint: never;
  foundBefore: 'n';
  commentsN: 'n';
  comparedWithBefore: never;
  comparedWith: never;
  sinceLastReview: never;
  wholePhase: never;
  nothingSinceReview: never;
  yourDecision: never;
  theApp: never;
  startApp: never;
  stopApp: never;
  openApp: 'url';
  appRuns: never;
  appEnded: 'code';
  changedWhileLooking: never;
  filesN: 'n';
  allIsNew: never;
  viewedOf: 'n' | 'total';
  viewed: never;
  viewedChanged: never;
  shownAs: never;
  document: never;
  differences: never;
  commentOnLine: 'line';
  commentOnLines: 'from' | 'to';
  linesRange: 'from' | 'to';
  addComment: never;
  shiftForRange: never;
  remove: never;
  diffCut: never;
  changeAdded: never;
  changeModified: never;
  changeDeleted: never;
  changeRenamed: never;
  noHistory: never;
  now: never;
  afterMove: 'n';
  backToNow: never;
  recordingEnd: never;
  taskDeleted: never;
  backToEnd: never;
  noCheckpoints: never;
  noCheckpointsHint: never;
  when: never;
  reason: never;
  savedInterval: never;
  savedRateLimit: never;
  savedError: never;
  savedPhaseComplete: never;
  savedUserPause: never;
  savedDependencyRequest: never;
  savedUserQuestion: never;
  savedCompleted: never;
  savedFailed: never;
  savedManual: never;
  entityTask: never;
  entityAgent: never;
  triggerSubmit: never;
  triggerAssign: never;
  triggerPhaseComplete: never;
  triggerVerificationFailed: never;
  triggerApprove: never;
  triggerRequestChanges: never;
  triggerDependencyRequest: never;
  triggerDependencyProvided: never;
  triggerUserQuestion: never;
  triggerAnswer: never;
  triggerPause: never;
  triggerResume: never;
  triggerRateLimit: never;
  triggerRateLimitReset: never;
  triggerErrorFatal: never;
  triggerAgentExit: never;
  triggerCancel: never;
  triggerRecover: never;
  triggerRestore: never;
  triggerNew: never;
  triggerInit: never;
  triggerStart: never;
  triggerStartAhead: never;
  triggerOutput: never;
  triggerComplete: never;
  triggerForceComplete: never;
  triggerFail: never;
  triggerRetry: never;
  triggerFinish: never;
  triggerPhaseFinish: never;
  triggerStepAdd: never;
  triggerStepStart: never;
  triggerStepComplete: never;
  triggerStepFail: never;
  triggerReview: never;
  triggerImplement: never;
  triggerPr: never;
  triggerDone: never;
  triggerBack: never;
  triggerSeal: never;
  triggerGatePass: never;
  triggerGateReset: never;
  triggerCheckpointStart: never;
  triggerCheckpointPass: never;
  triggerCheckpointFail: never;
  triggerEvaluate: never;
  triggerQuality: never;
  triggerFeedback: never;
  triggerSet: never;
  triggerAppend: never;
  triggerSessionNew: never;
  triggerPush: never;
  triggerReset: never;
  triggerUndo: never;
  triggerRepair: never;
  triggerOutsideEdit: never;
  noFiles: never;
  noFilesHint: never;
  downloadZip: never;
  download: never;
  file: never;
  size: never;
  changed: never;
  holdsSecret: never;
  tooLargeToShow: never;
  fileGone: never;
  noWorkspaces: never;
  noWorkspacesHint: never;
  noStateFiles: never;
  noStateFilesHint: never;
  nextCommands: never;
  doIt: never;
  outputPath: never;
  errorCode: never;
  keptNothing: never;
  keptPreferences: never;
  keptSharedData: never;
  keptCache: never;
  keptStatistics: never;
  verbStart: never;
  verbComplete: never;
  verbRetry: never;
  verbOutput: never;
  verbFail: never;
  verbEvaluate: never;
  verbQuality: never;
  verbFeedback: never;
  verbUndo: never;
  verbTaskNew: never;
  verbTaskDrop: never;
  verbPause: never;
  verbResume: never;
  verbContinue: never;
  verbStop: never;
  verbCancel: never;
  verbRecover: never;
  verbFinish: never;
  verbStepAdd: never;
  verbStepStart: never;
  verbStepComplete: never;
  verbStepFail: never;
  verbReview: never;
  verbImplement: never;
  verbPr: never;
  verbDone: never;
  verbBack: never;
  verbSeal: never;
  verbAdopt: never;
  verbReset: never;
  verbGatePass: never;
  verbGateByHand: never;
  verbGateReset: never;
  verbCheckpointStart: never;
  verbCheckpointPass: never;
  verbCheckpointFail: never;
  verbForceComplete: never;
  verbPhaseFinish: never;
  verbRebuild: never;
  verbNew: never;
  verbInit: never;
  verbImport: never;
  verbFeedbackApply: never;
  verbSet: never;
  verbAppend: never;
  verbSessionNew: never;
  verbBackup: never;
  verbPrune: never;
  verbRestoreCopy: never;
  verbRestore: never;
  verbRepair: never;
  verbRescueRestore: never;
  verbRescueDrop: never;
  verbRun: never;
  saysWhich: never;
  saysMemorySet: never;
  saysMemoryAppend: never;
  saysThinkingNew: never;
  saysOrchestrateImport: never;
  codedThinkingNew: never;
  codedMemorySet: never;
  codedMemoryAppend: never;
  textTitle: never;
  textGoal: never;
  textRequest: never;
  textLesson: never;
  textLearning: never;
  textImprovement: never;
  textBranch: never;
  textAgent: never;
  saysDevelopStart: never;
  saysDevelopReview: never;
  saysMemoryTaskNew: never;
  saysMemoryStepAdd: never;
  saysMemoryFinish: never;
  saysMemoryStepComplete: never;
  saysThinkingFeedback: never;
  saysKind: never;
  saysCommand: never;
  codeNotImplemented: never;
  codeLogicError: never;
  codeTypeError: never;
  codeDesignMismatch: never;
  codeEnvIssue: never;
  codeVulnerability: never;
  codeSuccess: never;
  codePartial: never;
  codeFailure: never;
  codeTransient: never;
  codeValidation: never;
  codeDependency: never;
  codeResource: never;
  codeStructural: never;
  codeCritical: never;
  confirmVerbReset: never;
  confirmVerbStop: never;
  confirmVerbCancel: never;
  confirmVerbRestore: never;
  confirmVerbRestoreCopy: never;
  confirmVerbFinish: never;
  confirmVerbTaskDrop: never;
  onePerLine: never;
  confirmVerbRescueDrop: never;
  begin: never;
  rescuedWork: never;
  nothingRescued: never;
  whatItPrinted: never;
  moreActions: never;
  withWords: never;
  willRun: never;
  runsFor: 'time';
  checkRed: 'code';
  valueActual: never;
  valueTarget: never;
  findingsN: 'n';
  kindOfThinking: never;
  kindOfMemory: never;
  kindOfDevelop: never;
  kindOfOrchestrate: never;
  kindOfSharedContext: never;
  kindOfAgentMemory: never;
  stagePlanning: never;
  stageSelection: never;
  stageCreation: never;
  stageReflection: never;
  scores: never;
  quality: never;
  lessons: never;
  tryN: 'n';
  tryOf: 'n' | 'max';
  valuePracticality: never;
  valueTrust: never;
  valueInnovation: never;
  valueWeightedScore: never;
  valueCompleteness: never;
  valueConsistency: never;
  valueAlignmentWithValues: never;
  queue: never;
  noCurrentTask: never;
  noCurrentTaskHint: never;
  tasksDone: never;
  successRate: never;
  averageTime: never;
  timeTaken: never;
  developDesign: never;
  developReview: never;
  developImplement: never;
  developPr: never;
  developDone: never;
  gates: never;
  gateOpen: never;
  gateClosed: never;
  checkpointsOfRun: never;
  evidence: never;
  noEvidence: never;
  sourceSealed: never;
  sourceGiven: never;
  sourceByHand: never;
  exitCode: 'code';
  graph: never;
  tasksN: 'n';
  stepsN: 'n';
  dependenciesN: 'n';
  foldChains: never;
  foldedN: 'n';
  zoomIn: never;
  zoomOut: never;
  fit: never;
  layingOut: never;
  criticalPath: never;
  timeline: never;
  merged: 'commit';
  notMerged: never;
  slots: never;
  liveAgents: never;
  noAgents: never;
  noAgentsHint: never;
  task: never;
  state: never;
  tasksByStatus: never;
  tokensByTask: never;
  spendByDay: never;
  spendByTask: never;
  limitsByDay: never;
  tokensByDay: never;
  noSpend: never;
  noSpendHint: never;
  todayN: 'n';
  nodes: never;
  name: never;
  version: never;
  upSince: never;
  draining: never;
  knownAgents: never;
  available: never;
  notInstalled: never;
  capsule: never;
  openCapsule: never;
  capsuleHint: never;
  chooseFile: never;
  noCapsule: 'name';
  noCapsuleHint: never;
  capsuleOf: 'version' | 'time';
  earlierMove: never;
  laterMove: never;
  keyboard: never;
  keyMove: never;
  keyOpen: never;
  keyApprove: never;
  keyRequestChanges: never;
  keySearch: never;
  keyFollow: never;
  keyLeave: never;
  keyHelp: never;
  dependencyApiKey: never;
  dependencyEnvVariable: never;
  dependencyService: never;
  dependencyFile: never;
  dependencyPermission: never;
  dependencyPackage: never;
}
