//! The cells in which another system is ahead, at the head of the page.

use crate::report::behind::{Behind, behind};
use crate::report::columns::interval;
use crate::report::escape::html;
use crate::report::html::table::boxed;
use crate::report::layout::Layout;

/// Its place among the links; empty if there is no section.
pub(crate) fn link(layout: &Layout<'_>) -> &'static str {
    match behind(layout) {
        Some(_) => "<li><a href=#behind>where others are ahead</a></li>\n",
        None => "",
    }
}

/// The section; empty if wigwag took no part in the run.
pub(crate) fn section(layout: &Layout<'_>) -> String {
    let Some(all) = behind(layout) else { return String::new() };
    let mut text = "<h2 id=behind>Where others are ahead</h2>\n".to_owned();
    if all.is_empty() {
        text.push_str("<p>In no cell of this run is another system ahead of wigwag.</p>\n");
        return text;
    }
    text.push_str(
        "<p>Cells in which another system has a better figure, in the median of the same rounds. Where \
         the 95 % interval of the ratio reaches 1, these rounds do not settle who is ahead. Cells at an \
         ordered rate are not compared.</p>\n",
    );
    let head = "<th scope=col>cell</th><th scope=col class=word>figure</th>\
                <th scope=col>wigwag</th><th scope=col class=word>ahead</th>\
                <th scope=col>its figure</th><th scope=col title=\"The rate, or the messages for each \
                second of processor time, divided by the other's in the same round: median and 95 % \
                interval.\">wigwag ÷ it</th>";
    let line = |it: &Behind<'_>| {
        format!(
            "<tr><th scope=row>{} / {}</th><td class=word>{}</td><td>{}</td><td class=word>{}</td>\
             <td>{}</td><td>{}</td></tr>\n",
            html(it.table.workload),
            html(&it.table.title()),
            it.measure.title(),
            it.measure.figure(it.ours),
            html(&it.best.participant),
            it.measure.figure(it.best),
            interval(it.ratio).line()
        )
    };
    let body: String = all.iter().map(line).collect();
    text.push_str(&boxed("where others are ahead", "", head, &body));
    text
}
