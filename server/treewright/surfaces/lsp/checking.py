"""Parameters of own methods to their models and results to plain values."""

import typing
from collections.abc import Callable
from functools import cache
from typing import Any

from pydantic import BaseModel, ValidationError
from pygls.exceptions import JsonRpcInvalidParams


@cache
def model_of(handler: Callable[..., Any]) -> type[BaseModel]:
    """Return the model of a handler's parameters: the annotation of its second argument."""
    hints = typing.get_type_hints(handler)
    found: type[BaseModel] = hints["request"]
    return found


def checked(handler: Callable[..., Any], params: Any) -> BaseModel:
    """Return parameters as the handler's model.

    Raises:
        JsonRpcInvalidParams: they do not fit; its data lists each fault with the path of the field.
    """
    found: BaseModel = read(model_of(handler), params)
    return found


def read(model: type[BaseModel], params: Any) -> Any:
    """Return plain values as a model; see `checked`."""
    try:
        return model.model_validate({} if params is None else params)
    except ValidationError as error:
        found = [
            {"field": ".".join(str(part) for part in each["loc"]), "message": each["msg"]}
            for each in error.errors(include_url=False, include_input=False, include_context=False)
        ]
        said = "; ".join(f"{each['field'] or 'parameters'}: {each['message']}" for each in found[:5])
        raise JsonRpcInvalidParams(message=said, data={"code": "params_invalid", "faults": found}) from None


def outgoing(result: Any) -> Any:
    """Return a result as plain values in the protocol's spelling."""
    if isinstance(result, BaseModel):
        return result.model_dump(mode="json", by_alias=True)
    return result
