//! The steps of a session and what stands inside them.

use super::Default::{Absent, Required, Said, Text};
use super::matching::{CHECKS, EXPECT, SAVES, TEMPLATES, key};
use super::requests::{HTTP, HTTP_REQUEST, STREAM_AUTH, URL, WEBSOCKET, WS};
use super::tags::TAGS;
use super::{Key, Kind, TIME_UNITS, Table};

const LIST: Key = key(
    "foreach",
    Kind::Expression,
    Required,
    "A list in JSON text, such as `save` takes from a response",
);

const ITEM: Key = key(
    "as",
    Kind::Text,
    Required,
    "The variable that has the item. An object or a list is JSON text: `${json(item, '/id')}`",
);

const ITEM_NUMBER: Key =
    key("index", Kind::Text, Absent, "The variable that has the item's number, from 0");

const ITEM_STEPS: Key = key("steps", Kind::Steps, Required, "The steps for each item");

pub(crate) static HTTP_STEP: Table = Table {
    name: "http",
    groups: &[
        &[key(
            "http",
            Kind::Any(&[Kind::Template, Kind::Mapping(&HTTP_REQUEST)]),
            Required,
            "Sends a request and waits for its response: `GET /path`, or a mapping",
        )],
        HTTP,
        &[TAGS],
    ],
};

pub(crate) static GET: Table =
    Table { name: "get", groups: &[&[key("get", Kind::Template, Required, URL)], HTTP, &[TAGS]] };

pub(crate) static HEAD: Table =
    Table { name: "head", groups: &[&[key("head", Kind::Template, Required, URL)], HTTP, &[TAGS]] };

pub(crate) static POST: Table =
    Table { name: "post", groups: &[&[key("post", Kind::Template, Required, URL)], HTTP, &[TAGS]] };

pub(crate) static PUT: Table =
    Table { name: "put", groups: &[&[key("put", Kind::Template, Required, URL)], HTTP, &[TAGS]] };

pub(crate) static PATCH: Table = Table {
    name: "patch",
    groups: &[&[key("patch", Kind::Template, Required, URL)], HTTP, &[TAGS]],
};

pub(crate) static DELETE: Table = Table {
    name: "delete",
    groups: &[&[key("delete", Kind::Template, Required, URL)], HTTP, &[TAGS]],
};

pub(crate) static WS_STEP: Table = Table {
    name: "ws",
    groups: &[
        &[key(
            "ws",
            Kind::Any(&[Kind::Template, Kind::Mapping(&WEBSOCKET)]),
            Required,
            "Opens a WebSocket: a path relative to the target, an absolute URL, or \
             a mapping",
        )],
        WS,
        super::channels::OPENING,
        &[TAGS],
    ],
};

pub(crate) static SSE: Table = Table {
    name: "sse",
    groups: &[&[
        key(
            "sse",
            Kind::Template,
            Required,
            "Opens a stream of server-sent events: a path relative to the target, \
             or an absolute URL",
        ),
        STREAM_AUTH,
        key("headers", TEMPLATES, Absent, "Headers of the request"),
        key(
            "reconnect",
            Kind::Any(&[Kind::Duration, Kind::Bool]),
            Text("3s"),
            "Pause before a lost stream is reconnected; the server can change it \
             (`retry`). `false`: losing the stream ends the session",
        ),
        super::tcp::RECORDS,
        key(
            "as",
            Kind::Text,
            Text("stream"),
            "Name of the measure for opening the stream; reconnecting is measured \
             as `reconnect`",
        ),
        key(
            "timeout",
            Kind::Duration,
            Said("`options.timeout`"),
            "Limit for connecting and receiving the response head",
        ),
        TAGS,
    ]],
};

pub(crate) static POLL: Table = Table {
    name: "poll",
    groups: &[&[
        key(
            "poll",
            Kind::Template,
            Required,
            "Polls repeatedly, concurrently with the steps: a path relative to the \
             target, or an absolute URL",
        ),
        STREAM_AUTH,
        key("headers", TEMPLATES, Absent, "Headers of each request"),
        key(
            "every",
            Kind::Duration,
            Said("immediately after the response (long polling)"),
            "Interval between requests",
        ),
        key(
            "each",
            Kind::Text,
            Said("the body is one message"),
            "JSON pointer to the list of messages in a response",
        ),
        key(
            "save",
            SAVES,
            Absent,
            "Parts of the response to save in variables, before its messages are \
             processed",
        ),
        key(
            "status",
            Kind::OneOrMore(&Kind::Scalar),
            Said("100 to 399"),
            "Statuses that are not an error",
        ),
        key("pause", Kind::Duration, Text("1s"), "Pause between a failure and the next request"),
        key(
            "as",
            Kind::Text,
            Said("`poll` and the path, as written, without the query"),
            "Name of the measure for the requests",
        ),
        key(
            "timeout",
            Kind::Duration,
            Said("`options.timeout`"),
            "Limit from sending a request to the end of its response",
        ),
        TAGS,
    ]],
};

