//! Robots, by the agents that they name, and heavy users: those with far more requests than others have. Neither is a
//! crowd, and a model of a crowd that contains them has fewer people with more requests than there were.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::bytes::Regex;

/// A heavy user has at least this share of all requests, …
const SHARE_MIN: f64 = 0.05;
/// … at least this many times as many as the others have on average, …
const TIMES_MIN: f64 = 20.0;
/// … and there are at least this many users.
const USERS_MIN: u64 = 20;
/// Users that can be heavy at the same time, by their share.
const HEAVY_MAX: usize = 20;
/// Names of robots that are counted apart.
const NAMES_MAX: usize = 1_000;
/// Words of the agents of programs that visit by themselves, with the letters around them.
const WORDS: &str = r"(?i-u)[a-z0-9_.-]*(?:bot|crawl|spider|slurp|scrap)[a-z0-9_.-]*";

/// A make of telephones, which has one of those words in its name.
const TELEPHONE: &[u8] = b"cubot";

/// The name by which an agent says that it is a robot.
pub(crate) fn name(agent: &[u8]) -> Option<&[u8]> {
    static PATTERN: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(WORDS).expect("the text is a pattern"));
    let name = PATTERN.find(agent)?.as_bytes();

    let is_telephone =
        name.get(..TELEPHONE.len()).is_some_and(|b| b.eq_ignore_ascii_case(TELEPHONE));
    (!is_telephone).then_some(name)
}

/// Requests of robots by their names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RobotCounts {
    names: BTreeMap<String, u64>,
    requests: u64,
}

impl RobotCounts {
    /// Counts a request, if its agent is a robot's.
    pub(crate) fn request(&mut self, agent: &[u8]) {
        if let Some(name) = name(agent) {
            self.add(&String::from_utf8_lossy(name), 1);
        }
    }

    pub(crate) fn merge(&mut self, other: RobotCounts) {
        let named: u64 = other.names.values().sum();
        for (name, requests) in other.names {
            self.add(&name, requests);
        }
        self.requests += other.requests - named;
    }

    fn add(&mut self, name: &str, requests: u64) {
        self.requests += requests;
        if let Some(count) = self.names.get_mut(name) {
            *count += requests;
        } else if self.names.len() < NAMES_MAX {
            self.names.insert(name.to_owned(), requests);
        }
    }

    /// How many.
    pub(crate) fn requests(&self) -> u64 {
        self.requests
    }

    /// Names with how often, the most frequent first.
    pub(crate) fn names(&self) -> Vec<(&str, u64)> {
        let names = self.names.iter();
        let mut names: Vec<(&str, u64)> =
            names.map(|(name, requests)| (name.as_str(), *requests)).collect();
        names.sort_by_key(|&(name, requests)| (std::cmp::Reverse(requests), name));
        names
    }
}

/// A user with far more requests than others have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeavyUser {
    /// Hash of its key.
    pub(crate) key: u64,
    pub(crate) requests: u64,
    /// The place of its first line.
    pub(crate) order: u64,
}

/// Users one after the other, of which those with the most requests are kept.
#[derive(Debug, Default)]
pub(crate) struct HeavyUsers {
    most: Vec<HeavyUser>,
    current: Option<HeavyUser>,
    users: u64,
    requests: u64,
}

impl HeavyUsers {
    /// A request of this user, whose requests come one after the other.
    pub(crate) fn request(&mut self, key: u64, order: u64) {
        self.requests += 1;
        match &mut self.current {
            Some(user) if user.key == key => {
                user.requests += 1;
                user.order = user.order.min(order);
            }
            _ => {
                self.finish_user();
                self.current = Some(HeavyUser { key, requests: 1, order });
            }
        }
    }

    fn finish_user(&mut self) {
        let Some(user) = self.current.take() else {
            return;
        };
        self.users += 1;
        self.most.push(user);
        if self.most.len() > 2 * HEAVY_MAX {
            self.keep_most();
        }
    }

    fn keep_most(&mut self) {
        self.most.sort_by_key(|user| (std::cmp::Reverse(user.requests), user.order));
        self.most.truncate(HEAVY_MAX);
    }

    /// The heavy users, those with the most requests first.
    pub(crate) fn finish(mut self) -> Vec<HeavyUser> {
        self.finish_user();
        self.keep_most();
        if self.users < USERS_MIN {
            return Vec::new();
        }
        let least = SHARE_MIN * self.requests as f64;
        let candidates = self.most.iter().filter(|user| user.requests as f64 >= least);
        let own: u64 = candidates.clone().map(|user| user.requests).sum();
        let others = (self.requests - own) as f64
            / (self.users - candidates.clone().count() as u64).max(1) as f64;
        let heavy = candidates.filter(|user| user.requests as f64 >= TIMES_MIN * others);
        heavy.copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn robots_are_known_by_a_word_of_their_agent() {
        let found = |agent: &str| {
            name(agent.as_bytes()).map(|name| String::from_utf8_lossy(name).into_owned())
        };
        for (agent, name) in [
            (
                "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
                "Googlebot",
            ),
            ("Mozilla/5.0 (compatible; Baiduspider/2.0)", "Baiduspider"),
            ("msnbot-media/1.1", "msnbot-media"),
        ] {
            assert_eq!(found(agent).as_deref(), Some(name), "{agent}");
        }
        assert_eq!(found("Mozilla/5.0 (X11; Linux x86_64) Firefox/128.0"), None);
        assert_eq!(found("Mozilla/5.0 (Linux; Android 11; CUBOT KING KONG)"), None);
        assert_eq!(found(""), None);
    }

    #[test]
    fn heavy_users_have_a_share_and_many_times_what_others_have() {
        let found = |users: &[u64]| {
            let mut all = HeavyUsers::default();
            for (key, requests) in users.iter().enumerate() {
                (0..*requests).for_each(|order| all.request(key as u64, 100 * key as u64 + order));
            }
            all.finish()
                .iter()
                .map(|user| (user.key, user.requests, user.order))
                .collect::<Vec<_>>()
        };
        // 100 of 3 requests, and one with as many as all of them.
        let mut users = vec![3_u64; 100];
        assert!(found(&users).is_empty());
        users.push(300);
        assert_eq!(found(&users), [(100, 300, 10_000)]);
        // Of a few users each has a share.
        assert!(found(&[3, 3, 3, 300]).is_empty());
        // 5 % of all, but not 20 times as many as the others.
        assert!(found(&[vec![10_u64; 22], vec![60]].concat()).is_empty());
    }
}
