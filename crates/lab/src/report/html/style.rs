//! The style sheet.
//!
//! One column that is easy to read, tables that scroll in their own box when the screen is
//! narrow, plots that stand side by side when it is wide. Nothing is loaded: the letters are
//! those of the reader's own system.

use crate::report::html::palette;

/// The style sheet.
pub(crate) fn sheet() -> String {
    format!("{}{SCREEN}{PLOTS}{PAPER}", palette::declarations())
}

const SCREEN: &str = "\
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,-apple-system,\
'Segoe UI',Roboto,'Noto Sans','DejaVu Sans',sans-serif;overflow-wrap:break-word}
main,header,footer{max-width:76rem;margin:0 auto;padding:0 1.25rem}
header{padding-top:2.25rem}
h1{font-size:1.75rem;line-height:1.2;margin:0 0 .25rem;font-weight:650;letter-spacing:-.01em}
h2{font-size:1.35rem;line-height:1.25;margin:3rem 0 .25rem;padding-top:1rem;\
border-top:1px solid var(--rule);font-weight:650}
h3{font-size:1.05rem;margin:2rem 0 .5rem;font-weight:650}
h4{font-size:.95rem;margin:0;font-weight:600}
p{margin:.25rem 0 .75rem;max-width:44rem}
.lead{max-width:none}
h1,h2,h3,h4,p,li,dt,dd,figcaption{overflow-wrap:anywhere;min-width:0}
a{color:var(--ours)}
ul{margin:0;padding-left:1.1rem}
code{font:.92em ui-monospace,'SF Mono',Consolas,'DejaVu Sans Mono',monospace}
.lead,.muted,small{color:var(--muted)}
nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;padding:0;margin:1rem 0 0}
.tally{display:flex;flex-wrap:wrap;gap:.35rem 1.5rem;list-style:none;padding:0;margin:1rem 0}
.tally b{font-variant-numeric:tabular-nums}
.notice{border:1px solid var(--flagged);border-left-width:5px;padding:.6rem .9rem;\
margin:.75rem 0;background:var(--panel);max-width:none}
.alarm{border-color:var(--void)}
.box{overflow-x:auto;border:1px solid var(--rule);border-radius:6px;margin:.5rem 0 1rem;\
-webkit-overflow-scrolling:touch}
.box-heat,.box-facts{width:fit-content;max-width:100%}
.box:focus-visible{outline:3px solid var(--ours);outline-offset:2px}
table{border-collapse:collapse;width:100%;font-size:.9rem;line-height:1.35;\
font-variant-numeric:tabular-nums}
th,td{text-align:right;vertical-align:top;padding:.5rem .7rem;border-bottom:1px solid var(--rule);\
font-weight:400;white-space:nowrap}
tbody:last-child tr:last-child>*{border-bottom:0}
thead th{background:var(--panel);font-weight:600;vertical-align:bottom;white-space:normal}
th[scope=row]{font-weight:600;white-space:normal;min-width:9.5rem;max-width:17rem;\
overflow-wrap:anywhere}
th:first-child,td:first-child,.word{text-align:left}
td small,th small{display:block;font-weight:400;font-size:.82em}
.why{text-align:left;white-space:normal}
.why>*{position:sticky;left:.75rem;width:fit-content;max-width:min(44rem,100vw - 4rem);\
overflow-wrap:anywhere}
.none{text-align:center;color:var(--muted)}
tr.below td{padding-top:0}
tr.above>*{border-bottom:0}
.verdict{font-weight:650;white-space:nowrap}
.is-valid{color:var(--valid)}
.is-flagged{color:var(--flagged)}
.is-void{color:var(--void)}
.is-notinstalled,.is-absent{color:var(--muted)}
.facts th[scope=row]{width:14rem}
.facts td{text-align:left;white-space:normal;overflow-wrap:anywhere}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.25rem 1rem;font-size:.9rem;\
max-width:52rem}
dt{font-weight:600}
dd{margin:0}
footer{padding:2rem 1.25rem 3rem;color:var(--muted);font-size:.9rem}
@media (max-width:34rem){main,header,footer{padding-left:.9rem;padding-right:.9rem}\
h1{font-size:1.5rem}dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:.5rem}\
.facts th[scope=row]{width:auto;min-width:7.5rem}}
";

