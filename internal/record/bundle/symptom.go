package bundle

import "slices"

// Symptom classifies a breach by its appearance, independent of the rule. Failures with the
// same symptom may have the same cause.
type Symptom string

// The symptoms.
const (
	SymptomNoConnect     Symptom = "no-connect"       // no connection could be opened
	SymptomNoAnswer      Symptom = "no-answer"        // no response in time
	SymptomCut           Symptom = "cut"              // the connection ended in the middle of a response
	SymptomGarbage       Symptom = "garbage"          // the response cannot be decoded
	SymptomNoStart       Symptom = "no-start"         // a process that should run did not start
	SymptomEndedEarly    Symptom = "ended-early"      // a process ended too early
	SymptomHeldBack      Symptom = "held-back"        // awaited output did not arrive while the process ran
	SymptomOutputShort   Symptom = "output-short"     // output is truncated or lacks a part
	SymptomOutputOther   Symptom = "output-other"     // output has wrong bytes
	SymptomOutputMissing Symptom = "output-missing"   // a stream of output is empty
	SymptomExitCode      Symptom = "exit-code"        // an end event has the wrong code
	SymptomEndEvent      Symptom = "end-event"        // an end event is wrong in another way, or duplicated
	SymptomNoEnd         Symptom = "no-end"           // a stream has no end event
	SymptomStalled       Symptom = "stalled"          // a response began but did not end
	SymptomNoEndStream   Symptom = "no-end-of-stream" // a response ended without end of stream
	SymptomStreamStatus  Symptom = "stream-status"    // a stream had an HTTP error status
	SymptomNoDeadline    Symptom = "no-deadline"      // a deadline passed without effect
	SymptomErrorCode     Symptom = "error-code"       // wrong error code
	SymptomErrorForm     Symptom = "error-form"       // an error in the wrong format
	SymptomNotRefused    Symptom = "not-refused"      // a request that should fail succeeded
	SymptomRefused       Symptom = "refused"          // a request that should succeed failed
	SymptomStatus        Symptom = "status"           // wrong HTTP status
	SymptomHeader        Symptom = "header"           // wrong header field or metadata
	SymptomNotListed     Symptom = "not-listed"       // a running process is not listed
	SymptomStillListed   Symptom = "still-listed"     // an ended process is listed
	SymptomOrder         Symptom = "order"            // wrong order
	SymptomTime          Symptom = "time"             // too late or too early
	SymptomCounters      Symptom = "counters"         // wrong counter changes
	SymptomConnection    Symptom = "connection"       // a connection wrongly ended or stayed open
	SymptomCompression   Symptom = "compression"      // a response is wrongly compressed or uncompressed
	SymptomBody          Symptom = "body"             // wrong body
	SymptomViolation     Symptom = "violation"        // protocol violation
	SymptomAbsent        Symptom = "absent"           // a required feature is absent
	SymptomCodec         Symptom = "codec"            // the codec of a request is refused with HTTP 415
	SymptomTooRare       Symptom = "too-rare"         // an order was not seen often enough
	SymptomOther         Symptom = "other"
)

var symptoms = []Symptom{
	SymptomNoConnect, SymptomNoAnswer, SymptomCut, SymptomGarbage, SymptomNoStart, SymptomEndedEarly, SymptomHeldBack,
	SymptomOutputShort, SymptomOutputOther, SymptomOutputMissing, SymptomExitCode, SymptomEndEvent, SymptomNoEnd, SymptomStalled,
	SymptomNoEndStream, SymptomStreamStatus, SymptomNoDeadline, SymptomErrorCode, SymptomErrorForm, SymptomNotRefused,
	SymptomRefused, SymptomStatus, SymptomHeader, SymptomNotListed, SymptomStillListed, SymptomOrder, SymptomTime,
	SymptomCounters, SymptomConnection, SymptomCompression, SymptomBody, SymptomViolation, SymptomAbsent, SymptomCodec, SymptomTooRare, SymptomOther,
}

// Symptoms lists all symptoms.
func Symptoms() []Symptom { return slices.Clone(symptoms) }

// IsOutput reports whether the symptom is about the output of a process.
func (s Symptom) IsOutput() bool {
	return s == SymptomOutputMissing || s == SymptomOutputShort || s == SymptomOutputOther
}

// IsUnstarted reports whether the symptom is that of a process that did not start.
func (s Symptom) IsUnstarted() bool {
	return s == SymptomNoStart || s == SymptomRefused || s == SymptomNoAnswer
}
