"""All rows, by the dotted name of the callable."""

from tests.properties.domains.calls import Row
from tests.properties.domains.rows_accountants import ROWS as ACCOUNTANTS

ROWS: dict[str, Row] = {**ACCOUNTANTS}
