"""What can be asked of the library, one file a desk: what is asked, what is done, what is told."""
