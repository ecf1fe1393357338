// Package target is the gateway under test as the rest of the program sees it:
// its URL and the paths of its surfaces, the headers of a well-formed request,
// whether it can be reached and what it is when it is no gateway, its own pace,
// and which features it has.
//
// It makes a few well-formed calls and says what it saw. It does not judge:
// whether an answer keeps the rules is not known here.
package target
