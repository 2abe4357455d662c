//! What applies to samplers: configuration, timers, processors and assertions of the levels around them.

use std::ops::Range;

use roxmltree::Node;

use super::Importer;
use super::functions::{Form, Part, parts};
use super::properties::{flag, items, kind, label, opening, place, text};
use crate::request::{Field, Header, basic};
use crate::writer::{Item, Map};

/// Defaults of HTTP requests.
#[derive(Debug, Clone, Default)]
pub(super) struct Defaults {
    pub(super) protocol: String,
    pub(super) domain: String,
    pub(super) port: String,
    pub(super) path: String,
    pub(super) timeout_ms: String,
}

/// Elements that apply to the samplers of a level and below.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope<'d, 'i> {
    pub(super) defaults: Defaults,
    /// Parameters of all requests, behind their own.
    pub(super) arguments: Vec<Node<'d, 'i>>,
    pub(super) headers: Vec<Header>,
    pub(super) cookies: Vec<Field>,
    pub(super) auth: Option<Item>,
    /// Pauses before each sampler.
    pub(super) timers: Vec<Node<'d, 'i>>,
    /// Extractors and assertions, those of outer levels first.
    pub(super) after: Vec<Node<'d, 'i>>,
    /// Lines of scripts that run before or after each sampler.
    pub(super) scripts: Vec<String>,
}

/// What a level does once for each of its rounds.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    pub(super) steps: Vec<Map>,
}

impl<'d, 'i: 'd> Importer<'_> {
    /// The scope within a tree: that around it, and what stands in it.
    pub(super) fn scope(
        &mut self,
        tree: Node<'d, 'i>,
        around: &Scope<'d, 'i>,
        rounds: &mut Rounds,
    ) -> Scope<'d, 'i> {
        let mut scope = around.clone();
        for (node, _) in super::properties::children(tree) {
            let at = opening(node);
            match kind(node) {
                "HeaderManager" => self.header_manager(node, &mut scope),
                "ConfigTestElement" => {
                    let is_http =
                        node.attribute("guiclass").is_some_and(|gui| gui.contains("Http"))
                            || !text(node, "HTTPSampler.domain").is_empty();
                    if is_http {
                        self.http_defaults(node, &mut scope);
                    } else {
                        let message =
                            format!("the defaults `{}` are not carried over", label(node));
                        self.diagnostics.lost(at, message);
                    }
                }
                "CookieManager" => {
                    self.has_jar = true;
                    for cookie in items(node, "CookieManager.cookies") {
                        let name = cookie.attribute("name").unwrap_or_default().to_owned();
                        let value = self.template(text(cookie, "Cookie.value"), Form::Plain, &at);
                        scope.cookies.push(Field { name, value });
                    }
                }
                "CacheManager" => {
                    let message = "users have no cache: each request is sent";
                    self.diagnostics.differs("cache", at, message);
                }
                "AuthManager" => self.auth_manager(node, &mut scope),
                "Arguments" => {}
                "CSVDataSet" => self.csv(node, rounds),
                "CounterConfig" => self.counter(node, rounds),
                "RandomVariableConfig" => self.random_variable(node, rounds),
                "DNSCacheManager" | "KeystoreConfig" => {
                    let message = format!("`{}` belongs to the whole run", label(node));
                    let hint = "write `options`: dns, tls";
                    self.diagnostics.ignored(at, message).hint(hint);
                }
                "ConstantTimer"
                | "UniformRandomTimer"
                | "GaussianRandomTimer"
                | "PoissonRandomTimer"
                | "SyncTimer" => scope.timers.push(node),
                "RegexExtractor" | "JSONPostProcessor" | "BoundaryExtractor" | "HtmlExtractor"
                | "JMESPathExtractor" | "ResponseAssertion" | "JSONPathAssertion"
                | "DurationAssertion" | "XPathExtractor" | "XPath2Extractor" | "XPathAssertion" => {
                    scope.after.push(node);
                }
                "JSR223PreProcessor"
                | "BeanShellPreProcessor"
                | "JSR223PostProcessor"
                | "BeanShellPostProcessor"
                | "JSR223Assertion"
                | "BeanShellAssertion" => {
                    let lines = self.script(node);
                    scope.scripts.extend(lines);
                }
                _ => {}
            }
        }
        scope
    }

    fn header_manager(&mut self, node: Node<'d, 'i>, scope: &mut Scope<'d, 'i>) {
        for header in items(node, "HeaderManager.headers") {
            let at = opening(header);
            let name = text(header, "Header.name").to_owned();
            if name.trim().is_empty() {
                continue;
            }
            let value = self.template(text(header, "Header.value"), Form::Plain, &at);
            // The nearest manager has the last word.
            scope.headers.retain(|known| !known.name.trim().eq_ignore_ascii_case(name.trim()));
            scope.headers.push(Header { name, value, at });
        }
    }

