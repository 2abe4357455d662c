//! The steps of a case's users: drawn, and as a scenario has them.

use std::fmt::Write;

use stats::rng::Rng;

/// Thinks, pauses and time limits are multiples of 2⁻⁹ s: a decimal text and a binary fraction hold these exactly.
const GRAINS_PER_S: u64 = 512;
/// The same in nanoseconds.
pub(super) const GRAIN_NS: u64 = 1_953_125;
/// The most steps around a step.
const DEPTH_MAX: u32 = 2;

/// A length of time in grains.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grains(u64);

impl Grains {
    pub(super) fn ns(self) -> u64 {
        self.0 * GRAIN_NS
    }

    fn text(self) -> String {
        format!("{}s", self.0 as f64 / GRAINS_PER_S as f64)
    }
}

/// The sessions that a step is different for: each `of`-th of all users and of a user's own.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    of: u64,
    rest: u64,
}

impl Turn {
    pub(super) fn is_of(self, user: u64, iteration: u64) -> bool {
        (user + iteration) % self.of == self.rest
    }

    /// The same as a condition.
    fn text(self, comparison: &str) -> String {
        format!("(user + iteration) % {} {comparison} {}", self.of, self.rest)
    }
}

/// A request that the server's plan answers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request {
    pub(super) id: u64,
    pub(super) timeout: Grains,
    /// Its answer is to have a value that later steps need.
    pub(super) saves: bool,
}

impl Request {
    fn text(self) -> String {
        let Request { id, timeout, saves } = self;
        let save = if saves { format!(", save: {{ v{id}: /v }}") } else { String::new() };
        let timeout = timeout.text();
        format!("{{ post: \"/r{id}/${{user}}\", as: r{id}, timeout: {timeout}{save} }}")
    }
}

/// Steps that are tried again.
#[derive(Debug)]
pub(super) struct Retry {
    id: u64,
    pub(super) attempts_max: u64,
    pub(super) pause: Grains,
    /// Only status 500 and timeouts are tried again.
    pub(super) is_choosy: bool,
    /// The sessions in which no attempt reaches what it is to.
    pub(super) missing: Option<Turn>,
    pub(super) steps: Vec<Step>,
    pub(super) otherwise: Option<Vec<Step>>,
}

/// A step of a user.
#[derive(Debug)]
pub(super) enum Step {
    Request(Request),
    Think(Grains),
    /// A value that some sessions cannot compute.
    Set {
        id: u64,
        failing: Turn,
    },
    /// A script that throws in some sessions.
    Script {
        id: u64,
        failing: Turn,
    },
    /// A condition that is false in some sessions.
    Check {
        id: u64,
        failing: Turn,
    },
    /// A row of data, of which there may be too few.
    Feed,
    /// A message that comes before, with or after the response to a request, or not at all.
    Speak {
        request: Request,
        within: Grains,
    },
    Loop {
        times: u64,
        steps: Vec<Step>,
    },
    If {
        turn: Turn,
        then: Vec<Step>,
        otherwise: Vec<Step>,
    },
    Retry(Retry),
    Parallel(Vec<Vec<Step>>),
    /// Requests and thinks, until the run ends.
    Forever(Vec<Step>),
}

/// Steps in the form of a scenario.
pub(super) fn text(steps: &[Step]) -> String {
    let texts: Vec<String> = steps.iter().map(Step::text).collect();
    format!("[ {} ]", texts.join(", "))
}

impl Step {
    fn text(&self) -> String {
        match self {
            Step::Request(request) => request.text(),
            Step::Think(grains) => format!("{{ think: {} }}", grains.text()),
            Step::Set { id, failing } => {
                let Turn { of, rest } = failing;
                format!("{{ set: {{ x{id}: \"${{1 / ((user + iteration) % {of} - {rest})}}\" }} }}")
            }
            Step::Script { id, failing } => {
                let Turn { of, rest } = failing;
                let turn = format!("(vars.user + vars.iteration) % {of} === {rest}");
                let throw = format!("if ({turn}) {{ throw new Error(\"no\"); }}");
                format!("{{ js: '{throw} return {{ x{id}: 1 }};', sets: [ x{id} ] }}")
            }
            Step::Check { id, failing } => {
                format!("{{ check: \"{}\", as: c{id} }}", failing.text("!="))
            }
            Step::Feed => "{ feed: rows }".to_owned(),
            Step::Speak { request, within } => {
                let id = request.id;
                let open = format!("{{ sse: \"/e{id}/${{user}}\", as: e{id} }}");
                let within = within.text();
                let when = format!("when: {{ /text: m{id} }}, within: {within}, as: m{id}");
                format!("{open}, {}, {{ expect: {{ {when} }} }}, {{ close: }}", request.text())
            }
            Step::Loop { times, steps } => {
                format!("{{ loop: {times}, steps: {} }}", text(steps))
            }
            Step::If { turn, then, otherwise } => {
                let condition = turn.text("==");
                let then = text(then);
                format!("{{ if: \"{condition}\", then: {then}, else: {} }}", text(otherwise))
            }
            Step::Retry(retry) => retry.text(),
            Step::Parallel(branches) => {
                let branches: Vec<String> = branches.iter().map(|branch| text(branch)).collect();
                format!("{{ parallel: [ {} ] }}", branches.join(", "))
            }
            Step::Forever(steps) => format!("{{ forever: {} }}", text(steps)),
        }
    }
}

