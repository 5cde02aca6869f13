"""Demo traffic: what the back end of an invented Brazilian shop would write to its BullMQ queues."""