    fn http_defaults(&mut self, node: Node<'d, 'i>, scope: &mut Scope<'d, 'i>) {
        let own = |name: &str, inherited: &str| match text(node, name).trim() {
            "" => inherited.to_owned(),
            own => own.to_owned(),
        };
        let around = &scope.defaults;
        scope.defaults = Defaults {
            protocol: own("HTTPSampler.protocol", &around.protocol),
            domain: own("HTTPSampler.domain", &around.domain),
            port: own("HTTPSampler.port", &around.port),
            path: own("HTTPSampler.path", &around.path),
            timeout_ms: own("HTTPSampler.response_timeout", &around.timeout_ms),
        };
        let arguments = super::properties::arguments(node, "HTTPsampler.Arguments");
        let names = ["protocol", "domain", "port", "path", "response_timeout"];
        let is_empty = |name| text(node, &format!("HTTPSampler.{name}")).trim().is_empty();
        if arguments.is_empty() && names.into_iter().all(is_empty) {
            let message =
                format!("the defaults `{}` are empty: they change no request", label(node));
            self.diagnostics.ignored(opening(node), message);
        }
        scope.arguments.extend(arguments);
        self.embedded(node);
    }

    fn auth_manager(&mut self, node: Node<'d, 'i>, scope: &mut Scope<'d, 'i>) {
        let entries = items(node, "AuthManager.auth_list");
        if entries.len() > 1 {
            let message = "the first of several credentials is sent, to all hosts".to_owned();
            self.diagnostics.ignored(opening(node), message);
        }
        let Some(entry) = entries.first() else { return };
        let at = opening(*entry);
        let kind = match text(*entry, "Authorization.mechanism") {
            "" | "BASIC" | "BASIC_DIGEST" => "basic",
            "DIGEST" => "digest",
            mechanism => {
                let message = format!("the authorization `{mechanism}` is not carried over");
                self.diagnostics.lost(at, message);
                return;
            }
        };
        let user = self.template(text(*entry, "Authorization.username"), Form::Plain, &at);
        let password = self.template(text(*entry, "Authorization.password"), Form::Plain, &at);
        scope.auth = Some(basic(kind, &user, &password, &at, &mut self.secrets));
    }

    /// A file of users' data, of which each round takes a row.
    fn csv(&mut self, node: Node<'d, 'i>, rounds: &mut Rounds) {
        let at = opening(node);
        let file = self.filled(text(node, "filename"), 0);
        let read = match parts(&file).iter().any(|part| matches!(part, Part::Reference(_))) {
            true => Err("its name is not known".to_owned()),
            false => (self.files)(&file),
        };
        let content = match read {
            Ok(content) => content,
            Err(reason) => {
                let message = format!("the data file `{file}` cannot be read: {reason}");
                let hint = "put it beside the test plan";
                self.diagnostics.lost(place(node, "filename"), message).hint(hint);
                self.note_columns(node);
                return;
            }
        };
        let delimiter = match text(node, "delimiter") {
            "" | "," => None,
            "\\t" | "\t" => Some("tab".to_owned()),
            other => Some(other.to_owned()),
        };
        let separator = match delimiter.as_deref() {
            None => ",",
            Some("tab") => "\t",
            Some(other) => other,
        };
        let names: Vec<&str> = text(node, "variableNames").split(',').map(str::trim).collect();
        let has_names = names.iter().any(|name| !name.is_empty());
        let header: Vec<String> = content
            .trim_start_matches('\u{feff}')
            .lines()
            .next()
            .unwrap_or_default()
            .split(separator)
            .map(|name| name.trim().trim_matches('"').to_owned())
            .collect();
        let has_header = !has_names || flag(node, "ignoreFirstLine");
        let entry = self.data_names.unused(file.rsplit(['/', '\\']).next().unwrap_or("data"));
        let mut data = Map::new(at.clone()).with("file", Item::Text(file.clone()));
        if let Some(delimiter) = delimiter {
            data.put("separator", Item::Text(delimiter));
        }
        // Columns of the file, and the variables that get them.
        let mut feed = Map::new(at.clone());
        let originals: Vec<String> = match has_names {
            true => names.iter().map(|name| (*name).to_owned()).collect(),
            false => header.clone(),
        };
        let columns: Vec<String> = match has_header {
            true => header,
            false => (1..=header.len()).map(|number| format!("column_{number}")).collect(),
        };
        if !has_header {
            let lines = columns.iter().map(|name| crate::writer::Line::new(name.clone()));
            data.put("columns", Item::Lines(lines.collect()));
        }
        for (original, column) in originals.iter().zip(&columns) {
            if !original.is_empty() {
                self.variables.set_by_element(original);
                let own = self.variables.of_user(original);
                feed.put(&own, Item::Text(column.clone()));
            }
        }
        let end = match (text(node, "recycle"), text(node, "stopThread")) {
            ("false", "true") => "stop",
            ("false", _) => "error",
            _ => "wrap",
        };
        data.put("end", Item::Text(end.to_owned()));
        let message = "user n begins with line n; in JMeter the next thread takes the next line";
        self.diagnostics.differs("rows", at.clone(), message);
        self.data.put(&entry, Item::Map(data));
        let step = Map::single(at, "feed", Item::Text(entry)).with("as", Item::Map(feed));
        rounds.steps.push(step);
    }

