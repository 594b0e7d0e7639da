//! The way of the items of a stream to a client without a session.

use std::sync::Arc;
use std::task::{Poll, Waker};

use wigwag_actor::reply::flow::Offered;
use wigwag_actor::{CallErrorKind, ItemOffer, ItemSink};
use wigwag_wire::Buffer;
use wigwag_wire::small::DynEncode;

use super::asks::EncodedItems;
use crate::limits::PROXY_ITEM_BYTES_MAX;
use crate::session::references::scope;

/// Encodes the items, and queues them for the client.
pub(crate) struct FlowSink(pub(crate) Arc<EncodedItems>);

impl ItemSink for FlowSink {
    fn offer(&mut self, item: &dyn DynEncode, waker: Option<&Waker>) -> ItemOffer {
        if !self.0.is_wanted() {
            return ItemOffer::Unwanted;
        }
        let mut out = Buffer::new();
        if !scope::encode_without(&mut out, |out| item.encode(out)) {
            let why = "the item has a reference to an actor, which only a node can hold";
            return ItemOffer::Refused(CallErrorKind::NotSerializable, why.to_owned());
        }
        let bytes = out.as_slice().len();
        if bytes > PROXY_ITEM_BYTES_MAX {
            let why =
                format!("the item has {bytes} bytes, at most {PROXY_ITEM_BYTES_MAX} are sent");
            return ItemOffer::Refused(CallErrorKind::TooLarge, why);
        }
        match self.0.offer(out.as_slice().to_vec(), waker) {
            Offered::In => ItemOffer::Sent,
            Offered::Full(_) => ItemOffer::Full,
            Offered::Unwanted(_) => ItemOffer::Unwanted,
        }
    }

    fn credit(&self) -> u64 {
        self.0.credit() as u64
    }

    fn is_wanted(&self) -> bool {
        self.0.is_wanted()
    }

    fn poll_unwanted(&self, waker: &Waker) -> Poll<()> {
        self.0.poll_unwanted(waker)
    }

    // Each item is in the queue when it has been offered.
    fn settle(&mut self) {}
}
