"""What one bit per item can do: the studies of `dford compare`."""
