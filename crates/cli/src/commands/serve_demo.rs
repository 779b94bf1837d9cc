//! `bowline demo`.

use super::serve::serve_until_stopped;
use crate::args::serve::DemoArgs;
use crate::output::CommandOutput;
use bowline_engine::{Context, Error};
use bowline_scripted::{DemoOptions, DemoOutput, run_demo};
use bowline_words::Lang;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn run(
    context: &Context,
    output: &CommandOutput,
    folder: &Path,
    args: &DemoArgs,
) -> Result<ExitCode, Error> {
    let options = DemoOptions {
        listen: args.listen.clone(),
        folder: args.dir.as_ref().map(|dir| folder.join(dir)),
        again: args.again,
        check: args.check,
    };
    let done = run_demo(context, output, &options, |server, setup, start, end| {
        serve_until_stopped(context, server, setup, start, end)
    });
    Ok(match done {
        Ok(None) => ExitCode::SUCCESS,
        Ok(Some(why)) => output.print_error_texts("internal", &why, "", 70),
        Err(failure) => failure.print_failure(output),
    })
}

impl DemoOutput for CommandOutput {
    fn lang(&self) -> Lang {
        self.lang
    }

    fn print_data(&self, line: &str) {
        self.print_line(line);
    }

    fn print_message(&self, line: &str) {
        self.print_stderr(line);
    }
}
