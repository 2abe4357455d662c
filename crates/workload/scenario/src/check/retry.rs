//! Steps that are tried again after a failure.

use crate::keys::{FAILURES, JITTERS};
use plan::expr::Condition;
use plan::{Failures, Jitter, MeasureId, MeasureKind, Op, Retry, Transaction};

use super::Checker;
use super::fields::Fields;
use super::http::status_range;
use super::program::Program;
use crate::document::node::Node;

/// Attempts that a scenario can set.
const ATTEMPTS: std::ops::RangeInclusive<u64> = 2..=100;
/// The greatest factor by which pauses grow.
const FACTOR_MAX: f64 = 100.0;

/// Pauses between attempts.
struct Pauses {
    pause_ns: u64,
    factor: f64,
    pause_max_ns: u64,
    jitter: Jitter,
}

impl Checker<'_> {
    pub(super) fn retry(&mut self, node: &Node, fields: &Fields<'_>, program: &mut Program) {
        let attempts_max = self.attempts_max(node);
        let failures = fields.get("failures").map(|node| self.failures(node));
        let pauses = self.pauses(fields);
        let measure = self.measure_from(fields, "as", "retry", MeasureKind::Transaction);
        let place = self.attempts_at(
            measure,
            attempts_max,
            fields.get("steps"),
            fields.get("when"),
            fields.get("until"),
            program,
        );
        let otherwise = self.otherwise(fields, program);
        let retry = &mut program.retries[place];
        retry.failures = failures;
        retry.pause_ns = pauses.pause_ns;
        retry.factor = pauses.factor;
        retry.pause_max_ns = pauses.pause_max_ns;
        retry.jitter = pauses.jitter;
        retry.otherwise = otherwise;
    }

    /// At most this many attempts at steps, without pauses. Any failed step ends its attempt, also if there is one only.
    /// Returns their place among the program's.
    pub(super) fn attempts_at(
        &mut self,
        measure: MeasureId,
        attempts_max: u32,
        steps: Option<&Node>,
        when: Option<&Node>,
        until: Option<&Node>,
        program: &mut Program,
    ) -> usize {
        let register = program.register();
        let failure = program.register();
        let attempts = program.register();
        let draws = program.retry_draws();
        program.push(Op::TransactionStart { register, failure, measure });
        let transaction = program.transactions.len();
        program.transactions.push(Transaction {
            instructions: program.pc()..program.pc(),
            register,
            failure,
            measure,
        });
        let start = program.push(Op::RetryStart { attempts }) + 1;
        let place = program.retries.len();
        let begins = program.pc();
        program.retries.push(Retry {
            instructions: begins..begins,
            measure,
            attempts,
            attempts_max,
            failures: None,
            when: None,
            pause_ns: 0,
            factor: 1.0,
            pause_max_ns: 0,
            jitter: Jitter::None,
            draws,
            otherwise: None,
            opens_stream: false,
        });
        if let Some(steps) = steps {
            self.steps(steps, program);
        }
        // The conditions may use variables that the steps set.
        let when = when.and_then(|node| self.expression(node, program));
        let until = until.and_then(|node| {
            let text = node.text().unwrap_or_default().into();
            let expr = self.expression(node, program)?;
            Some(Condition { expr, text })
        });
        program.push(Op::RetryEnd { until });
        let steps = &program.ops[start..];
        let opens_stream = steps.iter().any(Op::stays_open);
        let ends = program.pc();
        let retry = &mut program.retries[place];
        retry.when = when;
        retry.opens_stream = opens_stream;
        retry.instructions.end = ends;
        program.push(Op::TransactionEnd { register, failure, measure });
        program.transactions[transaction].instructions.end = program.pc();
        place
    }

    /// The steps after the last failed attempt, and where they begin.
    fn otherwise(&mut self, fields: &Fields<'_>, program: &mut Program) -> Option<plan::Pc> {
        let steps = fields.get("else")?;
        let over = program.push(Op::Jump(0));
        let begins = program.pc();
        self.steps(steps, program);
        program.land(over);
        Some(begins)
    }

    fn attempts_max(&mut self, node: &Node) -> u32 {
        let Some(count) = self.count(node) else {
            return 2;
        };
        if !ATTEMPTS.contains(&count) {
            self.diagnostics
                .error("bad-count", &node.place, "`retry` is from 2 to 100")
                .hint("it is the number of attempts, the first one included");
        }
        count as u32
    }

    fn failures(&mut self, node: &Node) -> Failures {
        let mut kinds = Vec::new();
        let mut statuses = Vec::new();
        for item in self.one_or_more(node) {
            let is_status = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
            if item.text().is_some_and(is_status) {
                let code = "bad-status";
                let what = "a status like 503, 5xx or 500..504";
                statuses.extend(self.unit(item, code, what, status_range));
            } else if let Some(kind) = self.choice(item, FAILURES) {
                kinds.push(FAILURES[kind].to_owned());
            }
        }
        Failures { kinds, statuses }
    }

    fn pauses(&mut self, fields: &Fields<'_>) -> Pauses {
        let written = |key| fields.get_or_default(key);
        let pause_ns = written("pause").and_then(|node| self.duration_or_none_ns(&node));
        let longest = written("pause_max").and_then(|node| self.duration_ns(&node));
        let factor = written("factor").and_then(|node| self.growth(&node));
        let jitter = written("jitter").and_then(|node| self.choice(&node, JITTERS));
        if let (Some(pause_ns), Some(pause_max_ns)) = (pause_ns, longest)
            && pause_ns > pause_max_ns
        {
            let place = fields.key_place("pause").unwrap_or(fields.place());
            self.diagnostics
                .error("bad-duration", place, "`pause` is longer than `pause_max`")
                .hint("`pause` is the first pause, `pause_max` (30s by default) the longest");
        }
        Pauses {
            pause_ns: pause_ns.unwrap_or_default(),
            factor: factor.unwrap_or(1.0),
            pause_max_ns: longest.unwrap_or_default(),
            jitter: match jitter {
                Some(0) => Jitter::Full,
                Some(1) => Jitter::Equal,
                _ => Jitter::None,
            },
        }
    }

    fn growth(&mut self, node: &Node) -> Option<f64> {
        let factor = self.number(node)?;
        if !(1.0..=FACTOR_MAX).contains(&factor) {
            self.diagnostics.error("bad-number", &node.place, "`factor` is from 1 to 100").hint(
                "with 1 all pauses have the same length, with 2 each is twice the one before",
            );
        }
        Some(factor)
    }
}
