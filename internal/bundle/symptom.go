package bundle

import "slices"

// Symptom is what a breach looks like from outside, whatever rule it breaks. Two
// failures with one symptom may have one cause.
type Symptom string

// The symptoms.
const (
	SymptomNoConnect     Symptom = "no-connect"       // no connection could be opened
	SymptomNoAnswer      Symptom = "no-answer"        // nothing came in time
	SymptomCut           Symptom = "cut"              // the connection ended in the middle of an answer
	SymptomGarbage       Symptom = "garbage"          // what came cannot be decoded
	SymptomNoStart       Symptom = "no-start"         // a process that should run did not start
	SymptomEndedEarly    Symptom = "ended-early"      // a process ended before anything could have ended it
	SymptomHeldBack      Symptom = "held-back"        // output that was awaited did not come while the process ran
	SymptomOutputShort   Symptom = "output-short"     // output is cut, or lacks a part
	SymptomOutputOther   Symptom = "output-other"     // output has other bytes than it should
	SymptomOutputMissing Symptom = "output-missing"   // a stream of output is empty
	SymptomExitCode      Symptom = "exit-code"        // an end event has the wrong code
	SymptomEndEvent      Symptom = "end-event"        // an end event is wrong in another way, or comes twice
	SymptomNoEnd         Symptom = "no-end"           // a stream did not come to its end event
	SymptomStalled       Symptom = "stalled"          // an answer began and did not end
	SymptomNoEndStream   Symptom = "no-end-of-stream" // an answer ended without saying that it was over
	SymptomStreamStatus  Symptom = "stream-status"    // a stream was answered with an HTTP error
	SymptomNoDeadline    Symptom = "no-deadline"      // a deadline passed and ended nothing
	SymptomErrorCode     Symptom = "error-code"       // an error has another code
	SymptomErrorForm     Symptom = "error-form"       // an error is not in the protocol's form
	SymptomNotRefused    Symptom = "not-refused"      // what should be refused was served
	SymptomRefused       Symptom = "refused"          // what should be served was refused
	SymptomStatus        Symptom = "status"           // another HTTP status
	SymptomHeader        Symptom = "header"           // a header field or metadata
	SymptomNotListed     Symptom = "not-listed"       // a process that runs is not listed
	SymptomStillListed   Symptom = "still-listed"     // a process that has ended is listed
	SymptomOrder         Symptom = "order"            // things came in another order
	SymptomTime          Symptom = "time"             // something came too late or too early
	SymptomCounters      Symptom = "counters"         // counters moved otherwise than they should
	SymptomConnection    Symptom = "connection"       // a connection ended, or did not
	SymptomCompression   Symptom = "compression"      // an answer is compressed, or not
	SymptomBody          Symptom = "body"             // a body is not what it should be
	SymptomViolation     Symptom = "violation"        // bytes that break the protocol
	SymptomAbsent        Symptom = "absent"           // a feature that is required
	SymptomTooRare       Symptom = "too-rare"         // an interleaving was not seen often enough
	SymptomOther         Symptom = "other"
)

var symptoms = []Symptom{
	SymptomNoConnect, SymptomNoAnswer, SymptomCut, SymptomGarbage, SymptomNoStart, SymptomEndedEarly, SymptomHeldBack,
	SymptomOutputShort, SymptomOutputOther, SymptomOutputMissing, SymptomExitCode, SymptomEndEvent, SymptomNoEnd, SymptomStalled,
	SymptomNoEndStream, SymptomStreamStatus, SymptomNoDeadline, SymptomErrorCode, SymptomErrorForm, SymptomNotRefused,
	SymptomRefused, SymptomStatus, SymptomHeader, SymptomNotListed, SymptomStillListed, SymptomOrder, SymptomTime,
	SymptomCounters, SymptomConnection, SymptomCompression, SymptomBody, SymptomViolation, SymptomAbsent, SymptomTooRare, SymptomOther,
}

// Symptoms lists all symptoms.
func Symptoms() []Symptom { return slices.Clone(symptoms) }
