//! Mapping, from a request to an address; and the end of mappings and objects.

use super::claim::Locking;
use super::{named, Files, Mapped, StandIn, View, Wanted};
use crate::behind::StandsFor;
use crate::handles::Handles;
use crate::handles::MappedRange;
use crate::kernels::Kernels;
use crate::lane::Post;
use crate::message::ClientId;
use crate::message::MapOptions;
use crate::paging::lanes::InLane;
use crate::paging::lanes::Lanes;
use crate::paging::patience::Awaited;
use crate::paging::policies::Words;
use crate::paging::Paging;
use crate::tasks::Tasks;
use crate::Aside;
use crate::NOT_REGULAR;
use error::Error;
use file_io::{Identity, OpenFile};
use pager::{Event, ObjectId, Success};
use std::fs::{File, Metadata};
use std::io;
use std::ops::Range;
use std::sync::Arc;
use units::{Asid, PageSize, VirtAddr};

/// The source of a mapping's bytes.
pub(crate) struct Source {
    pub(crate) file: Arc<OpenFile>,
    pub(crate) identity: Identity,
    /// The backing that the file represents, if any.
    pub(crate) stand_in: Option<StandIn>,
    /// Name of the file, for messages.
    pub(crate) label: String,
}

/// The inspected part of a file that is to be mapped.
pub(crate) struct Looked {
    pub(crate) view: View,
    /// Size of the whole file, in bytes.
    pub(crate) length: u64,
    /// Holes of the view, if the mapping requests them.
    pub(crate) holes: Vec<Range<u64>>,
}

/// Description of the operation on a newly created file, for messages.
pub(crate) const EMPTYING: &str = "giving it its size";

impl Lanes {
    /// The source for a file that holds the bytes of a mapping.
    fn source(&mut self, file: File, label: String) -> Result<Source, Error> {
        let opened = file_io::identity(&file)
            .and_then(|identity| Ok((identity, self.open(identity.device, file)?)));
        let (identity, file) = opened.map_err(|source| Error::File {
            path: (&label).into(),
            what: "looking which file it is",
            source,
        })?;
        Ok(Source {
            file: Arc::new(file),
            identity,
            stand_in: None,
            label,
        })
    }
}

impl Files {
    /// The source for a backing, with its stub file: an existing one for the same peer, or this one.
    fn stand_in(
        &mut self,
        post: &Post,
        file: File,
        behind: Box<dyn StandsFor>,
        label: String,
    ) -> Result<Source, Error> {
        let source = |identity, stand_in: StandIn, label| Source {
            file: stand_in.file.clone(),
            identity,
            stand_in: Some(stand_in),
            label,
        };
        let failed = |source| Error::File {
            path: (&label).into(),
            what: "standing in for it",
            source,
        };
        let mut known = self.stand_ins.iter();
        let found = behind
            .address()
            .and_then(|address| known.find(|(_, known)| known.behind.address() == Some(address)));
        if let Some((identity, known)) = found {
            return match known.behind.failure() {
                None => Ok(source(*identity, known.clone(), label)),
                Some(why) => Err(Error::Unmappable {
                    path: label.into(),
                    rule: format!("it is mapped already and has failed; unmap it first: {why}"),
                }),
            };
        }
        let identity = file_io::identity(&file).map_err(failed)?;
        let post = post.clone();
        // It is memory, which does not block.
        let file = Arc::new(OpenFile::from(file));
        let behind = behind.start(
            file.clone(),
            Box::new(move |done| post.send(Aside::from(done))),
        );
        let stand_in = StandIn {
            file,
            behind: behind.map_err(failed)?,
        };
        self.stand_ins.insert(identity, stand_in.clone());
        Ok(source(identity, stand_in, label))
    }

