//! The binary `bowline`, run as people run it: whole outputs in a cleared environment.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot unwrap has failed, and says where"
)]

/// Compares a whole output with the reviewed one; `INSTA_UPDATE=always` writes it anew.
macro_rules! check {
    ($($snapshot:tt)*) => {
        insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!($($snapshot)*) })
    };
}

mod agents;
mod attacks;
mod board;
mod clients;
mod codes;
mod completions;
mod demo;
mod develop;
mod develop_edges;
mod develop_evidence;
mod develop_export;
mod develop_hook;
mod develop_repair;
mod develop_rounds;
mod develop_table;
mod dry_run;
mod environment;
mod every_state;
mod evidence_exchange;
mod evidence_tree;
mod file_runs;
mod files;
mod guides;
mod help;
mod here;
mod init;
mod json_page;
mod kinds;
mod landed_tree;
mod locks;
mod mcp;
mod mcp_calls;
mod memory;
mod memory_life;
mod mistakes;
mod notices;
mod odd_names;
mod orchestrate;
mod orchestrate_by_hand;
mod orchestrate_exchange;
mod orchestrate_git;
mod orchestrate_hints;
mod orchestrate_hostile;
mod orchestrate_korean;
mod orchestrate_landing;
mod orchestrate_notices;
mod orchestrate_order;
mod orchestrate_own_plan;
mod orchestrate_proposals;
mod orchestrate_rooms;
mod orchestrate_run;
mod orchestrate_verbs;
mod person;
mod places;
mod plain_sight;
mod recorded;
mod repair;
mod sandbox_escapes;
mod sandboxed;
mod scripted;
mod serve;
mod serve_store;
mod server_edges;
mod shortage;
mod signing_key;
mod small_print;
mod streams;
mod thinking;
mod travel;
mod values;
mod worked_examples;
mod wrong_input;
