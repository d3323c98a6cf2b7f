//! Cards.

use crate::handles::{self, Handle, Thing};
use crate::options::{self, CardOptions};
use crate::pointers::{new_text, optional_text, Answer};
use crate::status::{entry, Failure};
use std::ffi::{c_char, c_int, c_void, CString};
use std::path::{Path, PathBuf};
use tombolo::{BuildProgress, Card, FunctionalCard, FunctionalConfig, SimOptions};

/// The callback of a build with what it is called with.
struct BuildCallback {
    call: extern "C" fn(*const c_char, *mut c_void),
    context: *mut c_void,
}

// SAFETY: the header says that the callback may be called from any thread that opens a card or loads a
// kernel, one at a time; the context is the caller's and only passed back.
unsafe impl Send for BuildCallback {}

impl BuildCallback {
    fn tell(&self, step: &BuildProgress) {
        if let Ok(text) = CString::new(step.to_string()) {
            (self.call)(text.as_ptr(), self.context);
        }
    }
}

#[no_mangle]
pub unsafe extern "C" fn tmb_card_open_functional(
    options: *const CardOptions,
    card: *mut Handle,
) -> c_int {
    entry(|| {
        let answer = Answer::at(card, "card")?;
        // SAFETY: null or the caller's options, as the header asks.
        let options = unsafe { options::read(options) }?;
        for (given, name) in [
            (!options.platform.is_null(), "platform"),
            (!options.home.is_null(), "home"),
            (!options.shell_json.is_null(), "shell_json"),
            (options.progress.is_some(), "progress"),
            (options.cold != 0, "cold"),
        ] {
            if given {
                let rule = format!("{name} is set, which a functional card does not have");
                return Err(Failure::argument(rule));
            }
        }
        let mut config = FunctionalConfig::default();
        if options.slots != 0 {
            config.slots = slots(options.slots)?;
        }
        if options.channel_bytes != 0 {
            config.channel_bytes = options.channel_bytes;
        }
        let opened = Card::new(Box::new(FunctionalCard::new(config)), options.owner()?)?;
        // SAFETY: the caller's place for a handle.
        unsafe { answer.give(handles::insert(Thing::Card(opened))) };
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
        let answer = Answer::at(card, "card")?;
        // SAFETY: null or the caller's options, as the header asks.
        let given = unsafe { options::read(options) }?;
        // SAFETY: null or strings, as the header asks.
        let (platform, home, shell) = unsafe {
            (
                optional_text(given.platform, "platform")?.unwrap_or("f1"),
                optional_text(given.home, "home")?.map(PathBuf::from),
                optional_text(given.shell_json, "shell_json")?,
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
        if let Some(shell) = shell {
            sim.shell = serde_json::from_str(shell)
                .map_err(|error| Failure::argument(format!("shell_json: {error}")))?;
        }
        if given.slots != 0 {
            sim.shell.slots = slots(given.slots)?;
        }
        if given.channel_bytes != 0 {
            sim.channel_bytes = Some(given.channel_bytes);
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
        let opened = Card::simulated(sim, given.owner()?, progress)?;
        // SAFETY: the caller's place for a handle.
        unsafe { answer.give(handles::insert(Thing::Card(opened))) };
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
        let answer = Answer::at(text, "text")?;
        let report = handles::with_card(card, |card| Ok(card.report()?))?;
        // SAFETY: the caller's place for a string.
        unsafe { answer.give(new_text(report.to_string())?) };
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_card_report_json(card: Handle, text: *mut *mut c_char) -> c_int {
    entry(|| {
        let answer = Answer::at(text, "text")?;
        let report = handles::with_card(card, |card| Ok(card.report()?))?;
        let json = serde_json::to_string(&report)
            .map_err(|error| tombolo::Error::Internal(error.to_string()))?;
        // SAFETY: the caller's place for a string.
        unsafe { answer.give(new_text(json)?) };
        Ok(())
    })
}
