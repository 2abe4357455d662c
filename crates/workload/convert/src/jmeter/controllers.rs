//! Controllers: which samplers come when.

use roxmltree::Node;

use super::Importer;
use super::properties::{children, flag, kind, label, opening, place, property, text};
use super::scope::{Rounds, Scope};
use crate::template::{literal, quoted};
use crate::writer::{Item, Map};

/// Elements that show results. They are not needed: a run keeps them all.
const LISTENERS: &[&str] = &[
    "ResultCollector",
    "Summariser",
    "BackendListener",
    "BeanShellListener",
    "JSR223Listener",
    "ResultSaver",
    "DebugPostProcessor",
    "MailerResultCollector",
];
/// Elements that apply to samplers, and were read with their scope.
const OF_SCOPE: &[&str] = &[
    "Arguments",
    "AuthManager",
    "BeanShellAssertion",
    "BeanShellPostProcessor",
    "BeanShellPreProcessor",
    "BoundaryExtractor",
    "CSVDataSet",
    "CacheManager",
    "ConfigTestElement",
    "ConstantTimer",
    "CookieManager",
    "CounterConfig",
    "DNSCacheManager",
    "DurationAssertion",
    "GaussianRandomTimer",
    "HeaderManager",
    "HtmlExtractor",
    "JMESPathExtractor",
    "JSONPathAssertion",
    "JSONPostProcessor",
    "JSR223Assertion",
    "JSR223PostProcessor",
    "JSR223PreProcessor",
    "KeystoreConfig",
    "PoissonRandomTimer",
    "RandomVariableConfig",
    "RegexExtractor",
    "ResponseAssertion",
    "SyncTimer",
    "UniformRandomTimer",
    "XPath2Extractor",
    "XPathAssertion",
    "XPathExtractor",
];

/// A list of steps under a key.
fn with_steps(step: Map, key: &str, steps: Vec<Map>) -> Map {
    step.with(key, Item::List(steps))
}

impl<'d, 'i: 'd> Importer<'_> {
    /// The steps of a tree.
    pub(super) fn steps(
        &mut self,
        tree: Option<Node<'d, 'i>>,
        around: &Scope<'d, 'i>,
        rounds: &mut Rounds,
    ) -> Vec<Map> {
        let mut steps = Vec::new();
        let Some(tree) = tree else {
            return steps;
        };
        let scope = self.scope(tree, around, rounds);
        for (node, below) in children(tree) {
            self.element(node, below, &scope, rounds, &mut steps);
        }
        steps
    }

    /// The steps of each child of a tree.
    fn branches(
        &mut self,
        tree: Option<Node<'d, 'i>>,
        around: &Scope<'d, 'i>,
        rounds: &mut Rounds,
    ) -> Vec<(String, Vec<Map>)> {
        let mut branches = Vec::new();
        let Some(tree) = tree else {
            return branches;
        };
        let scope = self.scope(tree, around, rounds);
        for (node, below) in children(tree) {
            let mut steps = Vec::new();
            self.element(node, below, &scope, rounds, &mut steps);
            if !steps.is_empty() {
                branches.push((label(node), steps));
            }
        }
        branches
    }

    pub(super) fn element(
        &mut self,
        node: Node<'d, 'i>,
        below: Option<Node<'d, 'i>>,
        scope: &Scope<'d, 'i>,
        rounds: &mut Rounds,
        steps: &mut Vec<Map>,
    ) {
        if self.sampler(node, below, scope, rounds, steps) {
            return;
        }
        let at = opening(node);
        let name = kind(node);
        // What these stand for is elsewhere, or is run from elsewhere.
        let has_own =
            !matches!(name, "IncludeController" | "ModuleController" | "TestFragmentController");
        let is_controller =
            has_own && (name.ends_with("Controller") || name == "InterleaveControl");
        let is_sampler = |node: Node<'_, '_>| {
            kind(node).contains("Sampler")
                || matches!(kind(node), "TestAction" | "IncludeController" | "ModuleController")
        };
        if is_controller && !below.is_some_and(|tree| tree.descendants().any(is_sampler)) {
            let elements = |tree: Node<'d, 'i>| children(tree).map(|(node, _)| label(node));
            let below: Vec<String> = below.into_iter().flat_map(elements).collect();
            let what = match below.is_empty() {
                true => String::new(),
                false => format!(", and what it holds is left out: {}", below.join(", ")),
            };
            let message = format!("`{}` has no sampler: it sends nothing{what}", label(node));
            self.diagnostics.ignored(at, message);
        }
        self.other_element(node, below, scope, rounds, steps);
    }

