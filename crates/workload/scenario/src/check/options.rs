//! Run-wide settings and certificates.

use std::net::IpAddr;
use std::ops::RangeInclusive;

use crate::keys::{CODINGS, CONNECT_RETRIES, DNS, HTTP_VERSIONS, NO_CODING, OPTIONS, TLS, Table};
use plan::expr::Template;
use plan::{
    ConnectRetries, Dns, HostAddress, HttpConnections, HttpVersion, Mode, Options, Tls,
    TlsResumption, WebSockets,
};
use units::parse::{self, UnitError};

use super::Checker;
use super::fields::Fields;
use super::program::Program;
use super::sse::STREAM_CODING;
use crate::document::node::{Node, NodeKind, Place};

/// Most source addresses.
const ADDRESSES_MAX: u128 = 65_536;
const LOOPS_MAX: u64 = 1024;
/// Most connections being set up at once: more than there are ports and addresses for.
const CONNECTING_MAX: u64 = 1_000_000_000;
/// Connections of one user to one endpoint: there are no more branches that could use them.
const CONNECTIONS_MAX: u64 = 64;
/// Most resolvers of a region.
const RESOLVERS_MAX: u64 = 256;
/// Most samples of one kind of failures: of 200 kinds, at most 8 KiB each, they take 32 MiB.
const SAMPLES_MAX: u64 = 20;
/// Most further attempts of one connection.
const RETRIES_MAX: u64 = 100;

