"""What is wrong with a metastore and a table for a sink, as far as it can be seen before the sink runs. Nothing is changed."""

from collections.abc import Iterator, Mapping

from connectors.hive.tables import columns_of
from connectors.hive.types import lowered, met
from connectors.hive_sink.table import TAKES, Landing
from rocketconnect_sdk.columns.declared import parse_columns
from rocketconnect_sdk.errors import PermanentError, Problem, RecordError, RetriableError, SystemAway
from rocketconnect_sdk.evolution import as_table, nullable
from rocketconnect_sdk.evolution.held import columns_problem
from rocketconnect_sdk.evolution.held import rows_problems as held
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.schema import Schema


def table_problems(config: Config, landing: Landing) -> Iterator[Problem]:
    """Asks the metastore. One that does not answer now may do so later, and the sink waits for it: a warning."""
    try:
        table = landing.metastore.table(landing.database, landing.name)
        if table is None:
            if not landing.metastore.has_database(landing.database):
                fix = f"Make it: CREATE DATABASE {landing.database}; or name another one."
                yield Problem("table", config["table"], f"is in the database {landing.database}, which there is not", fix)
            return
        if (found := landing.problem(table)) is not None:
            key, reason, fix = found
            yield Problem(key, config[key], reason, f"{fix}.")
        elif config["columns"]:
            columns = lowered(parse_columns(config["columns"]))
            other = columns_problem(f"the table {landing}", met(columns_of(table), columns), columns)
            yield from () if other is None else (other,)
    except (SystemAway, RetriableError) as error:
        fix = "Start the metastore, or correct the address."
        yield Problem("metastore", config["metastore"], f"does not answer now: {error}", fix, is_warning=True)
    except PermanentError as error:
        yield Problem("table", config["table"], str(error), "Name another table.")
    except RecordError as error:
        yield Problem("columns", config["columns"][:200], str(error), "Give the columns other names.")


def rows_problems(config: Config, landing: Landing, rows: Mapping[str, Schema]) -> Iterator[Problem]:
    """What is wrong with rows of topics for the table; see Sink.check_rows."""
    from connectors.file_sink.mixing import topics_problems

    yield from topics_problems(config, rows, "table")
    try:
        table = landing.metastore.table(landing.database, landing.name)
        if table is None or landing.problem(table) is not None:
            return
        columns = columns_of(table)
        for topic, schema in rows.items():
            records = lowered(nullable(as_table(schema)))
            yield from held(
                ("table", config["table"]),
                f"the rows of `{topic}`",
                met(columns, records),
                records,
                landing.policy,
                TAKES,
                is_tolerant=config["errors.tolerance"] == "all",
            )
    except RecordError as error:
        is_tolerant = config["errors.tolerance"] == "all"
        yield Problem("table", config["table"], str(error), "Rename the fields with a transform.", is_warning=is_tolerant)
    except (SystemAway, RetriableError, PermanentError):
        return  # told where the table is looked at otherwise
