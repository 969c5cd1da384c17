"""How large a page is in windows of some widths, measured by the browser itself.

The measurement runs in a page that holds a copy of the report in a frame of each width, so that
the report itself stays without scripts.
"""

import html
import json
import re
from dataclasses import dataclass
from pathlib import Path

from tests.browser.chromium import open_page

_SCRIPT = """
onload = () => {
  const sizes = {};
  for (const frame of document.querySelectorAll("iframe")) {
    const inside = frame.contentDocument;
    const pictures = [...inside.images];
    sizes[frame.width] = {
      width: inside.documentElement.scrollWidth,
      height: inside.documentElement.scrollHeight,
      pictures: pictures.length,
      drawn: pictures.filter((picture) => picture.naturalWidth > 0).length,
    };
  }
  const told = document.createElement("pre");
  told.id = "sizes";
  told.textContent = JSON.stringify(sizes);
  document.body.append(told);
};
"""


@dataclass(frozen=True)
class Size:
    """A page in a window of some width.

    Attributes
    ----------
    width, height : int
        Of the whole page; wider than the window when it has to be scrolled sideways.
    pictures, drawn : int
        Pictures in the page, and those that the browser could draw.
    """

    width: int
    height: int
    pictures: int
    drawn: int


def measure(browser: str, page: Path, widths: tuple[int, ...]) -> dict[int, Size]:
    """The size of a page in a window of each width."""
    inside = html.escape(page.read_text(encoding="utf-8"), quote=True)
    frames = "".join(
        f'<iframe width="{width}" height="800" style="border:0" srcdoc="{inside}"></iframe>'
        for width in widths
    )
    holder = page.with_name(f"{page.stem}-measured.html")
    holder.write_text(
        f"<!DOCTYPE html><meta charset='utf-8'><script>{_SCRIPT}</script>{frames}",
        encoding="utf-8",
    )
    dom = open_page(browser, holder).dom
    told = re.search(r'<pre id="sizes">(.*?)</pre>', dom)
    if told is None:
        raise RuntimeError(f"{page.name}: could not be measured")
    sizes = json.loads(html.unescape(told.group(1)))
    return {int(width): Size(**size) for width, size in sizes.items()}
