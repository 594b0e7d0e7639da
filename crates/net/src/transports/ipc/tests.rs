use super::*;
use crate::options::Permissions;

#[tokio::test]
async fn the_file_has_the_chosen_permissions() {
    let folder = std::env::temp_dir().join(format!("wigwag-rights-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("socket");
    let address = Address::new("ipc", path.to_string_lossy());
    for mode in [0o600, 0o660, 0o666] {
        let permissions = Permissions::new(mode).unwrap();
        let options = ListenOptions::default().permissions(permissions);
        let listener = Ipc.listen(&address, options).await.unwrap();
        let found = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(found & 0o777, mode);
        drop(listener);
        assert!(!path.exists());
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test]
async fn a_missing_directory_is_named_to_a_listener_and_is_no_listener_to_a_dialer() {
    let file = std::env::temp_dir().join(format!("wigwag-file-{}", std::process::id()));
    std::fs::write(&file, "a file is no directory").unwrap();
    for path in ["/no/such/directory/socket".into(), file.join("socket")] {
        let address = Address::new("ipc", path.to_string_lossy());
        let refused = Ipc.listen(&address, ListenOptions::default()).await.err().unwrap();
        assert!(matches!(refused.kind, NetErrorKind::NoDirectory), "{refused}");
        assert!(refused.hint().contains("make the directory"), "{refused}");
    }
    std::fs::remove_file(&file).unwrap();
    let address = Address::new("ipc", "/no/such/directory/socket");
    let refused = Ipc.dial(&address, DialOptions::default()).await.err().unwrap();
    assert!(matches!(refused.kind, NetErrorKind::NobodyListens), "{refused}");
}

#[tokio::test]
async fn permissions_are_set_before_a_peer_can_connect() {
    let path = std::env::temp_dir().join(format!("wigwag-before-{}", std::process::id()));
    let options = ListenOptions::default().permissions(Permissions::new(0o600).unwrap());
    let socket = make(&path, &options).unwrap();
    let mode = || std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(), 0o600);
    let refused = std::os::unix::net::UnixStream::connect(&path).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    let _listener = listen(socket, 1).unwrap();
    std::os::unix::net::UnixStream::connect(&path).unwrap();
    assert_eq!(mode(), 0o600);
    std::fs::remove_file(&path).unwrap();
}

/// Only a socket without a listener is taken over.
#[tokio::test]
async fn a_file_that_is_no_socket_is_left_alone() {
    let folder = std::env::temp_dir().join(format!("wigwag-kept-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("folder")).unwrap();
    std::fs::write(folder.join("file"), "of the user").unwrap();
    for (name, to) in
        [("link", "file"), ("nowhere", "nothing"), ("left", "stale"), ("live", "used")]
    {
        std::os::unix::fs::symlink(folder.join(to), folder.join(name)).unwrap();
    }
    drop(std::os::unix::net::UnixListener::bind(folder.join("stale")).unwrap());
    let _used = std::os::unix::net::UnixListener::bind(folder.join("used")).unwrap();
    for name in ["file", "folder", "link", "nowhere", "left"] {
        let address = Address::new("ipc", folder.join(name).to_string_lossy());
        let refused = Ipc.listen(&address, ListenOptions::default()).await.err().unwrap();
        assert!(matches!(refused.kind, NetErrorKind::NotASocket), "{name}: {refused}");
        assert!(refused.hint().contains("another path"), "{name}: {refused}");
    }
    let live = Address::new("ipc", folder.join("live").to_string_lossy());
    let refused = Ipc.listen(&live, ListenOptions::default()).await.err().unwrap();
    assert!(matches!(refused.kind, NetErrorKind::InUse), "{refused}");
    assert_eq!(std::fs::read_to_string(folder.join("link")).unwrap(), "of the user");
    assert!(folder.join("folder").is_dir());
    std::fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test]
async fn a_listener_that_closes_leaves_the_file_of_its_successor() {
    let path = std::env::temp_dir().join(format!("wigwag-successor-{}", std::process::id()));
    let address = Address::new("ipc", path.to_string_lossy());
    let first = Ipc.listen(&address, ListenOptions::default()).await.unwrap();
    std::fs::remove_file(&path).unwrap();
    let second = Ipc.listen(&address, ListenOptions::default()).await.unwrap();
    drop(first);
    Ipc.dial(&address, DialOptions::default()).await.unwrap();
    drop(second);
    assert!(!path.exists());
}

/// The backlog of one listener is filled with connections that it does not accept.
#[tokio::test]
async fn a_full_backlog_is_an_address_in_use_and_a_dial_waits_for_room() {
    let path = std::env::temp_dir().join(format!("wigwag-backlog-{}", std::process::id()));
    let address = Address::new("ipc", path.to_string_lossy());
    let options = ListenOptions::default().backlog(1);
    let listener = Ipc.listen(&address, options.clone()).await.unwrap();
    let mut waiting = Vec::new();
    let full = loop {
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
        socket.set_nonblocking(true).unwrap();
        match socket.connect(&SockAddr::unix(&path).unwrap()) {
            Ok(()) => waiting.push(socket),
            Err(error) => break error,
        }
    };
    assert_eq!(full.kind(), io::ErrorKind::WouldBlock);
    let refused = Ipc.listen(&address, options).await.err().unwrap();
    assert!(matches!(refused.kind, NetErrorKind::InUse), "{refused}");
    let dialled = Ipc.dial(&address, DialOptions::default());
    let accepted = async {
        // The dial finds no room before the first connection is accepted.
        tokio::task::yield_now().await;
        for _ in 0..=waiting.len() {
            listener.accept().await?;
        }
        Ok(())
    };
    tokio::try_join!(dialled, accepted).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_dial_gives_up_when_a_backlog_stays_full_for_five_seconds() {
    let path = std::env::temp_dir().join(format!("wigwag-stuck-{}", std::process::id()));
    let address = Address::new("ipc", path.to_string_lossy());
    let options = ListenOptions::default().backlog(0);
    let _listener = Ipc.listen(&address, options).await.unwrap();
    let _waiting = Ipc.dial(&address, DialOptions::default()).await.unwrap();
    let begun = Instant::now();
    let refused = Ipc.dial(&address, DialOptions::default()).await.err().unwrap();
    assert!(matches!(refused.kind, NetErrorKind::TimedOut(BACKLOG_TIME)), "{refused}");
    let most = BACKLOG_TIME + Duration::from_millis(100);
    assert!((BACKLOG_TIME..=most).contains(&begun.elapsed()), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn the_kernel_reports_the_credentials_of_the_peer() {
    let address = Address::new("ipc", format!("@wigwag-who-{}", std::process::id()));
    let listener = Ipc.listen(&address, ListenOptions::default()).await.unwrap();
    let dialled = Ipc.dial(&address, DialOptions::default()).await.unwrap();
    let accepted = listener.accept().await.unwrap();
    for end in [&dialled, &accepted] {
        let who = end.credentials.unwrap();
        assert_eq!(who.pid, i32::try_from(std::process::id()).ok());
    }
    assert_eq!(dialled.credentials, accepted.credentials);
    let local = accepted.local.unwrap();
    assert!(local.starts_with("abstract://wigwag-who-"), "{local}");
}

#[tokio::test]
async fn a_bad_path_or_name_is_reported_by_the_rule_that_it_breaks() {
    for (text, broken) in [
        (format!("/tmp/{}", "x".repeat(200)), "an ipc path or name has at most 107 bytes"),
        (format!("@{}", "x".repeat(200)), "an ipc path or name has at most 107 bytes"),
        ("/tmp/a\0b".to_owned(), "an ipc path has no zero byte"),
        ("@".to_owned(), "an abstract name has at least one byte"),
    ] {
        let address = Address::new("ipc", text);
        let listened = Ipc.listen(&address, ListenOptions::default()).await.err().unwrap();
        let dialled = Ipc.dial(&address, DialOptions::default()).await.err().unwrap();
        for refused in [listened, dialled] {
            let NetErrorKind::BadAddress { rule } = refused.kind else { panic!("{refused}") };
            assert_eq!(rule, broken, "{address}");
        }
    }
}
