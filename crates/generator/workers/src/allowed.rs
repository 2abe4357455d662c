//! The addresses that a worker may connect to, by its agent's options.

use std::net::{SocketAddr, ToSocketAddrs};

use engine::addresses::{Answers, NOWHERE};
use plan::{Endpoint, Plan, Via};

/// The addresses that users may connect to; `None` in its place: all.
#[derive(Debug, Clone, Default)]
pub(crate) struct AllowedAddresses {
    /// The addresses as they were written: `HOST:PORT`.
    written: Vec<String>,
    /// The addresses that they stand for on this machine.
    addresses: Vec<SocketAddr>,
}

impl AllowedAddresses {
    /// Resolves `HOST:PORT` on this machine; what has no address allows nothing.
    pub(crate) fn resolve(written: &[String]) -> Option<AllowedAddresses> {
        let found = written.iter().filter_map(|place| place.to_socket_addrs().ok());
        (!written.is_empty()).then(|| AllowedAddresses {
            written: written.to_vec(),
            addresses: found.flatten().collect(),
        })
    }

    /// Checks that users may connect to all endpoints of a plan, which stand for these addresses; the error names one to
    /// which they may not. What counts is the address: the name that a controller gives it may be any. What is behind a
    /// proxy, which resolves it by itself, and what is a file has to be written as the plan has it.
    pub(crate) fn check(&self, plan: &Plan, answers: &Answers) -> Result<(), String> {
        for endpoint in &plan.endpoints {
            let name = match &endpoint.via {
                Via::Tcp => continue,
                Via::Proxy(_) => endpoint.host_and_port(),
                Via::Unix(path) => format!("unix:{path}"),
            };
            if !self.written.contains(&name) {
                return Err(self.denied(&name));
            }
        }
        self.check_answers(&plan.endpoints, answers)
    }

    /// Checks the addresses alone.
    pub(crate) fn check_answers(
        &self,
        endpoints: &[Endpoint],
        answers: &Answers,
    ) -> Result<(), String> {
        for (at, answers) in answers.iter().enumerate() {
            let mut addresses = answers.iter().flatten();
            let is_denied =
                |address: &&SocketAddr| **address != NOWHERE && !self.addresses.contains(address);
            let Some(address) = addresses.find(is_denied) else {
                continue;
            };
            let name = endpoints.get(at).map_or_else(
                || address.to_string(),
                |endpoint| format!("{}:{}, which is {address}", endpoint.host, endpoint.port),
            );
            return Err(self.denied(&name));
        }
        Ok(())
    }

    fn denied(&self, name: &str) -> String {
        let allowed = self.written.join(", ");
        format!("its agent may not send load to {name}; it allows {allowed}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_count_whatever_their_names_are() {
        assert!(AllowedAddresses::resolve(&[]).is_none(), "anything is allowed");
        let allowed = ["127.0.0.1:80".to_owned(), "no.such.host.invalid:1".to_owned()];
        let allowed = AllowedAddresses::resolve(&allowed).unwrap();
        let answers = |texts: &[&str]| -> Answers {
            vec![vec![texts.iter().map(|text| text.parse().unwrap()).collect()]]
        };
        assert_eq!(allowed.check_answers(&[], &answers(&["127.0.0.1:80"])), Ok(()));
        for other in ["127.0.0.1:81", "127.0.0.2:80", "[::1]:80"] {
            let error = allowed.check_answers(&[], &answers(&["127.0.0.1:80", other])).unwrap_err();
            assert!(error.contains(other) && error.contains("127.0.0.1:80, no"), "{error}");
        }
    }

    #[test]
    fn what_is_behind_a_proxy_and_unix_sockets_are_allowed_by_name() {
        let plan = |target: &str| {
            let text = format!(
                "target: {target}\noptions: {{ proxy: 'http://127.0.0.1:3128' }}\n\
                 sessions: {{ s: [ {{ get: / }} ] }}\narrivals: [ {{ hold: 1s }} ]\n"
            );
            let source = scenario::Source { name: "x.yaml", text: &text };
            let settings = scenario::Settings {
                overrides: &[],
                env: &|_| None,
                files: &|_| Err("no files".to_owned()),
            };
            scenario::compile(source, &settings).0.unwrap()
        };
        let written = ["127.0.0.1:3128", "private.test:80", "unix:/run/a.sock"];
        let allowed = AllowedAddresses::resolve(&written.map(str::to_owned)).unwrap();
        let proxied: Answers =
            vec![vec![vec![NOWHERE]], vec![vec!["127.0.0.1:3128".parse().unwrap()]]];
        assert_eq!(allowed.check(&plan("http://private.test/"), &proxied), Ok(()));
        let error = allowed.check(&plan("http://other.test/"), &proxied);
        assert!(error.unwrap_err().contains("to other.test:80;"));
        let alone: Answers = vec![vec![vec![NOWHERE]]];
        assert_eq!(allowed.check(&plan("unix:/run/a.sock"), &alone), Ok(()));
        let error = allowed.check(&plan("unix:/run/b.sock"), &alone);
        assert!(error.unwrap_err().contains("unix:/run/b.sock"));
    }
}
