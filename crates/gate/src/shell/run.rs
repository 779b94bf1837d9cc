//! Walks one command given as words: builtins, functions and aliases, and the programs.

use super::deed::Deed;
use super::expand::is_unknown;
use super::parse::parse;
use super::tree::Node;
use super::walk::{Input, Walker};
use super::{bowline, git, interpret, wrap, write};
use bowline_words::message::Unseen;

/// Variables set for one command.
pub(super) type Environment = [(String, String)];

/// Returns the name of a program without its folder.
pub(super) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

impl Walker<'_> {
    /// Adds the side effects of a command.
    pub(super) fn run(&mut self, words: &[String], input: &Input, environment: &Environment) {
        let Some((program, arguments)) = words.split_first() else {
            return;
        };
        if is_unknown(program) {
            self.hidden(Unseen::Program);
            return;
        }
        self.deeper(|this| {
            this.subscripts(arguments);
            this.call(program, arguments, input);
            let name = base_name(program);
            bowline::run(this, name, arguments);
            if this.builtin(name, arguments, input) {
                return;
            }
            let handled = wrap::run(this, name, arguments, input, environment)
                || interpret::run(this, name, arguments, input)
                || git::run(this, name, arguments, environment);
            if !handled {
                write::run(this, name, arguments, input);
            }
        });
    }

    /// Walks the functions and aliases of a name. The program of that name is walked as well: which
    /// of them runs depends on the order, which is not followed.
    fn call(&mut self, program: &str, arguments: &[String], input: &Input) {
        for body in self.functions.get(program).cloned().unwrap_or_default() {
            let before = std::mem::replace(&mut self.positional, vec![arguments.to_vec()]);
            self.node(&body, input);
            self.positional = before;
        }
        for text in self.aliases.get(program).cloned().unwrap_or_default() {
            let Ok(script) = parse(&text) else {
                self.hidden(Unseen::Alias {
                    name: program.to_string(),
                });
                continue;
            };
            let first = base_name(text.trim_start()).split_whitespace().next() == Some(program);
            self.script(&script);
            // The arguments become part of the alias's last command.
            if let Some((_, Node::Simple(last))) = script.last().and_then(|chain| chain.last())
                && !first
            {
                match self.only_words(last) {
                    Some(mut words) => {
                        words.extend(arguments.iter().cloned());
                        self.run(&words, input, &[]);
                    }
                    None => self.hidden(Unseen::Alias {
                        name: program.to_string(),
                    }),
                }
            }
        }
    }

    /// Walks command substitutions in subscripts: arithmetic runs them even if they were quoted
    /// before.
    pub(super) fn subscripts(&mut self, arguments: &[String]) {
        for argument in arguments {
            if let Some(at) = argument.find("[$(").or_else(|| argument.find("[`"))
                && !is_unknown(argument)
            {
                self.prompt(&argument[at + 1..]);
            }
        }
    }

    /// True if an effect was added that a gate may deny.
    pub(super) fn found_since(&self, count: usize) -> bool {
        self.deeds[count.min(self.deeds.len())..]
            .iter()
            .any(|deed| !matches!(deed, Deed::Touch { .. }))
    }
}
