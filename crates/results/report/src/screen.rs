//! A few lines of the terminal that are redrawn in place. The output above them stays.

use std::io::{self, Write};

use crossterm::cursor::{MoveToColumn, MoveUp};
use crossterm::queue;
use crossterm::terminal::{BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate};

/// The last frame on a terminal.
#[derive(Debug)]
pub struct Screen<W: Write> {
    out: W,
    /// Lines of the frame above the cursor.
    drawn: u16,
}

impl<W: Write> Screen<W> {
    /// An empty screen; frames begin at the line of the cursor.
    pub fn new(out: W) -> Screen<W> {
        Screen { out, drawn: 0 }
    }

    /// Draws a frame over the last one. Lines must fit the terminal's width and number.
    ///
    /// # Errors
    /// Errors of the writer.
    pub fn draw(&mut self, lines: &[String]) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(4096);
        queue!(bytes, BeginSynchronizedUpdate)?;
        self.rewind(&mut bytes)?;
        for line in lines {
            bytes.extend_from_slice(line.as_bytes());
            queue!(bytes, Clear(ClearType::UntilNewLine))?;
            bytes.push(b'\n');
        }
        queue!(bytes, Clear(ClearType::FromCursorDown), EndSynchronizedUpdate)?;
        self.drawn = u16::try_from(lines.len()).unwrap_or(u16::MAX);
        self.out.write_all(&bytes)?;
        self.out.flush()
    }

    /// Prints lines that stay, above the frame; the next [`Screen::draw`] puts it below them.
    ///
    /// # Errors
    /// Errors of the writer.
    pub fn print(&mut self, text: &str) -> io::Result<()> {
        self.clear()?;
        self.out.write_all(text.as_bytes())?;
        if !text.ends_with('\n') {
            self.out.write_all(b"\n")?;
        }
        self.out.flush()
    }

    /// Removes the frame.
    ///
    /// # Errors
    /// Errors of the writer.
    pub fn clear(&mut self) -> io::Result<()> {
        let mut bytes = Vec::new();
        self.rewind(&mut bytes)?;
        queue!(bytes, Clear(ClearType::FromCursorDown))?;
        self.drawn = 0;
        self.out.write_all(&bytes)?;
        self.out.flush()
    }

    /// Moves to the beginning of the frame. Terminals move up by 1 even for a count of 0.
    fn rewind(&self, bytes: &mut Vec<u8>) -> io::Result<()> {
        if self.drawn > 0 {
            queue!(bytes, MoveUp(self.drawn))?;
        }
        queue!(bytes, MoveToColumn(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(act: impl FnOnce(&mut Screen<&mut Vec<u8>>)) -> String {
        let mut bytes = Vec::new();
        act(&mut Screen::new(&mut bytes));
        String::from_utf8(bytes).unwrap().replace('\x1b', "ESC")
    }

    #[test]
    fn the_second_frame_covers_the_first() {
        let text = drawn(|screen| {
            screen.draw(&["one".to_owned(), "two".to_owned()]).unwrap();
            screen.draw(&["three".to_owned()]).unwrap();
        });
        let first = "ESC[?2026hESC[1GoneESC[K\ntwoESC[K\nESC[JESC[?2026l";
        let second = "ESC[?2026hESC[2AESC[1GthreeESC[K\nESC[JESC[?2026l";
        assert_eq!(text, format!("{first}{second}"));
    }

    #[test]
    fn printed_lines_stay_above_the_frame() {
        let text = drawn(|screen| {
            screen.draw(&["frame".to_owned()]).unwrap();
            screen.print("kept").unwrap();
            screen.draw(&["frame".to_owned()]).unwrap();
        });
        let after = text.split("ESC[?2026l").nth(1).unwrap();
        assert_eq!(after, "ESC[1AESC[1GESC[Jkept\nESC[?2026hESC[1GframeESC[K\nESC[J");
    }
}
