"""How the bundled pair model is made: data, training, shipping."""
