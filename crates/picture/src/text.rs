//! Escaping of foreign text.

use std::fmt::{self, Display, Write};

/// Text from users, escaped for HTML and SVG, in an element or an attribute.
#[derive(Clone, Copy, Debug)]
pub struct Text<T>(pub T);

impl<T: Display> Display for Text<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Escape(f), "{}", self.0)
    }
}

struct Escape<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl Write for Escape<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for letter in text.chars() {
            match letter {
                '&' => self.0.write_str("&amp;")?,
                '<' => self.0.write_str("&lt;")?,
                '>' => self.0.write_str("&gt;")?,
                '"' => self.0.write_str("&quot;")?,
                '\'' => self.0.write_str("&#39;")?,
                // No browser shows these, and neither HTML nor XML allows them.
                '\0'..='\x08' | '\x0b' | '\x0c' | '\x0e'..='\x1f' | '\x7f'..='\u{9f}' => {
                    self.0.write_char('\u{fffd}')?;
                }
                _ => self.0.write_char(letter)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Text;

    #[test]
    fn what_users_name_is_only_text() {
        let hostile = "</script><img src=x onerror='a' b=\"c\">&\0\x1b";
        let shown = Text(hostile).to_string();
        assert!(
            !shown.contains(['<', '>', '"', '\'', '\0', '\x1b']),
            "{shown}"
        );
        assert_eq!(Text("a & b").to_string(), "a &amp; b");
    }
}
