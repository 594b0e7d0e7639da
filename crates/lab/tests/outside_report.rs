//! The page of a run in a real browser: headless Chromium.
//!
//! On a phone and on a desk, light and dark: nothing but the tables in their own boxes may be
//! wider than the window, the scheme that was asked for must be the one that is painted, and
//! hostile names must not run. The program comes with the Debian package chromium. The tests run
//! when `WIGWAG_OUTSIDE=1` is set; then a browser that is not installed is a failure. Set
//! `WIGWAG_SCREENSHOTS=<folder>` to keep the pictures and look at them.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use wigwag_lab::report::html;
use wigwag_lab::results::{Results, Verdict};

/// A browser that takes longer for one page is not going to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// Windows of Chromium are at least 500 wide, so the page stands in a frame of its own width.
const WINDOW_MIN: u32 = 500;

/// The most that is painted of a long page.
const HEIGHT_MAX: u64 = 12_000;

const WIDTHS: [u32; 2] = [390, 1280];

fn wanted() -> bool {
    let wanted = std::env::var("WIGWAG_OUTSIDE").is_ok_and(|value| value == "1");
    if !wanted {
        // The harness shows nothing of a test that passes but what is written past its macros.
        let told = writeln!(
            std::io::stdout(),
            "not run: set WIGWAG_OUTSIDE=1 to look at the report with chromium"
        );
        told.expect("standard output");
    }
    wanted
}

/// Where the pages and pictures of one test are, deleted with it unless somebody wants to look.
struct Folder {
    path: PathBuf,
    kept: bool,
}

