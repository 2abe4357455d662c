//! Test plans of JMeter (5.6), as scenarios.
//!
//! Thread groups become sessions with arrivals (`groups`), samplers steps (`samplers`), controllers the steps around them
//! (`controllers`). What applies to a sampler from the levels around it is its `scope`: headers, defaults, timers,
//! extractors and assertions (`after`). Variables with a fixed value become parameters, others belong to the user
//! (`variables`), and functions become expressions (`functions`). What cannot be said is named with its line.

mod after;
mod controllers;
mod functions;
mod groups;
mod properties;
mod samplers;
mod scope;
mod variables;

use groups::Load;
use properties::{children, flag, kind, opening};
use roxmltree::{Document, Node};
use scenario::document::{Diagnostic, Source};
use scope::{Rounds, Scope};
use variables::Variables;

use crate::diagnostics::Diagnostics;
use crate::draft::{Draft, Files, file_name, head, stem, thresholds};
use crate::names::Names;
use crate::secrets::Secrets;
use crate::writer::{Item, Map};
use crate::{Conversion, Leniency, xml};

/// The kinds of thread groups.
const GROUPS: [&str; 6] = [
    "ThreadGroup",
    "OpenModelThreadGroup",
    "com.blazemeter.jmeter.threads.arrivals.ArrivalsThreadGroup",
    "com.blazemeter.jmeter.threads.concurrency.ConcurrencyThreadGroup",
    "kg.apc.jmeter.threads.SteppingThreadGroup",
    "kg.apc.jmeter.threads.UltimateThreadGroup",
];

/// Settings of a conversion.
#[derive(Clone, Copy)]
pub struct Settings<'a> {
    pub leniency: Leniency,
    /// Texts of files that the plan names, or why they cannot be read.
    pub files: &'a dyn Fn(&str) -> Result<String, String>,
}

/// Makes a scenario of a test plan. There is one exactly where no diagnostic is an error.
pub fn convert(
    source: Source<'_>,
    settings: &Settings<'_>,
) -> (Option<Conversion>, Vec<Diagnostic>) {
    let mut importer = Importer {
        diagnostics: Diagnostics::new(source.text, settings.leniency),
        files: settings.files,
        secrets: Secrets::default(),
        variables: Variables::default(),
        data_names: Names::default(),
        data: Map::default(),
        counters: Map::default(),
        meetings: Map::default(),
        lists: Vec::new(),
        once: Vec::new(),
        shapers: Vec::new(),
        scripts: Vec::new(),
        target: None,
        has_jar: false,
        is_open: false,
        needs_begin: false,
    };
    let converted = xml::parse(source.text, &mut importer.diagnostics)
        .and_then(|document| importer.convert(&document, source.name));
    let converted = converted.filter(|_| !importer.diagnostics.has_errors());
    (converted, importer.diagnostics.collector.finish())
}

/// State of an import.
struct Importer<'a> {
    diagnostics: Diagnostics<'a>,
    files: Files<'a>,
    secrets: Secrets,
    variables: Variables,
    /// Names of data, counters and rendezvous.
    data_names: Names,
    data: Map,
    counters: Map,
    meetings: Map,
    /// Variables that hold lists, which extractors of all matches save.
    lists: Vec<String>,
    /// Variables that say whether something was done once.
    once: Vec<String>,
    /// Places of timers that became arrivals.
    shapers: Vec<usize>,
    /// Lines of scripts that stand above the next step.
    scripts: Vec<String>,
    /// Where the first request goes.
    target: Option<String>,
    has_jar: bool,
    /// A WebSocket is open.
    is_open: bool,
    /// Sessions end at times of the run.
    needs_begin: bool,
}

/// A thread group on its way to a session.
struct Group<'d, 'i> {
    node: Node<'d, 'i>,
    name: String,
    load: Load,
    rounds: Rounds,
    steps: Vec<Map>,
    /// Variables of controllers that do something once.
    once: Vec<String>,
}

