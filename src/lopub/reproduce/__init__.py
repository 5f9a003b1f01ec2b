"""The paper's evaluation, in full and in the open: its algorithms and ours, measured, drawn and compared with its claims."""
