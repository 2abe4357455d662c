//! The words, by where they are written.

use super::{Words, form, key};

/// Steps that wait; they are also written into other steps.
pub(super) const WAITS: &[Words] = &[
    form(
        "sleep pause wait delay timer thinktime waittime",
        "write `think: 1s`, or `think: 1s..5s` for a random time",
    ),
    form("pacing constantpacing constantthroughput", "write `pace: 10s`"),
];

/// Other steps.
pub(super) const STEP: &[Words] = &[
    form(
        "repeat for times iterate iterations rounds count loopcount",
        "write `loop: 10` with `steps`",
    ),
    form(
        "during duration",
        "write `loop: 10` or `forever`; how long users come is `for` of a phase in `arrivals`",
    ),
    form("aslongas dowhile until whiletrue", "write `while: CONDITION` with `steps`"),
    form("doif doiforelse iftrue condition", "write `if: CONDITION` with `then` and `else`"),
    form(
        "switch doswitch randomswitch uniformrandomswitch roundrobinswitch random oneof weighted",
        "write `choose: [ { weight: 3, steps: […] }, … ]`",
    ),
    form(
        "flow tasks scenario scenarios exec",
        "the steps of a session stand in a list under its name in `sessions`",
    ),
    form(
        "batch resources",
        "write `parallel: [ { get: /a }, { get: /b } ]`, whose branches run at the same time",
    ),
    form(
        "request requests url uri path fetch visit goto navigate",
        "write `get: /path`, or `http: METHOD /path`",
    ),
    form(
        "barrier synchronize synchronizingtimer synctimer syncpoint",
        "write `rendezvous: NAME`, and `shared: { rendezvous: { NAME: 500 } }` at the top level",
    ),
    form(
        "counter increment uniqueid sequence",
        "write `next: { number: NAME }`, and `shared: { counters: { NAME: } }` at the top level",
    ),
    form(
        "produce consume fifo fifoput fifopop",
        "write `enqueue: NAME` and `dequeue: NAME`, and `shared: { queues: { NAME: } }` at the top level",
    ),
    form("options", "write `http: OPTIONS /path`"),
    form("websocket wsconnect connect", "write `ws: /path`"),
    form("eventsource events", "write `sse: /path`"),
    form("receive recv await waitfor waitformessage", "write `expect: { when: … }`"),
    form("message sendmessage sendtext sendbytes", "write `send: …`"),
    form("disconnect", "write `close:`"),
    form(
        "assert asserts assertion assertions verify validate checks",
        "write `check: CONDITION`, also as a key of a request",
    ),
    form(
        "capture captures extract extractor store saveas",
        "`save` is a key of a request: `save: { id: /id }`",
    ),
    form(
        "variables vars var let define assign setvariable setvariables",
        "write `set: { name: value }`",
    ),
    form("csv feeder dataset data", "write `feed: NAME`, with the file under `data`"),
    form("exit exithere exithereiffailed break return end abort", "write `stop:`"),
    form(
        "function script code javascript python groovy",
        "there are no scripts: `set`, `if` and expressions compute values",
    ),
    form("auth login", "`auth` is a key of a request, and of `options` for all of them"),
];

/// Requests.
pub(super) const REQUEST: &[Words] = &[
    key(
        "status",
        "statuscode statuscodes expectedstatus expectedstatuses expectstatus responsecode code",
        "write `status: 200`",
    ),
    key(
        "check",
        "expect assert asserts assertion assertions checks validate validations verify",
        "write `status: 200` for the status, and `check: CONDITION` for values that `save` took",
    ),
    key(
        "save",
        "capture captures extract extractor extractors store saveas jsonpath regex variables",
        "write `save: { name: /pointer }`, or for a place that is no JSON `{ regex: … }` or `{ header: … }`",
    ),
    key("as", "name label alias title requestname", "write `as: NAME` for the name of the measure"),
    key("json", "jsonbody bodyjson", "write `json: { … }`"),
    key(
        "body",
        "data payload content text rawbody bodytext postdata",
        "write `json: { … }`, `form: { … }` or `body: TEXT`",
    ),
    key("form", "formdata formparams formparam urlencoded fields", "write `form: { … }`"),
    form(
        "query qs params queryparams queryparam parameters querystring args",
        "write the query into the path: `/search?q=${q}`",
    ),
    form(
        "followredirect followredirects allowredirects maxredirects redirect",
        "write `redirects: 10` to follow up to 10, or `redirects: 0` for none",
    ),
    form("iftrue when condition", "put the request into the steps of an `if`"),
    form("repeat count times", "put the request into the steps of a `loop`"),
];

/// Words for the content of a request's own key.
pub(super) const ADDRESS: &[Words] = &[form(
    "method url uri path",
    "the step's own key has both: `post: /path`, or `http: METHOD /path`",
)];

