//! The object of a range: an existing one with the same properties, or a new one.

use super::{named, Files, Object, View, Wanted};
use crate::kernels::Kernels;
use crate::message::{MapOptions, TranslationMode};
use crate::paging::policies::{beyond_reach, AUTOMATIC};
use crate::paging::pump::Pump;
use card::memories::{self};
use error::Error;
use pager::{Event, ObjectId, ObjectKind};
use std::ops;
use units::{Advice, CardDescription, CardMemory, MemoryKind, PageSize, PageSizes};

impl Files {
    /// Refuses a range that conflicts with existing mappings.
    pub(crate) fn may_begin(
        &self,
        view: View,
        label: &str,
        options: MapOptions,
    ) -> Result<(), Error> {
        let refused = |rule: String| {
            Err(Error::Unmappable {
                path: label.into(),
                rule,
            })
        };
        if options.create.is_some() && self.shows(view.identity) {
            let rule = "it is mapped already, and cannot be made anew; unmap it first";
            return refused(rule.to_owned());
        }
        let mut others = self.objects.iter();
        let clash = |(other, object): &(&View, &Object)| {
            **other != view && view.overlaps(**other) && (options.write || object.writer.is_some())
        };
        match others.find(clash) {
            Some((other, _)) => refused(format!(
                "its bytes {} to {} are mapped already, and {} to {} overlap them: mappings of a file show \
                 the same range or ranges apart, unless none is writable. Map one range that holds both",
                other.offset,
                other.end() - 1,
                view.offset,
                view.end().saturating_sub(1)
            )),
            None => Ok(()),
        }
    }
}

impl Files {
    /// The object of a range of a file: an existing one, or a new one.
    pub(super) fn object(
        &mut self,
        pump: &mut Pump,
        kernels: &mut Kernels,
        mode: TranslationMode,
        wanted: &Wanted<'_>,
    ) -> Result<(ObjectId, PageSize), Error> {
        let Wanted {
            view,
            ref file,
            label,
            length,
            options,
        } = *wanted;
        let refused = |rule: String| Error::Unmappable {
            path: label.into(),
            rule,
        };
        self.may_begin(view, label, options)?;
        let pages = self
            .pages_for(kernels, mode, options, view.bytes)
            .map_err(refused)?;
        if let Some(object) = self.objects.get_mut(&view) {
            return match object.differs(length, options, pages.parts) {
                Some(rule) => Err(refused(rule)),
                None => {
                    let state = options.file_state.or(object.options.file_state);
                    object.options.file_state = state;
                    Ok((object.id, object.page_size))
                }
            };
        }
        let channels = match options.memory {
            Some(memory) => {
                let card = kernels.description();
                Some(channels_of(card, memory, options.direct).map_err(refused)?)
            }
            None => None,
        };
        let direct = match options.direct {
            true => {
                let card = kernels.card();
                let direct = self.begin_direct(card, view, pages.size);
                Some(direct.map_err(refused)?)
            }
            false => None,
        };
        let id = self.new_object();
        let created = pump.ask_now(self, kernels, |request| Event::CreateObject {
            request,
            object: id,
            offset: view.offset,
            bytes: view.bytes,
            kind: ObjectKind::File {
                // Each mapping has its own rights; a writable one may come later.
                writable: true,
                fresh: options.create.is_some(),
            },
            page_size: Some(pages.size),
        });
        if let Err(error) = created {
            if let Some(direct) = &direct {
                self.end_direct(kernels.card(), direct);
            }
            return Err(named(error, id, label));
        }
        if let Some(channels) = channels {
            pump.tell(
                self,
                kernels,
                Event::PlaceOn {
                    object: id,
                    first: channels.start.into(),
                    channels: channels.len(),
                },
            )?;
        }
        if let Some(direct) = &direct {
            let memory = direct.host.offset(direct.first);
            pump.tell(self, kernels, Event::PlaceDirect { object: id, memory })?;
        }
        if let Some(sizes) = pages.varying() {
            pump.tell(self, kernels, Event::VaryPages { object: id, sizes })?;
        }
        let object = Object {
            id,
            file: file.clone(),
            writer: None,
            label: label.to_owned(),
            length,
            page_size: pages.size,
            parts: pages.parts,
            // Advice is applied when the object is mapped.
            options: options.advice(Advice::NONE),
            varies: pages.auto,
            direct,
            holes: Vec::new(),
            mappings: 0,
            closing: false,
            given_up: false,
        };
        self.past_paging.remove(label);
        self.objects.insert(view, object);
        if options.page_size.is_some() || self.options.page_size.is_some() {
            self.page_sizes.insert(pages.parts);
        }
        Ok((id, pages.size))
    }