impl Importer<'_> {
    fn convert(&mut self, document: &Document<'_>, name: &str) -> Option<Conversion> {
        let root = document.root_element();
        if root.tag_name().name() != "jmeterTestPlan" {
            let message = format!("the document is a `{}`", root.tag_name().name());
            let hint = "JMeter's files begin with `<jmeterTestPlan>`";
            self.diagnostics.error("bad-document", opening(root), message).hint(hint);
            return None;
        }
        self.find_variables(root);
        let tree = root.children().find(|node| node.tag_name().name() == "hashTree")?;
        let plan = children(tree).find(|(node, _)| kind(*node) == "TestPlan");
        let Some((plan, Some(below))) = plan else {
            let message = "the file has no test plan".to_owned();
            self.diagnostics.error("bad-document", opening(root), message);
            return None;
        };
        if flag(plan, "TestPlan.serialize_threadgroups") {
            let message = "thread groups run at the same time, not one after the other";
            self.diagnostics.differs("serialize", opening(plan), message);
        }
        let mut plan_rounds = Rounds::default();
        let scope = self.scope(below, &Scope::default(), &mut plan_rounds);
        let mut groups = Vec::new();
        let mut setup = Vec::new();
        let mut teardown = Vec::new();
        for (node, tree) in children(below) {
            match kind(node) {
                kind if GROUPS.contains(&kind) => {
                    groups.extend(self.group(node, tree, &scope, &plan_rounds));
                }
                "SetupThreadGroup" => {
                    setup.extend(self.once_group(node, tree, &scope, "setup "));
                }
                "PostThreadGroup" => {
                    teardown.extend(self.once_group(node, tree, &scope, "teardown "));
                }
                _ => {}
            }
        }
        let is_group = |kind: &str| {
            GROUPS.contains(&kind) || matches!(kind, "SetupThreadGroup" | "PostThreadGroup")
        };
        for (node, _) in children(below).filter(|(node, _)| !is_group(kind(*node))) {
            self.element(node, None, &scope, &mut plan_rounds, &mut Vec::new());
        }
        for (node, _) in children(tree).filter(|(node, _)| kind(*node) != "TestPlan") {
            let message =
                format!("`{}` stands beside the test plan: it is not run", properties::label(node));
            self.diagnostics.ignored(opening(node), message);
        }
        self.finish(name, groups, setup, teardown)
    }

    fn group<'d, 'i: 'd>(
        &mut self,
        node: Node<'d, 'i>,
        tree: Option<Node<'d, 'i>>,
        scope: &Scope<'d, 'i>,
        plan_rounds: &Rounds,
    ) -> Option<Group<'d, 'i>> {
        let load = self.load(node, tree)?;
        let mut rounds = Rounds { steps: plan_rounds.steps.clone() };
        self.is_open = false;
        let steps = self.steps(tree, scope, &mut rounds);
        let once = std::mem::take(&mut self.once);
        if steps.is_empty() {
            let message = format!("the group `{}` sends nothing", properties::label(node));
            self.diagnostics.ignored(opening(node), message);
            return None;
        }
        Some(Group { node, name: groups::session_name(node), load, rounds, steps, once })
    }

    /// The steps of a group that runs before or after the others.
    fn once_group<'d, 'i: 'd>(
        &mut self,
        node: Node<'d, 'i>,
        tree: Option<Node<'d, 'i>>,
        scope: &Scope<'d, 'i>,
        prefix: &'static str,
    ) -> Vec<Map> {
        let others = self.variables.enter(prefix);
        let threads = self.fixed(properties::text(node, "ThreadGroup.num_threads"));
        if threads.is_some_and(|threads| threads > 1.0) {
            let message = "the steps before and after a run are done once, by one user".to_owned();
            self.diagnostics.ignored(opening(node), message);
        }
        let mut rounds = Rounds::default();
        let mut steps = self.steps(tree, scope, &mut rounds);
        for once in std::mem::take(&mut self.once) {
            steps.insert(0, zero(&once));
        }
        if let Some(first) = self.first_values().filter(|_| !steps.is_empty()) {
            steps.insert(0, first);
        }
        self.variables.leave(others);
        steps
    }

    fn finish(
        &mut self,
        name: &str,
        groups: Vec<Group<'_, '_>>,
        setup: Vec<Map>,
        teardown: Vec<Map>,
    ) -> Option<Conversion> {
        let Some(target) = self.target.clone().filter(|_| !groups.is_empty()) else {
            let message = "the plan has no thread group with a request".to_owned();
            self.diagnostics.error("empty", 0..0, message);
            return None;
        };
        let loads: Vec<(String, Load)> =
            groups.iter().map(|group| (group.name.clone(), group.load.clone())).collect();
        let mut names = Vec::new();
        let mut loads = loads;
        for (name, _) in &mut loads {
            let mut free = name.clone();
            let mut count = 1;
            while names.contains(&free) {
                count += 1;
                free = format!("{name} {count}");
            }
            names.push(free.clone());
            *name = free;
        }
        let one_end = groups::have_one_end(&loads);
        let arrivals = groups::arrivals(&loads, one_end);
        let first = self.first_values();
        let unread = self.variables.unread();
        if let Some((_, at)) = unread.first() {
            let names: Vec<&str> = unread.iter().map(|(name, _)| *name).collect();
            let message =
                format!("variables that no step reads are left out: {}", names.join(", "));
            self.diagnostics.ignored(at.clone(), message);
        }
        let mut sessions = Map::new(0..0);
        for (group, (name, load)) in groups.into_iter().zip(&loads) {
            let Group { node, rounds, steps, once, .. } = group;
            let mut program: Vec<Map> = first.iter().cloned().collect();
            program.extend(once.iter().map(|name| zero(name)));
            program.extend(self.repeated(load, rounds.steps, steps, one_end));
            let body = Map::new(opening(node)).with("steps", Item::List(program));
            sessions.put(name, Item::Map(body));
        }
        let mut top = head(stem(name), &target, &(0..0));
        if let Some(params) = self.variables.params() {
            top.put("params", Item::Map(params));
        }
        // JMeter keeps cookies where there is a manager for them, and accepts the codings that headers name.
        let options = Map::single(0..0, "cookies", Item::Bare(self.has_jar.to_string()))
            .with("accept_encoding", Item::Bare("none".to_owned()));
        top.put("options", Item::Map(options));
        if !self.data.entries.is_empty() {
            top.put("data", Item::Map(std::mem::take(&mut self.data)));
        }
        let mut shared = Map::new(0..0);
        for (key, map) in [("rendezvous", &mut self.meetings), ("counters", &mut self.counters)] {
            if !map.entries.is_empty() {
                shared.put(key, Item::Map(std::mem::take(map)));
            }
        }
        if !shared.entries.is_empty() {
            top.put("shared", Item::Map(shared));
        }
        let mut before = Vec::new();
        if self.needs_begin {
            let begin = Map::single(0..0, "run_begin", Item::Text("${now()}".to_owned()));
            before.push(Map::single(0..0, "set", Item::Map(begin)));
        }
        before.extend(setup);
        for (key, steps) in [("setup", before), ("teardown", teardown)] {
            if !steps.is_empty() {
                top.put(key, Item::List(steps));
            }
        }
        top.put("sessions", Item::Map(sessions));
        match arrivals {
            Some(arrivals) => top.put("arrivals", Item::List(arrivals)),
            None => top.put("populations", Item::Map(groups::populations(&loads))),
        }
        top.put("thresholds", thresholds());
        let comment =
            format!("Converted from JMeter's {}; see docs/importing.md.", file_name(name));
        let files = self.files;
        Draft { comments: vec![comment], top }.finish(&self.secrets, files, &mut self.diagnostics)
    }
}

/// The step that says that something was not done yet.
fn zero(name: &str) -> Map {
    let value = Map::single(0..0, name, Item::Bare("0".to_owned()));
    Map::single(0..0, "set", Item::Map(value))
}
