-- One call of Start as wrk sends it: Connect, JSON, one envelope.
local message = '{"process":{"cmd":"/bin/sh","args":["-c","seq 1 20"]}}'
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/connect+json"
wrk.headers["Connect-Protocol-Version"] = "1"
wrk.body = "\0\0\0\0" .. string.char(#message) .. message