impl Retry {
    fn text(&self) -> String {
        let mut out = format!("{{ retry: {}, as: t{}", self.attempts_max, self.id);
        let _ = write!(out, ", pause: {}, factor: 1, jitter: none", self.pause.text());
        if self.is_choosy {
            out += ", failures: [ 500, timeout ]";
        }
        if let Some(missing) = self.missing {
            let _ = write!(out, ", until: \"{}\"", missing.text("!="));
        }
        let _ = write!(out, ", steps: {}", text(&self.steps));
        if let Some(otherwise) = &self.otherwise {
            let _ = write!(out, ", else: {}", text(otherwise));
        }
        out + " }"
    }
}

/// A session's steps while they are drawn.
pub(super) struct Draft<'r> {
    rng: &'r mut Rng,
    last_id: u64,
    /// The session opens an event stream: it has one, and not two at once.
    has_stream: bool,
}

/// The place of a step.
#[derive(Clone, Copy)]
struct Place {
    depth: u32,
    is_branch: bool,
    /// A stream that a failure leaves open is closed before another step can meet it.
    may_open: bool,
}

impl Draft<'_> {
    /// The steps of a session. The first one takes time, so that no population spins.
    pub(super) fn session(rng: &mut Rng) -> Vec<Step> {
        let mut draft = Draft { rng, last_id: 0, has_stream: false };
        let mut steps = vec![draft.think()];
        let place = Place { depth: 0, is_branch: false, may_open: true };
        steps.extend(draft.steps(place, 4));
        if draft.rng.below(4) == 0 {
            let id = draft.id();
            let request = draft.request(id, false);
            steps.push(Step::Forever(vec![draft.think(), Step::Request(request)]));
        }
        steps
    }

    fn id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    fn turn(&mut self) -> Turn {
        let of = 3 + self.rng.below(5);
        Turn { of, rest: self.rng.below(of) }
    }

    /// From 1 to `steps_max` steps.
    fn steps(&mut self, place: Place, steps_max: u64) -> Vec<Step> {
        (0..1 + self.rng.below(steps_max)).map(|_| self.step(place)).collect()
    }

    fn step(&mut self, place: Place) -> Step {
        let inner = Place { depth: place.depth + 1, ..place };
        match self.rng.below(if place.depth < DEPTH_MAX { 15 } else { 6 }) {
            3 => self.think(),
            4 => Step::Set { id: self.id(), failing: self.turn() },
            5 => Step::Check { id: self.id(), failing: self.turn() },
            6 => Step::Loop { times: 1 + self.rng.below(3), steps: self.steps(inner, 2) },
            7 => Step::If {
                turn: self.turn(),
                then: self.steps(inner, 2),
                otherwise: self.steps(inner, 2),
            },
            8 | 9 => self.retry(inner),
            10 | 11 if !place.is_branch => {
                let branch = Place { is_branch: true, may_open: false, ..inner };
                let count = 1 + self.rng.below(3);
                Step::Parallel((0..count).map(|_| self.steps(branch, 3)).collect())
            }
            12 if !place.is_branch => match self.rng.below(2) {
                0 => Step::Script { id: self.id(), failing: self.turn() },
                _ => Step::Feed,
            },
            13 | 14 if place.may_open && !self.has_stream => {
                self.has_stream = true;
                let id = self.id();
                let within = Grains(4 * (10 + self.rng.below(60)) + 1);
                Step::Speak { request: self.request(id, false), within }
            }
            _ => {
                let id = self.id();
                let saves = !place.is_branch && self.rng.below(2) == 0;
                Step::Request(self.request(id, saves))
            }
        }
    }

    fn think(&mut self) -> Step {
        Step::Think(Grains(4 * (1 + self.rng.below(75))))
    }

    fn request(&mut self, id: u64, saves: bool) -> Request {
        Request { id, timeout: Grains(4 * (20 + self.rng.below(80)) + 1), saves }
    }

    fn retry(&mut self, inner: Place) -> Step {
        let otherwise = (self.rng.below(3) == 0).then(|| {
            let place = Place { may_open: false, ..inner };
            self.steps(place, 2)
        });
        let place = Place { may_open: inner.may_open && otherwise.is_none(), ..inner };
        Step::Retry(Retry {
            id: self.id(),
            attempts_max: 2 + self.rng.below(2),
            pause: Grains(4 * (1 + self.rng.below(40))),
            is_choosy: self.rng.below(3) == 0,
            missing: (self.rng.below(4) == 0).then(|| self.turn()),
            steps: self.steps(place, 3),
            otherwise,
        })
    }
}