pub(crate) static SEND: Table = Table {
    name: "send",
    groups: &[&[
        key(
            "send",
            Kind::Json,
            Required,
            "Sends a message: a mapping or list as JSON, text literally; empty if \
             there are `bytes`",
        ),
        key(
            "bytes",
            Kind::List(&Kind::Map(&Kind::Template)),
            Absent,
            "The message in binary form, as a list of parts: numbers (`u8`, `i8`, \
             `u16be`, `u16le`, … `u64le`, `i64le`, `f32be`, … `f64le`, `varint`), `text`, \
             `json`, `hex`",
        ),
        key("reply", Kind::Mapping(&EXPECT), Absent, "The reply to wait for"),
        key(
            "binary",
            Kind::Bool,
            Said("`true` if there are `bytes`, else `false`"),
            "On a WebSocket: sends a binary frame instead of a text frame",
        ),
        key(
            "last",
            Kind::Bool,
            Text("false"),
            "Over a call: no further message follows, so that the server may reply",
        ),
        key(
            "gzip",
            Kind::Bool,
            Said("as the call says"),
            "Over a call with `gzip: true`: whether this message is compressed",
        ),
        key(
            "as",
            Kind::Text,
            Said("the first pair of the message (`op=games`), else `send`"),
            "Name of the measure",
        ),
        TAGS,
    ]],
};

pub(crate) static EXPECT_STEP: Table = Table {
    name: "expect",
    groups: &[&[
        key(
            "expect",
            Kind::Any(&[Kind::Nothing, Kind::Mapping(&EXPECT)]),
            Required,
            "Waits for a message",
        ),
        TAGS,
    ]],
};

pub(crate) static CLOSE: Table = Table {
    name: "close",
    groups: &[&[
        key(
            "close",
            Kind::Any(&[Kind::Nothing, Kind::Count, Kind::Word(&["cancel"])]),
            Said("1000"),
            "Closes the WebSocket with this status and waits for the server to close; \
             or closes the TCP connection or event stream, or stops polling; or ends the \
             messages of the call and waits for its status, and with `cancel` gives it up",
        ),
        key(
            "status",
            Kind::OneOrMore(&Kind::Text),
            Text("OK"),
            "Of a call: statuses that are not an error",
        ),
        key(
            "save",
            SAVES,
            Absent,
            "Of a call: parts of its end to save in variables: `status`, the number of the status, `header`, a \
             name of the metadata, or `time`",
        ),
        key(
            "check",
            CHECKS,
            Absent,
            "Of a call: conditions, evaluated after `save`; a false one is an error of kind `check`",
        ),
        key("within", Kind::Duration, Said("`options.timeout`"), "Of a call: limit for the wait"),
        key("as", Kind::Text, Said("the method and `end`"), "Of a call: name of the measure"),
    ]],
};

pub(crate) static THINK: Table =
    Table { name: "think", groups: &[&[key("think", Kind::Dist, Required, "Waits this long")]] };

pub(crate) static THINK_SECONDS: Table = Table {
    name: "think_seconds",
    groups: &[&[key(
        "think_seconds",
        Kind::Expression,
        Required,
        "Waits this many seconds, evaluated for each user; values below zero count as 0",
    )]],
};

pub(crate) static PACE: Table = Table {
    name: "pace",
    groups: &[&[key(
        "pace",
        Kind::Dist,
        Required,
        "Waits until this long after the step was last due, independent of replies",
    )]],
};

pub(crate) static SET: Table = Table {
    name: "set",
    groups: &[&[key("set", TEMPLATES, Required, "Variables and their new values")]],
};

pub(crate) static JS: Table = Table {
    name: "js",
    groups: &[&[
        key(
            "js",
            Kind::Text,
            Required,
            "Runs JavaScript: the body of a function that reads `vars`, and returns an object \
             or assigns to `vars`. See [scripts](scripts.md#steps)",
        ),
        key("sets", Kind::OneOrMore(&Kind::Text), Absent, "The variables that it sets"),
    ]],
};

pub(crate) static K6_STEP: Table = Table {
    name: "k6",
    groups: &[&[
        key("k6", Kind::Text, Required, "Runs a function that the [script of k6](k6.md) exports"),
        key(
            "scenario",
            Kind::Text,
            Absent,
            "The scenario of the script's options whose iteration it is",
        ),
        key("data", Kind::Text, Absent, "The variable of `setup` with what the function gets"),
        key("result", Kind::Text, Absent, "The variable for what the function returns, as JSON"),
        TAGS,
    ]],
};