    /// Variables of a file that is not there, so that reading them is not reported as well.
    fn note_columns(&mut self, node: Node<'d, 'i>) {
        for name in text(node, "variableNames").split(',').map(str::trim) {
            if !name.is_empty() {
                self.variables.of_user(name);
            }
        }
    }

    fn counter(&mut self, node: Node<'d, 'i>, rounds: &mut Rounds) {
        let at = opening(node);
        let name = text(node, "CounterConfig.name").trim().to_owned();
        let start = self.fixed(text(node, "CounterConfig.start")).unwrap_or(0.0);
        let step = self.fixed(text(node, "CounterConfig.incr")).unwrap_or(1.0);
        if name.is_empty() || start.fract() != 0.0 || step.fract() != 0.0 {
            let message = "this counter has no name, or no whole numbers".to_owned();
            self.diagnostics.lost(at, message);
            return;
        }
        if !text(node, "CounterConfig.format").is_empty() {
            let message = "the format of counters is not carried over";
            self.diagnostics.differs(
                "counter-format",
                place(node, "CounterConfig.format"),
                message,
            );
        }
        let own = self.variables.of_user(&name);
        if flag(node, "CounterConfig.per_user") {
            self.variables.declare(&name, &format!("{}", start - step), at.clone());
            let value = Item::Text(format!("${{{own} + {step}}}"));
            let set = Map::single(at.clone(), &own, value);
            rounds.steps.push(Map::single(at, "set", Item::Map(set)));
            return;
        }
        let counter = self.data_names.unused(&name);
        self.counters.put(
            &counter,
            Item::Bare(if step == 1.0 { format!("{start}") } else { "0".to_owned() }),
        );
        let next = Map::single(at.clone(), &own, Item::Text(counter));
        rounds.steps.push(Map::single(at.clone(), "next", Item::Map(next)));
        if step != 1.0 {
            let value = Item::Text(format!("${{{start} + {own} * {step}}}"));
            let set = Map::single(at.clone(), &own, value);
            rounds.steps.push(Map::single(at, "set", Item::Map(set)));
        }
    }

    fn random_variable(&mut self, node: Node<'d, 'i>, rounds: &mut Rounds) {
        let at = opening(node);
        let name = text(node, "variableName").trim().to_owned();
        let low = self.fixed(text(node, "minimumValue"));
        let high = self.fixed(text(node, "maximumValue"));
        let limits = low.zip(high).filter(|(low, high)| low <= high && low.fract() == 0.0);
        let Some((low, high)) = limits.filter(|(_, high)| high.fract() == 0.0) else {
            let message = "the limits of this variable are no whole numbers".to_owned();
            self.diagnostics.lost(at, message);
            return;
        };
        if name.is_empty() {
            return;
        }
        let own = self.variables.of_user(&name);
        let value = Item::Text(format!("${{random({low}, {high})}}"));
        let set = Map::single(at.clone(), &own, value);
        rounds.steps.push(Map::single(at, "set", Item::Map(set)));
    }

    /// The lines of a script, which become a comment.
    pub(super) fn script(&mut self, node: Node<'d, 'i>) -> Vec<String> {
        let at = opening(node);
        let code = ["script", "BeanShellSampler.query", "BeanShellAssertion.query"];
        let code = code.iter().map(|name| text(node, name)).find(|code| !code.trim().is_empty());
        let message =
            format!("what the script `{}` does stands in the scenario as a comment", label(node));
        let hint = "write `set`, `save`, `check` or a step `js` for it: docs/scripts.md";
        self.diagnostics.stand_in(at, message).hint(hint);
        let lines = code.unwrap_or_default().lines().filter(|line| !line.trim().is_empty());
        lines.map(|line| format!("script: {line}")).collect()
    }

