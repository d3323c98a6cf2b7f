//! The grammar: one rule per line, names not yet resolved.

use super::diagnostic::{Fault, Span};
use super::model::{AccessKind, Effect, GrantWhen, Trigger};
use super::token::{Kind, Token};

/// A name and its position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Name<'a> {
    pub text: &'a str,
    pub span: Span,
}

/// A rule as written.
#[derive(Clone, Debug)]
pub(super) enum Rule<'a> {
    Protocol(Name<'a>),
    Home(Name<'a>),
    Remote(Name<'a>),
    State {
        name: Name<'a>,
        read: bool,
        write: bool,
        store_to: Option<Name<'a>>,
        dirty: bool,
    },
    Class {
        name: Name<'a>,
        channel: u32,
        may_stall: bool,
        data: bool,
        never_full: bool,
        messages: Vec<Name<'a>>,
    },
    Upgrade {
        from: Name<'a>,
        to: Name<'a>,
        trigger: Trigger,
        request: Name<'a>,
        grants: Vec<(Name<'a>, GrantWhen)>,
    },
    Downgrade {
        from: Name<'a>,
        to: Name<'a>,
        /// None for a silent one.
        message: Option<Name<'a>>,
        answer: Option<Name<'a>>,
    },
    Forward {
        from: Name<'a>,
        to: Name<'a>,
        dirty_to: Option<Name<'a>>,
        message: Name<'a>,
        answer: Name<'a>,
        dirty_answer: Option<Name<'a>>,
    },
    Conflict {
        states: Vec<Name<'a>>,
        message: Name<'a>,
    },
    Access {
        kind: AccessKind,
        request: Name<'a>,
        answer: Name<'a>,
    },
    Operation {
        name: Name<'a>,
        at_most: Option<Name<'a>>,
        effect: Effect,
        internal: bool,
    },
    Hold {
        count: u32,
        span: Span,
    },
}

/// Reads all rules of a file.
pub(super) fn rules<'a>(lines: &[Vec<Token<'a>>]) -> Result<Vec<(Span, Rule<'a>)>, Fault> {
    lines.iter().map(|tokens| rule(tokens)).collect()
}

fn rule<'a>(tokens: &[Token<'a>]) -> Result<(Span, Rule<'a>), Fault> {
    let mut line = Cursor { tokens, next: 0 };
    let keyword = line.name("a rule")?;
    let rule = match keyword.text {
        "protocol" => Rule::Protocol(line.name("the protocol's name")?),
        "home" => Rule::Home(line.name("the home agent's name")?),
        "remote" => Rule::Remote(line.name("the remote agent's name")?),
        "state" => state(&mut line)?,
        "class" => class(&mut line)?,
        "upgrade" => upgrade(&mut line)?,
        "downgrade" => downgrade(&mut line)?,
        "forward" => forward(&mut line)?,
        "conflict" => conflict(&mut line)?,
        "access" => access(&mut line)?,
        "operation" => operation(&mut line)?,
        "hold" => {
            let span = line.here();
            Rule::Hold {
                count: line.number("how many requests a line holds")?,
                span,
            }
        }
        other => {
            return Err(
                Fault::new(keyword.span, format!("no rule starts with `{other}`")).help(
                    "rules: protocol, home, remote, state, class, upgrade, downgrade, forward, \
                 conflict, access, operation, hold",
                ),
            )
        }
    };
    line.end()?;
    Ok((keyword.span, rule))
}

fn state<'a>(line: &mut Cursor<'_, 'a>) -> Result<Rule<'a>, Fault> {
    let name = line.name("the state's name")?;
    let read = line.accept("read");
    let write = line.accept("write");
    let store_to = if write && line.accept_sign(Kind::Arrow) {
        Some(line.name("the state after a store")?)
    } else {
        None
    };
    let dirty = line.accept("dirty");
    Ok(Rule::State {
        name,
        read,
        write,
        store_to,
        dirty,
    })
}