    /// The page sizes for a range: those requested, or the owner's defaults.
    fn pages_for(
        &self,
        kernels: &Kernels,
        mode: TranslationMode,
        options: MapOptions,
        bytes: u64,
    ) -> Result<ObjectPages, String> {
        let sizes = kernels.description().page_sizes;
        if options.direct && options.auto_pages == Some(true) {
            let rule = "pages that stay in host memory have one size: leave out direct, or automatic pages";
            return Err(rule.to_owned());
        }
        let auto = options.auto_pages.unwrap_or(self.options.auto_pages)
            && options.page_size.is_none()
            && !options.direct;
        let usual = match auto && sizes.contains(PageSize::MIB_2) {
            true => PageSize::MIB_2,
            false => self.usual_page(kernels, mode, bytes),
        };
        let parts = page_for(options.page_size.unwrap_or(usual), sizes, bytes);
        // Without a requested page size, pages are enlarged if the L1 TLB of their size does not reach the whole
        // range.
        let beyond = match options.page_size.is_none() && !options.direct {
            true => beyond_reach(kernels.description(), parts, bytes),
            false => None,
        };
        Ok(ObjectPages {
            size: beyond.map_or(parts, |(larger, _)| larger),
            parts,
            auto,
        })
    }
}

impl Files {
    /// The default page size for `bytes` bytes of a file whose mapping requests no size.
    fn usual_page(&self, kernels: &Kernels, mode: TranslationMode, bytes: u64) -> PageSize {
        let card = kernels.description();
        let alone = mode == TranslationMode::Tlb;
        let walks = card.table_walks && !alone;
        // A page size without an L1 TLB occupies an entry of a smaller size for each part: permitted if there are
        // enough entries.
        let served = |size: &PageSize| {
            let l1 = card.l1_reach.iter().rfind(|l1| l1.page <= *size);
            l1.is_none_or(|l1| l1.page == *size || walks && l1.bytes >= bytes)
        };
        let named = self.options.page_size;
        named.unwrap_or_else(|| {
            let fitting = card.page_sizes.iter().filter(served);
            fitting
                .fold(PageSizes::default(), PageSizes::with)
                .holding(bytes)
        })
    }
}

/// The channels of a card with memory of a kind, or the violated rule.
fn channels_of(
    card: &CardDescription,
    memory: MemoryKind,
    direct: bool,
) -> Result<ops::Range<u8>, String> {
    if direct {
        let rule =
            "pages that stay in host memory lie in no card memory: leave out direct, or the memory";
        return Err(rule.to_owned());
    }
    let of_kind = |there: &&CardMemory| there.kind == memory;
    match card.memories.iter().find(of_kind) {
        Some(there) => Ok(there.channels.clone()),
        None => Err(format!(
            "its pages shall lie in {memory}, and card {} has {}",
            card.name,
            memories::names(&card.memories)
        )),
    }
}

/// How an object is paged.
#[derive(Clone, Copy, Debug)]
struct ObjectPages {
    /// The largest page size.
    size: PageSize,
    /// Size of the pages that are merged into the largest, without automatic sizes.
    parts: PageSize,
    auto: bool,
}

impl ObjectPages {
    /// The permitted page sizes, if there are several.
    fn varying(self) -> Option<PageSizes> {
        match self.auto {
            true => Some(AUTOMATIC),
            false => (self.parts < self.size).then(|| PageSizes::only(self.parts)),
        }
    }
}

impl Object {
    /// The conflict, if any, with another mapping of the object: the length of its file, its options, its page size.
    fn differs(&self, length: u64, options: MapOptions, page_size: PageSize) -> Option<String> {
        let rule = if self.length != length {
            format!(
                "it is mapped already and has changed its size from {} to {length} bytes since; \
                 unmap it first",
                self.length
            )
        } else if options.page_size.is_some() && self.varies
            || options.auto_pages == Some(true) && !self.varies
        {
            let how = if self.varies { "automatic" } else { "fixed" };
            format!(
                "it is mapped already with pages of {how} size; unmap it first, or map it likewise"
            )
        } else if options.direct != self.direct.is_some()
            && self.direct.as_ref().is_none_or(|direct| direct.asked)
        {
            let place = if options.direct {
                "on the card"
            } else {
                "in host memory (direct)"
            };
            format!("it is mapped already with pages {place}; unmap it first, or map it likewise")
        } else if options.memory.is_some() && options.memory != self.options.memory {
            let place = match self.options.memory {
                Some(memory) => memory.to_string(),
                None => "any memory of the card".to_owned(),
            };
            format!(
                "it is mapped already with pages in {place}; unmap it first, or map it likewise"
            )
        } else if options.page_size.is_some() && page_size != self.parts {
            format!(
                "it is mapped already with pages of {}, and a range of a file has pages of one \
                 size; unmap it first or ask for that size",
                self.parts
            )
        } else {
            return None;
        };
        Some(rule)
    }
}

/// The page size for a range. Beyond the default of 2 MiB, a page is no larger than the range: a request for 1 GiB
/// pages for a small file asks for large pages, not for a gibibyte of zeroes.
fn page_for(asked: PageSize, sizes: PageSizes, bytes: u64) -> PageSize {
    let enough = bytes.max(PageSize::MIB_2.bytes());
    if asked.bytes() <= enough || !sizes.contains(asked) {
        return asked;
    }
    let smaller = (PageSize::MIB_2.class()..asked.class()).rev();
    let mut smaller = smaller.filter_map(PageSize::from_class);
    smaller
        .find(|&size| size.bytes() <= enough && sizes.contains(size))
        .unwrap_or(asked)
}
