"""One screen of a deployed stack: how its services, nodes, queues, index, alarms and cost are."""
