//! The steps: a row for each, with its keys, what compiles it, and whether branches may have it.

use crate::keys::{Table, channels, data, graphql, grpc, markov, meeting, mqtt, retry, steps, tcp};

use super::Checker;
use super::fields::Fields;
use super::parallel::BranchRule;
use super::program::Program;
use crate::document::node::Node;

/// Compiles a step: the value behind its verb, and all of its keys.
pub(super) type Compile = fn(&mut Checker<'_>, &Node, &Fields<'_>, &mut Program);

/// One kind of steps.
pub(crate) struct Step {
    /// Its keys; the first is its verb.
    pub(crate) keys: &'static Table,
    pub(super) compile: Compile,
    pub(super) in_branch: BranchRule,
}

const BESIDE_OTHERS: &str = "write its branches beside the others";
const BRANCH_ENDS: &str = "branches have to end: write `loop: 10`, or `while` with a condition";
const FEED_BEFORE: &str = "write `feed` before `parallel`: the branches have the row's variables";
const PACE_BEFORE: &str = "write `pace` before `parallel`, or `think` here";
const BESIDE_K6: &str = "a script of k6 runs for a user, and not for a branch of one";
const END_BEHIND: &str = "set a variable here, and behind `parallel` write `if` with this step";

/// A step that may stand anywhere.
const fn plain(keys: &'static Table, compile: Compile) -> Step {
    Step { keys, compile, in_branch: BranchRule::Allowed }
}

/// A step about a connection that stays open between steps.
const fn stream(keys: &'static Table, compile: Compile) -> Step {
    Step { keys, compile, in_branch: BranchRule::StaysOpen }
}

/// A step that cannot stand in a branch.
const fn outside(keys: &'static Table, hint: &'static str, compile: Compile) -> Step {
    Step { keys, compile, in_branch: BranchRule::Refused(hint) }
}

/// The kinds of steps.
#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "a path to a method of `Checker<'_>` is of one lifetime, a closure of any"
)]
pub(crate) static STEPS: &[Step] = &[
    plain(&steps::HTTP_STEP, |c, v, f, p| c.http("http", v, f, p)),
    plain(&steps::GET, |c, v, f, p| c.http("get", v, f, p)),
    plain(&steps::HEAD, |c, v, f, p| c.http("head", v, f, p)),
    plain(&steps::POST, |c, v, f, p| c.http("post", v, f, p)),
    plain(&steps::PUT, |c, v, f, p| c.http("put", v, f, p)),
    plain(&steps::PATCH, |c, v, f, p| c.http("patch", v, f, p)),
    plain(&steps::DELETE, |c, v, f, p| c.http("delete", v, f, p)),
    plain(&graphql::GRAPHQL, |c, v, f, p| c.graphql(v, f, p)),
    plain(&grpc::CALL, |c, v, f, p| c.grpc(v, f, p)),
    stream(&steps::WS_STEP, |c, v, f, p| c.ws(v, f, p)),
    stream(&steps::SSE, |c, v, f, p| c.sse(v, f, p)),
    stream(&steps::POLL, |c, v, f, p| c.poll(v, f, p)),
    stream(&channels::JOIN, |c, v, f, p| c.join(v, f, p)),
    stream(&channels::PUSH, |c, v, f, p| c.push(v, f, p)),
    stream(&channels::PERFORM, |c, v, f, p| c.perform(v, f, p)),
    stream(&channels::EMIT, |c, v, f, p| c.emit(v, f, p)),
    stream(&channels::INVOKE, |c, v, f, p| c.invoke(v, f, p)),
    stream(&channels::LEAVE, |c, v, f, p| c.leave(v, f, p)),
    stream(&mqtt::MQTT, |c, v, f, p| c.mqtt_step("mqtt", v, f, p)),
    stream(&mqtt::SUBSCRIBE, |c, v, f, p| c.mqtt_step("subscribe", v, f, p)),
    stream(&mqtt::UNSUBSCRIBE, |c, v, f, p| c.mqtt_step("unsubscribe", v, f, p)),
    stream(&mqtt::PUBLISH, |c, v, f, p| c.mqtt_step("publish", v, f, p)),
    stream(&tcp::TCP, |c, v, f, p| c.tcp(v, f, p)),
    stream(&steps::SEND, |c, v, f, p| c.send(v, f, p)),
    stream(&steps::EXPECT_STEP, |c, v, _, p| c.expect_step(v, p)),
    stream(&steps::CLOSE, |c, v, f, p| c.close(v, f, p)),
    plain(&steps::THINK, |c, v, _, p| c.think(v, p)),
    plain(&steps::THINK_SECONDS, |c, v, _, p| c.think_seconds(v, p)),
    outside(&steps::PACE, PACE_BEFORE, |c, v, _, p| c.pace(v, p)),
    plain(&steps::SET, |c, v, _, p| c.set(v, p)),
    plain(&steps::JS, |c, v, f, p| c.js_step(v, f, p)),
    outside(&steps::K6_STEP, BESIDE_K6, |c, v, f, p| c.k6_step(v, f, p)),
    plain(&steps::CHECK, |c, v, f, p| c.check_step(v, f, p)),
    plain(&steps::MEASURE, |c, v, f, p| c.measure_step(v, f, p)),
    plain(&steps::LOOP, |c, v, f, p| c.loop_step(v, f, p)),
    plain(&steps::FOREACH, |c, v, f, p| c.foreach_step(v, f, p)),
    outside(&steps::FOREVER, BRANCH_ENDS, |c, v, _, p| c.forever(v, p)),
    plain(&steps::WHILE, |c, v, f, p| c.while_step(v, f, p)),
    plain(&steps::IF, |c, v, f, p| c.if_step(v, f, p)),
    plain(&steps::CHOOSE, |c, v, _, p| c.choose(v, p)),
    outside(&steps::PARALLEL, BESIDE_OTHERS, |c, v, _, p| c.parallel(v, p)),
    plain(&meeting::RENDEZVOUS, |c, v, f, p| c.step_between("rendezvous", v, f, p)),
    plain(&meeting::NEXT, |c, v, f, p| c.step_between("next", v, f, p)),
    plain(&meeting::ENQUEUE, |c, v, f, p| c.step_between("enqueue", v, f, p)),
    plain(&meeting::DEQUEUE, |c, v, f, p| c.step_between("dequeue", v, f, p)),
    plain(&retry::STEP, |c, v, f, p| c.retry(v, f, p)),
    plain(&markov::STEP, |c, v, _, p| c.markov(v, p)),
    outside(&data::FEED, FEED_BEFORE, |c, v, f, p| c.feed(v, f, p)),
    plain(&steps::GROUP, |c, v, f, p| c.group(v, f, p)),
    plain(&steps::TRANSACTION, |c, v, f, p| c.transaction(v, f, p)),
    outside(&steps::STOP, END_BEHIND, |c, v, _, p| c.stop(v, p)),
    outside(&steps::RESTART, END_BEHIND, |c, v, _, p| c.restart(v, p)),
];

/// The step that this verb calls.
pub(super) fn step(verb: &str) -> Option<&'static Step> {
    STEPS.iter().find(|step| step.keys.verb() == verb)
}

/// True for the keys of a step.
pub(crate) fn is_step(table: &Table) -> bool {
    STEPS.iter().any(|step| std::ptr::eq(step.keys, table))
}
