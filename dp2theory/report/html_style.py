"""The style sheet of all pages: wide and narrow screens, light and dark, and paper."""

#: The style sheet of every page.
STYLE = """
:root{color-scheme:light dark;--ink:#1f2933;--muted:#5f6b76;--line:#dfe4e9;--page:#f6f7f9;
 --card:#fff;--good:#e4f3ec;--close:#fdf4dd;--bad:#fbe9e4;--plain:#e9edf1;--code:#eef1f4;
 --shade:#1f293355;--red:#b3200e}
@media (prefers-color-scheme:dark){:root{--ink:#e6eaee;--muted:#a3afba;--line:#37424d;
 --page:#14191e;--card:#1d242b;--good:#173a2c;--close:#423510;--bad:#47261c;--plain:#2a333c;
 --code:#27313a;--shade:#000c;--red:#ff9580}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);
 font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
main{max-width:1080px;margin:0 auto;padding:32px 20px 56px}
h1{font-size:1.7rem;line-height:1.25;margin:0 0 4px;overflow-wrap:anywhere}
h2,h3,p,.tree{overflow-wrap:anywhere}
h2{font-size:1.2rem;margin:40px 0 12px}h3{font-size:1rem;margin:24px 0 8px}
h1.scene{font-size:1.4rem;margin:48px 0 14px}
.sub{color:var(--muted);margin:0 0 20px;overflow-wrap:anywhere}
.verdict{border-radius:10px;padding:16px 20px;margin:0 0 20px;border-left:6px solid;
 overflow-wrap:anywhere}
.verdict strong{display:block;font-size:1.25rem}
.dp2,.kept{background:var(--good);border-color:#009E73}
.marginal{background:var(--close);border-color:#E69F00}
.dp-sgd,.broken{background:var(--bad);border-color:#D55E00}
.broken strong{color:var(--red)}
.none{background:var(--plain);border-color:#5f6b76}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(190px,1fr));gap:12px;
 margin:0 0 20px}
.card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:12px 16px}
.card b{display:block;font-size:1.3rem;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
.card span{color:var(--muted);font-size:.86rem}
.pictures{display:grid;gap:14px;grid-template-columns:repeat(auto-fill,minmax(min(400px,100%),1fr))}
figure{margin:0 0 18px;background:#fff;border:1px solid var(--line);border-radius:10px;
 padding:14px;overflow-x:auto}
figure img{width:100%;height:auto;display:block}
figure.wide img{min-width:760px}
figcaption{color:#5f6b76;font-size:.9rem;margin-top:8px}
/* Shadows at the sides of a table that goes on: covers of the table's colour scroll with it. */
.scroll{overflow-x:auto;border:1px solid var(--line);border-radius:10px;margin:0 0 14px;
 background:linear-gradient(to right,var(--card) 30%,transparent) left/36px 100% no-repeat local,
 linear-gradient(to left,var(--card) 30%,transparent) right/36px 100% no-repeat local,
 linear-gradient(to right,var(--shade),transparent) left/12px 100% no-repeat scroll,
 linear-gradient(to left,var(--shade),transparent) right/12px 100% no-repeat scroll,
 var(--card) local}
table{border-collapse:collapse;width:100%;font-size:.92rem;font-variant-numeric:tabular-nums}
caption{text-align:left;padding:12px 16px 4px;font-weight:600}
th,td{padding:7px 16px;text-align:right;border-top:1px solid var(--line)}
thead th{border-top:0;color:var(--muted);font-weight:600}
th:first-child{text-align:left}tbody th{font-weight:500}
.inputs td,.inputs th,.words td,.words th{text-align:left}
.inputs td:nth-child(2){overflow-wrap:anywhere;min-width:5em}
.words td:last-child:not(:nth-child(2)){min-width:13em}
.theorems td:nth-child(2),.theorems td:nth-child(7){min-width:10em}
.theorems td:nth-child(4){min-width:6em}.theorems td,.theorems th{padding:7px 10px}
.theorems td:last-child:not(:nth-child(2)),.bounds td:last-child:not(:nth-child(2)){min-width:0}
.kind{white-space:nowrap;border-radius:6px;padding:1px 7px;background:var(--plain);font-size:.86rem}
.kind.upper,.kind.lower{background:var(--good)}
.kind.estimate,.kind.reported{background:var(--close)}
.kind.bad{background:var(--bad)}
.finding{background:var(--card);border:1px solid var(--line);border-radius:10px;
 padding:10px 16px;margin:10px 0}
.finding p{margin:4px 0}.finding code{overflow-wrap:anywhere}
ul{padding-left:1.2em}li{margin:4px 0;overflow-wrap:anywhere}
.tree,.tree ul{list-style:none;padding-left:1.1em;border-left:2px solid var(--line)}
.tree{margin:8px 0;padding-left:0;border:0}.tree b{font-weight:600}
pre{background:var(--code);border-radius:8px;padding:10px 14px;margin:8px 0;font-size:.86rem;
 white-space:pre-wrap;overflow-wrap:anywhere;max-height:28em;overflow-y:auto}
details{margin:8px 0}summary{cursor:pointer;color:var(--muted)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:4px 16px;margin:8px 0}
dt{color:var(--muted)}dd{margin:0;overflow-wrap:anywhere}
footer{color:var(--muted);font-size:.86rem;margin-top:40px;border-top:1px solid var(--line);
 padding-top:12px}
a{color:inherit;text-decoration-color:var(--muted)}:target{background:var(--close)}
code{font-size:.92em}p code{overflow-wrap:anywhere}td data{white-space:nowrap}
@media (max-width:600px){main{padding:20px 12px 40px}th,td{padding:6px 10px}
 h1{font-size:1.35rem}.cards{grid-template-columns:1fr 1fr}.card{padding:10px 12px}}
@media print{:root{font-size:11px;color-scheme:light;
 --ink:#000;--muted:#444;--line:#bbb;--page:#fff;--card:#fff;
 --good:#e4f3ec;--close:#fdf4dd;--bad:#fbe9e4;--plain:#e9edf1;--code:#f4f4f4;--red:#b3200e;--shade:transparent}
 body{background:#fff;font-size:1rem}main{padding:0;max-width:none}
 .scroll,pre{overflow:visible;max-height:none}th,td{padding:3px 6px;overflow-wrap:break-word}
 figure,.card,.verdict,tr{break-inside:avoid}h2,h3{break-after:avoid}
 .pictures{grid-template-columns:1fr 1fr}figure.wide img{min-width:0}}
"""
