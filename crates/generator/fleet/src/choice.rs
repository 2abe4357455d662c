//! Which agents a run gets.

use crate::cards::AgentCard;

/// The agents that a run wants.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    /// This number of agents; `None`: all.
    pub agents: Option<usize>,
    /// Labels that they must have.
    pub select: Vec<(String, String)>,
    /// It does not start with fewer; `None`: as many as `agents`, or one.
    pub agents_min: Option<usize>,
    /// Public keys of agents that may take part; empty: any may.
    pub trust: Vec<String>,
}

/// The agents that a run gets.
#[derive(Debug)]
pub(crate) struct ChosenAgents {
    pub(crate) agents: Vec<AgentCard>,
    /// Those that have the labels and another version, in words.
    pub(crate) left_out: Option<String>,
}

/// Why a run gets no agents.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    #[error("no agent waits at {0}; start some with `throng agent --nats URL`")]
    None(String),
    #[error("no agent has the labels {wanted}; there are: {there}")]
    NoneMatches { wanted: String, there: String },
    #[error(
        "agents of another version: {agents}; this is {own}. Install the same version there, or select others"
    )]
    Version { agents: String, own: String },
    #[error(
        "no agent has a key that the run trusts; there are: {0}. Start agents with `--key FILE`, and trust its public key"
    )]
    Untrusted(String),
    #[error("the run requires {wanted} agents, and {found} of the fleet are free: {state}")]
    TooFew { wanted: usize, found: usize, state: String },
}

impl Choice {
    /// The agents of a run by Throng's version `throng`, those first that hold the most; by name among equals. Agents of
    /// another version are left out: anybody at NATS may say that one is there.
    pub(crate) fn choose(
        &self,
        cards: &[AgentCard],
        throng: &str,
        server: &str,
    ) -> Result<ChosenAgents, ChoiceError> {
        if cards.is_empty() {
            return Err(ChoiceError::None(server.to_owned()));
        }
        let has = |card: &AgentCard| {
            let mut wanted = self.select.iter();
            wanted.all(|(key, value)| card.labels.get(key) == Some(value))
        };
        let matching: Vec<&AgentCard> = cards.iter().filter(|card| has(card)).collect();
        if matching.is_empty() {
            let wanted = self.select.iter().map(|(key, value)| format!("{key}={value}"));
            return Err(ChoiceError::NoneMatches {
                wanted: wanted.collect::<Vec<_>>().join(", "),
                there: list(cards.iter(), |card| match labels(card) {
                    labels if labels.is_empty() => "none".to_owned(),
                    labels => labels,
                }),
            });
        }
        let trusts = |card: &AgentCard| {
            let signer = card.signer();
            self.trust.is_empty() || self.trust.iter().any(|key| signer == Some(key.as_str()))
        };
        let all_matching = matching;
        let matching: Vec<&AgentCard> =
            all_matching.iter().copied().filter(|card| trusts(card)).collect();
        if matching.is_empty() {
            return Err(ChoiceError::Untrusted(list(all_matching.into_iter(), |card| {
                card.signer().unwrap_or("no key").to_owned()
            })));
        }
        let version =
            |card: &AgentCard| format!("Throng {}, protocol {}", card.throng, card.protocol);
        let fitting: Vec<&AgentCard> =
            matching.iter().copied().filter(|card| card.fits(throng)).collect();
        let others: Vec<&AgentCard> =
            matching.iter().copied().filter(|card| !card.fits(throng)).collect();
        if fitting.is_empty() {
            return Err(ChoiceError::Version {
                agents: list(others.into_iter(), version),
                own: format!("Throng {throng}, protocol {}", workers::PROTOCOL_VERSION),
            });
        }
        let free = fitting.iter().filter(|card| card.run.is_none() && !card.draining);
        let mut free: Vec<AgentCard> = free.map(|card| (*card).clone()).collect();
        free.sort_by(|a, b| (b.holds, &a.name).cmp(&(a.holds, &b.name)));
        let wanted = self.agents_min.or(self.agents).unwrap_or(1).max(1);
        if free.len() < wanted {
            return Err(ChoiceError::TooFew {
                wanted,
                found: free.len(),
                state: list(matching.into_iter(), |card| match (&card.run, card.draining) {
                    _ if !card.fits(throng) => version(card),
                    (_, true) => "draining".to_owned(),
                    (Some(run), _) => format!("in run {run}"),
                    (None, _) => "free".to_owned(),
                }),
            });
        }
        free.truncate(self.agents.unwrap_or(usize::MAX).max(wanted));
        let left_out = (!others.is_empty()).then(|| list(others.into_iter(), version));
        Ok(ChosenAgents { agents: free, left_out })
    }
}

/// The labels of an agent in words.
pub(crate) fn labels(card: &AgentCard) -> String {
    let labels = card.labels.iter().map(|(key, value)| format!("{key}={value}"));
    labels.collect::<Vec<_>>().join(" ")
}

