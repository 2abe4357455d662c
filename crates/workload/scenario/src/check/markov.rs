//! Markov chains of steps: a table of states, compiled to choices and jumps.
//!
//! A state becomes its steps and one choice among its transitions; a transition is a think, where
//! there is one, and a jump. Zero-probability transitions stand in the table and are never taken.

use std::ops::Range;

use crate::keys::{MARKOV, STATE, TRANSITION};
use plan::{Op, Pc, Visits};
use stats::dist::Dist;

use super::Checker;
use super::program::{Program, wait_in};
use crate::document::node::{Entry, Node};

/// The name of the chain's end.
const EXIT: &str = "exit";
/// How far from 1 the probabilities of a row may sum: as much as three decimals of thirds miss it.
const SUM_SLACK: f64 = 0.002;

/// A way out of a state.
struct Transition {
    /// `None`: the chain's end.
    to: Option<usize>,
    /// The instructions of the transition.
    instructions: Range<Pc>,
    probability: f64,
    think: Option<Dist>,
}

/// A state as far as it is compiled.
struct State<'n> {
    entry: &'n Entry,
    begins: Pc,
    /// The instruction at which the state's transitions begin.
    leaves: Pc,
    /// The state's steps let time pass.
    waits: bool,
    transitions: Vec<Transition>,
}

