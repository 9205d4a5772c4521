"""Who acts: journal, loop, queues, tools, models, supervisor, and what users hold."""
