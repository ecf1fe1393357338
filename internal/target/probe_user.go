package target

import (
	"context"
	"slices"

	"assay/internal/record/bundle"
)

// refusals lists the codes of a Start refused because of its request.
var refusals = []string{"unauthenticated", "permission_denied", "invalid_argument", "not_found", "failed_precondition"}

// probeUser starts a command as a nonexistent user: a target with users refuses it, and
// accepts an existing user.
func probeUser(ctx context.Context, c *client) findings {
	switch {
	case c.target.authorizes():
		return findings{featUser: hidden("the extra headers set Authorization, which would name the user")}
	case c.target.bears():
		return findings{featUser: hidden("the token is in Authorization, which would name the user")}
	}
	run, s := c.startAs(ctx, "assay-no-such-user")
	defer run.reap(ctx)
	switch {
	case run.pid != 0:
		return findings{featUser: unknown("a user that does not exist is accepted")}
	case !isAuth(s) && (s.Error == nil || !slices.Contains(refusals, s.Error.Code)):
		return findings{featUser: unknown(describe(s))}
	}
	said := "a user that does not exist is refused: " + describe(s)
	users := []string{"root", "user"}
	if own := c.target.options.User; own != "" {
		users = []string{own}
	}
	for _, user := range users {
		known, _ := c.startAs(ctx, user)
		known.reap(ctx)
		if known.pid != 0 {
			return findings{featUser: present(said + "; " + user + " is accepted")}
		}
	}
	return findings{featUser: unknown(said + "; so are all other tried users")}
}

// startAs runs `true` as a user.
func (c *client) startAs(ctx context.Context, user string) (*running, bundle.Exchange) {
	return c.start(ctx, command{text: "true", headers: []bundle.Header{{Name: "authorization", Value: basicUser(user)}}})
}
