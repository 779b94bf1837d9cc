//! Walks one command given as words: builtins, functions and aliases, and the programs.

use super::expand::is_unknown;
use super::parse::parse_script;
use super::side_effect::SideEffect;
use super::tree::CommandNode;
use super::walk::{CommandInput, ShellWalker};
use super::{bowline, git, interpret, wrap, write};
use bowline_words::message::Unseen;

/// Variables set for one command.
pub(super) type CommandVariables = [(String, String)];

/// Returns the name of a program without its folder.
pub(super) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

impl ShellWalker<'_> {
    /// Adds the side effects of a command.
    pub(super) fn walk_command(
        &mut self,
        words: &[String],
        input: &CommandInput,
        environment: &CommandVariables,
    ) {
        let Some((program, arguments)) = words.split_first() else {
            return;
        };
        if is_unknown(program) {
            self.add_hidden(Unseen::Program);
            return;
        }
        self.deeper(|this| {
            this.walk_subscripts(arguments);
            this.walk_definitions(program, arguments, input);
            let name = base_name(program);
            bowline::walk_bowline(this, name, arguments);
            if this.walk_builtin(name, arguments, input) {
                return;
            }
            let handled = wrap::walk_wrapper(this, name, arguments, input, environment)
                || interpret::walk_shell_or_interpreter(this, name, arguments, input)
                || git::walk_git_programs(this, name, arguments, environment);
            if !handled {
                write::walk_writer(this, name, arguments, input);
            }
        });
    }

    /// Walks the functions and aliases of a name. The program of that name is walked as well: which
    /// of them runs depends on the order, which is not followed.
    fn walk_definitions(&mut self, program: &str, arguments: &[String], input: &CommandInput) {
        for body in self.functions.get(program).cloned().unwrap_or_default() {
            let before = std::mem::replace(&mut self.positional, vec![arguments.to_vec()]);
            self.walk_node(&body, input);
            self.positional = before;
        }
        for text in self.aliases.get(program).cloned().unwrap_or_default() {
            let Ok(script) = parse_script(&text) else {
                self.add_hidden(Unseen::Alias {
                    name: program.to_string(),
                });
                continue;
            };
            let first = base_name(text.trim_start()).split_whitespace().next() == Some(program);
            self.walk_script(&script);
            // The arguments become part of the alias's last command.
            if let Some((_, CommandNode::Simple(last))) =
                script.last().and_then(|chain| chain.last())
                && !first
            {
                match self.only_words(last) {
                    Some(mut words) => {
                        words.extend(arguments.iter().cloned());
                        self.walk_command(&words, input, &[]);
                    }
                    None => self.add_hidden(Unseen::Alias {
                        name: program.to_string(),
                    }),
                }
            }
        }
    }

    /// Walks command substitutions in subscripts: arithmetic runs them even if they were quoted
    /// before.
    pub(super) fn walk_subscripts(&mut self, arguments: &[String]) {
        for argument in arguments {
            if let Some(at) = argument.find("[$(").or_else(|| argument.find("[`"))
                && !is_unknown(argument)
            {
                self.walk_prompt(&argument[at + 1..]);
            }
        }
    }

    /// True if an effect was added that a gate may deny.
    pub(super) fn found_since(&self, count: usize) -> bool {
        self.side_effects[count.min(self.side_effects.len())..]
            .iter()
            .any(|effect| !matches!(effect, SideEffect::Touch { .. }))
    }
}
