//! English for errors of tool calls: message / hint.

table! {
    tool_no: ToolNo => with_hint {
        ReadOnly { tool } => "'{tool}' changes something, and this connection only reads" / "start 'bowline mcp' with --role agent for tools that change something";
        Lacks { tool, name, shape } => "'{tool}' needs '{name}'" / "call it with {shape}";
        NotOf { name, wanted, shape } => "'{name}' should be {wanted}" / "call it with {shape}";
        TakesNo { tool, name, shape } => "'{tool}' takes no '{name}'" / "call it with {shape}";
        NoTool { name, known } => "there is no tool '{name}'" / "use one of {known}";
        NoNoun { noun, known } => "there is no noun '{noun}'" / "use one of {known}";
        NoResource { uri } => "there is no resource '{uri}'" / "ask for the list of resources";
        TooBig { path, bytes, max } => "{path} has {bytes} bytes; at most {max} are told at once" / "read the file itself";
        NoFiles { tool } => "'{tool}' works on files, and this connection has none" / "use the tools of 'bowline mcp' in the folder you work in";
        Outside { path } => "'{path}' is outside of the folder that is served" / "name a folder in it, or start 'bowline mcp' there";
    }
}
