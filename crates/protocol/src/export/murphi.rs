//! A model for an independent checker, in the Murphi dialect of Debian's `rumur`.
//!
//! The text is equivalent to the checker's model, rule for rule, so both reach the same number of states. A step
//! without room, and a stall, change nothing.

use std::fmt::Write;

use super::banner;
use crate::check::Setting;
use crate::generate::Protocol;
use crate::machine::{CacheEvent, Cell, DirEvent, MemoryAccess};
use crate::spec::{MsgId, Spec};

/// The model for one line and the number of caches the protocol was generated for.
#[must_use]
pub fn murphi(protocol: &Protocol, setting: &Setting) -> String {
    let mut writer = MurphiWriter {
        protocol,
        spec: &protocol.spec,
        text: String::new(),
    };
    writer.declarations(setting);
    writer.procedures();
    writer.home_rules();
    writer.cache_rules();
    writer.properties();
    writer.text
}

struct MurphiWriter<'a> {
    protocol: &'a Protocol,
    spec: &'a Spec,
    text: String,
}

impl MurphiWriter<'_> {
    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn declarations(&mut self, setting: &Setting) {
        let (spec, protocol) = (self.spec, self.protocol);
        let caches = protocol.directory.caches;
        self.line(&format!("-- {}", banner(protocol)));
        self.line("-- rumur --deadlock-detection off reads this; see docs/protocols.md.\n");
        let _ = writeln!(self.text, "const\n  Capacity: {};\n", setting.capacity);
        let list = |names: Vec<String>| names.join(",\n    ");
        let messages = spec
            .messages
            .iter()
            .map(|m| format!("M_{}", m.name))
            .collect();
        let homes = protocol
            .directory
            .states
            .iter()
            .map(|s| format!("H_{}", s.name))
            .collect();
        let states = protocol
            .cache
            .states
            .iter()
            .map(|s| format!("C_{}", s.name))
            .collect();
        let _ = write!(
            self.text,
            "type\n  Cache: 0..{};\n  Message: enum {{\n    {}\n  }};\n  HomeState: enum {{\n    \
             {}\n  }};\n  CacheState: enum {{\n    {}\n  }};\n  \
             Access: enum {{ A_None, A_Read, A_Payload, A_Held, A_Operation }};\n  Operation: 0..{};\n  \
             Field: 0..2; -- absent, in flight, in flight with an old value\n  Level: 0..{};\n  \
             Buffer: 0..{};\n\nvar\n  home: HomeState;\n  memory_old: boolean;\n  \
             buffer_old: boolean;\n  access: Access;\n  operation: Operation;\n  \
             net: array [Cache] of array [Message] of Field;\n  \
             cache: array [Cache] of CacheState;\n  copy_old: array [Cache] of boolean;\n\n",
            caches - 1,
            list(messages),
            list(homes),
            list(states),
            spec.operations.len(),
            spec.states.len(),
            2 * spec.classes.len(),
        );
    }

    /// A function from an enumeration to a value, by cases.
    fn function<T: std::fmt::Display>(
        &mut self,
        head: &str,
        argument: &str,
        cases: impl Iterator<Item = (String, T)>,
        default: &str,
    ) {
        let _ = writeln!(self.text, "function {head};\nbegin\n  switch {argument}");
        for (name, value) in cases {
            let _ = writeln!(self.text, "  case {name}: return {value};");
        }
        let _ = writeln!(self.text, "  else return {default};\n  end;\nend;\n");
    }

    fn procedures(&mut self) {
        let spec = self.spec;
        let messages = |pick: &dyn Fn(MsgId) -> bool| -> Vec<MsgId> {
            spec.message_ids().filter(|&m| pick(m)).collect()
        };
        let name = |m: MsgId| format!("M_{}", spec.message(m).name);
        let buffers = spec.message_ids().map(|m| {
            let message = spec.message(m);
            (
                name(m),
                2 * message.class.index() + usize::from(message.to_home),
            )
        });
        self.function("buffer(m: Message): Buffer", "m", buffers, "0");
        let roomy = messages(&|m| spec.class_of(m).never_full);
        if !roomy.is_empty() {
            let cases = roomy.iter().map(|&m| (name(m), true));
            self.function("never_full(m: Message): boolean", "m", cases, "false");
        }
        let copies = messages(&|m| spec.message(m).data && !spec.is_request(m));
        let cases = copies.iter().map(|&m| (name(m), true));
        self.function("carries_copy(m: Message): boolean", "m", cases, "false");
        let states = self.protocol.cache.states.clone();
        let cache = |pick: &dyn Fn(&crate::machine::CacheState) -> bool| {
            let picked = states.iter().filter(|s| pick(s));
            picked
                .map(|s| (format!("C_{}", s.name), true))
                .collect::<Vec<_>>()
        };
        let rights = |s: &crate::machine::CacheState| spec.state(s.copy).clone();
        for (head, cases) in [
            (
                "keeps_data(s: CacheState): boolean",
                cache(&|s| s.keeps_data),
            ),
            ("reads(s: CacheState): boolean", cache(&|s| rights(s).read)),
            (
                "writes(s: CacheState): boolean",
                cache(&|s| s.stable && rights(s).write),
            ),
            ("dirty(s: CacheState): boolean", cache(&|s| rights(s).dirty)),
            ("stable(s: CacheState): boolean", cache(&|s| s.stable)),
        ] {
            self.function(head, "s", cases.into_iter(), "false");
        }
        let levels = states
            .iter()
            .map(|s| (format!("C_{}", s.name), rights(s).level.0));
        self.function("level(s: CacheState): Level", "s", levels, "0");
        let most = spec.operations.iter().enumerate().filter_map(|(i, op)| {
            op.at_most
                .map(|s| ((i + 1).to_string(), spec.state(s).level.0))
        });
        self.function(
            "at_most(o: Operation): Level",
            "o",
            most,
            &spec.states.len().to_string(),
        );
        let homes = self.protocol.directory.states.clone();
        let home = |pick: &dyn Fn(&crate::machine::DirState) -> bool| {
            let picked = homes.iter().filter(|s| pick(s));
            picked
                .map(|s| (format!("H_{}", s.name), true))
                .collect::<Vec<_>>()
        };
        self.function(
            "calm(s: HomeState): boolean",
            "s",
            home(&|s| s.stable).into_iter(),
            "false",
        );
        self.function(
            "locked(s: HomeState): boolean",
            "s",
            home(&|s| s.locked).into_iter(),
            "false",
        );
        if spec.owned().is_some() {
            self.line(SEND_COPY);
        }
        match roomy.is_empty() {
            true => self.line(PROCEDURES),
            false => self.line(&PROCEDURES.replace(
                "return used < Capacity;",
                "return never_full(m) | used < Capacity;",
            )),
        }
    }

    fn home_rules(&mut self) {
        let (spec, directory) = (self.spec, &self.protocol.directory);
        for (column, &event) in directory.events.iter().enumerate() {
            let name = event.name(spec, directory.caches);
            let (guard, before, begin) = match event {
                DirEvent::Receive { cache, message } => {
                    let field = format!("net[{cache}][M_{}]", spec.message(message).name);
                    let begin = format!("payload_old := {field} = 2; {field} := 0;");
                    (format!("{field} != 0"), String::new(), begin)
                }
                DirEvent::Operation(op) => {
                    let begin = format!("operation := {};", op.0 + 1);
                    ("operation = 0".to_owned(), String::new(), begin)
                }
                DirEvent::ReadDone => (
                    "access = A_Read".to_owned(),
                    "  if memory_old then error \"stale memory\"; end;\n".to_owned(),
                    "access := A_None;".to_owned(),
                ),
                DirEvent::WriteDone => (
                    "access != A_None & access != A_Read".to_owned(),
                    String::new(),
                    "written();".to_owned(),
                ),
            };
            let _ = write!(
                self.text,
                "rule \"home: {name}\" {guard} ==>\nvar payload_old: boolean;\nbegin\n  \
                 payload_old := false;\n{before}  switch home\n"
            );
            for (number, state) in directory.states.iter().enumerate() {
                let body = match directory.cell(number, column) {
                    Cell::Unexpected => continue,
                    Cell::Stall => "-- stall".to_owned(),
                    Cell::Go { next, actions } => {
                        let mut room = String::new();
                        let mut body = format!("{begin} ");
                        if actions.memory != MemoryAccess::None {
                            let access = match actions.memory {
                                MemoryAccess::Read => "A_Read",
                                MemoryAccess::WritePayload => "A_Payload",
                                MemoryAccess::WriteHeld => "A_Held",
                                _ => "A_Operation",
                            };
                            let _ = write!(body, "start({access}, payload_old); ");
                            let _ = write!(body, "-- {}\n    ", actions.memory.name());
                        }
                        for send in &actions.sends {
                            let message = spec.message(send.message);
                            let (to, name, data) = (send.cache, &message.name, message.data);
                            let _ = write!(room, " & room({to}, M_{name})");
                            let brought = match event {
                                DirEvent::Receive { message, .. } => spec.is_copy(message),
                                _ => false,
                            };
                            let _ = match data && brought {
                                true => write!(body, "copy_send({to}, M_{name}, payload_old); "),
                                false => write!(body, "send({to}, M_{name}, {data}); "),
                            };
                        }
                        if actions.done {
                            body.push_str("acknowledge(); ");
                        }
                        let next = &directory.states[*next as usize].name;
                        format!("if true{room} then {body}home := H_{next}; end;")
                    }
                };
                let _ = writeln!(self.text, "  case H_{}:\n    {body}", state.name);
            }
            let _ = write!(
                self.text,
                "  else error \"unexpected event\";\n  end;\nend;\n\n"
            );
        }
    }

    fn cache_rules(&mut self) {
        let (spec, cache) = (self.spec, &self.protocol.cache);
        self.line("ruleset c: Cache do\n");
        for (column, &event) in cache.events.iter().enumerate() {
            let name = event.name(spec);
            let arrived = match event {
                CacheEvent::Receive(message) => Some(message),
                _ => None,
            };
            let guard = match arrived {
                Some(message) => format!("net[c][M_{}] != 0", spec.message(message).name),
                None => {
                    let starts =
                        (0..cache.states.len()).filter(|&s| cache.step(s, column).is_some());
                    let tests = starts.map(|s| format!("cache[c] = C_{}", cache.states[s].name));
                    let tests: Vec<String> = tests.collect();
                    if tests.is_empty() {
                        "false".to_owned()
                    } else {
                        tests.join(" | ")
                    }
                }
            };
            let _ = writeln!(
                self.text,
                "rule \"{}: {name}\" {guard} ==>\nbegin\n  switch cache[c]",
                spec.remote
            );
            for (number, state) in cache.states.iter().enumerate() {
                let Some(step) = cache.step(number, column) else {
                    continue;
                };
                let mut room = String::new();
                let mut body = String::new();
                if let Some(message) = arrived {
                    let name = &spec.message(message).name;
                    let _ = write!(body, "take(c, M_{name}, {}); ", spec.message(message).data);
                }
                if step.store {
                    body.push_str("store(c); ");
                }
                let _ = write!(body, "cache[c] := C_{}; ", cache.states[step.next].name);
                if let Some(message) = step.send {
                    let name = &spec.message(message).name;
                    let _ = write!(room, " & room(c, M_{name})");
                    let _ = write!(body, "send_home(c, M_{name}); ");
                }
                let _ = writeln!(
                    self.text,
                    "  case C_{}:\n    if true{room} then {body}forget(c); end;",
                    state.name
                );
            }
            if arrived.is_some() {
                self.line("  else error \"unexpected message\";");
            }
            self.line("  end;\nend;\n");
        }
        self.line("end;\n");
    }

    fn properties(&mut self) {
        self.line(PROPERTIES);
    }
}

