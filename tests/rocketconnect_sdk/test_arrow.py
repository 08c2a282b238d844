import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketconnect_sdk.arrow import from_arrow_type, to_array, to_arrow_type
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import STRING, Field, Schema, Type

plain = st.builds(
    Schema, st.sampled_from([each for each in Type if each not in {Type.STRUCT, Type.ARRAY, Type.MAP}]), optional=st.just(True)
)
schemas = st.recursive(
    plain,
    lambda inner: st.one_of(
        st.builds(lambda items: Schema(Type.ARRAY, optional=True, items=items), inner),
        st.builds(lambda items: Schema(Type.MAP, optional=True, keys=STRING, items=items), inner),
        st.builds(
            lambda parts: Schema(Type.STRUCT, optional=True, fields=tuple(Field(f"f{i}", part) for i, part in enumerate(parts))),
            st.lists(inner, min_size=1, max_size=3),
        ),
    ),
    max_leaves=5,
)


@given(schemas)
def test_a_schema_survives_arrow(schema: Schema) -> None:
    assert from_arrow_type(to_arrow_type(schema)) == schema


def test_values_of_a_schema_become_a_typed_array() -> None:
    schema = Schema(Type.STRUCT, fields=(Field("a", Schema(Type.INT32, optional=True)), Field("b", STRING)))
    array = to_array([{"a": 1, "b": "x"}, {"a": None, "b": "y"}], schema)
    assert array.type == pa.struct([pa.field("a", pa.int32()), pa.field("b", pa.string(), nullable=False)])
    assert array.to_pylist() == [{"a": 1, "b": "x"}, {"a": None, "b": "y"}]


@pytest.mark.parametrize(("value", "type_"), [("text", Type.INT32), (2**40, Type.INT32), ({}, Type.STRING)])
def test_a_value_that_does_not_fit_is_a_bad_record(value: object, type_: Type) -> None:
    with pytest.raises(RecordError, match="does not fit its schema"):
        to_array([value], Schema(type_))


def test_without_a_schema_plain_values_keep_their_type_and_others_become_json() -> None:
    assert to_array(["a", None], None).type == pa.string()
    assert to_array([b"a"], None).type == pa.binary()
    assert to_array([1, 2], None).type == pa.int64()
    assert to_array([None], None).type == pa.string()
    assert to_array([{"a": 1}, "b"], None).to_pylist() == ['{"a": 1}', '"b"']


def test_a_type_without_a_schema_is_named() -> None:
    with pytest.raises(TypeError, match="duration"):
        from_arrow_type(pa.duration("s"))
