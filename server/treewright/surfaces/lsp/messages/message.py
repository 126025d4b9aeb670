"""What all of our own messages have in common.

Names go out in camelCase and come in either way. Unknown keys are refused, so that a misspelt one is told and not
passed over.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class Message(BaseModel):
    """Anything that crosses the wire in a message of ours."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True, use_enum_values=True
    )


Text = Annotated[str, Field(max_length=100_000)]


Name = Annotated[str, Field(max_length=4096)]


RunRef = Annotated[str, Field(min_length=1, max_length=4096)]


NodeId = Annotated[str, Field(min_length=1, max_length=2000)]


Offset = Annotated[int, Field(ge=0)]


Limit = Annotated[int, Field(ge=1, le=1000)]


NodeState = Literal["advances", "kept", "pruned", "blocked", "waiting", "merged", "superseded", "unresolved"]
