//! Sources, their compilation options, and clocks.

use super::{RawClock, RawConstant, RawDefine, RawInterrupt, RawParameter, Reader};
use crate::kernel::error::{KernelError, ManifestRule};
use crate::kernel::rtl::{ClockInput, Constant, Parameter, Ratio, DEFAULT_INTERRUPT};
use std::collections::{BTreeMap, HashSet};
use std::path::{Component, Path, PathBuf};
use toml::Spanned;

const MAX_CLOCKS: usize = 4;

/// A relative path that stays in the folder, without `.` components.
fn inside(
    reader: &Reader<'_>,
    key: &'static str,
    path: Spanned<String>,
) -> Result<PathBuf, KernelError> {
    let span = path.span();
    let text = path.into_inner();
    let is_inside = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    if text.is_empty() || text.contains('\0') || !Path::new(&text).components().all(is_inside) {
        return Err(reader.broken(key, span, ManifestRule::OutsideFolder(text)));
    }
    let parts = Path::new(&text).components();
    Ok(parts
        .filter(|part| matches!(part, Component::Normal(_)))
        .collect())
}

pub(super) fn sources(
    reader: &Reader<'_>,
    raw: Spanned<Vec<Spanned<String>>>,
) -> Result<Vec<PathBuf>, KernelError> {
    const KEY: &str = "kernel.sources";
    if raw.get_ref().is_empty() {
        return Err(reader.broken(KEY, raw.span(), ManifestRule::NoSources));
    }
    let mut seen = HashSet::new();
    let mut sources = Vec::new();
    for source in raw.into_inner() {
        let span = source.span();
        let text = source.get_ref().clone();
        let plain = inside(reader, KEY, source)?;
        let kind = plain.extension().and_then(|kind| kind.to_str());
        if matches!(kind, Some("vhd" | "vhdl")) {
            return Err(reader.broken(KEY, span, ManifestRule::Vhdl(text)));
        }
        if !seen.insert(plain.clone()) {
            return Err(reader.broken(KEY, span, ManifestRule::Duplicate(text)));
        }
        sources.push(plain);
    }
    Ok(sources)
}

pub(super) fn libraries(
    reader: &Reader<'_>,
    raw: Vec<Spanned<String>>,
) -> Result<Vec<String>, KernelError> {
    let mut seen = HashSet::new();
    raw.into_iter()
        .map(|name| reader.unique("kernel.libraries", name, &mut seen))
        .collect()
}

pub(super) fn include(
    reader: &Reader<'_>,
    raw: Vec<Spanned<String>>,
) -> Result<Vec<PathBuf>, KernelError> {
    raw.into_iter()
        .map(|folder| inside(reader, "kernel.include", folder))
        .collect()
}

pub(super) fn parameters(
    reader: &Reader<'_>,
    raw: BTreeMap<String, Spanned<RawParameter>>,
) -> Result<Vec<Parameter>, KernelError> {
    raw.into_iter()
        .map(|(name, value)| {
            let span = value.span();
            let name = reader.identifier("parameters", Spanned::new(span.clone(), name))?;
            let value = match value.into_inner() {
                RawParameter::Flag(flag) => format!("1'b{}", u8::from(flag)),
                RawParameter::Number(number) => match i32::try_from(number) {
                    Ok(small) => small.to_string(),
                    Err(_) => format!("64'sh{number:x}"),
                },
                RawParameter::Real(number) => format!("{number:?}"),
                RawParameter::Text(text) if is_literal(&text) => text,
                RawParameter::Text(text) if is_plain(&text) => format!("\"{text}\""),
                RawParameter::Text(text) => {
                    return Err(reader.broken("parameters", span, ManifestRule::Text(text)))
                }
            };
            Ok(Parameter { name, value })
        })
        .collect()
}

pub(super) fn constants(
    reader: &Reader<'_>,
    raw: BTreeMap<String, Spanned<RawConstant>>,
) -> Result<Vec<Constant>, KernelError> {
    raw.into_iter()
        .map(|(name, value)| {
            let name = reader.identifier("constants", Spanned::new(value.span(), name))?;
            let value = match value.into_inner() {
                RawConstant::Flag(flag) => flag.into(),
                RawConstant::Number(number) => number,
            };
            Ok(Constant { name, value })
        })
        .collect()
}

