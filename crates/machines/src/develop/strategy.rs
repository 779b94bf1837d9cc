//! The implementation strategy: one agent, several, or a team.

/// The smallest number of checkpoints for which a team is chosen.
const TEAM_CHECKPOINTS_MIN: usize = 5;

named! {
    /// The way in which the checkpoints are implemented.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum ImplementationStrategy {
        /// One agent, one checkpoint after the other.
        Direct = "direct",
        /// Separate agents for independent checkpoints.
        Subagent = "subagent",
        /// Agents that communicate with each other.
        AgentTeams = "agent-teams",
    }
}

/// Facts about the checkpoints from which a strategy is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StrategyFacts {
    /// No checkpoint needs another.
    pub independent: bool,
    /// All checkpoints change the same file.
    pub shared_file: bool,
    /// The agents have to communicate.
    pub communication: bool,
    /// The client can run teams.
    pub agent_teams_available: bool,
}

/// A named strategy, or facts to choose one by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StrategyChoice {
    /// A strategy that the caller named.
    Named(ImplementationStrategy),
    /// Facts from which [`choose_strategy`] chooses.
    Auto(StrategyFacts),
}

/// Chooses the strategy for that many checkpoints.
pub fn choose_strategy(checkpoints: usize, facts: StrategyFacts) -> ImplementationStrategy {
    let StrategyFacts {
        independent,
        shared_file,
        communication,
        agent_teams_available,
    } = facts;
    if checkpoints < 2 || shared_file {
        return ImplementationStrategy::Direct;
    }
    let team = checkpoints >= TEAM_CHECKPOINTS_MIN || communication;
    if team && agent_teams_available {
        ImplementationStrategy::AgentTeams
    } else if independent {
        ImplementationStrategy::Subagent
    } else {
        ImplementationStrategy::Direct
    }
}