    /// An element that is no sampler.
    fn other_element(
        &mut self,
        node: Node<'d, 'i>,
        below: Option<Node<'d, 'i>>,
        scope: &Scope<'d, 'i>,
        rounds: &mut Rounds,
        steps: &mut Vec<Map>,
    ) {
        let at = opening(node);
        let name = kind(node);
        match name {
            "GenericController" | "RecordingController" => {
                steps.extend(self.steps(below, scope, rounds));
            }
            "TransactionController" => {
                let inner = self.steps(below, scope, rounds);
                if !inner.is_empty() {
                    let name = Item::Text(literal(&format!("{} (transaction)", label(node))));
                    steps.push(with_steps(Map::single(at, "transaction", name), "steps", inner));
                }
            }
            "LoopController" => self.loop_controller(node, below, scope, rounds, steps),
            "IfController" => {
                let inner = self.steps(below, scope, rounds);
                let condition = text(node, "IfController.condition");
                match self.condition(condition, &at) {
                    Some(condition) if !inner.is_empty() => {
                        let step = Map::single(at, "if", Item::Text(condition));
                        steps.push(with_steps(step, "then", inner));
                    }
                    Some(_) => {}
                    None => self.lost_condition(node, "IfController.condition"),
                }
            }
            "WhileController" => {
                let inner = self.steps(below, scope, rounds);
                let condition = text(node, "WhileController.condition");
                match self.condition(condition, &at) {
                    Some(condition) if !inner.is_empty() => {
                        let step = Map::single(at, "while", Item::Text(condition));
                        steps.push(with_steps(step, "steps", inner));
                    }
                    Some(_) => {}
                    None => self.lost_condition(node, "WhileController.condition"),
                }
            }
            "OnceOnlyController" => {
                let inner = self.steps(below, scope, rounds);
                if inner.is_empty() {
                    return;
                }
                // It is 0 before, and 1 from the first round on.
                let done = self.variables.helper("once");
                self.once.push(done.clone());
                let one = Item::Bare("1".to_owned());
                let mut then = vec![Map::single(
                    at.clone(),
                    "set",
                    Item::Map(Map::single(at.clone(), &done, one)),
                )];
                then.extend(inner);
                let step = Map::single(at, "if", Item::Text(format!("{done} == 0")));
                steps.push(with_steps(step, "then", then));
            }
            "RandomController" | "InterleaveControl" => {
                if name == "InterleaveControl" {
                    let message = "an interleave controller takes one of its children by chance";
                    self.diagnostics.differs("interleave", at.clone(), message);
                }
                let branches = self.branches(below, scope, rounds);
                let branch = |(_, steps): (String, Vec<Map>)| {
                    with_steps(Map::new(at.clone()), "steps", steps)
                };
                let branches: Vec<Map> = branches.into_iter().map(branch).collect();
                if !branches.is_empty() {
                    steps.push(Map::single(at.clone(), "choose", Item::List(branches)));
                }
            }
            "RandomOrderController" => {
                let message = "a random order controller keeps the order of its children";
                self.diagnostics.differs("random-order", at, message);
                steps.extend(self.steps(below, scope, rounds));
            }
            "ThroughputController" => self.throughput_controller(node, below, scope, rounds, steps),
            "SwitchController" => self.switch_controller(node, below, scope, rounds, steps),
            "ForeachController" => self.foreach_controller(node, below, scope, rounds, steps),
            "com.blazemeter.jmeter.controller.ParallelSampler" => {
                let branches = self.branches(below, scope, rounds);
                let branches: Vec<Vec<Map>> =
                    branches.into_iter().map(|(_, steps)| steps).collect();
                if !branches.is_empty() {
                    steps.push(Map::single(at, "parallel", Item::Branches(branches)));
                }
            }
            "IncludeController" | "ModuleController" => {
                let message = format!("`{}` stands for elements of another place", label(node));
                let hint = "copy them here in JMeter, and import the plan again";
                self.diagnostics.lost(at, message).hint(hint);
            }
            "TestFragmentController" => {
                let message = "a test fragment is run where it is included, and not by itself";
                self.diagnostics.differs("fragment", at, message);
            }
            _ if OF_SCOPE.contains(&name) => {}
            _ if LISTENERS.contains(&name) || name.starts_with("kg.apc.jmeter.vizualizers") => {
                let message = "listeners are not needed: a run keeps its results";
                self.diagnostics.differs("listeners", at, message);
            }
            "ConstantThroughputTimer" | "kg.apc.jmeter.timers.VariableThroughputTimer" => {
                // Read with the thread group, where they can be said.
                if !self.shapers.contains(&at.start) {
                    let message = format!("the timer `{}` is not carried over here", label(node));
                    let hint = "choose the rate of arrivals in the scenario";
                    self.diagnostics.lost(at, message).hint(hint);
                }
            }
            _ => {
                // What stands in a controller that is not known would be sent otherwise.
                let message = format!("`{}` ({name}) is not carried over", label(node));
                self.diagnostics.lost(at, message);
            }
        }
    }

