"""Rules over a recording of the program, and the policy pack that wraps them."""
