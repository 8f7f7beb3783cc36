"""Programs that run the product as its users do and kill parts of it; tests, `make` and bench/ start them."""
