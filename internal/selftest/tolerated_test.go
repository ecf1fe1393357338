package selftest

// tolerated are rules that fail beside the ones that a fault breaks and are not yet attached to them, by
// fault. It is to be empty.
var tolerated = map[string][]string{}
