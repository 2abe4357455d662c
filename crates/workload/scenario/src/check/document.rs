//! The top level, in the order in which its parts depend on each other.

use crate::keys::{DOCUMENT, TARGET_URL};
use plan::probes::Probe;
use plan::{
    Endpoint, Measure, MeasureId, MeasureKind, Options, Plan, PushedMessage, Session, Tags, Target,
    Via, builtin,
};

use super::fields::{Fields, value_meant};
use super::program::{may_end_without_request, may_fail_in, may_lose_in};
use super::thresholds::Conditions;
use super::unix::folder_of;
use super::{Checker, SystemPart};
use crate::document::node::{Node, NodeKind, Place};
use crate::document::suggest;

/// The systems that Throng itself can start.
const BUILTIN_TARGETS: &[&str] = &["market", "chat", "ads", "queue", "balancer", "worker"];

impl Checker<'_> {
    /// The whole plan; sound where no error was reported.
    pub(super) fn document(&mut self, root: &Node, source_name: &str) -> Option<Plan> {
        if self.is_no_scenario(root) {
            return None;
        }
        // Parameters may stand in everything else, so they come first.
        let params = value_meant(root, &DOCUMENT, "params");
        if let Some(params) = params.filter(|node| !node.is_null()) {
            self.params(params);
        }
        let fields = self.fields(root, &DOCUMENT, "the scenario")?;
        let name = self.name(&fields, source_name);
        let seed = fields.get_or_default("seed");
        let seed = seed.and_then(|node| self.count(&node)).unwrap_or(1);
        self.seed = seed;
        let expects_overload = self.option_choice(&DOCUMENT, &fields, "expect") == 1;
        self.folder = folder_of(source_name).to_owned();
        let target = fields.get("target").and_then(|node| self.target(node));
        let options = self.options_and_calls(&fields);
        self.regions_of(&fields);
        let messages = self.messages_of(&fields);
        self.of_users(&fields);
        let mut populations = self.populations(&fields);
        let (mut sessions, mut once) = self.programs(&fields, &mut populations);
        self.name_measures_by_tags();
        let faults = self.faults(&sessions);
        let redirects = self.redirects_measure(&sessions);
        let arrivals = self.arrivals_of(&fields, &sessions, &populations);
        let recorded = self.recorded(fields.key_place("regions"), &messages);
        let measured = fields.get("sessions").map(|_| &recorded);
        let conditions = fields.get("thresholds").map_or_else(Conditions::default, |node| {
            self.thresholds(node, &arrivals.phases, measured)
        });
        let given = fields.get("until").filter(|node| !node.is_null());
        let until = given.and_then(|node| self.until(node, &arrivals.phases, measured));
        let (probes, scaling) = self.server_side(&fields);
        self.unused_params();
        let planned = arrivals.users_planned();
        let data = self.finish_data(planned);
        let meetings = self.finish_shared(planned, &sessions);
        let all = sessions.iter_mut().chain(once.sessions());
        let secrets = self.finish_secrets(all);
        let proxies = self.lead_through_proxies(target.as_ref());
        let k6 = self.finish_k6();
        Some(Plan {
            name,
            seed,
            expects_overload,
            target: target?,
            endpoints: std::mem::take(&mut self.endpoints),
            proxies,
            servers: std::mem::take(&mut self.servers),
            regions: std::mem::take(&mut self.regions),
            sessions,
            setup: once.setup,
            teardown: once.teardown,
            shared: Vec::new(),
            measures: std::mem::take(&mut self.measures),
            metrics: std::mem::take(&mut self.metrics),
            faults,
            redirects,
            data,
            k6,
            script: self.finish_scripts(),
            included: Vec::new(),
            calls: self.schema.take().unwrap_or_default(),
            meetings,
            messages,
            phases: arrivals.phases,
            populations: arrivals.populations,
            singles: arrivals.singles,
            options,
            thresholds: conditions.thresholds,
            aborts: conditions.aborts,
            until,
            secret_sets: secrets.sets,
            secret_texts: secrets.texts,
            secret_names: secrets.names,
            cookie_sets: secrets.cookie_sets,
            probes,
            scaling,
        })
    }

    /// The name that a scenario has, or that of its file.
    fn name(&mut self, fields: &Fields<'_>, source_name: &str) -> String {
        let name = fields.get("name");
        let name = name.and_then(|node| self.word(node, "a name"));
        name.map_or_else(|| stem(source_name).to_owned(), |word| word.text)
    }

    /// The options, the `.proto` files of the calls, which are made over HTTP/2, and the script.
    fn options_and_calls(&mut self, fields: &Fields<'_>) -> Options {
        let mut options = self.options(fields.get("options"), fields.get("target"));
        if let Some(node) = fields.get("grpc").filter(|node| !node.is_null()) {
            let of = |key| fields.get(key).and_then(|node| node.get("http"));
            self.require_http2(of("options").or_else(|| of("target")), &mut options);
            self.grpc_files(node);
        }
        let written = fields.get("options").and_then(|node| node.get("websockets"));
        self.check_websockets(written, &options);
        let written = fields.get("options").and_then(|node| node.get("http_connections"));
        self.check_connections(written, &options);
        if let Some(node) = fields.get("script").filter(|node| !node.is_null()) {
            self.script_files(node);
        }
        if let Some(node) = fields.get("k6").filter(|node| !node.is_null()) {
            self.k6_script(node);
        }
        options
    }

    /// The probes of the server's side, and its scaling in the lab.
    fn server_side(&mut self, fields: &Fields<'_>) -> (Vec<Probe>, Option<String>) {
        let given = |key| fields.get(key).filter(|node| !node.is_null());
        let probes = given("probes").map_or_else(Vec::new, |node| self.probes(node));
        let scaling = given("scaling").and_then(|node| self.json_of(node));
        (probes, scaling.map(|json| json.to_string()))
    }

    /// A part that others check, with the values of parameters; single values are texts.
    fn json_of(&mut self, node: &Node) -> Option<serde_json::Value> {
        Some(match &node.kind {
            NodeKind::Scalar(_) => self.word(node, "a single value")?.text.into(),
            NodeKind::Sequence(items) => {
                let items: Option<Vec<_>> = items.iter().map(|item| self.json_of(item)).collect();
                items?.into()
            }
            NodeKind::Mapping(entries) => {
                let entries = entries.iter();
                let pairs: Option<serde_json::Map<_, _>> = entries
                    .map(|entry| Some((entry.key.clone(), self.json_of(&entry.value)?)))
                    .collect();
                pairs?.into()
            }
        })
    }

    /// Whether a file is empty or of another kind, which is then reported alone.
    fn is_no_scenario(&mut self, root: &Node) -> bool {
        if root.is_null() {
            self.diagnostics
                .error("empty", &root.place, "the scenario is empty")
                .hint("it needs `target`, `sessions` and `arrivals`");
            return true;
        }
        let experiment = "this is an experiment, not a scenario";
        let hint = "run it with `throng experiment FILE`; with --plan it is only checked";
        self.is_another_file(root, "factors", "sessions", experiment, hint)
    }

    /// Whether a file has the key `others` of another kind of file, and lacks the key `own` of its own kind; that is then
    /// reported alone.
    pub(crate) fn is_another_file(
        &mut self,
        root: &Node,
        others: &str,
        own: &str,
        problem: &str,
        hint: &str,
    ) -> bool {
        let mut entries = root.mapping().unwrap_or_default().iter();
        let Some(entry) = entries.find(|entry| entry.key == others) else {
            return false;
        };
        if root.get(own).is_some() {
            return false;
        }
        self.diagnostics.error("other-file", &entry.key_place, problem).hint(hint);
        true
    }

    /// The measure of steps that cannot be done and are no operations, and of streams that are lost
    /// between steps; made only if there can be any.
    pub(super) fn faults(&mut self, sessions: &[Session]) -> MeasureId {
        let may_fail = |session: &Session| {
            let mut retries = session.retries.iter();
            let has_condition = retries.any(|retry| retry.when.is_some());
            has_condition
                || may_fail_in(&session.ops)
                || may_lose_in(&session.ops)
                || may_end_without_request(session)
        };
        if !sessions.iter().any(may_fail) {
            return builtin::CONNECT;
        }
        self.own_measure(builtin::FAULTS_NAME, MeasureKind::Step)
    }

    /// A measure that the scenario does not name; underscores follow its name where the scenario has another of it.
    pub(super) fn own_measure(&mut self, name: &str, kind: MeasureKind) -> MeasureId {
        let mut name = name.to_owned();
        while self.measures.iter().any(|measure| measure.name == name)
            || self.metric(&name).is_some()
        {
            name.push('_');
        }
        self.measures.push(Measure { name, kind, tags: Tags::new(), shared_name: None });
        super::index(self.measures.len() - 1)
    }

    /// The users' own data, the metrics, and the state that users share.
    fn of_users(&mut self, fields: &Fields<'_>) {
        let given = |key| fields.get(key).filter(|node| !node.is_null());
        if let Some(node) = given("data") {
            self.data(node);
        }
        if let Some(node) = given("metrics") {
            self.metrics(node);
        }
        if let Some(node) = given("shared") {
            self.shared_by_users(node);
        }
    }

    /// The users' regions, before the messages: some of their measures are by region.
    fn regions_of(&mut self, fields: &Fields<'_>) {
        if let Some(node) = fields.get("regions").filter(|node| !node.is_null()) {
            self.regions(node);
        }
    }

    fn messages_of(&mut self, fields: &Fields<'_>) -> Vec<PushedMessage> {
        match fields.get("messages").filter(|node| !node.is_null()) {
            Some(node) => self.messages(node),
            None => Vec::new(),
        }
    }

    /// The system under load; the first endpoint is made for it.
    fn target(&mut self, node: &Node) -> Option<Target> {
        let Some(entries) = node.mapping() else {
            return self.short_target(node);
        };
        if ["url", "tls", "http", "servers", "proxy", "no_proxy"]
            .iter()
            .any(|key| node.get(key).is_some())
        {
            let fields = self.fields(node, &TARGET_URL, "`target`")?;
            return match (fields.get("url"), fields.get("servers")) {
                (Some(node), None) => self.short_target(node),
                (None, Some(node)) => self.servers(node),
                _ => {
                    self.diagnostics
                        .error(
                            "missing-key",
                            fields.place(),
                            "`target` needs either `url` or `servers`",
                        )
                        .hint("write `url: http://127.0.0.1:8080/`");
                    None
                }
            };
        }
        let [entry] = entries else {
            self.expected(node, "a URL, the name of a built-in system, or `{ url: … }`");
            return None;
        };
        let mut args = Vec::new();
        let mut places = Vec::new();
        let settings = if entry.value.is_null() { Some(&[][..]) } else { entry.value.mapping() };
        match settings {
            Some(entries) => {
                for entry in entries {
                    if let Some(word) = self.word(&entry.value, "a single value") {
                        self.note_setting(&entry.value, &word.text);
                        args.push((entry.key.clone(), word.text));
                        places.push((&entry.key_place, word.place));
                    }
                }
            }
            None => self.expected(&entry.value, "a mapping of the system's settings"),
        }
        if BUILTIN_TARGETS.contains(&entry.key.as_str()) {
            for problem in (self.check_system)(&entry.key, &args) {
                let place = match problem.about {
                    SystemPart::Key(number) => places[number].0,
                    SystemPart::Value(number) => &places[number].1,
                    SystemPart::Together => &entry.key_place,
                };
                self.diagnostics
                    .error("bad-setting", place, problem.message)
                    .hint_some(problem.hint);
            }
        }
        self.builtin(&entry.key, &entry.key_place, args)
    }

    fn short_target(&mut self, node: &Node) -> Option<Target> {
        let word = self.word(node, "a URL or the name of a built-in system")?;
        if !word.text.contains([':', '/', '.']) {
            return self.builtin(&word.text, &word.place, Vec::new());
        }
        let endpoint = self.target_url(&word.text, &word.place)?;
        self.endpoints.push(endpoint);
        Some(Target::Url(word.text))
    }

    fn builtin(
        &mut self,
        name: &str,
        place: &Place,
        args: Vec<(String, String)>,
    ) -> Option<Target> {
        if !BUILTIN_TARGETS.contains(&name) {
            let hint = match suggest::nearest(name, BUILTIN_TARGETS.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => {
                    let names: Vec<String> =
                        BUILTIN_TARGETS.iter().map(|n| format!("`{n}`")).collect();
                    format!("write {}, or a URL like http://{name}/", names.join(", "))
                }
            };
            self.diagnostics
                .error("unknown-target", place, format!("there is no built-in system `{name}`"))
                .hint(hint);
            return None;
        }
        self.endpoints.push(Endpoint {
            // The flag of `throng serve` that gives a system its certificate.
            tls: args.iter().any(|(key, _)| key == "tls-cert"),
            host: String::new(),
            port: 0,
            base_path: String::new(),
            via: Via::Tcp,
        });
        Some(Target::Builtin { name: name.to_owned(), args })
    }
}

/// A file's name without its directory and ending.
pub(crate) fn stem(name: &str) -> &str {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let stem = file.strip_suffix(".yaml").or_else(|| file.strip_suffix(".yml")).unwrap_or(file);
    if stem.is_empty() { "scenario" } else { stem }
}
