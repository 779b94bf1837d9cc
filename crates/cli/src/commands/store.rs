//! `bowline store`.

use super::remote::print_server_trouble;
use super::serve::store_path;
use crate::args::serve::{StoreArgs, StoreVerb};
use crate::output::CommandOutput;
use bowline_engine::Context;
use bowline_server::find_data_folder;
use bowline_server::store_files::backup_store;
use bowline_words::message::{ServeTrouble, TaskOutput};
use serde_json::json;
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn run(
    context: &Context,
    output: &CommandOutput,
    folder: &Path,
    args: &StoreArgs,
) -> ExitCode {
    let StoreVerb::Backup { file, data, store } = &args.verb;
    let named = data.as_ref().map(|data| folder.join(data));
    let data = find_data_folder(context, named.as_deref());
    let to = folder.join(file);
    let path = to.display().to_string();
    let done = store_path(folder, store.as_deref()).and_then(|store| match output.dry_run {
        true if to.symlink_metadata().is_ok() => {
            Err(ServeTrouble::FileThere { path: path.clone() })
        }
        true => Ok(TaskOutput::WouldBackUp { path: path.clone() }),
        false => {
            backup_store(&data, store.as_deref(), &to)?;
            Ok(TaskOutput::BackedUp { path: path.clone() })
        }
    });
    match done {
        Ok(said) => {
            output.print_outcome(json!({ "file": path }), &[said.say(output.lang)]);
            ExitCode::SUCCESS
        }
        Err(trouble) => print_server_trouble(output, &trouble),
    }
}
