//! The steps of a session and what stands inside them.

use super::Default::{Absent, Required, Said, Text};
use super::auth::STEP_AUTH;
use super::data::FEED;
use super::matching::{CHECKS, EXPECT, SAVES, TEMPLATES, key};
use super::{Key, Kind, Table, markov};

const STREAM_AUTH: Key = key(
    "auth",
    STEP_AUTH,
    Said("`options.auth`"),
    "Who the user is to the server, `basic` or `bearer`; `none`: it does not say",
);

const HTTP: &[Key] = &[
    key("headers", TEMPLATES, Absent, "Request headers"),
    key("body", Kind::Template, Absent, "Request body as it is"),
    key(
        "cookies",
        TEMPLATES,
        Absent,
        "Cookies of this request, beside those that the user keeps; they go before one of the same \
         name",
    ),
    key(
        "json",
        Kind::Json,
        Absent,
        "Request body as JSON, with its `content-type`",
    ),
    key(
        "form",
        TEMPLATES,
        Absent,
        "Request body as a form, with its `content-type`",
    ),
    key(
        "auth",
        STEP_AUTH,
        Said("`options.auth`"),
        "Who the user is to the server; `none`: it does not say",
    ),
    key(
        "status",
        Kind::OneOrMore(&Kind::Scalar),
        Said("100 to 399"),
        "Which statuses are no error: `200`, `[200, 302]`, `2xx`, `200..204`",
    ),
    key(
        "save",
        SAVES,
        Absent,
        "Parts of the response kept in variables",
    ),
    key(
        "check",
        CHECKS,
        Absent,
        "What must hold after `save`; else it is an error of kind `check`",
    ),
    key(
        "as",
        Kind::Text,
        Said("method and path as written"),
        "What it is measured as",
    ),
    key(
        "timeout",
        Kind::Duration,
        Said("`options.timeout`"),
        "From being sent to the response's end",
    ),
];

pub(crate) static HTTP_REQUEST: Table = Table {
    name: "http request",
    groups: &[
        &[
            key("method", Kind::Text, Text("GET"), "The method"),
            key(
                "url",
                Kind::Template,
                Required,
                "A path below the target, or a whole URL",
            ),
        ],
        HTTP,
    ],
};

const WS: &[Key] = &[
    STREAM_AUTH,
    key(
        "headers",
        TEMPLATES,
        Absent,
        "Headers of the upgrade request",
    ),
    key(
        "as",
        Kind::Text,
        Text("handshake"),
        "What connecting and upgrading are measured as",
    ),
    key(
        "timeout",
        Kind::Duration,
        Said("`options.timeout`"),
        "For connecting and upgrading",
    ),
];

pub(crate) static WEBSOCKET: Table = Table {
    name: "websocket",
    groups: &[
        &[key("path", Kind::Template, Required, URL)],
        WS,
        super::channels::OPENING,
    ],
};

/// Of a step with a name of its own.
const URL: &str = "A path below the target, or a whole URL; `${raw(x)}` at its beginning takes \
                   either from a variable";