/// Data of a received message is sent on to another cache.
const SEND_COPY: &str = "\
procedure copy_send(c: Cache; m: Message; old: boolean);
begin
  if net[c][m] != 0 then error \"twice in flight\"; end;
  if old then net[c][m] := 2; else net[c][m] := 1; end;
end;
";

/// Procedures that do not depend on the protocol. Names are those of the checker's model.
const PROCEDURES: &str = "\
function room(c: Cache; m: Message): boolean;
var used: 0..64;
begin
  used := 0;
  for x: Message do
    if net[c][x] != 0 & buffer(x) = buffer(m) then used := used + 1; end;
  end;
  return used < Capacity;
end;

-- Somebody has a newer value: everything else is old.
procedure make_old();
begin
  memory_old := true;
  if access = A_Payload then buffer_old := true; end;
  for c: Cache do
    for m: Message do
      if net[c][m] = 1 & carries_copy(m) then net[c][m] := 2; end;
    end;
    if keeps_data(cache[c]) then copy_old[c] := true; end;
  end;
end;

procedure written();
begin
  if access = A_Payload then
    access := A_None;
    memory_old := buffer_old;
    buffer_old := false;
  else
    access := A_None;
    make_old();
    memory_old := false;
  end;
end;

procedure start(a: Access; payload_old: boolean);
begin
  if access != A_None then error \"memory is busy\"; end;
  access := a;
  if a = A_Payload & payload_old then buffer_old := true; end;
