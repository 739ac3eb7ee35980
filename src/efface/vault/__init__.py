"""The vault: a service that stores templates of people and checks probes against them."""
