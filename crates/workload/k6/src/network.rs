//! Options of how hosts are reached: other addresses, connections, names, and the certificate that users present.

use plan::K6File;
use serde_json::{Map, Value};

use crate::options::Wrong;

/// What the options say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Network {
    /// Hosts, and the addresses at which they are reached.
    hosts: Vec<(String, String)>,
    blocked: Vec<String>,
    pub(crate) connections: Connections,
    /// Names keep the addresses that they had first.
    keeps_answers: bool,
    identity: Option<Identity>,
}

/// How long connections serve.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Connections {
    #[default]
    Kept,
    Iteration,
    Request,
}

/// A certificate and its key, as the script has read them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Identity {
    cert: String,
    key: String,
    /// The hosts that it is for; empty: all.
    domains: Vec<String>,
}

impl Network {
    /// Reads them. What nobody else is to see of them is taken out.
    pub(crate) fn take(options: &mut Map<String, Value>) -> Result<Network, Wrong> {
        let is_on = |key: &str| options.get(key) == Some(&Value::Bool(true));
        let connections = match (is_on("noConnectionReuse"), is_on("noVUConnectionReuse")) {
            (true, _) => Connections::Request,
            (false, true) => Connections::Iteration,
            (false, false) => Connections::Kept,
        };
        Ok(Network {
            hosts: hosts(options)?,
            blocked: texts(options, "blockHostnames")?,
            connections,
            keeps_answers: keeps_answers(options)?,
            identity: identity(options.remove("tlsAuth"))?,
        })
    }

    /// Whether requests to this origin are never sent.
    pub(crate) fn blocks(&self, origin: &str) -> bool {
        let host = host_of(origin);
        self.blocked.iter().any(|pattern| fits(&host, pattern))
    }

    /// The entries for `tls`, below `options`. `origins`: all hosts of the script.
    pub(crate) fn tls(&self, files: &[K6File], origins: &[String]) -> Result<Vec<String>, Wrong> {
        let Some(Identity { cert, key, domains }) = &self.identity else {
            return Ok(Vec::new());
        };
        let wrong = |message: String| Wrong::new("tlsAuth", message);
        let mut secured = origins.iter().filter(|origin| origin.starts_with("https://"));
        let other = secured.find(|origin| {
            !domains.is_empty() && !domains.iter().any(|domain| fits(&host_of(origin), domain))
        });
        if let Some(other) = other {
            return Err(wrong(format!(
                "`tlsAuth` is for {}, and the script names {other} as well: here a certificate is for all hosts",
                domains.join(", ")
            )));
        }
        let place = |what: &str, text: &str| {
            let found = files.iter().find(|file| *file.bytes == *text.as_bytes());
            let found = found.ok_or_else(|| {
                wrong(format!(
                    "`{what}` of `tlsAuth` has to be the text of a file: read it by `open`"
                ))
            })?;
            Ok::<String, Wrong>(format!("{what}: {}", Value::from(found.name.as_str())))
        };
        Ok(vec![place("cert", cert)?, place("key", key)?])
    }

    /// The lines below `options`.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.hosts.is_empty() {
            let pairs = self.hosts.iter().map(|(name, address)| {
                format!("{}: {}", Value::from(name.as_str()), Value::from(address.as_str()))
            });
            let pairs: Vec<String> = pairs.collect();
            lines.push(format!("hosts: {{ {} }}", pairs.join(", ")));
        }
        match self.connections {
            Connections::Kept => {}
            Connections::Iteration => lines.push("http_connections: session".to_owned()),
            Connections::Request => lines.push("http_connections: request".to_owned()),
        }
        if self.keeps_answers {
            lines.push("dns: { ignore_ttl: 100% }".to_owned());
        }
        lines
    }
}

fn host_of(origin: &str) -> String {
    let rest = origin.split_once("://").map_or(origin, |(_, rest)| rest);
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
    match rest.rsplit_once(':') {
        Some((host, port)) if is_port(port) => host.to_ascii_lowercase(),
        _ => rest.to_ascii_lowercase(),
    }
}

/// Whether a host is of a name, or of a pattern that begins with `*`.
fn fits(host: &str, pattern: &str) -> bool {
    let pattern = pattern.to_ascii_lowercase();
    match pattern.strip_prefix('*') {
        Some(ending) => host.ends_with(ending),
        None => host == pattern,
    }
}

fn hosts(options: &Map<String, Value>) -> Result<Vec<(String, String)>, Wrong> {
    let wrong = || Wrong::new("hosts", "`hosts` is an object of addresses by names");
    let hosts = match options.get("hosts") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Object(hosts)) => hosts,
        Some(_) => return Err(wrong()),
    };
    hosts
        .iter()
        .map(|(name, address)| {
            let address = address.as_str().ok_or_else(wrong)?;
            match plan::HostAddress::parse(name, address) {
                Some(_) => Ok((name.clone(), address.to_owned())),
                None => Err(Wrong::new(
                    "hosts",
                    format!("`hosts` has {name:?}: {address:?}: write \"shop.test\": \"10.0.0.5\", or with ports"),
                )),
            }
        })
        .collect()
}

fn texts(options: &Map<String, Value>, key: &str) -> Result<Vec<String>, Wrong> {
    let wrong = || Wrong::new(key, format!("`{key}` is a list of texts"));
    match options.get(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => {
            items.iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
        }
        Some(_) => Err(wrong()),
    }
}

