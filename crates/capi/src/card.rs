//! Cards.

use crate::handles::{self, Handle, HandleObject, OpenCard};
use crate::options::{self, CardOptions};
use crate::pointers::{array, new_text, optional_text, text, OutputPointer};
use crate::status::{entry, Failure};
use std::ffi::{c_char, c_int, c_void, CString};
use std::path::{Path, PathBuf};
use tombolo::{
    BuildProgress, Card, FunctionalCard, FunctionalConfig, OwnerOptions, Picoseconds, Preset,
    ShellConfig, SimOptions, Slot,
};

/// A build callback with its context.
struct BuildCallback {
    call: extern "C" fn(*const c_char, *mut c_void),
    context: *mut c_void,
}

// SAFETY: the header warns that any thread that opens a card or loads a kernel may call back, one at a time; the
// context is the caller's and only passed back.
unsafe impl Send for BuildCallback {}

impl BuildCallback {
    fn tell(&self, step: &BuildProgress) {
        if let Ok(text) = CString::new(step.to_string()) {
            (self.call)(text.as_ptr(), self.context);
        }
    }
}

#[no_mangle]
pub unsafe extern "C" fn tmb_card_open(name: *const c_char, card: *mut Handle) -> c_int {
    entry(|| {
        let answer = OutputPointer::at(card, "card")?;
        // SAFETY: null or a string, as the header asks.
        let name = unsafe { text(name, "name") }?;
        let opened = handles::insert_card(OpenCard::new(Card::open(name)?, None));
        // SAFETY: the caller's place for a handle.
        unsafe { answer.give(opened) };
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_card_open_functional(
    options: *const CardOptions,
    card: *mut Handle,
) -> c_int {
    entry(|| {
        let answer = OutputPointer::at(card, "card")?;
        // SAFETY: null or the caller's options, as the header asks.
        let options = unsafe { options::read(options) }?;
        for (given, name) in [
            (!options.platform.is_null(), "platform"),
            (!options.home.is_null(), "home"),
            (!options.shell_json.is_null(), "shell_json"),
            (!options.preset.is_null(), "preset"),
            (options.progress.is_some(), "progress"),
            (options.cold != 0, "cold"),
            (options.coherent != 0, "coherent"),
            (options.home_bytes != 0, "home_bytes"),
        ] {
            if given {
                let rule = format!("{name} is set, which a functional card does not have");
                return Err(Failure::argument(rule));
            }
        }
        let mut config = FunctionalConfig {
            host_channel: options.host_channel()?,
            ..FunctionalConfig::default()
        };
        if options.slots != 0 {
            config.slots = slots(options.slots)?;
        }
        if options.channel_bytes != 0 {
            config.channel_bytes = options.channel_bytes;
        }
        let opened = Card::new(
            Box::new(FunctionalCard::new(config)),
            options.owner(OwnerOptions::default())?,
        )?;
        let opened = handles::insert_card(OpenCard::new(opened, None));
        // SAFETY: the caller's place for a handle.
        unsafe { answer.give(opened) };
        Ok(())
    })
}

fn slots(count: u32) -> Result<u8, Failure> {
    match u8::try_from(count) {
        Ok(count) if count <= 16 => Ok(count),
        _ => Err(Failure::argument(format!(
            "{count} slots: a card has at most 16"
        ))),
    }
}

#[no_mangle]
pub unsafe extern "C" fn tmb_card_open_simulated(
    options: *const CardOptions,
    card: *mut Handle,
) -> c_int {
    entry(|| {
        let answer = OutputPointer::at(card, "card")?;
        // SAFETY: null or the caller's options, as the header asks.
        let given = unsafe { options::read(options) }?;
        // SAFETY: null or strings, as the header asks.
        let (platform, home, shell, preset) = unsafe {
            (
                optional_text(given.platform, "platform")?.unwrap_or("f1"),
                optional_text(given.home, "home")?.map(PathBuf::from),
                optional_text(given.shell_json, "shell_json")?,
                optional_text(given.preset, "preset")?,
            )
        };
        let platform = match &home {
            Some(home) if Path::new(platform).extension().is_none() => home
                .join("platforms")
                .join(format!("{platform}.toml"))
                .display()
                .to_string(),
            _ => platform.to_owned(),
        };
        let mut sim = SimOptions::named(&platform).map_err(tombolo::Error::from)?;
        if let Some(home) = home {
            sim.home = home;
        }
        if given.channel_bytes != 0 {
            sim.channel_bytes = Some(given.channel_bytes);
        }
        let mut owner = OwnerOptions::default();
        let preset = preset.map(find_preset).transpose()?;
        if let Some(preset) = &preset {
            let applied = preset.apply(&mut sim, &mut owner);
            applied.map_err(|error| Failure::argument(error.to_string()))?;
            if shell.is_some() {
                let rule = "a preset has a shell of its own: set preset or shell_json, not both";
                return Err(Failure::argument(rule.to_owned()));
            }
        }
        if given.coherent != 0 {
            if shell.is_some() || preset.is_some() {
                let rule = "coherent is a shell of its own: set coherent, preset or shell_json";
                return Err(Failure::argument(rule.to_owned()));
            }
            sim.shell = match given.coherent {
                1 => ShellConfig::coherent(),
                2 => ShellConfig::coherent_full(),
                other => {
                    let rule = format!("coherent {other}: it is 0, 1 or 2");
                    return Err(Failure::argument(rule));
                }
            };
        }
        if let Some(shell) = shell {
            sim.shell = serde_json::from_str(shell)
                .map_err(|error| Failure::argument(format!("shell_json: {error}")))?;
        }
        sim.shell.host_channel |= given.host_channel()?;
        if given.slots != 0 {
            sim.shell.slots = slots(given.slots)?;
        }
        let callback = given.progress.map(|call| BuildCallback {
            call,
            context: given.context,
        });
        let progress = move |step: BuildProgress| {
            if let Some(callback) = &callback {
                callback.tell(&step);
            }
        };
        let opened = Card::simulated(sim, given.owner(owner)?, progress)?;
        let opened = handles::insert_card(OpenCard::new(opened, preset));
        // SAFETY: the caller's place for a handle.
        unsafe { answer.give(opened) };
        Ok(())
    })
}

/// A preset by its name, or of a file.
fn find_preset(name: &str) -> Result<Preset, Failure> {
    let found = match Path::new(name).extension() {
        Some(_) => Preset::load(Path::new(name)),
        // Selects FSRF's TLB: nothing is mapped yet.
        None => Preset::named(name, 0),
    };
    let usable = found.and_then(|preset| preset.check_virtual_memory().map(|()| preset));
    usable.map_err(|error| Failure::argument(error.to_string()))
}

#[no_mangle]
pub unsafe extern "C" fn tmb_card_wait_any(
    card: Handle,
    slots: *const Handle,
    count: usize,
    deadline_ps: u64,
    place: *mut usize,
) -> c_int {
    entry(|| {
        let answer = OutputPointer::at(place, "place")?;
        // SAFETY: null, or `count` handles, as the header requires.
        let found = handles::slots(unsafe { array(slots, count, "slots") }?)?;
        let found = found.iter().map(|thing| match &**thing {
            HandleObject::Slot(slot) => Ok(&**slot),
            // `slots` has checked it.
            _ => Err(Failure::argument("slots has something else".to_owned())),
        });
        let found: Vec<&Slot> = found.collect::<Result<_, _>>()?;
        let deadline = (deadline_ps != 0).then(|| Picoseconds::new(deadline_ps));
        let done = handles::with_card(card, |card| Ok(card.wait_any(&found, deadline)?))?;
        // SAFETY: the caller's place for a number.
        unsafe { answer.give(done) };
        Ok(())
    })
}

#[no_mangle]
pub extern "C" fn tmb_card_close(card: Handle) -> c_int {
    entry(|| handles::close(card, "card"))
}

#[no_mangle]
pub unsafe extern "C" fn tmb_card_report(card: Handle, text: *mut *mut c_char) -> c_int {
    entry(|| {
        let answer = OutputPointer::at(text, "text")?;
        let report = handles::with_card(card, |card| Ok(card.report()?))?;
        // SAFETY: the caller's place for a string.
        unsafe { answer.give(new_text(report.to_string())?) };
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_card_report_json(card: Handle, text: *mut *mut c_char) -> c_int {
    entry(|| {
        let answer = OutputPointer::at(text, "text")?;
        let report = handles::with_card(card, |card| Ok(card.report()?))?;
        let json = serde_json::to_string(&report)
            .map_err(|error| tombolo::Error::Internal(error.to_string()))?;
        // SAFETY: the caller's place for a string.
        unsafe { answer.give(new_text(json)?) };
        Ok(())
    })
}
