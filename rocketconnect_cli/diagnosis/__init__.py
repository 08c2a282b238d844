"""`rocketconnect diagnose`: what somebody needs who looks for a fault, in one file and without secrets."""