const PLOTS: &str = "\
.plots{display:grid;gap:1.5rem 2rem;margin:1rem 0 2rem;\
grid-template-columns:repeat(auto-fill,minmax(min(100%,21rem),1fr));align-items:start}
figure{margin:0;min-width:0;break-inside:avoid}
figcaption{margin-bottom:.5rem}
figcaption small{display:block;line-height:1.4}
svg{display:block;width:100%;height:auto;max-width:32rem}
svg text{font:12px system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','DejaVu Sans',sans-serif;\
fill:var(--ink);font-variant-numeric:tabular-nums}
svg .clear{paint-order:stroke;stroke:var(--paper);stroke-width:4px;stroke-linejoin:round}
svg .tick{fill:var(--muted);font-size:11px}
svg .grid{stroke:var(--rule)}
svg .one{stroke:var(--ink);stroke-dasharray:3 3}
svg .whisker{stroke:var(--ink);stroke-width:1.5;fill:none;paint-order:stroke}
svg .halo{stroke:var(--paper);stroke-width:4.5;fill:none}
.ours{fill:var(--ours);stroke:var(--ours)}
.other{fill:var(--other);stroke:var(--other)}
.limit{fill:var(--limit);stroke:var(--limit)}
.doubt{fill-opacity:.3;stroke-dasharray:4 2}
svg .line{fill:none;stroke-width:1.75;stroke-linejoin:round}
.line-limit{stroke:var(--limit)}
svg .line-ours{stroke:var(--ours);stroke-width:3}
.line0{stroke:var(--line0);stroke-dasharray:7 3}
.line1{stroke:var(--line1);stroke-dasharray:2 2.5}
.line2{stroke:var(--line2);stroke-dasharray:9 3 2 3}
.line3{stroke:var(--line3);stroke-dasharray:4 2}
.line4{stroke:var(--line4);stroke-dasharray:14 4}
.line5{stroke:var(--line5);stroke-dasharray:5 2 1.5 2 1.5 2}
svg .thin{stroke-width:1.25;stroke-dasharray:none}
.cut{stroke:var(--void);stroke-dasharray:3 3;fill:none}
.wedge{fill:var(--void);stroke:none}
.legend{margin:.2rem 0 0;font-size:.85rem;line-height:1.6;overflow-wrap:anywhere}
.legend span{display:inline-block;max-width:100%;margin-right:.9em}
svg.key{display:inline-block;width:1.9rem;height:.5rem;vertical-align:middle}
svg .span{stroke-width:1.5}
.hollow{fill:var(--paper)}
.area{stroke:var(--muted);stroke-width:.5}
svg .side{font-size:11px}
svg .axis{stroke:var(--ink)}
.second{fill-opacity:.4}
.part{stroke:var(--muted);stroke-width:.75}
.part0{fill:var(--thread0)}.part1{fill:var(--thread1)}.part2{fill:var(--thread2)}
.part3{fill:var(--thread3)}.part4{fill:var(--thread4)}.part5{fill:var(--rest)}
.wide{grid-column:1/-1}
.stacks{display:grid;gap:1rem 2rem;align-items:start;\
grid-template-columns:repeat(auto-fill,minmax(min(100%,21rem),1fr))}
.stack{min-width:0;break-inside:avoid}
.stack svg{overflow:visible}
.stack svg+svg{margin-top:.25rem}
.stack b{font-weight:600;font-size:.9rem;overflow-wrap:anywhere}
.stack p{margin:.2rem 0 0;font-size:.85rem;line-height:1.45;overflow-wrap:anywhere}
.stack p span{display:inline-block;max-width:100%;margin-right:.9em}
.heat{width:auto}
.heat td,.heat thead th{text-align:center;min-width:5.5rem}
.heat th[scope=row]{min-width:7rem;background:var(--panel)}
.heat thead th{max-width:10rem;white-space:normal;overflow-wrap:anywhere}
.heat td small{color:inherit}
.heat0{background:var(--heat0)}.heat1{background:var(--heat1)}.heat2{background:var(--heat2)}
.heat3{background:var(--heat3)}
.heat4{background:var(--heat4);color:var(--on-heat)}
.heat5{background:var(--heat5);color:var(--on-heat)}
.heat6{background:var(--heat6);color:var(--on-heat)}
";

const PAPER: &str = "\
@media print{@page{size:A4 landscape;margin:12mm}
body{font-size:10.5pt;background:none}
nav{display:none}
main,header,footer{max-width:none;padding-left:0;padding-right:0}
.box{overflow:visible;border:0}
table{font-size:7pt}
th,td{padding:.3rem .2rem}
th[scope=row]{min-width:0;max-width:9rem}
.why>*{position:static;max-width:none}
thead{display:table-header-group}
tr,figure,.notice{break-inside:avoid}
h2,h3,h4{break-after:avoid}
.plots,.stacks{grid-template-columns:repeat(3,1fr);gap:1rem}
.legend,.stack p{font-size:8pt}
svg,.heat td,.part,thead th{-webkit-print-color-adjust:exact;print-color-adjust:exact}
a{color:inherit;text-decoration:none}}
";
