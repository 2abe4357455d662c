//! Probes of the server's side.

use crate::keys::{PROBES, PROCESS, Table};
use plan::probes::{Page, Probe, ProbeKind, ProcessSpec, Secret};
use units::parse::{self, UnitError};

use super::Checker;
use super::fields::Fields;
use crate::document::node::Node;
use crate::document::suggest;

/// Most probes of a run: each is a thread.
const PROBES_MAX: usize = 64;
/// Longest name, role or region, in bytes.
const NAME_BYTES_MAX: usize = 200;
/// The shortest and longest polling interval, in nanoseconds.
const EVERY_NS: std::ops::RangeInclusive<u64> = 100_000_000..=3_600_000_000_000;
/// Most entries of `metrics`.
const METRICS_MAX: usize = 256;

const EXAMPLE: &str = "write probes like `- host` or `- redis: redis://127.0.0.1:6379`";

impl Checker<'_> {
    pub(crate) fn probes(&mut self, node: &Node) -> Vec<Probe> {
        let Some(items) = node.sequence() else {
            self.expected(node, "a list of probes");
            self.diagnostics.last_hint(EXAMPLE.to_owned());
            return Vec::new();
        };
        if items.len() > PROBES_MAX {
            let message = format!("there are more than {PROBES_MAX} probes");
            self.diagnostics
                .error("too-many-probes", &node.place, message)
                .hint("let one process export several sources: `throng probe --serve`");
        }
        let mut probes: Vec<Probe> = Vec::with_capacity(items.len().min(PROBES_MAX));
        for item in items {
            let Some(probe) = self.probe(item) else {
                continue;
            };
            if probes.iter().any(|other| is_taken_for(&probe, other)) {
                let entries = item.mapping().unwrap_or_default();
                let place = entries.first().map_or(&item.place, |e| &e.key_place);
                let source = probe.source();
                let message = format!("there is already a probe of {source}");
                self.diagnostics
                    .error("duplicate-probe", place, message)
                    .hint("remove it, or give it its own `name` or `role`");
            }
            probes.push(probe);
        }
        probes
    }

    fn probe(&mut self, node: &Node) -> Option<Probe> {
        if node.text() == Some("host") {
            return Some(Probe {
                kind: ProbeKind::Host,
                role: "host".to_owned(),
                region: String::new(),
                name: None,
                every_ns: 1_000_000_000,
            });
        }
        let table = self.probe_table(node)?;
        let fields = self.fields(node, table, &format!("a `{}` probe", table.verb()))?;
        let value = fields.get(table.verb())?;
        let kind = match table.verb() {
            "host" if value.is_null() => Some(ProbeKind::Host),
            "host" => self.choice(value, &["this"]).map(|_| ProbeKind::Host),
            "process" => self.process(value).map(ProbeKind::Process),
            "cgroup" => self.cgroup(value).map(ProbeKind::Cgroup),
            "redis" => self.server(value, &["redis", "rediss"]).map(ProbeKind::Redis),
            "mysql" => self.server(value, &["mysql"]).map(ProbeKind::Mysql),
            "postgres" => self.server(value, &["postgres", "postgresql"]).map(ProbeKind::Postgres),
            "nginx" => self.page(value, &fields).map(ProbeKind::Nginx),
            _ => self.prometheus(value, &fields),
        };
        let every_ns = self.every(&fields);
        let role = self.label(&fields, "role");
        let region = self.label(&fields, "region").unwrap_or_default();
        let name = self.label(&fields, "name");
        Some(Probe {
            kind: kind?,
            role: role.unwrap_or_else(|| table.verb().to_owned()),
            region,
            name,
            every_ns,
        })
    }

    /// Which kind of probe it is.
    fn probe_table(&mut self, node: &Node) -> Option<&'static Table> {
        let verb = |name: &str| PROBES.iter().find(|table| table.verb() == name);
        let Some(entries) = node.mapping() else {
            self.expected(node, "a probe");
            self.diagnostics.last_hint(EXAMPLE.to_owned());
            return None;
        };
        if let Some(table) = entries.iter().find_map(|entry| verb(&entry.key)) {
            return Some(table);
        }
        let written = entries.first().map_or("", |entry| entry.key.as_str());
        let hint = suggest::hint(written, "the probes are", PROBES.iter().map(Table::verb));
        let place = entries.first().map_or(&node.place, |e| &e.key_place);
        self.diagnostics
            .error("unknown-probe", place, format!("there is no probe `{written}`"))
            .hint_some(hint);
        None
    }

    fn process(&mut self, node: &Node) -> Option<ProcessSpec> {
        if node.mapping().is_none() {
            let words = ["target"];
            return self.choice(node, &words).map(|_| ProcessSpec::Target);
        }
        let fields = self.fields(node, &PROCESS, "`process`")?;
        let given = |key| fields.get(key).is_some();
        let count = ["pid", "name", "port"].into_iter().filter(|key| given(key)).count();
        if count != 1 {
            self.diagnostics
                .error(
                    "bad-process",
                    &node.place,
                    "a process needs exactly one of `pid`, `name` and `port`",
                )
                .hint("write it like `process: { port: 8080 }`");
            return None;
        }
        if let Some(node) = fields.get("pid") {
            let pid = self.count_within(node, 1..=u64::from(u32::MAX))?;
            return Some(ProcessSpec::Pid(pid as u32));
        }
        if let Some(node) = fields.get("port") {
            let port = self.count_within(node, 1..=u64::from(u16::MAX))?;
            return Some(ProcessSpec::Port(port as u16));
        }
        self.label(&fields, "name").map(ProcessSpec::Name)
    }

    /// A path that stays below the hierarchy's root.
    fn cgroup(&mut self, node: &Node) -> Option<String> {
        let word = self.word(node, "a control group's path")?;
        let leaves = word.text.split('/').any(|part| part == "..");
        if leaves || word.text.is_empty() || word.text.contains('\0') {
            self.diagnostics
                .error("bad-cgroup", &word.place, "this is not the path of a control group")
                .hint("write it as in /proc/PID/cgroup: /system.slice/nginx.service");
            return None;
        }
        Some(word.text)
    }

    /// The URL of a server that is queried by its own protocol. What it says is never repeated: it may
    /// come from the environment and hold a password.
    fn server(&mut self, node: &Node, schemes: &[&str]) -> Option<Secret> {
        let url = self.probe_secret(node, "a URL")?;
        let scheme = url.reveal().split_once("://");
        let fits =
            scheme.is_some_and(|(scheme, rest)| schemes.contains(&scheme) && !rest.is_empty());
        if !fits {
            self.diagnostics
                .error("bad-url", &node.place, "this is not a URL of such a server")
                .hint(format!("write it like {}://host:port/", schemes[0]));
            return None;
        }
        Some(url)
    }

    fn page(&mut self, node: &Node, fields: &Fields<'_>) -> Option<Page> {
        let url = self.probe_secret(node, "a URL or a path")?;
        let text = url.reveal();
        let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
        let is_url = rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'));
        let is_plain = text.chars().all(|c| c.is_ascii_graphic());
        if !is_plain || !(is_url || text.starts_with('/')) {
            self.diagnostics
                .error("bad-url", &node.place, "this is neither a URL nor a path")
                .hint("write it like http://host:port/metrics, or /metrics at the target");
            return None;
        }
        let mut headers = Vec::new();
        let entries = fields.get("headers").map(|node| (node, node.mapping()));
        match entries {
            Some((_, Some(entries))) => {
                for entry in entries {
                    let value = self.header(&entry.key, &entry.value)?;
                    headers.push((entry.key.clone(), value));
                }
            }
            Some((node, None)) => self.expected(node, "a mapping of headers"),
            None => {}
        }
        Some(Page { url, headers })
    }

    fn header(&mut self, name: &str, node: &Node) -> Option<Secret> {
        let value = self.word(node, "a header's value")?;
        let is_secret = ["authorization", "cookie", "token", "key", "secret"]
            .iter()
            .any(|word| name.to_ascii_lowercase().contains(word));
        if is_secret && !is_from_environment(node) {
            self.diagnostics
                .error(
                    "secret-in-scenario",
                    &node.place,
                    "this would be stored in every run directory",
                )
                .hint("take it from the environment: \"${env('NAME')}\"");
            return None;
        }
        let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        let fits = !name.is_empty()
            && name.chars().all(is_token)
            && !value.text.chars().any(|c| c.is_control() || !c.is_ascii());
        if !fits {
            self.diagnostics.error("bad-header", &node.place, "this cannot be sent as a header");
            return None;
        }
        Some(Secret::new(value.text))
    }

    fn prometheus(&mut self, node: &Node, fields: &Fields<'_>) -> Option<ProbeKind> {
        let page = self.page(node, fields);
        let nodes = fields.get("metrics").map_or(&[][..], |node| self.one_or_more(node));
        if nodes.len() > METRICS_MAX {
            let message = format!("there are more than {METRICS_MAX} of them");
            self.diagnostics
                .error("too-many-metrics", &nodes[0].place, message)
                .hint("one regular expression can match many names");
        }
        let mut metrics = Vec::new();
        for node in nodes {
            let Some(word) = self.word(node, "a metric's name") else {
                continue;
            };
            if let Err(error) = regex::Regex::new(&word.text) {
                let diagnostics = error.to_string();
                let reason = diagnostics.lines().last().unwrap_or_default().trim().to_owned();
                let message = format!("this regular expression cannot be read: {reason}");
                self.diagnostics.error("bad-regex", &word.place, message);
            }
            metrics.push(word.text);
        }
        Some(ProbeKind::Prometheus { page: page?, metrics })
    }

    fn every(&mut self, fields: &Fields<'_>) -> u64 {
        let code = "bad-duration";
        let what = "a duration";
        let every = fields.get_or_default("every").and_then(|node| {
            self.unit(&node, code, what, |text| {
                let ns = parse::seconds_to_ns(parse::duration(text)?);
                ns.filter(|ns| EVERY_NS.contains(ns)).ok_or_else(|| UnitError {
                    message: format!("`{text}` is out of range"),
                    hint: "write 100ms to 1h".to_owned(),
                })
            })
        });
        every.unwrap_or(1_000_000_000)
    }

    /// A short text for the record.
    fn label(&mut self, fields: &Fields<'_>, key: &str) -> Option<String> {
        let node = fields.get(key)?;
        let word = self.word(node, "a name")?;
        let fits = !word.text.is_empty()
            && word.text.len() <= NAME_BYTES_MAX
            && !word.text.chars().any(char::is_control);
        if !fits {
            self.diagnostics
                .error("bad-name", &word.place, "this cannot be a name")
                .hint(format!("write 1 to {NAME_BYTES_MAX} bytes without line breaks"));
            return None;
        }
        Some(word.text)
    }

    /// Text that may hold a password, which then has to come from the environment: the scenario is
    /// copied into every run directory, and overrides are reported there.
    fn probe_secret(&mut self, node: &Node, what: &str) -> Option<Secret> {
        let word = self.word(node, what)?;
        let secret = Secret::new(word.text);
        if secret.has_password() && !is_from_environment(node) {
            self.diagnostics
                .error(
                    "secret-in-scenario",
                    &node.place,
                    "a password here would be stored in every run directory",
                )
                .hint("take the whole URL from the environment: \"${env('NAME')}\"");
            return None;
        }
        Some(secret)
    }
}

/// True if the record could not distinguish the two. Of one page several probes may keep different
/// metrics.
fn is_taken_for(probe: &Probe, other: &Probe) -> bool {
    let known_as = |probe: &Probe| {
        let role = probe.role.clone();
        let region = probe.region.clone();
        (probe.kind.word(), role, region, probe.source())
    };
    let of_page = |probe: &Probe| match &probe.kind {
        ProbeKind::Prometheus { page, metrics } => Some((page.clone(), metrics.clone())),
        _ => None,
    };
    let are_parts = match (of_page(probe), of_page(other)) {
        (Some((page, metrics)), Some((other_page, others))) => {
            let are_chosen = !metrics.is_empty() && !others.is_empty();
            page == other_page && are_chosen && !metrics.iter().any(|m| others.contains(m))
        }
        _ => false,
    };
    known_as(probe) == known_as(other) && !are_parts
}

/// True if the text refers to an environment variable itself.
fn is_from_environment(node: &Node) -> bool {
    let text = node.text().unwrap_or_default();
    text.contains("${") && text.contains("env(")
}
