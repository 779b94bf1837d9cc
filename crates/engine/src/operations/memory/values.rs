//! Values of the shared context and of the agents' memories, by path.

use super::MemoryFolder;
use crate::context::Context;
use crate::error::Error;
use crate::files::{ChangeOutcome, ChangeRecord, FileView, KnownFile};
use bowline_formats::json::JsonDocument;
use bowline_formats::memory::path::{self, FixedMembers};
use bowline_formats::memory::{agent_memory, shared_context};
use serde_json::{Value, json};

impl MemoryFolder {
    /// Returns a value of the shared context.
    pub fn context_get(&self, context: &Context, path: &str) -> Result<Value, Error> {
        read_value(&self.shared, context, path)
    }

    /// Sets a value of the shared context.
    pub fn context_set(
        &self,
        context: &Context,
        path: &str,
        value: &Value,
    ) -> Result<ChangeOutcome, Error> {
        self.context_write(context, ValueWrite::Set, path, value)
    }

    /// Appends a value to a list of the shared context; a missing list is created.
    pub fn context_append(
        &self,
        context: &Context,
        path: &str,
        value: &Value,
    ) -> Result<ChangeOutcome, Error> {
        self.context_write(context, ValueWrite::Append, path, value)
    }

    /// Returns a value of an agent's memory.
    pub fn agent_get(&self, context: &Context, name: &str, path: &str) -> Result<Value, Error> {
        read_value(&self.agent_file(context, name)?, context, path)
    }

    /// Sets a value of an agent's memory.
    pub fn agent_set(
        &self,
        context: &Context,
        name: &str,
        path: &str,
        value: &Value,
    ) -> Result<ChangeOutcome, Error> {
        self.agent_write(context, name, ValueWrite::Set, path, value)
    }

    /// Appends a value to a list of an agent's memory; a missing list is created.
    pub fn agent_append(
        &self,
        context: &Context,
        name: &str,
        path: &str,
        value: &Value,
    ) -> Result<ChangeOutcome, Error> {
        self.agent_write(context, name, ValueWrite::Append, path, value)
    }

    fn context_write(
        &self,
        context: &Context,
        write: ValueWrite,
        path: &str,
        value: &Value,
    ) -> Result<ChangeOutcome, Error> {
        let skeleton = &shared_context::SKELETON;
        write.check_value(&self.shared, context, skeleton, path, value)?;
        self.make_missing(context)?;
        write.write_value(&self.shared, context, skeleton, path, value)
    }

    fn agent_write(
        &self,
        context: &Context,
        name: &str,
        write: ValueWrite,
        path: &str,
        value: &Value,
    ) -> Result<ChangeOutcome, Error> {
        let (file, skeleton) = (self.agent_file(context, name)?, &agent_memory::SKELETON);
        write.check_value(&file, context, skeleton, path, value)?;
        file.create_initial(context)?;
        write.write_value(&file, context, skeleton, path, value)
    }
}

fn read_value(file: &KnownFile, context: &Context, path: &str) -> Result<Value, Error> {
    let view: FileView = file.view_or_empty(context)?;
    path::get_value(view.document.value(), path)
        .cloned()
        .map_err(Error::Path)
}

/// Way of writing a value at a path.
#[derive(Debug, Clone, Copy)]
enum ValueWrite {
    /// Replaces the present value.
    Set,
    /// Appends to the present list. Several agents may do so at once: no value is lost.
    Append,
}

impl ValueWrite {
    fn apply_to(
        self,
        skeleton: &FixedMembers,
        document: &mut Value,
        path: &str,
        value: &Value,
        context: &Context,
    ) -> Result<(), Error> {
        let write = match self {
            ValueWrite::Set => path::set_value,
            ValueWrite::Append => path::append_value,
        };
        write(skeleton, document, path, value.clone(), context.now()).map_err(Error::Path)
    }

    /// Refuses invalid input before any file is created for it.
    fn check_value(
        self,
        file: &KnownFile,
        context: &Context,
        skeleton: &FixedMembers,
        path: &str,
        value: &Value,
    ) -> Result<(), Error> {
        match file.view_or_empty(context) {
            Ok(view) => {
                let mut now = view.document.value().clone();
                self.apply_to(skeleton, &mut now, path, value, context)
            }
            // The change repairs it.
            Err(Error::Damaged { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn write_value(
        self,
        file: &KnownFile,
        context: &Context,
        skeleton: &FixedMembers,
        path: &str,
        value: &Value,
    ) -> Result<ChangeOutcome, Error> {
        let (trigger, to) = match self {
            ValueWrite::Set => ("SET", "set"),
            ValueWrite::Append => ("APPEND", "appended"),
        };
        file.change_document(context, |document: &JsonDocument| {
            let mut next = document.value().clone();
            self.apply_to(skeleton, &mut next, path, value, context)?;
            let moved = ChangeRecord::new("value", trigger, None, to)
                .with_metadata(json!({ "path": path }));
            Ok((document.reconcile(&next), moved))
        })
    }
}
