//! Mapping, from a request to an address; and the end of mappings and objects.

use super::{named, Files, Mapped, Stub, View, Wanted};
use crate::handles::Handles;
use crate::handles::MappedRange;
use crate::kernels::Kernels;
use crate::message::ClientId;
use crate::message::{MapOptions, TranslationMode};
use crate::paging::lanes::InLane;
use crate::paging::lanes::Lanes;
use crate::paging::policies::Words;
use crate::paging::pump::Pump;
use crate::paging::timeouts::FileWait;
use crate::tasks::Tasks;
use crate::NOT_REGULAR;
use error::Error;
use file_io::{Identity, OpenFile};
use pager::{Event, ObjectId, Pager, Success};
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
    pub(crate) stub: Option<Stub>,
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
    pub(in crate::paging) fn source(&mut self, file: File, label: String) -> Result<Source, Error> {
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
            stub: None,
            label,
        })
    }
}

impl Files {
    /// Whether a client may drop what kernels wrote to the range of a mapping: a client without the right to write
    /// leaves the writes of others unchanged.
    pub(crate) fn may_discard(
        &self,
        handles: &Handles,
        client: ClientId,
        range: MappedRange,
    ) -> Result<(), Error> {
        let Some(mapped) = self.mappings.at(range).filter(|mapped| !mapped.writable) else {
            return Ok(());
        };
        let is_own = |space| handles.asids(client).any(|own| own == space);
        match self.mappings.writers(mapped.view).all(is_own) {
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

impl Files {
    /// Begins to empty a file that is to be created anew. All refusals have been checked; later write-backs are ordered
    /// behind this.
    pub(in crate::paging) fn empty_if_fresh(
        &self,
        lanes: &mut Lanes,
        tasks: &mut Tasks,
        view: View,
        label: &str,
        options: MapOptions,
    ) -> Option<Result<InLane<io::Result<()>>, Error>> {
        let (bytes, object) = (options.create?, self.objects.get(&view)?);
        let file = object.writer.as_ref().unwrap_or(&object.file).clone();
        let wait = FileWait {
            device: view.identity.device,
            label: label.to_owned(),
            what: EMPTYING,
        };
        Some(lanes.ask(tasks, wait, move || empty(&file, bytes)))
    }

    /// Maps a range of a file in a space with this translation mode; returns its address and page size.
    pub(in crate::paging) fn map(
        &mut self,
        pump: &mut Pump,
        kernels: &mut Kernels,
        (space, mode): (Asid, TranslationMode),
        wanted: Wanted<'_>,
    ) -> Result<(VirtAddr, PageSize), Error> {
        let (object, page) = self.object(pump, kernels, mode, &wanted)?;
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
        let result = pump.ask_now(self, kernels, |request| Event::Map {
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
        self.mappings.add(Mapped {
            space,
            address: mapped.address,
            bytes: mapped.bytes,
            view,
            writable: options.write,
            first: 0,
            label: label.to_owned(),
        });
        if let Some(object) = self.objects.get_mut(&view) {
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
    pub(in crate::paging) fn close_object(
        &mut self,
        pager: &Pager,
        kernels: &mut Kernels,
        view: View,
        object: ObjectId,
        saved: bool,
    ) -> bool {
        let left = !pager.has_object(object);
        match left {
            true => self.forget(pager, kernels, view, saved),
            // Its file system has not answered, and may still take the written bytes: the file is not given to others.
            false => self.give_up(view),
        }
        left
    }

    fn forget(&mut self, pager: &Pager, kernels: &mut Kernels, view: View, saved: bool) {
        let options = self.options.clone();
        let words = Words::new(kernels.description(), &options, pager.statistics());
        self.forget_object(kernels.card(), view, saved, |paged| words.of(paged));
    }

    /// Drops objects that were abandoned at their close and have gone since.
    pub(in crate::paging) fn forget_given_up(
        &mut self,
        pager: &Pager,
        kernels: &mut Kernels,
    ) -> Vec<View> {
        let left: Vec<View> = self.given_up(|object| !pager.has_object(object));
        left.iter()
            .for_each(|view| self.forget(pager, kernels, *view, false));
        left
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;
    use std::io::{Read, Seek, Write};

    const READ: MapOptions = MapOptions::read_only();
    const WRITE: MapOptions = MapOptions::read_write();

    #[test]
    fn a_mapping_has_no_more_rights_than_the_descriptor() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        std::fs::write(&path, [1; 100]).unwrap();
        let open = |change: fn(&mut OpenOptions) -> &mut OpenOptions| {
            change(&mut OpenOptions::new()).open(&path).unwrap()
        };
        let rule = |file: &File, options| {
            let refused = check_rights(file, "data", options).err();
            refused.map(|error| error.to_string())
        };
        let read_only = open(|with| with.read(true));
        assert_eq!(rule(&read_only, READ), None);
        assert!(rule(&read_only, WRITE)
            .unwrap()
            .contains("opened read-only"));
        let both = open(|with| with.read(true).write(true));
        assert_eq!((rule(&both, READ), rule(&both, WRITE)), (None, None));
        let write_only = open(|with| with.write(true));
        for options in [READ, WRITE] {
            let rule = rule(&write_only, options).unwrap();
            assert!(rule.contains("without the right to read"), "{rule}");
        }
        let appends = open(|with| with.read(true).append(true));
        assert_eq!(rule(&appends, READ), None);
        assert!(rule(&appends, WRITE).unwrap().contains("for appending"));
    }

    #[test]
    fn a_range_lies_within_its_file() {
        let within = |length, options: MapOptions| range_within(length, &options).ok();
        assert_eq!(within(100, READ), Some(100));
        assert_eq!(within(100, READ.offset(99)), Some(1));
        assert_eq!(within(100, READ.offset(60).bytes(40)), Some(40));
        assert_eq!(within(100, READ.offset(60).bytes(41)), None);
        assert_eq!(within(100, READ.offset(60).bytes(u64::MAX)), None);
        assert_eq!(within(100, READ.offset(100)), None);
        assert_eq!(within(100, READ.bytes(0)), None);
        assert_eq!(within(0, READ), None);
    }

    #[test]
    fn a_file_is_emptied_or_left_as_it_was() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[1; 100]).unwrap();
        assert!(empty(&file, u64::MAX).is_err(), "no file is as large");
        let content = |file: &mut File| {
            let mut content = Vec::new();
            file.rewind().unwrap();
            file.read_to_end(&mut content).unwrap();
            content
        };
        assert_eq!(content(&mut file), [1; 100]);
        for bytes in [40, 200] {
            empty(&file, bytes).unwrap();
            assert_eq!(content(&mut file), vec![0; bytes as usize]);
        }
    }
}
