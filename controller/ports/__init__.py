"""What the loop needs of the world, as protocols: a clock, a store, sources, models.

`reconcile` and `actions` know these and nothing behind them; `operator` and `cli` choose the
implementations. Every method may raise the errors that its docstring names, no others.
"""

from controller.ports.clock import Clock
from controller.ports.models import Model, NoSlot, Pacing, Sampling, Slot, Unpaced
from controller.ports.observer import LoopObserver, Unobserved
from controller.ports.references import ReferenceResolver, References
from controller.ports.sources import Passage, Reread, SearchOutcome, Source, SourceObservation
from controller.ports.store import Collision, Event, EventType, StoredReport, TaskKey, TaskStore

__all__ = [
    "Clock",
    "Collision",
    "Event",
    "EventType",
    "LoopObserver",
    "Model",
    "NoSlot",
    "Pacing",
    "Passage",
    "ReferenceResolver",
    "References",
    "Reread",
    "Sampling",
    "SearchOutcome",
    "Slot",
    "Source",
    "SourceObservation",
    "StoredReport",
    "TaskKey",
    "TaskStore",
    "Unobserved",
    "Unpaced",
]
