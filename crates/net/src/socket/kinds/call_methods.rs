//! The calls of a socket, as macros: each type has those that its protocol supports.

macro_rules! send_calls {
    () => {
        /// Sends a message, waiting while no peer is connected or has room. Ready means that the
        /// message is in a peer's queue on this side, not that the peer has it. One lock; what
        /// owns its bytes is not copied ([`IntoBytes`]).
        ///
        /// # Cancellation
        ///
        /// A future dropped before it is ready has sent nothing, and the message is dropped with
        /// it.
        pub async fn send(&self, message: impl IntoBytes) -> Result<(), SendError> {
            self.0
                .0
                .send(self.0.caller(), message.into_bytes())
                .await
                .map(drop)
                .map_err(|refused| *refused)
        }

        /// Sends a message now, or returns it.
        pub fn try_send(&self, message: impl IntoBytes) -> Result<(), SendError> {
            self.0.0.try_send(self.0.caller(), message.into_bytes())
        }

        /// [`send`](Self::send) on the calling thread.
        ///
        /// Threads that send on the same socket at the same time take turns. A thread waits for its
        /// turn for at most 1 ms while there is room; the send timeout begins after that.
        pub fn blocking_send(&self, message: impl IntoBytes) -> Result<(), SendError> {
            self.0.0.blocking_send(self.0.caller(), message.into_bytes())
        }
    };
}

macro_rules! send_limit {
    () => {
        /// Sets how long `send` waits at most; no limit unless set.
        pub fn set_send_timeout(&self, limit: Option<Duration>) {
            self.0.0.with(|state| state.send_timeout = limit);
        }
    };
}

macro_rules! sends {
    () => {
        send_calls!();
        send_limit!();
    };
}

macro_rules! receive_calls {
    () => {
        receive_calls!(recv);
    };
    ($recv:ident) => {
        /// Receives the next message, waiting for it.
        ///
        /// # Cancellation
        ///
        /// A future dropped before it is ready has received nothing.
        pub async fn recv(&self) -> Result<Bytes, SocketError> {
            self.0.0.$recv(self.0.caller(), None).await
        }

        /// Receives a message that has already arrived.
        pub fn try_recv(&self) -> Result<Bytes, SocketError> {
            self.0.0.try_recv(self.0.caller())
        }

        /// [`recv`](Self::recv) on the calling thread.
        pub fn blocking_recv(&self) -> Result<Bytes, SocketError> {
            self.0.0.blocking_recv(self.0.caller())
        }
    };
}

/// The calls for many messages, here and in `receives_many`: for sockets that take no turns with their
/// peers.
macro_rules! sends_many {
    () => {
        /// Sends all of `messages`, first to last, as [`send`](Self::send) does each. One lock for as
        /// many as there is room for: a program that has several short messages at hand spends less
        /// processor time on each. The messages that are sent are taken out of `messages`.
        ///
        /// The send timeout, if one is set, begins anew whenever something was sent.
        ///
        /// # Errors
        ///
        /// Those of [`send`](Self::send). The messages that were not sent are still in `messages`, the one
        /// that was refused first.
        ///
        /// # Cancellation
        ///
        /// A future dropped before it is ready has sent what is gone from `messages`, and nothing else.
        pub async fn send_many(&self, messages: &mut Vec<Bytes>) -> Result<(), SocketError> {
            self.0.0.send_many(self.0.caller(), messages).await
        }

        /// [`send_many`](Self::send_many) on the calling thread.
        pub fn blocking_send_many(&self, messages: &mut Vec<Bytes>) -> Result<(), SocketError> {
            self.0.0.blocking_send_many(self.0.caller(), messages)
        }
    };
}

