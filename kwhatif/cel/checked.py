"""Type-checked expressions as trees: the part of `cel.expr.CheckedExpr` that `rewrite.py` needs.

The engine exports and imports compiled expressions in this public format (`cel/expr/checked.proto` and
`syntax.proto` of google/cel-spec), but has no Python classes for it. These classes are built here from a table. Fields
that are not in the table are preserved when a message is read and written again, as in every protobuf.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import Any

#: A node of the tree (`cel.expr.Expr`) or a type (`cel.expr.Type`): protobuf messages without static types.
Node = Any
Type = Any

_PACKAGE = "kwhatif.cel.expr"
_SCALARS = {"bool", "bytes", "double", "int32", "int64", "string", "uint64"}
#: Message → "type name number" of its fields; `*` marks a repeated field, `|` a member of the message's one-of.
_SCHEMA = {
    "Constant": "|int32 null_value 1, |bool bool_value 2, |int64 int64_value 3, |uint64 uint64_value 4, "
    "|double double_value 5, |string string_value 6, |bytes bytes_value 7",
    "Ident": "string name 1",
    "Select": "Expr operand 1, string field 2, bool test_only 3",
    "Call": "Expr target 1, string function 2, *Expr args 3",
    "CreateList": "*Expr elements 1, *int32 optional_indices 2",
    "Entry": "int64 id 1, string field_key 2, Expr map_key 3, Expr value 4, bool optional_entry 5",
    "CreateStruct": "string message_name 1, *Entry entries 2",
    "Comprehension": "string iter_var 1, Expr iter_range 2, string accu_var 3, Expr accu_init 4, "
    "Expr loop_condition 5, Expr loop_step 6, Expr result 7, string iter_var2 8",
    "Expr": "int64 id 2, |Constant const_expr 3, |Ident ident_expr 4, |Select select_expr 5, |Call call_expr 6, "
    "|CreateList list_expr 7, |CreateStruct struct_expr 8, |Comprehension comprehension_expr 9",
    "Empty": "",
    "Any": "string type_url 1, bytes value 2",
    "ListType": "Type elem_type 1",
    "MapType": "Type key_type 1, Type value_type 2",
    "AbstractType": "string name 1, *Type parameter_types 2",
    "Type": "|Empty dyn 1, |int32 null 2, |int32 primitive 3, |int32 wrapper 4, |int32 well_known 5, "
    "|ListType list_type 6, |MapType map_type 7, |string message_type 9, |string type_param 10, |Type type 11, "
    "|Empty error 12, |AbstractType abstract_type 14",
    "Reference": "string name 1, *string overload_id 3",
    "ReferenceEntry": "int64 key 1, Reference value 2",
    "TypeEntry": "int64 key 1, Type value 2",
    "CheckedExpr": "*ReferenceEntry reference_map 2, *TypeEntry type_map 3, Expr expr 4",
}
#: `cel.expr.Type.PrimitiveType` and `WellKnownType` by number.
PRIMITIVES = ("", "bool", "int", "uint", "double", "string", "bytes")
WELL_KNOWN = ("", "any", "timestamp", "duration")


def _add_field(message: Any, text: str) -> None:
    marked_type, name, number = text.split()
    type_name = marked_type.lstrip("*|")
    field = message.field.add(name=name, number=int(number))
    field.label = field.LABEL_REPEATED if marked_type.startswith("*") else field.LABEL_OPTIONAL
    if marked_type.startswith("|"):
        field.oneof_index = 0
    if type_name in _SCALARS:
        field.type = getattr(field, f"TYPE_{type_name.upper()}")
    else:
        field.type, field.type_name = field.TYPE_MESSAGE, f".{_PACKAGE}.{type_name}"


@lru_cache(maxsize=1)
def _classes() -> dict[str, Any]:
    # Imported late: importing protobuf doubles the import time of a run without CEL.
    descriptor_pb2 = import_module("google.protobuf.descriptor_pb2")
    descriptor_pool = import_module("google.protobuf.descriptor_pool")
    message_factory = import_module("google.protobuf.message_factory")
    file = descriptor_pb2.FileDescriptorProto(name="kwhatif/cel/expr.proto", package=_PACKAGE, syntax="proto3")
    for name, fields in _SCHEMA.items():
        message = file.message_type.add(name=name)
        if "|" in fields:
            message.oneof_decl.add(name="kind")
        for text in filter(None, fields.split(", ")):
            _add_field(message, text)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    found = {name: pool.FindMessageTypeByName(f"{_PACKAGE}.{name}") for name in _SCHEMA}
    return {name: message_factory.GetMessageClass(descriptor) for name, descriptor in found.items()}


class Checked:
    """A checked expression: its tree, and the types and overloads of its nodes.

    Raises:
        ValueError: the tree is too deep for protobuf, for example with about 25 nested macros.
    """

    def __init__(self, serialized: bytes) -> None:
        # The engine wraps the expression in a google.protobuf.Any.
        self._envelope = _classes()["Any"].FromString(serialized)
        try:
            self._message = _classes()["CheckedExpr"].FromString(self._envelope.value)
        except import_module("google.protobuf.message").DecodeError:
            raise ValueError("nested too deeply") from None
        self.root: Node = self._message.expr
        self.types: dict[int, Type] = {entry.key: entry.value for entry in self._message.type_map}
        self.references: dict[int, Any] = {entry.key: entry.value for entry in self._message.reference_map}

    def serialize(self) -> bytes:
        """The current tree, for the engine."""
        self._envelope.value = self._message.SerializeToString()
        return bytes(self._envelope.SerializeToString())

    def type_of(self, node: Node) -> str:
        """The static type of `node` in cel-go's notation, such as `map(string, int)`; `dyn` if there is none."""
        found = self.types.get(node.id)
        return "dyn" if found is None else format_type(found)

    def names(self) -> set[str]:
        """Every name that is used as an identifier."""
        return {node.ident_expr.name for node in walk(self.root) if node.WhichOneof("kind") == "ident_expr"}

    def overloads(self, node: Node) -> list[str]:
        """Ids of the overloads that are possible for a call, according to the type checker."""
        found = self.references.get(node.id)
        return [] if found is None else list(found.overload_id)


