//! The scenario that a run of a bare URL stands for.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use plan::is_secret_header;
use plan::secret::{SecretNames, hide_named, named_values};

use crate::check::percent_decoded;

/// How a bare URL is loaded.
#[derive(Debug, Clone, PartialEq)]
pub enum Load<'a> {
    /// This number of users, each sending its next request as soon as the last is answered.
    Users(u64),
    /// A request rate, as written: `100/s`.
    Rate(&'a str),
}

/// A run of a bare URL. Values are taken as they were typed; what is wrong with them is reported
/// when the scenario is compiled.
#[derive(Debug, Clone, PartialEq)]
pub struct UrlRun<'a> {
    /// The URL to request.
    pub url: &'a str,
    /// Closed or open load.
    pub load: Load<'a>,
    /// Length of the load, as written: `30s`.
    pub duration: &'a str,
    /// `None`: `GET`, or `POST` where there is a body.
    pub method: Option<&'a str>,
    /// Names and values.
    pub headers: &'a [(String, String)],
    /// The request's body.
    pub body: Option<&'a str>,
}

/// The scenario that a bare URL stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlScenario {
    pub text: String,
    /// The URL without credentials and the values of secret names.
    pub name: String,
    /// Overrides of its parameters: the URL's password, the values of secret headers and of secret names in the URL and the
    /// body, which the text does not have.
    pub sets: Vec<(String, String)>,
}

/// One session with one request, repeated without a pause by each user of a closed load and made once by each
/// user of an open one.
pub fn url_scenario(run: &UrlRun<'_>) -> UrlScenario {
    let (url, credentials) = without_credentials(run.url);
    let mut headers = run.headers.to_vec();
    let is_authorization =
        |(name, _): &(String, String)| name.eq_ignore_ascii_case("authorization");
    if !headers.iter().any(is_authorization) {
        let basic = credentials.map(|text| format!("Basic {}", STANDARD.encode(text)));
        headers.extend(basic.map(|basic| ("Authorization".to_owned(), basic)));
    }
    let (origin, path) = split_url(&url);
    let method = run.method.unwrap_or(if run.body.is_some() { "POST" } else { "GET" });
    let mut sets = Vec::new();
    let path = without_secrets(&path, "${raw(NAME)}", &mut sets);
    let body = run.body.map(|body| without_secrets(body, "${NAME}", &mut sets));
    let mut request = format!("http:\n    method: {}\n    url: {path}\n", quoted(method));
    if !headers.is_empty() {
        request.push_str("    headers:\n");
        for (number, (name, value)) in headers.iter().enumerate() {
            let mut written = quoted(value);
            if is_secret_header(name) {
                let param = format!("header_{}", number + 1);
                sets.push((param.clone(), written));
                written = format!("\"${{{param}}}\"");
            }
            put(&mut request, format_args!("      {}: {written}\n", quoted(name)));
        }
    }
    if let Some(body) = body {
        put(&mut request, format_args!("    body: {body}\n"));
    }
    let duration = quoted(run.duration);
    let (steps, options, phase) = match &run.load {
        Load::Users(users) => (
            format!("- forever:\n    - {}", request.replace("\n  ", "\n      ")),
            "",
            format!("{{ users: {users}, for: {duration} }}"),
        ),
        // Users who come once share connections, as the clients of a busy proxy do.
        Load::Rate(rate) => (
            format!("- {request}"),
            "options:\n  http_connections: shared\n",
            format!("{{ constant: {}, for: {duration} }}", quoted(rate)),
        ),
    };
    let steps = steps.trim_end().replace('\n', "\n    ");
    let mut params = String::new();
    for (param, _) in &sets {
        let begin = if params.is_empty() { "params:\n" } else { "" };
        put(&mut params, format_args!("{begin}  {param}: \"\"\n"));
    }
    let text = format!(
        "name: url\ntarget: {}\n{params}{options}sessions:\n  request:\n    {steps}\narrivals:\n  - {phase}\n",
        quoted(&origin),
    );
    let mut name = url.clone();
    hide_named(&mut name, &SecretNames::default());
    UrlScenario { text, name, sets }
}

/// Text as a YAML double-quoted scalar in which parameters stand for the values of secret names. `used` is how one
/// stands there.
fn without_secrets(text: &str, used: &str, sets: &mut Vec<(String, String)>) -> String {
    let mut written = String::from("\"");
    let mut from = 0;
    let inner = |text: &str| {
        let whole = quoted(text);
        whole[1..whole.len() - 1].to_owned()
    };
    for value in named_values(text, &SecretNames::default()) {
        let param = format!("secret_{}", sets.len() + 1);
        written += &inner(&text[from..value.start]);
        written += &used.replace("NAME", &param);
        from = value.end;
        sets.push((param, quoted(&text[value])));
    }
    written += &inner(&text[from..]);
    written + "\""
}

/// A URL without user name and password, and these as `user:password` (RFC 3986, section 3.2.1).
fn without_credentials(url: &str) -> (String, Option<String>) {
    let Some((scheme, rest)) = url.split_once("://") else {
        return (url.to_owned(), None);
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let Some((credentials, host)) = rest[..end].rsplit_once('@') else {
        return (url.to_owned(), None);
    };
    let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
    let [user, password] =
        [user, password].map(|text| percent_decoded(text).unwrap_or_else(|| text.to_owned()));
    (format!("{scheme}://{host}{}", &rest[end..]), Some(format!("{user}:{password}")))
}

/// A URL's scheme and host without credentials, and the path behind them.
pub fn split_url(url: &str) -> (String, String) {
    let (url, _) = without_credentials(url.split('#').next().unwrap_or(url));
    let host = url.find("://").map_or(0, |at| at + 3);
    let end = url[host..].find(['/', '?']).map_or(url.len(), |at| host + at);
    let (origin, path) = url.split_at(end);
    let slash = if path.starts_with('/') { "" } else { "/" };
    (origin.to_owned(), format!("{slash}{path}"))
}

/// Text as a YAML double-quoted scalar that holds no expression.
fn quoted(text: &str) -> String {
    let json = serde_json::Value::from(text.replace("${", "\\${")).to_string();
    // JSON may hold these two bare; YAML takes them for line breaks.
    json.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("writing to a String cannot fail");
}
