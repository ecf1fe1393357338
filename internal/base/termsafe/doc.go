// Package termsafe makes text of any origin safe to show: what a target sends, a file says
// or a name contains cannot move the cursor, colour or clear the screen, set the title, or
// change the direction of the text.
//
// It knows no colours: text with our own colours is written to the stream below a Writer.
// Formats of machines are not its business.
package termsafe
