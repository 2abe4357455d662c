//! k6's modules, and the script's own.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use plan::K6File;
use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::Declared;
use rquickjs::{Ctx, Exception, Module, Result};

use super::host::{Shared, State};
use crate::commonjs;
use crate::files;

/// The module that all of k6's consist of.
pub(crate) const CORE: &str = "throng:core";
/// The module of HTML pages.
const HTML: &str = "throng:html";
/// The same for scripts whose texts have none of its words.
const NO_HTML: &str = "import { fault } from \"throng:core\";
const none = () => fault(\"the script has to name what it calls: html, submitForm or clickLink\");
export const parseHTML = none;
export const formOf = none;
export const linkOf = none;
";
/// Where the library of k6 is.
const LIBRARY: &str = "https://jslib.k6.io/";

/// The text of one of k6's modules; the error says that there is none here.
fn built_in(name: &str) -> Option<std::result::Result<String, String>> {
    const HTTP: &str = include_str!("../modules/http.js");
    const PAGES: &str = include_str!("../modules/html.js");
    const COOKIES: &str = include_str!("../modules/cookies.js");
    const POLICY: &str = include_str!("../modules/policy.js");
    const CRYPTO: &str = include_str!("../modules/crypto.js");
    const ENCODING: &str = include_str!("../modules/encoding.js");
    const SOCKETS: &str = include_str!("../modules/sockets.js");
    const WS: &str = include_str!("../modules/ws.js");
    const WEBSOCKETS: &str = include_str!("../modules/websockets.js");
    const UTILS: &str = include_str!("../modules/utils.js");
    const SUMMARY: &str = include_str!("../modules/summary.js");
    // What a module exports by names is also in its default export.
    let named = |from: &str, names: &[&str]| {
        let list = names.join(", ");
        format!(
            "import {{ {list} }} from \"{from}\";\nexport {{ {list} }};\nexport default {{ {list} }};\n"
        )
    };
    let parts = |of: &str, names: &[&str]| {
        let list = names.join(", ");
        format!(
            "import {of} from \"throng:{of}\";\nexport const {{ {list} }} = {of};\nexport default {of};\n"
        )
    };
    Some(Ok(match name {
        CORE => core().to_owned(),
        "throng:http" => HTTP.to_owned(),
        "throng:policy" => POLICY.to_owned(),
        "throng:cookies" => COOKIES.to_owned(),
        HTML => PAGES.to_owned(),
        "k6/html" => {
            "import { parseHTML } from \"throng:html\";\nexport { parseHTML };\nexport default { parseHTML };\n"
                .to_owned()
        }
        "throng:crypto" => CRYPTO.to_owned(),
        "throng:sockets" => SOCKETS.to_owned(),
        "k6/ws" => WS.to_owned(),
        "k6/websockets" | "k6/experimental/websockets" => WEBSOCKETS.to_owned(),
        "throng:encoding" => ENCODING.to_owned(),
        "k6" => named(CORE, &["check", "fail", "group", "randomSeed", "sleep"]),
        "k6/metrics" => named(CORE, &["Counter", "Gauge", "Rate", "Trend"]),
        "k6/timers" => {
            named(CORE, &["clearInterval", "clearTimeout", "setInterval", "setTimeout"])
        }
        "k6/data" => named(CORE, &["SharedArray"]),
        "k6/execution" => {
            "import { execution } from \"throng:core\";\nexport const { instance, scenario, test, vu } = execution;\nexport default execution;\n"
                .to_owned()
        }
        "k6/http" => {
            let names = [
                "request", "get", "head", "post", "put", "patch", "del", "options", "batch", "asyncRequest", "url",
                "file", "expectedStatuses", "setResponseCallback", "cookieJar", "CookieJar", "FileData",
            ];
            parts("http", &names) + "export { Response } from \"throng:http\";\n"
        }
        "k6/crypto" => {
            let names = [
                "createHash", "createHMAC", "hmac", "randomBytes", "hexEncode", "md5", "sha1", "sha256", "sha384",
                "sha512", "sha512_224", "sha512_256", "ripemd160", "md4",
            ];
            parts("crypto", &names)
        }
        "k6/encoding" => parts("encoding", &["b64encode", "b64decode"]),
        name if name.strip_prefix(LIBRARY).is_some_and(|rest| rest.starts_with("k6-utils/")) => {
            UTILS.to_owned()
        }
        name if name.strip_prefix(LIBRARY).is_some_and(|rest| rest.starts_with("k6-summary/")) => {
            SUMMARY.to_owned()
        }
        name if name == "k6" || name.starts_with("k6/") => {
            return Some(Err(format!(
                "the module `{name}` of k6 is not supported here; docs/k6.md lists those that are"
            )));
        }
        _ => return None,
    }))
}

/// The text of [`CORE`].
pub(crate) fn core() -> &'static str {
    include_str!("../modules/core.js")
}

