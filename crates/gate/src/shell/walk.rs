//! Walks a syntax tree and collects its side effects.

use super::bowline::ACTOR_VARIABLE;
use super::expand::{ALTERNATIVES_MAX, Fields, is_unknown};
use super::parse::{ShellParseError, UNKNOWN, UNKNOWN_NAME, parse_expanded, parse_script};
use super::side_effect::{CommandEnvironment, FileChangeKind, SideEffect};
use super::tree::{
    Chain, ChainOperator, CommandBlock, CommandNode, Script, ShellRedirect, SimpleCommand,
    VariableAssignment, Word, WordPart,
};
use bowline_words::message::Unseen;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Nested shells, functions and aliases.
const DEPTH_MAX: usize = 40;
/// Commands walked before the rest counts as hidden: a function that calls itself twice must end.
const STEPS_MAX: usize = 20_000;
/// Reading this much text costs as much as walking a command.
const BYTES_PER_STEP: usize = 1024;
/// Side effects kept; one is enough to decide, some more to explain.
const SIDE_EFFECTS_MAX: usize = 64;

/// The standard input of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CommandInput {
    /// Nothing given by this command line.
    None,
    /// This text, with placeholders for unknown parts.
    Text(String),
    File,
}

/// The state of a walk.
pub(crate) struct ShellWalker<'a> {
    pub(super) around: &'a dyn CommandEnvironment,
    pub(super) side_effects: Vec<SideEffect>,
    pub(super) variables: BTreeMap<String, Vec<Fields>>,
    pub(super) functions: BTreeMap<String, Vec<Rc<CommandNode>>>,
    pub(super) aliases: BTreeMap<String, Vec<String>>,
    pub(super) git_aliases: BTreeMap<String, Vec<String>>,
    /// Every list that the positional parameters may be.
    pub(super) positional: Vec<Fields>,
    /// Every folder the shell may be in; `None` is an unknown one.
    pub(super) folders: Vec<Option<PathBuf>>,
    /// Folders the shell has been in.
    pub(super) been: Vec<Option<PathBuf>>,
    /// Folders the shell is still in if changing the folder failed.
    pub(super) left: Vec<Option<PathBuf>>,
    /// Folders created on the way.
    pub(super) made: Vec<PathBuf>,
    /// Links created on the way, with their targets.
    pub(super) links: Vec<(PathBuf, PathBuf)>,
    /// Outputs of the process substitutions in the present command.
    pub(super) processes: Vec<String>,
    /// Git hooks among the output of the command before this one.
    pub(super) listed: Vec<String>,
    /// True if `IFS` was changed.
    pub(super) odd_separators: bool,
    /// True if another folder may have become one of the repository: a worktree, a copy, a `.git`
    /// put there.
    pub(super) grafted: bool,
    /// True while the walked command may run in any folder.
    lost: bool,
    depth: usize,
    steps: usize,
    /// True while a text is walked that may not be a command: only certain effects count.
    suspicion: bool,
}

/// Returns the side effects of a command line started in a folder.
pub fn find_side_effects(
    text: &str,
    folder: &Path,
    around: &dyn CommandEnvironment,
) -> Result<Vec<SideEffect>, ShellParseError> {
    let script = parse_script(text)?;
    let mut walker = ShellWalker::new(folder, around);
    walker.walk_script(&script);
    if !walker.variables.is_empty() || !walker.aliases.is_empty() {
        // Once more with everything known: in a loop, later text may run earlier.
        walker.folders = vec![Some(folder.to_owned())];
        walker.walk_script(&script);
    }
    if walker.grafted {
        for effect in &mut walker.side_effects {
            if let SideEffect::Finish { place, .. } = effect {
                *place = None;
            }
        }
    }
    Ok(walker.side_effects)
}

/// True for variables by which git finds its settings.
fn leads_git_away(name: &str) -> bool {
    matches!(name, "HOME" | "XDG_CONFIG_HOME") || name.starts_with("GIT_CONFIG")
}

