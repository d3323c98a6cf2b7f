//! Is the library whole where destructors of thread-locals have run? There calls are made by `atexit` handlers, by
//! destructors of static objects, and by other destructors of thread-locals, in any order.

use std::cell::RefCell;
use std::sync::mpsc::{channel, Sender};
use tombolo::{Card, Error, FunctionalCard, FunctionalConfig, SlotId};

struct Last(Card, Sender<Result<(), Error>>);

impl Drop for Last {
    fn drop(&mut self) {
        let Self(card, told) = self;
        let work = || {
            let space = card.create_space()?;
            let slot = card.load(SlotId(0), crate::kernel("copy"), &space)?;
            slot.set("bytes", 0)?;
            slot.start()?;
            slot.join(None)?;
            slot.close()?;
            card.outside(|| ())?;
            let participant = card.participant()?.enter()?;
            card.describe()?;
            drop(participant);
            card.close()
        };
        told.send(work()).unwrap();
    }
}

thread_local! {
    static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
}

#[test]
fn calls_work_where_thread_locals_have_gone() {
    let _alone = crate::alone();
    let (told, results) = channel();
    let work = move || {
        let card = Card::functional(FunctionalCard::new(FunctionalConfig::default())).unwrap();
        // Before anything else of this thread is made, so it goes last.
        LAST.set(Some(Last(card.client(), told)));
        let present = card.participant().unwrap().enter().unwrap();
        card.describe().unwrap();
        drop(present);
    };
    // The thread may have gone before its destructors have.
    std::thread::spawn(work).join().unwrap();
    results.recv().unwrap().unwrap();
}
