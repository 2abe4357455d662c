//! `note.txt`: what somebody wrote about a run, a line of limited length. The only file that is changed after the
//! run has ended.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;

use crate::RecordError;
use crate::controls::is_control;
use crate::index::{check_file, read_beginning};
use crate::whole::temporary;

/// The file's name.
pub const NOTE: &str = "note.txt";
/// Most characters of a note. Percent-encoded, they fit the head of a request.
pub const NOTE_CHARS_MAX: usize = 280;
/// Larger files are no notes: four bytes a character, and a line end.
const NOTE_BYTES_MAX: u64 = 4 * NOTE_CHARS_MAX as u64 + 1;

/// A note, in the form in which it is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Note(Option<String>);

/// Why a text is no note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a note has at most {NOTE_CHARS_MAX} characters, and this one has {0}; write the rest elsewhere"
)]
pub struct NoteTooLong(usize);

impl Note {
    /// The note of this text: a single line, without characters that control a terminal or the direction of
    /// writing. Without a text there is no note.
    ///
    /// # Errors
    /// The text is too long.
    pub fn parse(text: &str) -> Result<Note, NoteTooLong> {
        let visible = text.chars().map(|c| if is_control(c) { ' ' } else { c });
        let visible: String = visible.collect();
        let line = visible.split_whitespace().collect::<Vec<_>>().join(" ");
        match line.chars().count() {
            0 => Ok(Note(None)),
            chars if chars <= NOTE_CHARS_MAX => Ok(Note(Some(line))),
            chars => Err(NoteTooLong(chars)),
        }
    }

    /// The note of a run directory; none if there is no such file, or if it is not one that was written as a note.
    pub fn read(directory: &Path) -> Note {
        let path = directory.join(NOTE);
        let sound = check_file(&path, NOTE_BYTES_MAX).is_ok();
        let bytes = sound.then(|| read_beginning(&path, NOTE_BYTES_MAX).ok());
        let text = bytes.flatten().and_then(|b| String::from_utf8(b).ok());
        text.map_or(Note(None), |text| Note::parse(&text).unwrap_or(Note(None)))
    }

    /// Writes the note into a run directory under a temporary name, and renames it; without a text the file is
    /// removed. Links in the directory are not followed.
    ///
    /// # Errors
    /// I/O errors; then the note is as it was.
    pub fn write(&self, directory: &Path) -> Result<(), RecordError> {
        let path = directory.join(NOTE);
        let Some(text) = &self.0 else {
            return match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    Err(RecordError::io("remove", &path)(error))
                }
                _ => Ok(()),
            };
        };
        let temporary = temporary(&path);
        // A leftover, or whatever else has this name. `create_new` follows no link.
        let _ = fs::remove_file(&temporary);
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).open(&temporary);
        let written = file.and_then(|mut file| file.write_all(format!("{text}\n").as_bytes()));
        written.and_then(|()| fs::rename(&temporary, &path)).map_err(|error| {
            let _ = fs::remove_file(&temporary);
            RecordError::io("write", &path)(error)
        })
    }

    /// The text.
    pub fn text(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(written: &str) -> Option<String> {
        Note::parse(written).unwrap().0
    }

    #[test]
    fn a_note_is_one_visible_line() {
        assert_eq!(text(" new\n\tpool  "), Some("new pool".to_owned()));
        assert_eq!(text("\u{1b}[31mred\u{202e}"), Some("[31mred".to_owned()));
        assert_eq!(text(" \r\n"), None);
        assert_eq!(text("<b>ä ✎</b>"), Some("<b>ä ✎</b>".to_owned()));
    }

    #[test]
    fn a_note_is_short() {
        let most = "ä".repeat(NOTE_CHARS_MAX);
        assert_eq!(text(&most), Some(most.clone()));
        let error = Note::parse(&(most + "ä")).unwrap_err();
        assert!(error.to_string().contains("at most 280"), "{error}");
    }

    #[test]
    fn a_note_is_kept_replaced_and_removed() {
        let run = tempfile::tempdir().unwrap();
        assert_eq!(Note::read(run.path()).text(), None);
        for written in ["first", "second"] {
            Note::parse(written).unwrap().write(run.path()).unwrap();
            assert_eq!(Note::read(run.path()).text(), Some(written));
        }
        let names = fs::read_dir(run.path()).unwrap();
        assert_eq!(names.count(), 1, "no temporary file is left");
        for _ in 0..2 {
            Note::parse("").unwrap().write(run.path()).unwrap();
            assert_eq!(Note::read(run.path()).text(), None);
        }
    }

    #[test]
    fn links_are_neither_read_nor_followed() {
        let space = tempfile::tempdir().unwrap();
        let run = space.path().join("run");
        fs::create_dir(&run).unwrap();
        let outside = space.path().join("outside");
        fs::write(&outside, "secret").unwrap();
        for name in [NOTE, "note.txt.tmp"] {
            std::os::unix::fs::symlink(&outside, run.join(name)).unwrap();
        }
        assert_eq!(Note::read(&run).text(), None);
        Note::parse("mine").unwrap().write(&run).unwrap();
        assert_eq!(Note::read(&run).text(), Some("mine"));
        assert_eq!(fs::read_to_string(&outside).unwrap(), "secret");
    }

    #[test]
    fn large_and_binary_files_are_no_notes() {
        let run = tempfile::tempdir().unwrap();
        for bytes in [vec![b'a'; 2_000], vec![0xff, 0xfe]] {
            fs::write(run.path().join(NOTE), bytes).unwrap();
            assert_eq!(Note::read(run.path()).text(), None);
        }
    }
}
