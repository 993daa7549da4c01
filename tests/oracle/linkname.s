//go:build !other

// Go links functions without a body (queue_world.go) only into packages that have an assembly file.
