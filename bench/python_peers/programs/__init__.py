"""Programs of the peers: scripts for environments that have neither ksqlpy nor bench."""
