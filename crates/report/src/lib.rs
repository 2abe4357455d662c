//! Renders a run and its findings for people: the live screen, plain lines, the verdict.
