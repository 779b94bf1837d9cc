//! Errors of tool calls.

messages! {
    /// Reason why a tool was not called.
    ToolNo, tool_no => with_hint {
        ReadOnly { tool: &'static str },
        Lacks { tool: &'static str, name: &'static str, shape: String },
        NotOf { name: &'static str, wanted: String, shape: String },
        TakesNo { tool: &'static str, name: String, shape: String },
        NoTool { name: String, known: String },
        NoNoun { noun: String, known: String },
        NoResource { uri: String },
        TooBig { path: String, bytes: usize, max: usize },
        Outside { path: String },
        NoFiles { tool: &'static str },
    }
}