impl Checker<'_> {
    /// `options`, or all defaults where nothing is written. `target` may have some of them, too.
    pub(super) fn options(&mut self, node: Option<&Node>, target: Option<&Node>) -> Options {
        let empty = Node { place: Place::at(0..0), kind: NodeKind::Mapping(Vec::new()) };
        let node = node.filter(|node| !node.is_null()).unwrap_or(&empty);
        let fields = match self.fields(node, &OPTIONS, "`options`") {
            Some(fields) => fields,
            None => Fields::empty(&OPTIONS),
        };
        if let Some(node) = fields.get("secrets") {
            self.add_secret_names(node);
        }
        self.timeout_ns = self.option_ns(&fields, "timeout");
        self.continue_ns = self.option_ns(&fields, "continue_timeout");
        self.headers = self.headers(fields.get("headers"), &Program::default());
        self.auth = fields.get("auth").and_then(|node| self.auth(node, &Program::default()));
        self.sign = fields.get("sign").and_then(|node| self.sign(node, &Program::default()));
        self.defaults.chooses_cookies = fields.get("cookies").is_some();
        self.defaults.chooses_codings = fields.get("accept_encoding").is_some();
        if let Some(node) = fields.get_or_default("cookies") {
            self.cookies = self.bool(&node).unwrap_or(false);
        }
        self.redirect_options(&fields);
        self.script_limits(&fields);
        self.content_codings(fields.get("accept_encoding"));
        let of_target = |key| target.and_then(|node| node.get(key));
        self.report_twice(&fields, target);
        let of_either = |key| fields.get(key).or(of_target(key));
        self.proxies(of_either("proxy"), of_either("no_proxy"));
        Options {
            connect_timeout_ns: self.option_ns(&fields, "connect_timeout"),
            connect_retries: self.connect_retries(fields.get("connect_retries")),
            connecting_max: fields
                .get("connecting_max")
                .and_then(|node| self.count_within(node, 1..=CONNECTING_MAX)),
            connections_max: fields
                .get_or_default("connections_max")
                .and_then(|node| self.count_within(&node, 1..=CONNECTIONS_MAX))
                .unwrap_or(1) as u32,
            drain_ns: fields
                .get_or_default("drain")
                .and_then(|node| self.duration_or_none_ns(&node))
                .unwrap_or(0),
            source_addresses: self.source_addresses(fields.get("source_addresses")),
            dns: self.dns(fields.get("dns")),
            hosts: self.host_addresses(fields.get("hosts")),
            tls: self.tls(fields.get("tls").or(of_target("tls"))),
            http: self.http_version(&fields, of_target("http")),
            websockets: match self.option_choice(&OPTIONS, &fields, "websockets") {
                1 => WebSockets::Streams,
                _ => WebSockets::Upgrade,
            },
            http_connections: match self.option_choice(&OPTIONS, &fields, "http_connections") {
                1 => HttpConnections::Shared,
                2 => HttpConnections::Session,
                3 => HttpConnections::Request,
                _ => HttpConnections::User,
            },
            response_bytes_max: self.option_bytes(&fields, "response_max"),
            message_bytes_max: self.option_bytes(&fields, "message_max"),
            mode: match self.option_choice(&OPTIONS, &fields, "mode") {
                1 => Mode::Precise,
                2 => Mode::Wide,
                _ => Mode::Auto,
            },
            loops_count: fields.get("loops").and_then(|node| self.loops(node)),
            lag_max_ns: self.option_ns(&fields, "lag_max"),
            samples: fields
                .get_or_default("samples")
                .and_then(|node| self.count_within(&node, 0..=SAMPLES_MAX))
                .unwrap_or(0) as u8,
        }
    }

    fn http_version(&mut self, fields: &Fields<'_>, of_target: Option<&Node>) -> HttpVersion {
        let http = match of_target {
            Some(node) => self.choice(node, HTTP_VERSIONS).unwrap_or(0),
            None => self.option_choice(&OPTIONS, fields, "http"),
        };
        match http {
            1 => HttpVersion::Http2,
            2 => HttpVersion::Auto,
            _ => HttpVersion::Http1,
        }
    }

    /// WebSockets are streams of HTTP/2 alone. `written`: where it is chosen how they are opened.
    pub(super) fn check_websockets(&mut self, written: Option<&Node>, options: &Options) {
        let lacks_http2 =
            options.websockets == WebSockets::Streams && options.http == HttpVersion::Http1;
        if let Some(node) = written.filter(|_| lacks_http2) {
            let message = "WebSockets are streams over HTTP/2 alone";
            let error = self.diagnostics.error("needs-http2", &node.place, message);
            error.hint("write `http: 2` or `http: auto` as well, under `target` or `options`");
        }
    }

    /// Reports what stands in `options` and in `target`.
    fn report_twice(&mut self, fields: &Fields<'_>, target: Option<&Node>) {
        for (key, code) in [
            ("tls", "two-tls"),
            ("http", "two-http"),
            ("proxy", "two-proxies"),
            ("no_proxy", "two-proxies"),
        ] {
            if let (Some(_), Some(place)) =
                (target.and_then(|node| node.get(key)), fields.key_place(key))
            {
                let message = format!("`{key}` is given twice: here and under `target`");
                let error = self.diagnostics.error(code, place, message);
                error.hint("write it once");
            }
        }
    }

    /// What requests accept, and event streams, which cost memory for as long as they are compressed.
    fn content_codings(&mut self, node: Option<&Node>) {
        let mut names: Vec<&str> = match node {
            None => CODINGS.to_vec(),
            Some(node) => {
                let items = self.one_or_more(node);
                let found = items.iter().filter_map(|item| self.choice(item, CODINGS));
                found.map(|at| CODINGS[at]).collect()
            }
        };
        if let Some(node) = node.filter(|_| names.len() > 1 && names.contains(&NO_CODING)) {
            let message = format!("`{NO_CODING}` stands beside codings");
            let error = self.diagnostics.error("two-codings", &node.place, message);
            error.hint(format!("write `accept_encoding: {NO_CODING}`, or the codings alone"));
        }
        names.retain(|name| *name != NO_CODING);
        self.streams_accept_gzip = node.is_some() && names.contains(&STREAM_CODING);
        self.accept_encoding = (!names.is_empty()).then(|| Template::fixed(&names.join(", ")));
    }

    pub(crate) fn option_ns(&mut self, fields: &Fields<'_>, key: &str) -> u64 {
        fields.get_or_default(key).and_then(|node| self.duration_ns(&node)).unwrap_or(0)
    }

    fn option_bytes(&mut self, fields: &Fields<'_>, key: &str) -> usize {
        let code = "bad-size";
        let what = "a size";
        let bytes = fields.get_or_default(key).and_then(|node| {
            self.unit(&node, code, what, |text| match parse::size(text)? {
                bytes @ 1..=0x4000_0000 => Ok(bytes),
                _ => Err(UnitError {
                    message: format!("`{text}` is out of range"),
                    hint: "write more than 0 and at most 1GiB".to_owned(),
                }),
            })
        });
        bytes.map_or(0, |bytes| bytes as usize)
    }

    /// Which of a key's words is written, or its default.
    pub(crate) fn option_choice(&mut self, table: &Table, fields: &Fields<'_>, key: &str) -> usize {
        let words = match table.key(key).map(|key| &key.kind) {
            Some(crate::keys::Kind::Word(words)) => *words,
            _ => &[],
        };
        fields.get_or_default(key).and_then(|node| self.choice(&node, words)).unwrap_or(0)
    }

    fn loops(&mut self, node: &Node) -> Option<u32> {
        self.count_within(node, 1..=LOOPS_MAX).map(|n| n as u32)
    }

    fn connect_retries(&mut self, node: Option<&Node>) -> ConnectRetries {
        let mut retries = ConnectRetries { times: 0, pause_ns: 0 };
        let Some(node) = node else { return retries };
        let Some(fields) = self.fields(node, &CONNECT_RETRIES, "`connect_retries`") else {
            return retries;
        };
        let times = fields.get("times");
        let times = times.and_then(|node| self.count_within(node, 0..=RETRIES_MAX));
        retries.times = times.unwrap_or(0) as u8;
        retries.pause_ns = self.option_ns(&fields, "pause");
        retries
    }

    fn dns(&mut self, node: Option<&Node>) -> Dns {
        let mut dns = Dns { resolvers_count: 1, ignore_ttl: 0.0 };
        let Some(fields) = node.and_then(|node| self.fields(node, &DNS, "`dns`")) else {
            return dns;
        };
        let resolvers = fields.get("resolvers");
        let resolvers = resolvers.and_then(|node| self.count_within(node, 1..=RESOLVERS_MAX));
        dns.resolvers_count = resolvers.unwrap_or(1) as u32;
        let ignoring = fields.get("ignore_ttl").and_then(|node| self.share_within(node));
        dns.ignore_ttl = ignoring.unwrap_or(0.0);
        dns
    }

    /// Names of hosts, each with an address.
    fn host_addresses(&mut self, node: Option<&Node>) -> Vec<HostAddress> {
        let entries = node.and_then(Node::mapping).unwrap_or_default();
        let mut hosts = Vec::new();
        for entry in entries {
            let address = self.word(&entry.value, "an address").map(|word| word.text);
            let Some(address) = address else {
                continue;
            };
            match HostAddress::parse(&entry.key, &address) {
                Some(host) => hosts.push(host),
                None => {
                    let message = format!("`{}: {address}` is no host with an address", entry.key);
                    self.diagnostics
                        .error("bad-host", &entry.key_place, message)
                        .hint("write `shop.test: 10.0.0.5`, or `shop.test:443: 10.0.0.5:8443`");
                }
            }
        }
        hosts
    }

    /// One connection for each request is one of HTTP/1.1.
    pub(super) fn check_connections(&mut self, written: Option<&Node>, options: &Options) {
        if let Some(node) = written
            && options.http_connections == HttpConnections::Request
            && options.http != HttpVersion::Http1
        {
            self.diagnostics
                .error(
                    "bad-http",
                    &node.place,
                    "`request` needs HTTP/1.1: a connection of HTTP/2 has many requests",
                )
                .hint("write `http: 1.1`, or `http_connections: session`");
        }
    }

    /// A percentage of at most 100.
    pub(super) fn share_within(&mut self, node: &Node) -> Option<f64> {
        self.unit(node, "bad-share", "a percentage", |text| match parse::share(text)? {
            share @ 0.0..=1.0 => Ok(share),
            _ => Err(UnitError {
                message: format!("`{text}` is out of range"),
                hint: "write 0% to 100%".to_owned(),
            }),
        })
    }

    pub(crate) fn count_within(&mut self, node: &Node, range: RangeInclusive<u64>) -> Option<u64> {
        let code = "bad-count";
        let what = "a whole number";
        self.unit(node, code, what, |text| match parse::count(text)? {
            count if range.contains(&count) => Ok(count),
            _ => Err(UnitError {
                message: format!("`{text}` is out of range"),
                hint: format!("write {} to {}", range.start(), range.end()),
            }),
        })
    }

    fn tls(&mut self, node: Option<&Node>) -> Tls {
        let mut tls = Tls {
            verify: true,
            ca_files: Vec::new(),
            identity_files: None,
            server_name: None,
            resumption: TlsResumption::Own,
        };
        let Some(fields) = node.and_then(|node| self.fields(node, &TLS, "`tls`")) else {
            return tls;
        };
        tls.verify = fields.get("verify").and_then(|node| self.bool(node)).unwrap_or(true);
        let files = fields.get("ca").map_or(&[][..], |node| self.one_or_more(node));
        let files = files.iter().filter_map(|node| self.word(node, "a file's name"));
        tls.ca_files = files.map(|word| word.text).collect();
        tls.identity_files = self.identity(&fields);
        let name = fields.get("server_name").and_then(|node| self.word(node, "a host's name"));
        tls.server_name = name.map(|word| word.text);
        tls.resumption = match self.option_choice(&TLS, &fields, "resumption") {
            1 => TlsResumption::Shared,
            2 => TlsResumption::Off,
            _ => TlsResumption::Own,
        };
        tls
    }

    /// The files of the users' certificate and key: both or none.
    fn identity(&mut self, fields: &Fields<'_>) -> Option<(String, String)> {
        let mut file = |name: &str| {
            let word = self.word(fields.get(name)?, "a file's name")?;
            Some(word.text)
        };
        if let (Some(certificate), Some(key)) = (file("cert"), file("key")) {
            return Some((certificate, key));
        }
        for (given, missing) in [("cert", "key"), ("key", "cert")] {
            if let (Some(place), None) = (fields.key_place(given), fields.get(missing)) {
                self.diagnostics
                    .error(
                        "half-identity",
                        place,
                        format!("`{given}` needs `{missing}`"),
                    )
                    .hint("`cert` is a PEM file with the users' certificate, `key` one with its private key");
            }
        }
        None
    }

    fn source_addresses(&mut self, node: Option<&Node>) -> Vec<IpAddr> {
        let Some(node) = node else { return Vec::new() };
        let mut addresses = Vec::new();
        for item in self.one_or_more(node) {
            let code = "bad-address";
            let what = "an address, range or network";
            let range = self.unit(item, code, what, |text| {
                address_range(text).ok_or_else(|| UnitError {
                    message: format!("`{text}` is not an address, range or network"),
                    hint: "write 10.0.0.5, 10.0.0.5..10.0.0.9 or 10.0.0.0/24".to_owned(),
                })
            });
            let Some(range) = range else { continue };
            if range.count() + addresses.len() as u128 > ADDRESSES_MAX {
                let message = format!("more than {ADDRESSES_MAX} source addresses");
                self.diagnostics
                    .error("bad-address", &item.place, message)
                    .hint("use a smaller network");
                break;
            }
            addresses.extend(range.addresses());
        }
        addresses
    }
}

