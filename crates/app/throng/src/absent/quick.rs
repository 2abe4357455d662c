//! The verbs of a program without pages and systems under test: errors.

/// `throng serve`.
pub(crate) mod serve {
    use crate::args::serve::System;
    use crate::exit::{Exit, Failure};

    pub(crate) fn serve(_: System) -> Result<Exit, Failure> {
        Err(Failure::hinted(
            Exit::Usage,
            "this program was built without the built-in systems".to_owned(),
            "build it with its default features, or name the URL of a system of your own as the target",
        ))
    }
}

/// `throng ui`.
pub(crate) mod ui {
    use crate::args::UiArgs;
    use crate::exit::{Exit, Failure};
    use crate::pages;

    pub(crate) fn ui(_: &UiArgs) -> Result<Exit, Failure> {
        Err(pages::none())
    }
}