end;

procedure send(c: Cache; m: Message; data: boolean);
begin
  if net[c][m] != 0 then error \"twice in flight\"; end;
  if data & memory_old then net[c][m] := 2; else net[c][m] := 1; end;
end;

procedure acknowledge();
begin
  if operation = 0 then error \"nothing to acknowledge\"; end;
  for c: Cache do
    if level(cache[c]) > at_most(operation) then error \"operation broken\"; end;
  end;
  operation := 0;
end;

procedure take(c: Cache; m: Message; data: boolean);
begin
  if data then copy_old[c] := net[c][m] = 2; end;
  net[c][m] := 0;
end;

procedure store(c: Cache);
begin
  make_old();
  copy_old[c] := false;
end;

procedure send_home(c: Cache; m: Message);
begin
  if net[c][m] != 0 then error \"twice in flight\"; end;
  if carries_copy(m) & copy_old[c] then net[c][m] := 2; else net[c][m] := 1; end;
end;

procedure forget(c: Cache);
begin
  if !keeps_data(cache[c]) then copy_old[c] := false; end;
end;

startstate begin
  clear home;
  memory_old := false;
  buffer_old := false;
  clear access;
  operation := 0;
  for c: Cache do
    for m: Message do net[c][m] := 0; end;
    clear cache[c];
    copy_old[c] := false;
  end;
end;
";

const PROPERTIES: &str = "\
invariant \"single writer, multiple readers\"
  forall a: Cache do forall b: Cache do
    a = b | !(writes(cache[a]) & reads(cache[b]))
  end end;

invariant \"data value\"
  forall c: Cache do !(reads(cache[c]) & copy_old[c]) end;

invariant \"dirty only if memory is old\"
  forall c: Cache do !(dirty(cache[c]) & !memory_old) end;

invariant \"no writer under lock\"
  !locked(home) | forall c: Cache do !writes(cache[c]) end;

liveness \"rest can be reached\"
  calm(home) & access = A_None & operation = 0 &
  forall c: Cache do
    stable(cache[c]) & forall m: Message do net[c][m] = 0 end
  end;
";
