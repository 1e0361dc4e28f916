"""What a run can do: one family a module, each action behind the same effect boundary."""