pub(crate) static STEPS: &[Table] = &[
    Table {
        name: "http",
        groups: &[
            &[key(
                "http",
                Kind::Any(&[Kind::Template, Kind::Mapping(&HTTP_REQUEST)]),
                Required,
                "Sends a request and waits for its response: `GET /path`, or a mapping",
            )],
            HTTP,
        ],
    },
    Table {
        name: "get",
        groups: &[&[key("get", Kind::Template, Required, URL)], HTTP],
    },
    Table {
        name: "head",
        groups: &[&[key("head", Kind::Template, Required, URL)], HTTP],
    },
    Table {
        name: "post",
        groups: &[&[key("post", Kind::Template, Required, URL)], HTTP],
    },
    Table {
        name: "put",
        groups: &[&[key("put", Kind::Template, Required, URL)], HTTP],
    },
    Table {
        name: "patch",
        groups: &[&[key("patch", Kind::Template, Required, URL)], HTTP],
    },
    Table {
        name: "delete",
        groups: &[&[key("delete", Kind::Template, Required, URL)], HTTP],
    },
    Table {
        name: "ws",
        groups: &[
            &[key(
                "ws",
                Kind::Any(&[Kind::Template, Kind::Mapping(&WEBSOCKET)]),
                Required,
                "Opens a WebSocket there: a path below the target, or a whole URL; or a mapping",
            )],
            WS,
            super::channels::OPENING,
        ],
    },
    Table {
        name: "sse",
        groups: &[&[
            key(
                "sse",
                Kind::Template,
                Required,
                "Opens a stream of server-sent events there: a path below the target, or a whole URL",
            ),
            STREAM_AUTH,
            key("headers", TEMPLATES, Absent, "Headers of the request"),
            key(
                "reconnect",
                Kind::Any(&[Kind::Duration, Kind::Bool]),
                Text("3s"),
                "After how long a lost stream is opened anew, until the server says otherwise \
                 (`retry`); `false`: its loss ends the session",
            ),
            key(
                "as",
                Kind::Text,
                Text("stream"),
                "What opening it is measured as; opening it anew is `reconnect`",
            ),
            key(
                "timeout",
                Kind::Duration,
                Said("`options.timeout`"),
                "For connecting and the response's head",
            ),
        ]],
    },
    Table {
        name: "poll",
        groups: &[&[
            key(
                "poll",
                Kind::Template,
                Required,
                "Asks there again and again, beside the steps: a path below the target, or a whole URL",
            ),
            STREAM_AUTH,
            key("headers", TEMPLATES, Absent, "Headers of each request"),
            key(
                "every",
                Kind::Duration,
                Said("at once after the response: long polling"),
                "From one request to the next",
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
                "Parts of the response kept in variables, before its messages are looked at",
            ),
            key(
                "status",
                Kind::OneOrMore(&Kind::Scalar),
                Said("100 to 399"),
                "Which statuses are no error",
            ),
            key(
                "pause",
                Kind::Duration,
                Text("1s"),
                "From a failure to the next request",
            ),
            key(
                "as",
                Kind::Text,
                Said("`poll` and the path as written"),
                "What the requests are measured as",
            ),
            key(
                "timeout",
                Kind::Duration,
                Said("`options.timeout`"),
                "From a request being sent to its response's end",
            ),
        ]],
    },
    super::channels::JOIN,
    super::channels::PUSH,
    super::channels::PERFORM,
    super::channels::EMIT,
    super::channels::LEAVE,
    super::tcp::TCP,
    Table {
        name: "send",
        groups: &[&[
            key(
                "send",
                Kind::Json,
                Required,
                "Sends a message: a mapping or list as JSON, text as it is; empty where there are `bytes`",
            ),
            key(
                "bytes",
                Kind::List(&Kind::Map(&Kind::Template)),
                Absent,
                "The message as parts of bytes: numbers (`u8`, `i8`, `u16be`, `u16le`, … `u64le`, `i64le`, `f32be`, … `f64le`), `text`, `json`, `hex`",
            ),
            key(
                "reply",
                Kind::Mapping(&EXPECT),
                Absent,
                "The message that answers it and that is waited for",
            ),
            key(
                "binary",
                Kind::Bool,
                Said("`true` where there are `bytes`, else `false`"),
                "Sends a binary frame over a WebSocket instead of text",
            ),
            key(
                "as",
                Kind::Text,
                Said("the first pair of the message (`op=games`), else `send`"),
                "What it is measured as",
            ),
        ]],
    },
    Table {
        name: "expect",
        groups: &[&[key(
            "expect",
            Kind::Any(&[Kind::Nothing, Kind::Mapping(&EXPECT)]),
            Required,
            "Waits for a message",
        )]],
    },
    Table {
        name: "close",
        groups: &[&[key(
            "close",
            Kind::Any(&[Kind::Nothing, Kind::Count]),
            Said("1000"),
            "Closes the WebSocket with this status and waits for the server's close; or ends the TCP connection, the event stream or the poll",
        )]],
    },
    Table {
        name: "think",
        groups: &[&[key("think", Kind::Dist, Required, "Waits so long")]],
    },
    Table {
        name: "think_seconds",
        groups: &[&[key(
            "think_seconds",
            Kind::Expression,
            Required,
            "Waits as many seconds as this comes to, for each user anew; below zero counts as 0",
        )]],
    },
    Table {
        name: "pace",
        groups: &[&[key(
            "pace",
            Kind::Dist,
            Required,
            "Waits until so long after this step was last due, whatever replies did meanwhile",
        )]],
    },
    Table {
        name: "set",
        groups: &[&[key(
            "set",
            TEMPLATES,
            Required,
            "Variables and their new values",
        )]],
    },
    Table {
        name: "check",
        groups: &[&[
            key(
                "check",
                CHECKS,
                Required,
                "What must hold; the user goes on either way",
            ),
            key(
                "as",
                Kind::Text,
                Text("check"),
                "What failures are counted as",
            ),
        ]],
    },
    Table {
        name: "loop",
        groups: &[&[
            key("loop", Kind::Expression, Required, "How many rounds"),
            key("steps", Kind::Steps, Required, "What is done in each"),
        ]],
    },
    Table {
        name: "forever",
        groups: &[&[key(
            "forever",
            Kind::Steps,
            Required,
            "Done until the run ends",
        )]],
    },
    Table {
        name: "while",
        groups: &[&[
            key(
                "while",
                Kind::Expression,
                Required,
                "Looked at before each round",
            ),
            key("steps", Kind::Steps, Required, "What is done in each"),
        ]],
    },
    Table {
        name: "if",
        groups: &[&[
            key("if", Kind::Expression, Required, "The condition"),
            key("then", Kind::Steps, Required, "Done where it holds"),
            key("else", Kind::Steps, Absent, "Done where it does not"),
        ]],
    },
    Table {
        name: "choose",
        groups: &[&[key(
            "choose",
            Kind::List(&Kind::Mapping(&CHOICE)),
            Required,
            "One branch is drawn by weight and done",
        )]],
    },
    markov::STEP,
    FEED,
    Table {
        name: "transaction",
        groups: &[&[
            key(
                "transaction",
                Kind::Text,
                Required,
                "What the steps together are measured as",
            ),
            key("steps", Kind::Steps, Required, "What belongs to it"),
        ]],
    },
    Table {
        name: "stop",
        groups: &[&[key("stop", Kind::Nothing, Absent, "The user has finished")]],
    },
    Table {
        name: "restart",
        groups: &[&[key(
            "restart",
            Kind::Count,
            Required,
            "Begins the session anew with all its variables, so many times a user at most; then \
             the user has finished",
        )]],
    },
];

pub(crate) static CHOICE: Table = Table {
    name: "branch",
    groups: &[&[
        key(
            "weight",
            Kind::Number,
            Text("1"),
            "Its share among the branches",
        ),
        key("steps", Kind::Steps, Required, "What is done"),
    ]],
};
