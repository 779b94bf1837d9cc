//! Arguments that are defined only when their command is the one asked for.
//!
//! Defining every argument of every verb took longer than deciding a transition, and grew with each
//! new noun.

use clap::{ArgMatches, Args, Command, Error, FromArgMatches, Subcommand};

/// The arguments or verbs `T` of a command, defined when the parser, the help or the completions
/// reach the command.
#[derive(Debug)]
pub(crate) struct DeferredArgs<T>(pub(crate) T);

impl<T: FromArgMatches> FromArgMatches for DeferredArgs<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(matches).map(DeferredArgs)
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches_mut(matches).map(DeferredArgs)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl<T: Args> Args for DeferredArgs<T> {
    fn augment_args(command: Command) -> Command {
        command.defer(T::augment_args)
    }

    fn augment_args_for_update(command: Command) -> Command {
        command.defer(T::augment_args_for_update)
    }
}

impl<T: Subcommand> Subcommand for DeferredArgs<T> {
    fn augment_subcommands(command: Command) -> Command {
        command.defer(T::augment_subcommands)
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        command.defer(T::augment_subcommands_for_update)
    }

    fn has_subcommand(name: &str) -> bool {
        T::has_subcommand(name)
    }
}