pub(crate) static CHECK: Table = Table {
    name: "check",
    groups: &[&[
        key("check", CHECKS, Required, "Conditions; the user continues in either case"),
        key("as", Kind::Text, Text("check"), "Name of the measure that counts failures"),
        TAGS,
    ]],
};

pub(crate) static MEASURE: Table = Table {
    name: "measure",
    groups: &[&[
        key(
            "measure",
            Kind::Expression,
            Required,
            "A time to record, or a number of a [metric](scenario.md#metrics-of-your-own). A time below 0 is an error; if it is \
             not a number the session ends",
        ),
        key("unit", Kind::Word(TIME_UNITS), Text("ms"), "Unit of the time"),
        key(
            "as",
            Kind::Text,
            Said("the expression, as written"),
            "Name of the measure, or of the metric among `metrics`, whose numbers have its unit and no tags",
        ),
        TAGS,
    ]],
};

pub(crate) static LOOP: Table = Table {
    name: "loop",
    groups: &[&[
        key("loop", Kind::Expression, Required, "Number of iterations"),
        key("steps", Kind::Steps, Required, "The steps of each iteration"),
    ]],
};

pub(crate) static FOREACH: Table = Table {
    name: "foreach",
    groups: &[&[
        LIST,
        ITEM,
        ITEM_NUMBER,
        key("max", Kind::Count, Said("all items"), "Items after this number are left out"),
        ITEM_STEPS,
    ]],
};

pub(crate) static FOREVER: Table = Table {
    name: "forever",
    groups: &[&[key("forever", Kind::Steps, Required, "Repeats these steps until the run ends")]],
};

pub(crate) static WHILE: Table = Table {
    name: "while",
    groups: &[&[
        key("while", Kind::Expression, Required, "Condition, evaluated before each iteration"),
        key("steps", Kind::Steps, Required, "The steps of each iteration"),
    ]],
};

pub(crate) static IF: Table = Table {
    name: "if",
    groups: &[&[
        key("if", Kind::Expression, Required, "The condition"),
        key("then", Kind::Steps, Required, "Steps if the condition is true"),
        key("else", Kind::Steps, Absent, "Steps if the condition is false"),
    ]],
};

pub(crate) static CHOOSE: Table = Table {
    name: "choose",
    groups: &[&[key(
        "choose",
        Kind::List(&Kind::Mapping(&CHOICE)),
        Required,
        "Chooses one branch by weight and runs it",
    )]],
};

pub(crate) static PARALLEL: Table = Table {
    name: "parallel",
    groups: &[&[key(
        "parallel",
        Kind::Any(&[Kind::List(&Kind::Any(&[Kind::Steps, Kind::Step])), Kind::Mapping(&ITEMS)]),
        Required,
        "Branches that the user runs at the same time, at most 64. Each is a list of steps, or one step; or a mapping, \
         with steps for each item of a list. The user continues when the last one has ended",
    )]],
};

pub(crate) static GROUP: Table = Table {
    name: "group",
    groups: &[&[
        key(
            "group",
            Kind::Text,
            Required,
            "Name of the group, by which figures of its steps are added up, and of the measure for \
             the steps as a whole. In another group, the names of both with a `/` between them",
        ),
        key("steps", Kind::Steps, Required, "The steps of the group"),
        TAGS,
    ]],
};

pub(crate) static TRANSACTION: Table = Table {
    name: "transaction",
    groups: &[&[
        key("transaction", Kind::Text, Required, "Name of the measure for the steps as a whole"),
        key("steps", Kind::Steps, Required, "The steps of the transaction"),
        TAGS,
    ]],
};

pub(crate) static STOP: Table =
    Table { name: "stop", groups: &[&[key("stop", Kind::Nothing, Absent, "Ends the user")]] };

pub(crate) static RESTART: Table = Table {
    name: "restart",
    groups: &[&[key(
        "restart",
        Kind::Count,
        Required,
        "Restarts the session with all its variables, at most this many times per \
         user; then the user ends",
    )]],
};

/// The keys of `branch`.
pub static CHOICE: Table = Table {
    name: "branch",
    groups: &[&[
        key("weight", Kind::Number, Text("1"), "The branch's share"),
        key("steps", Kind::Steps, Required, "The steps of the branch"),
    ]],
};

/// The keys of `items at the same time`.
pub static ITEMS: Table = Table {
    name: "items at the same time",
    groups: &[&[
        LIST,
        ITEM,
        ITEM_NUMBER,
        key(
            "at_once",
            Kind::Count,
            Text("6"),
            "Items that the user handles at the same time, at most 64",
        ),
        ITEM_STEPS,
    ]],
};
