//! Services: packages and commands, when they are ready, and how they end.

use scenario::document::node::{Entry, Node, Place};
use scenario::document::reader::Map;
use scenario::document::suggest;

use super::read::LabReader;
use super::{Host, Package, Program, Ready, SERVICES_MAX, Service, Template, Variable};

/// The keys of a service; the first must be there.
pub(super) const KEYS: &[&str] = &[
    "on",
    "package",
    "run",
    "options",
    "replica_of",
    "port",
    "ready",
    "environment",
    "files",
    "restart",
    "stop",
];

/// Packages, and how they are written.
pub(super) const PACKAGES: [(&str, Package); 5] = [
    ("mariadb", Package::MariaDb),
    ("postgres", Package::Postgres),
    ("redis", Package::Redis),
    ("nats", Package::Nats),
    ("nginx", Package::Nginx),
];

/// Signals that may end a service.
const SIGNALS: [(&str, i32); 4] = [
    ("TERM", libc::SIGTERM),
    ("INT", libc::SIGINT),
    ("QUIT", libc::SIGQUIT),
    ("KILL", libc::SIGKILL),
];

impl LabReader<'_> {
    pub(super) fn services(&mut self, node: &Node, hosts: &[Host]) -> Vec<Service> {
        let mut services: Vec<Service> = Vec::new();
        for entry in self.reader.entries(node, "services by name").unwrap_or_default() {
            if hosts.iter().any(|host| host.name == entry.key) {
                let message = format!("a host is called `{}`, too", entry.key);
                self.reader
                    .diagnostics
                    .error("taken-name", &entry.key_place, message)
                    .hint("both are names in the lab's DNS: give one of them another");
            }
            if let Some(service) = self.service(entry, &services) {
                self.check_port(&service, &services, hosts, &entry.key_place);
                services.push(service);
            }
        }
        if services.len() > SERVICES_MAX {
            let message = format!("a lab has at most {SERVICES_MAX} services");
            self.error("bad-count", &node.place, &message);
        }
        services
    }

    /// A port of a host is of one service: another would find it taken, and seem ready all the same.
    fn check_port(&mut self, service: &Service, before: &[Service], hosts: &[Host], place: &Place) {
        let shares = |other: &&Service| {
            let same_port = other.port.is_some() && other.port == service.port;
            same_port && other.hosts.iter().any(|host| service.hosts.contains(host))
        };
        let Some(other) = before.iter().find(shares) else {
            return;
        };
        let host = other.hosts.iter().find(|host| service.hosts.contains(host));
        let host = host.map_or("", |host| hosts[*host].name.as_str());
        let port = service.port.unwrap_or_default();
        let message = format!("port {port} of `{host}` is taken by the service `{}`", other.name);
        self.reader
            .diagnostics
            .error("taken-port", place, message)
            .hint("give one of them another `port`, or another host");
    }

    fn service(&mut self, entry: &Entry, before: &[Service]) -> Option<Service> {
        let name = self.key_name(entry)?;
        let called = format!("the service `{name}`");
        let map = self.reader.map(&entry.value, &called, KEYS, 1)?;
        let hosts = self.service_hosts(map.get("on")?);
        let program = self.program(&map, &called, before)?;
        let port = match map.get("port") {
            Some(node) => self.port(node),
            None => default_port(&program),
        };
        let ready = self.ready(&map, port, &program);
        let environment = match map.get("environment") {
            Some(node) => self.variables(node, before),
            None => Vec::new(),
        };
        let files = self.templates(map.get("files"), "files by name", before);
        for (file, _) in &files {
            if file.contains('/') || file.starts_with('.') {
                let message =
                    format!("`{file}` is not the name of a file in the service's directory");
                self.error("bad-name", map.place, &message);
            }
        }
        let restarts = map
            .get("restart")
            .and_then(|node| self.reader.word(node, &[("always", true), ("never", false)]));
        let stop_signal = match map.get("stop") {
            Some(node) => self.reader.word(node, &SIGNALS),
            None => None,
        };
        // PostgreSQL ends its sessions at SIGINT and waits for them at SIGTERM.
        let is_postgres = matches!(program, Program::Package { package: Package::Postgres, .. });
        let default_signal = if is_postgres { libc::SIGINT } else { libc::SIGTERM };
        Some(Service {
            name,
            hosts: hosts?,
            program,
            port,
            ready: ready?,
            environment,
            files,
            restarts: restarts.unwrap_or(false),
            stop_signal: stop_signal.unwrap_or(default_signal),
            line: self.line(&entry.key_place),
        })
    }

    /// The hosts of a group.
    fn service_hosts(&mut self, node: &Node) -> Option<Vec<usize>> {
        let text = self.reader.text(node, "the name of hosts")?;
        let found = self.groups.get(text).cloned();
        if found.is_none() {
            let known = self.groups.keys().map(String::as_str);
            let hint = suggest::hint(text, "the hosts are", known);
            self.reader
                .diagnostics
                .error("unknown-host", &node.place, format!("there is no host `{text}`"))
                .hint_some(hint);
        }
        found
    }

    fn program(&mut self, map: &Map<'_>, called: &str, before: &[Service]) -> Option<Program> {
        match (map.get("package"), map.get("run")) {
            (Some(node), None) => {
                let package = self.reader.word(node, &PACKAGES)?;
                let options = match map.get("options") {
                    Some(node) => self.words(node, before),
                    None => Vec::new(),
                };
                let replica_of = match map.get("replica_of") {
                    Some(node) => Some(self.master(node, package, before)?),
                    None => None,
                };
                Some(Program::Package { package, options, replica_of })
            }
            (None, Some(node)) => {
                for key in ["options", "replica_of"] {
                    if let Some(other) = map.get(key) {
                        let message = format!("`{key}` belongs to a `package`");
                        self.error("bad-service", &other.place, &message);
                    }
                }
                let words = self.words(node, before);
                (!words.is_empty()).then_some(Program::Command(words))
            }
            _ => {
                let known = PACKAGES.map(|(name, _)| name).join(", ");
                self.reader
                    .diagnostics
                    .error("bad-service", map.place, format!("{called} is a package or a command"))
                    .hint(format!("write `package: NAME` ({known}), or `run: COMMAND`"));
                None
            }
        }
    }

    fn master(&mut self, node: &Node, package: Package, before: &[Service]) -> Option<usize> {
        let text = self.reader.text(node, "a service")?;
        let is_master = |service: &Service| {
            service.name == text
                && matches!(service.program, Program::Package { package: of, .. } if of == package)
        };
        let found = before.iter().position(is_master);
        let follows = matches!(package, Package::MariaDb | Package::Postgres | Package::Redis);
        if found.is_none() || !follows {
            self.reader
                .diagnostics
                .error("unknown-service", &node.place, format!("`{text}` cannot be followed"))
                .hint("a replica follows a service before it, of the same package: mariadb, postgres or redis");
            return None;
        }
        found
    }

    /// A list of words, or a text that blanks divide.
    fn words(&mut self, node: &Node, before: &[Service]) -> Vec<Template> {
        match node.sequence() {
            Some(items) => {
                let items = items.iter();
                items.filter_map(|item| self.template(item, before)).collect()
            }
            None => {
                let text = self.reader.text(node, "a command").unwrap_or_default();
                let words = text.split_ascii_whitespace();
                let words = words.filter_map(|word| self.parse_template(word, node, before));
                words.collect()
            }
        }
    }

    /// Variables; a value that is a mapping has those of regions, and the `default` of all others.
    fn variables(&mut self, node: &Node, before: &[Service]) -> Vec<Variable> {
        let entries = self.reader.entries(node, "variables by name").unwrap_or_default().iter();
        entries.filter_map(|entry| self.variable(entry, before)).collect()
    }

    fn variable(&mut self, entry: &Entry, before: &[Service]) -> Option<Variable> {
        let name = entry.key.clone();
        let Some(values) = entry.value.mapping() else {
            let value = self.template(&entry.value, before)?;
            return Some(Variable { name, value, in_regions: Vec::new() });
        };
        let mut in_regions = Vec::new();
        let mut default = None;
        for value in values {
            let template = self.template(&value.value, before);
            match value.key.as_str() {
                "default" => default = Some(template),
                _ => in_regions.extend(self.key_region(value).zip(template)),
            }
        }
        if default.is_none() {
            let message = format!("`{name}` has values by region, and no `default` for the others");
            self.error("missing-key", &entry.value.place, &message);
        }
        Some(Variable { name, value: default??, in_regions })
    }

    pub(super) fn templates(
        &mut self,
        node: Option<&Node>,
        called: &str,
        before: &[Service],
    ) -> Vec<(String, Template)> {
        let Some(node) = node else { return Vec::new() };
        let entries = self.reader.entries(node, called).unwrap_or_default().iter();
        let texts = entries
            .filter_map(|entry| Some((entry.key.clone(), self.template(&entry.value, before)?)));
        texts.collect()
    }

    fn port(&mut self, node: &Node) -> Option<u16> {
        let text = self.reader.text(node, "a port")?;
        let port = text.parse().ok().filter(|port| *port > 0);
        if port.is_none() {
            let message = format!("`{text}` is no port: 1 to 65535");
            self.error("bad-number", &node.place, &message);
        }
        port
    }

    /// A path of its port, `port`, or `started`.
    fn ready(&mut self, map: &Map<'_>, port: Option<u16>, program: &Program) -> Option<Ready> {
        let Some(node) = map.get("ready") else {
            return Some(port.map_or(Ready::Started, Ready::Port));
        };
        let text = self.reader.text(node, "a path, `port` or `started`")?;
        match (text, port) {
            ("started", _) if matches!(program, Program::Command(_)) => Some(Ready::Started),
            ("port", Some(port)) => Some(Ready::Port(port)),
            (path, Some(port)) if path.starts_with('/') => Some(Ready::Path(port, path.to_owned())),
            _ => {
                self.reader
                    .diagnostics
                    .error("bad-word", &node.place, format!("`{text}` does not say when it is ready"))
                    .hint("write `port` or a path like /healthz, and the service's `port`; or `started`");
                None
            }
        }
    }
}

/// Default ports of packages; each is alone on its host's address.
fn default_port(program: &Program) -> Option<u16> {
    match program {
        Program::Package { package, .. } => Some(match package {
            Package::MariaDb => 3306,
            Package::Postgres => 5432,
            Package::Redis => 6379,
            Package::Nats => 4222,
            Package::Nginx => 80,
        }),
        Program::Command(_) => None,
    }
}
