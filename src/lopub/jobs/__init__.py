"""Kill-safe workers: publish, plan, export, back up, delete. They may simulate; the collector and the console may not."""