fn list<'a>(
    cards: impl Iterator<Item = &'a AgentCard>,
    what: impl Fn(&AgentCard) -> String,
) -> String {
    let all: Vec<String> = cards.map(|card| format!("{} ({})", card.name, what(card))).collect();
    all.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::UserKey;

    fn card(name: &str, holds: u64, region: &str) -> AgentCard {
        AgentCard {
            name: name.to_owned(),
            throng: "1.2.3".to_owned(),
            protocol: workers::PROTOCOL_VERSION,
            holds,
            labels: [("region".to_owned(), region.to_owned())].into(),
            ..AgentCard::default()
        }
    }

    fn choose(choice: &Choice, cards: &[AgentCard]) -> Result<Vec<String>, String> {
        let chosen = choice.choose(cards, "1.2.3", "h:1");
        let chosen = chosen.map_err(|error| error.to_string())?;
        Ok(chosen.agents.into_iter().map(|card| card.name).collect())
    }

    #[test]
    fn agents_are_chosen_by_label_number_and_size() {
        let cards = [card("a", 5, "eu"), card("b", 9, "us"), card("c", 9, "eu")];
        let choice = |agents, select: &[&str]| Choice {
            agents,
            select: select
                .iter()
                .map(|region| ("region".to_owned(), (*region).to_owned()))
                .collect(),
            agents_min: None,
            trust: Vec::new(),
        };
        assert_eq!(choose(&choice(None, &[]), &cards).unwrap(), ["b", "c", "a"]);
        assert_eq!(choose(&choice(Some(1), &["eu"]), &cards).unwrap(), ["c"]);
        let error = choose(&choice(None, &["asia"]), &cards).unwrap_err();
        assert!(error.contains("region=asia") && error.contains("a (region=eu)"), "{error}");
        let error = choose(&choice(Some(3), &["eu"]), &cards).unwrap_err();
        assert!(error.contains("requires 3 agents, and 2"), "{error}");
        let few = Choice { agents_min: Some(2), ..choice(Some(3), &["eu"]) };
        assert_eq!(choose(&few, &cards).unwrap().len(), 2);
        assert!(choose(&Choice::default(), &[]).unwrap_err().contains("no agent waits at h:1"));
    }

    #[test]
    fn agents_of_another_version_and_busy_ones_are_named() {
        let mut cards = [card("a", 5, "eu"), card("b", 9, "us")];
        cards[0].run = Some("r1".to_owned());
        let two = Choice { agents: Some(2), ..Choice::default() };
        let error = choose(&two, &cards).unwrap_err();
        assert!(error.contains("a (in run r1), b (free)"), "{error}");
        cards[1].throng = "1.2.2".to_owned();
        let error = choose(&Choice::default(), &cards).unwrap_err();
        assert!(error.contains("a (in run r1), b (Throng 1.2.2"), "{error}");
        let error = choose(&Choice::default(), &cards[1..]).unwrap_err();
        assert!(
            error.contains("b (Throng 1.2.2") && error.contains("this is Throng 1.2.3"),
            "{error}"
        );
    }

    #[test]
    fn with_keys_only_agents_that_have_signed_their_cards_by_one_are_chosen() {
        let directory = tempfile::tempdir().unwrap();
        let key = |name: &str| UserKey::create(&directory.path().join(name)).unwrap();
        let [trusted, other] = ["trusted", "other"].map(key);
        let mut cards = ["a", "b", "c", "d"].map(|name| card(name, 5, "eu"));
        cards[0].sign(&trusted).unwrap();
        cards[1].sign(&other).unwrap();
        // The signature of another agent, and a card that was changed.
        cards[2].signature = cards[0].signature.clone();
        let choice = Choice { trust: vec![trusted.public()], ..Choice::default() };
        assert_eq!(choose(&choice, &cards).unwrap(), ["a"]);
        cards[0].key = "of somebody who wants to read".to_owned();
        let error = choose(&choice, &cards).unwrap_err();
        assert!(error.contains("a (no key)") && error.contains(&other.public()), "{error}");
    }

    #[test]
    fn an_agent_of_another_version_is_left_out_and_named() {
        let mut cards = [card("a", 5, "eu"), card("b", 9, "us")];
        cards[1].protocol += 1;
        let chosen = Choice::default().choose(&cards, "1.2.3", "h:1").unwrap();
        assert_eq!(chosen.agents.iter().map(|card| &card.name).collect::<Vec<_>>(), ["a"]);
        assert!(chosen.left_out.unwrap().starts_with("b (Throng 1.2.3, protocol "));
        let all = Choice::default().choose(&cards[..1], "1.2.3", "h:1").unwrap();
        assert_eq!(all.left_out, None);
    }
}