impl Folder {
    fn new(test: &str) -> Folder {
        let wish = std::env::var_os("WIGWAG_SCREENSHOTS");
        let parent = wish.as_ref().map_or_else(std::env::temp_dir, PathBuf::from);
        let path = parent.join(format!("wigwag-report-{test}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a fresh folder");
        Folder { path, kept: wish.is_some() }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.kept {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Runs Chromium until it ends and returns what it printed.
fn chromium(folder: &Path, dark: bool, arguments: &[String]) -> String {
    let printed = folder.join("printed");
    let file = fs::File::create(&printed).expect("a file");
    let mut child = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"])
        .args(["--no-first-run", "--disable-extensions", "--disable-background-networking"])
        // The frame is another file, and the measuring script must look into it.
        .arg("--allow-file-access-from-files")
        .arg(format!("--blink-settings=preferredColorScheme={}", if dark { 0 } else { 1 }))
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(file)
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("chromium cannot be started: {error}"));
    let end = Instant::now() + PATIENCE;
    loop {
        match child.try_wait().expect("a child of ours") {
            Some(status) => {
                assert!(status.success(), "chromium ended with {status}");
                return fs::read_to_string(printed).expect("text");
            }
            None if Instant::now() > end => {
                let _ = child.kill();
                let _ = child.wait();
                panic!("chromium did not end within {PATIENCE:?}");
            }
            None => thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// A page that holds `page.html` in a frame of the wanted width, and notes what it finds there.
fn wrapper(width: u32, height: u64) -> String {
    format!(
        r#"<!doctype html><meta charset=utf-8><style>body{{margin:0}}iframe{{border:0}}</style>
<iframe id=frame src=page.html width={width} height={height}></iframe><pre id=found></pre>
<script>
onload = () => {{
  const inner = frame.contentWindow, page = inner.document;
  const wide = [...page.body.querySelectorAll('*')].filter(each =>
    !each.parentElement.closest('.box, svg') && each.getBoundingClientRect().right > {width} + 1);
  found.textContent = JSON.stringify({{
    width: page.documentElement.scrollWidth, height: page.documentElement.scrollHeight,
    dark: inner.matchMedia('(prefers-color-scheme: dark)').matches,
    paper: inner.getComputedStyle(page.body).backgroundColor,
    wide: wide.map(each => each.outerHTML.slice(0, 120)),
    rows: page.querySelectorAll('tbody tr').length, plots: page.querySelectorAll('svg').length,
    scripts: [...page.scripts].map(each => each.type), ran: inner.ran === true,
    schema: JSON.parse(page.getElementById('results').textContent).schema,
  }});
  found.hidden = true;
}};
</script>"#
    )
}

/// Whether pictures are made as well: it takes as long again, and one page shows all there is.
#[derive(PartialEq)]
enum Painted {
    Yes,
    IfKept,
}

/// Shows `results` in every width and scheme, holds what every page must hold, and returns what
/// was found of each.
fn show(test: &str, results: &Results, painted: Painted) -> Vec<Value> {
    let folder = Folder::new(test);
    let painted = painted == Painted::Yes || folder.kept;
    let folder = &folder.path;
    fs::write(folder.join("page.html"), html::page(results)).expect("written");
    let address = format!("file://{}/wrapper.html", folder.display());
    let mut all = Vec::new();
    for width in WIDTHS {
        for dark in [false, true] {
            fs::write(folder.join("wrapper.html"), wrapper(width, 800)).expect("written");
            let dump = ["--dump-dom".to_owned(), address.clone()];
            let found = found(&chromium(folder, dark, &dump));
            let shown = format!("{test}, {width} wide, dark: {dark}: {found}");
            assert!(found["width"].as_u64().expect("a number") <= u64::from(width), "{shown}");
            assert_eq!(found["wide"], Value::Array(Vec::new()), "{shown}");
            assert_eq!(found["dark"], dark, "{shown}");
            let paper = if dark { "rgb(21, 23, 27)" } else { "rgb(253, 253, 251)" };
            assert_eq!(found["paper"], paper, "{shown}");
            assert_eq!(found["ran"], false, "{shown}");
            assert_eq!(found["scripts"], serde_json::json!(["application/json"]), "{shown}");
            assert_eq!(found["schema"], "wigwag.lab/1", "{shown}");
            if painted {
                picture(folder, width, dark, &found, &address);
            }
            all.push(found);
        }
    }
    all
}

/// The line that the measuring script wrote into the page.
fn found(dump: &str) -> Value {
    let (_, after) = dump.split_once("<pre id=\"found\" hidden=\"\">").expect("the script ran");
    let (text, _) = after.split_once("</pre>").expect("closed");
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    serde_json::from_str(&text).expect("JSON")
}

/// Paints the whole page and holds that the picture has its size and more than one colour in it.
fn picture(folder: &Path, width: u32, dark: bool, found: &Value, address: &str) {
    let height = found["height"].as_u64().expect("a number").clamp(200, HEIGHT_MAX);
    let window = width.max(WINDOW_MIN);
    let name = format!("{width}-{}.png", if dark { "dark" } else { "light" });
    let file = folder.join(name);
    fs::write(folder.join("wrapper.html"), wrapper(width, height)).expect("written");
    let arguments = [
        format!("--screenshot={}", file.display()),
        format!("--window-size={window},{height}"),
        address.to_owned(),
    ];
    chromium(folder, dark, &arguments);
    let png = fs::read(&file).expect("a picture");
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"), "{}", file.display());
    let side = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().expect("four bytes"));
    assert_eq!((side(16), u64::from(side(20))), (window, height), "{}", file.display());
    // A page of one colour is packed to far less: 1280 × 800 of white are about 4 kB.
    let least = u64::from(window) * height / 250;
    assert!(png.len() as u64 > least, "{}: {} bytes", file.display(), png.len());
}

fn rich() -> Results {
    serde_json::from_str(include_str!("fixtures/lab-1.json")).expect("the fixture")
}

#[test]
fn a_full_page_fits_a_phone_and_a_desk_in_both_schemes() {
    if !wanted() {
        return;
    }
    let results = rich();
    for found in show("rich", &results, Painted::Yes) {
        assert!(found["rows"].as_u64().unwrap() > results.rows.len() as u64, "{found}");
        assert!(found["plots"].as_u64().unwrap() > 20, "{found}");
    }
}

/// Names without a place to break them, elements, and a script in every text of the document.
#[test]
fn hostile_words_neither_run_nor_widen_the_page() {
    if !wanted() {
        return;
    }
    let mut results = rich();
    let hostile = format!(
        "</script><script>ran = true</script><img src=x onerror='ran = true'>\
                           \"'&amp;\u{202e}\u{1b}[31m{}",
        "W".repeat(200)
    );
    results.environment.cpu.clone_from(&hostile);
    results.environment.remarks.push(hostile.clone());
    results.interrupted = true;
    results.quick = true;
    for row in results.rows.iter_mut().step_by(2) {
        row.reasons.push(hostile.clone());
        row.version = Some(hostile.clone());
        row.runs.iter_mut().flat_map(|run| &mut run.threads).for_each(|thread| {
            thread.name.push_str(&hostile);
        });
        match row.participant.as_str() {
            "raw" => {}
            _ => row.participant.push_str(&hostile),
        }
        if row.workload == "remote" {
            row.workload.push_str(&hostile);
            row.cell.push_str(&hostile);
        }
    }
    show("hostile", &results, Painted::IfKept);
}

#[test]
fn a_page_with_one_row_and_one_with_none_are_pages_too() {
    if !wanted() {
        return;
    }
    let mut results = rich();
    results.rows.truncate(1);
    show("one", &results, Painted::IfKept);
    results.rows[0].verdict = Verdict::Void;
    show("void", &results, Painted::IfKept);
    results.rows.clear();
    results.interrupted = true;
    show("none", &results, Painted::IfKept);
}
