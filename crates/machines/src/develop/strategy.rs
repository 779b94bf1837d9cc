//! How the checkpoints are implemented: by one agent, by several, or by a team.

/// The smallest number of checkpoints that is worth a team.
const TEAM_CHECKPOINTS_MIN: usize = 5;

named! {
    /// Who implements.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Strategy {
        /// One agent, one checkpoint after the other.
        Direct = "direct",
        /// Agents of their own for independent checkpoints.
        Subagent = "subagent",
        /// Agents that talk to each other.
        AgentTeams = "agent-teams",
    }
}

/// What is known of the checkpoints when a strategy is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StrategyFacts {
    /// None needs another.
    pub independent: bool,
    /// All touch the same file.
    pub shared_file: bool,
    /// The agents have to talk.
    pub communication: bool,
    /// The client can run teams.
    pub agent_teams_available: bool,
}

/// A strategy somebody named, or facts to choose one by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// This one.
    Named(Strategy),
    /// Whichever fits.
    Auto(StrategyFacts),
}

/// The strategy that fits so many checkpoints.
pub fn auto(checkpoints: usize, facts: StrategyFacts) -> Strategy {
    let StrategyFacts {
        independent,
        shared_file,
        communication,
        agent_teams_available,
    } = facts;
    if checkpoints < 2 || shared_file {
        return Strategy::Direct;
    }
    let team = checkpoints >= TEAM_CHECKPOINTS_MIN || communication;
    if team && agent_teams_available {
        Strategy::AgentTeams
    } else if independent {
        Strategy::Subagent
    } else {
        Strategy::Direct
    }
}