/// The files of a script, by their paths.
pub(crate) type Texts = Rc<RefCell<BTreeMap<String, Arc<[u8]>>>>;

/// The files of a script, modules as they are evaluated.
pub(crate) fn texts(files: &[K6File]) -> Texts {
    let texts = files.iter().map(|file| {
        let bytes = match std::str::from_utf8(&file.bytes) {
            Ok(text) if file.is_module() => match commonjs::module(text) {
                Cow::Borrowed(_) => Arc::clone(&file.bytes),
                Cow::Owned(text) => text.into_bytes().into(),
            },
            _ => Arc::clone(&file.bytes),
        };
        (file.name.clone(), bytes)
    });
    Rc::new(RefCell::new(texts.collect()))
}

/// An import of a file that was not given.
#[derive(Debug, Clone)]
pub(crate) struct Missing {
    pub(crate) file: String,
    /// The file that wants it.
    pub(crate) base: String,
    /// As it is written there.
    pub(crate) written: String,
}

/// Finds modules, and notes which files are missing.
#[derive(Clone)]
pub(crate) struct Modules {
    pub(crate) texts: Texts,
    shared: Rc<Shared>,
    pub(crate) missing: Rc<RefCell<Vec<Missing>>>,
    /// An import that leads nowhere, and why.
    pub(crate) refused: Rc<RefCell<Option<(Missing, String)>>>,
}

impl Modules {
    pub(crate) fn new(state: &State) -> Modules {
        Modules {
            texts: Rc::clone(&state.texts),
            shared: Rc::clone(&state.shared),
            missing: Rc::default(),
            refused: Rc::default(),
        }
    }
}

impl Resolver for Modules {
    fn resolve<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        base: &str,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> Result<String> {
        let refuse = |message: String| {
            let import =
                Missing { file: String::new(), base: base.to_owned(), written: name.to_owned() };
            let error = Exception::throw_reference(ctx, &message);
            *self.refused.borrow_mut() = Some((import, message));
            Err(error)
        };
        match built_in(name) {
            Some(Ok(_)) => return Ok(name.to_owned()),
            Some(Err(message)) => return refuse(message),
            None => {}
        }
        let is_path = ["https://", "http://", ".", "/"].iter().any(|begin| name.starts_with(begin));
        let found = match is_path {
            true => files::resolve(base, name),
            false => {
                Err(format!("`{name}` is no module of k6 and no path: paths begin with ./ or ../"))
            }
        };
        let file = match found {
            Ok(file) => file,
            Err(message) => return refuse(message),
        };
        if !self.texts.borrow().contains_key(&file) {
            self.missing.borrow_mut().push(Missing {
                file: file.clone(),
                base: base.to_owned(),
                written: name.to_owned(),
            });
        }
        Ok(file)
    }
}

impl Modules {
    /// Whether the script may look at HTML: most do not, and each of their users would have the module.
    fn looks_at_pages(&self) -> bool {
        let look = || {
            let words = ["html", "submitForm", "clickLink"];
            self.texts.borrow().iter().any(|(name, text)| {
                let has =
                    |word: &&str| text.windows(word.len()).any(|found| found == word.as_bytes());
                name.ends_with("js") && words.iter().any(has)
            })
        };
        let known = self.shared.looks_at_pages.get().unwrap_or_else(look);
        self.shared.looks_at_pages.set(Some(known));
        known
    }
}

impl Loader for Modules {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> Result<Module<'js, Declared>> {
        if name == HTML && !self.looks_at_pages() {
            return Module::declare(ctx.clone(), name, NO_HTML);
        }
        if let Some(Ok(text)) = built_in(name) {
            return Module::declare(ctx.clone(), name, text);
        }
        let text = self.texts.borrow().get(name).cloned();
        match text {
            Some(text) => Module::declare(ctx.clone(), name, text.to_vec()),
            None => Err(Exception::throw_reference(ctx, &format!("there is no file `{name}`"))),
        }
    }
}
