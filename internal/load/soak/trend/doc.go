// Package trend decides from one value per window whether something leaks or drifts.
//
// What belongs here: the tests of trends, their bounds, the time at which a rise began, what a series could
// have shown, and the sentence about it. Pure functions, no clock, no random numbers. What does not: where the
// values come from (package soak) and how they are shown (reports).
//
// A series is judged on its windows after the warm-up, in the longest part without a restart. The slope is that
// of Theil and Sen, its bounds are those of Sen, from the variance of Kendall's S with ties and with the
// correction of Hamed and Rao for values that depend on their predecessors. A rise is a leak or a drift only if
// its lower bound is above zero, its size above the floor of its kind, and if it still goes on: a level that
// jumped once, or that grew and then stayed, is reported as a step.
package trend
