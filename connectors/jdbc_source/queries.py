"""The query of a user as a part of statements. Pure."""


def bare(query: str, dialect: str) -> str:
    """A query without what may end it: semicolons, and comments, which would hide what stands behind them.

    Args:
        query: The SQL of a user.
        dialect: What sqlglot calls the kind of the database.

    Returns:
        The query up to its last word. As it is, where it cannot be taken apart: the database says what is wrong with it.
    """
    import sqlglot
    from sqlglot import TokenType
    from sqlglot.errors import TokenError

    try:
        tokens = sqlglot.tokenize(query, read=dialect)
    except TokenError:
        return query
    kept = [token for token in tokens if token.token_type is not TokenType.SEMICOLON]
    return query[: kept[-1].end + 1] if kept and kept[-1].start >= 0 and tokens[: len(kept)] == kept else query
