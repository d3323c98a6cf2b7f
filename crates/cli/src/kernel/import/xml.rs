//! A small XML file as a tree, within bounds; names have no namespace prefix.

use super::description::ImportError;
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use std::path::Path;

/// Maximum number of elements, and maximum depth.
const ELEMENTS: usize = 200_000;
const DEPTH: usize = 64;

/// An element with its attributes, text and children.
#[derive(Debug, Default)]
pub struct Element {
    pub name: String,
    attributes: Vec<(String, String)>,
    pub text: String,
    pub children: Vec<Element>,
}

impl Element {
    /// Parses a file; returns its root.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ImportError> {
        let broken = |reason: String| ImportError::Xml {
            path: path.to_owned(),
            reason,
        };
        if text.contains("<!DOCTYPE") || text.contains("<!ENTITY") {
            return Err(broken(
                "it has a document type; a component.xml has none".to_owned(),
            ));
        }
        let mut reader = Reader::from_str(text);
        let mut open = vec![Self::default()];
        let mut count = 0;
        loop {
            let event = reader
                .read_event()
                .map_err(|error| broken(error.to_string()))?;
            match event {
                Event::Start(start) => open.push(Self::of(&start)),
                Event::Empty(start) => {
                    let element = Self::of(&start);
                    if let Some(parent) = open.last_mut() {
                        parent.children.push(element);
                    }
                }
                Event::End(_) => {
                    let mut element = open.pop().unwrap_or_default();
                    element.text = element.text.trim().to_owned();
                    match open.last_mut() {
                        Some(parent) => parent.children.push(element),
                        None => {
                            return Err(broken("an element ends that did not begin".to_owned()))
                        }
                    }
                }
                Event::Text(piece) => {
                    if let (Some(element), Ok(piece)) = (open.last_mut(), piece.decode()) {
                        element.text.push_str(&piece);
                    }
                }
                Event::GeneralRef(entity) => {
                    let character = entity.resolve_char_ref().ok().flatten().map(String::from);
                    let known = entity
                        .decode()
                        .ok()
                        .and_then(|name| resolve_xml_entity(&name));
                    let text = character.or(known.map(str::to_owned));
                    if let (Some(element), Some(text)) = (open.last_mut(), text) {
                        element.text.push_str(&text);
                    }
                }
                Event::Eof => break,
                _ => {}
            }
            count += 1;
            if count > ELEMENTS || open.len() > DEPTH {
                return Err(ImportError::TooMuch {
                    what: format!("{}: elements", path.display()),
                    limit: format!("{ELEMENTS}, {DEPTH} deep"),
                });
            }
        }
        match (
            open.len(),
            open.pop().and_then(|root| root.children.into_iter().next()),
        ) {
            (1, Some(root)) => Ok(root),
            _ => Err(broken("it ends in the middle of an element".to_owned())),
        }
    }

    fn of(start: &BytesStart<'_>) -> Self {
        let plain = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let attributes = start.attributes().flatten().map(|attribute| {
            let value = attribute
                .normalized_value(XmlVersion::Implicit1_0)
                .unwrap_or_default()
                .into_owned();
            (plain(attribute.key.local_name().as_ref()), value)
        });
        Self {
            name: plain(start.local_name().as_ref()),
            attributes: attributes.collect(),
            ..Self::default()
        }
    }

    /// The children of this name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Self> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// The element at a path of names; of several children of a name, the first.
    pub fn at(&self, path: &[&str]) -> Option<&Self> {
        let mut here = self;
        for name in path {
            here = here.children.iter().find(|child| child.name == *name)?;
        }
        Some(here)
    }

    /// The text at a path; empty if there is none.
    pub fn text_at(&self, path: &[&str]) -> &str {
        self.at(path).map_or("", |element| &element.text)
    }

    /// The value of an attribute.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The value of a parameter of IP-XACT (`parameters/parameter` with this name).
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let list = self.at(&["parameters"])?;
        let mut found = list
            .all("parameter")
            .filter(|one| one.text_at(&["name"]) == name);
        found.next().map(|one| one.text_at(&["value"]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Element, ImportError> {
        Element::parse(Path::new("component.xml"), text)
    }

    #[test]
    fn prefixes_do_not_matter() {
        let text = "<?xml version=\"1.0\"?><s:a xmlns:s=\"x\"><s:b s:id=\"1\">two &amp; three</s:b><b/></s:a>";
        let root = parse(text).unwrap();
        assert_eq!((&*root.name, root.text_at(&["b"])), ("a", "two & three"));
        assert_eq!(root.all("b").count(), 2);
        assert_eq!(root.at(&["b"]).and_then(|b| b.attribute("id")), Some("1"));
    }

    #[test]
    fn damage_is_an_error() {
        for text in ["", "<a>", "<a></b>", "</a>", "<!DOCTYPE a><a/>"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse(&"<a>".repeat(DEPTH + 2)).is_err());
    }
}
