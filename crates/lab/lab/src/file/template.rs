//! Texts with `${…}` that are filled in for each instance of a service.

/// A text in pieces.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Template {
    /// In their order.
    pub pieces: Vec<Piece>,
}

/// A piece of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// As it stands.
    Text(String),
    /// `${host}`: the address of the instance's host.
    Host,
    /// `${region}`: the region of the instance's host.
    Region,
    /// `${name}`: the name of the instance's host.
    Name,
    /// `${folder}`: the instance's own directory.
    Folder,
    /// `${lab}`: the directory of the lab's file.
    Lab,
    /// `${certificate}`, `${key}` or `${authority}`: a file of the lab's certificate.
    Certificate(CertificateFile),
    /// `${SERVICE.address}` and the like: of another service.
    Of(usize, Property),
}

/// A file of the certificate that a lab makes for all of its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CertificateFile {
    /// The certificate.
    Certificate,
    /// The private key of the certificate.
    Key,
    /// The certificate of the authority that signed it.
    Authority,
}

impl CertificateFile {
    /// Name of the file.
    pub fn name(self) -> &'static str {
        match self {
            CertificateFile::Certificate => "certificate.pem",
            CertificateFile::Key => "key.pem",
            CertificateFile::Authority => "authority.pem",
        }
    }
}

/// A property of a service that a template may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Property {
    /// The address of its nearest instance.
    Address,
    /// Port of the service.
    Port,
    /// The URL of its nearest instance, with the password where it has one.
    Url,
    /// Addresses with ports of all instances, separated by commas.
    Addresses,
    /// URLs of all instances, separated by commas.
    Urls,
}

/// Why a text is no template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateError {
    /// The problem.
    pub message: String,
    /// Suggestion of what to write instead.
    pub hint: String,
}

/// Properties and how they are written.
const PROPERTIES: [(&str, Property); 5] = [
    ("address", Property::Address),
    ("port", Property::Port),
    ("url", Property::Url),
    ("addresses", Property::Addresses),
    ("urls", Property::Urls),
];

impl Template {
    /// Whether it is this text and nothing is filled in.
    pub fn is_text(&self, text: &str) -> bool {
        matches!(&self.pieces[..], [Piece::Text(piece)] if piece == text)
    }

    /// Parses a text; `services` are the names that it may use, by number.
    ///
    /// # Errors
    /// A `${` without its end, or a name that is not known.
    pub fn parse(text: &str, services: &[&str]) -> Result<Template, TemplateError> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            if !before.is_empty() {
                pieces.push(Piece::Text(before.to_owned()));
            }
            let Some((name, after)) = after.split_once('}') else {
                return Err(TemplateError {
                    message: format!("`${{{after}` has no end"),
                    hint: "write `}` behind the name".to_owned(),
                });
            };
            pieces.push(piece(name.trim(), services)?);
            rest = after;
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.to_owned()));
        }
        Ok(Template { pieces })
    }

    /// Whether it names a file of the lab's certificate.
    pub fn has_certificate(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Certificate(_)))
    }

    /// The services that it names.
    pub fn services(&self) -> impl Iterator<Item = usize> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Of(service, _) => Some(*service),
            _ => None,
        })
    }

    /// The text; `fill` has the values of the pieces that are no text.
    pub fn fill<E>(&self, fill: impl Fn(&Piece) -> Result<String, E>) -> Result<String, E> {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(piece) => text += piece,
                piece => text += &fill(piece)?,
            }
        }
        Ok(text)
    }
}

fn piece(name: &str, services: &[&str]) -> Result<Piece, TemplateError> {
    match name {
        "host" => return Ok(Piece::Host),
        "region" => return Ok(Piece::Region),
        "name" => return Ok(Piece::Name),
        "folder" => return Ok(Piece::Folder),
        "lab" => return Ok(Piece::Lab),
        "certificate" => return Ok(Piece::Certificate(CertificateFile::Certificate)),
        "key" => return Ok(Piece::Certificate(CertificateFile::Key)),
        "authority" => return Ok(Piece::Certificate(CertificateFile::Authority)),
        _ => {}
    }
    let error = |message: String| {
        TemplateError {
        message,
        hint: "write `${host}`, `${region}`, `${name}`, `${folder}`, `${lab}`, `${certificate}`, `${key}`, `${authority}`, or a service before this one \
               with `.address`, `.port`, `.url`, `.addresses` or `.urls`, like `${redis.url}`"
            .to_owned(),
    }
    };
    let Some((service, property)) = name.rsplit_once('.') else {
        return Err(error(format!("`${{{name}}}` is not known here")));
    };
    let Some(service) = services.iter().position(|known| *known == service) else {
        return Err(error(format!("there is no service `{service}` before this one")));
    };
    match PROPERTIES.iter().find(|(name, _)| *name == property) {
        Some((_, property)) => Ok(Piece::Of(service, *property)),
        None => Err(error(format!("a service has no `{property}`"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_filled_in_and_the_rest_stays() {
        let template = Template::parse("a ${host}:${db.port}$ {x", &["db"]).unwrap();
        let filled = template.fill(|piece| {
            match piece {
                Piece::Host => Ok("198.18.0.1"),
                Piece::Of(0, Property::Port) => Ok("3306"),
                other => Err(format!("{other:?}")),
            }
            .map(str::to_owned)
        });
        assert_eq!(filled.unwrap(), "a 198.18.0.1:3306$ {x");
        assert_eq!(template.services().collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn unknown_names_are_errors() {
        for (text, message) in [
            ("${host", "`${host` has no end"),
            ("${port}", "`${port}` is not known here"),
            ("${api.url}", "there is no service `api` before this one"),
            ("${db.password}", "a service has no `password`"),
        ] {
            assert_eq!(Template::parse(text, &["db"]).unwrap_err().message, message);
        }
    }
}
