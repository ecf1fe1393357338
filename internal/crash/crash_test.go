package crash_test

import (
	"strings"
	"testing"

	"assay/internal/crash"
)

func TestAPanicIsHandedOverWithItsStack(t *testing.T) {
	taken := make(chan string)
	crash.Handle(func(value any, stack []byte) {
		taken <- value.(string) + "\n" + string(stack)
		select {} // as if it ended the program
	})
	go func() {
		defer crash.Catch()
		panic("out of order")
	}()
	if got := <-taken; !strings.HasPrefix(got, "out of order\n") || !strings.Contains(got, "TestAPanicIsHandedOver") {
		t.Errorf("got %s", got)
	}
}