/// An inclusive range of addresses as numbers.
struct AddressRange {
    low: u128,
    high: u128,
    is_v4: bool,
}

impl AddressRange {
    fn count(&self) -> u128 {
        (self.high - self.low).saturating_add(1)
    }

    fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        let is_v4 = self.is_v4;
        (self.low..=self.high).map(move |number| match (is_v4, u32::try_from(number)) {
            (true, Ok(number)) => IpAddr::V4(number.into()),
            _ => IpAddr::V6(number.into()),
        })
    }
}

fn address_range(text: &str) -> Option<AddressRange> {
    let number = |text: &str| match text.trim().parse().ok()? {
        IpAddr::V4(address) => Some((u128::from(u32::from(address)), true)),
        IpAddr::V6(address) => Some((u128::from(address), false)),
    };
    if let Some((low, high)) = text.split_once("..") {
        let ((low, is_v4), (high, same)) = (number(low)?, number(high)?);
        return (is_v4 == same && low <= high).then_some(AddressRange { low, high, is_v4 });
    }
    let Some((base, prefix)) = text.split_once('/') else {
        return number(text).map(|(low, is_v4)| AddressRange { low, high: low, is_v4 });
    };
    let (base, is_v4) = number(base)?;
    let width = if is_v4 { 32 } else { 128 };
    let prefix: u32 = prefix.parse().ok().filter(|&prefix| prefix <= width)?;
    let hosts = 1u128.checked_shl(width - prefix).map_or(u128::MAX, |count| count - 1);
    let low = base & !hosts;
    let high = base | hosts;
    // A network's first and last IPv4 address are its own and the broadcast's.
    let edge = u128::from(is_v4 && prefix < 31);
    Some(AddressRange { low: low + edge, high: high - edge, is_v4 })
}
