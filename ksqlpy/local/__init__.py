"""What the commands share that need no server: statements that only declare, records in files, a query that ends."""
