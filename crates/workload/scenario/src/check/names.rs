//! Parameters, and what names mean in expressions.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use grpc::Schema;

use crate::keys::DOCUMENT;
use plan::Slot;
use plan::expr::{Expr, Value};

use super::library::Scripts;
use super::parallel::{OF_ANOTHER_BRANCH, is_hidden};
use super::{Checker, Settings};
use crate::document::node::{Node, Place};
use crate::document::suggest;
use crate::expression::{Scope, is_name, reserved_as};

/// A parameter.
pub(super) struct Param {
    pub(super) name: String,
    pub(super) value: Value,
    /// The place of the value.
    pub(super) place: Place,
    pub(super) used: Cell<bool>,
}

/// The names that can be used at some place of the scenario.
pub(super) struct Names<'c> {
    params: &'c [Param],
    /// The session's variables so far; `None` where no user is running.
    slots: Option<&'c [String]>,
    /// Variables that all users share.
    shared: &'c [String],
    settings: &'c Settings<'c>,
    scripts: &'c RefCell<Scripts>,
    /// What the `.proto` files define; `None`: none is named, or one is wrong.
    schema: Option<&'c Arc<Schema>>,
    /// The place of the value that overrides the parameter looked up last.
    pub(super) overridden: RefCell<Option<Place>>,
}

impl<'c> Names<'c> {
    pub(super) fn new(checker: &'c Checker<'_>, slots: Option<&'c [String]>) -> Names<'c> {
        Names {
            params: &checker.params,
            slots,
            shared: slots.map_or(&[], |_| &checker.shared),
            settings: checker.settings,
            scripts: &checker.scripts,
            schema: checker.schema.as_ref(),
            overridden: RefCell::new(None),
        }
    }
}

impl Scope for Names<'_> {
    fn lookup(&self, name: &str) -> Option<Expr> {
        if let Some(param) = self.params.iter().find(|p| p.name == name) {
            param.used.set(true);
            if param.place.set.is_some() {
                *self.overridden.borrow_mut() = Some(param.place.clone());
            }
            return Some(Expr::Const(param.value.clone()));
        }
        let place = |names: &[String]| {
            let at = names.iter().position(|known| known == name)?;
            u16::try_from(at).ok().map(Slot)
        };
        let own = place(self.slots?).map(Expr::Var);
        own.or_else(|| place(self.shared).map(Expr::Shared))
    }

    fn names(&self) -> Vec<&str> {
        let slots = self.slots.unwrap_or_default().iter();
        // Names with a space are internal, and no variables of the scenario.
        slots
            .filter(|name| !name.contains(' '))
            .chain(self.shared)
            .chain(self.params.iter().map(|p| &p.name))
            .map(String::as_str)
            .collect()
    }

    fn env(&self, name: &str) -> Option<String> {
        (self.settings.env)(name)
    }

    fn file(&self, name: &str) -> Result<String, String> {
        (self.settings.files)(name)
    }

    fn message(&self, name: &str) -> Result<(Arc<Schema>, u32), String> {
        let Some(schema) = self.schema else {
            return Err("no `.proto` file that could be read is named: write `grpc: { protos: [shop.proto] }` \
                        beside `target`"
                .to_owned());
        };
        let place = schema.messages.iter().position(|message| message.name == name);
        let number = place.and_then(|place| u32::try_from(place).ok());
        let number =
            number.ok_or_else(|| format!("the `.proto` files have no message `{name}`"))?;
        Ok((Arc::clone(schema), number))
    }

    fn script(&self, name: &str) -> Result<Option<u16>, String> {
        let found = self.scripts.borrow_mut().function(name);
        match (found, self.slots) {
            (Some(_), None) => {
                Err(format!("`{name}` is a function of the script, which runs for users alone"))
            }
            (found, _) => Ok(found),
        }
    }

    fn script_names(&self) -> Vec<String> {
        self.scripts.borrow().names().to_vec()
    }

    fn unknown_hint(&self, name: &str) -> Option<String> {
        if self.slots.is_some_and(|slots| is_hidden(name, slots)) {
            return Some(OF_ANOTHER_BRANCH.to_owned());
        }
        if self.slots.is_some() || suggest::nearest(name, self.names()).is_some() {
            return None;
        }
        Some("only parameters (`params`) and env('NAME') are allowed here".to_owned())
    }
}

impl Checker<'_> {
    /// Reads `params`; each may use those before it.
    pub(super) fn params(&mut self, node: &Node) {
        let Some(entries) = node.mapping() else {
            self.expected(node, "a mapping of names and values");
            return;
        };
        for entry in entries {
            self.param_name(&entry.key, &entry.key_place);
            self.note_variable(&entry.key, &entry.value);
            let (value, place) = match self.word(&entry.value, "a number, word or text") {
                Some(word) if word.quoted => (Value::text(&word.text), word.place),
                Some(word) => (Value::from_plain(&word.text), word.place),
                None => (Value::Nothing, entry.value.place.clone()),
            };
            let used = Cell::new(false);
            self.params.push(Param { name: entry.key.clone(), value, place, used });
        }
    }

    fn param_name(&mut self, name: &str, place: &Place) {
        if DOCUMENT.key(name).is_some() {
            let message = format!("a parameter cannot be named `{name}`");
            self.diagnostics
                .error("bad-name", place, message)
                .hint(format!("`--set {name}=…` would mean the scenario's own key"));
        } else {
            self.variable_name(name, place);
        }
    }

    /// Whether a text can name a variable; reports it if not.
    pub(super) fn variable_name(&mut self, name: &str, place: &Place) -> bool {
        if is_name(name) {
            return true;
        }
        let hint = match reserved_as(name) {
            Some((meaning, instead)) => format!("{meaning}; write {instead} or another name"),
            None => "a name starts with a letter and contains letters, digits and _".to_owned(),
        };
        self.diagnostics
            .error("bad-name", place, format!("`{name}` cannot be a variable"))
            .hint(hint);
        false
    }

    /// Warns of parameters that nothing looked at.
    pub(super) fn unused_params(&mut self) {
        for param in self.params.iter().filter(|p| !p.used.get()) {
            let message = format!("the parameter `{}` is never used", param.name);
            self.diagnostics.warning("unused-param", &param.place, message);
        }
    }
}