impl Checker<'_> {
    pub(super) fn markov(&mut self, node: &Node, program: &mut Program) {
        let Some(fields) = self.fields(node, &MARKOV, "`markov`") else {
            return;
        };
        let Some(table) = fields.get("states") else {
            return;
        };
        let Some(entries) = table.mapping() else {
            self.expected(table, "a mapping of states");
            return;
        };
        if entries.is_empty() {
            self.diagnostics
                .error("empty", &table.place, "there is no state")
                .hint("write { home: { steps: [ … ], next: { exit: 1 } } }");
            return;
        }
        let diagnostics = self.diagnostics.count();
        for entry in entries.iter().filter(|entry| entry.key == EXIT) {
            self.diagnostics
                .error("bad-name", &entry.key_place, "a state cannot be named `exit`")
                .hint("`exit` is the chain's end");
        }
        let starts = match fields.get("start") {
            Some(node) => self.starts(node, entries),
            None => vec![(1.0, 0)],
        };
        let entrance = program.push(Op::Choose(Vec::new()));
        // Choices among transitions, and jumps, whose ends are known only when all states are
        // there: instruction, state.
        let mut open = Vec::new();
        let mut states = Vec::new();
        for entry in entries {
            let state = self.state(entry, entries, program, &mut open);
            states.push(state);
        }
        let end = program.pc();
        for (at, to) in open {
            let to = to.map_or(end, |state: usize| states[state].begins);
            program.ops[at] = Op::Jump(to);
        }
        let branches = starts.iter().map(|(share, state)| (*share, states[*state].begins));
        program.ops[entrance] = Op::Choose(branches.collect());
        program.visits.extend(visits(&states, &starts));
        if self.diagnostics.count() == diagnostics {
            self.unreachable(&states, &starts);
            self.endless(&states);
            self.spinning(&states);
        }
    }

    /// A state or states with probabilities.
    fn starts(&mut self, node: &Node, states: &[Entry]) -> Vec<(f64, usize)> {
        let Some(entries) = node.mapping() else {
            let word = self.word(node, "a state's name");
            let found = word.and_then(|word| self.state_named(&word.text, &word.place, states));
            return vec![(1.0, found.flatten().unwrap_or(0))];
        };
        let mut starts = Vec::new();
        for entry in entries {
            let share = self.number(&entry.value);
            let state = self.state_named(&entry.key, &entry.key_place, states);
            match (share, state) {
                (Some(_), Some(None)) => {
                    let message = "a chain cannot start with `exit`";
                    self.diagnostics.error("bad-name", &entry.key_place, message);
                }
                (Some(share), Some(Some(state))) => starts.push((share, state)),
                _ => {}
            }
        }
        let shares: Vec<f64> = starts.iter().map(|(share, _)| *share).collect();
        self.must_sum_to_one(node, "start", &shares);
        starts
    }

    /// The state's number, or `Some(None)` for the end.
    fn state_named(
        &mut self,
        name: &str,
        place: &crate::document::node::Place,
        states: &[Entry],
    ) -> Option<Option<usize>> {
        if name == EXIT {
            return Some(None);
        }
        let found = states.iter().position(|entry| entry.key == name);
        if found.is_none() {
            let message = format!("there is no state `{name}`");
            let names = states.iter().map(|entry| entry.key.as_str());
            let written = name;
            let introduction = "the states are";
            self.unknown(
                "unknown-state",
                place,
                message,
                written,
                introduction,
                names.chain([EXIT]),
            );
        }
        found.map(Some)
    }

    fn must_sum_to_one(&mut self, node: &Node, what: &str, shares: &[f64]) {
        let sum: f64 = shares.iter().sum();
        let negative = shares.iter().any(|share| *share < 0.0);
        if negative || (sum - 1.0).abs() > SUM_SLACK {
            let message = if negative {
                format!("a probability of `{what}` is below 0")
            } else {
                format!("the probabilities of `{what}` sum to {sum:.4}, not to 1")
            };
            self.diagnostics
                .error("bad-probability", &node.place, message)
                .hint("write shares like 0.6; use `exit` to leave the chain");
        }
    }

    fn state<'n>(
        &mut self,
        entry: &'n Entry,
        entries: &[Entry],
        program: &mut Program,
        open: &mut Vec<(usize, Option<usize>)>,
    ) -> State<'n> {
        let begins = program.pc();
        let start = program.ops.len();
        let mut transitions = Vec::new();
        let called = format!("the state `{}`", entry.key);
        if let Some(fields) = self.fields(&entry.value, &STATE, &called) {
            if let Some(steps) = fields.get("steps") {
                self.steps(steps, program);
            }
            let think = fields.get("think").and_then(|node| self.dist(node));
            if let Some(next) = fields.get("next") {
                transitions = self.transitions(&entry.key, next, think.as_ref(), entries);
            }
        }
        let waits = program.waits_since(start);
        let choice = program.push(Op::Choose(Vec::new()));
        let mut branches = Vec::new();
        let leaves = program.pc();
        for transition in &mut transitions {
            let begins = program.pc();
            branches.push((transition.probability, begins));
            if let Some(think) = &transition.think {
                program.push(Op::Think(think.clone()));
            }
            open.push((program.push(Op::Jump(0)), transition.to));
            transition.instructions = begins..program.pc();
        }
        program.ops[choice] = Op::Choose(branches);
        State { entry, begins, leaves, waits, transitions }
    }

    fn transitions(
        &mut self,
        state: &str,
        node: &Node,
        think: Option<&Dist>,
        states: &[Entry],
    ) -> Vec<Transition> {
        let Some(entries) = node.mapping() else {
            self.expected(node, "a mapping of states and probabilities");
            return Vec::new();
        };
        let mut transitions = Vec::new();
        for entry in entries {
            let to = self.state_named(&entry.key, &entry.key_place, states);
            let (probability, own) = if entry.value.mapping().is_some() {
                let Some(fields) = self.fields(&entry.value, &TRANSITION, "a transition") else {
                    continue;
                };
                let own = fields.get("think").and_then(|node| self.dist(node));
                (fields.get("p").and_then(|node| self.number(node)), own)
            } else {
                (self.number(&entry.value), None)
            };
            if let (Some(to), Some(probability)) = (to, probability) {
                transitions.push(Transition {
                    to,
                    instructions: 0..0,
                    probability,
                    think: own.or_else(|| think.cloned()),
                });
            }
        }
        if transitions.len() == entries.len() {
            let shares: Vec<f64> = transitions.iter().map(|t| t.probability).collect();
            self.must_sum_to_one(node, state, &shares);
        }
        transitions
    }

    fn unreachable(&mut self, states: &[State<'_>], starts: &[(f64, usize)]) {
        let mut reached: Vec<usize> = Vec::new();
        let begin = starts.iter().filter(|(share, _)| *share > 0.0);
        let mut next: Vec<usize> = begin.map(|(_, state)| *state).collect();
        while let Some(state) = next.pop() {
            if !reached.contains(&state) {
                reached.push(state);
                next.extend(followers(&states[state]));
            }
        }
        for (number, state) in states.iter().enumerate() {
            if !reached.contains(&number) {
                let message = format!("no user ever reaches the state `{}`", state.entry.key);
                self.diagnostics.warning("unreachable-state", &state.entry.key_place, message);
            }
        }
    }

    /// Warns of states from which the chain's end cannot be reached.
    fn endless(&mut self, states: &[State<'_>]) {
        let mut ends = vec![false; states.len()];
        loop {
            let more = states.iter().enumerate().find(|(number, state)| {
                let leads_out = state.transitions.iter().any(|transition| {
                    transition.probability > 0.0 && transition.to.is_none_or(|to| ends[to])
                });
                !ends[*number] && leads_out
            });
            match more {
                Some((number, _)) => ends[number] = true,
                None => break,
            }
        }
        for state in states.iter().zip(&ends).filter(|(_, ends)| !**ends) {
            let entry = state.0.entry;
            let message = format!("`exit` cannot be reached from the state `{}`", entry.key);
            self.diagnostics
                .warning("absorbing-state", &entry.key_place, message)
                .hint("users that get there stay in the chain until the run ends");
        }
    }

    /// A way around without any wait would stop every other user of its event loop. What is left
    /// when states are taken away that lead, without a wait, only to such as were taken away goes
    /// round.
    fn spinning(&mut self, states: &[State<'_>]) {
        let at_once = |state: &State<'_>| -> Vec<usize> {
            if state.waits {
                return Vec::new();
            }
            let quick = state.transitions.iter().filter(|transition| {
                let think = transition.think.clone().map(Op::Think);
                transition.probability > 0.0 && !think.is_some_and(|op| wait_in(&[op]))
            });
            quick.filter_map(|transition| transition.to).collect()
        };
        let mut harmless = vec![false; states.len()];
        while let Some(next) = (0..states.len()).find(|&number| {
            !harmless[number] && at_once(&states[number]).iter().all(|&to| harmless[to])
        }) {
            harmless[next] = true;
        }
        if let Some(number) = harmless.iter().position(|harmless| !harmless) {
            let entry = states[number].entry;
            let message = format!("from the state `{}` users can loop without waiting", entry.key);
            self.diagnostics
                .error("spin", &entry.key_place, message)
                .hint("give the state a `think`, or a step that waits");
        }
    }
}

/// How often each state is expected to be visited, each time a user enters the chain: v = s + Pᵀv
/// with the starts s and the transitions P (Kemeny and Snell 1960, §3.2), by repetition. Without
/// bound where the chain does not end, or so late that the repetition does not.
fn visits(states: &[State<'_>], starts: &[(f64, usize)]) -> Vec<Visits> {
    const SWEEPS_MAX: usize = 10_000;
    const CHANGE_MIN: f64 = 1e-9;
    let mut arriving = vec![0.0; states.len()];
    for (share, state) in starts {
        arriving[*state] += share;
    }
    let mut expected = vec![0.0; states.len()];
    let mut left = SWEEPS_MAX;
    while arriving.iter().sum::<f64>() > CHANGE_MIN && left > 0 {
        let mut next = vec![0.0; states.len()];
        for ((state, arriving), expected) in states.iter().zip(&arriving).zip(&mut expected) {
            *expected += arriving;
            for transition in &state.transitions {
                if let Some(to) = transition.to {
                    next[to] += arriving * transition.probability;
                }
            }
        }
        arriving = next;
        left -= 1;
    }
    if left == 0 {
        expected.fill(f64::INFINITY);
    }
    let mut visits = Vec::new();
    for (state, expected) in states.iter().zip(expected) {
        visits.push(Visits { instructions: state.begins..state.leaves, expected });
        visits.extend(state.transitions.iter().map(|transition| Visits {
            instructions: transition.instructions.clone(),
            expected: expected * transition.probability,
        }));
    }
    visits
}

fn followers(state: &State<'_>) -> impl Iterator<Item = usize> {
    let possible = state.transitions.iter().filter(|t| t.probability > 0.0);
    possible.filter_map(|transition| transition.to)
}
