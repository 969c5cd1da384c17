"""The papers and books that theorems refer to: authors, title, venue, year, arXiv id."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """One publication.

    Attributes
    ----------
    key : str
        What `Source.key` names: ``"li2023dp2"``.
    label : str
        How texts cite it: ``"FKT20"``.
    kind : str
        BibTeX's ``inproceedings``, ``article`` or ``book``.
    authors : tuple of str
        Given name first.
    title : str
    venue : str
        Conference, journal or publisher.
    year : int
    arxiv : str
        Empty where none is known.
    """

    key: str
    label: str
    kind: str
    authors: tuple[str, ...]
    title: str
    venue: str
    year: int
    arxiv: str = ""

    @property
    def short(self) -> str:
        """``Li et al. (2023)``."""
        last = [name.rpartition(" ")[2] for name in self.authors]
        who = last[0] if len(last) == 1 else " and ".join(last)
        return f"{who if len(last) < 3 else last[0] + ' et al.'} ({self.year})"

    def reference(self) -> str:
        """The entry as a line of plain text."""
        arxiv = f", arXiv:{self.arxiv}" if self.arxiv else ""
        return f"{', '.join(self.authors)}. {self.title}. {self.venue}, {self.year}{arxiv}."

    def bibtex(self) -> str:
        """The entry as BibTeX."""
        place = {"inproceedings": "booktitle", "article": "journal", "book": "publisher"}
        fields = {
            "author": " and ".join(self.authors),
            "title": "{" + self.title + "}",
            place[self.kind]: self.venue,
            "year": str(self.year),
        }
        if self.arxiv:
            fields |= {"eprint": self.arxiv, "archiveprefix": "arXiv"}
        lines = ",\n".join(f"  {name} = {{{text}}}" for name, text in fields.items())
        return f"@{self.kind}{{{self.key},\n{lines}\n}}"


_ALL = (
    Entry(
        "li2023dp2",
        "LZL+23",
        "inproceedings",
        (
            "Tian Li",
            "Manzil Zaheer",
            "Ken Ziyu Liu",
            "Sashank J. Reddi",
            "H. Brendan McMahan",
            "Virginia Smith",
        ),
        "Differentially Private Adaptive Optimization with Delayed Preconditioners",
        "International Conference on Learning Representations (ICLR)",
        2023,
        "2212.00309",
    ),
    Entry(
        "carmon2023resque",
        "CJJ+23",
        "inproceedings",
        (
            "Yair Carmon",
            "Arun Jambulapati",
            "Yujia Jin",
            "Yin Tat Lee",
            "Daogao Liu",
            "Aaron Sidford",
            "Kevin Tian",
        ),
        "ReSQueing Parallel and Private Stochastic Convex Optimization",
        "IEEE Symposium on Foundations of Computer Science (FOCS)",
        2023,
        "2301.00457",
    ),
    Entry(
        "bassily2014erm",
        "BST14",
        "inproceedings",
        ("Raef Bassily", "Adam Smith", "Abhradeep Thakurta"),
        "Private Empirical Risk Minimization: Efficient Algorithms and Tight Error Bounds",
        "IEEE Symposium on Foundations of Computer Science (FOCS)",
        2014,
        "1405.7085",
    ),
    Entry(
        "bassily2019sco",
        "BFTT19",
        "inproceedings",
        ("Raef Bassily", "Vitaly Feldman", "Kunal Talwar", "Abhradeep Thakurta"),
        "Private Stochastic Convex Optimization with Optimal Rates",
        "Advances in Neural Information Processing Systems (NeurIPS)",
        2019,
        "1908.09970",
    ),
    Entry(
        "feldman2020linear",
        "FKT20",
        "inproceedings",
        ("Vitaly Feldman", "Tomer Koren", "Kunal Talwar"),
        "Private Stochastic Convex Optimization: Optimal Rates in Linear Time",
        "ACM Symposium on Theory of Computing (STOC)",
        2020,
        "2005.04763",
    ),
    Entry(
        "asi2021l1",
        "AFKT21",
        "inproceedings",
        ("Hilal Asi", "Vitaly Feldman", "Tomer Koren", "Kunal Talwar"),
        "Private Stochastic Convex Optimization: Optimal Rates in L1 Geometry",
        "International Conference on Machine Learning (ICML)",
        2021,
        "2103.01516",
    ),
    Entry(
        "kulkarni2021subquadratic",
        "KLL21",
        "inproceedings",
        ("Janardhan Kulkarni", "Yin Tat Lee", "Daogao Liu"),
        "Private Non-smooth ERM and SCO in Subquadratic Steps",
        "Advances in Neural Information Processing Systems (NeurIPS)",
        2021,
        "2103.15352",
    ),
    Entry(
        "gopi2022exponential",
        "GLL22",
        "inproceedings",
        ("Sivakanth Gopi", "Yin Tat Lee", "Daogao Liu"),
        "Private Convex Optimization via Exponential Mechanism",
        "Conference on Learning Theory (COLT)",
        2022,
        "2203.00263",
    ),
    Entry(
        "duchi2012smoothing",
        "DBW12",
        "article",
        ("John C. Duchi", "Peter L. Bartlett", "Martin J. Wainwright"),
        "Randomized Smoothing for Stochastic Optimization",
        "SIAM Journal on Optimization",
        2012,
        "1103.4296",
    ),
    Entry(
        "bubeck2019parallel",
        "BJL+19",
        "inproceedings",
        ("Sébastien Bubeck", "Qijia Jiang", "Yin Tat Lee", "Yuanzhi Li", "Aaron Sidford"),
        "Complexity of Highly Parallel Non-Smooth Convex Optimization",
        "Advances in Neural Information Processing Systems (NeurIPS)",
        2019,
        "1906.10655",
    ),
    Entry(
        "carmon2020ball",
        "CJJ+20",
        "inproceedings",
        (
            "Yair Carmon",
            "Arun Jambulapati",
            "Qijia Jiang",
            "Yujia Jin",
            "Yin Tat Lee",
            "Aaron Sidford",
            "Kevin Tian",
        ),
        "Acceleration with a Ball Optimization Oracle",
        "Advances in Neural Information Processing Systems (NeurIPS)",
        2020,
        "2003.08078",
    ),
    Entry(
        "asi2021bias",
        "ACJ+21",
        "inproceedings",
        ("Hilal Asi", "Yair Carmon", "Arun Jambulapati", "Yujia Jin", "Aaron Sidford"),
        "Stochastic Bias-Reduced Gradient Methods",
        "Advances in Neural Information Processing Systems (NeurIPS)",
        2021,
        "2106.09481",
    ),
    Entry(
        "carmon2022adaptive",
        "CHJJS22",
        "inproceedings",
        ("Yair Carmon", "Danielle Hausler", "Arun Jambulapati", "Yujia Jin", "Aaron Sidford"),
        "Optimal and Adaptive Monteiro-Svaiter Acceleration",
        "Advances in Neural Information Processing Systems (NeurIPS)",
        2022,
        "2205.15371",
    ),
    Entry(
        "monteiro2013accelerated",
        "MS13",
        "article",
        ("Renato D. C. Monteiro", "B. F. Svaiter"),
        "An Accelerated Hybrid Proximal Extragradient Method for Convex Optimization and Its "
        "Implications to Second-Order Methods",
        "SIAM Journal on Optimization",
        2013,
    ),
    Entry(
        "ghadimi2012optimal",
        "GL12",
        "article",
        ("Saeed Ghadimi", "Guanghui Lan"),
        "Optimal Stochastic Approximation Algorithms for Strongly Convex Stochastic Composite "
        "Optimization I: A Generic Algorithmic Framework",
        "SIAM Journal on Optimization",
        2012,
    ),
    Entry(
        "lan2012optimal",
        "Lan12",
        "article",
        ("Guanghui Lan",),
        "An Optimal Method for Stochastic Composite Optimization",
        "Mathematical Programming",
        2012,
    ),
    Entry(
        "bun2018tcdp",
        "BDRS18",
        "inproceedings",
        ("Mark Bun", "Cynthia Dwork", "Guy N. Rothblum", "Thomas Steinke"),
        "Composable and Versatile Privacy via Truncated CDP",
        "ACM Symposium on Theory of Computing (STOC)",
        2018,
    ),
    Entry(
        "canonne2020discrete",
        "CKS20",
        "inproceedings",
        ("Clément L. Canonne", "Gautam Kamath", "Thomas Steinke"),
        "The Discrete Gaussian for Differential Privacy",
        "Advances in Neural Information Processing Systems (NeurIPS)",
        2020,
        "2004.00010",
    ),
    Entry(
        "mironov2017renyi",
        "Mir17",
        "inproceedings",
        ("Ilya Mironov",),
        "Rényi Differential Privacy",
        "IEEE Computer Security Foundations Symposium (CSF)",
        2017,
        "1702.07476",
    ),
    Entry(
        "abadi2016dpsgd",
        "ACG+16",
        "inproceedings",
        (
            "Martín Abadi",
            "Andy Chu",
            "Ian Goodfellow",
            "H. Brendan McMahan",
            "Ilya Mironov",
            "Kunal Talwar",
            "Li Zhang",
        ),
        "Deep Learning with Differential Privacy",
        "ACM Conference on Computer and Communications Security (CCS)",
        2016,
        "1607.00133",
    ),
    Entry(
        "sason2016divergence",
        "SV16",
        "article",
        ("Igal Sason", "Sergio Verdú"),
        "f-Divergence Inequalities",
        "IEEE Transactions on Information Theory",
        2016,
        "1508.00335",
    ),
    Entry(
        "boucheron2013concentration",
        "BLM13",
        "book",
        ("Stéphane Boucheron", "Gábor Lugosi", "Pascal Massart"),
        "Concentration Inequalities: A Nonasymptotic Theory of Independence",
        "Oxford University Press",
        2013,
    ),
    Entry(
        "graham1994concrete",
        "GKP94",
        "book",
        ("Ronald L. Graham", "Donald E. Knuth", "Oren Patashnik"),
        "Concrete Mathematics: A Foundation for Computer Science",
        "Addison-Wesley",
        1994,
    ),
)

#: All entries by key.
ENTRIES: dict[str, Entry] = {each.key: each for each in _ALL}


def entry(key: str) -> Entry:
    """One entry. ValueError for a key that is not here."""
    if key not in ENTRIES:
        raise ValueError(f"key = {key!r} is not in the bibliography: {', '.join(ENTRIES)}")
    return ENTRIES[key]


def cited(texts: Iterable[str]) -> list[Entry]:
    """Entries whose label or key stands as a word in one of the texts, in the order of the list."""
    words = set(re.findall(r"[A-Za-z0-9+]+", " ".join(texts)))
    return [each for each in _ALL if words & {each.key, each.label}]