impl<'a> ShellWalker<'a> {
    fn new(folder: &Path, around: &'a dyn CommandEnvironment) -> Self {
        ShellWalker {
            around,
            side_effects: Vec::new(),
            variables: BTreeMap::new(),
            functions: BTreeMap::new(),
            aliases: BTreeMap::new(),
            git_aliases: BTreeMap::new(),
            positional: vec![Vec::new()],
            folders: vec![Some(folder.to_owned())],
            been: Vec::new(),
            left: Vec::new(),
            made: Vec::new(),
            links: Vec::new(),
            processes: Vec::new(),
            listed: Vec::new(),
            odd_separators: false,
            grafted: false,
            lost: false,
            depth: 0,
            steps: 0,
            suspicion: false,
        }
    }

    pub(super) fn add(&mut self, effect: SideEffect) {
        let doubtful = self.suspicion && matches!(effect, SideEffect::Hidden { .. });
        // A person's command is denied even without closed gates: it must not be lost behind other
        // effects.
        let room = self.side_effects.len() < SIDE_EFFECTS_MAX
            || matches!(effect, SideEffect::Person { .. });
        if !doubtful && room && !self.side_effects.contains(&effect) {
            self.side_effects.push(effect);
        }
    }

    pub(super) fn add_hidden(&mut self, what: Unseen) {
        self.add(SideEffect::Hidden { what });
    }

    /// Adds that work is finished in the folder the shell may be in.
    pub(super) fn add_finish(&mut self, what: impl Into<String>) {
        self.add_finish_in(Some("."), what);
    }

    /// Adds that work is finished in a folder; `None` is an unknown one.
    pub(super) fn add_finish_in(&mut self, folder: Option<&str>, what: impl Into<String>) {
        let what = what.into();
        let folder = folder.filter(|it| !self.lost && !is_unknown(it));
        for place in folder.map_or_else(|| vec![None], |it| self.resolve_paths(it)) {
            let what = what.clone();
            self.add(SideEffect::Finish { what, place });
        }
    }

    /// Adds that hooks are installed or removed in a folder.
    pub(super) fn add_setup_in(&mut self, folder: &str, what: &str) {
        let known = (!self.lost && !is_unknown(folder)).then_some(folder);
        for place in known.map_or_else(|| vec![None], |it| self.resolve_paths(it)) {
            let what = what.to_owned();
            self.add(SideEffect::Setup { what, place });
        }
    }