macro_rules! receives_many {
    () => {
        /// Receives messages that have arrived, at most `limit`, and appends them to `messages`, waiting
        /// for the first one. One lock for all of them: where many short messages arrive, each takes less
        /// processor time than a [`recv`](Self::recv). Returns how many there are: not 0, unless
        /// `limit` is, and at most 256, whatever `limit` is.
        ///
        /// # Errors
        ///
        /// Those of [`recv`](Self::recv); nothing was received then.
        ///
        /// # Cancellation
        ///
        /// A future dropped before it is ready has received nothing.
        pub async fn recv_many(
            &self,
            messages: &mut Vec<Bytes>,
            limit: usize,
        ) -> Result<usize, SocketError> {
            self.0.0.recv_many(self.0.caller(), messages, limit).await
        }

        /// [`recv_many`](Self::recv_many) on the calling thread.
        pub fn blocking_recv_many(
            &self,
            messages: &mut Vec<Bytes>,
            limit: usize,
        ) -> Result<usize, SocketError> {
            self.0.0.blocking_recv_many(self.0.caller(), messages, limit)
        }
    };
}

macro_rules! receive_limit {
    () => {
        /// Sets how long `recv` waits at most; no limit unless set.
        pub fn set_receive_timeout(&self, limit: Option<Duration>) {
            self.0.0.with(|state| state.receive_timeout = limit);
        }
    };
}

macro_rules! receives {
    () => {
        receive_calls!();
        receive_limit!();
    };
}

/// The receive calls of a socket that takes turns with its peer.
macro_rules! turn_calls {
    () => {
        receive_calls!(recv_in_turn);
    };
}

macro_rules! takes_turns {
    () => {
        turn_calls!();
        receive_limit!();

        /// Sets how long `recv` and `ask` spin before their thread parks: 100 µs unless set, zero
        /// for never. Applies to later calls of the socket and its contexts.
        ///
        /// A thread that waits for one message at a time puts its processor to sleep, and to wake
        /// it costs more than the rest of a round trip. A call that spins lets all other tasks of
        /// its runtime run and then looks again.
        ///
        /// Calls spin where that costs no more processor time, that of the peer included. The
        /// socket finds this out by trials: from time to time some hundred calls spin and some
        /// hundred sleep, and the cheaper of both goes on. Where messages take longer than `limit`,
        /// a call spins ever more rarely; while other threads want all processors, and with a single
        /// processor, none does.
        pub fn set_spin(&self, limit: Duration) {
            if let Some(spin) = &self.0.0.spin {
                spin.set_limit(limit);
            }
        }
    };
}

macro_rules! asks {
    () => {
        /// Sends a request and receives its own reply.
        ///
        /// # Errors
        ///
        /// If another call sends a request here meanwhile, this one ends with
        /// [`Cancelled`](crate::socket::SocketErrorKind::Cancelled).
        ///
        /// # Cancellation
        ///
        /// A future dropped before it is ready may have sent the request; it is not sent again
        /// then, and its reply is discarded. The receive timeout has the same effect.
        pub async fn ask(&self, request: impl IntoBytes) -> Result<Bytes, SocketError> {
            self.0.0.ask(self.0.caller(), request.into_bytes()).await
        }

        /// [`ask`](Self::ask) on the calling thread.
        pub fn blocking_ask(&self, request: impl IntoBytes) -> Result<Bytes, SocketError> {
            let core = &self.0.0;
            core.block_on(self.ask(request)).unwrap_or_else(|kind| Err(core.error(kind)))
        }
    };
}

macro_rules! subscribes {
    () => {
        /// Subscribes to bodies that begin with `topic`: everything begins with the empty topic.
        /// Subscribing twice takes unsubscribing twice.
        pub fn subscribe(&self, topic: impl IntoBytes) -> Result<(), SocketError> {
            self.0.set(Setting::Subscribe(topic.into_bytes()))
        }

        /// Removes a subscription; messages that have already arrived stay.
        pub fn unsubscribe(&self, topic: impl IntoBytes) -> Result<(), SocketError> {
            self.0.set(Setting::Unsubscribe(topic.into_bytes()))
        }
    };
}

macro_rules! surveys {
    () => {
        /// Sets how long answers count, from the next survey on; `None`: until the survey after it.
        pub fn set_survey_time(&self, time: Option<Duration>) {
            // Every surveyor has this setting.
            let _ = self.0.set(Setting::SurveyTime(time));
        }
    };
}

pub(crate) use {
    asks, receive_calls, receive_limit, receives, receives_many, send_calls, send_limit, sends,
    sends_many, subscribes, surveys, takes_turns, turn_calls,
};
