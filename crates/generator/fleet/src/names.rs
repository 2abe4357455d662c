//! Names of subjects, streams and buckets. An account with the least privileges is allowed these and `$JS.API.>`,
//! `$KV.>`, `$O.>` and `_INBOX.>`.

/// The bucket of agents.
pub(crate) const AGENTS: &str = "throng_agents";
/// The bucket of runs in progress.
pub(crate) const RUNS: &str = "throng_runs";
/// The bucket of runs that are over.
pub(crate) const ENDED: &str = "throng_ended";
/// The object store of scenarios.
pub(crate) const PLANS: &str = "throng_plans";
/// Longest name of an agent, bytes.
const NAME_BYTES_MAX: usize = 64;

/// The subject of requests to an agent.
pub(crate) fn agent(name: &str) -> String {
    format!("throng.agent.{name}")
}

/// The subject of requests to the controller of a run.
pub(crate) fn run(run: &str) -> String {
    format!("throng.run.{run}")
}

/// The subject of the beat by which a controller shows each second that it is there.
pub(crate) fn beat(run: &str) -> String {
    format!("throng.run.{run}.beat")
}

/// The stream of a run.
pub(crate) fn stream(run: &str) -> String {
    format!("throng_run_{run}")
}

/// The subject of the messages of an agent's worker.
pub(crate) fn from_agent(run: &str, agent: &str) -> String {
    format!("throng.run.{run}.from.{agent}")
}

/// The subject of the messages to an agent's worker.
pub(crate) fn to_agent(run: &str, agent: &str) -> String {
    format!("throng.run.{run}.to.{agent}")
}

/// The subject of the state that another controller needs to continue the run.
pub(crate) fn state(run: &str) -> String {
    format!("throng.run.{run}.state")
}

/// The subject of the controller's acknowledgements: how much of an agent's reports it has stored.
pub(crate) fn stored(run: &str, agent: &str) -> String {
    format!("throng.run.{run}.stored.{agent}")
}

/// The run of a stream.
pub(crate) fn run_of(stream: &str) -> Option<&str> {
    stream.strip_prefix("throng_run_").filter(|run| is_name(run))
}

/// Whether this may be the name of an agent or a run: names are parts of subjects and keys.
pub(crate) fn is_name(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    (1..=NAME_BYTES_MAX).contains(&text.len()) && text.chars().all(is_plain)
}

/// A name made of any text.
pub(crate) fn plain(text: &str) -> String {
    let plain = text.chars().map(|c| match c {
        c if c.is_ascii_alphanumeric() || c == '-' => c,
        _ => '_',
    });
    plain.take(NAME_BYTES_MAX - 16).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parts_of_subjects() {
        for good in ["eu-1", "a", "A_b"] {
            assert!(is_name(good), "{good}");
        }
        let long = "x".repeat(65);
        for bad in ["", "a.b", "a b", "*", ">", "é", &long] {
            assert!(!is_name(bad), "{bad}");
        }
        assert_eq!(plain("host.example"), "host_example");
        assert!(is_name(&plain(&long)));
    }
}