/// `dns`: whether names keep their first addresses.
fn keeps_answers(options: &Map<String, Value>) -> Result<bool, Wrong> {
    let dns = match options.get("dns") {
        None | Some(Value::Null) => return Ok(false),
        Some(Value::Object(dns)) => dns,
        Some(_) => return Err(Wrong::new("dns", "`dns` is an object")),
    };
    for (key, usual) in [("select", "random"), ("policy", "preferIPv4")] {
        let given = dns.get(key).and_then(Value::as_str);
        if let Some(given) = given.filter(|given| *given != usual) {
            return Err(Wrong::new(
                key,
                format!("`{key}: {given}` of `dns` is not supported here; leave it out"),
            ));
        }
    }
    match dns.get("ttl") {
        None | Some(Value::Null) => Ok(false),
        Some(Value::String(text)) if text == "inf" => Ok(true),
        Some(other) => Err(Wrong::new(
            "ttl",
            format!(
                "`ttl: {other}` of `dns` is not supported here: names are resolved again as their own TTL says, or never, with \"inf\""
            ),
        )),
    }
}

fn identity(given: Option<Value>) -> Result<Option<Identity>, Wrong> {
    let wrong = |message: &str| Wrong::new("tlsAuth", format!("`tlsAuth` {message}"));
    let items = match given {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Array(items)) => items,
        Some(_) => return Err(wrong("is a list of certificates")),
    };
    let [item] = &items[..] else {
        return match items.is_empty() {
            true => Ok(None),
            false => Err(wrong("has several certificates: here users have one")),
        };
    };
    let text = |key: &str| item[key].as_str().map(str::to_owned);
    if text("password").is_some_and(|password| !password.is_empty()) {
        return Err(wrong("has a key that is encrypted, which is not supported here"));
    }
    let domains = item["domains"].as_array().into_iter().flatten();
    let domains = domains.filter_map(Value::as_str).map(str::to_owned).collect();
    match (text("cert"), text("key")) {
        (Some(cert), Some(key)) => Ok(Some(Identity { cert, key, domains })),
        _ => Err(wrong("needs `cert` and `key`")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn take(options: Value) -> Result<Network, Wrong> {
        let Value::Object(mut options) = options else { panic!("{options}") };
        Network::take(&mut options)
    }

    #[test]
    fn options_become_those_of_a_scenario() {
        let network = take(json!({
            "hosts": { "*.shop.test": "10.0.0.5", "a.test:443": "10.0.0.6:8443" },
            "noConnectionReuse": true, "noVUConnectionReuse": true,
            "dns": { "ttl": "inf", "select": "random" },
        }));
        let expected = [
            r#"hosts: { "*.shop.test": "10.0.0.5", "a.test:443": "10.0.0.6:8443" }"#,
            "http_connections: request",
            "dns: { ignore_ttl: 100% }",
        ];
        assert_eq!(network.unwrap().lines(), expected);
        let network = take(json!({ "noVUConnectionReuse": true, "hosts": null })).unwrap();
        assert_eq!(network.lines(), ["http_connections: session"]);
        assert!(take(json!({})).unwrap().lines().is_empty());
    }

    #[test]
    fn certificates_are_files_and_leave_the_options() {
        let files: Vec<K6File> = [("a.pem", "CERT"), ("a.key", "KEY")]
            .map(|(name, text)| K6File { name: name.to_owned(), bytes: text.as_bytes().into() })
            .to_vec();
        let auth = |cert: &str, domains: Value| json!({ "tlsAuth": [{ "cert": cert, "key": "KEY", "domains": domains }] });
        let mut options = auth("CERT", json!(["*.a.test"])).as_object().cloned().unwrap();
        let network = Network::take(&mut options).unwrap();
        assert!(options.is_empty(), "a key is no option to show");
        let origins = ["https://x.a.test:8443".to_owned(), "http://b.test".to_owned()];
        assert_eq!(network.tls(&files, &origins).unwrap(), ["cert: \"a.pem\"", "key: \"a.key\""]);
        let others = ["https://b.test".to_owned()];
        assert!(network.tls(&files, &others).unwrap_err().message.contains("https://b.test"));
        let inline = take(auth("OTHER", json!([]))).unwrap().tls(&files, &origins).unwrap_err();
        assert!(inline.message.contains("read it by `open`"), "{}", inline.message);
    }

    #[test]
    fn patterns_block_hosts() {
        let network = take(json!({ "blockHostnames": ["a.test", "*.b.test"] })).unwrap();
        for (origin, expected) in [
            ("http://a.test", true),
            ("https://A.test:8443", true),
            ("http://x.b.test", true),
            ("http://b.test", false),
            ("http://xa.test", false),
        ] {
            assert_eq!(network.blocks(origin), expected, "{origin}");
        }
    }

    #[test]
    fn what_cannot_be_names_its_key() {
        for (options, key) in [
            (json!({ "hosts": { "a.test": "b.test" } }), "hosts"),
            (json!({ "hosts": ["a.test"] }), "hosts"),
            (json!({ "blockHostnames": "a.test" }), "blockHostnames"),
            (json!({ "dns": { "ttl": "5m" } }), "ttl"),
            (json!({ "dns": { "select": "first" } }), "select"),
            (json!({ "dns": { "policy": "onlyIPv6" } }), "policy"),
            (json!({ "tlsAuth": [{}, {}] }), "tlsAuth"),
            (json!({ "tlsAuth": [{ "cert": "x" }] }), "tlsAuth"),
        ] {
            assert_eq!(take(options.clone()).unwrap_err().key, key, "{options}");
        }
    }
}