    /// Resources of pages, which JMeter can fetch by itself.
    pub(super) fn embedded(&mut self, node: Node<'d, 'i>) {
        for (name, message) in [
            (
                "HTTPSampler.implementation",
                "requests are sent by Throng, whichever client is chosen",
            ),
            (
                "HTTPSampler.connect_timeout",
                "a time limit for connecting alone is not carried over",
            ),
            ("HTTPSampler.proxyHost", "proxies are those of the run: write `options.proxy`"),
        ] {
            if !text(node, name).trim().is_empty() {
                self.diagnostics.differs(name, place(node, name), message);
            }
        }
        if flag(node, "HTTPSampler.image_parser") {
            let message = "the resources of pages are not requested".to_owned();
            let hint = "save their addresses and write `parallel`: docs/scenario.md#branches-at-the-same-time";
            self.diagnostics.lost(place(node, "HTTPSampler.image_parser"), message).hint(hint);
        }
    }

    /// The pauses before a sampler.
    pub(super) fn pauses(&mut self, timers: &[Node<'d, 'i>], steps: &mut Vec<Map>) {
        for timer in timers {
            let timer = *timer;
            let at = opening(timer);
            if kind(timer) == "SyncTimer" {
                self.rendezvous(timer, steps);
                continue;
            }
            let delay_place = place(timer, "ConstantTimer.delay");
            let delay = match text(timer, "ConstantTimer.delay") {
                "" => "0",
                delay => delay,
            };
            let range = match text(timer, "RandomTimer.range") {
                "" => "0",
                range => range,
            };
            let fixed = self.fixed(delay).zip(self.fixed(range));
            let fixed = fixed.filter(|(delay, range)| *delay >= 0.0 && *range >= 0.0);
            let Some((delay_ms, range_ms)) = fixed else {
                self.variable_pause(timer, delay, range, &delay_place, steps);
                continue;
            };
            let ms = |ms: f64| format!("{ms}ms");
            let item = match kind(timer) {
                "UniformRandomTimer" if range_ms > 0.0 => {
                    Item::Bare(format!("{}..{}", ms(delay_ms), ms(delay_ms + range_ms)))
                }
                "GaussianRandomTimer" if range_ms > 0.0 => {
                    let normal = Map::single(at.clone(), "mean", Item::Bare(ms(delay_ms)))
                        .with("sd", Item::Bare(ms(range_ms)));
                    Item::Map(Map::single(at.clone(), "normal", Item::Map(normal)))
                }
                "PoissonRandomTimer" if range_ms > 0.0 => {
                    let message = "a Poisson timer waits for its mean";
                    self.diagnostics.differs("poisson", at.clone(), message);
                    Item::Bare(ms(delay_ms + range_ms))
                }
                _ if delay_ms == 0.0 => continue,
                _ => Item::Bare(ms(delay_ms)),
            };
            steps.push(Map::single(at, "think", item));
        }
    }

    /// A pause whose length a variable says.
    fn variable_pause(
        &mut self,
        timer: Node<'d, 'i>,
        delay: &str,
        range: &str,
        at: &Range<usize>,
        steps: &mut Vec<Map>,
    ) {
        let both = self.number(delay, at).zip(self.number(range, at));
        let seconds = match (kind(timer), both) {
            ("ConstantTimer", Some((delay, _))) => format!("({delay}) / 1000"),
            ("UniformRandomTimer", Some((delay, range))) => {
                format!("(({delay}) + random_float(0, 1) * ({range})) / 1000")
            }
            _ => {
                let message = format!("the pause `{}` is no number", label(timer));
                self.diagnostics.lost(at.clone(), message);
                return;
            }
        };
        steps.push(Map::single(at.clone(), "think_seconds", Item::Text(seconds)));
    }

    fn rendezvous(&mut self, timer: Node<'d, 'i>, steps: &mut Vec<Map>) {
        let at = opening(timer);
        let count = self.fixed(text(timer, "groupSize")).unwrap_or(0.0);
        if !(2.0..=1e6).contains(&count) || count.fract() != 0.0 {
            let message = "a rendezvous needs a number of users, 2 or more".to_owned();
            self.diagnostics.lost(at, message);
            return;
        }
        // The same timer is one rendezvous wherever it applies.
        let name = format!("rendezvous {}", at.start);
        let name = self.data_names.of(&name);
        if self.meetings.get_mut(&name).is_none() {
            self.meetings.put(&name, Item::Bare(format!("{count}")));
        }
        let mut step = Map::single(at, "rendezvous", Item::Text(name));
        let timeout_ms = self.fixed(text(timer, "timeoutInMs")).unwrap_or(0.0);
        let timeout = if timeout_ms > 0.0 { format!("{timeout_ms}ms") } else { "1h".to_owned() };
        step.put("timeout", Item::Bare(timeout));
        steps.push(step);
    }
}