def format_type(found: Type) -> str:
    """A static type in the notation of cel-go's messages."""
    kind = found.WhichOneof("kind")
    text = "dyn"
    match kind:
        case "primitive":
            text = PRIMITIVES[found.primitive]
        case "wrapper":
            text = f"wrapper({PRIMITIVES[found.wrapper]})"
        case "well_known":
            text = WELL_KNOWN[found.well_known]
        case "list_type":
            text = f"list({format_type(found.list_type.elem_type)})"
        case "map_type":
            text = f"map({format_type(found.map_type.key_type)}, {format_type(found.map_type.value_type)})"
        case "abstract_type":
            parameters = ", ".join(map(format_type, found.abstract_type.parameter_types))
            text = found.abstract_type.name + (f"({parameters})" if parameters else "")
        case "message_type" | "type_param":
            text = getattr(found, kind)
        case "null" | "type":
            text = kind
    return text


def children(node: Node) -> list[Node]:
    """The direct operands of a node; changing an operand in place (`CopyFrom`) changes the tree."""
    kind = node.WhichOneof("kind")
    match kind:
        case "select_expr":
            return [node.select_expr.operand]
        case "call_expr":
            call = node.call_expr
            return [*([call.target] if call.HasField("target") else []), *call.args]
        case "list_expr":
            return list(node.list_expr.elements)
        case "struct_expr":
            entries = node.struct_expr.entries
            keys = [entry.map_key for entry in entries if entry.HasField("map_key")]
            return [*keys, *(entry.value for entry in entries)]
        case "comprehension_expr":
            loop = node.comprehension_expr
            return [loop.iter_range, loop.accu_init, loop.loop_condition, loop.loop_step, loop.result]
        case _:
            return []


def walk(node: Node) -> list[Node]:
    """`node` and all nodes below it; operands come before the node that uses them."""
    return [*(below for child in children(node) for below in walk(child)), node]


def call(function: str, *args: Node) -> Node:
    """A call of a global function. The node has no id, because it is not in the source."""
    node = _classes()["Expr"]()
    node.call_expr.function = function
    for arg in args:
        node.call_expr.args.add().CopyFrom(arg)
    return node


def member_call(target: Node, function: str, *args: Node) -> Node:
    """A call of a method."""
    node = call(function, *args)
    node.call_expr.target.CopyFrom(target)
    return node


def constant(value: int | str | bytes) -> Node:
    """A literal."""
    node = _classes()["Expr"]()
    match value:
        case bool():
            node.const_expr.bool_value = value
        case int():
            node.const_expr.int64_value = value
        case str():
            node.const_expr.string_value = value
        case bytes():
            node.const_expr.bytes_value = value
    return node


def empty_map() -> Node:
    """The literal `{}`."""
    node = _classes()["Expr"]()
    node.struct_expr.SetInParent()
    return node


def identifier(name: str) -> Node:
    """An identifier."""
    node = _classes()["Expr"]()
    node.ident_expr.name = name
    return node


def literal_text(node: Node) -> str | None:
    """The value of a string literal; None for any other node."""
    if node.WhichOneof("kind") == "const_expr" and node.const_expr.WhichOneof("kind") == "string_value":
        return str(node.const_expr.string_value)
    return None
