package wire

import "testing"

func TestCodesHaveTheStatusOfTheConnectSpecification(t *testing.T) {
	byStatus := map[int][]string{
		400: {"invalid_argument", "failed_precondition", "out_of_range"},
		401: {"unauthenticated"},
		403: {"permission_denied"},
		404: {"not_found"},
		409: {"already_exists", "aborted"},
		429: {"resource_exhausted"},
		499: {"canceled"},
		500: {"unknown", "internal", "data_loss"},
		501: {"unimplemented"},
		503: {"unavailable"},
		504: {"deadline_exceeded"},
	}
	for status, names := range byStatus {
		for _, name := range names {
			if c, _ := CodeByName(name); c.Status != status {
				t.Errorf("%s has status %d, want %d", name, c.Status, status)
			}
		}
	}
}

func TestNamesOutsideTheTableAreNoCodes(t *testing.T) {
	for _, name := range []string{"", "ok", "cancelled", "NOT_FOUND", "Unknown", "not-found", " internal"} {
		if c, ok := CodeByName(name); ok {
			t.Errorf("CodeByName(%q) found %v", name, c)
		}
	}
}

func TestClientsInferTheCodeFromAForeignStatus(t *testing.T) {
	want := map[int]string{
		400: "internal", 401: "unauthenticated", 403: "permission_denied", 404: "unimplemented",
		429: "unavailable", 502: "unavailable", 503: "unavailable", 504: "unavailable",
		200: "unknown", 302: "unknown", 405: "unknown", 415: "unknown", 431: "unknown", 499: "unknown", 500: "unknown", 501: "unknown", 0: "unknown",
	}
	for status, code := range want {
		if got := CodeFromStatus(status); got != code {
			t.Errorf("CodeFromStatus(%d) = %q, want %q", status, got, code)
		}
	}
}
