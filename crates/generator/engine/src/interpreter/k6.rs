//! Functions of scripts of k6: begun and continued by their instruction, whose requests are made by those behind it.

mod sockets;

use k6::CookieAsk;
use plan::{HttpOp, K6Next, K6Op, Op, Pc};
use proto::http1::Head;
use record::Outcome;
use record::schema::WorkKind;
use script::{Console, ConsoleLine};
use stats::decimal::Decimal;

use crate::conn::NEVER;
use crate::failures::{Cause, FailureReport, StepPlace};
use crate::identity::UrlParts;
use crate::interpreter::{Flow, Interpreter};
use crate::tables::slots::{ConnSlot, UserKey};
use crate::users::Wait;
use crate::vus::{Asked, Now, Resumed, Turn, url};

/// CPU time of a call when the run is over: others have to come to their end as well.
const OVERTIME_NS: u64 = 1_000_000_000;
/// The same when the time to come to an end is over, too.
const CALL_NS_MIN: u64 = 10_000_000;

impl Interpreter<'_> {
    /// Runs the user's function until it waits, or has ended.
    pub(crate) fn run_k6(&mut self, now_ns: u64, key: UserKey, op: &K6Op) -> Flow {
        if let Some(result) = self.vus.as_mut().and_then(|vus| vus.take_ended(key)) {
            return self.end_k6(now_ns, key, op, result);
        }
        let Some(ask) = self.resume_k6(now_ns, key, key, op) else {
            self.drop_iteration(now_ns, op);
            return Flow::Jump(op.end);
        };
        if let Asked::Done(result) = ask {
            return self.end_k6(now_ns, key, op, result);
        }
        if let Some(vus) = self.vus.as_mut().filter(|vus| vus.begun_tasks(key) > 0) {
            if let Some(tasks) = op.tasks {
                vus.defer(key, ask);
                return Flow::Jump(tasks);
            }
            vus.refuse_tasks(key, now_ns);
        }
        self.follow_k6(now_ns, key, ask, |name| op.request_at(name), op.end)
    }

    /// Begins or continues the user's function. `runs`: the user, or its branch that runs it. `None`: the iteration is
    /// dropped.
    fn resume_k6(&mut self, now_ns: u64, key: UserKey, runs: UserKey, op: &K6Op) -> Option<Asked> {
        let begins = self.vus.as_ref().is_some_and(|vus| !vus.has_begun(key));
        let data = match &op.data {
            Some(data) if begins => data.eval(&mut self.users.scope(now_ns, key)),
            _ => Ok(plan::expr::Value::Nothing),
        };
        let data = match data {
            Ok(plan::expr::Value::Nothing) | Err(_) => String::new(),
            Ok(value) => value.to_text().to_string(),
        };
        let began_ns = self.begin_making(runs);
        let now_ns = self.users.now_ns(now_ns);
        let unix_ms = (self.users.zero_unix_ns + now_ns) as f64 / 1e6;
        let over_ns = self.end_ns.saturating_add(self.plan.options.drain_ns);
        let until_ns = self.end_ns.max(now_ns).saturating_add(OVERTIME_NS).min(over_ns);
        let left_ns = until_ns.saturating_sub(now_ns).max(CALL_NS_MIN);
        let vus = self.vus.as_mut()?;
        let rng = &mut self.users[key].value;
        let now = Now { ns: now_ns, left_ns, unix_ms, rng };
        let Resumed { ask, mut yielded } = vus.resume(key, runs, op, &data, now);
        let outgoing = std::mem::take(&mut yielded.outgoing);
        self.end_work(runs, WorkKind::Step, began_ns);
        let counts = &mut self.recorder.counts;
        counts.script_calls += 1;
        counts.scripts_ns += began_ns.map_or(0, |began| self.users.worked_ns.saturating_sub(began));
        self.keep_yielded(now_ns, runs, op, yielded);
        for message in outgoing {
            self.send_for_script(now_ns, key, message);
        }
        ask
    }

    /// Does what the function waits for, in the user or branch that runs it.
    fn follow_k6(
        &mut self,
        now_ns: u64,
        key: UserKey,
        ask: Asked,
        request_at: impl Fn(&str) -> Option<Pc>,
        end: Pc,
    ) -> Flow {
        let owner = self.users.owner(key);
        let has_news = self.vus.as_ref().is_some_and(|vus| vus.has_news(owner));
        let ready_ns = self.users[key].ready_ns;
        let due_ns = match ask {
            // The last of its requests takes all names.
            Asked::Request(name) => return Flow::Jump(request_at(&name).unwrap_or(end)),
            Asked::Done(_) => return Flow::Jump(end),
            Asked::Cookies(ask) => {
                let cookies = self.cookies_of_script(now_ns, owner, &ask);
                if let Some(vus) = &mut self.vus {
                    vus.answer(owner, k6::Answer::Cookies(cookies));
                }
                // The same instruction continues the function.
                return Flow::Jump(self.users[key].pc);
            }
            Asked::Sleep(ns) => ready_ns.saturating_add(ns),
            Asked::News(_) if has_news => now_ns,
            Asked::News(most_ns) => most_ns.map_or(NEVER, |most_ns| now_ns.saturating_add(most_ns)),
        };
        self.wake_at(key, due_ns);
        Flow::Wait
    }

    /// The user's function has ended.
    fn end_k6(
        &mut self,
        now_ns: u64,
        key: UserKey,
        op: &K6Op,
        result: Result<Option<String>, k6::Fault>,
    ) -> Flow {
        match result {
            Ok(value) => {
                let flow = op.result.and_then(|slot| {
                    let value = value
                        .map_or(plan::expr::Value::Nothing, |json| plan::expr::Value::text(&json));
                    self.assign(now_ns, key, slot, value)
                });
                flow.unwrap_or(Flow::Jump(op.end))
            }
            Err(fault) => {
                let measure = self.plan.faults;
                let outcome = if fault.is_no_memory { Outcome::NoMemory } else { Outcome::Script };
                let user = &self.users[key];
                let failed = FailureReport {
                    own_step: Some(StepPlace { session: user.session, pc: user.pc }),
                    ..FailureReport::new(now_ns, measure, outcome, user.number)
                };
                self.recorder.explain(&failed, || fault.to_string());
                self.recorder.check(measure, outcome);
                // An iteration that throws has ended like any other; `setup` must not.
                if op.scenario.is_empty() { Flow::Fail } else { Flow::Jump(op.end) }
            }
        }
    }

    /// What the script's user has of cookies; what it sets is kept.
    fn cookies_of_script(
        &mut self,
        now_ns: u64,
        key: UserKey,
        ask: &CookieAsk,
    ) -> Vec<(String, String)> {
        let now_s = self.users.unix_ms(now_ns) / 1000;
        match ask {
            CookieAsk::Of(url) => UrlParts::of(url)
                .map_or_else(Vec::new, |parts| self.identities.cookies(key, parts, now_s)),
            CookieAsk::Set { url, line } => {
                if let Some(parts) = UrlParts::of(url) {
                    self.identities.set_cookie(key, line, parts, now_s);
                }
                Vec::new()
            }
        }
    }

    /// Goes on in a branch of the user: with its function, or with one of its tasks.
    pub(crate) fn next_k6(&mut self, now_ns: u64, key: UserKey, next: &K6Next) -> Flow {
        let owner = self.users.owner(key);
        let session = self.users.session(key);
        let (Some(vus), Some(Op::K6(op))) = (&mut self.vus, session.ops.get(next.script as usize))
        else {
            return Flow::Jump(next.end);
        };
        let turn = vus.next_turn(owner, key, now_ns);
        if !matches!(turn, Turn::Function | Turn::Deferred(_)) {
            self.tell_k6(now_ns, owner);
        }
        let ask = match turn {
            Turn::Function => self.resume_k6(now_ns, owner, key, op),
            Turn::Deferred(ask) => Some(ask),
            Turn::Request(name) => {
                return Flow::Jump(next.request_at(&name).unwrap_or(next.end));
            }
            Turn::Socket => {
                return Flow::Jump(next.socket.map_or(next.end, |socket| socket.open));
            }
            Turn::Hold => {
                self.wait_until(key, NEVER);
                return Flow::Wait;
            }
            Turn::Nothing => {
                self.end_added_branch(now_ns, key);
                return Flow::Wait;
            }
        };
        match ask {
            None => Flow::Jump(next.end),
            Some(Asked::Done(result)) => {
                if let Some(vus) = &mut self.vus {
                    vus.end_in_branch(owner, result);
                }
                self.interrupt_added_branches(now_ns, owner);
                Flow::Jump(next.end)
            }
            Some(ask) => {
                if !self.begin_tasks(now_ns, owner) {
                    return Flow::Wait;
                }
                self.follow_k6(now_ns, key, ask, |name| next.request_at(name), next.end)
            }
        }
    }

    /// Begins a branch for each task that none has taken. False: the user's session is over.
    fn begin_tasks(&mut self, now_ns: u64, owner: UserKey) -> bool {
        let count = self.vus.as_ref().map_or(0, |vus| vus.begun_tasks(owner));
        for _ in 0..count {
            if !self.add_branch(now_ns, owner) {
                if let Some(vus) = &mut self.vus {
                    vus.refuse_tasks(owner, now_ns);
                }
                break;
            }
            // A failure has ended them all.
            if self.users.branches.family(owner).is_empty() {
                return false;
            }
        }
        true
    }

    /// Wakes the user's function if it waits for news that are there.
    pub(super) fn tell_k6(&mut self, now_ns: u64, owner: UserKey) {
        let told = self.vus.as_ref().and_then(|vus| vus.has_news_for(owner));
        let Some(main) =
            told.filter(|&main| self.users.get(main).is_some_and(|user| user.wait == Wait::Until))
        else {
            return;
        };
        self.wake_at(main, now_ns);
    }

    /// The user or branch waits until this time, when it is due.
    fn wake_at(&mut self, key: UserKey, due_ns: u64) {
        let user = &mut self.users[key];
        (user.due_ns, user.ready_ns) = (due_ns, due_ns);
        self.wait_until(key, due_ns);
    }

    fn keep_yielded(&mut self, now_ns: u64, key: UserKey, op: &K6Op, yielded: k6::Yielded) {
        self.recorder.counts.script_aborts += u64::from(yielded.aborts);
        let user = self.users[key].number;
        for check in &yielded.checks {
            let measure = op.check_at(&check.name);
            let outcome = if check.holds { Outcome::Ok } else { Outcome::Check };
            if !check.holds {
                self.fail_transactions(key, outcome);
                let cause = Cause::Named(&check.name);
                let failed =
                    FailureReport { cause, ..FailureReport::new(now_ns, measure, outcome, user) };
                self.recorder.explain(&failed, || format!("{} is false", check.name));
            }
            self.recorder.check(measure, outcome);
        }
        if let Some(script) = self.plan.k6.as_ref().filter(|_| op.records) {
            for sample in &yielded.samples {
                let number = Decimal::from_f64(sample.value);
                if let (Some(metric), Some(number)) = (script.metrics.get(sample.metric), number) {
                    self.recorder.metric(now_ns, metric.id, number);
                }
            }
        }
        let k6::Console { lines, dropped } = yielded.console;
        if !lines.is_empty() || dropped > 0 {
            let lines = lines.into_iter();
            let lines = lines.map(|line| ConsoleLine { unix_ms: line.unix_ms, text: line.text });
            let console = Console { lines: lines.collect(), dropped };
            self.recorder.keep_console(console, self.users.zero_unix_ns);
        }
    }

    /// An iteration was due and no user was free.
    fn drop_iteration(&mut self, now_ns: u64, op: &K6Op) {
        let Some(script) = self.plan.k6.as_ref().filter(|_| op.records) else {
            return;
        };
        let is_meant = |tags: &[(String, String)]| {
            tags.iter().all(|(key, value)| key == "scenario" && *value == op.scenario)
        };
        for metric in &script.metrics {
            if metric.base == "dropped_iterations" && is_meant(&metric.tags) {
                self.recorder.metric(now_ns, metric.id, Decimal::from_millionths(1_000_000));
            }
        }
    }

    /// The user's session ends, perhaps in the middle of its function.
    pub(crate) fn interrupt_k6(&mut self, key: UserKey) {
        if self.vus.is_none() {
            return;
        }
        let ops = self.users.session(key).ops.iter();
        let scenarios: Vec<&K6Op> = ops
            .filter_map(|op| match op {
                Op::K6(op) => Some(&**op),
                _ => None,
            })
            .collect();
        if let Some(vus) = &mut self.vus {
            for op in scenarios {
                vus.interrupt(key, &op.scenario);
            }
        }
    }

    /// How long the user's request may take.
    #[inline]
    pub(crate) fn request_timeout_ns(&self, key: UserKey, http: &HttpOp) -> u64 {
        match http.by_script {
            true => self.script_request(key).map_or(http.timeout_ns, |asked| asked.timeout_ns),
            false => http.timeout_ns,
        }
    }

    #[inline]
    pub(crate) fn request_method<'a>(&'a self, key: UserKey, http: &'a HttpOp) -> &'a str {
        match http.by_script {
            true => self.script_request(key).map_or("GET", |asked| &asked.method),
            false => &http.method,
        }
    }

    /// How many redirects it follows.
    pub(crate) fn redirects_max(&self, key: UserKey, http: &HttpOp) -> u8 {
        match http.by_script {
            true => self.script_request(key).map_or(0, |asked| asked.redirects),
            false => http.redirects,
        }
    }

    pub(crate) fn script_request(&self, key: UserKey) -> Option<&k6::Request> {
        self.vus.as_ref()?.request(key)
    }

    /// Names of the cookies that the script's request gives itself; `None`: it gives none, or goes elsewhere by now.
    pub(crate) fn script_cookies(&self, key: UserKey) -> Option<Vec<String>> {
        let asked = self.script_request(key).filter(|_| !self.follows.left_host(key))?;
        let mut headers = asked.headers.iter();
        let (_, value) = headers.find(|(name, _)| name.eq_ignore_ascii_case("cookie"))?;
        let pairs = value.split(';').filter_map(|pair| pair.split_once('='));
        Some(pairs.map(|(name, _)| name.trim().to_owned()).collect())
    }

    /// Whether a redirect is the answer that the user's script gets: it follows no more of them.
    pub(crate) fn keeps_redirect(&self, key: UserKey, http: &HttpOp) -> bool {
        let followed = self.follows.hop(key).map_or(0, |hop| hop.count);
        http.by_script && followed >= self.redirects_max(key, http)
    }

    /// Hands the response to the user's script; returns what it counts as.
    pub(crate) fn answer_script(
        &mut self,
        now_ns: u64,
        key: UserKey,
        head: &Head<'_>,
        body: &[u8],
    ) -> Outcome {
        // Each of them is copied until the script has it.
        let Some(held) = self.vus.as_ref().and_then(|vus| vus.hold(body.len())) else {
            return Outcome::NoMemory;
        };
        let final_url = self.follows.hop(key).map(|hop| {
            let tls = self.plan.endpoints[hop.endpoint.index()].tls;
            url(tls, self.requests.authority(hop.endpoint), &hop.target)
        });
        let response = k6::Response {
            url: final_url.unwrap_or_default(),
            body: body.to_vec(),
            ..self.script_response(key, head)
        };
        let is_expected = self.script_request(key).is_none_or(|asked| asked.expects(head.status));
        if let Some(vus) = &mut self.vus {
            vus.answered(key, response, held, now_ns);
        }
        if is_expected { Outcome::Ok } else { Outcome::Status }
    }

    /// The head of the response to the user's request.
    fn script_response(&self, key: UserKey, head: &Head<'_>) -> k6::Response {
        let user = &self.users[key];
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let headers = head.headers().map(|(name, value)| (name.to_string(), text(&value)));
        k6::Response {
            status: head.status,
            protocol: if head.raw.starts_with(b"HTTP/2") { "HTTP/2.0" } else { "HTTP/1.1" },
            headers: headers.collect(),
            bytes_out: u64::from(user.bytes_out),
            bytes_in: u64::from(user.bytes_in),
            ..k6::Response::default()
        }
    }

    /// A connection that the user's request may wait for is made.
    pub(crate) fn note_connected(&mut self, now_ns: u64, slot: ConnSlot) {
        if let Some(vus) = &mut self.vus {
            let conn = &self.conns[slot];
            vus.connected(conn.user, conn.started_ns, now_ns);
        }
    }

    /// And TLS is set up.
    pub(crate) fn note_secured(&mut self, now_ns: u64, slot: ConnSlot) {
        if let Some(vus) = &mut self.vus {
            vus.secured(self.conns[slot].user, now_ns);
        }
    }
}
