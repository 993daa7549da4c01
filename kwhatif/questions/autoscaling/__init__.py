"""What an autoscaler of nodes would add or remove."""
