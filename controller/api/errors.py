"""Errors by consequence: what a caller must do, not where they came from.

FixpointError
├── UserError             the user's input is wrong: thing, rule and mend are in the text
├── ActionError           an action did not come to its end; it is recorded in the step
│   ├── RetryableError    another attempt may succeed, not before `retry_after_seconds`
│   │   └── ModelMistakeError   what a model answered is no use; it is asked again at once
│   │       └── RejectedProposalError   it proposed what it may not do
│   └── PermanentError    no attempt will succeed until something outside changes
├── NotReadyError         what a task refers to cannot be used now; the task waits
│   ├── SourceNotReadyError   a source cannot be searched
│   └── ModelNotReadyError    a model cannot be asked: its address or its key
├── BlockedAddressError   the connection guard lets nothing through to this address
├── StoreError            the store did not do what was asked
│   ├── NotFoundError     the object is not there (any more)
│   ├── ConflictError     someone else wrote in between: drop everything, gather again
│   ├── AlreadyExistsError  the name is taken: read it, adopt it or refuse it
│   ├── RefusedError      the request breaks a rule or a right: retrying cannot help
│   └── UnavailableError  no answer, or a try-again one; a write may have happened
└── JournalError          the journal does not fold: terminal, nothing is rewritten
"""

from __future__ import annotations

from controller.api.reasons import ReadyReason


class FixpointError(Exception):
    """The root of every error that this package raises on purpose."""


class UserError(FixpointError):
    """The user's input is wrong; the text names the thing, the rule and the mend."""


class ActionError(FixpointError):
    """An action did not come to its end. `error_class` is one CamelCase word."""

    def __init__(self, error_class: str, message: str) -> None:
        super().__init__(message)
        self.error_class = error_class


class RetryableError(ActionError):
    """Another attempt may succeed, not before `retry_after_seconds` (None: default back-off)."""

    def __init__(
        self, error_class: str, message: str, retry_after_seconds: float | None = None
    ) -> None:
        super().__init__(error_class, message)
        self.retry_after_seconds = retry_after_seconds


class ModelMistakeError(RetryableError):
    """A model answered, and the answer is no use: it is told what was wrong, and asked again."""

    def __init__(self, error_class: str, message: str) -> None:
        super().__init__(error_class, message, retry_after_seconds=0)


class RejectedProposalError(ModelMistakeError):
    """A model proposed an action that it may not take, or none that can be read."""


class PermanentError(ActionError):
    """No attempt will succeed until something outside changes."""


class StoreError(FixpointError):
    """The store did not do what was asked."""


class NotFoundError(StoreError):
    """The object is not there, or not there any more."""


class ConflictError(StoreError):
    """Someone else wrote in between: drop everything and gather again."""


class AlreadyExistsError(StoreError):
    """The name is taken."""


class RefusedError(StoreError):
    """The request breaks a rule of the schema or a right is missing: retrying cannot help."""


class UnavailableError(StoreError):
    """No answer, or one that says try again; a write may have happened all the same."""

    def __init__(self, message: str, retry_after_seconds: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class JournalError(FixpointError):
    """The journal does not fold: a step is missing, foreign or changed."""

    def __init__(self, error_class: str, message: str) -> None:
        super().__init__(message)
        self.error_class = error_class


class NotReadyError(FixpointError):
    """What a task refers to cannot be used now; `reason` is that of its `Ready` condition."""

    def __init__(self, reason: ReadyReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class SourceNotReadyError(NotReadyError):
    """A source cannot be searched now."""


class ModelNotReadyError(NotReadyError):
    """A model cannot be asked now: its address is refused, or its key is not there."""


class BlockedAddressError(FixpointError):
    """The connection guard lets nothing through to this address; the text names the mend."""
