"""What a change of the program does to a stack: two recordings compared, told to a reviewer."""