/// The top level.
pub(super) const TOP: &[Words] = &[
    key(
        "sessions",
        "scenarios scenario flow flows tasks steps requests journeys threadgroups threadgroup",
        "write `sessions: { visitor: [ { get: / }, … ] }`",
    ),
    key(
        "arrivals",
        "stages phases load executor executors injection loadprofile arrivalrate rate rampup spawnrate",
        "write `arrivals: [ { ramp: 0/s..50/s, for: 1m }, … ]`",
    ),
    key(
        "arrivals",
        "vus maxvus users usercount concurrency threads connections iterations",
        "write `arrivals: [ { users: 50, for: 5m } ]` for a fixed number of users",
    ),
    form(
        "duration for runtime time maxduration",
        "each phase of `arrivals` has its own: `{ constant: 10/s, for: 5m }`",
    ),
    key(
        "target",
        "baseurl url host hostname server servers endpoint site address",
        "write `target: http://HOST:PORT/`",
    ),
    key(
        "params",
        "variables vars env environment",
        "write `params: { name: value }`, and `${name}` where it is used",
    ),
    key(
        "options",
        "config settings defaults http",
        "the server is `target`, users come by `arrivals`, and all else that holds for the run is in `options`",
    ),
    key(
        "thresholds",
        "assertions assertion assert checks check ensure slo slos criteria",
        "write `thresholds: [ p95 < 300ms, error_rate < 1% ]`",
    ),
    key(
        "data",
        "csv feeder feeders payload dataset datasets files",
        "write `data: { accounts: { file: accounts.csv } }`, and `feed: accounts` as a step",
    ),
    form(
        "think thinktime waittime sleep pause",
        "write it as a step of a session: `- think: 1s..5s`",
    ),
    form("before beforeall onstart", "write `setup: [ … ]`: its steps run once before users start"),
    form("after afterall onstop", "write `teardown: [ … ]`: its steps run once after the users"),
];

/// A session that is a mapping.
pub(super) const SESSION: &[Words] = &[
    key("weight", "probability percentage share", "write `weight: 3`"),
    form("name", "the session's name is its key under `sessions`"),
    form(
        "users vus duration rate stages executor arrivals iterations rampup",
        "how users arrive stands in `arrivals` at the top level",
    ),
    form(
        "thinktime waittime think sleep pause",
        "write it as a step of the session: `- think: 1s..5s`",
    ),
];

/// Mappings whose `steps` are a body.
pub(super) const BODY: &[Words] =
    &[key("steps", "flow tasks requests actions exec do body then each", "write `steps: [ … ]`")];

/// `if`.
pub(super) const BRANCHES: &[Words] = &[
    key("then", "steps do body flow", "write `then: [ … ]`"),
    key("else", "otherwise elsesteps", "write `else: [ … ]`"),
];

/// Run-wide settings.
pub(super) const OPTIONS: &[Words] = &[
    key(
        "tls",
        "insecure insecureskiptlsverify skiptlsverify verify verifyssl rejectunauthorized",
        "write `tls: { verify: false }`",
    ),
    key("headers", "useragent", "write `headers: { user-agent: … }`"),
    form(
        "stages vus users duration rate scenarios executor iterations",
        "how users arrive stands in `arrivals` at the top level",
    ),
    form("baseurl url host", "write `target: http://HOST:PORT/` at the top level"),
    form(
        "followredirects followredirect maxredirects",
        "write `redirects: 10` to follow up to 10, or `redirects: 0` for none",
    ),
];

/// Files.
pub(super) const DATA: &[Words] = &[
    key("file", "path filename csv source src", "write `file: NAME.csv`"),
    key(
        "columns",
        "fields variablenames names header headers columnnames",
        "write `columns: [a, b]`, which is only needed if the file has no header row",
    ),
    key("separator", "delimiter sep", "write `separator: \";\"`"),
    key(
        "order",
        "strategy mode sharing random shuffle unique circular queue",
        "write `order: sequential`, `random`, `unique`, `once`, `zipfian`, `latest` or `hotspot`",
    ),
    key(
        "end",
        "recycle loop wrap stopthread onend",
        "write `end: wrap`, `stop` or `error` for what follows the last row",
    ),
];

/// A threshold that is a mapping.
pub(super) const ABORT: &[Words] = &[
    key("abort", "threshold condition", "write `abort: error_rate < 20%`"),
    form("abortonfail", "write `abort: error_rate < 20%`: a threshold alone ends no run"),
    key("after", "delayaborteval delay", "write `after: 30s`"),
    key("over", "window last for", "write `over: 10s`"),
];

/// An included file.
pub(super) const INCLUDE: &[Words] = &[
    key("file", "path name source src", "write `file: NAME.yaml`"),
    key(
        "with",
        "params parameters vars variables args arguments values env",
        "write `with: { name: value }` for the parameters of the file",
    ),
];