    fn lost_condition(&mut self, node: Node<'d, 'i>, name: &str) {
        let message = format!("the condition `{}` is none of the common forms", text(node, name));
        let hint = "write `if` or `while` with an expression: docs/scenario-reference.md#templates-and-expressions";
        self.diagnostics.lost(place(node, name), message).hint(hint);
    }

    fn loop_controller(
        &mut self,
        node: Node<'d, 'i>,
        below: Option<Node<'d, 'i>>,
        scope: &Scope<'d, 'i>,
        rounds: &mut Rounds,
        steps: &mut Vec<Map>,
    ) {
        let at = opening(node);
        let inner = self.steps(below, scope, rounds);
        if inner.is_empty() {
            return;
        }
        let loops = text(node, "LoopController.loops").trim();
        if loops == "-1" || flag(node, "LoopController.continue_forever") && loops.is_empty() {
            steps.push(Map::single(at, "forever", Item::List(inner)));
            return;
        }
        let count = match self.fixed(loops) {
            Some(count) if count >= 0.0 && count.fract() == 0.0 => {
                Some(Item::Bare(format!("{count}")))
            }
            Some(_) => None,
            None => self.number(loops, &at).map(Item::Text),
        };
        match count {
            Some(count) => steps.push(with_steps(Map::single(at, "loop", count), "steps", inner)),
            None => {
                let message = format!("`{loops}` is not a number of rounds");
                self.diagnostics.lost(place(node, "LoopController.loops"), message);
            }
        }
    }

    /// A share of the rounds.
    fn throughput_controller(
        &mut self,
        node: Node<'d, 'i>,
        below: Option<Node<'d, 'i>>,
        scope: &Scope<'d, 'i>,
        rounds: &mut Rounds,
        steps: &mut Vec<Map>,
    ) {
        let at = opening(node);
        let inner = self.steps(below, scope, rounds);
        let is_percent = text(node, "ThroughputController.style").trim() == "1";
        let name = "ThroughputController.percentThroughput";
        // A number that people wrote is a `FloatProperty`, with a name and a value below it.
        let below_of = |node: Node<'d, 'i>, tag: &str| {
            let found = node.children().find(|child| child.tag_name().name() == tag);
            found.and_then(|child| child.text()).unwrap_or_default()
        };
        let mut numbers =
            node.children().filter(|child| child.tag_name().name() == "FloatProperty");
        let number = numbers.find(|child| below_of(*child, "name") == name);
        let written = match number {
            Some(number) => Some(below_of(number, "value").to_owned()),
            None => property(node, name).and_then(|share| share.text()).map(str::to_owned),
        };
        let percent = written.and_then(|written| self.fixed(&written));
        match percent.filter(|percent| is_percent && (0.0..=100.0).contains(percent)) {
            Some(percent) if !inner.is_empty() => {
                let message = "a share of the rounds is drawn by chance";
                self.diagnostics.differs("throughput", at.clone(), message);
                let condition = Item::Text(format!("random_float(0, 100) < {percent}"));
                steps.push(with_steps(Map::single(at, "if", condition), "then", inner));
            }
            Some(_) => {}
            None => {
                let message = format!(
                    "the controller `{}` counts its rounds, which is not carried over",
                    label(node)
                );
                self.diagnostics.lost(at, message);
            }
        }
    }