/// The name of the interrupt output.
pub(super) fn interrupt(
    reader: &Reader<'_>,
    raw: Option<Spanned<RawInterrupt>>,
) -> Result<Option<String>, KernelError> {
    let Some(raw) = raw else {
        return Ok(None);
    };
    let span = raw.span();
    match raw.into_inner() {
        RawInterrupt::Flag(there) => Ok(there.then(|| DEFAULT_INTERRUPT.to_owned())),
        RawInterrupt::Name(name) => {
            let name = reader.identifier("kernel.interrupt", Spanned::new(span, name))?;
            Ok(Some(name))
        }
    }
}

pub(super) fn defines(
    reader: &Reader<'_>,
    raw: BTreeMap<String, Spanned<RawDefine>>,
) -> Result<Vec<String>, KernelError> {
    let mut defines = Vec::new();
    for (name, value) in raw {
        let span = value.span();
        let name = reader.identifier("defines", Spanned::new(span.clone(), name))?;
        match value.into_inner() {
            RawDefine::Flag(true) => defines.push(name),
            RawDefine::Flag(false) => {}
            RawDefine::Number(number) => defines.push(format!("{name}={number}")),
            RawDefine::Text(text) if text.chars().all(|c| !c.is_control()) => {
                defines.push(format!("{name}={text}"));
            }
            RawDefine::Text(text) => {
                return Err(reader.broken("defines", span, ManifestRule::Text(text)))
            }
        }
    }
    Ok(defines)
}

/// Additional clocks; all names are different.
pub(super) fn clocks(
    reader: &Reader<'_>,
    raw: Vec<Spanned<RawClock>>,
    first: &str,
) -> Result<Vec<ClockInput>, KernelError> {
    let mut seen = HashSet::from([first.to_owned()]);
    let mut clocks = Vec::new();
    for clock in raw {
        let span = clock.span();
        let clock = clock.into_inner();
        if clocks.len() == MAX_CLOCKS {
            return Err(reader.broken("clock", span, ManifestRule::TooManyClocks));
        }
        let ratio_span = clock.ratio.span();
        let text = clock.ratio.into_inner();
        let Some(ratio) = Ratio::parse(&text) else {
            return Err(reader.broken("clock.ratio", ratio_span, ManifestRule::Ratio(text)));
        };
        let name = reader.unique("clock.name", clock.name, &mut seen)?;
        let reset_name = match clock.reset_name {
            Some(reset) => reader.identifier("clock.reset_name", reset)?,
            None => default_reset(&name),
        };
        clocks.push(ClockInput {
            name,
            ratio,
            reset: clock.reset,
            reset_name,
        });
    }
    Ok(clocks)
}

/// `ap_rst_n_2` of `ap_clk_2`.
fn default_reset(clock: &str) -> String {
    match clock.strip_prefix("ap_clk") {
        Some(rest) => format!("ap_rst_n{rest}"),
        None => format!("{clock}_rst_n"),
    }
}

/// Whether a text is a based Verilog number: `8'hff`, `'b1`.
fn is_literal(text: &str) -> bool {
    let Some((size, rest)) = text.split_once('\'') else {
        return false;
    };
    let rest = rest.strip_prefix(['s', 'S']).unwrap_or(rest);
    let digits = rest.strip_prefix(['b', 'B', 'o', 'O', 'd', 'D', 'h', 'H']);
    let is_digit = |c: char| c.is_ascii_hexdigit() || c == '_';
    size.chars().all(|c| c.is_ascii_digit())
        && digits.is_some_and(|digits| !digits.is_empty() && digits.chars().all(is_digit))
}

/// Whether a text needs no escape.
fn is_plain(text: &str) -> bool {
    text.chars()
        .all(|c| (c.is_ascii_graphic() || c == ' ') && c != '"' && c != '\\')
}
