"""All rows, by the dotted name of the callable."""

from tests.properties.domains.calls import Row
from tests.properties.domains.rows_accountants import ROWS as ACCOUNTANTS
from tests.properties.domains.rows_bounds import ROWS as BOUNDS
from tests.properties.domains.rows_dp2theory import ROWS as DP2THEORY
from tests.properties.domains.rows_resque import ROWS as RESQUE

ROWS: dict[str, Row] = {**ACCOUNTANTS, **BOUNDS, **DP2THEORY, **RESQUE}
