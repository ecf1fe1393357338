package strict

import (
	"testing"
	"testing/iotest"
)

func TestAHeldBodyIsGivenBackOnceItIsRead(t *testing.T) {
	t.Parallel()
	body := &heldBody{rest: []byte("a request")}
	if err := iotest.TestReader(body, []byte("a request")); err != nil {
		t.Error(err)
	}
	if body.rest != nil {
		t.Error("it still holds the body")
	}
}