    /// Whether a client may drop what kernels wrote to the range of a mapping: a client without the right to write
    /// leaves the writes of others unchanged.
    pub(crate) fn may_discard(
        &self,
        handles: &Handles,
        client: ClientId,
        range: MappedRange,
    ) -> Result<(), Error> {
        let Some(mapped) = self.at(range).filter(|mapped| !mapped.writable) else {
            return Ok(());
        };
        let is_own = |space| handles.asids(client).any(|own| own == space);
        match self.writers(mapped.view).all(is_own) {
            true => Ok(()),
            false => Err(Error::Unmappable {
                path: (&mapped.label).into(),
                rule: "another program has it mapped for writing, and this mapping is read-only: what that one wrote can \
                       be saved by a refresh, and not dropped"
                    .to_owned(),
            }),
        }
    }
}

impl Paging {
    /// The source of a mapping's bytes: a file, or a backing device.
    pub(crate) fn source(
        &mut self,
        post: &Post,
        file: File,
        behind: Option<Box<dyn StandsFor>>,
        label: String,
    ) -> Result<Source, Error> {
        match behind {
            None => self.lanes.source(file, label),
            Some(behind) => self.files.stand_in(post, file, behind, label),
        }
    }

    /// Claims a whole range; or returns the violated rule.
    pub(crate) fn begin_claim(&mut self, view: View) -> Result<Locking, String> {
        let lane = self.lanes.of(view.identity.device);
        let lane = lane.map_err(|error| format!("a thread for its mount: {error}"))?;
        self.files.begin_claim(view, lane)
    }

    /// Begins to empty a file that is to be created anew. All refusals have been checked; later write-backs are ordered
    /// behind this.
    pub(crate) fn empty_if_fresh(
        &mut self,
        tasks: &mut Tasks,
        view: View,
        label: &str,
        options: MapOptions,
    ) -> Option<Result<InLane<io::Result<()>>, Error>> {
        let (bytes, object) = (options.create?, self.files.objects.get(&view)?);
        let file = object.writer.as_ref().unwrap_or(&object.file).clone();
        let awaited = Awaited {
            device: view.identity.device,
            label: label.to_owned(),
            what: EMPTYING,
        };
        let asked = self.lanes.ask(tasks, &mut self.patience, awaited, move || {
            empty(&file, bytes)
        });
        Some(asked)
    }

    pub(crate) fn map(
        &mut self,
        kernels: &mut Kernels,
        space: Asid,
        wanted: Wanted<'_>,
    ) -> Result<(VirtAddr, PageSize), Error> {
        let (object, page) = self.object(kernels, space, &wanted)?;
        let Wanted {
            view,
            file,
            label,
            options,
            ..
        } = wanted;
        // The pager maps whole pages of the object; the client gets the address of the byte it requested.
        let lead = view.offset % page.bytes();
        let address = match options.address {
            Some(wanted) => Some(
                wanted
                    .get()
                    .checked_sub(lead)
                    .and_then(VirtAddr::new)
                    .ok_or_else(|| Error::Unmappable {
                        path: label.into(),
                        rule: format!(
                            "offset {} does not fit address {wanted}: both must have the same \
                         remainder by the page size, {}",
                            view.offset, page
                        ),
                    })?,
            ),
            None => None,
        };
        let result = self.ask_now(kernels, |request| Event::Map {
            request,
            asid: space,
            address,
            object,
            offset: view.offset - lead,
            bytes: view.bytes + lead,
            read: options.read,
            write: options.write,
        });
        let mapped = match result {
            Ok(Success::Mapped(mapped)) => mapped,
            Ok(Success::Done) => {
                return Err(Error::Internal("a mapping without an address".into()));
            }
            Err(error) => return Err(named(error, object, label)),
        };
        self.files.mappings.push(Mapped {
            space,
            address: mapped.address,
            bytes: mapped.bytes,
            view,
            writable: options.write,
            first: 0,
            label: label.to_owned(),
        });
        if let Some(object) = self.files.objects.get_mut(&view) {
            object.mappings += 1;
            if options.write {
                object.writer.get_or_insert(file);
            }
        }
        let beyond = || Error::Internal("a mapping beyond the address space".into());
        let address = mapped.address.checked_add(lead).ok_or_else(beyond)?;
        Ok((address, page))
    }

