"""What runs on a person's own device: making a report, keeping it, sending it. Small enough to be read before it is trusted.

Raw answers exist here, and in no message or file that leaves it.
"""
