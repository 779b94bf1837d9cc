//! English for problems in plans.

table! {
    in_plan: InPlan => text {
        NoTask => "the file holds no task";
        OnlyBoxes { count, text } => "the file holds no task: boxes without an id: {count}, the first is `{text}`; an id has a digit, as in `T1.1: {text}`";
        TooLarge { bytes, max } => "the plan has {bytes} bytes; at {max} and more it is not read";
        Unclosed => "this code fence or comment is never closed; nothing after it was read";
        UnreadMermaid => "this line of the diagram was not understood to its end";
        TooManyEdges { max } => "the plan has more than {max} dependencies; the rest was not read";
        NoId { text } => "`{text}` has a tick box but no task id; it is not a task";
        UnsureId { id } => "`{id}` has a tick box, but no other id of this plan looks like it; it is not read as a task";
        StruckOut { id } => "`{id}` is struck out; it is not read as a task";
        NamesNoTask { text, id } => "`{text}` in the dependencies of `{id}` names no task";
        NamesPhase { id, own, phase } => "`{id}` of phase {own} names phase {phase}, which orders nothing";
        CouldBe { name, id, ids } => "`{name}` at task `{id}` could be `{0}`" [ids.join("` or `")];
        OwnGroup { id, group } => "task `{id}` names its own group `{group}`, which orders nothing";
        NothingBeside { id, other } => "task `{id}` may run beside `{other}`, which is not in the file";
        NothingNeeded { id, other } => "task `{id}` needs `{other}`, which is not in the file";
        NothingDrawn { id } => "the diagram names `{id}`, which is not in the file";
        Twice { id, line } => "task `{id}` is already on line {line}; this one is not read";
        NoBox { id } => "heading `{id}` has no box, and the tasks of this plan have one; it is not a task";
        OtherPhase { id, stated, id_phase } => "the header of `{id}` says phase {stated}, its id phase {id_phase}";
        PhaseAbove { id, around, id_phase } => "task `{id}` stands below phase {around}, which counts; its id says phase {id_phase}";
        NoTitle { id } => "task `{id}` has no title";
        OddBox { id, mark } => "the box of task `{id}` holds `{mark}`; it counts as not done";
        PhaseGap { phase, before } => "phase {phase} is missing before phase {before}";
        PhasesGap { first, last, before } => "phases {first} to {last} are missing before phase {before}";
        EmptyPhase { phase } => "phase {phase} has no task";
        NeedsLater { id, own, needed, phase } => "task `{id}` of phase {own} needs `{needed}` of the later phase {phase}";
        Circle { path } => "tasks need each other in a circle: {path}";
    }

    unplaced: Unplaced => text {
        NothingNeeded { id, other } => "`{id}` needs `{other}`, which is not there: left out";
        NeedsItself { id } => "`{id}` needs itself: left out";
        NeedsLater { id, other } => "`{id}` needs `{other}` of a later phase, which would wait for it: left out";
        OrderLeftOut { id, other } => "`{id}` would come after `{other}` by its place, which would make a circle: left out";
        Renamed { was, id } => "`{was}` cannot be an id in a plan: it is `{id}` here";
        IdTwice { id, new } => "`{id}` is there twice: the second is `{new}` here";
        NotATask { count } => "{count} entries are no tasks: left out";
        DoneWithOpenParts { id, open } => "`{id}` is done, but {open} of its parts are not: both are kept";
        CountsAsDone { id, status } => "`{id}` is '{status}': ticked, so that nothing waits for it";
        StatusInText { id, status } => "`{id}` is '{status}', for which a plan has no sign: in its text";
        LinkInText { id, link, other } => "`{id}` names `{other}` ({link}), which orders nothing: in its text";
        Grouped { id, title, parts } => "`{id}` ({title}) holds {parts} others and is no task of its own: told at the top of the plan";
        Deleted { id } => "`{id}` is deleted: left out";
        LaterLineCounts { id, line } => "`{id}` is there again on line {line}, which counts";
        LineUnread { line } => "line {line} is no issue: left out";
        LineWithoutId { line, text } => "line {line} has a box and no id: left out ({text})";
        SaidAgain { id, line } => "`{id}` is there again on line {line} with other words: the first counts";
        FileUnread { name } => "{name} has no front matter with an id: left out";
        PutAway { name, files } => "{files} files in {name}: left out";
        TitleInText { id } => "the title of `{id}` would be read as something else: whole in its text";
        Field { name, tasks } => "{name}, of {tasks} task(s): in their text";
        FieldLeftOut { name, tasks } => "{name}, of {tasks} task(s): left out";
        StatusesInText { count, status, ids } => "{count} tasks are '{status}', for which a plan has no sign: in their text ({ids})";
        CountAsDone { count, status, ids } => "{count} tasks are '{status}': ticked, so that nothing waits for them ({ids})";
        ManyDeleted { count, ids } => "{count} tasks are deleted: left out ({ids})";
        LinksInText { count, link, ids } => "{count} links ({link}) order nothing: in the text of their tasks ({ids})";
        ManyRenamed { count, ids } => "{count} names cannot be ids in a plan and are others here: {ids}";
        TitlesInText { count, ids } => "{count} titles would be read as something else: whole in their text ({ids})";
        NeedsNotThere { count, ids } => "{count} needs name tasks that are not there: left out ({ids})";
        OrdersLeftOut { count, ids } => "{count} places in the order would make circles: left out ({ids})";
    }
}
