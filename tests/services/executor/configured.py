"""Parts of configurations that several tests have."""

PLAIN = {"value.converter": "json", "value.converter.schemas.enable": "false"}
CAST = {"transforms": "types", "transforms.types.type": "cast", "transforms.types.spec": "id:int64"}
SKIP = {
    "transforms": "skip",
    "transforms.skip.type": "filter",
    "transforms.skip.predicate": "small",
    "predicates": "small",
    "predicates.small.type": "field_condition",
    "predicates.small.field": "id",
    "predicates.small.operator": "<",
    "predicates.small.value": "2",
}
