package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/pflag"
)

// flagError replaces the text of a parser in the error of a flag by what the flag wants.
func flagError(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	return fmt.Errorf("--%s %q: %w", invalid.GetFlag().Name, invalid.GetValue(), wanted(invalid.GetFlag().Value.Type(), invalid.Unwrap()))
}

// valueError is flagError for a value from the environment or a file, whose message names the
// source already.
func valueError(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	return fmt.Errorf("%q: %w", invalid.GetValue(), wanted(invalid.GetFlag().Value.Type(), invalid.Unwrap()))
}

// wanted says what a flag of a type wants. The cause is used for types of the program itself.
func wanted(kind string, cause error) error {
	if errors.Is(cause, strconv.ErrRange) {
		return errors.New("the number is out of range")
	}
	switch kind {
	case "bool":
		return errors.New("want true or false")
	case "int":
		return errors.New("want a whole number, for example 8")
	case "uint64":
		return errors.New("want a whole number, 0 or more")
	case "float64":
		return errors.New("want a number, for example 1.5")
	case "duration":
		return errors.New("want a duration, for example 30s or 1m30s")
	case "stringSlice":
		return errors.New("want values joined by commas, with quotes in pairs")
	}
	return cause
}