    /// Walks a command that may run in any folder.
    pub(super) fn in_any_folder(&mut self, run: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.lost, true);
        run(self);
        self.lost = before;
    }

    /// Adds a write, in every folder the shell may be in.
    pub(super) fn add_write(&mut self, target: &str, by: &str) {
        for path in self.resolve_paths(target) {
            let of_git = |path: &Path| path.components().any(|it| it.as_os_str() == ".git");
            self.grafted |= path.as_deref().is_some_and(of_git);
            self.add(SideEffect::Write {
                path,
                by: by.to_owned(),
            });
        }
    }

    /// Adds another change of a file, in every folder the shell may be in.
    pub(super) fn add_touch(&mut self, target: &str, how: FileChangeKind, by: &str) {
        for path in self.resolve_paths(target).into_iter().flatten() {
            self.add(SideEffect::Touch {
                path,
                how,
                by: by.to_owned(),
            });
        }
    }

    /// Walks one level deeper; beyond the limits of depth and steps the rest counts as hidden.
    pub(super) fn deeper(&mut self, inside: impl FnOnce(&mut Self)) {
        self.steps += 1;
        if self.depth >= DEPTH_MAX || self.steps > STEPS_MAX {
            self.add_hidden(Unseen::TooDeep);
            return;
        }
        self.depth += 1;
        inside(self);
        self.depth -= 1;
    }

    /// Walks a text that a shell runs.
    pub(super) fn walk_text(&mut self, text: &str) {
        self.walk_text_with(text, &CommandInput::None);
    }

    /// Walks a text that a shell runs with this input.
    pub(super) fn walk_text_with(&mut self, text: &str, input: &CommandInput) {
        if is_unknown(text) {
            self.add_hidden(Unseen::Text);
            return;
        }
        self.steps += text.len() / BYTES_PER_STEP;
        if self.steps > STEPS_MAX {
            self.add_hidden(Unseen::TooDeep);
            return;
        }
        match parse_script(text) {
            Ok(script) => self.deeper(|this| this.walk_script_with(&script, input)),
            Err(error) => self.add_hidden(error.to_unseen()),
        }
    }

    /// Walks a text as a command if it can be parsed as one.
    pub(super) fn walk_if_command(&mut self, text: &str) {
        if is_unknown(text) || parse_script(text).is_ok() {
            self.in_own_folders(|this| this.walk_text(text));
        }
    }

    /// Walks a text that may be a command: only certain effects count.
    pub(super) fn walk_suspect(&mut self, text: &str) {
        let before = std::mem::replace(&mut self.suspicion, true);
        self.steps += text.len() / BYTES_PER_STEP;
        if !is_unknown(text)
            && self.steps <= STEPS_MAX
            && let Ok(script) = parse_script(text)
        {
            self.in_own_folders(|this| this.deeper(|this| this.walk_script(&script)));
        }
        self.suspicion = before;
    }

    /// Walks a prompt, which is expanded as if it stood between double quotes.
    pub(super) fn walk_prompt(&mut self, text: &str) {
        if is_unknown(text) {
            self.add_hidden(Unseen::Prompt);
        } else if let Ok(word) = parse_expanded(text) {
            self.deeper(|this| {
                this.expand_whole(&word);
            });
        }
    }

    /// Walks a command of another process: its folders are its own. Variables stay known, for
    /// values only add.
    pub(super) fn in_own_folders(&mut self, run: impl FnOnce(&mut Self)) {
        let (folders, left) = (self.folders.clone(), self.left.clone());
        run(self);
        (self.folders, self.left) = (folders, left);
    }

    pub(super) fn walk_script(&mut self, script: &Script) {
        self.walk_script_with(script, &CommandInput::None);
    }

    fn walk_script_with(&mut self, script: &Script, input: &CommandInput) {
        for chain in script {
            self.walk_chain_with(chain, input);
        }
    }

    fn walk_chain_with(&mut self, chain: &Chain, input: &CommandInput) {
        let before = self.folders.clone();
        for (index, (link, node)) in chain.iter().enumerate() {
            if *link == ChainOperator::Or {
                self.keep_left_folders();
            }
            self.walk_node(node, input);
            if index > 0 {
                // The command may not have run at all.
                self.left.extend(before.iter().cloned());
            }
        }
        self.keep_left_folders();
    }

    pub(super) fn walk_node(&mut self, node: &CommandNode, input: &CommandInput) {
        self.deeper(|this| match node {
            CommandNode::Simple(simple) => this.walk_simple(simple, input),
            CommandNode::Pipe(nodes) => this.walk_pipe(nodes, input),
            CommandNode::Block(block) => this.walk_block(block, input),
            CommandNode::Loop {
                variable,
                words,
                block,
            } => {
                match words {
                    Some(words) => {
                        for word in words {
                            for value in this.expand_word(word).into_iter().flatten() {
                                this.assign_variable(variable, false, vec![value]);
                            }
                        }
                    }
                    None => {
                        for value in this.positional.clone().into_iter().flatten() {
                            this.assign_variable(variable, false, vec![value]);
                        }
                    }
                }
                this.walk_block(block, input);
            }
            CommandNode::Function { name, body } => {
                // A call by a trap or another shell is not seen: the certain effects of the body
                // count at once.
                let before = std::mem::replace(&mut this.suspicion, true);
                this.in_own_folders(|this| this.walk_node(body, &CommandInput::None));
                this.suspicion = before;
                if name.starts_with("command_not_found") {
                    this.add_hidden(Unseen::NotFoundHandler);
                }
                let known = this.functions.entry(name.clone()).or_default();
                if !known.iter().any(|other| Rc::ptr_eq(other, body)) {
                    known.push(body.clone());
                }
            }
        });
    }

    fn walk_block(&mut self, block: &CommandBlock, input: &CommandInput) {
        let given = self.apply_redirects(&block.redirects);
        let input = given.as_ref().unwrap_or(input);
        for word in &block.words {
            let texts = self.expand_whole(word);
            self.walk_subscripts(&texts);
        }
        let before = self.folders.clone();
        for script in &block.scripts {
            for chain in script {
                // The input of a group is read by its commands.
                self.walk_chain_with(chain, input);
                self.keep_left_folders();
            }
        }
        if block.scoped {
            self.folders = before;
        } else {
            self.left.extend(before);
            self.keep_left_folders();
        }
    }

    fn walk_pipe(&mut self, nodes: &[CommandNode], input: &CommandInput) {
        let mut input = input.clone();
        let before = std::mem::take(&mut self.listed);
        for (index, node) in nodes.iter().enumerate() {
            let listed = self.listed.clone();
            self.in_own_folders(|this| this.walk_node(node, &input));
            if index + 1 < nodes.len() {
                input = CommandInput::Text(self.predict_output(node, &input));
                self.listed = self.hooks_listed_by(node, listed);
            }
        }
        self.listed = before;
    }

    fn walk_simple(&mut self, simple: &SimpleCommand, input: &CommandInput) {
        self.processes.clear();
        let mut environment = Vec::new();
        for assignment in &simple.assignments {
            self.apply_assignment(assignment, &mut environment);
        }
        let given = self.apply_redirects(&simple.redirects);
        let input = given.as_ref().unwrap_or(input);
        let commands = self.command_words(&simple.words);
        if simple.words.is_empty() {
            return;
        }
        if let [words] = commands.as_slice() {
            return self.walk_command(words, input, &environment);
        }
        // Each starts in the same folder, and any of them may be the one that runs.
        let before = self.folders.clone();
        let mut reached: Vec<Option<PathBuf>> = Vec::new();
        for words in commands {
            self.folders.clone_from(&before);
            self.walk_command(&words, input, &environment);
            for folder in std::mem::take(&mut self.folders) {
                if !reached.contains(&folder) {
                    reached.push(folder);
                }
            }
        }
        if reached.len() > ALTERNATIVES_MAX {
            reached = vec![None];
        }
        self.folders = reached;
    }

    /// Returns every list of words that a command may become.
    fn command_words(&mut self, words: &[Word]) -> Vec<Fields> {
        let mut commands: Vec<Fields> = vec![Vec::new()];
        for (index, word) in words.iter().enumerate() {
            let mut outcomes = self.expand_word(word);
            // A variable in front may be empty, and then the next word is the program.
            let variable = |part: &WordPart| {
                matches!(
                    part,
                    WordPart::Variable { quoted: false, .. }
                        | WordPart::Command { quoted: false, .. }
                )
            };
            if index == 0 && word.iter().all(variable) && !outcomes.contains(&Vec::new()) {
                outcomes.push(Vec::new());
            }
            if commands.len() * outcomes.len() > ALTERNATIVES_MAX {
                outcomes = vec![vec![UNKNOWN.to_string()]];
            }
            if let [outcome] = outcomes.as_slice() {
                // The most frequent case; copying all words for each outcome would be slow.
                for command in &mut commands {
                    command.extend(outcome.iter().cloned());
                }
                continue;
            }
            commands = commands
                .iter()
                .flat_map(|command| {
                    outcomes.iter().map(|outcome| {
                        let mut command = command.clone();
                        command.extend(outcome.iter().cloned());
                        command
                    })
                })
                .collect();
        }
        commands
    }

    fn apply_assignment(
        &mut self,
        assignment: &VariableAssignment,
        environment: &mut Vec<(String, String)>,
    ) {
        let name = &assignment.name;
        if assignment.item {
            // The index in the list is not followed.
            self.assign_variable(name, false, vec![UNKNOWN.to_string(), UNKNOWN.to_string()]);
        }
        // A list is one value; a single word may have several outcomes, each a value.
        if let [word] = assignment.values.as_slice() {
            for value in self.expand_whole(word) {
                environment.push((name.clone(), value.clone()));
                self.assign_variable(name, assignment.append, vec![value]);
            }
            return;
        }
        let mut list = Fields::new();
        for word in &assignment.values {
            for fields in self.expand_word(word) {
                list.extend(fields);
            }
        }
        self.assign_variable(name, assignment.append, list);
    }

    /// Adds a value to those a variable may have.
    pub(super) fn assign_variable(&mut self, name: &str, append: bool, value: Fields) {
        self.walk_subscripts(&value);
        match name {
            "IFS" => self.odd_separators = true,
            ACTOR_VARIABLE => self.add(SideEffect::Person {
                what: format!("{name}={}", value.join(" ")),
            }),
            // Any later command may run other git hooks, or none.
            _ if leads_git_away(name)
                && self.around.environment_variable(name) != Some(value.join(" ")) =>
            {
                self.add_finish_in(None, format!("{name}="));
            }
            // Read by every shell that is started, or run in its place.
            "BASH_ENV" | "ENV" => value.iter().for_each(|text| {
                self.walk_prompt(text);
                if text.starts_with("/dev/") || text.starts_with("/proc/") {
                    self.add_hidden(Unseen::StartFile);
                }
            }),
            "PROMPT_COMMAND" => value.iter().for_each(|text| self.walk_text(text)),
            "PS0" | "PS1" | "PS2" | "PS4" => value.iter().for_each(|text| self.walk_prompt(text)),
            _ => {}
        }
        let known = self.variables.entry(name.to_owned()).or_default();
        let mut values = vec![value.clone()];
        if append {
            for before in known.iter() {
                // Both meanings: text appended to text, and items appended to a list.
                if let ([before], [more]) = (before.as_slice(), value.as_slice()) {
                    values.push(vec![format!("{before}{more}")]);
                }
                values.push(before.iter().chain(&value).cloned().collect());
            }
        }
        for value in values {
            if !known.contains(&value) {
                known.push(value);
            }
        }
        if known.len() > ALTERNATIVES_MAX {
            *known = vec![vec![UNKNOWN.to_string()]];
        }
    }

    /// Adds the files written by redirections, and returns the command's input.
    pub(super) fn apply_redirects(&mut self, redirects: &[ShellRedirect]) -> Option<CommandInput> {
        let mut input = None;
        for redirect in redirects {
            match redirect {
                ShellRedirect::Here(word) => {
                    let Some(word) = word.get() else { continue };
                    let mut texts = self.expand_whole(word);
                    let text = match texts.len() {
                        1 => texts.remove(0),
                        _ => UNKNOWN.to_string(),
                    };
                    input = Some(CommandInput::Text(text));
                }
                ShellRedirect::Read(word) => {
                    self.processes.clear();
                    self.expand_whole(word);
                    input = Some(match self.processes.pop() {
                        Some(text) => CommandInput::Text(text),
                        None => CommandInput::File,
                    });
                }
                ShellRedirect::Write(word) => {
                    for target in self.expand_whole(word) {
                        self.add_write(&target, ">");
                    }
                }
                ShellRedirect::Duplicate(word) => {
                    for target in self.expand_whole(word) {
                        let number = target.trim_end_matches('-');
                        let known = number.chars().all(|it| it.is_ascii_digit());
                        if !known && target != UNKNOWN_NAME.to_string() {
                            self.add_write(&target, ">");
                        }
                    }
                }
            }
        }
        input
    }

    /// Walks a script whose output becomes words, and returns that output.
    pub(super) fn walk_substitution(&mut self, script: &Script, input: &CommandInput) -> String {
        let processes = std::mem::take(&mut self.processes);
        self.in_own_folders(|this| this.deeper(|this| this.walk_script_with(script, input)));
        let text = match script.as_slice() {
            [chain] if chain.len() == 1 => self.predict_output(&chain[0].1, &CommandInput::None),
            _ => UNKNOWN.to_string(),
        };
        self.processes = processes;
        text
    }
}