    /// Handles the close of a range's object by the pager; `saved` if it succeeded. Returns whether the object is gone.
    pub(crate) fn close_object(
        &mut self,
        kernels: &mut Kernels,
        view: View,
        object: ObjectId,
        saved: bool,
    ) -> bool {
        let left = !self.pager.has_object(object);
        match left {
            true => self.forget_object(kernels, view, saved),
            // Its file system has not answered, and may still take the written bytes: the file is not given to others.
            false => self.files.give_up(view),
        }
        left
    }

    fn forget_object(&mut self, kernels: &mut Kernels, view: View, saved: bool) {
        let paging = self.pager.statistics();
        let words = Words::new(kernels.description(), &self.options, paging);
        let card = kernels.card();
        let files = &mut self.files;
        files.forget_object(card, view, saved, |paged| words.told(paged));
    }

    /// Drops objects that were abandoned at their close and have gone since.
    pub(crate) fn forget_given_up(&mut self, kernels: &mut Kernels) -> Vec<View> {
        let left: Vec<View> = self.files.given_up(|object| !self.pager.has_object(object));
        left.iter()
            .for_each(|view| self.forget_object(kernels, *view, false));
        left
    }

    /// Drops the mappings of a space (in a range); returns the files that may be closed.
    pub(crate) fn forget_mappings(&mut self, space: Asid, range: Option<(u64, u64)>) -> Vec<View> {
        self.service.end_pressure(space, range);
        self.files.forget_mappings(space, range)
    }
}

/// Checks that the client opened the file with the rights that the mapping needs, even if another client has it mapped
/// with more.
pub(crate) fn check_rights(file: &File, label: &str, options: MapOptions) -> Result<(), Error> {
    let rights = file_io::rights(file).map_err(|source| Error::File {
        path: label.into(),
        what: "looking how it was opened",
        source,
    })?;
    let rule = if !rights.read {
        "the file was opened without the right to read; open it for reading too"
    } else if !options.write {
        return Ok(());
    } else if !rights.write {
        "the file was opened read-only; open it for writing too, or map it read-only"
    } else if rights.appends {
        "the file was opened for appending, and what is written through it goes to its end; open it without that, or \
         map it read-only"
    } else {
        return Ok(());
    };
    Err(Error::Unmappable {
        path: label.into(),
        rule: rule.to_owned(),
    })
}

/// Size of the mapping of a file in bytes, or the violated rule. The client may be another process, so nothing has been
/// checked before.
pub(crate) fn check_options(
    metadata: &Metadata,
    length: u64,
    options: MapOptions,
) -> Result<u64, String> {
    if !metadata.is_file() {
        return Err(NOT_REGULAR.to_owned());
    }
    if options.create.is_some() && !options.write {
        return Err("a file that is made anew is mapped for writing too".to_owned());
    }
    let bytes = range_within(length, &options)?;
    if options.hot && options.direct {
        return Err(
            "pages that stay in host memory cannot be hot; leave out one of the two".to_owned(),
        );
    }
    Ok(bytes)
}

/// Size of the mapping in bytes, for a file of that length; or the violated rule.
fn range_within(length: u64, options: &MapOptions) -> Result<u64, String> {
    let offset = options.offset;
    if length == 0 {
        return Err("the file is empty; only files of at least 1 byte can be mapped".to_owned());
    }
    if offset >= length {
        return Err(format!(
            "offset {offset} is past the end of the file, which has {length} bytes"
        ));
    }
    let rest = length - offset;
    match options.bytes.unwrap_or(rest) {
        bytes if bytes == 0 || bytes > rest => Err(format!(
            "{bytes} bytes from offset {offset} cannot be mapped; the file has {rest} there"
        )),
        bytes => Ok(bytes),
    }
}

/// Replaces a file's content by zeroes; if the size is refused, the file is unchanged.
fn empty(file: &File, bytes: u64) -> io::Result<()> {
    let before = file.metadata()?.len();
    if bytes > before {
        file.set_len(bytes)
            .inspect_err(|_| drop(file.set_len(before)))?;
    }
    file.set_len(0)?;
    file.set_len(bytes)
}
