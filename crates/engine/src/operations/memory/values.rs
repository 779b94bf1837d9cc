//! Values of the shared context and of the agents' memories, by path.

use super::MemoryFolder;
use crate::context::Context;
use crate::error::Error;
use crate::files::{Changed, KnownFile, Moved, View};
use bowline_formats::json::JsonDocument;
use bowline_formats::memory::path::{self, Skeleton};
use bowline_formats::memory::{agent_memory, shared_context};
use serde_json::{Value, json};

impl MemoryFolder {
    /// Returns a value of the shared context.
    pub fn context_get(&self, context: &Context, path: &str) -> Result<Value, Error> {
        get(&self.shared, context, path)
    }

    /// Sets a value of the shared context.
    pub fn context_set(
        &self,
        context: &Context,
        path: &str,
        value: &Value,
    ) -> Result<Changed, Error> {
        self.context_write(context, Write::Set, path, value)
    }

    /// Appends a value to a list of the shared context; a missing list is created.
    pub fn context_append(
        &self,
        context: &Context,
        path: &str,
        value: &Value,
    ) -> Result<Changed, Error> {
        self.context_write(context, Write::Append, path, value)
    }

    /// Returns a value of an agent's memory.
    pub fn agent_get(&self, context: &Context, name: &str, path: &str) -> Result<Value, Error> {
        get(&self.agent(context, name)?, context, path)
    }

    /// Sets a value of an agent's memory.
    pub fn agent_set(
        &self,
        context: &Context,
        name: &str,
        path: &str,
        value: &Value,
    ) -> Result<Changed, Error> {
        self.agent_write(context, name, Write::Set, path, value)
    }

    /// Appends a value to a list of an agent's memory; a missing list is created.
    pub fn agent_append(
        &self,
        context: &Context,
        name: &str,
        path: &str,
        value: &Value,
    ) -> Result<Changed, Error> {
        self.agent_write(context, name, Write::Append, path, value)
    }

    fn context_write(
        &self,
        context: &Context,
        write: Write,
        path: &str,
        value: &Value,
    ) -> Result<Changed, Error> {
        let skeleton = &shared_context::SKELETON;
        write.check(&self.shared, context, skeleton, path, value)?;
        self.make_missing(context)?;
        write.carry_out(&self.shared, context, skeleton, path, value)
    }

    fn agent_write(
        &self,
        context: &Context,
        name: &str,
        write: Write,
        path: &str,
        value: &Value,
    ) -> Result<Changed, Error> {
        let (file, skeleton) = (self.agent(context, name)?, &agent_memory::SKELETON);
        write.check(&file, context, skeleton, path, value)?;
        file.begin(context)?;
        write.carry_out(&file, context, skeleton, path, value)
    }
}

fn get(file: &KnownFile, context: &Context, path: &str) -> Result<Value, Error> {
    let view: View = file.view_or_empty(context)?;
    path::get(view.document.value(), path)
        .cloned()
        .map_err(Error::Path)
}

/// Way of writing a value at a path.
#[derive(Debug, Clone, Copy)]
enum Write {
    /// Replaces the present value.
    Set,
    /// Appends to the present list. Several agents may do so at once: no value is lost.
    Append,
}

impl Write {
    fn apply(
        self,
        skeleton: &Skeleton,
        document: &mut Value,
        path: &str,
        value: &Value,
        context: &Context,
    ) -> Result<(), Error> {
        let write = match self {
            Write::Set => path::set,
            Write::Append => path::append,
        };
        write(skeleton, document, path, value.clone(), context.now()).map_err(Error::Path)
    }

    /// Refuses invalid input before any file is created for it.
    fn check(
        self,
        file: &KnownFile,
        context: &Context,
        skeleton: &Skeleton,
        path: &str,
        value: &Value,
    ) -> Result<(), Error> {
        match file.view_or_empty(context) {
            Ok(view) => {
                let mut now = view.document.value().clone();
                self.apply(skeleton, &mut now, path, value, context)
            }
            // The change repairs it.
            Err(Error::Damaged { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn carry_out(
        self,
        file: &KnownFile,
        context: &Context,
        skeleton: &Skeleton,
        path: &str,
        value: &Value,
    ) -> Result<Changed, Error> {
        let (trigger, to) = match self {
            Write::Set => ("SET", "set"),
            Write::Append => ("APPEND", "appended"),
        };
        file.adjust(context, |document: &JsonDocument| {
            let mut next = document.value().clone();
            self.apply(skeleton, &mut next, path, value, context)?;
            let moved = Moved::new("value", trigger, None, to).with(json!({ "path": path }));
            Ok((document.reconcile(&next), moved))
        })
    }
}