    /// The child with this number or name.
    fn switch_controller(
        &mut self,
        node: Node<'d, 'i>,
        below: Option<Node<'d, 'i>>,
        scope: &Scope<'d, 'i>,
        rounds: &mut Rounds,
        steps: &mut Vec<Map>,
    ) {
        let at = opening(node);
        let branches = self.branches(below, scope, rounds);
        let written = text(node, "SwitchController.value").trim();
        let value = match self.number(written, &at) {
            Some(value) => value,
            None if written.contains("${") => {
                self.lost_condition(node, "SwitchController.value");
                return;
            }
            None => quoted(written),
        };
        for (index, (name, inner)) in branches.into_iter().enumerate() {
            let condition =
                format!("str({value}) == '{index}' or str({value}) == {}", quoted(&name));
            let step = Map::single(at.clone(), "if", Item::Text(condition));
            steps.push(with_steps(step, "then", inner));
        }
    }

    fn foreach_controller(
        &mut self,
        node: Node<'d, 'i>,
        below: Option<Node<'d, 'i>>,
        scope: &Scope<'d, 'i>,
        rounds: &mut Rounds,
        steps: &mut Vec<Map>,
    ) {
        let at = opening(node);
        let list = text(node, "ForeachController.inputVal").trim().to_owned();
        let item = text(node, "ForeachController.returnVal").trim().to_owned();
        let inner = self.steps(below, scope, rounds);
        if !self.lists.contains(&list) || item.is_empty() {
            let message = format!("`{list}` is no list that an extractor of all matches saves");
            self.diagnostics.lost(place(node, "ForeachController.inputVal"), message);
            return;
        }
        if inner.is_empty() {
            return;
        }
        let list = self.variables.of_user(&list);
        let item = self.variables.of_user(&item);
        let step = Map::single(at, "foreach", Item::Text(list)).with("as", Item::Text(item));
        steps.push(with_steps(step, "steps", inner));
    }

    /// Pauses and ends that a sampler stands for.
    pub(super) fn action(&mut self, node: Node<'d, 'i>, steps: &mut Vec<Map>) {
        let at = opening(node);
        match text(node, "ActionProcessor.action").trim() {
            "" | "1" => {
                let duration = text(node, "ActionProcessor.duration");
                if let Some(ms) = self.fixed(duration).filter(|ms| *ms >= 0.0) {
                    if ms > 0.0 {
                        steps.push(Map::single(at, "think", Item::Bare(format!("{ms}ms"))));
                    }
                    return;
                }
                match self.number(duration, &at) {
                    Some(ms) => {
                        let seconds = Item::Text(format!("({ms}) / 1000"));
                        steps.push(Map::single(at, "think_seconds", seconds));
                    }
                    None => {
                        let message = "this pause is no number".to_owned();
                        self.diagnostics.lost(at, message);
                    }
                }
            }
            "0" | "2" if matches!(text(node, "ActionProcessor.target").trim(), "" | "0") => {
                steps.push(Map::single(at, "stop", Item::Nothing));
            }
            _ => {
                let message = format!("the action `{}` is not carried over", label(node));
                self.diagnostics.lost(at, message);
            }
        }
    }
}
