//! A chat server of actors, and a client that verifies the lines it gets.

use bytes::Bytes;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use wigwag::io::{self, Accepted, Event, Line, Output};
use wigwag::{Actor, Handle, Life, Local, Reason, This, lifecycle::Alive};

/// Accepts connections.
pub(crate) struct Server {
    pub(crate) listener: Option<TcpListener>,
    pub(crate) rooms: Vec<RoomRef>,
}

#[wigwag::actor(life)]
impl Server {
    pub fn connection(&mut self, event: Event<Accepted>) {
        let Event::Got(accepted) = event else { return };
        let (stream, rooms) = (Some(accepted.into_stream()), self.rooms.clone());
        drop(Session { stream, rooms, output: None, joined: None }.spawn());
    }
}

impl Life for Server {
    async fn started(&mut self, this: &This<Self>) -> Result<(), Reason> {
        let listener = self.listener.take().unwrap();
        let delivered = io::accept(listener).deliver(&this.reference(), ServerRef::connection);
        delivered.map(drop).map_err(Reason::failed)
    }
}

/// One connection.
struct Session {
    stream: Option<TcpStream>,
    rooms: Vec<RoomRef>,
    output: Option<Output>,
    joined: Option<(RoomRef, u32)>,
}

#[wigwag::actor(life)]
impl Session {
    pub async fn heard(&mut self, this: &This<Self>, event: Event<Line>) {
        let Event::Got(line) = event else {
            self.output = None;
            if let Some((room, number)) = self.joined.take() {
                room.leave(number).tell().await.unwrap();
            }
            return;
        };
        match &self.joined {
            Some((room, number)) => room.say(*number, line.into_bytes()).tell().await.unwrap(),
            None => {
                let text = line.text().unwrap();
                let (room, number) = text.split_once(' ').unwrap();
                let room = self.rooms[room.parse::<usize>().unwrap()].clone();
                let number = number.parse().unwrap();
                let member = (self.output.clone().unwrap(), this.handle());
                room.join(number, Local(member)).tell().await.unwrap();
                self.joined = Some((room, number));
            }
        }
    }
}

impl Life for Session {
    async fn started(&mut self, this: &This<Self>) -> Result<(), Reason> {
        let stream = self.stream.take().unwrap();
        let delivered = io::lines(stream).deliver(&this.reference(), SessionRef::heard);
        self.output = Some(delivered.map_err(Reason::failed)?.1);
        Ok(())
    }
}

/// Forwards each member's lines to all other members. A member that does not read is removed.
pub(crate) struct Room {
    members: Vec<(u32, Output, Handle)>,
    size: usize,
    thrown_out: Vec<u32>,
}

#[wigwag::actor]
impl Room {
    pub fn join(&mut self, number: u32, member: Local<(Output, Handle)>) {
        let Local((output, session)) = member;
        self.members.push((number, output, session));
        if self.members.len() == self.size {
            self.tell_all(None, &Bytes::from_static(b"go\n"));
        }
    }

    pub fn say(&mut self, number: u32, text: Bytes) {
        let mut line = number.to_string().into_bytes();
        line.push(b' ');
        line.extend_from_slice(&text);
        line.push(b'\n');
        self.tell_all(Some(number), &line.into());
    }

    pub fn leave(&mut self, number: u32) {
        self.members.retain(|member| member.0 != number);
    }

    pub fn thrown_out(&self) -> Vec<u32> {
        self.thrown_out.clone()
    }

    fn tell_all(&mut self, but: Option<u32>, line: &Bytes) {
        let thrown_out = &mut self.thrown_out;
        self.members.retain(|(number, output, session)| {
            let reads = but == Some(*number) || output.try_write(line.clone()).is_ok();
            assert!(output.waiting_bytes() <= io::limits::WRITING_BYTES_MAX);
            if !reads {
                thrown_out.push(*number);
                session.kill();
            }
            reads
        });
    }
}

/// Starts a server of `rooms` rooms for `size` members each, with small socket buffers.
pub(crate) async fn serve(rooms: usize, size: usize) -> (ServerRef, Vec<RoomRef>, String) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_send_buffer_size(16 * 1024).unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1024).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let room = || Room { members: Vec::new(), size, thrown_out: Vec::new() }.spawn();
    let rooms: Vec<_> = (0..rooms).map(|_| room()).collect();
    let server = Server { listener: Some(listener), rooms: rooms.clone() };
    (server.start().await.unwrap(), rooms, address)
}

/// A client that knows the other members of its room.
pub(crate) struct Client {
    number: u32,
    /// The numbers of the other speakers, and how many lines each has sent so far.
    others: Vec<(u32, usize)>,
    read: BufReader<OwnedReadHalf>,
    pub(crate) write: OwnedWriteHalf,
}

impl Client {
    /// Joins a room and waits until all members are there.
    pub(crate) async fn join(
        address: &str,
        room: usize,
        number: u32,
        speakers: impl Iterator<Item = u32>,
    ) -> Client {
        let (read, mut write) = TcpStream::connect(address).await.unwrap().into_split();
        write.write_all(format!("{room} {number}\n").as_bytes()).await.unwrap();
        let others = speakers.filter(|other| *other != number).map(|other| (other, 0)).collect();
        let mut client = Client { number, others, read: BufReader::new(read), write };
        assert_eq!(client.line().await, "go\n");
        client
    }

    async fn line(&mut self) -> String {
        let mut line = String::new();
        let read = tokio::time::timeout(super::LONG, self.read.read_line(&mut line)).await;
        assert!(read.unwrap().unwrap() > 0, "client {} was closed on", self.number);
        line
    }

    /// Sends its line number `count`, padded to `width`.
    pub(crate) async fn say(&mut self, count: usize, width: usize) {
        let line = format!("{}\n", text(self.number, count, width));
        self.write.write_all(line.as_bytes()).await.unwrap();
    }

    /// Reads until each of the others has sent `count` lines; every line must be the next of its
    /// speaker.
    pub(crate) async fn hear(&mut self, count: usize, width: usize) {
        let mut missing: usize = self.others.iter().map(|(_, heard)| count - heard).sum();
        while missing > 0 {
            let line = self.line().await;
            let (speaker, said) = line.trim_end().split_once(' ').unwrap();
            let speaker: u32 = speaker.parse().unwrap();
            let found = self.others.iter_mut().find(|(other, _)| *other == speaker);
            let (_, heard) = found.unwrap_or_else(|| panic!("{speaker} is not in this room"));
            assert_eq!(said, text(speaker, *heard, width), "at client {}", self.number);
            *heard += 1;
            // A speaker may be ahead by the lines that it was allowed to send already.
            missing -= usize::from(*heard <= count);
        }
    }

    /// Closes the sending side, and asserts that nothing more comes.
    pub(crate) async fn finish(mut self) {
        self.write.shutdown().await.unwrap();
        let mut line = String::new();
        assert_eq!(self.read.read_line(&mut line).await.unwrap(), 0, "too much: {line}");
    }
}

fn text(number: u32, count: usize, width: usize) -> String {
    format!("{:0width$}", u64::from(number) << 32 | count as u64)
}

/// The handles of the rooms; a room ends with the last of its sessions.
pub(crate) fn handles(rooms: Vec<RoomRef>) -> Vec<Handle> {
    rooms.iter().map(|room| room.handle().unwrap()).collect()
}