fn class<'a>(line: &mut Cursor<'_, 'a>) -> Result<Rule<'a>, Fault> {
    let name = line.name("the class's name")?;
    line.expect("channel")?;
    let channel = line.number("the channel's number")?;
    let may_stall = line.accept("may");
    if may_stall {
        line.expect("stall")?;
    }
    let data = line.accept("data");
    let never_full = line.accept("never");
    if never_full {
        line.expect("full")?;
    }
    line.expect_sign(Kind::Colon)?;
    let messages = line.names("a message's name")?;
    Ok(Rule::Class {
        name,
        channel,
        may_stall,
        data,
        never_full,
        messages,
    })
}

fn upgrade<'a>(line: &mut Cursor<'_, 'a>) -> Result<Rule<'a>, Fault> {
    let (from, to) = line.transition()?;
    line.expect("on")?;
    let span = line.here();
    let trigger = match line.name("`load`, `store` or `prefetch`")?.text {
        "load" => Trigger::Load,
        "store" => Trigger::Store,
        "prefetch" => Trigger::Prefetch,
        other => {
            return Err(Fault::new(span, format!("no access is called `{other}`"))
                .help("an upgrade starts on `load`, `store` or `prefetch`"))
        }
    };
    line.expect_sign(Kind::Colon)?;
    let request = line.name("the request")?;
    line.expect("answer")?;
    let mut grants = Vec::new();
    loop {
        let message = line.name("an answer")?;
        let when = if line.accept("if") {
            line.expect("lost")?;
            GrantWhen::Lost
        } else {
            GrantWhen::Always
        };
        grants.push((message, when));
        if !line.accept_sign(Kind::Comma) {
            break;
        }
    }
    Ok(Rule::Upgrade {
        from,
        to,
        trigger,
        request,
        grants,
    })
}

fn downgrade<'a>(line: &mut Cursor<'_, 'a>) -> Result<Rule<'a>, Fault> {
    let (from, to) = line.transition()?;
    if line.accept("silent") {
        return Ok(Rule::Downgrade {
            from,
            to,
            message: None,
            answer: None,
        });
    }
    if line.peek().map(|t| t.kind) != Some(Kind::Colon) {
        return Err(line.wanted("`:` and the message, or `silent`"));
    }
    line.expect_sign(Kind::Colon)?;
    let message = Some(line.name("the message")?);
    let answer = if line.accept("answer") {
        Some(line.name("the answer")?)
    } else {
        None
    };
    Ok(Rule::Downgrade {
        from,
        to,
        message,
        answer,
    })
}

fn forward<'a>(line: &mut Cursor<'_, 'a>) -> Result<Rule<'a>, Fault> {
    let (from, to) = line.transition()?;
    let dirty_to = if line.accept_sign(Kind::Comma) {
        let name = line.name("the state of a dirty copy after it")?;
        line.expect("if")?;
        line.expect("dirty")?;
        Some(name)
    } else {
        None
    };
    line.expect_sign(Kind::Colon)?;
    let message = line.name("the forward")?;
    line.expect("answer")?;
    let answer = line.name("the answer")?;
    let dirty_answer = if line.accept_sign(Kind::Comma) {
        let name = line.name("the answer with data")?;
        line.expect("if")?;
        line.expect("dirty")?;
        Some(name)
    } else {
        None
    };
    Ok(Rule::Forward {
        from,
        to,
        dirty_to,
        message,
        answer,
        dirty_answer,
    })
}

fn conflict<'a>(line: &mut Cursor<'_, 'a>) -> Result<Rule<'a>, Fault> {
    let states = line.names("a state")?;
    line.expect_sign(Kind::Colon)?;
    Ok(Rule::Conflict {
        states,
        message: line.name("the answer")?,
    })
}

fn access<'a>(line: &mut Cursor<'_, 'a>) -> Result<Rule<'a>, Fault> {
    let span = line.here();
    let kind = match line.name("`read` or `write`")?.text {
        "read" => AccessKind::Read,
        "write" => AccessKind::Write,
        other => {
            return Err(Fault::new(span, format!("no access is called `{other}`"))
                .help("an access is `read` or `write`"))
        }
    };
    line.expect_sign(Kind::Colon)?;
    let request = line.name("the request")?;
    line.expect("answer")?;
    Ok(Rule::Access {
        kind,
        request,
        answer: line.name("the answer")?,
    })
}

