//! Distributions of durations.

use std::sync::Arc;

use crate::keys::{DIST, GAMMA, LOGNORMAL, MIXTURE_PART, NORMAL, PARETO, Table, UNIFORM, WEIBULL};
use plan::expr::value::Number;
use stats::dist::Dist;
use units::parse::{self, UnitError};

use super::fields::Fields;
use super::files::File;
use super::words::DURATION_MAX_S;
use super::{Checker, translation};
use crate::document::node::Node;

/// Most values of an empirical distribution.
const VALUES_MAX: usize = 1_000_000;

impl Checker<'_> {
    /// A duration, `1s..15s`, or a mapping with one distribution.
    pub(super) fn dist(&mut self, node: &Node) -> Option<Dist> {
        if node.mapping().is_none() {
            return self.short_dist(node);
        }
        let diagnostics = self.diagnostics.count();
        let fields = self.fields(node, &DIST, "the distribution")?;
        let chosen: Vec<_> = DIST
            .names()
            .filter(|name| !matches!(*name, "min" | "max"))
            .filter_map(|name| Some((name, fields.get(name)?)))
            .collect();
        let [(name, value)] = chosen[..] else {
            if chosen.is_empty() && self.diagnostics.count() > diagnostics {
                return None;
            }
            self.diagnostics
                .error("bad-distribution", &node.place, "exactly one distribution is needed here")
                .hint("write it like { exponential: 5s } or { uniform: { min: 1s, max: 15s } }");
            return None;
        };
        let inner = self.named_dist(name, value)?;
        if let Err(error) = inner.validate() {
            self.require(false, value, &error.to_string())?;
        }
        self.clamped(inner, &fields)
    }

    /// `3s` or `1s..15s`.
    fn short_dist(&mut self, node: &Node) -> Option<Dist> {
        self.unit(node, "bad-duration", "a duration or distribution", |text| {
            let Some((low, high)) = text.split_once("..") else {
                let seconds =
                    parse::duration(text).map_err(|error| {
                        match translation::range_meant(text) {
                            Some(range) => UnitError { hint: format!("write {range}"), ..error },
                            None => error,
                        }
                    })?;
                return in_range(seconds, text).map(Dist::Constant);
            };
            let min = in_range(parse::duration(low.trim())?, text)?;
            let max = in_range(parse::duration(high.trim())?, text)?;
            if min < max {
                return Ok(Dist::Uniform { min, max });
            }
            Err(UnitError {
                message: format!("`{text}` is empty: its end is not above its start"),
                hint: format!("write {}..{}", high.trim(), low.trim()),
            })
        })
    }

    fn named_dist(&mut self, name: &str, node: &Node) -> Option<Dist> {
        match name {
            "uniform" => {
                let fields = self.parameters(node, &UNIFORM)?;
                let min = self.parameter(&fields, "min");
                let max = self.parameter(&fields, "max");
                let min = min?;
                let max = max?;
                self.require(min < max, node, "`max` must be above `min`")?;
                Some(Dist::Uniform { min, max })
            }
            "exponential" => Some(Dist::Exponential { mean: self.positive_seconds(node)? }),
            "normal" => {
                let fields = self.parameters(node, &NORMAL)?;
                let mean = self.parameter(&fields, "mean");
                let sd = self.parameter(&fields, "sd");
                Some(Dist::Normal { mean: mean?, sd: sd? })
            }
            "lognormal" => self.lognormal(node),
            "weibull" => {
                let (scale, shape) = self.scale_and_shape(node, &WEIBULL)?;
                Some(Dist::Weibull { scale, shape })
            }
            "pareto" => {
                let (scale, shape) = self.scale_and_shape(node, &PARETO)?;
                Some(Dist::Pareto { scale, shape })
            }
            "gamma" => {
                let fields = self.parameters(node, &GAMMA)?;
                let shape = fields.get("shape").and_then(|node| self.positive_number(node));
                let (which, value) = self.either(&fields, node, "scale", "mean")?;
                let shape = shape?;
                let scale = if which == "mean" { value / shape } else { value };
                Some(Dist::Gamma { shape, scale })
            }
            "empirical" => self.empirical(node),
            _ => self.mixture(node),
        }
    }

    fn parameters<'n>(&mut self, node: &'n Node, table: &'static Table) -> Option<Fields<'n>> {
        self.fields(node, table, &format!("`{}`", table.name))
    }

    fn parameter(&mut self, fields: &Fields<'_>, key: &str) -> Option<f64> {
        let node = fields.get(key)?;
        self.unit(node, "bad-duration", "a duration", |t| in_range(parse::duration(t)?, t))
    }

    fn positive_seconds(&mut self, node: &Node) -> Option<f64> {
        let seconds =
            self.unit(node, "bad-duration", "a duration", |t| in_range(parse::duration(t)?, t))?;
        self.require(seconds > 0.0, node, "this must be above 0").map(|()| seconds)
    }

    fn positive_number(&mut self, node: &Node) -> Option<f64> {
        let number = self.number(node)?;
        self.require((1e-6..=1e6).contains(&number), node, "this must be in 0.000001..=1000000")
            .map(|()| number)
    }

    fn require(&mut self, holds: bool, node: &Node, message: &str) -> Option<()> {
        if !holds {
            self.diagnostics.error("bad-distribution", &node.place, message);
        }
        holds.then_some(())
    }

    pub(super) fn scale_and_shape(
        &mut self,
        node: &Node,
        table: &'static Table,
    ) -> Option<(f64, f64)> {
        let fields = self.parameters(node, table)?;
        let scale = fields.get("scale").and_then(|node| self.positive_seconds(node));
        let shape = fields.get("shape").and_then(|node| self.positive_number(node));
        scale.zip(shape)
    }

    /// Exactly one of two parameters, above 0.
    fn either(
        &mut self,
        fields: &Fields<'_>,
        node: &Node,
        first: &'static str,
        second: &'static str,
    ) -> Option<(&'static str, f64)> {
        let (which, value) = match (fields.get(first), fields.get(second)) {
            (Some(value), None) => (first, value),
            (None, Some(value)) => (second, value),
            _ => {
                let message = format!("exactly one of `{first}` and `{second}` is needed");
                self.require(false, node, &message)?;
                return None;
            }
        };
        self.positive_seconds(value).map(|seconds| (which, seconds))
    }

    /// The mean of a lognormal is `exp(mu + sigma²/2)`, its median `exp(mu)`.
    fn lognormal(&mut self, node: &Node) -> Option<Dist> {
        let fields = self.parameters(node, &LOGNORMAL)?;
        let sigma = fields.get("sigma").and_then(|node| {
            let sigma = self.number(node)?;
            self.require((0.0..=20.0).contains(&sigma), node, "`sigma` must be in 0..=20")
                .map(|()| sigma)
        });
        let (which, value) = self.either(&fields, node, "median", "mean")?;
        let sigma = sigma?;
        let mu = if which == "mean" { value.ln() - sigma * sigma / 2.0 } else { value.ln() };
        Some(Dist::LogNormal { mu, sigma })
    }

    /// A list of durations, or the name of a file with one a line.
    fn empirical(&mut self, node: &Node) -> Option<Dist> {
        let values = match node.sequence() {
            Some(items) => {
                let code = "bad-duration";
                let what = "a duration";
                let read = |t: &str| in_range(parse::duration(t)?, t);
                let values: Vec<f64> =
                    items.iter().filter_map(|item| self.unit(item, code, what, read)).collect();
                if values.len() < items.len() {
                    return None;
                }
                values
            }
            None => {
                let file = self.file(node)?;
                self.values_of_file(&file)?
            }
        };
        self.require(!values.is_empty(), node, "there are no values")?;
        Some(Dist::Empirical(Arc::from(values)))
    }

    fn values_of_file(&mut self, file: &File) -> Option<Vec<f64>> {
        let hint = "write durations like 250ms, or bare seconds, one per line";
        let read = |text: &str| {
            let value = match Number::parse(text) {
                Some(seconds) => in_range(seconds.as_f64(), text),
                None => parse::duration(text).and_then(|seconds| in_range(seconds, text)),
            };
            value.map_err(|error| error.message)
        };
        let values = self.values_of(file, None, &[], hint, read)?;
        if values.len() > VALUES_MAX {
            let message = format!("`{}` has more than {VALUES_MAX} values", file.name);
            self.diagnostics.error("bad-distribution", &file.place, message);
            return None;
        }
        Some(values)
    }

    fn mixture(&mut self, node: &Node) -> Option<Dist> {
        let Some(items) = node.sequence().filter(|items| !items.is_empty()) else {
            self.expected(node, "a list of parts (`- { weight: 3, of: 1s }`)");
            return None;
        };
        let mut parts = Vec::new();
        for item in items {
            let Some(fields) = self.fields(item, &MIXTURE_PART, "a part of the mixture") else {
                continue;
            };
            let weight = fields.get("weight").map_or(Some(1.0), |node| self.weight(node));
            let of = fields.get("of").and_then(|node| self.dist(node));
            parts.extend(weight.zip(of));
        }
        if parts.len() < items.len() {
            return None;
        }
        let positive = parts.iter().any(|(weight, _)| *weight > 0.0);
        self.require(positive, node, "all parts have weight 0")?;
        Some(Dist::Mixture(Arc::from(parts)))
    }

    /// `min` and `max`, where they are written.
    fn clamped(&mut self, inner: Dist, fields: &Fields<'_>) -> Option<Dist> {
        let low = fields.get("min");
        let high = fields.get("max");
        if low.is_none() && high.is_none() {
            return Some(inner);
        }
        let min = if low.is_some() { self.parameter(fields, "min")? } else { 0.0 };
        let max = if high.is_some() { self.parameter(fields, "max")? } else { DURATION_MAX_S };
        if min > max
            && let Some(node) = high
        {
            self.require(false, node, "`max` must not be below `min`")?;
        }
        Some(Dist::Clamped { inner: Arc::new(inner), min, max })
    }
}

fn in_range(seconds: f64, text: &str) -> Result<f64, UnitError> {
    if (0.0..=DURATION_MAX_S).contains(&seconds) {
        return Ok(seconds);
    }
    Err(UnitError {
        message: format!("`{text}` is out of range"),
        hint: "a duration is from 0 to 366d".to_owned(),
    })
}