/// `save` as a mapping.
pub(super) const SAVE: &[Words] = &[
    key(
        "pointer",
        "jsonpath json path jsonpointer jmespath",
        "write `pointer: /items/0/id`; `$.items[0].id` means the same",
    ),
    key(
        "css",
        "xpath selector",
        "write `css: \"input[name=csrf]\"`, with `attr: value` for an attribute: CSS selectors find elements of HTML pages",
    ),
    key(
        "regex",
        "boundary pattern regexp",
        "write `regex: \"name=\\\"([^\\\"]*)\"`: documents that are no JSON are searched by regular expressions",
    ),
    form("name var variable", "the variable's name is the key: `save: { id: /id }`"),
];

/// Words for the reply that a step waits for.
pub(super) const REPLY: &[Words] = &[
    key("within", "timeout wait for duration", "write `within: 5s`"),
    key(
        "when",
        "match matches where pattern contains",
        "write `when: { /type: hello }`, or `when: { regex: … }`",
    ),
];

/// Kinds of phases.
pub(super) const PHASE: &[Words] = &[
    form(
        "vus virtualusers usercount threads concurrency population constantvus constantconcurrentusers",
        "write `users: 50` for a fixed number of users",
    ),
    form(
        "arrivalrate rate rps qps tps constantarrivalrate constantuserspersec spawnrate requestspersecond",
        "write `constant: 10/s`, or `poisson: 10/s`",
    ),
    form(
        "rampto ramping rampup rampusers ramprate rampuserspersec rampingarrivalrate target stages",
        "write `ramp: 0/s..50/s`",
    ),
    form(
        "rampingvus rampconcurrentusers",
        "write phases like `{ users: 0..50, for: 1m }` and `{ users: 50, for: 5m }`",
    ),
    form(
        "pause nothingfor wait sleep idle",
        "write `hold: 30s` for a time in which no user starts",
    ),
    form("duration for time", "begin with the kind of phase: `{ constant: 10/s, for: 1m }`"),
    form(
        "iterations sharediterations pervuiterations",
        "write `{ users: 10, iterations: 1000, for: 10m }`, or `iterations: 100 each`",
    ),
    form("atonceusers atonce", "write `{ constant: 100/s, for: 1s }` for many users at once"),
];

/// Keys of phases.
pub(super) const PHASE_KEYS: &[Words] = &[
    key("for", "duration time during length", "write `for: 1m`"),
    key(
        "users_max",
        "maxvusers maxvus maxusers arrivalcount limit",
        "write `users_max: 1000` for the number of users that the phase starts",
    ),
    key("session", "scenario exec task flow", "write `session: NAME`"),
    key("sessions", "scenarios weights", "write `sessions: { NAME: 3, OTHER: 1 }`"),
    form("rampto to", "write `ramp: 10/s..50/s`"),
];

/// Names and functions in expressions.
pub(super) const EXPRESSION: &[Words] = &[
    form("vu threadnum exec.vu.idintest", "write `user`, the user's number"),
    form("iter exec.vu.iterationinscenario", "write `iteration`, which counts the user's sessions"),
    form(
        "randomintbetween random.randint random.randrange random",
        "write `random(1, 100)` for a whole number from 1 to 100",
    ),
    form(
        "math.random random.random",
        "write `random_float(0, 1)`, or `random(1, 100)` for a whole number",
    ),
    form("uuidv4 uuid4 uuid.uuid4 crypto.randomuuid randomuuid uuid", "write `uuid()`"),
    form("randomitem random.choice randomelement", "write `pick('a', 'b')`"),
    form("randomstring", "write `random_string(8)`"),
    form("date.now time.time currenttimemillis timestamp time", "write `now()`"),
    form(
        "status statuscode res.status r.status response.status response.statuscode",
        "write `status: 200` as a key of the request, or `save: { code: status }` to use it later",
    ),
    form(
        "body res.body r.body response.body response.text",
        "write `save: { text: body }` in the request, and then `contains(text, 'part')`",
    ),
    form(
        "res.json r.json response.json jsonpath",
        "save the value first, `save: { id: /id }`, and write `id` here",
    ),
    form(
        "res.timings.duration r.timings.duration responsetime response.time",
        "write a threshold: `thresholds: [ p95 < 500ms ]`",
    ),
    form("parseint parsefloat", "write `int(x)`"),
    form("json.stringify tostring", "write `str(x)`"),
];

/// Methods of values in other languages.
pub(super) const METHODS: &[Words] = &[
    form("length", "write `len(x)`"),
    form("includes contains", "write `contains(text, 'part')`"),
    form("startswith", "write `starts_with(text, 'part')`"),
    form("endswith", "write `ends_with(text, 'part')`"),
    form("tolowercase lower", "write `lower(text)`"),
    form("touppercase upper", "write `upper(text)`"),
    form("tostring", "write `str(x)`"),
];

/// Objects in other languages, whatever of them is meant.
pub(super) const OBJECTS: &[Words] = &[
    form("env process os", "write `env('NAME')`"),
    form(
        "res response",
        "write `status: 200` as a key of the request, and `save: { id: /id }` for a value of the answer",
    ),
];