fn operation<'a>(line: &mut Cursor<'_, 'a>) -> Result<Rule<'a>, Fault> {
    let name = line.name("the operation's name")?;
    line.expect_sign(Kind::Colon)?;
    let at_most = if line.accept("at") {
        line.expect("most")?;
        Some(line.name("a state")?)
    } else {
        None
    };
    let mut effect = Effect::Nothing;
    let mut internal = false;
    if at_most.is_none() || line.accept_sign(Kind::Comma) {
        if line.accept("for") {
            line.expect("the")?;
            line.expect("directory")?;
            internal = true;
        } else {
            if at_most.is_some() {
                line.expect("then")?;
            }
            let span = line.here();
            effect = match line.name("`lock`, `unlock`, `read` or `write`")?.text {
                "lock" => Effect::Lock,
                "unlock" => Effect::Unlock,
                "read" => Effect::Read,
                "write" => Effect::Write,
                other => {
                    return Err(Fault::new(span, format!("no effect is called `{other}`"))
                        .help("effects: lock, unlock, read, write"))
                }
            };
        }
    }
    Ok(Rule::Operation {
        name,
        at_most,
        effect,
        internal,
    })
}

/// Reads the tokens of one rule from left to right.
struct Cursor<'t, 'a> {
    tokens: &'t [Token<'a>],
    next: usize,
}

impl<'a> Cursor<'_, 'a> {
    fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.next).copied()
    }

    /// Position of the next token, or just after the last one.
    fn here(&self) -> Span {
        match (self.peek(), self.tokens.last()) {
            (Some(token), _) => token.span,
            (None, Some(Token { span, .. })) => Span {
                column: span.column + span.length,
                length: 1,
                ..*span
            },
            (None, None) => Span {
                line: 1,
                column: 1,
                length: 1,
            },
        }
    }

    fn wanted(&self, what: &str) -> Fault {
        let found = match self.peek() {
            Some(token) => format!("found {}", token.kind.describe()),
            None => "the line ends".to_owned(),
        };
        Fault::new(self.here(), format!("expected {what}, but {found}"))
    }

    fn name(&mut self, what: &str) -> Result<Name<'a>, Fault> {
        match self.peek() {
            Some(Token {
                kind: Kind::Word(text),
                span,
            }) => {
                self.next += 1;
                Ok(Name { text, span })
            }
            _ => Err(self.wanted(what)),
        }
    }

    fn names(&mut self, what: &str) -> Result<Vec<Name<'a>>, Fault> {
        let mut names = vec![self.name(what)?];
        while self.accept_sign(Kind::Comma) {
            names.push(self.name(what)?);
        }
        Ok(names)
    }

    fn number(&mut self, what: &str) -> Result<u32, Fault> {
        match self.peek() {
            Some(Token {
                kind: Kind::Number(number),
                ..
            }) => {
                self.next += 1;
                Ok(number)
            }
            _ => Err(self.wanted(what)),
        }
    }

    fn transition(&mut self) -> Result<(Name<'a>, Name<'a>), Fault> {
        let from = self.name("the state before")?;
        self.expect_sign(Kind::Arrow)?;
        Ok((from, self.name("the state after")?))
    }

    fn accept(&mut self, word: &str) -> bool {
        let found =
            matches!(self.peek(), Some(Token { kind: Kind::Word(text), .. }) if text == word);
        self.next += usize::from(found);
        found
    }

    fn accept_sign(&mut self, sign: Kind<'_>) -> bool {
        let found = self.peek().is_some_and(|token| token.kind == sign);
        self.next += usize::from(found);
        found
    }

    fn expect(&mut self, word: &str) -> Result<(), Fault> {
        if self.accept(word) {
            return Ok(());
        }
        Err(self.wanted(&format!("`{word}`")))
    }

    fn expect_sign(&mut self, sign: Kind<'_>) -> Result<(), Fault> {
        if self.accept_sign(sign) {
            return Ok(());
        }
        Err(self.wanted(&sign.describe()))
    }

    fn end(&self) -> Result<(), Fault> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.wanted("the end of the line")),
        }
    }
}
