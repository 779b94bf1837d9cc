//! The tools, one module for each noun. Each calls the one function of the engine behind its verb.

pub(crate) mod bowline;
pub(crate) mod develop;
pub(crate) mod memory;
pub(crate) mod orchestrate;
pub(crate) mod report;
pub(crate) mod task;
pub(crate) mod thinking;

#[cfg(test)]
pub(crate) mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

    use crate::answer::ToolRefusal;
    use crate::session::{SessionRole, TaskClient, ToolSession};
    use crate::table::{ListingRule, ParameterDetail, ParameterType, VERBS};
    use crate::{schema, table};
    use bowline_engine::Context;
    use bowline_engine::formats::orchestrate::RunMode;
    use bowline_engine::machines::develop::{
        DevelopPhase, FailureClass, Gate, ImplementationStrategy,
    };
    use bowline_engine::machines::plan::{FailureKind, TaskResult};
    use bowline_engine::machines::thinking::ThinkingStage;
    use bowline_formats::rest::routes::RouteRequest;
    use bowline_words::Lang;
    use serde_json::Value;
    use std::collections::HashSet;
    use std::path::Path;
    use std::sync::Arc;

    struct NoServer {
        of_task: bool,
    }

    impl TaskClient for NoServer {
        fn send_request(&self, request: &RouteRequest) -> Result<Value, ToolRefusal> {
            Err(ToolRefusal {
                code: "unreachable".into(),
                message: format!("{} {}", request.route.method.name(), request.path),
                hint: String::new(),
            })
        }

        fn is_of_task(&self) -> bool {
            self.of_task
        }
    }

    pub(crate) fn test_session(folder: &Path) -> ToolSession {
        ToolSession {
            context: Context::from_environment("test"),
            folder: folder.to_owned(),
            confined: false,
            files: true,
            lang: Lang::En,
            role: SessionRole::Agent,
            tasks: Arc::new(NoServer { of_task: false }),
            call: crate::CallControl::default(),
        }
    }

    /// Estimates the tokens a model pays for the list, at about four bytes each. `docs/mcp.md`
    /// compares this with real tokenizers.
    fn estimate_tokens(role: SessionRole, of_task: bool) -> usize {
        let mut session = test_session(Path::new("/"));
        session.role = role;
        session.tasks = Arc::new(NoServer { of_task });
        let mut tools = schema::listed_tools(&session);
        // Hints are for the client; a model does not see them.
        tools.iter_mut().for_each(|tool| tool.annotations = None);
        serde_json::to_string(&tools).unwrap().len().div_ceil(4)
    }

    /// Codex takes a missing hint for `true`, and its `exec` refuses calls that a person would have
    /// to approve.
    #[test]
    fn every_tool_has_every_hint() {
        for role in [
            SessionRole::ReadOnly,
            SessionRole::Agent,
            SessionRole::Person,
        ] {
            let mut session = test_session(Path::new("/"));
            session.role = role;
            for tool in schema::listed_tools(&session) {
                let hints = tool.annotations.unwrap();
                let reads = hints.read_only_hint.unwrap();
                assert_eq!(hints.idempotent_hint, Some(reads), "{}", tool.name);
                assert_eq!(hints.open_world_hint, Some(false), "{}", tool.name);
                let destroys = hints.destructive_hint.unwrap();
                assert!(!destroys || role == SessionRole::Person, "{}", tool.name);
                let known = ["task_cancel", "bowline_verb"];
                let wanted = role == SessionRole::Person && known.contains(&&*tool.name);
                assert_eq!(destroys, wanted, "{}", tool.name);
            }
        }
    }

    #[test]
    fn the_list_of_tools_is_short() {
        let (agent, of_task) = (
            estimate_tokens(SessionRole::Agent, false),
            estimate_tokens(SessionRole::Agent, true),
        );
        let (person, reader) = (
            estimate_tokens(SessionRole::Person, false),
            estimate_tokens(SessionRole::ReadOnly, false),
        );
        let sizes = format!("agent {agent}, of a task {of_task}, person {person}, reader {reader}");
        assert!(agent.max(of_task) <= 1_500 && person <= 3_000, "{sizes}");
        assert!(reader < 500, "{sizes}");
    }

    #[test]
    fn names_are_noun_and_verb_and_unlike_each_other() {
        let all: Vec<&str> = VERBS
            .iter()
            .copied()
            .flatten()
            .map(|verb| verb.name)
            .collect();
        let once: HashSet<&&str> = all.iter().collect();
        assert_eq!(once.len(), all.len());
        for name in all {
            let plain = |letter: char| letter.is_ascii_lowercase() || letter == '_';
            assert!(name.chars().all(plain) && name.contains('_'), "{name}");
            assert!(table::find_tool(name).is_some());
        }
    }

    #[test]
    fn words_are_those_of_the_machines() {
        use super::{develop, memory, orchestrate, thinking};
        assert_eq!(
            thinking::STAGES,
            ThinkingStage::ALL.map(ThinkingStage::name)
        );
        assert_eq!(memory::FAILURES, FailureKind::ALL.map(FailureKind::name));
        assert_eq!(memory::RESULTS, TaskResult::ALL.map(TaskResult::name));
        assert_eq!(develop::GATES, Gate::ALL.map(Gate::name));
        assert_eq!(develop::CLASSES, FailureClass::ALL.map(FailureClass::name));
        assert_eq!(
            develop::PHASES,
            &DevelopPhase::ALL.map(DevelopPhase::name)[..3]
        );
        assert_eq!(
            develop::STRATEGIES[1..],
            ImplementationStrategy::ALL.map(ImplementationStrategy::name)
        );
        assert_eq!(orchestrate::MODES, RunMode::ALL.map(RunMode::name));
    }

    /// A person's verbs and arguments are not even listed for others.
    #[test]
    fn an_agent_is_offered_no_move_of_a_person() {
        let tools = schema::listed_tools(&test_session(Path::new("/")));
        for tool in &tools {
            let verb = table::find_tool(&tool.name).unwrap();
            assert!(verb.role <= SessionRole::Agent, "{}", tool.name);
            for arg in verb
                .takes
                .iter()
                .filter(|arg| arg.role == SessionRole::Person)
            {
                let offered = tool.input_schema.get("properties");
                let offered = offered.and_then(|offered| offered.get(arg.name));
                assert!(offered.is_none(), "{} {}", tool.name, arg.name);
            }
        }
        assert!(tools.iter().all(|tool| tool.name != "task_approve"));
    }

    /// A required argument must be offered: a call without it could never be made.
    #[test]
    fn what_is_needed_is_offered_and_every_kind_has_words() {
        for verb in VERBS.iter().copied().flatten() {
            assert!(
                !verb.about.is_empty() && !verb.about.ends_with('.'),
                "{}",
                verb.name
            );
            for arg in verb.takes {
                assert!(
                    !arg.needed || arg.role == SessionRole::ReadOnly,
                    "{}",
                    verb.name
                );
                assert!(
                    !arg.needed || arg.shown != ParameterDetail::No,
                    "{}",
                    verb.name
                );
                assert!(!arg.kind.type_text().is_empty());
                if let ParameterType::Word(words) = arg.kind {
                    assert!(words.len() > 1, "{} {}", verb.name, arg.name);
                }
            }
            assert!(verb.listed != ListingRule::ForAgentOfTask || verb.role == SessionRole::Agent);
        }
    }
}
